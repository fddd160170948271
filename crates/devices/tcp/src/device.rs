//! The device: connections by peer, and the contract.

mod endpoint;

pub use endpoint::Endpoint;

use crate::connection::{Connection, Sent, run};
use crate::frame::{Head, Kind, PIECE};
use crate::inlet::SCRATCH;
use crate::outlet::Lent;
use crate::shared::{Failed, Shared, Sign};
use crate::spread::Spread;
use crate::vigil::is_asked;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::Shutdown;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::Error;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_device::{Abilities, Channel, Cut, Header, Lending, Payload, Sink};
use tern_policy::cuts::SPREAD_FROM;
use tern_threads::Thread;

/// Of no more connections each is read at each poll; of more the kernel is asked which have something.
const FEW: usize = 4;
/// How long a process that ends waits until its peers' machines have what it sent.
const SETTLE: Duration = Duration::from_secs(5);
/// The mark of the bell among what the kernel tells of.
const BELL: u64 = u64::MAX;
/// [`Abilities::look`]: a system call for each connection, where shared memory takes a load for each peer.
const LOOK: u32 = 20;
/// So many calls that nothing answers, one after the other, are a loss where nothing was sent.
const UNANSWERED: u32 = 3;

/// The TCP device of a process.
pub struct Tcp {
    me: u32,
    world: u32,
    abilities: Abilities,
    /// Payload bytes of a frame at most.
    longest: usize,
    /// Long messages go over several interfaces.
    together: bool,
    shared: Arc<Shared>,
    thread: Option<Thread>,
    /// Tells which connections have something.
    ready: Rc<OwnedFd>,
    connections: RefCell<HashMap<u32, Rc<Connection>>>,
    /// Those that have not ended.
    open: RefCell<Vec<Rc<Connection>>>,
    /// Peers that the sink is to be told of, and those of them for which packets were taken that will not arrive.
    losses: RefCell<Vec<(u32, String)>>,
    undeliverable: RefCell<Vec<u32>>,
    /// How many calls of a peer nothing has answered, one after the other.
    unanswered: RefCell<HashMap<u32, u32>>,
    sleepers: Cell<u32>,
    /// Where reads go. Taken out while packets are handed on.
    scratch: Cell<Vec<u8>>,
    gathered: RefCell<Vec<u8>>,
}

impl Tcp {
    fn connection(&self, peer: u32) -> Option<Rc<Connection>> {
        self.connections.borrow().get(&peer).cloned()
    }

    /// Takes what the thread has made.
    fn hear(&self) {
        let Some(news) = self.shared.news() else { return };
        for (peer, outlet) in news.opened {
            // It has called while its loss was on the way here.
            if self.shared.state().lost.contains(&peer) {
                let _ = rustix::net::shutdown(&outlet.socket, Shutdown::Both);
                continue;
            }
            let connection = Rc::new(Connection::new(peer, outlet, self.longest, self.ready.clone()));
            let data = EventData::new_u64(u64::from(peer));
            if let Err(error) = epoll::add(&self.ready, connection.descriptor(), data, EventFlags::IN) {
                self.losses.borrow_mut().push((peer, format!("it cannot be listened to: {error}")));
                continue;
            }
            counters::TCP_CONNECTIONS.add(1);
            self.connections.borrow_mut().insert(peer, connection.clone());
            self.open.borrow_mut().push(connection);
        }
        for (peer, socket) in news.further {
            if let Some(connection) = self.connection(peer) {
                counters::TCP_CONNECTIONS.add(1);
                connection.inlet.pieces.borrow_mut().add(socket);
            }
        }
        for Failed { peer, why, promised, sign } in news.failed {
            if !promised && !self.is_unreachable(peer, sign) {
                continue;
            }
            self.shared.state().lost.insert(peer);
            // Its own call was taken meanwhile. It learns of the loss by the end of that connection.
            if let Some(connection) = self.connections.borrow_mut().remove(&peer) {
                connection.outlet.give_up();
                let _ = rustix::net::shutdown(connection.descriptor(), Shutdown::Both);
            }
            self.undeliverable.borrow_mut().extend(promised.then_some(peer));
            self.losses.borrow_mut().push((peer, why));
        }
    }

    /// A call of a peer has failed, for which nothing had left. Whether the peer counts as lost: nothing there has answered several calls. A
    /// process that was stopped has a kernel that answers, and one behind a firewall may call by itself in the end.
    fn is_unreachable(&self, peer: u32, sign: Sign) -> bool {
        match sign {
            Sign::GaveUp => return true,
            // Its own call was taken meanwhile.
            _ if self.connection(peer).is_some() => return false,
            Sign::Untried => return false,
            Sign::None | Sign::Heard => {}
        }
        let mut unanswered = self.unanswered.borrow_mut();
        let calls = unanswered.entry(peer).or_insert(0);
        *calls = if sign == Sign::Heard { 0 } else { *calls + 1 };
        *calls >= UNANSWERED
    }

