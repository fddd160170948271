//! The thread of the device: lets the endpoint work while the program computes.
//!
//! What was taken from the program has to go though the program makes no further call; peers are accepted, and where the
//! network is emulated by processors, peers' accesses to memory are served. While the program calls the library by
//! itself, the thread only naps.

use crate::state::{Rest, State};
use crate::ways::Ways;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the program may be silent before the thread works in its place: at first, and at most, if the program was
/// found to work by itself again and again.
const NAP: Duration = Duration::from_millis(1);
const LONG_NAP: Duration = Duration::from_millis(16);
/// The longest wait for a descriptor, which may not tell of everything.
const LOOK: Duration = Duration::from_millis(50);
/// How often it is looked whether peers are there, in the time for which one may give no sign.
const LOOKS: u32 = 6;

/// What the process and its thread share.
pub struct Shared {
    state: Mutex<State>,
    /// Where to look for the ways to peers, if the kernel knows them.
    ways: Option<Ways>,
    /// How often that is looked at.
    looks: Duration,
    /// Calls of the program.
    pub calls: AtomicU64,
    pub sleepers: AtomicU32,
    /// Wakes the process: readable from a ring until it is drained.
    pub bell: OwnedFd,
    /// How often it was rung.
    pub rung: AtomicU32,
    /// Ends the thread.
    wake: OwnedFd,
    over: AtomicBool,
}

impl Shared {
    /// `silence`: how long a peer may give no sign.
    pub fn new(state: State, ways: Option<Ways>, silence: Duration) -> std::io::Result<Shared> {
        let eventfd = || rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Shared {
            state: Mutex::new(state),
            ways,
            looks: silence / LOOKS,
            calls: AtomicU64::new(0),
            sleepers: AtomicU32::new(0),
            bell: eventfd()?,
            rung: AtomicU32::new(0),
            wake: eventfd()?,
            over: AtomicBool::new(false),
        })
    }

    /// The state, for a call of the program.
    pub fn call(&self) -> MutexGuard<'_, State> {
        // Relaxed: a count, from which the thread guesses whether the program works by itself.
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is one of this crate, which ends the program's call; what is left is what was.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loses peers to which no way stands any more. Returns what is on its way to others, as far as that is known.
    pub fn look(&self) -> Rest {
        match &self.ways {
            Some(ways) => {
                // The kernel is asked without the lock. What it does not tell may be on its way.
                ways.look().map_or(Rest::OnItsWay, |found| self.lock().look(&found))
            }
            // A provider knows by itself whether a packet has come that it tells the end of.
            None => {
                self.lock().mark();
                Rest::Nothing
            }
        }
    }

    /// Gives up what has not left in `time`, at the end.
    pub fn give_up_rest(&self, time: Duration) {
        let found = self.ways.as_ref().and_then(Ways::look);
        self.call().give_up_rest(time, found.as_deref());
    }

    /// Wakes the process.
    pub fn ring(&self) {
        // Release: pairs with the acquire of who sleeps.
        self.rung.fetch_add(1, Ordering::Release);
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Ends the thread.
    pub fn stop(&self) {
        // Relaxed: the write below makes the thread look, and nothing else goes with it.
        self.over.store(true, Ordering::Relaxed);
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// What the thread does, until it is stopped.
pub fn run(shared: &Arc<Shared>) {
    let mut nap = NAP;
    let mut next_look = Instant::now() + shared.looks;
    while !shared.is_over() {
        let before = shared.calls.load(Ordering::Relaxed);
        wait(shared);
        rest(shared, nap);
        if Instant::now() >= next_look {
            shared.look();
            next_look = Instant::now() + shared.looks;
        }
        if shared.calls.load(Ordering::Relaxed) != before {
            nap = (2 * nap).min(LONG_NAP);
            continue;
        }
        nap = NAP;
        let mut state = shared.lock();
        state.progress();
        let news = state.news && state.has_something();
        let told = std::mem::take(&mut state.news);
        drop(state);
        // Relaxed: who sleeps has counted itself before it took the lock and found nothing.
        if (news || told) && shared.sleepers.load(Ordering::Relaxed) > 0 {
            shared.ring();
        }
    }
}

/// Waits until the endpoint may have something to do.
fn wait(shared: &Shared) {
    let state = shared.lock();
    let busy = state.is_busy() || (state.is_reached() && state.fabric.descriptor().is_none());
    // To ask the endpoint whether one may wait takes the word from a process that waits for the descriptor. That a process
    // sleeps is known before it asks by itself, under the lock, which orders these loads.
    let may_wait = shared.sleepers.load(Ordering::Relaxed) == 0 && state.fabric.try_wait();
    let is_asleep = shared.sleepers.load(Ordering::Relaxed) > 0;
    // SAFETY: the endpoint lives until the thread has ended.
    let descriptor = state
        .fabric
        .descriptor()
        .map(|descriptor| unsafe { rustix::fd::BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(&descriptor)) });
    drop(state);
    let time = if busy { NAP } else { LOOK };
    match descriptor {
        Some(descriptor) if may_wait => {
            let mut fds =
                [PollFd::new(&shared.wake, PollFlags::IN), PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&timespec(time)));
        }
        Some(_) if is_asleep => rest(shared, time),
        // There is something to read now.
        Some(_) => {}
        None => rest(shared, LONG_NAP.min(time)),
    }
}

fn rest(shared: &Shared, time: Duration) {
    let _ = poll(&mut [PollFd::new(&shared.wake, PollFlags::IN)], Some(&timespec(time)));
}

pub fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos() as i64 }
}
