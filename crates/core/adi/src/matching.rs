//! Tag matching: which receive a message belongs to (MPI 5.0 section 3.5).
//!
//! A plain state machine without I/O: receives are posted, messages arrive, and each call says
//! what matched. Both sides are queues in a hash table, one queue for each pattern or tuple, so that long queues of
//! any order cost nothing ([`Table`]). Sequence numbers tell which of two candidates is older.

mod hindrance;
mod table;
mod wild;

use crate::asserted::{Asserted, Assertions};
use crate::{Pattern, Places, Tuple};
use std::mem::offset_of;
use table::{NONE, Table};
use tern_counters as counters;
use wild::Wild;

/// The matching state of one process.
#[derive(Clone, Debug)]
pub struct Matching {
    /// Receives, by what they ask for.
    posted: Table,
    /// How many of them have wildcards, and of each kind of these.
    wild: usize,
    kinds: [usize; 3],
    /// Messages that no receive has matched, by their tuple.
    unexpected: Table,
    /// The same by patterns with wildcards, where there are many.
    unexpected_wild: Wild,
    /// How many messages those are.
    waiting: usize,
    /// How many receives are posted.
    open: usize,
    /// The receive of a call that does nothing but wait for it, beside the lists.
    expected: Option<Expected>,
    sequence: u64,
    /// What the program promises of its contexts.
    asserted: Asserted,
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
pub struct EntryId(u32);

impl Default for Matching {
    fn default() -> Self {
        Matching::new()
    }
}

impl Matching {
    pub fn new() -> Matching {
        Matching {
            posted: Table::new(),
            wild: 0,
            kinds: [0; 3],
            unexpected: Table::new(),
            unexpected_wild: Wild::default(),
            waiting: 0,
            open: 0,
            expected: None,
            sequence: 0,
            asserted: Asserted::default(),
        }
    }

    /// From now on the program promises this of `context`.
    pub fn assert(&mut self, context: u32, assertions: Assertions) {
        self.asserted.set(context, assertions);
    }

