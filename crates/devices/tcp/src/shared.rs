//! What the process and the thread of the device share: what the one asks for, and what the other has made.

use crate::outlet::Outlet;
use rustix::fd::OwnedFd;
use std::collections::{HashMap, HashSet};
use std::mem::take;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tern_proof::Keys;

/// Bytes that may wait for a connection: some packets.
const MOST_FIRST: usize = 256 << 10;

/// What the process and its thread share.
pub struct Shared {
    pub keys: Keys,
    pub peers: Vec<Vec<SocketAddr>>,
    state: Mutex<State>,
    /// Something stands in `state` for the process.
    news: AtomicBool,
    /// Wakes the thread.
    pub wake: OwnedFd,
    /// Wakes the process: readable from a ring until it is drained.
    pub bell: OwnedFd,
    /// How often it was rung.
    pub rung: AtomicU32,
    /// As [`crate::Settings::silence`].
    pub silence: Duration,
}

#[derive(Default)]
pub struct State {
    /// Peers to be called.
    pub wanted: Vec<u32>,
    /// Frames for peers that are being called.
    pub first: HashMap<u32, Vec<u8>>,
    /// Outlets in which something is left, or whose room is waited for: those that the thread has not seen, and all.
    pub outlets: Vec<Arc<Outlet>>,
    pub watched: Vec<Arc<Outlet>>,
    /// The process is about to sleep: it writes nothing by itself.
    pub hurry: bool,
    pub over: bool,
    /// Connections for the process.
    pub opened: Vec<(u32, Arc<Outlet>)>,
    /// Peers that could not be reached.
    pub failed: Vec<Failed>,
    /// Those that are being called, for whom packets were taken.
    pub promised: HashSet<u32>,
    /// Peers to be called once more, with the connection that there is.
    pub spreading: Vec<(u32, Arc<Outlet>)>,
    /// Connections of peers on which pieces come.
    pub further: Vec<(u32, OwnedFd)>,
    /// Peers that there is a connection to, or was.
    pub known: HashSet<u32>,
    /// Peers that are being called.
    pub calling: HashSet<u32>,
    /// Peers that could not be called, and that the process has counted as lost.
    pub lost: HashSet<u32>,
}

/// A peer that could not be reached.
pub struct Failed {
    pub peer: u32,
    pub why: String,
    /// Packets for it were taken.
    pub promised: bool,
    pub sign: Sign,
}

/// What there was of a peer that could not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Nothing has answered.
    None,
    /// This process had no descriptor to call with.
    Untried,
    /// Something there has answered, without a proof.
    Heard,
    /// It has said that it counts this process as lost.
    GaveUp,
}

/// What came of calls.
#[derive(Default)]
pub struct News {
    pub opened: Vec<(u32, Arc<Outlet>)>,
    pub further: Vec<(u32, OwnedFd)>,
    pub failed: Vec<Failed>,
}

