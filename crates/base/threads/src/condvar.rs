//! Waiting for what another thread changes under a mutex.

use crate::{ALL, MutexGuard, wake};
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Counts the changes.
#[derive(Default)]
pub struct Condvar(AtomicU32);

impl Condvar {
    pub const fn new() -> Condvar {
        Condvar(AtomicU32::new(0))
    }

    /// Gives the lock up until a change is told of, or for `patience`; may end early. False when the time is over.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, patience: Duration) -> bool {
        // Read under the lock, under which the others make their changes: none between here and the sleep is missed.
        let changes = self.0.load(Ordering::Relaxed);
        let time = futex::Timespec::try_from(patience).ok();
        let slept = MutexGuard::unlocked(guard, || futex::wait(&self.0, futex::Flags::PRIVATE, changes, time.as_ref()));
        slept != Err(rustix::io::Errno::TIMEDOUT)
    }

    /// The same until a time.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, end: Instant) -> bool {
        let left = end.saturating_duration_since(Instant::now());
        !left.is_zero() && self.wait_for(guard, left)
    }

    /// Tells all who wait of a change that was made under the lock.
    pub fn notify_all(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        wake(&self.0, ALL);
    }
}
