//! What is special about a peer of this machine: it is called by another socket, and looked for without the lock.

use super::super::address::{Address, LEN};
use super::super::clock::now;
use super::super::engine::Tag;
use super::super::near;
use super::super::strangers::HELLO;
use super::super::wire::{Frame, HEADER};
use super::*;

/// How a queue pair's peer is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Not yet.
    Not,
    /// Through rings in shared memory.
    Near,
    /// By TCP.
    Far,
}

/// A connection that somebody has made to here.
pub struct Caller {
    pub from: Address,
    pub socket: OwnedFd,
    pub rings: Option<Rings>,
}

impl Pair {
    /// Begins a connection to a peer of this machine, and this network namespace; false if it is none.
    pub fn call_near(self: &Arc<Pair>, inner: &mut Inner, mine: &Address, peer: &Address, hello: Frame) -> bool {
        if peer.machine != mine.machine || self.hca.faults().tcp {
            return false;
        }
        let mut words = [0; HELLO];
        let hello = Frame { len: LEN as u32, total: LEN as u32, ..hello };
        words[..HEADER].copy_from_slice(&hello.encode());
        words[HEADER..].copy_from_slice(&mine.encode());
        let Ok((socket, rings)) = near::call(peer.token, &words) else {
            return false;
        };
        let engine = self.hca.engine();
        if engine.watch(&socket, Tag::Pair(self.number)).is_err() || self.rings.set(rings).is_err() {
            return false;
        }
        inner.socket = Some(socket);
        inner.writable = true;
        self.open.store(true, Ordering::Relaxed);
        engine.connected(self);
        true
    }

    pub fn reach(&self) -> Reach {
        if self.rings.get().is_some() {
            Reach::Near
        } else if self.far.load(Ordering::Relaxed) {
            Reach::Far
        } else {
            Reach::Not
        }
    }

    /// What can be done now about rings, if anything.
    #[inline]
    pub fn near_news(&self) -> Option<News> {
        let rings = self.rings.get()?;
        if !self.open.load(Ordering::Relaxed) {
            return None;
        }
        let reads = self.phase() == READY && rings.has_data() && {
            let hold = self.hold.load(Ordering::Relaxed);
            hold == 0 || now() >= hold
        };
        let writes = rings.is_blocked() && rings.has_room();
        (reads || writes).then_some(News { readable: reads, writable: writes, ended: false, rung: false })
    }

    /// The peer is to wake this side from now on.
    pub fn sleep(&self) {
        if let Some(rings) = self.rings.get() {
            rings.sleep();
        }
    }

    pub fn awake(&self) {
        if let Some(rings) = self.rings.get() {
            rings.awake();
        }
    }

    /// Forgets what has woken this side.
    pub fn hush(&self, inner: &Inner) {
        if self.reach() == Reach::Near
            && let Some(socket) = &inner.socket
        {
            near::hush(socket);
        }
    }
}

pub fn wake_peer(socket: &Option<OwnedFd>) {
    if let Some(socket) = socket {
        near::wake(socket);
    }
}
