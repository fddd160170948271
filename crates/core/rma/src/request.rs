//! Accesses to private memory that its owner makes itself while it waits in the library. A short one needs no system
//! call: a line of memory that goes there and back is faster. A long accumulate needs one pass of the kernel instead
//! of two: its owner fetches the operand and combines it in place.
//!
//! The origin holds the guard of the target. So there is one request at a time, and what is asked is atomic with
//! everything that is done under the guard. The origin asks and looks for a while. An owner that waits takes the
//! request, does it without waiting for anything, and says so. One that computes does not: then the origin takes the
//! request back, goes by the kernel, and does so for a while before it asks that owner again. So nobody depends on
//! the owner's progress. Long accumulates are asked for in parts, so that they go on by the kernel when the owner
//! turns to something else. An owner that ends in the middle of a request is found to be gone.

#[cfg(not(loom))]
mod body;

#[cfg(not(loom))]
pub(crate) use body::{Form, ROOM, Request, Waited};
use tern_atomics::{AtomicU32, Ordering};

const NOTHING: u32 = 0;
const ASKED: u32 = 1;
const TAKEN: u32 = 2;

/// Where a request stands.
#[repr(C)]
pub struct State(AtomicU32);

/// What has become of a request that the owner has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Outcome {
    Done = 3,
    /// Nothing has happened: the memory is not attached.
    NotThere = 4,
    /// Nothing has happened: the owner does not reach the operand.
    Unable = 5,
}

impl State {
    /// The origin asks; it holds the guard, and what it asks for is written.
    #[inline]
    pub fn ask(&self) {
        // Release: pairs with the acquire in `take`.
        self.0.store(ASKED, Ordering::Release);
    }

    /// What the owner says, if it has finished.
    #[inline]
    pub fn outcome(&self) -> Option<Outcome> {
        // Acquire: pairs with the release in `finish`.
        match self.0.load(Ordering::Acquire) {
            3 => Some(Outcome::Done),
            4 => Some(Outcome::NotThere),
            5 => Some(Outcome::Unable),
            _ => None,
        }
    }

    /// The origin does not want it any more. False when the owner has taken it, and will have done it soon.
    pub fn take_back(&self) -> bool {
        // Relaxed: what follows an exchange that fails is `outcome`.
        self.0.compare_exchange(ASKED, NOTHING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// True when there is a request.
    #[inline]
    pub fn is_asked(&self) -> bool {
        // Relaxed: what follows is `take`.
        self.0.load(Ordering::Relaxed) == ASKED
    }

    /// True when there is a request that has no answer yet.
    pub fn is_under_way(&self) -> bool {
        // Acquire: pairs with the release in `finish`. Whoever finds none writes what it asks for itself.
        matches!(self.0.load(Ordering::Acquire), ASKED | TAKEN)
    }

    /// True when there is a request, which is the owner's now.
    #[inline]
    pub fn take(&self) -> bool {
        // Acquire: pairs with the release in `ask`.
        self.is_asked() && self.0.compare_exchange(ASKED, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The owner has done what it took, or could not.
    #[inline]
    pub fn finish(&self, outcome: Outcome) {
        // Release: pairs with the acquire in `outcome`.
        self.0.store(outcome as u32, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod model;