impl Shared {
    pub fn new(keys: Keys, peers: Vec<Vec<SocketAddr>>, silence: Duration) -> std::io::Result<Shared> {
        let eventfd = || rustix::event::eventfd(0, EVENTFD);
        let (wake, bell) = (eventfd()?, eventfd()?);
        let news = AtomicBool::new(false);
        Ok(Shared { keys, peers, state: Mutex::default(), news, wake, bell, rung: AtomicU32::new(0), silence })
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Wakes the process.
    pub fn ring(&self) {
        // Release: pairs with the acquire of who sleeps.
        self.rung.fetch_add(1, Ordering::Release);
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Asks for a connection, on which `frame` is to go first; `promised` if it is a packet, which counts as sent. False: there is a
    /// connection, or too much to go on it already.
    pub fn call(&self, peer: u32, frame: &[&[u8]], promised: bool) -> bool {
        let mut state = self.state();
        if state.known.contains(&peer) {
            return false;
        }
        let first = state.first.entry(peer).or_default();
        if first.len() >= MOST_FIRST {
            return false;
        }
        frame.iter().for_each(|part| first.extend_from_slice(part));
        if promised {
            state.promised.insert(peer);
        }
        if state.calling.insert(peer) {
            state.wanted.push(peer);
            drop(state);
            self.wake();
        }
        true
    }

    /// Has the thread look after an outlet; with `hurry` at once.
    pub fn watch(&self, outlet: &Arc<Outlet>, hurry: bool) {
        let mut state = self.state();
        let fresh = !state.watched.iter().any(|other| Arc::ptr_eq(other, outlet));
        if fresh {
            state.watched.push(outlet.clone());
            state.outlets.push(outlet.clone());
        }
        state.hurry |= hurry;
        drop(state);
        if fresh || hurry {
            self.wake();
        }
    }

    /// What has happened since the last call, if anything.
    pub fn news(&self) -> Option<News> {
        // Acquire: pairs with the release in `tell`. A plain look first: most often there is nothing.
        if !self.news.load(Ordering::Relaxed) || !self.news.swap(false, Ordering::Acquire) {
            return None;
        }
        let mut state = self.state();
        let State { opened, further, failed, .. } = &mut *state;
        Some(News { opened: take(opened), further: take(further), failed: take(failed) })
    }

    /// A peer could not be reached.
    pub fn give_up(&self, peer: u32, why: String, sign: Sign) {
        let mut state = self.state();
        state.calling.remove(&peer);
        state.first.remove(&peer);
        let promised = state.promised.remove(&peer);
        state.failed.push(Failed { peer, why, promised, sign });
        drop(state);
        self.tell();
    }

    /// Whether packets were taken for peers that are being called still.
    pub fn has_promised(&self) -> bool {
        !self.state().promised.is_empty()
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.state().over = true;
        self.wake();
    }

    pub fn tell(&self) {
        // Release: pairs with the acquire in `news`.
        self.news.store(true, Ordering::Release);
        self.ring();
    }

    /// Gives a connection to the process, after what was to go on it first.
    pub fn open(&self, peer: u32, socket: OwnedFd) -> Arc<Outlet> {
        let mut state = self.state();
        state.promised.remove(&peer);
        let outlet = Arc::new(Outlet::new(socket, state.first.remove(&peer).unwrap_or_default()));
        if outlet.flush().is_ok_and(|flushed| !flushed.empty) {
            state.watched.push(outlet.clone());
            state.outlets.push(outlet.clone());
        }
        state.opened.push((peer, outlet.clone()));
        drop(state);
        self.tell();
        outlet
    }

    /// Asks for connections to `peer` beside that one.
    pub fn ask_further(&self, peer: u32, outlet: &Arc<Outlet>) {
        self.state().spreading.push((peer, outlet.clone()));
        self.wake();
    }

    /// Looks after an outlet no more. False: the process has left something there meanwhile, and was not told that nobody looks.
    pub fn unwatch(&self, outlet: &Arc<Outlet>) -> bool {
        let mut state = self.state();
        // Asked under the lock: what is left after it finds the outlet unwatched.
        if outlet.has_left() {
            return false;
        }
        state.watched.retain(|other| !Arc::ptr_eq(other, outlet));
        drop(state);
        // Acquire: pairs with the release of a process that waits for room. It asks for that before it asks to be watched.
        if outlet.awaited.swap(false, Ordering::Acquire) {
            self.ring();
        }
        true
    }
}

const EVENTFD: rustix::event::EventfdFlags =
    rustix::event::EventfdFlags::CLOEXEC.union(rustix::event::EventfdFlags::NONBLOCK);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_at_the_last_moment_stays_watched() {
        let (socket, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
        let keys = Keys { me: 0, tokens: vec![[0; 32]; 2] };
        let shared = Shared::new(keys, vec![Vec::new(); 2], Duration::from_secs(1)).unwrap();
        let outlet = Arc::new(Outlet::new(socket.into(), Vec::new()));
        shared.watch(&outlet, false);
        // The thread has written everything, and the process is quicker than its farewell.
        outlet.keep([b"rest", b""]);
        shared.watch(&outlet, false);
        assert!(!shared.unwatch(&outlet));
        assert!(outlet.flush().unwrap().empty);
        assert!(shared.unwatch(&outlet));
        assert!(shared.state().watched.is_empty());
    }
}
