//! Tag matching: which receive a message belongs to (MPI 5.0 section 3.5).
//!
//! A plain state machine without I/O: receives are posted, messages arrive, and each call says
//! what matched. Both sides are kept in buckets by hash of the matching tuple, so that long
//! queues cost nothing; receives with wildcards stand in a list of their own, and sequence
//! numbers tell which of two candidates is older.

use crate::{Pattern, Tuple};

const BUCKETS: usize = 128;
const NONE: u32 = u32::MAX;

/// Doubly linked lists in one array; entries keep their index while they live.
#[derive(Clone, Debug)]
struct Lists<K> {
    entries: Vec<Entry<K>>,
    free: u32,
    /// One list per bucket.
    buckets: Vec<Ends>,
    /// One list of its own.
    other: Ends,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

const EMPTY: Ends = Ends { first: NONE, last: NONE };

#[derive(Clone, Debug)]
struct Entry<K> {
    key: K,
    /// What the caller knows this entry by.
    id: u32,
    /// Age: smaller is older.
    sequence: u64,
    /// A receive that its sender can see.
    published: bool,
    /// The bucket, or `OTHER`.
    list: u32,
    next: u32,
    previous: u32,
}

const OTHER: u32 = BUCKETS as u32;

impl<K: Copy> Lists<K> {
    fn new() -> Lists<K> {
        Lists { entries: Vec::new(), free: NONE, buckets: vec![EMPTY; BUCKETS], other: EMPTY }
    }

    #[inline(always)]
    fn ends(&mut self, list: u32) -> &mut Ends {
        if list == OTHER { &mut self.other } else { &mut self.buckets[list as usize] }
    }

    #[inline]
    fn push(&mut self, list: u32, key: K, id: u32, sequence: u64) -> u32 {
        let previous = self.ends(list).last;
        let entry = Entry { key, id, sequence, published: false, list, next: NONE, previous };
        let index = if self.free == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = self.entries[index as usize].next;
            self.entries[index as usize] = entry;
            index
        };
        if previous == NONE {
            self.ends(list).first = index;
        } else {
            self.entries[previous as usize].next = index;
        }
        self.ends(list).last = index;
        index
    }

    #[inline]
    fn remove(&mut self, index: u32) -> u32 {
        let Entry { id, list, next, previous, .. } = self.entries[index as usize];
        if previous == NONE {
            self.ends(list).first = next;
        } else {
            self.entries[previous as usize].next = next;
        }
        if next == NONE {
            self.ends(list).last = previous;
        } else {
            self.entries[next as usize].previous = previous;
        }
        self.entries[index as usize].next = self.free;
        self.free = index;
        id
    }

    /// The last entry of `list` that satisfies `test`; with `before`, an entry there, of those in front of it.
    fn find_last(&self, list: u32, before: Option<u32>, mut test: impl FnMut(&K) -> bool) -> Option<u32> {
        let last = if list == OTHER { self.other.last } else { self.buckets[list as usize].last };
        let mut at = before.map_or(last, |before| self.entries[before as usize].previous);
        while at != NONE {
            let entry = &self.entries[at as usize];
            if test(&entry.key) {
                return Some(at);
            }
            at = entry.previous;
        }
        None
    }

    /// The first entry of `list` that satisfies `test`.
    #[inline]
    fn find(&self, list: u32, mut test: impl FnMut(&K) -> bool) -> Option<u32> {
        let ends = if list == OTHER { self.other } else { self.buckets[list as usize] };
        let mut at = ends.first;
        while at != NONE {
            let entry = &self.entries[at as usize];
            if test(&entry.key) {
                return Some(at);
            }
            at = entry.next;
        }
        None
    }
}

impl<K: Copy> Lists<K> {
    /// All of them, the oldest first.
    fn by_age(&self) -> Vec<(u32, K)> {
        let mut all = Vec::new();
        for ends in self.buckets.iter().chain([&self.other]) {
            let mut at = ends.first;
            while at != NONE {
                let entry = &self.entries[at as usize];
                all.push((entry.sequence, entry.id, entry.key));
                at = entry.next;
            }
        }
        all.sort_by_key(|(sequence, _, _)| *sequence);
        all.into_iter().map(|(_, id, key)| (id, key)).collect()
    }
}