    /// What the program promises of `context`.
    pub fn asserted(&self, context: u32) -> Assertions {
        self.asserted.of(context)
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Posts receive `id`. The caller has made sure that no unexpected message matches
    /// ([`Matching::find_unexpected`]).
    #[inline]
    pub fn post(&mut self, pattern: Pattern, id: u32) -> EntryId {
        let sequence = self.next();
        if pattern.is_wild() {
            self.wild += 1;
            self.kinds[wild::kind(&pattern)] += 1;
            self.asserted.note_wild(&pattern);
        }
        self.open += 1;
        EntryId(self.posted.push(pattern, id, sequence))
    }

    /// Notes that a posted receive is published.
    pub fn publish(&mut self, place: EntryId) {
        self.posted.entry_mut(place.0).published = true;
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
    pub fn posted_pattern(&self, place: EntryId) -> Pattern {
        self.posted.entry(place.0).key
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
    pub fn is_first(&self, place: EntryId) -> bool {
        (self.wild == 0 || self.spares_wildcards(place))
            && self.expected.is_none()
            && self.posted.entry(place.0).previous == NONE
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
        let posted = self.posted.by_age().into_iter();
        posted.map(|at| (self.posted.entry(at).id, self.posted.entry(at).key)).collect()
    }

    /// The messages that wait for a receive, the oldest first. Their places are good until they are taken out.
    pub fn kept(&self) -> impl Iterator<Item = (EntryId, u32, Tuple)> {
        self.unexpected.by_age().into_iter().map(|at| {
            let (id, tuple) = self.unexpected(EntryId(at));
            (EntryId(at), id, tuple)
        })
    }

    /// Withdraws a posted receive.
    #[inline]
    pub fn withdraw(&mut self, place: EntryId) -> u32 {
        self.take_out(place.0)
    }

    #[inline]
    fn note_wild_end(&mut self, at: u32) {
        let key = self.posted.entry(at).key;
        if key.is_wild() {
            self.wild -= 1;
            self.kinds[wild::kind(&key)] -= 1;
        }
    }

    #[inline]
    fn take_out(&mut self, at: u32) -> u32 {
        self.open -= 1;
        if self.wild > 0 {
            self.note_wild_end(at);
        }
        self.posted.remove(at)
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

    /// The receive that [`Matching::arrive`] would take.
    pub fn find_posted(&self, tuple: &Tuple) -> Option<u32> {
        let expected = self.expected.filter(|expected| expected.pattern.matches(tuple));
        let limit = expected.map_or(u64::MAX, |expected| expected.sequence);
        let posted = self.oldest(tuple, limit).map(|at| self.posted.entry(at).id);
        posted.or(expected.map(|expected| expected.id))
    }

    /// Takes the oldest posted receive that `tuple` matches, if it is no younger than `limit`.
    #[inline]
    fn take_posted(&mut self, tuple: &Tuple, limit: u64) -> Option<u32> {
        let at = self.oldest(tuple, limit)?;
        Some(self.take_out(at))
    }

    /// That receive.
    #[inline]
    fn oldest(&self, tuple: &Tuple, limit: u64) -> Option<u32> {
        let exact = self.posted.first(&Pattern::exact(tuple));
        let wild = if self.wild == 0 { None } else { self.oldest_wild(tuple) };
        let age = |at: Option<u32>| at.map_or(u64::MAX, |at| self.posted.entry(at).sequence);
        let oldest = if age(exact) <= age(wild) { exact } else { wild };
        oldest.filter(|_| age(oldest) <= limit)
    }

    /// The oldest posted receive with wildcards that `tuple` matches.
    #[inline(never)]
    fn oldest_wild(&self, tuple: &Tuple) -> Option<u32> {
        let mut oldest = None;
        let mut age = u64::MAX;
        let (patterns, possible) = (wild::patterns(tuple), self.asserted.of(tuple.context).wildcards());
        let mut spared = false;
        for (kind, pattern) in patterns.iter().enumerate().filter(|&(kind, _)| self.kinds[kind] > 0) {
            if !possible[kind] {
                spared = true;
            } else if let Some(at) = self.posted.first(pattern)
                && self.posted.entry(at).sequence < age
            {
                (oldest, age) = (Some(at), self.posted.entry(at).sequence);
            }
        }
        if spared {
            counters::WILDCARDS_SPARED.add(1);
        }
        oldest
    }

    /// Keeps message `id`, which no receive matched.
    pub fn keep(&mut self, tuple: Tuple, id: u32) {
        let sequence = self.next();
        let at = self.unexpected.push(Pattern::exact(&tuple), id, sequence);
        self.unexpected_wild.keep(&tuple, at, sequence);
        self.waiting += 1;
    }

    /// True while there are messages that no receive has matched.
    #[inline]
    pub fn keeps_messages(&self) -> bool {
        self.waiting > 0
    }

    /// The oldest unexpected message that `pattern` matches.
    #[inline]
    pub fn find_unexpected(&mut self, pattern: &Pattern) -> Option<EntryId> {
        if self.waiting == 0 {
            return None;
        }
        if pattern.is_wild() { self.find_wild(pattern) } else { self.unexpected.first(pattern).map(EntryId) }
    }

    #[inline(never)]
    fn find_wild(&mut self, pattern: &Pattern) -> Option<EntryId> {
        self.unexpected_wild.first(pattern, &self.unexpected).map(EntryId)
    }

    /// The message at a place that [`Matching::find_unexpected`] gave.
    pub fn unexpected(&self, place: EntryId) -> (u32, Tuple) {
        let entry = self.unexpected.entry(place.0);
        (entry.id, entry.key.as_tuple())
    }

    /// Takes that message out.
    pub fn take_unexpected(&mut self, place: EntryId) -> u32 {
        self.waiting -= 1;
        self.unexpected_wild.take(place.0, self.waiting);
        self.unexpected.remove(place.0)
    }

    /// Where everything is, for a debugger.
    pub fn put_places(&self, places: &mut Places) {
        self.posted.put_places("posted", places);
        self.unexpected.put_places("unexpected", places);
        Table::put_entry(places);
        // It is open only while its call looks at the devices. What it asks for stays in its place meanwhile, and `Requests` says whether it waits.
        places.put_address("awaited", &self.expected);
        places.put_option::<Expected>("awaited");
        places.put_fields(
            "awaited",
            &[
                ("context", offset_of!(Expected, pattern.context)),
                ("source", offset_of!(Expected, pattern.source)),
                ("tag", offset_of!(Expected, pattern.tag)),
                ("id", offset_of!(Expected, id)),
                ("sequence", offset_of!(Expected, sequence)),
            ],
        );
    }

    /// The unexpected message with `tuple` whose id satisfies `test` (to take back a send).
    pub fn find_message(&self, tuple: &Tuple, test: impl Fn(u32) -> bool) -> Option<EntryId> {
        let mut at = self.unexpected.first(&Pattern::exact(tuple));
        while let Some(place) = at.filter(|&at| !test(self.unexpected.entry(at).id)) {
            at = self.unexpected.behind(place);
        }
        at.map(EntryId)
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

    /// An event with tags below `tags`; messages are `messages` times as frequent as in [`event`].
    fn event_of(tags: i32, messages: u32) -> impl Strategy<Value = Event> {
        let context = 0..2u32;
        let source = prop_oneof![3 => 0..3i32, 1 => Just(ANY_SOURCE)];
        let tag = prop_oneof![3 => 0..tags, 1 => Just(ANY_TAG)];
        prop_oneof![
            5 => (context.clone(), source, tag, 0..5u32).prop_map(|(context, source, tag, kind)| {
                let pattern = Pattern { context, source, tag };
                if kind == 0 { Event::Expect(pattern) } else { Event::Receive(pattern) }
            }),
            4 * messages => (context, 0..3i32, 0..tags).prop_map(|(context, source, tag)| {
                Event::Message(Tuple { context, source, tag })
            }),
            1 => (0..8usize).prop_map(Event::Withdraw),
            1 => Just(Event::Unexpect),
        ]
    }

    fn event() -> impl Strategy<Value = Event> {
        event_of(3, 1)
    }

    proptest! {
        #[test]
        fn matches_as_the_standard_orders(events in prop::collection::vec(event(), 1..120)) {
            check(events)?;
        }
    }

    /// Under Miri an event takes a thousand times as long.
    const MANY: (u32, usize) = if cfg!(miri) { (1, 60) } else { (48, 600) };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(MANY.0))]

        /// First mostly receives wait, and then mostly messages, or the other way round; in the end few are left of either.
        #[test]
        fn many_match_as_the_standard_orders(
            first in prop::collection::vec(event_of(300, 0), 0..MANY.1),
            then in prop::collection::vec(event_of(300, 8), 0..2 * MANY.1),
            last in prop::collection::vec(event_of(300, 0), 0..2 * MANY.1),
        ) {
            check([first, then, last].concat())?;
        }
    }

    fn check(events: Vec<Event>) -> Result<(), TestCaseError> {
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
                    prop_assert_eq!(real.find_posted(&tuple), expected);
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
        let expected = real.expected.map(|expected| expected.id);
        let posted = model.posted.iter().filter(|(_, id)| Some(*id) != expected).map(|&(pattern, id)| (id, pattern));
        prop_assert_eq!(real.posted(), posted.collect::<Vec<_>>());
        let kept = real.kept().map(|(_, id, tuple)| (tuple, id));
        prop_assert_eq!(kept.collect::<Vec<_>>(), model.unexpected);
        Ok(())
    }

    #[test]
    fn a_message_is_found_behind_others_of_its_tuple() {
        let mut matching = Matching::new();
        let tuple = Tuple { context: 1, source: 2, tag: 3 };
        (0..9).for_each(|id| matching.keep(tuple, id));
        let place = matching.find_message(&tuple, |id| id == 8).expect("it is kept");
        assert_eq!(matching.take_unexpected(place), 8);
        matching.keep(tuple, 9);
        assert_eq!(matching.kept().map(|(_, id, _)| id).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 9]);
        assert!(matching.find_message(&Tuple { tag: 4, ..tuple }, |_| true).is_none());
    }
}
