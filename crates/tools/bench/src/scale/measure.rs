//! Measures what is asked for: the lines in turn, round by round, so that whoever interrupts it has a whole round of all, and goes on from there.

use super::choice::{self, GROUPS, Group, MEMORY_SHARE};
use super::report::many;
use super::results::{LineOf, Results};
use super::{Words, bound, machine, peers};
use crate::kept::Kept;
use crate::library::Library;
use crate::line::Line;
use crate::report::bytes;
use crate::session::{Problem, Session};
use crate::suite::{Binding, Job};
use crate::{Options, Places, cores, origin};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tern_node::{Shape, Unit};

/// How often each line runs, unless `--rounds` says.
const ROUNDS: [usize; 2] = [5, 1];
/// Milliseconds and batches of a figure in one launch: in full, and in a quick look.
const TIMES: [(u64, u64); 2] = [(20, 5), (4, 3)];
/// How a reason begins that says that a launch took too long.
const STOPPED: &str = "stopped after";

/// One group of collectives with one number of ranks: what each launch of a line measures.
struct Cell {
    job: Job,
    folder: PathBuf,
    kept: Kept,
}

/// What the whole command is to do.
struct Plan {
    cells: Vec<Cell>,
    lines: Vec<Line>,
    /// Those lines that cannot run.
    missing: Vec<Problem>,
    shape: Shape,
    cores: usize,
    rounds: usize,
    commit: String,
    quick: bool,
}

/// The job of a group, and a problem for the sizes that it leaves out. Nothing where none of it is wanted.
fn job(group: &Group, ranks: usize, cores: usize, sizes: &[u64], options: &Options) -> (Option<Job>, Option<Problem>) {
    let binding = if ranks <= cores { Binding::Packed } else { Binding::Shared };
    let mut job = Job::new(&Results::title(ranks), ranks, binding, group.benchmarks);
    job.benchmarks.retain(|name| options.only.is_empty() || options.only.iter().any(|wanted| wanted == name));
    if job.benchmarks.is_empty() {
        return (None, None);
    }
    let memory = tern_node::memory_limit();
    let (fitting, left) = group.fitting(ranks, sizes, memory);
    let problem = left.first().map(|least| Problem {
        library: "all lines".into(),
        what: format!("{} with {ranks} ranks from {} on", job.benchmarks.join(", "), bytes(*least)),
        reason: format!("the buffers would take more than 1/{MEMORY_SHARE} of {} MiB", memory >> 20),
    });
    (job.time_ms, job.batches) = TIMES[usize::from(options.quick)];
    (job.sized, job.probed) = (false, options.patience != Some(0));
    let there = !fitting.is_empty();
    (there.then(|| job.sizes(&fitting)), problem)
}

impl Plan {
    fn new(words: &Words, options: &Options, places: &Places, folder: &Path) -> Result<Self, String> {
        let shape = Shape::read(&tern_node::kernel_affinity());
        let cores = options.cores.unwrap_or(shape.parts(Unit::Core).len());
        let shape = machine::first(&shape, cores);
        let levels = machine::levels(&shape);
        let ranks = choice::ranks(&levels, &options.ranks, options.quick, words.oversubscribe)?;
        let sizes = choice::sizes(&options.sizes, options.quick)?;
        known(&options.only)?;
        let (lines, missing) = peers::present(peers::lines(options, words.openmpi.as_deref())?, places);
        let mut plan = Self {
            cells: Vec::new(),
            lines,
            missing,
            shape,
            cores,
            rounds: options.rounds.unwrap_or(ROUNDS[usize::from(options.quick)]).max(1),
            commit: origin::commit(&places.root),
            quick: options.quick,
        };
        for ranks in ranks {
            for group in &GROUPS {
                let (job, problem) = job(group, ranks, cores, &sizes, options);
                plan.missing.extend(problem);
                let folder = folder.join(format!("work/{ranks}-{}", group.name));
                plan.cells.extend(job.map(|job| Cell { job, kept: Kept::read(&folder), folder }));
            }
        }
        plan.forget(words.again);
        Ok(plan)
    }

    /// What a cell is asked for: figures of anything else are not mixed with its own.
    fn asked(&self, job: &Job) -> String {
        let lines: Vec<String> =
            self.lines.iter().map(|line| format!("{} ({})", line.name, peers::settings(line))).collect();
        let place = format!("{}, {} cores, {} ranks", cores::model(), self.cores, job.ranks);
        format!("{place}: {}; {}", job.arguments().join(" "), lines.join(", "))
    }

    /// Figures that do not belong to what is asked for go, and so do all if they are to be measured again.
    fn forget(&mut self, again: bool) {
        let asked: Vec<String> = self.cells.iter().map(|cell| self.asked(&cell.job)).collect();
        let mut other = 0;
        for (cell, asked) in self.cells.iter_mut().zip(asked) {
            if again
                || (cell.kept.rounds > 0 && !(cell.kept.goes_on(&self.commit, self.quick) && cell.kept.asked == asked))
            {
                other += usize::from(!again);
                cell.kept = Kept::default();
            }
            cell.kept.asked = asked;
        }
        if other > 0 {
            let jobs = many(other, "job");
            eprintln!(
                "measured anew: {jobs}, of which the figures have other lines, sizes or times, another commit or machine"
            );
        }
    }

    /// Launches of each line that are left.
    fn steps(&self) -> usize {
        self.cells.iter().map(|cell| self.rounds.saturating_sub(cell.kept.rounds)).sum()
    }
}

