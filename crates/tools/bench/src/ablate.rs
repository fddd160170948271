//! `tern-bench ablate`: what each rule of the policy is worth. Each is switched off in turn, beside all rules on, on the benchmarks where
//! it can act, and on such where it cannot, which tell what chance does.
//!
//! - [`subjects`] says where each rule can act, and where not.
//! - [`sitting`] is what was measured in one go, with its file.
//! - [`statistics`] are the pure functions of numbers by which [`mod@judge`] tells what is beyond chance.
//! - [`report`](mod@report) puts sittings, of several machines too, side by side.

mod judge;
mod report;
mod sitting;
mod statistics;
mod subjects;

use crate::figures::Figures;
use crate::library::Library;
use crate::line::Line;
use crate::session::Session;
use crate::suite::{self, Job};
use crate::{Options, Places, cores};
use judge::{beside, judge};
use sitting::{AGAIN, Counted, ON, ON_PRIVATE, Sitting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use subjects::{SUBJECTS, Subject, lacks};

/// How often each line runs, unless `--rounds` says, and with `--quick`: of fewer than [`statistics::ENOUGH`] nothing is judged.
const ROUNDS: [usize; 2] = [9, statistics::ENOUGH];
/// Sizes of messages, and with `--quick`: those that rules act on, and below them such as none does.
const SIZES: &[u64] = &[8, 256, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20];
const FEW_SIZES: &[u64] = &[8, 256, 1 << 10, 4 << 10, 8 << 10, 64 << 10, 256 << 10];
/// A rule that cannot act on one machine; off, it makes a line of the same environment that does the same.
const INERT: &str = "-rings";
/// The first word of the counters of rules.
const COUNTER: &str = "policy_";

/// The rules that are looked at: those of these names, or all, as far as the machine has what they need.
fn looked_at(names: &[String]) -> Result<Vec<&'static Subject>, String> {
    if let Some(wrong) = names.iter().find(|name| !SUBJECTS.iter().any(|subject| subject.rule == name.as_str())) {
        let known = SUBJECTS.iter().map(|subject| subject.rule).collect::<Vec<_>>().join(", ");
        return Err(format!("--rules {wrong}: no benchmark of one machine shows such a rule; there are {known}"));
    }
    let wanted = |subject: &&Subject| names.is_empty() || names.iter().any(|name| name == subject.rule);
    let able = |subject: &&Subject| lacks(subject.needs, tern_device::hint::can_demote()).is_none();
    Ok(SUBJECTS.iter().filter(wanted).filter(able).collect())
}

/// Each benchmark by itself, with the lines that run it.
fn jobs(subjects: &[&Subject], quick: bool) -> Vec<Job> {
    let mut all = suite::point_to_point(quick);
    all.extend(suite::overlap(quick));
    all.extend(suite::collectives(quick));
    all.extend(suite::one_sided(quick));
    let mut jobs = Vec::new();
    for job in all {
        for &benchmark in &job.benchmarks {
            let subjects = subjects.iter().filter(|subject| subject.benchmarks().any(|name| name == benchmark));
            let mut lines: Vec<String> = subjects.map(|subject| subject.rule.to_string()).collect();
            if lines.is_empty() {
                continue;
            }
            let mut on: Vec<&str> = lines.iter().map(|rule| beside(rule)).collect();
            on.sort_unstable();
            on.dedup();
            lines.extend(on.into_iter().flat_map(|on| [on.to_string(), format!("{on}{AGAIN}")]));
            let mut one = Job { benchmarks: vec![benchmark], lines, extra: None, ..job.clone() };
            if one.sized {
                one = one.sizes(if quick { FEW_SIZES } else { SIZES });
            }
            jobs.push(one);
        }
    }
    jobs
}

/// All rules on, the same again, and each off in turn.
fn lines(subjects: &[&Subject]) -> Vec<Line> {
    let line = |name: &str, off: Option<String>, private: bool| {
        let mut variables: Vec<(String, String)> =
            off.map(|off| ("TERN_POLICY".to_string(), off)).into_iter().collect();
        variables.extend(private.then(|| ("TERN_PROMOTE".to_string(), "off".to_string())));
        Line { name: name.to_string(), library: "tern".to_string(), prefix: None, variables }
    };
    let mut lines = Vec::new();
    for (on, private) in [(ON, false), (ON_PRIVATE, true)] {
        lines.push(line(on, None, private));
        lines.push(line(&format!("{on}{AGAIN}"), Some(INERT.to_string()), private));
    }
    lines
        .extend(subjects.iter().map(|subject| line(subject.rule, Some(format!("-{}", subject.rule)), subject.private)));
    lines
}