#[inline]
fn bucket(context: u32, source: i32, tag: i32) -> u32 {
    let mixed = (context as u64) << 40 ^ (source as u32 as u64) << 20 ^ tag as u32 as u64;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as u32
}

/// The matching state of one process.
#[derive(Clone, Debug)]
pub struct Matching {
    /// Receives, by the tuple they ask for; those with wildcards in the other list.
    posted: Lists<Pattern>,
    /// Messages that no receive has matched, by their tuple.
    unexpected: Lists<Tuple>,
    /// How many those are.
    waiting: usize,
    /// How many receives are posted.
    open: usize,
    /// The receive of a call that does nothing but wait for it, beside the lists.
    expected: Option<Expected>,
    sequence: u64,
}

/// A receive that is open without an entry of its own.
#[derive(Clone, Copy, Debug)]
struct Expected {
    pattern: Pattern,
    id: u32,
    /// Posted receives up to this are older.
    sequence: u64,
}

/// What keeps a receive from being published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// It has a wildcard: it never will be.
    Wild,
    /// The receive of that id is open, older and not published.
    Open(u32),
    /// The receive of [`Matching::expect`].
    Expected,
}

/// Where an entry stands, so that it can be taken out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u32);

impl Default for Matching {
    fn default() -> Self {
        Matching::new()
    }
}

impl Matching {
    pub fn new() -> Matching {
        Matching { posted: Lists::new(), unexpected: Lists::new(), waiting: 0, open: 0, expected: None, sequence: 0 }
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Posts receive `id`. The caller has made sure that no unexpected message matches
    /// ([`Matching::find_unexpected`]).
    #[inline]
    pub fn post(&mut self, pattern: Pattern, id: u32) -> Place {
        let sequence = self.next();
        let list = if pattern.is_wild() { OTHER } else { bucket(pattern.context, pattern.source, pattern.tag) };
        self.open += 1;
        Place(self.posted.push(list, pattern, id, sequence))
    }

    /// What keeps a receive of `pattern`, for which no unexpected message waits, from being published (rule 1 of the
    /// tuple queues): it must name its message exactly, and every older open receive that could take the message
    /// instead must be published itself. `posted`: where it is posted, if it is.
    pub fn hindrance(&self, pattern: &Pattern, posted: Option<Place>) -> Option<Hindrance> {
        let Pattern { context, source, tag } = *pattern;
        if pattern.is_wild() {
            return Some(Hindrance::Wild);
        }
        let age = posted.map_or(u64::MAX, |place| self.posted.entries[place.0 as usize].sequence);
        let list = bucket(context, source, tag);
        let tuple = Tuple { context, source, tag };
        // Those of one tuple are published one after the other: if the one in front is, all are.
        let front = self.posted.find_last(list, posted.map(|place| place.0), |other| other == pattern);
        let front = front.filter(|&at| !self.posted.entries[at as usize].published);
        let wild = || self.posted.find(OTHER, |other| other.matches(&tuple));
        let older = |&at: &u32| self.posted.entries[at as usize].sequence < age;
        if let Some(at) = front.or_else(|| wild().filter(older)) {
            return Some(Hindrance::Open(self.posted.entries[at as usize].id));
        }
        let waits = |expected: &Expected| expected.sequence < age && expected.pattern.matches(&tuple);
        self.expected.filter(waits).map(|_| Hindrance::Expected)
    }

    /// Notes that a posted receive is published.
    pub fn publish(&mut self, place: Place) {
        self.posted.entries[place.0 as usize].published = true;
    }

    /// Opens receive `id` without posting it, as if it were posted now: for a call that waits for
    /// nothing else. There is one at a time; it ends when a message matches it. The caller has
    /// made sure of the same as for [`Matching::post`].
    #[inline]
    pub fn expect(&mut self, pattern: Pattern, id: u32) {
        debug_assert!(self.expected.is_none(), "one at a time");
        self.expected = Some(Expected { pattern, id, sequence: self.sequence });
    }

    /// Closes the receive of [`Matching::expect`] if nothing has matched it; false when something has.
    #[inline]
    pub fn unexpect(&mut self) -> bool {
        self.expected.take().is_some()
    }

    /// What a posted receive asks for.
    #[inline]
    pub fn posted_pattern(&self, place: Place) -> Pattern {
        self.posted.entries[place.0 as usize].key
    }

    /// The context of the receive of [`Matching::expect`], while it is open.
    pub fn expected_context(&self) -> Option<u32> {
        self.expected.map(|expected| expected.pattern.context)
    }

    /// True when neither a receive is posted nor a message kept: the next message is the next
    /// receive's, if it matches.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.open == 0 && self.waiting == 0 && self.expected.is_none()
    }

