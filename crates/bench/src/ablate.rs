//! `tern-bench ablate`: what each rule of the policy is worth. Each is switched off in turn, beside all rules on, on the benchmarks where
//! it may matter.

use crate::figures::{Row, Summary};
use crate::line::Line;
use crate::session::Session;
use crate::suite::{self, Job};
use crate::{Options, Places, report};
use std::fmt::Write;
use tern_policy::rules;

/// The line in which all rules are on, and that of rules for private memory, which promotion would soon turn into shared memory.
const ON: &str = "tern";
const ON_PRIVATE: &str = "tern-private";
/// Rules for private memory.
const PRIVATE: &[&str] = &["ask-owner", "ask-places"];
/// A rule that changes no row by so many parts in a hundred is worth nothing that can be shown.
const SHOWN: f64 = 3.0;
/// Values that have a spread to speak of.
const ENOUGH: usize = 3;
/// How often each line runs, unless `--rounds` says, and with `--quick`.
const ROUNDS: [usize; 2] = [7, 3];
/// Sizes of messages, and with `--quick`: what each rule is for lies among them.
const SIZES: &[u64] = &[8, 1 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20];
const FEW_SIZES: &[u64] = &[8, 8 << 10, 64 << 10, 256 << 10];

/// Where rules may matter: their names, and benchmarks of the suites.
const ROWS: &[(&[&str], &[&str])] = &[
    (&["at-once", "publish-again"], &["stream", "stream_written", "overlap_recv", "pingpong_persistent"]),
    (&["exchange"], &["halo", "halo_written", "sendrecv_written", "overlap_both", "overlap_both_written"]),
    (&["look-ahead"], &["halo", "rate"]),
    (&["copies"], &["pingpong", "pingpong_written", "sendrecv_written", "halo_written", "stream_written", "column"]),
    (&["segments"], &["irregular", "irregular_stream"]),
    (&["mirror"], &["sendrecv_written", "sendrecv_off", "halo_written", "overlap_both_written"]),
    (&["leave-chosen"], &["overlap_both_written", "halo_written", "stream_written"]),
    (&["predict-ready"], &["pingpong", "pingpong_alloc", "pingpong_written"]),
    (&["stores"], &["pingpong", "pingpong_off", "sendrecv_off", "put_stream"]),
    (&["contest"], &["pingpong", "pingpong_off", "sendrecv", "stream"]),
    (&["demote"], &["pingpong", "rate"]),
    (&["look-again", "await-waiting"], &["pingpong_persistent", "sendrecv", "overlap_recv", "overlap_both"]),
    (&["await-ready"], &["pingpong", "pingpong_alloc", "pingpong_written"]),
    (&["promote"], &["pingpong", "stream", "halo", "overlap_recv"]),
    (&["turn-columns"], &["column"]),
    (&["ask-places"], &["allgather", "alltoall", "allreduce"]),
    (&["ask-owner"], &["fetch_create", "put_create", "get_create", "accumulate_create", "get_computing_create"]),
    (&["guard-mode"], &["accumulate_allocate"]),
    (&["read-in-place"], &["allgather", "alltoall", "allreduce", "allgather_written", "alltoall_written"]),
];

/// Rules that no benchmark of one machine shows, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("lend", "acts where a network lends buffers: tern-bench rdma"),
    ("frequent", "acts where a network lends buffers: tern-bench rdma"),
    ("rings", "acts between nodes: tern-bench rdma"),
    ("region", "acts from three members on: tern-bench oversubscribed --line off=tern:TERN_POLICY=-region"),
    ("spread", "acts with more ranks than cores: tern-bench oversubscribed --line off=tern:TERN_POLICY=-spread"),
    ("strangers", "acts where other programs use the cores: oversubscribed, as above"),
    ("give-way", "acts with more ranks than cores: oversubscribed, as above"),
];

/// The rules that may matter for a benchmark.
fn rules_of(benchmark: &str) -> Vec<String> {
    let rows = ROWS.iter().filter(|(_, benchmarks)| benchmarks.contains(&benchmark));
    rows.flat_map(|(rules, _)| rules.iter().map(|rule| rule.to_string())).collect()
}

/// The line beside which a rule's own line is held.
fn beside(rule: &str) -> &'static str {
    if PRIVATE.contains(&rule) { ON_PRIVATE } else { ON }
}