    /// Sends a frame on the connection to `peer`, which is made first if there is none. `None`: not yet, or no more.
    fn send(&self, peer: u32, kind: Kind, header: &Header, payload: Payload<'_>) -> Option<usize> {
        self.hear();
        let Some(connection) = self.connection(peer) else { return self.call(peer, kind, header, payload) };
        if connection.inlet.farewell.get() && connection.ended.get().is_some() {
            self.lose(peer, "it has ended");
            return None;
        }
        let scratch = &mut self.gathered.borrow_mut();
        match connection.send(kind, header, payload, self.abilities.packet, scratch) {
            Ok(Sent::Whole(len)) => Some(len),
            Ok(Sent::Partly(len)) => {
                self.shared.watch(&connection.outlet, false);
                Some(len)
            }
            Ok(Sent::No) => {
                // Release: pairs with the acquire of the thread.
                connection.outlet.awaited.store(true, Ordering::Release);
                counters::TCP_STALLS.add(1);
                None
            }
            // What the peer sent before is read first; then its end is seen.
            Err(_) => None,
        }
    }

    /// Sends a frame to a peer without a connection, as the first on it. `None`: there was one, or too much waits.
    fn call(&self, peer: u32, kind: Kind, header: &Header, mut payload: Payload<'_>) -> Option<usize> {
        let len = payload.len().min(self.abilities.packet);
        let head = Head { kind, len, header: *header }.encode();
        let scratch = &mut self.gathered.borrow_mut();
        let body = run(&mut payload, len, scratch);
        self.shared.call(peer, &[&head, body], kind == Kind::Packet).then_some(len)
    }

    /// Whether there are several connections to the peer. Else they are asked for, once.
    fn spreads(&self, connection: &Connection) -> bool {
        if !connection.asked.replace(true) {
            self.shared.ask_further(connection.peer, &connection.outlet);
        }
        connection.outlet.spreads()
    }

    fn lose(&self, peer: u32, why: &str) {
        if let Some(connection) = self.connections.borrow_mut().remove(&peer) {
            // Its sender may change it as soon as the loss is known.
            connection.outlet.give_up();
            self.losses.borrow_mut().push((peer, why.to_owned()));
        }
    }

    /// Reads from one connection.
    fn receive(&self, connection: &Connection, sink: &mut dyn Sink) -> usize {
        let mut scratch = self.take_scratch();
        let packets = connection.receive(&mut scratch, sink);
        self.scratch.set(scratch);
        if let Some(why) = connection.ended.get() {
            self.end(connection, why);
        }
        packets
    }

    fn take_scratch(&self) -> Vec<u8> {
        let mut scratch = self.scratch.take();
        scratch.resize(SCRATCH, 0);
        scratch
    }

    /// Reads no more from this connection. False if that was so before.
    fn stop_reading(&self, connection: &Connection) -> bool {
        let before = self.open.borrow().len();
        self.open.borrow_mut().retain(|open| open.peer != connection.peer);
        if self.open.borrow().len() == before {
            return false;
        }
        let _ = epoll::delete(&self.ready, connection.descriptor());
        connection.inlet.pieces.borrow_mut().close();
        true
    }

    /// Nothing more comes from this connection.
    fn end(&self, connection: &Connection, why: Errno) {
        if !self.stop_reading(connection) {
            return;
        }
        if connection.inlet.farewell.get() && !connection.outlet.lends() {
            return;
        }
        let fault = connection.outlet.fault();
        // The thread has ended it, since bytes were not acknowledged.
        self.undeliverable.borrow_mut().extend(fault.map(|_| connection.peer));
        let to = fault.and_then(|fault| fault.to);
        let at = to.map_or(String::new(), |to| format!(" at {to}"));
        let why = match why {
            Errno::CONNRESET | Errno::PIPE if to.is_none() => "its process is gone, or the network to it".to_owned(),
            Errno::TIMEDOUT => {
                format!("it has given no sign{at} for {} s (TERN_PEER_TIMEOUT)", self.shared.silence.as_secs_f64())
            }
            Errno::PROTO => "it has sent bytes that are no packet".to_owned(),
            error => format!("the connection to it{at} has failed: {}", Error::from(error)),
        };
        self.lose(connection.peer, &why);
    }