    /// True when one receive is posted, no other open, and no message kept.
    #[inline]
    pub fn is_only_one(&self) -> bool {
        self.open == 1 && self.waiting == 0 && self.expected.is_none()
    }

    /// True for a posted receive without wildcards that gets the next message of its tuple, whatever else is posted.
    #[inline]
    pub fn is_first(&self, place: Place) -> bool {
        let Entry { list, previous, .. } = self.posted.entries[place.0 as usize];
        list != OTHER && previous == NONE && self.posted.other.first == NONE && self.expected.is_none()
    }

    /// True while there is a receive that a message could be for.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open > 0 || self.expected.is_some()
    }

    /// True while receives are posted and no message is kept.
    #[inline]
    pub fn is_receiving(&self) -> bool {
        self.open > 0 && self.waiting == 0
    }

    /// The receives that are posted, the oldest first.
    pub fn posted(&self) -> Vec<(u32, Pattern)> {
        self.posted.by_age()
    }

    /// The messages that wait for a receive, the oldest first.
    pub fn kept(&self) -> Vec<(u32, Tuple)> {
        self.unexpected.by_age()
    }

    /// Withdraws a posted receive.
    #[inline]
    pub fn withdraw(&mut self, place: Place) -> u32 {
        self.open -= 1;
        self.posted.remove(place.0)
    }

    /// A message arrives: takes the oldest receive that it matches.
    #[inline]
    pub fn arrive(&mut self, tuple: &Tuple) -> Option<u32> {
        let expected = self.expected.filter(|expected| expected.pattern.matches(tuple));
        if self.open > 0 {
            let limit = expected.map_or(u64::MAX, |expected| expected.sequence);
            if let Some(found) = self.take_posted(tuple, limit) {
                return Some(found);
            }
        }
        let id = expected?.id;
        self.expected = None;
        Some(id)
    }

    /// Takes the oldest posted receive that `tuple` matches, if it is no younger than `limit`.
    #[inline]
    fn take_posted(&mut self, tuple: &Tuple, limit: u64) -> Option<u32> {
        let list = bucket(tuple.context, tuple.source, tuple.tag);
        let exact = self.posted.find(list, |pattern| {
            pattern.context == tuple.context && pattern.source == tuple.source && pattern.tag == tuple.tag
        });
        let wild = self.posted.find(OTHER, |pattern| pattern.matches(tuple));
        let age = |at: Option<u32>| at.map_or(u64::MAX, |at| self.posted.entries[at as usize].sequence);
        let oldest = if age(exact) <= age(wild) { exact } else { wild };
        let at = oldest.filter(|_| age(oldest) <= limit)?;
        self.open -= 1;
        Some(self.posted.remove(at))
    }

    /// Keeps message `id`, which no receive matched.
    pub fn keep(&mut self, tuple: Tuple, id: u32) {
        let sequence = self.next();
        let list = bucket(tuple.context, tuple.source, tuple.tag);
        self.unexpected.push(list, tuple, id, sequence);
        self.waiting += 1;
    }

    /// True while there are messages that no receive has matched.
    #[inline]
    pub fn keeps_messages(&self) -> bool {
        self.waiting > 0
    }

    /// The oldest unexpected message that `pattern` matches.
    #[inline]
    pub fn find_unexpected(&self, pattern: &Pattern) -> Option<Place> {
        if self.waiting == 0 {
            return None;
        }
        if !pattern.is_wild() {
            let list = bucket(pattern.context, pattern.source, pattern.tag);
            return self.unexpected.find(list, |tuple| pattern.matches(tuple)).map(Place);
        }
        let candidates = (0..OTHER).filter_map(|list| self.unexpected.find(list, |tuple| pattern.matches(tuple)));
        candidates.min_by_key(|&at| self.unexpected.entries[at as usize].sequence).map(Place)
    }

    /// The message at a place that [`Matching::find_unexpected`] gave.
    pub fn unexpected(&self, place: Place) -> (u32, Tuple) {
        let entry = &self.unexpected.entries[place.0 as usize];
        (entry.id, entry.key)
    }

    /// Takes that message out.
    pub fn take_unexpected(&mut self, place: Place) -> u32 {
        self.waiting -= 1;
        self.unexpected.remove(place.0)
    }

    /// The unexpected message with `tuple` whose id satisfies `test` (to take back a send).
    pub fn find_message(&self, tuple: &Tuple, test: impl Fn(u32) -> bool) -> Option<Place> {
        let list = bucket(tuple.context, tuple.source, tuple.tag);
        let mut at = self.unexpected.buckets[list as usize].first;
        while at != NONE {
            let entry = &self.unexpected.entries[at as usize];
            if entry.key == *tuple && test(entry.id) {
                return Some(Place(at));
            }
            at = entry.next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ANY_SOURCE, ANY_TAG};
    use proptest::prelude::*;

    /// The standard's rule, literally: first in, first matched.
    #[derive(Default)]
    struct Model {
        posted: Vec<(Pattern, u32)>,
        unexpected: Vec<(Tuple, u32)>,
    }

    #[derive(Clone, Debug)]
    enum Event {
        Receive(Pattern),
        /// A call that waits, and one that does so no more.
        Expect(Pattern),
        Unexpect,
        Message(Tuple),
        Withdraw(usize),
    }

    fn event() -> impl Strategy<Value = Event> {
        let context = 0..2u32;
        let source = prop_oneof![3 => 0..3i32, 1 => Just(ANY_SOURCE)];
        let tag = prop_oneof![3 => 0..3i32, 1 => Just(ANY_TAG)];
        prop_oneof![
            5 => (context.clone(), source, tag, 0..5u32).prop_map(|(context, source, tag, kind)| {
                let pattern = Pattern { context, source, tag };
                if kind == 0 { Event::Expect(pattern) } else { Event::Receive(pattern) }
            }),
            4 => (context, 0..3i32, 0..3i32).prop_map(|(context, source, tag)| {
                Event::Message(Tuple { context, source, tag })
            }),
            1 => (0..8usize).prop_map(Event::Withdraw),
            1 => Just(Event::Unexpect),
        ]
    }

    proptest! {
        #[test]
        fn matches_as_the_standard_orders(events in prop::collection::vec(event(), 1..120)) {
            let mut model = Model::default();
            let mut real = Matching::new();
            let mut places = std::collections::HashMap::new();
            for (id, event) in events.into_iter().enumerate() {
                let id = id as u32;
                let waits = matches!(event, Event::Expect(_));
                match event {
                    Event::Expect(_) if real.expected.is_some() => {}
                    Event::Receive(pattern) | Event::Expect(pattern) => {
                        let expected = model.unexpected.iter().position(|(t, _)| pattern.matches(t));
                        let found = real.find_unexpected(&pattern);
                        prop_assert_eq!(expected.is_some(), found.is_some());
                        if let (Some(index), Some(place)) = (expected, found) {
                            let (_, message) = model.unexpected.remove(index);
                            prop_assert_eq!(real.take_unexpected(place), message);
                        } else {
                            model.posted.push((pattern, id));
                            if waits {
                                real.expect(pattern, id);
                            } else {
                                places.insert(id, real.post(pattern, id));
                            }
                        }
                    }
                    Event::Message(tuple) => {
                        let expected = model.posted.iter().position(|(p, _)| p.matches(&tuple));
                        let expected = expected.map(|index| model.posted.remove(index).1);
                        prop_assert_eq!(real.arrive(&tuple), expected);
                        if expected.is_none() {
                            model.unexpected.push((tuple, id));
                            real.keep(tuple, id);
                        }
                    }
                    Event::Withdraw(index) if index < model.posted.len() => {
                        // One that waits is not withdrawn.
                        let Some(&place) = places.get(&model.posted[index].1) else { continue };
                        let (_, id) = model.posted.remove(index);
                        prop_assert_eq!(real.withdraw(place), id);
                    }
                    Event::Withdraw(_) => {}
                    Event::Unexpect => {
                        let open = model.posted.iter().position(|(_, id)| !places.contains_key(id));
                        prop_assert_eq!(real.unexpect(), open.is_some());
                        open.map(|index| model.posted.remove(index));
                    }
                }
            }
        }
    }
}
