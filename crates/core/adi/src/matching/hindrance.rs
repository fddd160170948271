//! What keeps a receive from being published (rule 1 of the tuple queues), and what the program's promises take out of its way.

use super::{EntryId, Expected, Hindrance, Matching, wild};
use crate::{Pattern, Tuple};
use std::iter::successors;
use tern_counters as counters;

impl Matching {
    /// What keeps a receive of `pattern`, for which no unexpected message waits, from being published (rule 1 of the
    /// tuple queues): it must name its message exactly, and every older open receive that could take the message
    /// instead must be published itself. `posted`: where it is posted, if it is.
    pub fn hindrance(&self, pattern: &Pattern, posted: Option<EntryId>) -> Option<Hindrance> {
        self.hindrance_among(pattern, posted, |_| true)
    }

    /// The same, given what the program promises of the context. `is_short`: whether a receive is shorter than each message that looks for a
    /// published one.
    ///
    /// Where receives may be passed over, none is in the way. Where messages are as long as their receives, a short receive is not: none of
    /// those messages is for it, and no message for it looks for a published receive. Tags of the library's own keep the order.
    pub fn promised_hindrance(
        &self, pattern: &Pattern, posted: Option<EntryId>, is_short: impl Fn(u32) -> bool,
    ) -> Option<Hindrance> {
        let promised = self.asserted.of(pattern.context);
        if pattern.is_wild() || pattern.tag < 0 {
            return self.hindrance(pattern, posted);
        }
        match promised {
            _ if promised.allow_overtaking => None,
            _ if promised.exact_length => self.hindrance_among(pattern, posted, |id| !is_short(id)),
            _ => self.hindrance(pattern, posted),
        }
    }

    /// The same where only those older receives count of which `counts` says so. Of one tuple these are published one after the
    /// other: if the nearest in front is, all are.
    fn hindrance_among(
        &self, pattern: &Pattern, posted: Option<EntryId>, counts: impl Fn(u32) -> bool,
    ) -> Option<Hindrance> {
        let Pattern { context, source, tag } = *pattern;
        if pattern.is_wild() {
            return Some(Hindrance::Wild);
        }
        let age = posted.map_or(u64::MAX, |place| self.posted.entry(place.0).sequence);
        let tuple = Tuple { context, source, tag };
        let counts_at = |&at: &u32| counts(self.posted.entry(at).id);
        let front = match posted {
            Some(place) => self.posted.before(place.0),
            None => self.posted.last(pattern),
        };
        let front = successors(front, |&at| self.posted.before(at)).find(counts_at);
        let front = front.filter(|&at| !self.posted.entry(at).published);
        let is_older = |at: &u32| self.posted.entry(*at).sequence < age;
        let wild = || {
            let queues = wild::patterns(&tuple).into_iter().filter_map(|pattern| self.posted.first(&pattern));
            let found = queues.filter_map(|first| {
                let queue = successors(Some(first), |&at| self.posted.behind(at));
                queue.take_while(is_older).find(counts_at)
            });
            found.min_by_key(|&at| self.posted.entry(at).sequence)
        };
        if let Some(at) = front.or_else(|| if self.wild > 0 { wild() } else { None }) {
            return Some(Hindrance::Open(self.posted.entry(at).id));
        }
        let waits =
            |expected: &Expected| expected.sequence < age && expected.pattern.matches(&tuple) && counts(expected.id);
        self.expected.filter(waits).map(|_| Hindrance::Expected)
    }

    /// True for a receive of `pattern` that is about to start if, by the program's promise, nothing that is open or kept can be in front of it
    /// but what has its tuple, and nothing has.
    pub fn is_alone(&self, pattern: &Pattern) -> bool {
        self.excludes_wildcards(pattern.context)
            && !pattern.is_wild()
            && self.expected.is_none()
            && self.posted.first(pattern).is_none()
            && self.unexpected.first(pattern).is_none()
    }

    /// Whether the program promises that no receive in `context` has a wildcard.
    pub(super) fn excludes_wildcards(&self, context: u32) -> bool {
        self.asserted.of(context).wildcards() == [false; 3]
    }

