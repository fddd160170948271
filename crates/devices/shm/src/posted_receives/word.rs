//! The word of a slot: how it stands, and for which receive.

use tern_copy::Target;

/// How a slot stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Stage {
    Free = 0,
    /// A receive that the sender may claim.
    Open = 1,
    /// The sender fills it alone.
    Claimed = 2,
    /// Whoever is at work copies the next chunk.
    Shared = 3,
    /// The bytes are there.
    Filled = 4,
    /// The sender sends packets.
    Packets = 5,
    /// An open receive that its receiver has closed for a moment.
    Held = 6,
}

/// The message is as long as its receive has room for, so that the receiver need not look for its length
/// on the sender's line.
const FITS: u64 = 1 << 16;
/// The receiver has begun a copy that the sender asked for; nobody has looked for this receive.
const JOINT: u64 = 1 << 17;
/// Who has shared a slot found that the copies of both had better pass the caches.
const LATER: u64 = 1 << 18;
/// The kernel copies for both.
const BY_KERNEL: u64 = 1 << 19;
/// The kernel module copies all of it, as one chunk, while both sides may compute.
const BY_MODULE: u64 = 1 << 20;

/// The word of a slot: stage, a few bits of the key, what the five bits above say, order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub(super) u64);

impl Word {
    pub(super) fn new(stage: Stage, mark: u8, order: u32) -> Word {
        Word(stage as u64 | (mark as u64) << 8 | (order as u64) << 32)
    }

    /// The word of these [bits](Word::bits).
    pub fn of(bits: u64) -> Word {
        Word(bits)
    }

    /// As a number that another word of the slot never has.
    pub fn bits(self) -> u64 {
        self.0
    }

    pub fn stage(self) -> Stage {
        match self.0 & 0xff {
            1 => Stage::Open,
            2 => Stage::Claimed,
            3 => Stage::Shared,
            4 => Stage::Filled,
            5 => Stage::Packets,
            6 => Stage::Held,
            _ => Stage::Free,
        }
    }

    pub(super) fn with(self, stage: Stage) -> Word {
        Word(self.0 & !0xff | stage as u64)
    }

    /// The message is as long as its receive has room for.
    pub fn fits(self) -> bool {
        self.0 & FITS != 0
    }

    /// The word of a receive for a message of just its length.
    pub(super) fn fitting(self) -> Word {
        Word(self.0 | FITS)
    }

    pub fn is_joint(self) -> bool {
        self.0 & JOINT != 0
    }

    /// The word of a copy that the receiver begins.
    pub(super) fn joint(self) -> Word {
        Word(self.0 | JOINT)
    }

    /// What the target of a shared copy is taken for, by both sides.
    pub fn target(self) -> Target {
        if self.0 & LATER != 0 { Target::Later } else { Target::Soon }
    }

    /// The word of a copy to such a target.
    pub(super) fn to(self, target: Target) -> Word {
        Word(if target == Target::Later { self.0 | LATER } else { self.0 })
    }

    /// Both sides have the kernel copy, wherever their memory lies.
    pub fn is_by_kernel(self) -> bool {
        self.0 & BY_KERNEL != 0
    }

    /// The word of such a copy.
    pub(super) fn by_kernel(self) -> Word {
        Word(self.0 | BY_KERNEL)
    }

    /// The kernel module copies all of it.
    pub fn is_by_module(self) -> bool {
        self.0 & BY_MODULE != 0
    }

    /// The word of such a copy.
    pub(super) fn by_module(self) -> Word {
        Word(self.0 | BY_MODULE)
    }

    pub(super) fn mark(self) -> u8 {
        (self.0 >> 8) as u8
    }

    pub fn order(self) -> u32 {
        (self.0 >> 32) as u32
    }
}