/// Judges sittings that earlier runs have left, side by side.
pub fn compare(files: &[PathBuf]) -> Result<(), String> {
    let sittings = files.iter().map(|file| Sitting::read(file)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let judged: Vec<_> = sittings.iter().map(judge).collect();
    println!("{}", report::text(&names, &judged));
    Ok(())
}

/// One sitting: measures, keeps it in a file of its own, and prints what it says.
pub fn measure(options: &Options, places: &Places, rules: &[String]) -> Result<(), String> {
    let output = places.output.join("ablate");
    std::fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let rounds = options.rounds.unwrap_or(ROUNDS[usize::from(options.quick)]);
    let options = &Options { rounds: Some(rounds), ..options.clone() };
    let subjects = looked_at(rules)?;
    let lines = lines(&subjects).into_iter().map(|line| (line, None));
    let mut session = Session::with_lines(options, places, &output, lines)?;
    let jobs = jobs(&subjects, options.quick);
    let path = sitting::free(&output);
    let mut sitting = begin(&session);
    for job in session.wanted(&jobs) {
        sitting.counted.extend(count(&session, &job, &output));
    }
    let measured = session.run(&jobs, |session| {
        sitting.rows = rows(&session.figures);
        sitting.write(&path)?;
        crate::report::write(session, &output)
    });
    compare(std::slice::from_ref(&path))?;
    eprintln!(
        "written: {}, and report.md, figures.csv beside it; `ablate --results` takes several such sittings",
        path.display()
    );
    measured
}

fn begin(session: &Session) -> Sitting {
    Sitting {
        processor: cores::model(),
        kernel: cores::kernel(),
        cores: session.cores.clone(),
        can_demote: tern_device::hint::can_demote(),
        ..Sitting::default()
    }
}

fn rows(figures: &Figures) -> Vec<(crate::figures::Row, BTreeMap<String, sitting::Rounds>)> {
    figures.near_values().map(|(row, lines)| (row.clone(), lines)).collect()
}

/// How often the rules act in a job's rows: a launch for each size, which the library's own counters watch. Nobody looks at its times.
fn count(session: &Session, job: &Job, output: &Path) -> Vec<Counted> {
    let sizes = if job.sized { job.sizes.clone() } else { vec![0] };
    let on =
        |library: &&Library| [ON, ON_PRIVATE].contains(&library.name.as_str()) && job.lines.contains(&library.name);
    let mut all = Vec::new();
    for library in session.libraries.iter().filter(on) {
        for &size in &sizes {
            let one = if job.sized { job.clone().sizes(&[size]) } else { job.clone() };
            let counters = output.join("counters");
            let _ = std::fs::remove_file(&counters);
            let counting = library.with(&[("TERN_STATS".to_string(), counters.display().to_string())]);
            session.launch(&counting, one.binding, &[(one.ranks, &[], &one.arguments())]);
            // A launch that failed has left none, and is told when it is measured.
            if let Ok(text) = std::fs::read_to_string(&counters) {
                let benchmark = job.benchmarks[0].to_string();
                all.push(Counted { line: library.name.clone(), benchmark, size, rules: counts(&text) });
            }
        }
    }
    all
}

/// The counts of the rules, from what TERN_STATS has written: name, unit, and the sum of all processes.
fn counts(text: &str) -> BTreeMap<String, u64> {
    let count = |line: &str| {
        let (name, rest) = line.strip_prefix(COUNTER)?.split_once(" [")?;
        let sum = rest.split_once(']')?.1.split_whitespace().next()?.parse().ok()?;
        Some((name.replace('_', "-"), sum))
    };
    text.lines().filter_map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Vec<&'static Subject> {
        SUBJECTS.iter().collect()
    }

    #[test]
    fn a_rule_for_private_memory_stands_beside_a_line_without_promotion() {
        let lines = lines(&everything());
        let promotes = |name: &str| {
            let line = lines.iter().find(|line| line.name == name).expect("a line of this name");
            !line.variables.iter().any(|(name, _)| name == "TERN_PROMOTE")
        };
        for subject in SUBJECTS {
            assert_eq!(promotes(subject.rule), promotes(beside(subject.rule)), "{}", subject.rule);
        }
        assert!(promotes(ON) && !promotes(ON_PRIVATE) && !promotes("ask-owner"));
    }

    #[test]
    fn a_line_that_runs_again_does_the_same() {
        assert!(subjects::ELSEWHERE.iter().any(|(name, _)| format!("-{name}") == INERT), "{INERT} acts on one machine");
        let lines = lines(&everything());
        for on in [ON, ON_PRIVATE] {
            let again = lines.iter().find(|line| line.name == format!("{on}{AGAIN}")).expect("the line again");
            assert_eq!(again.variables[0], ("TERN_POLICY".to_string(), INERT.to_string()));
        }
    }

    #[test]
    fn every_benchmark_that_is_named_is_run_once() {
        for quick in [true, false] {
            let jobs = jobs(&everything(), quick);
            for benchmark in SUBJECTS.iter().flat_map(Subject::benchmarks) {
                let runs: Vec<_> = jobs.iter().filter(|job| job.benchmarks == [benchmark]).collect();
                assert_eq!(runs.len(), 1, "{benchmark}");
                assert!(runs[0].lines.len() >= 3, "{benchmark} has nothing beside it");
            }
        }
    }

    #[test]
    fn rules_are_chosen_by_name() {
        let chosen = |names: &[&str]| looked_at(&names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(chosen(&["copies", "stores"]).unwrap().len(), 2);
        assert!(chosen(&["rings"]).is_err_and(|error| error.contains("rings") && error.contains("copies")));
        let named = jobs(&chosen(&["stores"]).unwrap(), true);
        assert!(named.iter().all(|job| job.lines == ["stores", "tern", "tern-again"]), "{:?}", named[0].lines);
    }

    #[test]
    fn counts_of_rules_are_read_from_the_statistics() {
        let text = "sent_eager [messages]   7   3   4\npolicy_expect_ready [times]   12   5   7\npolicy_x\n";
        assert_eq!(counts(text), BTreeMap::from([("expect-ready".to_string(), 12)]));
    }
}