    /// Reads from the connections that have something.
    fn receive_all(&self, sink: &mut dyn Sink) -> usize {
        let open = self.open.borrow();
        if open.len() > FEW {
            drop(open);
            return self.readable().iter().map(|connection| self.receive(connection, sink)).sum();
        }
        // Held meanwhile: a sink may come back here.
        let few: [Option<Rc<Connection>>; FEW] = std::array::from_fn(|at| open.get(at).cloned());
        drop(open);
        few.iter().flatten().map(|connection| self.receive(connection, sink)).sum()
    }

    /// The connections that have something, as the kernel tells.
    fn readable(&self) -> Vec<Rc<Connection>> {
        let mut events = Vec::with_capacity(64);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut found: Vec<Rc<Connection>> =
            self.open.borrow().iter().filter(|connection| connection.inlet.has_known()).cloned().collect();
        if epoll::wait(&self.ready, rustix::buffer::spare_capacity(&mut events), Some(&now)).is_ok() {
            let told = events.iter().map(|event| event.data.u64()).filter(|&data| data != BELL);
            let told = told.filter_map(|peer| self.connection(peer as u32));
            for connection in told.collect::<Vec<_>>() {
                if !found.iter().any(|other| other.peer == connection.peer) {
                    found.push(connection);
                }
            }
        }
        found
    }

    /// Writes what is left of what was sent, and tells of payloads that have gone. Returns how often it got on.
    fn flush(&self, sink: &mut dyn Sink) -> usize {
        let mut moved = 0;
        let mut finished = Vec::new();
        for connection in self.open.borrow().iter() {
            // An end is seen by who reads.
            moved += usize::from(connection.flush().is_ok_and(|flushed| flushed.wrote));
            finished.extend(connection.take_finished());
        }
        moved += finished.len();
        finished.into_iter().for_each(|sender| sink.sent(sender));
        moved
    }

    /// Tells all connected peers that the end of their connection will be no loss.
    fn say_farewell(&self) {
        self.hear();
        for connection in self.open.borrow().iter() {
            let scratch = &mut Vec::new();
            let _ = connection.send(Kind::Farewell, &[0; 4], Payload::Bytes(&[]), 0, scratch);
        }
    }

    /// The connections that this side has not ended. The kernel keeps what was sent on one that the vigil has ended, and sends it again for
    /// long, but the peer counts as lost.
    fn standing(&self) -> Vec<Rc<Connection>> {
        self.open.borrow().iter().filter(|open| open.outlet.fault().is_none()).cloned().collect()
    }

    /// Whether everything that was sent is at the machines of the peers.
    fn has_settled(&self) -> bool {
        self.standing().iter().all(|connection| {
            let socket = connection.descriptor();
            let empty = connection.flush().map(|flushed| flushed.empty);
            let settled = |socket: BorrowedFd<'_>| tern_node::unacknowledged(socket) == 0 || is_broken(socket);
            let further = connection.outlet.further();
            let rest = || further.iter().all(|(socket, _)| settled(socket.as_fd()));
            empty.is_err() || empty == Ok(true) && settled(socket) && rest()
        })
    }
}

