//! The receives that one process has published for one sender (docs/parts/tuple-queues.md): a page in the
//! receiver's block of the segment, which the sender looks through and claims from.
//!
//! One word per slot says how it stands; the receiver opens a slot and wins it back, the sender
//! claims it, both by compare and swap on that word. A word holds the receive's order of
//! publication, so that a slot that was used again is never taken for what it was.

mod slot;
mod word;

pub use slot::{ByModule, CHUNKS, Slot};
pub use word::{Stage, Word};

use tern_atomics::{AtomicU32, AtomicU64, Ordering, yield_now};
use tern_copy::Target;
use tern_device::hint::{demote, prefetch_for_writing};
use tern_device::{Key, Memory};

/// Receives that can be published for one sender at a time. The model checker tries few.
pub const SLOTS: usize = if cfg!(loom) { 2 } else { 30 };

/// A few bits of a key.
fn mark(key: &Key) -> u8 {
    let mixed = (key.context ^ (key.tag as u32).rotate_left(16)).wrapping_mul(0x9e37_79b9);
    (mixed >> 24) as u8
}

/// A message of this key, once so many have been taken from the stream; never 0.
fn ready(key: &Key, taken: u32) -> u64 {
    let Key { context, source, tag } = *key;
    let mixed = [context, source as u32, tag as u32]
        .iter()
        .fold(0u32, |mixed, part| (mixed.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9));
    (taken as u64) << 32 | (mixed | 1) as u64
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
pub struct PostedReceives {
    /// Slots from here on are free.
    used: AtomicU32,
    /// Number of the last stream message that the receiver has taken.
    seen: AtomicU32,
    words: [AtomicU64; SLOTS],
    /// The message that the receiver waits for and is going to fetch ([`ready`]), or 0.
    ready: AtomicU64,
    slots: [Slot; SLOTS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Slot>() == 128 && size_of::<PostedReceives>() == 4096);

impl PostedReceives {
    /// The word of `slot` now. What was stored before it took this value is seen.
    #[inline]
    pub fn word(&self, slot: u32) -> Word {
        // Acquire: pairs with the releases in `publish`, `claim`'s followers `share` and `fill`.
        Word(self.words[slot as usize].load(Ordering::Acquire))
    }

    /// The cache line on which that word lies.
    pub fn line(&self, slot: u32) -> *const u8 {
        (&raw const self.words[slot as usize]).cast()
    }

    pub fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// Slots below this number may be in use.
    #[inline]
    pub fn used(&self) -> u32 {
        // Acquire: pairs with the release in `publish`.
        self.used.load(Ordering::Acquire)
    }

    // ---- the receiver

    /// The slots in which something is published or under way.
    pub fn in_use(&self) -> impl Iterator<Item = u32> {
        (0..self.used()).filter(|&slot| self.word(slot).stage() != Stage::Free)
    }

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
        slot.set_target(&receive.target);
        self.raise(seen);
        let word = Word::new(Stage::Open, mark(&receive.key), order);
        // Release: pairs with the acquire in `word`.
        self.words[index as usize].store(word.0, Ordering::Release);
        Some(index)
    }

    /// Begins a copy from `source` in a free slot, in which the sender may take part, once it knows the slot and
    /// `order`; `None` when there is none. `lies`: what the target is taken for. `module`: the kernel module copies all.
    pub fn begin(&self, receive: &Published, source: &Memory, order: u32, lies: Target, module: bool) -> Option<u32> {
        let index = self.free_slot()?;
        let slot = self.slot(index);
        slot.key[1].store((receive.receiver as u64) << 32, Ordering::Relaxed);
        slot.set_target(&receive.target);
        let word = Word::new(Stage::Claimed, 0, order).joint();
        match module {
            true => self.share_with_module(index, word, source, source.len),
            false => self.share(index, word, source, source.len, lies, false),
        };
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
    pub fn set_ready(&self, key: &Key, taken: u32) {
        // Relaxed, here and below: nothing is read by it. The sender only asks to send then.
        self.ready.store(ready(key, taken), Ordering::Relaxed);
    }

    /// It does not any more.
    pub fn clear_ready(&self) {
        self.ready.store(0, Ordering::Relaxed);
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

    /// Frees a slot that was filled, or whose message came by packets, and that stands at `word`.
    #[inline]
    pub fn free(&self, slot: u32, word: Word) {
        // Release: pairs with the acquire in `word`; what was copied out of here is done with.
        self.words[slot as usize].store(word.with(Stage::Free).0, Ordering::Release);
        // Its sender has read that line, and the next receive is written there: many stores wait behind one that waits for its line.
        prefetch_for_writing(self.slot(slot));
    }

    /// Closes an open receive until [`PostedReceives::reopen`]; false when the sender has claimed it. Meanwhile the sender uses no younger one
    /// in its place.
    pub fn hold(&self, slot: u32) -> bool {
        let word = self.word(slot);
        word.stage() == Stage::Open && self.swap(slot, word, Stage::Held)
    }

    /// Opens a receive again that was held, and that lies in private memory now.
    pub fn reopen(&self, slot: u32) {
        let at = self.slot(slot);
        at.set_target(&Memory { place: 0, ..at.target() });
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
    pub fn is_ready(&self, key: &Key, sent: u32) -> bool {
        self.ready.load(Ordering::Relaxed) == ready(key, sent)
    }

    /// What the slot says; only valid once it is claimed with the word that was seen.
    pub fn target(&self, slot: u32) -> Memory {
        self.slot(slot).target()
    }

    /// Claims an open receive; false when the receiver has won it back.
    pub fn claim(&self, slot: u32, word: Word) -> bool {
        self.swap(slot, word, Stage::Claimed)
    }

    /// Offers a claimed receive to both sides, to copy from `source`; its word from now on. Memory without a place is the kernel's to
    /// copy. `begun`: who offers it begins with the first chunk.
    pub fn share(&self, slot: u32, word: Word, source: &Memory, size: u64, lies: Target, begun: bool) -> Word {
        let word = if source.place == 0 { word.by_kernel() } else { word };
        self.slot(slot).share(word, source, begun);
        self.set(slot, word.to(lies), Stage::Shared, size)
    }

    /// Leaves a claimed receive to the kernel module, which copies all of `source`; its word from now on.
    pub fn share_with_module(&self, slot: u32, word: Word, source: &Memory, size: u64) -> Word {
        self.share(slot, word.by_module(), &Memory { place: 0, ..*source }, size, Target::Soon, true)
    }

    /// Says that the module has copied all of a slot that was shared as `word`. Both sides may come to say so.
    pub fn finish_for_module(&self, slot: u32, word: Word) {
        self.swap(slot, word, Stage::Filled);
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
        self.slot(slot).end_sharing();
        // Release: pairs with the acquire in `word`.
        self.words[slot as usize].store(word.0, Ordering::Release);
        demote(&raw const self.words[slot as usize]);
    }

    /// True while a slot that was shared as `word` is copied by both.
    pub fn is_shared(&self, slot: u32, word: Word) -> bool {
        self.word(slot) == word
    }

    /// The sender's side of a slot that was shared as `word`.
    pub fn source(&self, slot: u32, word: Word) -> Memory {
        self.slot(slot).source(word)
    }

    /// The length of the message that has filled a slot.
    pub fn size(&self, slot: u32) -> u64 {
        let at = self.slot(slot);
        if self.word(slot).fits() { at.target_len() } else { at.size.load(Ordering::Relaxed) }
    }

    fn set(&self, slot: u32, word: Word, stage: Stage, size: u64) -> Word {
        let at = self.slot(slot);
        let fits = size == at.target_len();
        if !fits {
            // A store takes this line from the receiver, and its neighbour with it, which the receiver reads.
            at.size.store(size, Ordering::Relaxed);
        }
        let word = if fits { word.with(stage).fitting() } else { word.with(stage) };
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const KEY: Key = Key { context: 1, source: 0, tag: 7 };

    /// A receive that its sender has left to the module.
    fn shared(posted: &PostedReceives) -> (u32, Word) {
        let bytes = [0u8; 64];
        let memory = Memory { cookie: 5, ..Memory::dense(bytes.as_ptr(), bytes.len()) };
        let slot = posted.publish(&Published { key: KEY, receiver: 3, target: memory }, 9, 0).expect("room");
        let word = posted.word(slot);
        assert!(posted.claim(slot, word));
        (slot, posted.share_with_module(slot, word, &memory, 64))
    }

    /// What the kernel writes.
    fn tell(posted: &PostedReceives, slot: u32, status: u32) {
        // SAFETY: the word of a slot that lives.
        unsafe { &*posted.slot(slot).status() }.store(status, Ordering::Release);
    }

    #[test]
    fn what_the_module_copies_is_nobody_elses_and_either_side_sees_the_end() {
        let posted = PostedReceives::default();
        let (slot, word) = shared(&posted);
        assert!(word.is_by_module() && word.is_by_kernel());
        assert_eq!(posted.slot(slot).by_module(), ByModule::UnderWay);
        assert!([false, true].iter().all(|&back| posted.slot(slot).claim(word, back, 1).is_none()));
        tell(&posted, slot, tern_region::module::DONE);
        assert_eq!(posted.slot(slot).by_module(), ByModule::Done);
        posted.finish_for_module(slot, word);
        assert_eq!(posted.word(slot).stage(), Stage::Filled);
        // The receiver has gone on before the sender comes to say so too.
        posted.free(slot, posted.word(slot));
        posted.finish_for_module(slot, word);
        assert_eq!(posted.word(slot).stage(), Stage::Free);
    }

    #[test]
    fn a_copy_that_the_module_could_not_end_is_given_back_once() {
        let posted = PostedReceives::default();
        let (slot, word) = shared(&posted);
        tell(&posted, slot, (-libc::ENOENT) as u32);
        assert_eq!(posted.slot(slot).by_module(), ByModule::Failed);
        assert!(posted.slot(slot).take_from_module(ByModule::Failed));
        assert!(!posted.slot(slot).take_from_module(ByModule::Failed), "the other side may have it now");
        assert_eq!(posted.slot(slot).by_module(), ByModule::Over);
        assert_eq!(posted.slot(slot).claim(word, true, 1), Some(0), "all of it is one chunk");
    }
}