/// An error unless each of the names is a collective that is measured.
fn known(only: &[String]) -> Result<(), String> {
    let names: Vec<&str> = GROUPS.iter().flat_map(|group| group.benchmarks).copied().collect();
    match only.iter().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(format!("no benchmark {name} in this suite, which has {}", names.join(", "))),
        None => Ok(()),
    }
}

/// Measures what is not there yet, and returns all that is. Each round of a cell is kept when it is over.
pub fn measure(words: &Words, options: &Options, places: &Places, folder: &Path) -> Result<Results, String> {
    let mut plan = Plan::new(words, options, places, folder)?;
    let (steps, all) = (plan.steps(), plan.cells.len() * plan.rounds);
    match steps {
        0 if all > 0 => {
            eprintln!("{} of all jobs: nothing is left (--again measures anew)", many(plan.rounds, "round"))
        }
        left if left < all => eprintln!("goes on: {left} of {all} jobs and rounds are left"),
        _ => {}
    }
    if steps > 0 {
        let alone = &Options { rounds: Some(1), add: false, cores: Some(plan.cores), ..options.clone() };
        let lines: Vec<_> = plan.lines.iter().map(|line| (line.clone(), None)).collect();
        let mut session = Session::with_lines(alone, places, &folder.join("work"), lines)?;
        let told = std::mem::take(&mut plan.missing);
        told.into_iter().for_each(|problem| session.problem(&problem.library, &problem.what, problem.reason));
        plan.missing.clone_from(&session.problems);
        session.expect(steps);
        rounds(&mut plan, &mut session)?;
        session.expect(0);
    }
    results(&plan)
}

/// The rounds that are left, each of all cells.
fn rounds(plan: &mut Plan, session: &mut Session) -> Result<(), String> {
    let mut looked = BTreeSet::new();
    let labels: BTreeMap<String, String> =
        session.libraries.iter().map(|library| (library.name.clone(), library.label.clone())).collect();
    for round in 0..plan.rounds {
        for cell in plan.cells.iter_mut().filter(|cell| cell.kept.rounds <= round) {
            let (ranks, names) = (cell.job.ranks, cell.job.benchmarks.join(", "));
            session.begin(format!("round {} of {}, {ranks} ranks: {names}", round + 1, plan.rounds));
            let before = session.problems.len();
            if cell.job.binding == Binding::Packed && looked.insert(ranks) {
                look(session, ranks, &plan.shape);
            }
            one(cell, session);
            let kept = &mut cell.kept;
            kept.problems.extend(session.problems[before..].iter().cloned());
            (kept.rounds, kept.date) = (round + 1, origin::today());
            (kept.commit, kept.quick) = (plan.commit.clone(), plan.quick);
            (kept.processor, kept.kernel) = (cores::model(), cores::kernel());
            kept.labels.clone_from(&labels);
            kept.write(&cell.folder)?;
            session.end();
        }
    }
    Ok(())
}

/// Looks where each line runs its ranks.
fn look(session: &mut Session, ranks: usize, shape: &Shape) {
    let libraries: Vec<Library> = session.libraries.clone();
    for library in &libraries {
        if let Some(reason) = bound::look(session, library, ranks, shape) {
            session.problem(&library.name, &format!("places of {ranks} ranks"), reason);
        }
    }
}

/// One round of a cell. A line that took too long in an earlier one, or had no figure, does not run again.
fn one(cell: &mut Cell, session: &mut Session) {
    let kept = &cell.kept;
    let has_figure = |name: &String| kept.figures.values().any(|(_, line, _)| line == name);
    let was_stopped = |name: &String| {
        kept.problems.iter().any(|problem| problem.library == *name && problem.reason.starts_with(STOPPED))
    };
    let stopped = |name: &String| kept.rounds > 0 && (was_stopped(name) || !has_figure(name));
    let mut job = cell.job.clone();
    job.lines = session.libraries.iter().map(|library| library.name.clone()).filter(|name| !stopped(name)).collect();
    if job.lines.is_empty() {
        return;
    }
    session.figures = std::mem::take(&mut cell.kept.figures);
    session.run_job(&job);
    cell.kept.figures = std::mem::take(&mut session.figures);
}

/// Everything that is kept, as one.
fn results(plan: &Plan) -> Result<Results, String> {
    let mut results = Results {
        about: machine::about(&plan.shape),
        levels: machine::levels(&plan.shape),
        problems: plan.missing.clone(),
        rounds: plan.cells.iter().map(|cell| cell.kept.rounds).min().unwrap_or(0),
        quick: plan.quick,
        commit: plan.commit.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        ..Results::default()
    };
    let mut labels = BTreeMap::new();
    for Cell { kept, .. } in &plan.cells {
        for (row, name, samples) in kept.figures.values() {
            samples.iter().for_each(|sample| results.figures.add(row.clone(), name, *sample));
        }
        for problem in &kept.problems {
            if !results.problems.contains(problem) {
                results.problems.push(problem.clone());
            }
        }
        labels.extend(kept.labels.clone());
        results.date = results.date.max(kept.date.clone());
    }
    for line in &plan.lines {
        results.lines.push(LineOf {
            name: line.name.clone(),
            label: labels.get(&line.name).unwrap_or(&line.name).clone(),
            settings: peers::settings(line),
            is_tern: line.library == "tern",
        });
    }
    if results.figures.is_empty() { Err("nothing was measured".into()) } else { Ok(results) }
}
