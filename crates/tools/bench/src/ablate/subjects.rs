//! Where each rule of the policy can act, and beside that where it cannot: the rows by which it is judged, and its negative controls.

use std::ops::RangeInclusive;

/// Rows of benchmarks.
pub struct Where {
    /// As the suites name them.
    pub benchmarks: &'static [&'static str],
    /// Beginnings of the names of rows, of a benchmark whose rows have names of their own. Empty: all.
    pub rows: &'static [&'static str],
    pub sizes: RangeInclusive<u64>,
}

impl Where {
    /// The benchmark of theirs that a row of that name and size belongs to.
    pub fn benchmark(&self, row: &str, size: u64) -> Option<&'static str> {
        let row = row.strip_suffix("_overhead").unwrap_or(row);
        let own = || self.benchmarks.iter().find(|name| **name == row);
        let named = || self.rows.iter().any(|name| row.starts_with(name)).then(|| &self.benchmarks[0]);
        let found = if self.rows.is_empty() { own() } else { named() };
        found.copied().filter(|_| self.sizes.contains(&size))
    }
}

/// What a rule needs of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Nothing,
    /// The processor's instruction CLDEMOTE.
    Demote,
}

/// A rule and its rows.
pub struct Subject {
    /// As the policy names it.
    pub rule: &'static str,
    pub acts: &'static [Where],
    /// Here it cannot.
    pub cannot: &'static [Where],
    /// Why.
    pub why: &'static str,
    pub needs: Need,
    /// It is for private memory: beside a line without promotion, which would soon make that shared memory.
    pub private: bool,
}

const ALL: RangeInclusive<u64> = 0..=u64::MAX;
/// Messages of which receives are published are longer.
const SHORT: RangeInclusive<u64> = 0..=4 << 10;
const PUBLISHED: RangeInclusive<u64> = 8 << 10..=u64::MAX;
/// Longer ones are fetched or copied by both sides.
const MIDDLE: RangeInclusive<u64> = 8 << 10..=64 << 10;

const fn of(benchmarks: &'static [&'static str], sizes: RangeInclusive<u64>) -> Where {
    Where { benchmarks, rows: &[], sizes }
}

const fn subject(rule: &'static str, acts: &'static [Where], cannot: &'static [Where], why: &'static str) -> Subject {
    Subject { rule, acts, cannot, why, needs: Need::Nothing, private: false }
}

const STREAMS: &[&str] = &["stream", "stream_written", "overlap_recv", "pingpong_persistent"];
const EXCHANGES: &[&str] = &["halo", "halo_written", "overlap_both", "overlap_both_written"];
const COPIED: &[&str] = &["pingpong", "pingpong_off", "pingpong_written", "stream", "stream_written"];
const BOTH_WAYS: &[&str] = &["sendrecv_written", "sendrecv_off", "halo_written", "overlap_both_written"];
const PINGPONGS: &[&str] = &["pingpong", "pingpong_alloc", "pingpong_written"];
const STORED: &[&str] = &["pingpong", "pingpong_off", "sendrecv_off", "put_stream"];
const WAITED: &[&str] = &["pingpong_persistent", "overlap_recv", "overlap_both"];
const PROMOTED: &[&str] = &["pingpong", "stream", "halo", "overlap_recv"];
const READ: &[&str] = &["allgather", "alltoall", "allreduce", "allgather_written", "alltoall_written"];
const ASKED: &[&str] = &["put_create", "get_create", "get_computing_create"];

/// Rules that benchmarks of one machine show.
pub const SUBJECTS: &[Subject] = &[
    subject(
        "habits",
        &[of(STREAMS, MIDDLE), of(EXCHANGES, ALL)],
        &[of(&["pingpong"], ALL), of(&["rate", "stream", "stream_written"], SHORT)],
        "a blocking call has no habit, and no receive of less than 8 KiB is published",
    ),
    subject(
        "copies",
        &[of(COPIED, PUBLISHED), of(BOTH_WAYS, PUBLISHED)],
        &[of(COPIED, SHORT), of(BOTH_WAYS, SHORT)],
        "messages of less than 8 KiB go in packets",
    ),
    subject(
        "segments",
        &[of(&["irregular", "irregular_stream"], 64 << 10..=u64::MAX)],
        &[of(&["pingpong"], ALL)],
        "messages in one piece have no segments",
    ),
    subject(
        "expect-ready",
        &[of(PINGPONGS, MIDDLE), of(WAITED, PUBLISHED)],
        &[of(PINGPONGS, SHORT), of(WAITED, SHORT)],
        "no shorter message is fetched or published",
    ),
    subject(
        "stores",
        &[of(STORED, 16 << 10..=u64::MAX)],
        &[of(STORED, 0..=8 << 10)],
        "a copy of less than 16 KiB is made by ordinary stores",
    ),
    Subject {
        needs: Need::Demote,
        ..subject("demote", &[of(&["pingpong", "rate"], ALL)], &[of(&["put_stream"], ALL)], "puts are no packets")
    },
    subject(
        "promote",
        &[of(PROMOTED, PUBLISHED)],
        &[of(PROMOTED, SHORT)],
        "short messages are copied twice in any memory",
    ),
    subject(
        "turn-columns",
        &[Where { benchmarks: &["column"], rows: &["vector_", "turns_", "later_"], sizes: ALL }],
        &[Where { benchmarks: &["column"], rows: &["byhand_"], sizes: ALL }, of(&["pingpong"], ALL)],
        "these messages are of no derived type",
    ),
    Subject {
        private: true,
        ..subject(
            "ask-owner",
            &[of(ASKED, 0..=224), of(&["fetch_create", "accumulate_create"], ALL)],
            &[of(ASKED, 256..=u64::MAX)],
            "no put or get of more than 224 B is asked for",
        )
    },
    subject(
        "guard-mode",
        &[of(&["accumulate_allocate"], 256..=u64::MAX)],
        &[of(&["accumulate_allocate"], 0..=128), of(&["put_stream"], ALL)],
        "few elements are combined by instructions, and a put combines none",
    ),
    subject("read-in-place", &[of(READ, 8 << 10..=u64::MAX)], &[of(READ, SHORT)], "short data goes in lines"),
];

