//! Which offsets of a span of the node's file are in use: bookkeeping without memory or files.

use std::collections::BTreeMap;

/// First-fit allocation of offsets. Ranges that touch are joined again when they are given back.
#[derive(Debug)]
pub struct Offsets {
    /// Start and length of what is free; no two touch.
    free: BTreeMap<u64, u64>,
    /// Start and length of what was taken.
    used: BTreeMap<u64, u64>,
}

impl Offsets {
    /// `span` free bytes from `base`.
    pub fn new(base: u64, span: u64) -> Offsets {
        let free = if span > 0 { BTreeMap::from([(base, span)]) } else { BTreeMap::new() };
        Offsets { free, used: BTreeMap::new() }
    }

    /// Takes the lowest free range of `len` bytes, more than 0, whose start is a multiple of
    /// `align`.
    pub fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        debug_assert!(len > 0);
        let (start, room, at) = self.free.iter().find_map(|(&start, &room)| {
            let at = start.checked_next_multiple_of(align)?;
            let skipped = at - start;
            (skipped <= room && len <= room - skipped).then_some((start, room, at))
        })?;
        self.free.remove(&start);
        if at > start {
            self.free.insert(start, at - start);
        }
        if at + len < start + room {
            self.free.insert(at + len, start + room - (at + len));
        }
        self.used.insert(at, len);
        Some(at)
    }

    /// The length of the range that was taken at `offset`.
    pub fn len_at(&self, offset: u64) -> Option<u64> {
        self.used.get(&offset).copied()
    }

    /// Gives back what was taken at `offset`; false if that is not the start of such a range.
    pub fn give(&mut self, offset: u64) -> bool {
        let Some(mut len) = self.used.remove(&offset) else { return false };
        let mut start = offset;
        if let Some(after) = self.free.remove(&(start + len)) {
            len += after;
        }
        if let Some((&before, &room)) = self.free.range(..start).next_back()
            && before + room == start
        {
            self.free.remove(&before);
            start = before;
            len += room;
        }
        self.free.insert(start, len);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASE: u64 = 1000;
    const SPAN: u64 = 256;

    #[derive(Clone, Debug)]
    enum Event {
        Take {
            len: u64,
            align: u64,
        },
        /// Gives back one of those in use.
        Give(usize),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            3 => (1u64..60, prop::sample::select(vec![1u64, 4, 32])).prop_map(|(len, align)| Event::Take { len, align }),
            2 => any::<usize>().prop_map(Event::Give),
        ]
    }

    fn range(at: u64, len: u64) -> std::ops::Range<usize> {
        (at - BASE) as usize..(at - BASE + len) as usize
    }

    /// The lowest place by a map of bytes.
    fn naive(map: &[bool], len: u64, align: u64) -> Option<u64> {
        (BASE..BASE + SPAN)
            .find(|at| at % align == 0 && map.get(range(*at, len)).is_some_and(|range| !range.contains(&true)))
    }

    proptest! {
        #[test]
        fn as_a_map_of_bytes_would_have_it(events in prop::collection::vec(event(), 0..120)) {
            let mut offsets = Offsets::new(BASE, SPAN);
            let mut map = vec![false; SPAN as usize];
            let mut used: Vec<(u64, u64)> = Vec::new();
            for event in events {
                match event {
                    Event::Take { len, align } => {
                        let at = offsets.take(len, align);
                        prop_assert_eq!(at, naive(&map, len, align));
                        if let Some(at) = at {
                            map[range(at, len)].fill(true);
                            used.push((at, len));
                            prop_assert_eq!(offsets.len_at(at), Some(len));
                        }
                    }
                    Event::Give(which) if !used.is_empty() => {
                        let (at, len) = used.swap_remove(which % used.len());
                        prop_assert!(offsets.give(at));
                        prop_assert!(!offsets.give(at));
                        map[range(at, len)].fill(false);
                    }
                    Event::Give(_) => prop_assert!(!offsets.give(BASE)),
                }
            }
            for (at, _) in used {
                offsets.give(at);
            }
            // All of it is one range again.
            prop_assert_eq!(offsets.take(SPAN, 1), Some(BASE));
        }
    }
}
