use super::claims::{Verdict, verdict};
use super::experiments::EXPERIMENTS;
use super::registry::{Claim, Quantity, Work};
use super::*;
use crate::figures::{Row, Sample};
use std::collections::BTreeSet;

/// How many figures and tables each paper has.
const COUNTS: [(&str, u32, u32); 5] = [
    ("kernel-assistance-2010", 6, 1),
    ("knem-2013", 14, 2),
    ("frequent-buffers-2009", 7, 3),
    ("tupleq-2009", 6, 0),
    ("mvapich2-2005", 15, 0),
];

fn paper(name: &str) -> &'static Paper {
    PAPERS.iter().find(|paper| paper.name == name).expect("a paper")
}

fn entry(name: &str, kind: Kind, number: u32) -> &'static Entry {
    let found = paper(name).entries.iter().find(|entry| (entry.kind, entry.number) == (kind, number));
    found.expect("an entry")
}

fn repeats() -> impl Iterator<Item = (&'static Paper, &'static Entry, &'static Repeat)> {
    PAPERS.iter().flat_map(|paper| paper.entries.iter().filter_map(move |entry| Some((paper, entry, repeat(entry)?))))
}

#[test]
fn every_figure_and_table_of_every_paper_has_an_entry() {
    assert_eq!(PAPERS.len(), COUNTS.len());
    for (name, figures, tables) in COUNTS {
        let expected: Vec<(Kind, u32)> = (1..=figures)
            .map(|number| (Kind::Figure, number))
            .chain((1..=tables).map(|number| (Kind::Table, number)))
            .collect();
        let there: Vec<(Kind, u32)> = paper(name).entries.iter().map(|entry| (entry.kind, entry.number)).collect();
        assert_eq!(there, expected, "{name}");
    }
}

#[test]
fn experiments_are_listed_and_lines_mean_the_same_everywhere() {
    let names: BTreeSet<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
    assert_eq!(names.len(), EXPERIMENTS.len());
    for (_, _, repeat) in repeats() {
        for experiment in repeat.experiments {
            assert!(names.contains(experiment.name), "{}", experiment.name);
        }
    }
    let lines: Vec<_> = EXPERIMENTS.iter().flat_map(|experiment| experiment.lines).collect();
    for line in &lines {
        let same = lines.iter().filter(|other| other.name == line.name);
        assert!(same.into_iter().all(|other| other.settings == line.settings), "{}", line.name);
    }
    for part in EXPERIMENTS.iter().flat_map(|experiment| experiment.parts.iter().map(move |part| (experiment, part))) {
        let (experiment, part) = part;
        let known = |name: &&str| experiment.lines.iter().any(|line| line.name == *name);
        assert!(part.lines.iter().all(known), "{}", part.title);
    }
}

/// Whether an experiment has rows of a benchmark with this title; programs may print further benchmarks than that.
fn has(experiments: &[&Experiment], title: &str, benchmark: &str) -> bool {
    let prints = |part: &registry::Part| {
        let printed = match (benchmark, part.work) {
            ("vector", _) => "column_type",
            ("asp_bcast", Work::Paths(_)) => "asp",
            ("gradient_send", _) => "gradient",
            ("wavefront_send", _) => "wavefront",
            _ => benchmark,
        };
        part.title == title && part.benchmarks.contains(&printed)
    };
    experiments.iter().any(|experiment| experiment.parts.iter().any(prints))
}

/// Other rows than its own that a claim looks at: title and benchmark.
fn others(claim: &Claim) -> Option<(&str, &str)> {
    match claim.quantity {
        Quantity::Ratio { of, .. } => Some((of, claim.benchmark)),
        Quantity::Kept { of, benchmark, .. }
        | Quantity::Faster { of, benchmark, .. }
        | Quantity::Share { of, benchmark, .. } => Some((of, benchmark)),
        Quantity::Saved { .. } | Quantity::Value { .. } => None,
    }
}

#[test]
fn claims_and_plots_are_about_what_is_measured() {
    for (paper, entry, repeat) in repeats() {
        let place = format!("{}, {}", paper.name, entry.title());
        assert!(!repeat.claims.is_empty() && !repeat.here.is_empty(), "{place}");
        for claim in repeat.claims {
            assert!(has(repeat.experiments, claim.title, claim.benchmark), "{place}: {}", claim.says);
            assert!(
                others(claim).is_none_or(|(title, benchmark)| has(repeat.experiments, title, benchmark)),
                "{place}"
            );
        }
        for (title, benchmark, _) in repeat.plot.iter().flat_map(|plot| plot.panels) {
            assert!(has(repeat.experiments, title, benchmark), "{place}: {title}, {benchmark}");
        }
    }
}

