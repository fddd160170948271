//! One posted receive: what its two sides tell each other of it, and the chunks that both copy.

use super::word::Word;
use tern_atomics::{AtomicU32, AtomicU64, Ordering, fence};
use tern_device::Memory;
use tern_region::module::{DONE, RUNNING};

/// Memory as five words that both sides may look at at any time. The fifth is its place, or its cookie.
#[repr(C)]
#[derive(Default)]
struct SharedMemory([AtomicU64; 5]);

impl SharedMemory {
    // Relaxed, all of them: the slot's word orders them for whoever has a part in the transfer. The fences are for one who
    // comes to a transfer that is over: what it finds of the next one here, it finds after the end of the first.
    fn store(&self, memory: &Memory, fifth: u64) {
        // Release: pairs with the acquire in `load`.
        fence(Ordering::Release);
        let words = [memory.address, memory.len, memory.block, memory.stride as u64, fifth];
        for (to, word) in self.0.iter().zip(words) {
            to.store(word, Ordering::Relaxed);
        }
    }

    fn len(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }

    /// The memory, and the fifth word.
    fn load(&self) -> (Memory, u64) {
        let word = |at: usize| self.0[at].load(Ordering::Relaxed);
        let (address, len, block, stride) = (word(0), word(1), word(2), word(3) as i64);
        let told = (Memory { address, len, block, stride, ..Memory::default() }, word(4));
        // Acquire: pairs with the release in `store`.
        fence(Ordering::Acquire);
        told
    }
}

/// One receive: the first line is the receiver's, the second the sender's.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Slot {
    /// Context and tag; source and the receiver's request.
    pub(super) key: [AtomicU64; 2],
    /// With its place.
    target: SharedMemory,
    cookie: AtomicU64,
    /// With its cookie where the kernel copies ([`Word::is_by_kernel`]), else with its place.
    source: SharedMemory,
    /// Length of the message in bytes.
    pub(super) size: AtomicU64,
    /// How far the chunks of a shared slot are claimed: [`Claims`].
    claims: AtomicU64,
    /// Chunks copied, and [`REFUSED`].
    copied: AtomicU32,
    /// How a copy stands that the kernel module makes ([`Word::is_by_module`]): the kernel writes it, and then [`GIVEN_BACK`] may stand here.
    status: AtomicU32,
}

/// Chunks claimed from the front and from the back, and the order of the receive that they belong to: who comes late
/// claims nothing of the next one in the slot.
#[derive(Clone, Copy)]
struct Claims(u64);

/// Chunks of one message at most.
pub const CHUNKS: u32 = u16::MAX as u32;
/// The module copies nothing more: its chunk is anybody's. No value of the kernel's.
const GIVEN_BACK: u32 = 2;

/// How a copy stands that the kernel module makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByModule {
    UnderWay,
    Done,
    /// It has failed. Who has started it gives it back.
    Failed,
    /// It was given back.
    Over,
}

/// Beside the count of the copied chunks: the receiver copies none.
const REFUSED: u32 = 1 << 16;

impl Claims {
    /// `begun`: with the first chunk.
    fn new(word: Word, begun: bool) -> Claims {
        Claims((word.order() as u64) << 32 | u64::from(begun))
    }

    /// A transfer that is over: however many chunks somebody takes it to have, none is left.
    fn over(self) -> Claims {
        Claims(self.0 | CHUNKS as u64)
    }

    /// What is claimed when one side has given its last chunk back.
    fn without(self, back: bool) -> Claims {
        Claims(self.0 - if back { 1 << 16 } else { 1 })
    }

    /// The next of `chunks` for `word`, and what then is claimed.
    fn next(self, word: Word, back: bool, chunks: u32) -> Option<(u32, Claims)> {
        let (front, rear) = (self.0 as u16 as u32, (self.0 >> 16) as u16 as u32);
        if self.0 >> 32 != word.order() as u64 || front + rear >= chunks {
            return None;
        }
        Some(if back { (chunks - 1 - rear, Claims(self.0 + (1 << 16))) } else { (front, Claims(self.0 + 1)) })
    }
}

impl Slot {
    pub(super) fn set_target(&self, memory: &Memory) {
        // Relaxed: as in `SharedMemory`, whose fence is behind this.
        self.cookie.store(memory.cookie, Ordering::Relaxed);
        self.target.store(memory, memory.place);
    }

    /// The receiver's memory.
    pub(super) fn target(&self) -> Memory {
        // Relaxed: as in `set_target`.
        let cookie = self.cookie.load(Ordering::Relaxed);
        let (memory, place) = self.target.load();
        Memory { place, cookie, ..memory }
    }