/// Each benchmark by itself, with the lines that run it.
fn jobs(quick: bool) -> Vec<Job> {
    let mut all = suite::point_to_point(quick);
    all.extend(suite::overlap(quick));
    all.extend(suite::collectives(quick));
    all.extend(suite::one_sided(quick));
    let mut jobs = Vec::new();
    for job in all {
        for &benchmark in &job.benchmarks {
            let mut lines = rules_of(benchmark);
            if lines.is_empty() {
                continue;
            }
            let mut beside: Vec<String> = lines.iter().map(|rule| beside(rule).to_string()).collect();
            beside.sort_unstable();
            beside.dedup();
            lines.extend(beside);
            let mut one = Job { benchmarks: vec![benchmark], lines, extra: None, ..job.clone() };
            if one.sized {
                one = one.sizes(if quick { FEW_SIZES } else { SIZES });
            }
            jobs.push(one);
        }
    }
    jobs
}

/// All rules on, and each off in turn.
fn lines() -> Vec<Line> {
    let tern =
        |name: &str, variables| Line { name: name.to_string(), library: "tern".to_string(), prefix: None, variables };
    let private = || ("TERN_PROMOTE".to_string(), "off".to_string());
    let off = |rule: &&rules::Rule| {
        let mut variables = vec![("TERN_POLICY".to_string(), format!("-{}", rule.name))];
        variables.extend(PRIVATE.contains(&rule.name).then(private));
        tern(rule.name, variables)
    };
    let mut lines = vec![tern(ON, Vec::new()), tern(ON_PRIVATE, vec![private()])];
    lines.extend(rules::ALL.iter().filter(|rule| ROWS.iter().any(|(names, _)| names.contains(&rule.name))).map(off));
    lines
}

/// Measures, and prints what each rule is worth.
pub fn measure(options: &Options, places: &Places) -> Result<(), String> {
    let output = places.output.join("ablate");
    std::fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let rounds = options.rounds.unwrap_or(ROUNDS[usize::from(options.quick)]);
    let options = &Options { rounds: Some(rounds), ..options.clone() };
    let mut session = Session::with_lines(options, places, &output, lines().into_iter().map(|line| (line, None)))?;
    let measured = session.run(&jobs(options.quick), |session| report::write(session, &output));
    let text = text(&session);
    let path = output.join("worth.md");
    std::fs::write(&path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{text}");
    eprintln!("written: worth.md, report.md, figures.csv in {}", output.display());
    measured
}

/// What a rule is worth in a row.
struct Worth<'a> {
    row: &'a Row,
    on: Summary,
    off: Summary,
}

impl Worth<'_> {
    /// By how many percent the row is better with the rule than without; in a share, by how many points.
    fn percent(&self) -> f64 {
        let (on, off) = (self.on.median, self.off.median);
        match self.row.higher_is_better() {
            _ if self.row.is_share() => on - off,
            true => 100.0 * (on / off - 1.0),
            false => 100.0 * (off / on - 1.0),
        }
    }

    /// The spreads of both, in the same unit.
    fn spread(&self) -> f64 {
        let parts = [self.on, self.off]
            .map(|one| if self.row.is_share() { one.spread } else { 100.0 * one.spread / one.median });
        parts[0].hypot(parts[1])
    }

    /// More than chance, as far as the spread tells, which fewer values have none of.
    fn shows(&self) -> bool {
        let enough = self.on.count.min(self.off.count) >= ENOUGH;
        enough && self.percent().abs() >= SHOWN && self.percent().abs() > 2.0 * self.spread()
    }
}

fn worths<'a>(session: &'a Session, rule: &str) -> Vec<Worth<'a>> {
    let rows = session.figures.rows();
    rows.filter_map(|(row, summary)| Some(Worth { row, on: summary(beside(rule))?, off: summary(rule)? })).collect()
}