/// Medians in which each claim has the value that `choose` takes from its range.
fn synthetic(repeat: &Repeat, inside: bool) -> Medians {
    let mut medians = Medians::default();
    for claim in repeat.claims {
        let [least, most] = claim.range;
        let value = match (inside, least > -registry::ANY, most < registry::ANY) {
            (true, true, _) => least + 0.01,
            (true, false, _) => most - 0.01,
            (false, true, _) => least - 7.0,
            (false, false, _) => most + 7.0,
        };
        let size = claim.sizes[0].max(4096).min(claim.sizes[1]);
        let mut put = |title: &str, benchmark: &str, unit: &str, line: &str, median: f64| {
            let row = Row { title: title.into(), benchmark: benchmark.into(), size, unit: unit.into(), ranks: 2 };
            medians.put(&row, line, median);
        };
        let (title, benchmark) = (claim.title, claim.benchmark);
        match claim.quantity {
            Quantity::Value { line } => put(title, benchmark, "%", line, value),
            Quantity::Saved { line, against } => {
                put(title, benchmark, "us", against, 100.0);
                put(title, benchmark, "us", line, 100.0 - value);
            }
            Quantity::Ratio { line, of } => {
                put(of, benchmark, "us", line, 1.0);
                put(title, benchmark, "us", line, value);
            }
            Quantity::Kept { line, of, benchmark: other } => {
                put(of, other, "us", line, size as f64);
                put(title, benchmark, "MB/s", line, 2.0 * value / 100.0);
            }
            Quantity::Faster { line, of, benchmark: other } => {
                put(of, other, "us", line, size as f64);
                put(title, benchmark, "MB/s", line, 1.0 + value / 100.0);
            }
            Quantity::Share { part, of, benchmark: other, line } => {
                put(of, other, "us", line, 100.0);
                put(title, benchmark, "us", part, value);
            }
        }
    }
    medians
}

#[test]
fn figures_as_the_paper_has_them_agree() {
    for (paper, entry, repeat) in repeats().filter(|(_, _, repeat)| repeat.claims.len() == 1) {
        let found = verdict(paper, entry, &synthetic(repeat, true), None);
        assert_eq!(found, Verdict::Agrees { modelled: repeat.modelled }, "{}, {}", paper.name, entry.title());
    }
}

#[test]
fn other_figures_differ_and_say_by_how_much() {
    for (paper, entry, repeat) in repeats().filter(|(_, _, repeat)| repeat.claims.len() == 1) {
        match verdict(paper, entry, &synthetic(repeat, false), Some("COSTS")) {
            Verdict::Differs { modelled, reason } => {
                assert!(reason.starts_with(repeat.claims[0].says) && reason.contains("the paper asks for"), "{reason}");
                assert_eq!((modelled, reason.contains("COSTS")), (repeat.modelled, repeat.by_kernel));
            }
            other => panic!("{}, {}: {other:?}", paper.name, entry.title()),
        }
    }
}

#[test]
fn of_several_claims_one_that_fails_is_enough() {
    let (paper, entry) = (paper("tupleq-2009"), entry("tupleq-2009", Kind::Figure, 5));
    let repeat = repeat(entry).expect("a repetition");
    let row = |title: &str, benchmark: &str, size| Row {
        title: title.into(),
        benchmark: benchmark.into(),
        size,
        unit: "%".into(),
        ranks: 2,
    };
    let mut medians = Medians::default();
    let receiver = repeat.claims[0].title;
    let sender = repeat.claims[1].title;
    for size in [1024, 16384, 65536] {
        medians.put(&row(receiver, "overlap_recv", size), "TupleQ", 99.0);
        medians.put(&row(sender, "overlap_send", size), "TupleQ", 98.0);
        medians.put(&row(receiver, "overlap_recv", size), "RGET", 2.0);
        medians.put(&row(receiver, "overlap_recv", size), "RPUT", 1.0);
    }
    assert_eq!(verdict(paper, entry, &medians, None), Verdict::Agrees { modelled: true });
    medians.put(&row(receiver, "overlap_recv", 65536), "RGET", 80.0);
    let found = verdict(paper, entry, &medians, None);
    assert!(
        matches!(&found, Verdict::Differs { reason, .. } if reason.contains("RGET") && !reason.contains("RPUT")),
        "{found:?}"
    );
}