    pub(super) fn target_len(&self) -> u64 {
        self.target.len()
    }

    /// All of `source` is to be copied, by both sides, once they see `word`.
    pub(super) fn share(&self, word: Word, source: &Memory, begun: bool) {
        self.source.store(source, if word.is_by_kernel() { source.cookie } else { source.place });
        // Relaxed, both: whoever claims has seen the word that is stored after them.
        self.claims.store(Claims::new(word, begun).0, Ordering::Relaxed);
        self.copied.store(0, Ordering::Relaxed);
        self.status.store(RUNNING, Ordering::Relaxed);
    }

    /// The last chunk has been copied.
    pub(super) fn end_sharing(&self) {
        // Relaxed: all chunks are claimed, nobody changes it any more; see `SharedMemory` for who comes late.
        self.claims.store(Claims(self.claims.load(Ordering::Relaxed)).over().0, Ordering::Relaxed);
    }

    /// The sender's memory, as it stands there for `word`.
    pub(super) fn source(&self, word: Word) -> Memory {
        match self.source.load() {
            (memory, cookie) if word.is_by_kernel() => Memory { cookie, ..memory },
            (memory, place) => Memory { place, ..memory },
        }
    }

    /// Claims a chunk of the `chunks`, at most [`CHUNKS`], of the copy that was seen at `word`, from the front or from
    /// the back; `None` when all are claimed or it is over.
    #[inline]
    pub fn claim(&self, word: Word, back: bool, chunks: u32) -> Option<u32> {
        // Relaxed: it hands out numbers; what they stand for is ordered by the slot's word and by
        // `copied`.
        let mut before = self.claims.load(Ordering::Relaxed);
        loop {
            let (chunk, after) = Claims(before).next(word, back, chunks)?;
            match self.claims.compare_exchange(before, after.0, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(chunk),
                Err(now) => before = now,
            }
        }
    }

    /// Gives back the chunk that this side has claimed last, and cannot copy.
    #[cold]
    pub fn give_back(&self, back: bool) {
        // Relaxed: as in `claim`. The transfer is not over while a chunk of it is not copied, so the claims are its own.
        let mut before = self.claims.load(Ordering::Relaxed);
        while let Err(now) =
            self.claims.compare_exchange(before, Claims(before).without(back).0, Ordering::Relaxed, Ordering::Relaxed)
        {
            before = now;
        }
    }

    /// Counts a chunk that was copied; true when it was the last of `chunks`.
    #[inline]
    pub fn copied(&self, chunks: u32) -> bool {
        // AcqRel: who counts the last one has seen all the others', and says so by `finish`.
        (self.copied.fetch_add(1, Ordering::AcqRel) + 1) & CHUNKS == chunks
    }

    /// How the copy stands that the module makes of this slot.
    pub fn by_module(&self) -> ByModule {
        // Acquire: pairs with the kernel's release; the bytes are there.
        match self.status.load(Ordering::Acquire) {
            DONE => ByModule::Done,
            RUNNING => ByModule::UnderWay,
            GIVEN_BACK => ByModule::Over,
            _ => ByModule::Failed,
        }
    }

    /// Gives the module's chunk back, which stands as `from`: true for the one who has done so.
    #[cold]
    pub fn take_from_module(&self, from: ByModule) -> bool {
        let before = self.status.load(Ordering::Relaxed);
        let is_due = from != ByModule::Over && self.by_module() == from;
        // Relaxed: the claims order who copies.
        let swap = || self.status.compare_exchange(before, GIVEN_BACK, Ordering::Relaxed, Ordering::Relaxed);
        let taken = is_due && swap().is_ok();
        if taken {
            self.give_back(false);
        }
        taken
    }

    /// The word that the kernel writes.
    #[cfg(not(loom))]
    pub fn status(&self) -> *const std::sync::atomic::AtomicU32 {
        (&raw const self.status).cast()
    }

    /// The receiver copies nothing more of this transfer, and has given back what it had claimed.
    #[cold]
    pub fn refuse(&self) {
        // Release: pairs with the acquire in `is_refused`; the receiver writes to its memory no more.
        self.copied.fetch_or(REFUSED, Ordering::Release);
    }

    /// The sender alone is left to copy.
    #[cold]
    pub fn is_refused(&self) -> bool {
        // Acquire: pairs with the release in `refuse`.
        self.copied.load(Ordering::Acquire) & REFUSED != 0
    }
}
