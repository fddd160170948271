use super::*;
use crate::{Key, Memory};

const KEY: Key = Key { context: 3, source: -1, tag: -11 };

fn entry() -> Entry {
    let target = Memory { address: 1, len: 2, block: 3, stride: -4, place: 0, key: 5, cookie: 0 };
    Entry { key: KEY, receiver: 6, target, order: u32::MAX, seen: 7 }
}

#[test]
fn entries_survive_their_words() {
    assert_eq!(Entry::decode(&entry().encode()), Some(entry()));
    assert_eq!(Entry::decode(&[0; ENTRY]), None);
}

/// Whichever words of a write have landed, what is seen is the old entry, the new one, or none.
#[test]
fn an_entry_that_has_landed_in_part_is_not_there() {
    let new = entry().encode();
    let mut other = entry();
    (other.order, other.seen, other.target.address, other.receiver) = (1, 8, 99, 3);
    for old in [[0; ENTRY], other.encode()] {
        for landed in 0..1_u32 << ENTRY {
            let words = std::array::from_fn(|at| if landed >> at & 1 == 1 { new[at] } else { old[at] });
            let seen = Entry::decode(&words);
            let whole = words == new || words == old;
            assert!(whole || seen.is_none(), "{landed:b}");
        }
    }
}

/// A table in memory into which everything lands at once.
struct Pair {
    layout: Layout,
    table: Vec<u64>,
    publications: Publications,
}

impl Pair {
    fn new(slots: usize) -> Pair {
        let layout = Layout::new(slots);
        Pair { layout, table: vec![0; layout.words()], publications: Publications::new(layout) }
    }

    fn publish(&mut self, key: &Key, receiver: u32, seen: u32) -> Option<u32> {
        if let Some(head) = self.publications.overdue(seen) {
            self.table[self.layout.head()] = head;
        }
        let (slot, words) = self.publications.publish(key, &Memory::opaque(9), receiver, seen)?;
        let at = self.layout.entry(slot);
        self.table[at..at + ENTRY].copy_from_slice(&words);
        Some(slot)
    }

    fn raise(&mut self, seen: u32) {
        self.publications.raise(seen);
        if let Some(head) = self.publications.head() {
            self.table[self.layout.head()] = head;
        }
    }

    fn find(&self, key: &Key, last: u32) -> Option<Candidate> {
        find(self.layout, key, last, |at| self.table[at])
    }

    /// The request of the receive that a message gets.
    fn deliver(&mut self, key: &Key, last: u32) -> Option<u32> {
        let found = self.find(key, last)?;
        let (at, word) = try_claim(self.layout, &found);
        self.table[at] = word;
        let (word, own) = confirm(self.layout, &found, |at| self.table[at]);
        self.table[at] = word;
        own.then(|| self.publications.filled(found.slot))
    }
}

#[test]
fn the_oldest_receive_of_a_key_is_used_once() {
    let mut pair = Pair::new(3);
    let other = Key { tag: 4, ..KEY };
    for (key, receiver) in [(KEY, 1), (other, 2), (KEY, 3)] {
        pair.publish(&key, receiver, 0).unwrap();
    }
    assert_eq!(pair.publish(&KEY, 4, 0), None, "there is no room");
    assert_eq!([pair.deliver(&KEY, 0), pair.deliver(&KEY, 0), pair.deliver(&KEY, 0)], [Some(1), Some(3), None]);
    // The slots of those serve again, the younger receive in front.
    for receiver in [5, 6] {
        pair.publish(&other, receiver, 0).unwrap();
    }
    let all: Vec<_> = (0..4).map(|_| pair.deliver(&other, 0)).collect();
    assert_eq!(all, [Some(2), Some(5), Some(6), None]);
}

#[test]
fn a_head_holds_for_the_slots_that_were_open() {
    let mut pair = Pair::new(4);
    let first = pair.publish(&KEY, 1, 7).unwrap();
    pair.publish(&KEY, 2, 7);
    assert!(pair.find(&KEY, 7).is_some() && pair.find(&KEY, 8).is_none());
    // The first has got message 8 of the stream; its entry is still there.
    assert!(pair.publications.retract(first));
    pair.raise(8);
    assert_eq!(pair.find(&KEY, 8).unwrap().entry.receiver, 2, "the first is gone");
    assert_eq!(pair.find(&KEY, 9), None);
    // Its slot is used again, for one that knows of 8.
    assert_eq!(pair.publish(&KEY, 3, 8), Some(first));
    assert_eq!(pair.deliver(&KEY, 8), Some(2));
    assert_eq!(pair.deliver(&KEY, 8), Some(3));
}

#[test]
fn what_was_found_is_found_again_until_it_is_gone() {
    let mut pair = Pair::new(2);
    let slot = pair.publish(&KEY, 1, 0).unwrap();
    let order = pair.find(&KEY, 0).unwrap().entry.order;
    let receive = tern_policy::PublishedReceive { is_private: false, waits: false };
    let found = crate::Found { key: KEY, last: 0, slot, stamp: order.into(), receive };
    let again =
        |pair: &Pair| find_again(pair.layout, &found, |at| pair.table[at]).map(|receive| receive.entry.receiver);
    assert_eq!(again(&pair), Some(1));
    pair.publish(&KEY, 2, 0).unwrap();
    assert_eq!(again(&pair), Some(1), "a younger one makes no difference");
    assert_eq!(pair.deliver(&KEY, 0), Some(1));
    assert_eq!(again(&pair), None, "it is claimed");
    assert_eq!(pair.publish(&KEY, 3, 0), Some(slot));
    assert_eq!(again(&pair), None, "another has its slot");
}

#[test]
fn numbers_wrap() {
    let mut pair = Pair::new(2);
    pair.publications.order = u32::MAX - 1;
    pair.raise(u32::MAX - 1);
    for receiver in [1, 2] {
        pair.publish(&KEY, receiver, u32::MAX);
    }
    pair.raise(2);
    assert!(pair.find(&KEY, 3).is_none());
    assert_eq!(pair.deliver(&KEY, 2), Some(1));
    assert_eq!(pair.deliver(&KEY, 2), Some(2));
}

#[test]
fn raises_cost_one_write_and_none_when_nobody_needs_them() {
    let mut publications = Publications::new(Layout::new(4));
    publications.raise(1);
    assert_eq!(publications.head(), None, "nothing is published");
    publications.publish(&KEY, &Memory::opaque(1), 1, 1);
    publications.raise(2);
    publications.raise(3);
    assert_eq!(publications.head(), Some(1 << 32 | 3));
    assert_eq!(publications.head(), None, "it was told");
}

/// A receive that went to the stream from a slot that is not used again does not hide a younger one.
#[test]
fn what_is_gone_is_not_in_the_way() {
    let mut pair = Pair::new(4);
    pair.publish(&KEY, 1, 0);
    let second = pair.publish(&KEY, 2, 0).unwrap();
    assert_eq!(pair.deliver(&KEY, 0), Some(1));
    assert!(pair.publications.retract(second), "for message 1 of the stream");
    assert_eq!(pair.publish(&KEY, 3, 1), Some(0));
    assert_eq!(pair.deliver(&KEY, 1), Some(3));
    assert_eq!(pair.publications.overdue(1), None, "once is enough");
}
