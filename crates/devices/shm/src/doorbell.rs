//! Sleeping and waking across processes.
//!
//! A process that is about to sleep raises its flag and looks once more for work; a sender
//! publishes its packet and then looks at the flag. One of the two must see the other, which
//! needs a full fence on both sides. Senders should not pay for it, so the sleeper makes all
//! processors pass one (`membarrier`), and where the kernel refuses that, it sleeps in short naps.
//!
//! A sender that dies between the two steps of a ring takes the flag and wakes nobody. Later senders find no flag, and the owner sleeps until its
//! timeout, 50 ms at most. Then the bell is as good as before.

use std::time::Duration;
use tern_atomics::{AtomicU32, Ordering};

/// The part of a process that its peers ring. In shared memory, begins as zeros.
#[repr(C)]
pub struct Doorbell {
    /// 1 when the owner sleeps or is about to.
    sleeping: AtomicU32,
    /// Counts the rings; the futex word.
    rings: AtomicU32,
}

/// How many processes sleep or are about to. In shared memory, begins as zero. A sleeper counts itself before it raises
/// its flag, so who finds none here after its store need not look at the flags.
///
/// A process that dies may leave itself in the count, or may be counted once more by whoever [finds that out](Sleepers::bury). The count is never
/// too low for that, so nobody who lives is forgotten; where it is too high, senders look at flags in vain.
#[repr(transparent)]
pub struct Sleepers(AtomicU32);

/// What a process says of itself to whoever finds it dead: whether it counts among the [`Sleepers`]. In shared memory, begins as zero.
#[repr(transparent)]
pub struct Asleep(AtomicU32);

impl Sleepers {
    /// Before [`Doorbell::prepare`].
    pub fn enter(&self, own: &Asleep) {
        // A read-modify-write, so that no count is lost. Its order before the second look for work is made by the barrier
        // of `prepare`.
        self.0.fetch_add(1, Ordering::SeqCst);
        // Relaxed: it is read when the process has ended.
        own.0.store(1, Ordering::Relaxed);
    }

    pub fn leave(&self, own: &Asleep) {
        // Relaxed, both: as in `enter`. A death in between leaves the count too high, and never too low.
        own.0.store(0, Ordering::Relaxed);
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Has one count that has died, as one that sleeps for ever. Once for each.
    pub fn bury(&self, dead: &Asleep) {
        // Relaxed: what it has stored was seen before it was found to be dead.
        if dead.0.load(Ordering::Relaxed) == 0 {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// As a hint.
    #[inline]
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// False if nobody has to be woken for what this process has stored before.
    #[inline]
    pub fn any(&self) -> bool {
        fence_at_the_waker();
        self.count() != 0
    }
}

/// How this process makes the others' stores visible before it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// `membarrier` over all processes that have registered.
    Expedited,
    /// None: sleeps are short naps instead.
    Naps,
}

const REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;
const GLOBAL_EXPEDITED: i32 = 1 << 1;
/// The longest sleep when senders may miss the flag.
const NAP: Duration = Duration::from_micros(200);

fn membarrier(command: i32) -> bool {
    // SAFETY: takes three integers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers this process for its peers' barriers; every process does this before it sends.
pub fn register() -> Barrier {
    if membarrier(REGISTER_GLOBAL_EXPEDITED) { Barrier::Expedited } else { Barrier::Naps }
}

impl Barrier {
    /// Makes every processor that runs a registered process pass a full fence; false: it cannot.
    pub fn pass(self) -> bool {
        self == Barrier::Expedited && membarrier(GLOBAL_EXPEDITED)
    }
}

/// Stands between a store that a sleeper must not miss and the load that tells whether it sleeps.
/// The store must not be delayed by the compiler beyond the load; the processor's side of it is the
/// sleeper's membarrier.
#[inline]
pub fn fence_at_the_waker() {
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    // The model checker knows no membarrier: it takes the fence that this puts here.
    #[cfg(loom)]
    tern_atomics::fence(Ordering::SeqCst);
}

impl Doorbell {
    /// Raises the flag. Look for work once more after this, then [`Doorbell::sleep`].
    pub fn prepare(&self, barrier: Barrier) -> u32 {
        let token = self.raise();
        if barrier == Barrier::Expedited && !cfg!(loom) {
            membarrier(GLOBAL_EXPEDITED);
        } else {
            tern_atomics::fence(Ordering::SeqCst);
        }
        token
    }

    /// Raises the flag of a bell that is rung beside the one which is prepared after this.
    pub fn raise(&self) -> u32 {
        // Acquire: pairs with the release in `ring`; rings before this are for work that the
        // caller's next poll sees.
        let token = self.rings.load(Ordering::Acquire);
        // A swap, as in `wake`, so that each takes the flag as the other left it; it costs what
        // the store would.
        self.sleeping.swap(1, Ordering::SeqCst);
        token
    }

    /// The futex word.
    #[cfg(not(loom))]
    pub fn word(&self) -> &AtomicU32 {
        &self.rings
    }

    /// Whether the owner sleeps, or is about to, as a hint.
    pub fn is_raised(&self) -> bool {
        self.sleeping.load(Ordering::Relaxed) != 0
    }

    /// Lowers the flag.
    pub fn lower(&self) {
        self.sleeping.store(0, Ordering::Relaxed);
    }

    /// Sleeps until rung since `token`, or `timeout`.
    #[cfg(not(loom))]
    pub fn sleep(&self, token: u32, barrier: Barrier, timeout: Duration) {
        use rustix::thread::futex;
        let timeout = if barrier == Barrier::Naps { timeout.min(NAP) } else { timeout };
        let timeout = futex::Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos() as i64 };
        // A ring since `token`, a signal and the timeout all mean: look for work again.
        let _ = futex::wait(&self.rings, futex::Flags::empty(), token, Some(&timeout));
    }

    /// Wakes the owner when it sleeps. Costs one load of a line that seldom changes otherwise.
    #[inline]
    pub fn ring(&self) {
        fence_at_the_waker();
        if self.sleeping.load(Ordering::Relaxed) != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if self.sleeping.swap(0, Ordering::SeqCst) == 0 {
            return; // somebody else wakes it
        }
        // Release: pairs with the acquire in `prepare`.
        self.rings.fetch_add(1, Ordering::Release);
        #[cfg(not(loom))]
        {
            use rustix::thread::futex;
            let _ = futex::wake(&self.rings, futex::Flags::empty(), i32::MAX as u32);
        }
    }
}

/// Rings a bell from another thread of its owner.
#[derive(Debug)]
pub struct Alarm(pub(crate) *const Doorbell);

// SAFETY: a bell is made of atomic words, and whoever made the alarm vouches for its memory.
unsafe impl Send for Alarm {}

impl Alarm {
    /// Wakes the owner when it sleeps.
    pub fn ring(&self) {
        // SAFETY: the memory outlives the alarm (`Shm::alarm`).
        unsafe { &*self.0 }.ring();
    }
}

#[cfg(all(test, loom))]
pub mod model;