/// Rules that no benchmark of one machine shows, and why.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("lend", "acts where a network lends buffers: tern-bench rdma"),
    ("frequent", "acts where a network lends buffers: tern-bench rdma"),
    ("declare", "acts where the kernel module is: tern-bench knem there"),
    ("rings", "acts between nodes: tern-bench rdma"),
    ("spread", "acts with more ranks than cores: tern-bench oversubscribed --line off=tern:TERN_POLICY=-spread"),
    ("strangers", "acts where other programs use the cores: oversubscribed, as above"),
    ("give-way", "acts with more ranks than cores: oversubscribed, as above"),
];

impl Subject {
    /// The benchmarks of its rows and controls.
    pub fn benchmarks(&self) -> impl Iterator<Item = &'static str> {
        self.acts.iter().chain(self.cannot).flat_map(|place| place.benchmarks).copied()
    }
}

/// What the rule needs that the machine has not.
pub fn lacks(need: Need, can_demote: bool) -> Option<&'static str> {
    (need == Need::Demote && !can_demote).then_some("the processor has no CLDEMOTE")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_policy::rules;

    #[test]
    fn every_rule_has_rows_or_a_reason() {
        for rule in rules::ALL {
            let shown = SUBJECTS.iter().filter(|subject| subject.rule == rule.name).count();
            let elsewhere = ELSEWHERE.iter().filter(|(name, _)| *name == rule.name).count();
            assert_eq!(shown + elsewhere, 1, "{}", rule.name);
        }
        let known = |name: &str| rules::ALL.iter().any(|rule| rule.name == name);
        let named = SUBJECTS.iter().map(|subject| subject.rule).chain(ELSEWHERE.iter().map(|(name, _)| *name));
        assert_eq!(named.into_iter().find(|name| !known(name)), None, "no such rule");
    }

    #[test]
    fn every_rule_has_controls_which_are_none_of_its_rows() {
        for subject in SUBJECTS {
            assert!(
                !subject.acts.is_empty() && !subject.cannot.is_empty() && !subject.why.is_empty(),
                "{}",
                subject.rule
            );
            for size in (0..24).map(|bits| 1 << bits) {
                let rows = subject.benchmarks().map(String::from);
                let rows = rows.chain(["byhand_8B", "vector_8B"].map(String::from));
                for row in rows {
                    let is = |places: &[Where]| places.iter().any(|place| place.benchmark(&row, size).is_some());
                    assert!(!(is(subject.acts) && is(subject.cannot)), "{} in {row} of {size} B", subject.rule);
                }
            }
        }
    }

    #[test]
    fn a_row_is_found_by_its_benchmark_or_by_a_name_of_its_own() {
        let streams = of(STREAMS, MIDDLE);
        assert_eq!(streams.benchmark("stream", 8 << 10), Some("stream"));
        assert_eq!(streams.benchmark("overlap_recv_overhead", 64 << 10), Some("overlap_recv"));
        assert_eq!(streams.benchmark("stream", 4 << 10), None);
        assert_eq!(streams.benchmark("stream_off", 8 << 10), None);
        let columns = Where { benchmarks: &["column"], rows: &["vector_"], sizes: ALL };
        assert_eq!(columns.benchmark("vector_64B", 65536), Some("column"));
        assert_eq!(columns.benchmark("byhand_64B", 65536), None);
    }

    #[test]
    fn a_rule_whose_need_is_not_met_cannot_act() {
        assert!(lacks(Need::Demote, false).is_some());
        assert_eq!(lacks(Need::Demote, true).or(lacks(Need::Nothing, false)), None);
    }
}