#[test]
fn what_was_not_measured_names_the_command() {
    let (paper, entry) = (paper("knem-2013"), entry("knem-2013", Kind::Table, 2));
    let found = verdict(paper, entry, &Medians::default(), None);
    assert_eq!(found, Verdict::NotYet("tern-bench papers --paper knem-2013 --table 2".to_string()));
    assert!(found.text().starts_with("not measured yet: run `tern-bench papers"));
}

/// A folder for a test, which goes with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("tern-bench-papers-{name}-{}", std::process::id())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn kept(rounds: usize) -> Kept {
    let mut kept = Kept { rounds, commit: "abcdef1".into(), date: "2026-11-30".into(), ..Kept::default() };
    for value in 0..rounds {
        let row = Row {
            title: experiments::node::IN_CACHE.into(),
            benchmark: "pingpong".into(),
            size: 4096,
            unit: "us".into(),
            ranks: 2,
        };
        kept.figures.add(row, "pipe", Sample { value: 1.0 + value as f64, placement: None, others: 0.0 });
    }
    kept.labels.insert("mpich".into(), "MPICH 5".into());
    kept
}

#[test]
fn an_interrupted_run_goes_on_where_it_stopped() {
    let place = Place::new("resume");
    let folder = place.0.join(experiments::node::PING_PONG.name);
    assert_eq!(Kept::read(&folder).rounds, 0);
    kept(3).write(&folder).expect("it is written");
    let again = Kept::read(&folder);
    assert_eq!((again.rounds, again.commit.as_str(), again.labels["mpich"].as_str()), (3, "abcdef1", "MPICH 5"));
    assert_eq!(again.figures.csv(), kept(3).figures.csv());
    assert!(again.goes_on("abcdef1", false) && !again.is_whole(5, false));
    assert!(again.is_whole(3, false) && !again.is_whole(3, true));
    // Rounds of other code, or of a quick look, do not mix with these.
    assert!(!again.goes_on("1234567", false) && !again.goes_on("abcdef1", true));
    assert!(!Kept::default().goes_on("", false));
}

#[test]
fn figures_that_cannot_be_read_are_measured_anew() {
    let place = Place::new("broken");
    let folder = place.0.join(experiments::node::PING_PONG.name);
    kept(2).write(&folder).expect("it is written");
    std::fs::write(folder.join("figures.csv"), "a,b\n").expect("a file");
    assert_eq!(Kept::read(&folder).rounds, 0);
}

#[test]
fn pages_have_a_row_for_each_figure_and_table_and_pass_their_check() {
    let place = Place::new("pages");
    kept(5).write(&place.0.join(experiments::node::PING_PONG.name)).expect("it is written");
    let folder = place.0.join("docs");
    page::write(&folder, &[], &place.0).expect("pages");
    let page = std::fs::read_to_string(folder.join("knem-2013.md")).expect("a page");
    assert!(
        page.contains("| figure 9 | ") && page.contains("4 KiB, 2 ranks, 5 rounds, commit abcdef1, 2026-11-30"),
        "{page}"
    );
    check::run(&folder, Path::new("/")).expect("nothing is wrong");
    let other = page.replace("commit abcdef1", "at 3 MiB, commit abcdef1");
    std::fs::write(folder.join("knem-2013.md"), other).expect("a page");
    assert!(check::run(&folder, Path::new("/")).unwrap_err().contains("the text names 3 MiB"));
}

#[test]
fn papers_and_figures_are_chosen_by_name_and_number() {
    let words = |paper: &[&str], figure: &[u32], table: &[u32]| Words {
        paper: paper.iter().map(|name| name.to_string()).collect(),
        figure: figure.to_vec(),
        table: table.to_vec(),
        npb: None,
        again: false,
        list: false,
        check: None,
    };
    let all: u32 = COUNTS.iter().map(|(_, figures, tables)| figures + tables).sum();
    assert_eq!(words(&[], &[], &[]).chosen().expect("all").len(), all as usize);
    assert_eq!(words(&["tupleq"], &[5], &[]).chosen().expect("one").len(), 1);
    assert_eq!(words(&["knem"], &[9], &[1, 2]).chosen().expect("three").len(), 3);
    assert!(words(&["nobody"], &[], &[]).chosen().is_err_and(|error| error.contains("knem-2013")));
    assert!(words(&["tupleq"], &[], &[1]).chosen().is_err());
    let one = words(&["knem"], &[12], &[]).chosen().expect("one");
    let names: Vec<&str> = experiments_of(&one).iter().map(|experiment| experiment.name).collect();
    assert_eq!(names, ["kernel-costs", "ping-pong"]);
}
