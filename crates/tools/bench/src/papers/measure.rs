//! Measures experiments round by round, each of whose launches is a step of the progress.

use super::registry::{Experiment, Part, Place, Work};
use super::{Ask, claims, direct, nas};
use crate::kept::Kept;
use crate::knem::{experiments, programs, regions};
use crate::line::Line;
use crate::session::Session;
use crate::suite::{Binding, Job};
use crate::{Options, Places, cores, origin};
use std::path::Path;

/// Seconds after which a launch is stopped.
const LIMIT_S: u64 = 60;
/// Milliseconds for a figure with `--quick`.
const SHORT: u64 = 8;

/// What is left to measure of the experiments, with what is there of each.
fn left(wanted: &[&'static Experiment], ask: &Ask, output: &Path) -> Vec<(&'static Experiment, Kept)> {
    let mut left = Vec::new();
    for experiment in wanted {
        let kept = Kept::read(&output.join(experiment.name));
        let whole = kept.is_whole(ask.rounds, ask.quick);
        if whole && !ask.again {
            eprintln!("{}: {} rounds of {} are there (--again measures anew)", experiment.name, kept.rounds, kept.date);
            continue;
        }
        let kept = if ask.again || !kept.goes_on(&ask.commit, ask.quick) { Kept::default() } else { kept };
        if kept.rounds > 0 {
            eprintln!("{}: goes on after {} of {} rounds", experiment.name, kept.rounds, ask.rounds);
        }
        left.push((*experiment, kept));
    }
    left
}

/// The lines of all these experiments, each once, behind the libraries that are asked for.
fn lines(left: &[(&'static Experiment, Kept)], options: &Options) -> Result<Vec<Line>, String> {
    let mut lines: Vec<Line> = Vec::new();
    if left.iter().any(|(experiment, _)| experiment.plain) {
        for name in options.libraries.iter().chain(&options.lines) {
            lines.push(Line::parse(name)?);
        }
    }
    let module = Path::new(super::DEVICE).exists();
    for setting in left.iter().flat_map(|(experiment, _)| experiment.lines) {
        if !lines.iter().any(|line| line.name == setting.name) && (module || setting.name != super::MODULE) {
            lines.push(setting.line());
        }
    }
    Ok(lines)
}

/// Measures what is not there yet. Each round of an experiment is kept when it is over.
pub fn measure(
    wanted: &[&'static Experiment], ask: &Ask, options: &Options, places: &Places, output: &Path,
) -> Result<(), String> {
    let left = left(wanted, ask, output);
    if left.is_empty() {
        return Ok(());
    }
    let alone = &Options { rounds: Some(1), add: false, ..options.clone() };
    let lines = lines(&left, options)?.into_iter().map(|line| (line, None));
    let mut session = Session::with_lines(alone, places, output, lines)?;
    prepare(&left, ask, places, &mut session);
    let steps = |(experiment, kept): &(&Experiment, Kept)| experiment.parts.len() * (ask.rounds - kept.rounds);
    session.expect(left.iter().map(steps).sum());
    for (experiment, kept) in left {
        run(experiment, kept, ask, alone, places, &mut session, output)?;
    }
    session.expect(0);
    Ok(())
}

/// Compiles the programs that are run.
fn prepare(left: &[(&'static Experiment, Kept)], ask: &Ask, places: &Places, session: &mut Session) {
    let parts = || left.iter().flat_map(|(experiment, _)| experiment.parts);
    if parts().any(|part| matches!(part.work, Work::Paths(_))) {
        match programs::paths(places) {
            Ok(program) => session.compile(&program, "asp"),
            Err(reason) => session.problem("asp", "all", reason),
        }
    }
    nas::compile(parts(), ask.npb.as_deref(), places, session);
}

fn run(
    experiment: &'static Experiment, mut kept: Kept, ask: &Ask, options: &Options, places: &Places,
    session: &mut Session, output: &Path,
) -> Result<(), String> {
    let common = session.problems.clone();
    session.figures = std::mem::take(&mut kept.figures);
    let peers: Vec<String> = options.libraries.iter().chain(&options.lines).map(|name| name_of(name)).collect();
    for round in kept.rounds..ask.rounds {
        for part in experiment.parts {
            let what = format!("{}, round {} of {}: {}", experiment.name, round + 1, ask.rounds, part.title);
            session.begin(what);
            launch(experiment, part, &peers, options, places, session);
            session.end();
        }
        kept.rounds = round + 1;
        (kept.commit, kept.date, kept.quick) = (ask.commit.clone(), origin::today(), ask.quick);
        (kept.processor, kept.kernel) = (cores::model(), cores::kernel());
        let names = claims::lines(experiment, &peers);
        let labels = session.libraries.iter().filter(|library| names.contains(&library.name));
        kept.labels = labels.map(|library| (library.name.clone(), library.label.clone())).collect();
        let of_experiment =
            |problem: &&crate::session::Problem| names.contains(&problem.library) || !common.contains(problem);
        kept.problems = session.problems.iter().filter(of_experiment).cloned().collect();
        kept.figures = std::mem::take(&mut session.figures);
        kept.write(&output.join(experiment.name))?;
        session.figures = std::mem::take(&mut kept.figures);
    }
    session.problems = common;
    Ok(())
}

/// The name of a line that `--line` gives.
fn name_of(line: &str) -> String {
    line.split_once('=').map_or(line, |(name, _)| name).to_string()
}

/// One round of a part.
fn launch(
    experiment: &Experiment, part: &Part, peers: &[String], options: &Options, places: &Places, session: &mut Session,
) {
    let done = match part.work {
        Work::Direct(direct) => {
            let known = experiments::Part {
                title: part.title,
                benchmarks: part.benchmarks,
                sizes: part.sizes,
                ranks: part.ranks,
                program: None,
            };
            regions::measure_once(direct, &known, options, session)
        }
        Work::Costs => direct::costs(part, session),
        Work::Search => direct::search(part, session),
        Work::Explained => direct::explained(experiment, part, places, session),
        Work::Benchmarks | Work::Paths(_) | Work::Nas(_) | Work::Reuse(_) => {
            session.run_job(&job(experiment, part, peers, options, &session.output.clone()));
            Ok(())
        }
    };
    if let Err(reason) = done {
        session.problem(experiment.name, part.title, reason);
    }
}

/// The launch of a part.
pub fn job(experiment: &Experiment, part: &Part, peers: &[String], options: &Options, output: &Path) -> Job {
    let binding = match part.place {
        Place::Nodes(nodes) => Binding::Nodes(nodes),
        Place::Node if part.ranks > 2 => Binding::Shared,
        Place::Node => Binding::Bound,
    };
    let quick = options.quick;
    let mut job = Job::new(part.title, part.ranks, binding, part.benchmarks).sizes(&sizes(part, options));
    job.time_ms = if quick { SHORT } else { part.time };
    job.batches = if quick || part.ranks > 2 { 3 } else { 5 };
    job.probed = false;
    job.limit_s = LIMIT_S;
    job.more = part.more.iter().map(|word| word.to_string()).collect();
    let of_part = |name: &String| part.lines.is_empty() || peers.contains(name) || part.lines.contains(&name.as_str());
    job.lines = claims::lines(experiment, peers).into_iter().filter(of_part).collect();
    if let Some((link, slower)) = part.link {
        job.slower = slower.into();
        job.variables = vec![("TERN_LINK".to_string(), format!("{link}/{slower}"))];
        if part.work_us > 0 {
            job.more.extend(["--work-us".to_string(), (part.work_us * u64::from(slower)).to_string()]);
        }
    }
    if part.title.starts_with("1000 buffers") && quick {
        job.more.extend(["--buffers", "20"].map(String::from));
    }
    match part.work {
        Work::Paths(words) => {
            job.program = Some("asp".to_string());
            job.more = words.split_whitespace().map(String::from).collect();
        }
        Work::Nas(name) => job.program = Some(nas::program(name, part.ranks)),
        Work::Reuse(name) => {
            job.program = Some(nas::program(name, part.ranks));
            job.variables.push(("LD_PRELOAD".to_string(), nas::counter(output).display().to_string()));
        }
        _ => {}
    }
    job
}

/// The sizes of a part: those of the options, or its own, of which a quick look takes the first and the last.
fn sizes(part: &Part, options: &Options) -> Vec<u64> {
    match (part.sizes, options.quick) {
        ([], _) => Vec::new(),
        (_, _) if !options.sizes.is_empty() => options.sizes.clone(),
        ([first, .., last], true) => vec![*first, *last],
        (own, _) => own.to_vec(),
    }
}