/// The report: a table of the rules, then each rule's rows.
fn text(session: &Session) -> String {
    let mut text = format!(
        "What each rule of the policy is worth: medians of {} rounds, lines in turn, on cores {:?}. Percent: how much better a row is with \
         the rule than without; ± is the spread of both (half the interquartile ranges, combined). A row counts as better or \
         worse from {SHOWN} % and twice the spread on.\n\n| rule | rows | better | worse | best | worst |\n|---|---|---|---|---|---|\n",
        session.rounds, session.cores
    );
    for rule in rules::ALL {
        let worths = worths(session, rule.name);
        let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == rule.name);
        if let Some((name, why)) = elsewhere {
            let _ = writeln!(text, "| {name} | | | | {why} | |");
            continue;
        }
        let (better, worse): (Vec<_>, Vec<_>) =
            worths.iter().filter(|worth| worth.shows()).partition(|worth| worth.percent() > 0.0);
        let by_worth = |a: &&&Worth<'_>, b: &&&Worth<'_>| a.percent().total_cmp(&b.percent());
        let show = |worth: Option<&&Worth<'_>>| {
            worth.map(|w| format!("{} {}: {}", w.row.benchmark, report::size(w.row), cell(w))).unwrap_or_default()
        };
        let [best, worst] = [show(better.iter().max_by(by_worth)), show(worse.iter().min_by(by_worth))];
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {best} | {worst} |",
            rule.name,
            worths.len(),
            better.len(),
            worse.len()
        );
    }
    for rule in rules::ALL {
        let worths = worths(session, rule.name);
        if worths.is_empty() {
            continue;
        }
        let _ =
            writeln!(text, "\n**{}**\n\n| | size | unit | on | off | worth |\n|---|---|---|---|---|---|", rule.name);
        for worth in &worths {
            let Worth { row, on, off } = worth;
            let [on, off] = [on, off].map(|one| format!("{:.3} ±{:.3}", one.median, one.spread));
            let mark = if worth.shows() { "**" } else { "" };
            let size = report::size(row);
            let _ = writeln!(
                text,
                "| {} | {size} | {} | {on} | {off} | {mark}{}{mark} |",
                row.benchmark,
                row.unit,
                cell(worth)
            );
        }
    }
    text
}

fn cell(worth: &Worth<'_>) -> String {
    format!("{:+.1} ±{:.1} %", worth.percent(), worth.spread())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_rows_or_a_reason() {
        for rule in rules::ALL {
            let shown = ROWS.iter().filter(|(names, _)| names.contains(&rule.name)).count();
            let elsewhere = ELSEWHERE.iter().filter(|(name, _)| *name == rule.name).count();
            assert_eq!(shown + elsewhere, 1, "{}", rule.name);
        }
        let known = |name: &str| rules::ALL.iter().any(|rule| rule.name == name);
        let named = ROWS.iter().flat_map(|(names, _)| *names).chain(ELSEWHERE.iter().map(|(name, _)| name));
        assert_eq!(named.copied().find(|name| !known(name)), None, "no such rule");
    }

    #[test]
    fn a_rule_for_private_memory_stands_beside_a_line_without_promotion() {
        let lines = lines();
        let promotes = |name: &str| {
            let line = lines.iter().find(|line| line.name == name).expect("a line of this name");
            !line.variables.iter().any(|(name, _)| name == "TERN_PROMOTE")
        };
        for rule in ROWS.iter().flat_map(|(names, _)| *names) {
            assert_eq!(promotes(rule), promotes(beside(rule)), "{rule}");
        }
        assert!(promotes(ON) && !promotes(ON_PRIVATE) && !promotes("ask-owner"));
    }

    #[test]
    fn every_benchmark_that_is_named_is_run_once() {
        for quick in [true, false] {
            let jobs = jobs(quick);
            for benchmark in ROWS.iter().flat_map(|(_, benchmarks)| *benchmarks) {
                let runs: Vec<_> = jobs.iter().filter(|job| job.benchmarks == [*benchmark]).collect();
                assert_eq!(runs.len(), 1, "{benchmark}");
                assert!(runs[0].lines.len() >= 2, "{benchmark} has nothing beside it");
            }
        }
    }

    #[test]
    fn worth_is_what_a_row_gains_by_the_rule() {
        let row =
            |unit: &str| Row { title: String::new(), benchmark: "b".into(), size: 8, unit: unit.into(), ranks: 2 };
        let of = |median| Summary { median, spread: median / 100.0, count: 5, bad: false };
        let (time, rate, share) = (row("us"), row("M/s"), row("%"));
        let worth = |row, on, off| Worth { row, on: of(on), off: of(off) }.percent().round();
        assert_eq!(worth(&time, 10.0, 12.0), 20.0);
        assert_eq!(worth(&rate, 12.0, 10.0), 20.0);
        assert_eq!(worth(&rate, 10.0, 20.0), -50.0);
        assert_eq!(worth(&share, 90.0, 40.0), 50.0);
        assert!(Worth { row: &time, on: of(10.0), off: of(10.5) }.shows());
        assert!(!Worth { row: &time, on: of(10.0), off: of(10.25) }.shows(), "too little");
        let noisy = Summary { spread: 3.0, ..of(10.5) };
        assert!(!Worth { row: &time, on: of(10.0), off: noisy }.shows(), "perhaps chance");
        let once = Summary { count: 2, ..of(12.0) };
        assert!(!Worth { row: &time, on: of(10.0), off: once }.shows(), "too few");
    }
}
