//! One published receive, as words.

use crate::{Key, Memory};

/// Words of an entry.
pub const ENTRY: usize = 9;

/// A published receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What a message for it is matched by.
    pub key: Key,
    /// The receiver's request.
    pub receiver: u32,
    /// Where the message goes. It lies in private memory: its place is not told.
    pub target: Memory,
    /// How many receives had been published for this sender, with this one.
    pub order: u32,
    /// The last stream message that had been taken when it was published.
    pub seen: u32,
}

fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// Never 0, which is what a slot holds that was never written.
fn check(words: &[u64]) -> u64 {
    words.iter().fold(0x7ea2_9b31, |mix: u64, word| (mix ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
        | 1
}

/// The words by which most slots can be told to be of another key.
pub(super) fn begins(key: &Key) -> u64 {
    pair(key.context, key.tag as u32)
}

impl Entry {
    /// As words of the table, with a sum over all others in the last.
    pub fn encode(&self) -> [u64; ENTRY] {
        let Memory { address, len, block, stride, key, .. } = self.target;
        let mut words = [
            begins(&self.key),
            pair(self.key.source as u32, self.receiver),
            address,
            len,
            block,
            stride as u64,
            key,
            pair(self.order, self.seen),
            0,
        ];
        words[ENTRY - 1] = check(&words[..ENTRY - 1]);
        words
    }

    /// The reverse; `None` when not all words are of one entry.
    pub fn decode(words: &[u64; ENTRY]) -> Option<Entry> {
        let [first, who, address, len, block, stride, key, numbers, sum] = *words;
        if sum != check(&words[..ENTRY - 1]) {
            return None;
        }
        let target = Memory { address, len, block, stride: stride as i64, place: 0, key, cookie: 0 };
        let key = Key { context: first as u32, source: who as u32 as i32, tag: (first >> 32) as i32 };
        Some(Entry { key, receiver: (who >> 32) as u32, target, order: numbers as u32, seen: (numbers >> 32) as u32 })
    }
}
