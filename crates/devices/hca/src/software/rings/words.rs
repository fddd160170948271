//! The words of two rings: how far each side has written and read, and who is to be woken for it.

use tern_atomics::{AtomicU32, AtomicU64, Ordering, fence};

/// A word with lines of its own.
#[repr(align(128))]
struct Lines<T>(T);

/// What one side writes and the other reads.
#[repr(C)]
pub struct Words {
    /// Bytes that it has ever written.
    written: Lines<AtomicU64>,
    /// Bytes of the other side that it has taken.
    taken: Lines<AtomicU64>,
    /// It is to be woken.
    asleep: Lines<AtomicU32>,
    /// It waits for room.
    blocked: Lines<AtomicU32>,
}

/// The words of both sides, as one of them sees them.
pub struct Ends<'a> {
    pub mine: &'a Words,
    pub other: &'a Words,
}

impl Ends<'_> {
    /// Bytes that this side has published.
    pub fn written(&self) -> u64 {
        self.mine.written.0.load(Ordering::Relaxed)
    }

    /// Bytes that this side has taken.
    pub fn taken(&self) -> u64 {
        self.mine.taken.0.load(Ordering::Relaxed)
    }

    /// Bytes that the other side has published.
    pub fn arrived(&self) -> u64 {
        // Acquire: pairs with the release in `publish`.
        self.other.written.0.load(Ordering::Acquire)
    }

    /// Bytes that the other side has taken.
    pub fn released(&self) -> u64 {
        // Acquire: pairs with the release in `consume`: what was there has been read.
        self.other.taken.0.load(Ordering::Acquire)
    }

    /// Everything before `front` is to be read. True if the other side must be woken for it.
    pub fn publish(&self, front: u64) -> bool {
        // Release: pairs with the acquire in `arrived`.
        self.mine.written.0.store(front, Ordering::Release);
        // Either this sees that the other side sleeps, or that sees the bytes; pairs with the fence behind `sleep`.
        fence(Ordering::SeqCst);
        self.wakes()
    }

    /// So many bytes were read. True if the other side must be woken, since it waits for room.
    pub fn consume(&self, len: usize) -> bool {
        // Release: pairs with the acquire in `released`.
        let taken = self.taken() + len as u64;
        self.mine.taken.0.store(taken, Ordering::Release);
        // Either this sees that the other side waits, or that sees the room; pairs with the fence in `block`.
        fence(Ordering::SeqCst);
        self.other.blocked.0.load(Ordering::Relaxed) != 0 && self.wakes()
    }

    /// This side waits for room, or does not. It looks again after it has said so.
    pub fn block(&self, waits: bool) {
        if self.is_blocked() != waits {
            self.mine.blocked.0.store(u32::from(waits), Ordering::Relaxed);
            // Pairs with the fence in `consume`, and that behind `sleep` of another thread of this side.
            fence(Ordering::SeqCst);
        }
    }

    pub fn is_blocked(&self) -> bool {
        self.mine.blocked.0.load(Ordering::Relaxed) != 0
    }

    /// This side wants to be woken. A fence and a look at everything follow, before it sleeps.
    pub fn sleep(&self) {
        // Release: pairs with the acquire in `wakes`. Who learns of the ring finds this side as it was when it asked
        // for that: the engine's thread watches.
        self.mine.asleep.0.store(1, Ordering::Release);
    }

    pub fn awake(&self) {
        if self.mine.asleep.0.load(Ordering::Relaxed) != 0 {
            self.mine.asleep.0.store(0, Ordering::Relaxed);
        }
    }

    /// The other side sleeps, and nobody has woken it yet.
    fn wakes(&self) -> bool {
        let asleep = &self.other.asleep.0;
        // Acquire: pairs with the release in `sleep`.
        asleep.load(Ordering::Relaxed) != 0 && asleep.swap(0, Ordering::Acquire) != 0
    }
}

#[cfg(all(test, loom))]
impl Words {
    pub fn new() -> Words {
        Words {
            written: Lines(AtomicU64::new(0)),
            taken: Lines(AtomicU64::new(0)),
            asleep: Lines(AtomicU32::new(0)),
            blocked: Lines(AtomicU32::new(0)),
        }
    }
}
