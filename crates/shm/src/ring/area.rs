//! The sender's books of the memory for short payloads that do not fit a cell: which bytes lie in
//! packets that the receiver has not taken. A state machine without memory of its own.

use std::collections::VecDeque;

/// Memory is handed out in units of a cache line.
pub const UNIT: usize = 64;

pub struct Area {
    len: usize,
    /// Start of what is free.
    head: usize,
    /// Start of what is in use; equal to `head` only when `used` is empty.
    tail: usize,
    /// (position, end of its data) of packets with data, in order.
    used: VecDeque<(u32, usize)>,
}

impl Area {
    pub fn new(len: usize, packets: usize) -> Area {
        Area { len, head: 0, tail: 0, used: VecDeque::with_capacity(packets) }
    }

    /// The receiver has taken all packets before position `taken`.
    pub fn release(&mut self, taken: u32) {
        while let Some(&(position, end)) = self.used.front() {
            if (taken.wrapping_sub(position) as i32) <= 0 {
                break;
            }
            self.tail = end;
            self.used.pop_front();
        }
        if self.used.is_empty() {
            // Start over: the first lines of the area are the likeliest to be cached.
            (self.head, self.tail) = (0, 0);
        }
    }

    /// Finds room for `len` bytes of the packet at `position`; returns their offset.
    pub fn take(&mut self, position: u32, len: usize) -> Option<usize> {
        let len = len.next_multiple_of(UNIT);
        let start = self.find(len)?;
        self.head = start + len;
        self.used.push_back((position, self.head));
        Some(start)
    }

    fn find(&self, len: usize) -> Option<usize> {
        let empty = self.used.is_empty();
        if empty || self.head > self.tail {
            if self.head + len <= self.len {
                return Some(self.head);
            }
            // One unit stays free, so that a full area does not look like an empty one.
            let room = if empty { self.len } else { self.tail.saturating_sub(UNIT) };
            return (len <= room).then_some(0);
        }
        (self.head + len < self.tail).then_some(self.head)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Payloads that are under way never share a byte, lie in the area, and everything can be
        /// used again.
        #[test]
        fn payloads_have_their_bytes_to_themselves(
            units in 8..100usize,
            start in any::<u32>(),
            steps in prop::collection::vec((0..1000usize, 0..4u32), 1..300),
        ) {
            let area_len = units * UNIT;
            let mut area = Area::new(area_len, 64);
            let mut under_way: VecDeque<(usize, usize)> = VecDeque::new();
            let (mut next, mut taken) = (start, start);
            for (len, taking) in steps {
                let len = len % (area_len / 2) + 1;
                match area.take(next, len) {
                    Some(at) => {
                        let end = at + len.next_multiple_of(UNIT);
                        prop_assert!(at % UNIT == 0 && end <= area_len);
                        for &(other, other_end) in &under_way {
                            prop_assert!(end <= other || other_end <= at);
                        }
                        under_way.push_back((at, end));
                        next = next.wrapping_add(1);
                    }
                    None => prop_assert!(!under_way.is_empty(), "{len} bytes refused when empty"),
                }
                for _ in 0..taking {
                    if under_way.pop_front().is_some() {
                        taken = taken.wrapping_add(1);
                    }
                }
                area.release(taken);
            }
        }
    }
}
