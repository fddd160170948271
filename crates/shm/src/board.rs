//! The receives that one process has published for one sender (design, section 4): a page in the
//! receiver's block of the segment, which the sender looks through and claims from.
//!
//! One word per slot says how it stands; the receiver opens a slot and wins it back, the sender
//! claims it, both by compare and swap on that word. A word holds the receive's order of
//! publication, so that a slot that was used again is never taken for what it was.

use crate::hint::demote;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence, yield_now};
use tern_copy::Target;
use tern_device::{Key, Memory};

/// Receives that can be published for one sender at a time. The model checker tries few.
pub const SLOTS: usize = if cfg!(loom) { 2 } else { 30 };

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

/// The word of a slot: stage, a few bits of the key, what the three bits above say, order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(u64);

impl Word {
    fn new(stage: Stage, mark: u8, order: u32) -> Word {
        Word(stage as u64 | (mark as u64) << 8 | (order as u64) << 32)
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

    fn with(self, stage: Stage) -> Word {
        Word(self.0 & !0xff | stage as u64)
    }

    /// The message is as long as its receive has room for.
    pub fn fits(self) -> bool {
        self.0 & FITS != 0
    }

    pub fn is_joint(self) -> bool {
        self.0 & JOINT != 0
    }

    /// What the target of a shared copy is taken for, by both sides.
    pub fn target(self) -> Target {
        if self.0 & LATER != 0 { Target::Later } else { Target::Soon }
    }

    /// The word of a copy to such a target.
    fn to(self, target: Target) -> Word {
        Word(if target == Target::Later { self.0 | LATER } else { self.0 })
    }

    fn mark(self) -> u8 {
        (self.0 >> 8) as u8
    }

    pub fn order(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A few bits of a key.
fn mark(key: &Key) -> u8 {
    let mixed = (key.context ^ (key.tag as u32).rotate_left(16)).wrapping_mul(0x9e37_79b9);
    (mixed >> 24) as u8
}

/// A message of this key, once so many have been taken from the stream; never 0.
fn hope(key: &Key, taken: u32) -> u64 {
    let Key { context, source, tag } = *key;
    let mixed = [context, source as u32, tag as u32]
        .iter()
        .fold(0u32, |mixed, part| (mixed.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9));
    (taken as u64) << 32 | (mixed | 1) as u64
}

/// Memory as five words that both sides may look at at any time.
#[repr(C)]
#[derive(Default)]
struct SharedMemory([AtomicU64; 5]);

impl SharedMemory {
    // Relaxed, all of them: the slot's word orders them for whoever has a part in the transfer. The fences are for one who
    // comes to a transfer that is over: what it finds of the next one here, it finds after the end of the first.
    fn store(&self, memory: &Memory) {
        // Release: pairs with the acquire in `load`.
        fence(Ordering::Release);
        let words = [memory.address, memory.len, memory.block, memory.stride as u64, memory.place];
        for (to, word) in self.0.iter().zip(words) {
            to.store(word, Ordering::Relaxed);
        }
    }

    fn len(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }

    fn load(&self) -> Memory {
        let word = |at: usize| self.0[at].load(Ordering::Relaxed);
        let memory =
            Memory { address: word(0), len: word(1), block: word(2), stride: word(3) as i64, place: word(4), key: 0 };
        // Acquire: pairs with the release in `store`.
        fence(Ordering::Acquire);
        memory
    }
}

/// One receive: the first line is the receiver's, the second the sender's.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Slot {
    /// Context and tag; source and the receiver's request.
    key: [AtomicU64; 2],
    target: SharedMemory,
    _line: u64,
    source: SharedMemory,
    /// Length of the message in bytes.
    size: AtomicU64,
    /// How far the chunks of a shared slot are claimed: [`Claims`].
    claims: AtomicU64,
    /// Chunks copied, and [`REFUSED`].
    copied: AtomicU32,
}

/// Chunks claimed from the front and from the back, and the order of the receive that they belong to: who comes late
/// claims nothing of the next one in the slot.
#[derive(Clone, Copy)]
struct Claims(u64);

/// Chunks of one message at most.
pub const CHUNKS: u32 = u16::MAX as u32;
/// Beside the count of the copied chunks: the receiver copies none.
const REFUSED: u32 = 1 << 16;

impl Claims {
    fn new(word: Word) -> Claims {
        Claims((word.order() as u64) << 32)
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

/// What a slot says of its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    pub key: Key,
    pub receiver: u32,
    pub target: Memory,
}

/// The page.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Board {
    /// Slots from this one on are free.
    used: AtomicU32,
    /// Number of the last stream message that the receiver has taken.
    seen: AtomicU32,
    words: [AtomicU64; SLOTS],
    /// The message that the receiver waits for and is going to fetch ([`hope`]), or 0.
    hope: AtomicU64,
    slots: [Slot; SLOTS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Slot>() == 128 && size_of::<Board>() == 4096);

impl Board {
    /// The word of `slot` now. What was stored before it took this value is seen.
    #[inline]
    pub fn word(&self, slot: u32) -> Word {
        // Acquire: pairs with the releases in `publish`, `claim`'s followers `share` and `fill`.
        Word(self.words[slot as usize].load(Ordering::Acquire))
    }

    pub fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// Slots that may be in use.
    #[inline]
    pub fn used(&self) -> u32 {
        // Acquire: pairs with the release in `publish`.
        self.used.load(Ordering::Acquire)
    }

    // ---- the receiver

    fn free_slot(&self) -> Option<u32> {
        // Relaxed: only the receiver frees slots, and makes `used` grow.
        let free = |word: &AtomicU64| Word(word.load(Ordering::Relaxed)).stage() == Stage::Free;
        let index = self.words.iter().position(free)? as u32;
        if self.used.load(Ordering::Relaxed) <= index {
            // Release: pairs with the acquire in `used`.
            self.used.store(index + 1, Ordering::Release);
        }
        Some(index)
    }

    /// Opens a free slot, the `order`th since the beginning; `None` when there is none.
    pub fn publish(&self, receive: &Published, order: u32, seen: u32) -> Option<u32> {
        let index = self.free_slot()?;
        let slot = self.slot(index);
        let Key { context, source, tag } = receive.key;
        slot.key[0].store(context as u64 | (tag as u32 as u64) << 32, Ordering::Relaxed);
        slot.key[1].store(source as u32 as u64 | (receive.receiver as u64) << 32, Ordering::Relaxed);
        slot.target.store(&receive.target);
        self.raise(seen);
        let word = Word::new(Stage::Open, mark(&receive.key), order);
        // Release: pairs with the acquire in `word`.
        self.words[index as usize].store(word.0, Ordering::Release);
        Some(index)
    }

    /// Begins a copy from `source` in a free slot, in which the sender may take part, once it knows the slot and
    /// `order`; `None` when there is none. `lies`: what the target is taken for.
    pub fn begin(&self, receive: &Published, source: &Memory, order: u32, lies: Target) -> Option<u32> {
        let index = self.free_slot()?;
        let slot = self.slot(index);
        slot.key[1].store((receive.receiver as u64) << 32, Ordering::Relaxed);
        slot.target.store(&receive.target);
        let word = Word(Word::new(Stage::Claimed, 0, order).0 | JOINT);
        self.share(index, word, source, source.len, lies);
        Some(index)
    }

    /// Says that the stream has been taken up to number `seen`.
    #[inline]
    pub fn raise(&self, seen: u32) {
        // Release: pairs with the acquire in `find`; a sender that sees the number sees what was
        // won back before it.
        self.seen.store(seen, Ordering::Release);
    }

    /// The receiver waits for a message of this key, unpublished, and has taken so many from the stream.
    pub fn hope(&self, key: &Key, taken: u32) {
        // Relaxed, here and below: nothing is read by it. The sender only asks to send then.
        self.hope.store(hope(key, taken), Ordering::Relaxed);
    }

    /// It does not any more.
    pub fn end_hope(&self) {
        self.hope.store(0, Ordering::Relaxed);
    }

    /// Wins an open receive back and frees its slot; false when the sender has claimed it.
    pub fn retract(&self, slot: u32) -> bool {
        loop {
            let word = self.word(slot);
            match word.stage() {
                Stage::Open if self.swap(slot, word, Stage::Free) => return true,
                // A fork in another thread holds it.
                Stage::Open | Stage::Held => yield_now(),
                // Acquire in `word`: pairs with the sender's claim, whose stream messages come after it.
                _ => return false,
            }
        }
    }

    /// Frees a slot that was filled, or whose message came by packets.
    pub fn free(&self, slot: u32) {
        let word = self.word(slot).with(Stage::Free);
        // Release: pairs with the acquire in `word`; what was copied out of here is done with.
        self.words[slot as usize].store(word.0, Ordering::Release);
    }

    /// Closes an open receive until [`Board::reopen`]; false when the sender has claimed it. Meanwhile the sender uses no younger one
    /// in its place.
    pub fn hold(&self, slot: u32) -> bool {
        let word = self.word(slot);
        word.stage() == Stage::Open && self.swap(slot, word, Stage::Held)
    }

    /// Opens a receive again that was held, and that lies in private memory now.
    pub fn reopen(&self, slot: u32) {
        let at = self.slot(slot);
        at.target.store(&Memory { place: 0, ..at.target.load() });
        // Release: pairs with the acquire in `word`.
        self.words[slot as usize].store(self.word(slot).with(Stage::Open).0, Ordering::Release);
    }

    /// The request that a slot belongs to.
    pub fn receiver(&self, slot: u32) -> u32 {
        (self.slot(slot).key[1].load(Ordering::Relaxed) >> 32) as u32
    }

    // ---- the sender

    /// The oldest open receive for `key`, when the receiver had taken the stream up to `last`.
    #[inline]
    pub fn find(&self, key: &Key, last: u32) -> Option<(u32, Word)> {
        let mut oldest = self.oldest(key)?;
        // A receive can have been published in front of where the look was, and a younger one behind it. Whatever is
        // older than the one that a look has found is seen by the next look. If that finds another, the first is
        // gone, and the same may have happened again.
        loop {
            let again = self.oldest(key)?;
            if again == oldest {
                break;
            }
            oldest = again;
        }
        // Acquire: pairs with the release in `raise`. It is read after the words and before the
        // claim: a receive that was won back before this number was stored fails the claim.
        let seen = self.seen.load(Ordering::Acquire);
        (seen.wrapping_sub(last) as i32 >= 0 && oldest.1.stage() == Stage::Open).then_some(oldest)
    }

    /// The oldest receive for `key` that is open, or held.
    fn oldest(&self, key: &Key) -> Option<(u32, Word)> {
        let mark = mark(key);
        let mut oldest: Option<(u32, Word)> = None;
        for index in 0..self.used() {
            let word = self.word(index);
            if matches!(word.stage(), Stage::Open | Stage::Held) && word.mark() == mark && self.is_for(index, key) {
                let is_older = |(_, other): (u32, Word)| (word.order().wrapping_sub(other.order()) as i32) < 0;
                if oldest.is_none_or(is_older) {
                    oldest = Some((index, word));
                }
            }
        }
        oldest
    }

    fn is_for(&self, slot: u32, key: &Key) -> bool {
        let slot = self.slot(slot);
        slot.key[0].load(Ordering::Relaxed) == key.context as u64 | (key.tag as u32 as u64) << 32
            && slot.key[1].load(Ordering::Relaxed) as u32 == key.source as u32
    }

    /// Whether the receiver waits for the next message of this key, when `sent` have gone on the stream.
    pub fn is_hoped(&self, key: &Key, sent: u32) -> bool {
        self.hope.load(Ordering::Relaxed) == hope(key, sent)
    }

    /// What the slot says; only valid once it is claimed with the word that was seen.
    pub fn target(&self, slot: u32) -> Memory {
        self.slot(slot).target.load()
    }

    /// Claims an open receive; false when the receiver has won it back.
    pub fn claim(&self, slot: u32, word: Word) -> bool {
        self.swap(slot, word, Stage::Claimed)
    }

    /// Offers a claimed receive to both sides, to copy from `source`; its word from now on.
    pub fn share(&self, slot: u32, word: Word, source: &Memory, size: u64, lies: Target) -> Word {
        let at = self.slot(slot);
        at.source.store(source);
        at.claims.store(Claims::new(word).0, Ordering::Relaxed);
        at.copied.store(0, Ordering::Relaxed);
        self.set(slot, word.to(lies), Stage::Shared, size)
    }

    /// Says that a claimed receive is filled by packets.
    pub fn send_packets(&self, slot: u32, word: Word) {
        // Release: pairs with the acquire in `word`.
        self.words[slot as usize].store(word.with(Stage::Packets).0, Ordering::Release);
    }

    /// Says that a claimed receive holds its message of `size` bytes.
    pub fn fill(&self, slot: u32, word: Word, size: u64) {
        self.set(slot, word, Stage::Filled, size);
    }

    // ---- both

    /// Says that the last chunk of a shared slot has been copied.
    pub fn finish(&self, slot: u32) {
        let word = self.word(slot).with(Stage::Filled);
        let claims = &self.slot(slot).claims;
        // Relaxed: all chunks are claimed, nobody changes it any more; see `SharedMemory` for who comes late.
        claims.store(Claims(claims.load(Ordering::Relaxed)).over().0, Ordering::Relaxed);
        // Release: pairs with the acquire in `word`.
        self.words[slot as usize].store(word.0, Ordering::Release);
        demote(&raw const self.words[slot as usize]);
    }

    /// True while a slot that was shared as `word` is copied by both.
    pub fn is_shared(&self, slot: u32, word: Word) -> bool {
        self.word(slot) == word
    }

    /// The sender's side of a shared slot.
    pub fn source(&self, slot: u32) -> Memory {
        self.slot(slot).source.load()
    }

    /// The length of the message that has filled a slot.
    pub fn size(&self, slot: u32) -> u64 {
        let at = self.slot(slot);
        if self.word(slot).fits() { at.target.len() } else { at.size.load(Ordering::Relaxed) }
    }

    fn set(&self, slot: u32, word: Word, stage: Stage, size: u64) -> Word {
        let at = self.slot(slot);
        let fits = size == at.target.len();
        if !fits {
            // A store takes this line from the receiver, and its neighbour with it, which the receiver reads.
            at.size.store(size, Ordering::Relaxed);
        }
        let word = Word(word.with(stage).0 | if fits { FITS } else { 0 });
        // Release: pairs with the acquire in `word`.
        self.words[slot as usize].store(word.0, Ordering::Release);
        if stage == Stage::Filled {
            // The receiver looks at it when it comes back from computing.
            demote(&raw const self.words[slot as usize]);
        }
        word
    }

    fn swap(&self, slot: u32, from: Word, to: Stage) -> bool {
        // AcqRel: the claim and the withdrawal order what their sides did before against the other;
        // acquire on failure, so that the loser sees what the winner did before it.
        let word = &self.words[slot as usize];
        word.compare_exchange(from.0, from.with(to).0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

#[cfg(all(test, loom))]
mod model;
