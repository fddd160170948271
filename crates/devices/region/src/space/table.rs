//! Who may use a region, and when its owner may take it back. In shared memory, begins as zeros.
//!
//! A user writes the region's cookie into one of its holds, and then looks whether the region is
//! open. The owner closes the region, and then looks whether anybody holds it. With a fence between
//! the two steps on both sides, one of them sees the other: either the user is refused, or the owner
//! waits for it. A user that dies leaves its hold behind; the owner knows whose it is.

use super::Cookie;
use tern_atomics::{AtomicU64, Ordering, fence};

/// Generation above, phase below.
fn word(generation: u32, phase: Phase) -> u64 {
    u64::from(generation) << 32 | phase as u64
}

/// What a slot of the table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Free = 0,
    /// A region that may be used.
    Open = 1,
    /// A region that may be used once.
    OpenOnce = 2,
    /// A region whose single use has begun.
    Used = 3,
    /// A region that is being destroyed; uses that have begun may go on.
    Closed = 4,
}

/// One region of a member.
#[repr(C, align(64))]
pub struct Slot {
    state: AtomicU64,
    /// What the region is; see [`About`].
    about: [AtomicU64; 4],
}

/// What the owner tells of a region. Constant while the region is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Bytes.
    pub len: u64,
    /// Others may read it, others may write it.
    pub access: u32,
    /// How many entries of the owner's list say where it lies, from which on.
    pub pieces: u32,
    pub first: u64,
    /// The cookie of the same memory in the kernel module, or 0.
    pub module: u64,
}

/// A region's name in the hold of a process that uses it, or 0.
#[repr(transparent)]
pub struct Hold(AtomicU64);

/// What a user finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Region(About),
    /// The same; the user must [`Slot::claim`] it before it moves anything.
    Once(About),
}

impl Slot {
    /// Opens a region under `cookie`. Only the owner calls this, on a free slot of which nobody
    /// knows this cookie yet.
    pub fn open(&self, cookie: Cookie, about: About, once: bool) {
        let words = [about.len, u64::from(about.access) << 32 | u64::from(about.pieces), about.first, about.module];
        for (word, value) in self.about.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        let phase = if once { Phase::OpenOnce } else { Phase::Open };
        // Release: pairs with the acquire in `enter`.
        self.state.store(word(cookie.generation(), phase), Ordering::Release);
    }

    /// Begins to use the region: from here on until `hold` is released, the owner leaves it as it is.
    /// `None`, with nothing held, when there is no region of that name.
    pub fn enter(&self, hold: &Hold, cookie: Cookie) -> Option<Found> {
        hold.0.store(cookie.to_bits(), Ordering::Relaxed);
        // Pairs with the fence in `close`: the owner sees the hold or we see that it has closed.
        fence(Ordering::SeqCst);
        // Acquire: pairs with the release in `open`.
        let state = self.state.load(Ordering::Acquire);
        if state == word(cookie.generation(), Phase::Open) {
            return Some(Found::Region(self.about()));
        }
        if state == word(cookie.generation(), Phase::OpenOnce) {
            return Some(Found::Once(self.about()));
        }
        hold.release();
        None
    }

    fn about(&self) -> About {
        let [len, access, first, module] = [0, 1, 2, 3].map(|index: usize| self.about[index].load(Ordering::Relaxed));
        About { len, access: (access >> 32) as u32, pieces: access as u32, first, module }
    }

    /// Takes the single use of a region that was entered; false when somebody else has it.
    pub fn claim(&self, cookie: Cookie) -> bool {
        let (open, used) = (word(cookie.generation(), Phase::OpenOnce), word(cookie.generation(), Phase::Used));
        // Release: the hold, stored before, is seen by the owner that sees the use.
        self.state.compare_exchange(open, used, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Gives a claimed use back, when nothing was moved by it.
    pub fn unclaim(&self, cookie: Cookie) {
        let (open, used) = (word(cookie.generation(), Phase::OpenOnce), word(cookie.generation(), Phase::Used));
        // If it was closed meanwhile, it stays closed.
        let _ = self.state.compare_exchange(used, open, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// What the owner serves on behalf of a user that holds the region: a region in whatever phase.
    pub fn serve(&self, cookie: Cookie) -> Option<About> {
        // Acquire: as in `enter`.
        let state = self.state.load(Ordering::Acquire);
        let free = word(cookie.generation(), Phase::Free);
        (state >> 32 == u64::from(cookie.generation()) && state != free).then(|| self.about())
    }

    /// Lets nobody in any more; false when there was no region of that name to close. Afterwards the
    /// owner waits until nobody has a hold, and then calls [`Slot::free`].
    pub fn close(&self, cookie: Cookie) -> bool {
        let closed = word(cookie.generation(), Phase::Closed);
        let mut state = self.state.load(Ordering::Relaxed);
        let found = loop {
            let open = [Phase::Open, Phase::OpenOnce, Phase::Used];
            if !open.iter().any(|phase| state == word(cookie.generation(), *phase)) {
                break false;
            }
            // Acquire: pairs with the release in `claim`.
            match self.state.compare_exchange(state, closed, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break true,
                Err(now) => state = now,
            }
        };
        // Pairs with the fence in `enter`.
        fence(Ordering::SeqCst);
        found
    }

    /// The region's single use has begun.
    pub fn is_used(&self, cookie: Cookie) -> bool {
        // Acquire: pairs with the release in `claim`.
        self.state.load(Ordering::Acquire) == word(cookie.generation(), Phase::Used)
    }

    /// Makes the slot free for a region of a later generation.
    pub fn free(&self, cookie: Cookie) {
        // Release: pairs with the acquire in `serve`.
        self.state.store(word(cookie.generation(), Phase::Free), Ordering::Release);
    }

    /// The generation that the next region here has; `None` when the slot is not free.
    pub fn next_generation(&self) -> Option<u32> {
        let state = self.state.load(Ordering::Acquire);
        (state as u32 == Phase::Free as u32).then(|| ((state >> 32) as u32).wrapping_add(1).max(1))
    }

    /// Whatever the slot's last owner, which has ended, has left here is gone.
    pub fn inherit(&self) {
        let generation = (self.state.load(Ordering::Acquire) >> 32) as u32;
        if generation > 0 {
            self.state.store(word(generation, Phase::Free), Ordering::Release);
        }
    }
}

impl Hold {
    /// Whether the region of that name is held here.
    pub fn is_on(&self, cookie: Cookie) -> bool {
        // Acquire: pairs with the release in `release`.
        self.0.load(Ordering::Acquire) == cookie.to_bits()
    }

    /// Ends the use; the owner may take the memory back.
    pub fn release(&self) {
        // Release: pairs with the acquire in `is_on`.
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod model;