    /// The same, asked because receives with wildcards are open in some context.
    #[inline(never)]
    pub(super) fn spares_wildcards(&self, place: EntryId) -> bool {
        let spared = self.excludes_wildcards(self.posted.entry(place.0).key.context);
        if spared {
            counters::WILDCARDS_SPARED.add(1);
        }
        spared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asserted::Assertions;
    use crate::{ANY_SOURCE, ANY_TAG};

    const CONTEXT: u32 = 2;

    fn of(source: i32, tag: i32) -> Pattern {
        Pattern { context: CONTEXT, source, tag }
    }

    fn promising(assertions: Assertions) -> Matching {
        let mut matching = Matching::new();
        matching.asserted.set(CONTEXT, assertions);
        matching
    }

    /// Ids from 100 on are of short receives.
    fn is_short(id: u32) -> bool {
        id >= 100
    }

    #[test]
    fn where_receives_may_be_passed_over_wildcards_are_not_in_the_way() {
        let overtaking = Assertions { allow_overtaking: true, ..Assertions::default() };
        for (assertions, expected) in [(Assertions::default(), Some(Hindrance::Open(1))), (overtaking, None)] {
            for wild in [of(ANY_SOURCE, 3), of(0, ANY_TAG), of(ANY_SOURCE, ANY_TAG), of(0, 3)] {
                let mut matching = promising(assertions);
                matching.post(wild, 1);
                assert_eq!(matching.promised_hindrance(&of(0, 3), None, is_short), expected, "{wild:?}");
                assert_eq!(matching.hindrance(&of(0, 3), None), Some(Hindrance::Open(1)), "the rule is the same");
            }
        }
        let mut matching = promising(overtaking);
        matching.post(of(0, -7), 1);
        assert_eq!(
            matching.promised_hindrance(&of(0, -7), None, is_short),
            Some(Hindrance::Open(1)),
            "the library's own"
        );
        assert_eq!(matching.promised_hindrance(&of(0, ANY_TAG), None, is_short), Some(Hindrance::Wild));
        let elsewhere = Pattern { context: 4, ..of(0, 3) };
        matching.post(elsewhere, 2);
        assert_eq!(matching.promised_hindrance(&elsewhere, None, is_short), Some(Hindrance::Open(2)));
    }

    #[test]
    fn where_lengths_are_exact_short_receives_are_not_in_the_way_and_long_ones_are() {
        let mut matching = promising(Assertions { exact_length: true, ..Assertions::default() });
        let ask = |matching: &Matching, posted| matching.promised_hindrance(&of(0, 3), posted, is_short);
        matching.post(of(ANY_SOURCE, ANY_TAG), 100);
        matching.post(of(0, 3), 101);
        matching.post(of(0, 3), 102);
        assert_eq!(ask(&matching, None), None);
        let long = matching.post(of(0, 3), 1);
        matching.post(of(0, 3), 103);
        assert_eq!(ask(&matching, None), Some(Hindrance::Open(1)), "behind a short one");
        assert_eq!(ask(&matching, Some(long)), None);
        matching.publish(long);
        assert_eq!(ask(&matching, None), None);
        matching.post(of(ANY_SOURCE, ANY_TAG), 2);
        assert_eq!(ask(&matching, None), Some(Hindrance::Open(2)), "a long one with wildcards behind a short one");
        assert_eq!(ask(&matching, Some(long)), None, "it is younger");
        let mut matching = promising(Assertions { exact_length: true, ..Assertions::default() });
        for (id, expected) in [(104, None), (3, Some(Hindrance::Expected))] {
            matching.expect(of(ANY_SOURCE, 3), id);
            assert_eq!(ask(&matching, None), expected);
            matching.unexpect();
        }
    }

    #[test]
    fn a_receive_without_wildcards_is_alone_where_the_program_promises_it() {
        let none = Assertions { no_any_source: true, no_any_tag: true, ..Assertions::default() };
        let mut matching = promising(none);
        matching.post(Pattern { context: 4, ..of(ANY_SOURCE, ANY_TAG) }, 1);
        matching.post(of(0, 4), 2);
        matching.keep(Tuple { context: CONTEXT, source: 1, tag: 3 }, 3);
        assert!(matching.is_alone(&of(0, 3)));
        assert!(!matching.is_alone(&of(0, 4)), "an older one is open");
        assert!(!matching.is_alone(&of(1, 3)), "its message is kept");
        assert!(!matching.is_alone(&Pattern { context: 4, ..of(0, 3) }), "nothing is promised there");
        let first = matching.post(of(0, 3), 4);
        assert!(matching.is_first(first));
        matching.asserted.set(CONTEXT, Assertions { no_any_tag: false, ..none });
        assert!(!matching.is_first(first) && !matching.is_alone(&of(0, 5)));
    }

    #[test]
    fn a_broken_promise_is_believed_no_more() {
        let mut matching = promising(Assertions { no_any_source: true, no_any_tag: true, ..Assertions::default() });
        matching.post(of(ANY_SOURCE, 3), 1);
        matching.post(of(0, 3), 2);
        assert_eq!(matching.arrive(&Tuple { context: CONTEXT, source: 0, tag: 3 }), Some(1));
    }
}