impl Channel for Tcp {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn reaches(&self, peer: u32) -> bool {
        peer < self.world && peer != self.me
    }

    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        let sent = self.send(peer, Kind::Packet, header, payload);
        if let Some(len) = sent {
            counters::TCP_PACKETS.add(1);
            counters::TCP_BYTES.add(len as u64);
        }
        sent
    }

    fn sends_from(&self) -> usize {
        self.abilities.packet + 1
    }

    fn lending(&self, _peer: u32, payload: &[u8]) -> Lending {
        if payload.len() < self.sends_from() { Lending::No } else { Lending::Always }
    }

    unsafe fn send_from(&self, peer: u32, cut: &Cut, payload: &[u8], sender: u32) -> bool {
        self.hear();
        let Some(connection) = self.connection(peer).filter(|connection| connection.ended.get().is_none()) else {
            return false;
        };
        let cut = Cut { len: cut.len.min(self.longest), ..*cut };
        let spreads = self.together && payload.len() >= SPREAD_FROM && self.spreads(&connection);
        // SAFETY: the contract is the same; `lose` gives the payload up before the loss is told.
        let lent = connection.lend(|outlet| unsafe {
            match spreads {
                true => outlet.spread(Spread::new(&cut, payload, sender)),
                false => outlet.lend(Lent::new(&cut, payload, sender)),
            }
        });
        let Ok(Some(whole)) = lent else {
            // Release: pairs with the acquire of the thread.
            connection.outlet.awaited.store(true, Ordering::Release);
            return false;
        };
        if !whole {
            self.shared.watch(&connection.outlet, false);
        }
        counters::TCP_SPREAD.add(u64::from(spreads));
        counters::TCP_PACKETS.add(payload.len().div_ceil(if spreads { PIECE } else { cut.len }) as u64);
        counters::TCP_BYTES.add(payload.len() as u64);
        true
    }

    fn poll(&self, sink: &mut dyn Sink) -> usize {
        self.hear();
        let moved = self.flush(sink);
        let packets = self.receive_all(sink);
        // Apart, since a sink may lose somebody else.
        let losses = self.losses.take();
        self.undeliverable.take().into_iter().for_each(|peer| sink.undeliverable(peer));
        for (peer, why) in losses {
            sink.lost(peer, &why);
        }
        packets + moved
    }

    fn take_next(&self, peer: u32, looks: u32, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        self.hear();
        for connection in self.open.borrow().iter() {
            let _ = connection.flush();
        }
        let Some(connection) = self.connection(peer) else { return false };
        // A look is a system call here, and what others have sent waits meanwhile.
        for _ in 0..looks.min(4) {
            let mut scratch = self.take_scratch();
            let used = connection.receive_one(&mut scratch, take);
            self.scratch.set(scratch);
            if let Some(used) = used {
                return used;
            }
        }
        false
    }

    fn prepare_sleep(&self) -> u32 {
        if self.sleepers.replace(self.sleepers.get() + 1) == 0 {
            let _ = rustix::io::read(&self.shared.bell, &mut [0u8; 8]);
        }
        // Acquire: pairs with the release in `ring`.
        let token = self.shared.rung.load(Ordering::Acquire);
        self.hear();
        for connection in self.open.borrow().iter() {
            let outlet = &connection.outlet;
            let left = connection.flush().is_ok_and(|flushed| !flushed.empty);
            if outlet.awaited.load(Ordering::Acquire) || left {
                self.shared.watch(outlet, true);
            }
            if connection.inlet.has_known() {
                self.shared.ring();
            }
        }
        if !self.losses.borrow().is_empty() {
            self.shared.ring();
        }
        token
    }

    fn sleep(&self, token: u32, timeout: Duration) {
        // Acquire: pairs with the release in `ring`.
        if self.shared.rung.load(Ordering::Acquire) != token {
            return;
        }
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos() as i64 };
        // A packet, a ring, a signal and the timeout all mean: look for work again.
        let _ = poll(&mut [PollFd::new(&self.ready, PollFlags::IN)], Some(&timeout));
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ready.as_fd())
    }

    fn settle(&self, all: bool, meanwhile: &dyn Fn()) {
        let until = Instant::now() + SETTLE;
        if !all {
            self.say_farewell();
        }
        loop {
            self.hear();
            // A call comes to an end by itself, and so does a peer's silence.
            let is_silent = |open: &Rc<Connection>| is_asked(&open.outlet.socket);
            let is_unsure = all && self.shared.has_promised() || self.standing().iter().any(is_silent);
            if !is_unsure && (self.has_settled() || Instant::now() >= until) {
                return;
            }
            meanwhile();
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn reach(&self, peer: u32) {
        self.hear();
        if self.connection(peer).is_none() {
            self.shared.call(peer, &[], false);
        }
    }

    fn forget(&self, peer: u32) {
        self.hear();
        self.shared.state().lost.insert(peer);
        let Some(connection) = self.connections.borrow_mut().remove(&peer) else { return };
        // Nothing is written any more to where its payloads belonged: what is on the way there is read by nobody.
        connection.ended.set(Some(Errno::CONNRESET));
        self.stop_reading(&connection);
        connection.outlet.give_up();
        let _ = rustix::net::shutdown(connection.descriptor(), Shutdown::Both);
    }

    fn awake(&self) -> u32 {
        // Nothing is known of the others.
        1
    }

    fn end_sleep(&self) {
        self.sleepers.set(self.sleepers.get() - 1);
    }

    fn ring(&self, peer: u32) {
        if peer == self.me {
            self.shared.ring();
        } else {
            // A peer whose socket is full has something to wake it.
            let _ = self.send(peer, Kind::Bell, &[0; 4], Payload::Bytes(&[]));
        }
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.say_farewell();
        self.settle(true, &|| ());
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
        for connection in self.open.borrow().iter() {
            let _ = rustix::net::shutdown(connection.descriptor(), Shutdown::Write);
        }
    }
}

/// Whether the connection was reset: what was not acknowledged then never will be.
fn is_broken(socket: BorrowedFd<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let fds = &mut [PollFd::from_borrowed_fd(socket, PollFlags::empty())];
    poll(fds, Some(&now)).is_ok() && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[cfg(test)]
mod tests;
