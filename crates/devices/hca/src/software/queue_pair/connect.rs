//! How two queue pairs come to have a connection, and how it ends.

use super::super::address::Address;
use super::super::clock::{NEVER, now};
use super::super::engine::Tag;
use super::super::hello::{Hello, SILENCE};
use super::super::wire::{Frame, Kind};
use super::*;
use crate::connection::CallingEnd;
use crate::descriptors;
use rustix::net::{Shutdown, sockopt};

/// A machine may give no sign for so many times what was asked for, as cards take up to four times that. The kernel repeats what is not
/// acknowledged ever more seldom, so that a way that is there again is noticed only some time later.
const UNANSWERED: u32 = 3;

impl Pair {
    /// One end calls, and the other waits: see [`Connection::calling`].
    pub fn connect(self: &Arc<Pair>, peer: Address, connection: &Connection) -> Result<()> {
        let mine = self.hca.pair_address(self.number);
        let inner = &mut *self.inner.lock();
        if self.phase() != INITIALIZED {
            return Err(Error::State(format!("{} is connected already", self.name(inner))));
        }
        if (mine.name, mine.number) == (peer.name, peer.number) {
            return Err(Error::Unsupported("a queue pair that is connected to itself; take two".into()));
        }
        inner.connection = *connection;
        inner.peer = Some(peer);
        inner.window.allow_reads(u32::from(connection.reads.clamp(1, 16)));
        self.phase.store(READY, Ordering::Relaxed);
        let calls = match connection.calling {
            CallingEnd::Greater => (mine.name, mine.number) > (peer.name, peer.number),
            CallingEnd::This => true,
            CallingEnd::Other => false,
        };
        if calls {
            self.call(inner, Hello { pair: peer.number, receive_queue: 0, from: mine }, &peer)?;
        } else if let Some(caller) = inner.parked.take() {
            self.attach(inner, caller);
        }
        Ok(())
    }

    /// Somebody has called this queue pair.
    pub fn visitor(self: &Arc<Pair>, caller: Caller) {
        if caller.rings.is_none() {
            prepare(&caller.socket);
        }
        {
            let inner = &mut *self.inner.lock();
            match self.phase() {
                INITIALIZED => {
                    self.hca.engine().forget(&caller.socket);
                    inner.parked = Some(caller);
                    return;
                }
                READY => self.attach(inner, caller),
                _ => return,
            }
        }
        self.clone().visit(News { readable: true, writable: true, ended: false, rung: false }, true);
    }

    /// Takes a connection that the peer has made, if it is the right peer.
    fn attach(self: &Arc<Pair>, inner: &mut Inner, caller: Caller) {
        let Caller { from, socket, rings } = caller;
        let expected = inner.peer.map(|peer| (peer.name, peer.number));
        if inner.socket.is_some() || inner.attached || expected != Some((from.name, from.number)) {
            return;
        }
        let tag = Tag::Pair(self.number);
        let engine = self.hca.engine();
        if engine.hand_over(&socket, tag).is_err() && engine.watch(&socket, tag).is_err() {
            return;
        }
        match rings {
            Some(rings) => {
                let _ = self.rings.set(rings);
                self.open.store(true, Ordering::Relaxed);
            }
            None => self.far.store(true, Ordering::Relaxed),
        }
        engine.connected(self.clone());
        inner.socket = Some(socket);
        inner.readable = true;
        inner.writable = true;
        inner.attached = true;
        inner.outgoing.say(Frame { kind: Kind::Welcome, ..Frame::default() }, &[]);
        if !std::mem::replace(&mut inner.going_on, true) {
            engine.go_on(self.clone());
        }
    }

    /// Something waits for the peer: either it is to be heard of, or its machine acknowledges what goes there.
    pub fn start_patience(&self, inner: &mut Inner) {
        if inner.patience != NEVER || self.rings.get().is_some() {
            return;
        }
        let wait = if inner.attached { inner.connection.timeout } else { inner.connection.patience() };
        inner.patience = now() + wait.as_nanos() as u64;
        self.hca.engine().visit_at(inner.patience, self.number);
    }

    pub fn look_at_patience(&self, inner: &mut Inner) {
        if inner.patience == NEVER || now() < inner.patience {
            return;
        }
        inner.patience = NEVER;
        if !inner.attached {
            return self.lose(inner, "the peer did not answer");
        }
        if inner.window.is_empty() {
            return;
        }
        // Whoever computes, or is stopped, executes nothing, but its machine gives a sign.
        let limit = inner.connection.patience() * UNANSWERED;
        let is_silent = |socket| tern_node::Connection::of(socket).is_ok_and(|state| state.is_silent(limit));
        if inner.socket.as_ref().is_some_and(is_silent) {
            return self.lose(inner, "its machine gives no sign");
        }
        self.start_patience(inner);
    }

    /// Why there is a connection no more, when the peer has ended it.
    pub fn why_ended(&self, inner: &Inner) -> String {
        match (inner.attached, descriptors::shortage()) {
            (true, _) => "the peer has ended the connection".into(),
            (false, Some(why)) => why,
            (false, None) => "the peer did not take the connection: it is gone, or has no file descriptor left \
                              (ulimit -n)"
                .into(),
        }
    }

    /// The connection has ended.
    pub fn lose(&self, inner: &mut Inner, why: &str) {
        self.close(inner);
        inner.outgoing.clear();
        if let Some(receive) = inner.target.interrupted() {
            self.complete_receive(&receive.source, receive.receive, Status::Flushed, 0, None, false);
        }
        if self.phase() == FAILED || inner.lost.is_some() {
            return;
        }
        if inner.window.is_empty() {
            inner.lost = Some(why.to_string());
            self.hca.tell(Event::Disconnected { queue_pair: self.number });
        } else {
            self.fail(inner, None, Status::RetryExceeded, why, false);
        }
    }

    /// Fails as with a link that is cut: the peer does not hear of it.
    pub fn sever(&self, inner: &mut Inner) {
        inner.severed = self.close(inner);
        self.fail(inner, None, Status::RetryExceeded, "its port was cut on demand", false);
    }

    /// Ends the connection in peace.
    pub fn part(&self, inner: &mut Inner) {
        if let Some(socket) = self.close(inner).or(inner.severed.take()) {
            let _ = rustix::net::shutdown(&socket, Shutdown::Write);
        }
        inner.parked = None;
        inner.outgoing.clear();
        if let Some(receive) = inner.target.interrupted() {
            receive.source.recycle(receive.receive);
        }
    }
}

/// What a connection is like. The kernel has no limit for what is not acknowledged: its own would be one for a peer that is stopped, too.
pub fn prepare(socket: &OwnedFd) {
    let _ = sockopt::set_tcp_nodelay(socket, true);
    let _ = tern_node::keep_alive(socket, SILENCE);
}
