//! A series of measurements: libraries found, programs compiled, jobs run round by round.

use crate::figures::{self, Figures, Row, Sample, parse};
use crate::hosts::Hosts;
use crate::library::{Abi, Library, Run, shown};
use crate::line::{Extra, KNOWN, Line};
use crate::placement::{Placement, is_disturbed};
use crate::probe::Probe;
use crate::program::Program;
use crate::progress::Progress;
use crate::run::{Outcome, adopt_orphans, run};
use crate::suite::{BENCHMARKS, Binding, Job};
use crate::{Options, Places, cores, program};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tern_node::Ticks;

/// Something that could not be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub library: String,
    pub what: String,
    pub reason: String,
}

pub struct Session {
    pub libraries: Vec<Library>,
    pub problems: Vec<Problem>,
    pub figures: Figures,
    pub cores: Vec<usize>,
    pub rounds: usize,
    /// Figures of earlier runs are among them.
    pub added: bool,
    /// Names of those libraries that run in some jobs only.
    extras: Vec<(String, Extra)>,
    probe: Probe,
    progress: Progress,
    options: Options,
    pub output: PathBuf,
    /// What was compiled: for which binary interface, its name, its file.
    programs: Vec<(Abi, String, PathBuf)>,
    /// Where the C sources of the benchmark program are.
    source: PathBuf,
    /// Two hosts, made for the first job that wants them.
    hosts: OnceCell<Result<Hosts, String>>,
}

/// How often a launch is tried until the host leaves the cores alone, and, where the ranks do not look by themselves,
/// the cores are in a good place before and after.
const TRIES: usize = 4;

/// What the file holds that two ranks pass a cache line through: two lines (place.c).
const LINES: [u8; 256] = [0; 256];

/// The lines that the options ask for, and for those that run in some jobs only, in which.
fn lines(options: &Options) -> Result<Vec<(Line, Option<Extra>)>, String> {
    let named = |name: &str| options.libraries.iter().any(|wanted| wanted == name);
    let mut lines = Vec::new();
    for name in options.libraries.iter().chain(&options.lines) {
        lines.push((Line::parse(name)?, None));
    }
    for (extra, name, _) in KNOWN {
        let line = Line::parse(name)?;
        let asked = match extra {
            Extra::Mechanisms => options.mechanisms,
            Extra::Crowded | Extra::Surviving => named(&line.library),
            // Only `scale` runs these, and takes them by itself.
            Extra::Levels => false,
        };
        if asked && !named(name) {
            lines.push((line, Some(extra)));
        }
    }
    Ok(lines)
}

/// Why a launch failed.
struct Failure {
    reason: String,
    /// It was stopped because it took too long.
    stopped: bool,
}

/// Jobs of one library that failed: as a whole (then its benchmarks run one by one), or for good.
#[derive(Default)]
struct Failed {
    whole: bool,
    single: Vec<&'static str>,
}

impl Session {
    /// Whether this is only to see that it runs.
    pub fn is_quick(&self) -> bool {
        self.options.quick
    }

    /// Finds the libraries and compiles the programs. A library that is missing is told and
    /// left out; that there is none at all is an error.
    pub fn start(options: &Options, places: &Places) -> Result<Self, String> {
        Self::with_lines(options, places, &places.output, lines(options)?)
    }

    /// The same with other lines, and another folder for what is written.
    pub fn with_lines(
        options: &Options, places: &Places, output: &Path, lines: impl IntoIterator<Item = (Line, Option<Extra>)>,
    ) -> Result<Self, String> {
        adopt_orphans()?;
        let cores = cores::restrict(options.cores.unwrap_or(2))?;
        let patience = if options.quick { 1 } else { 5 };
        let patience = Duration::from_secs(options.patience.unwrap_or(patience));
        let default_rounds = if options.quick { 2 } else { 5 };
        let mut session = Self {
            libraries: Vec::new(),
            problems: Vec::new(),
            figures: Figures::default(),
            probe: Probe::new(&cores, patience),
            cores,
            added: options.add,
            extras: Vec::new(),
            rounds: options.rounds.unwrap_or(default_rounds).max(1),
            options: options.clone(),
            output: output.to_path_buf(),
            programs: Vec::new(),
            progress: Progress::none(),
            source: places.source.clone(),
            hosts: OnceCell::new(),
        };
        for (line, extra) in lines {
            match Library::find(&line, places) {
                Ok(library) => {
                    session.extras.extend(extra.map(|extra| (line.name, extra)));
                    session.libraries.push(library);
                }
                Err(reason) => session.problem(&line.name, "all", reason),
            }
        }
        session.compile(&Program::benchmarks(&places.source)?, "all");
        let programs: Vec<Abi> = session.programs.iter().map(|(abi, ..)| *abi).collect();
        session.libraries.retain(|library| programs.contains(&library.abi));
        let earlier = output.join("figures.csv");
        if options.add && earlier.exists() {
            let told = |error: String| format!("{}: {error}", earlier.display());
            let text = std::fs::read_to_string(&earlier).map_err(|e| told(e.to_string()))?;
            session.figures.add_csv(&text).map_err(told)?;
            session.probe.remember(session.figures.placements());
        }
        if session.libraries.is_empty() {
            return Err("no library to run".to_string());
        }
        Ok(session)
    }

    /// Notes a problem and says it aloud.
    pub fn problem(&mut self, library: &str, what: &str, reason: String) {
        self.progress.say(&format!("SKIPPED {library}, {what}: {reason}"));
        // Some libraries write zero bytes with their errors.
        let reason = reason.replace('\0', "");
        let problem = Problem { library: library.to_string(), what: what.to_string(), reason };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Compiles a program for all libraries; `what` names it where that fails.
    pub fn compile(&mut self, program: &Program, what: &str) {
        for abi in [Abi::Standard, Abi::OpenMpi] {
            self.compile_for(abi, program, what);
        }
    }

    /// One program serves all libraries of a binary interface; any of them will do to link it.
    fn compile_for(&mut self, abi: Abi, program: &Program, what: &str) {
        let candidates: Vec<Library> = self.libraries.iter().filter(|library| library.abi == abi).cloned().collect();
        let mut reasons = Vec::new();
        for library in &candidates {
            match program::compile(library, program, &self.output) {
                Ok(file) => return self.programs.push((abi, program.name.clone(), file)),
                Err(reason) => reasons.push(reason),
            }
        }
        for library in candidates {
            self.problem(&library.name, what, format!("cannot compile: {}", reasons.join("; ")));
        }
    }

    /// The file of a program for a library.
    fn program(&self, library: &Library, name: &str) -> Option<&PathBuf> {
        let of_library = self.programs.iter().find(|(abi, known, _)| *abi == library.abi && known == name);
        of_library.map(|(.., file)| file)
    }

    /// Starts groups of ranks, each `(ranks, words before the program, its arguments)`.
    pub fn launch(&self, library: &Library, binding: Binding, groups: &[(usize, &[String], &[String])]) -> Outcome {
        self.launch_for(self.options.timeout, library, binding, BENCHMARKS, groups)
    }

    /// The same of the program of that name, for `seconds` at most.
    fn launch_for(
        &self, seconds: u64, library: &Library, binding: Binding, program: &str,
        groups: &[(usize, &[String], &[String])],
    ) -> Outcome {
        let program = self.program(library, program).map(|file| file.display().to_string()).unwrap_or_default();
        let line =
            |before: &[String], arguments: &[String]| [before, std::slice::from_ref(&program), arguments].concat();
        let programs: Vec<(usize, Vec<String>)> =
            groups.iter().map(|(ranks, before, arguments)| (*ranks, line(before, arguments))).collect();
        let hosts = match self.hosts(binding) {
            Ok(hosts) => hosts,
            Err(why) => return Outcome::not_started(why),
        };
        let cores = self.cores_of(binding, groups.iter().map(|(ranks, ..)| ranks).sum());
        let mut command = library.command(&Run { binding, cores, hosts, programs: &programs });
        if self.options.verbose {
            self.progress.say(&format!("  {}", shown(&command)));
        }
        let before = Ticks::now(cores);
        let outcome = run(&mut command, Duration::from_secs(seconds));
        let others = if self.judges() { Ticks::now(cores).others_since(before) } else { 0.0 };
        Outcome { others, ..outcome }
    }

    /// The cores of a launch: all that are used, or as many of them as there are packed ranks.
    pub fn cores_of(&self, binding: Binding, ranks: usize) -> &[usize] {
        let count = if binding == Binding::Packed { ranks.min(self.cores.len()) } else { self.cores.len() };
        &self.cores[..count]
    }

    /// Whether it matters where the cores are, and who else is on them.
    fn judges(&self) -> bool {
        self.options.patience != Some(0)
    }

    /// The hosts of a run, if it has some.
    ///
    /// Errors: they cannot be made.
    fn hosts(&self, binding: Binding) -> Result<Option<&Hosts>, String> {
        if binding != Binding::Hosts {
            return Ok(None);
        }
        let made = self.hosts.get_or_init(|| Hosts::make(&self.source, &self.cores));
        made.as_ref().map(Some).map_err(Clone::clone)
    }

    /// A program that was built elsewhere, for libraries of the standard's binary interface.
    pub fn adopt(&mut self, name: &str, file: PathBuf) {
        self.programs.push((Abi::Standard, name.to_string(), file));
    }

    /// So many steps follow, each between [`Self::begin`] and [`Self::end`]; with 0 the last one is over.
    pub fn expect(&mut self, steps: usize) {
        self.progress.clear();
        self.progress = if steps == 0 { Progress::none() } else { Progress::of(steps) };
    }

    /// A step begins: `what` is in it.
    pub fn begin(&self, what: String) {
        self.progress.begin(what);
    }

    /// The step that has begun is over.
    pub fn end(&self) {
        self.progress.end();
    }

    /// Of the jobs what the options ask for.
    pub fn wanted(&self, jobs: &[Job]) -> Vec<Job> {
        let only = &self.options.only;
        let mut jobs = jobs.to_vec();
        for job in &mut jobs {
            job.benchmarks.retain(|name| only.is_empty() || only.iter().any(|wanted| wanted == name));
            if job.sized && !self.options.sizes.is_empty() {
                job.sizes.clone_from(&self.options.sizes);
            }
        }
        jobs.retain(|job| !job.benchmarks.is_empty());
        jobs
    }

    /// The same, or an error with the names that there are if the options ask for none of them.
    pub fn asked(&self, jobs: &[Job]) -> Result<Vec<Job>, String> {
        let wanted = self.wanted(jobs);
        if !wanted.is_empty() {
            return Ok(wanted);
        }
        let names: BTreeSet<&str> = jobs.iter().flat_map(|job| job.benchmarks.iter().copied()).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        Err(format!("no benchmark {} in this suite, which has {names}", self.options.only.join(", ")))
    }

    /// Runs all jobs, and `write` after each. Within a job the libraries take turns.
    pub fn run(&mut self, jobs: &[Job], mut write: impl FnMut(&Self) -> Result<(), String>) -> Result<(), String> {
        let jobs = self.asked(jobs)?;
        if jobs.iter().any(|job| job.probed) {
            self.probe.survey();
        }
        self.progress = Progress::of(jobs.len());
        for job in &jobs {
            self.progress.begin(format!("{} ranks: {}", job.ranks, job.benchmarks.join(", ")));
            self.run_job(job);
            // After each job, so that a run that is stopped leaves what it has.
            write(self)?;
            self.progress.end();
        }
        self.progress.clear();
        if self.figures.is_empty() { Err("nothing was measured".to_string()) } else { Ok(()) }
    }

    /// Runs a job, as often as there are rounds. Its lines take turns.
    pub fn run_job(&mut self, job: &Job) {
        let mut failed: BTreeMap<String, Failed> = BTreeMap::new();
        let mut libraries = self.libraries.clone();
        libraries.retain(|library| {
            let extra = self.extras.iter().find(|(name, _)| *name == library.name);
            let named = job.lines.is_empty() || job.lines.contains(&library.name);
            let compiled = self.program(library, job.program()).is_some();
            named && compiled && extra.is_none_or(|(_, extra)| job.extra == Some(*extra))
        });
        for _ in 0..if job.once { 1 } else { self.rounds } {
            for library in &libraries {
                let failed = failed.entry(library.name.clone()).or_default();
                self.run_turn(job, library, failed);
            }
        }
    }

    /// One library's turn at a job. When several benchmarks in one launch fail, they run one by
    /// one from then on, so that one of them does not take the others' figures away. A launch that took too long is not
    /// tried again.
    fn run_turn(&mut self, job: &Job, library: &Library, failed: &mut Failed) {
        if !failed.whole {
            let several = job.benchmarks.len() > 1;
            match self.run_once(job, library) {
                None => return,
                Some(failure) if several && !failure.stopped => failed.whole = true,
                Some(failure) => {
                    failed.whole = true;
                    failed.single.clone_from(&job.benchmarks);
                    return self.failed(job, library, failure.reason);
                }
            }
        }
        for &benchmark in &job.benchmarks {
            if failed.single.contains(&benchmark) {
                continue;
            }
            let single = Job { benchmarks: vec![benchmark], ..job.clone() };
            if let Some(failure) = self.run_once(&single, library) {
                failed.single.push(benchmark);
                self.failed(&single, library, failure.reason);
            }
        }
    }

    fn failed(&mut self, job: &Job, library: &Library, reason: String) {
        let what = format!("{} with {} ranks", job.benchmarks.join(", "), job.ranks);
        self.problem(&library.name, &what, reason);
    }

    /// What the program has to know to look where its cores are; nothing if there are not two.
    fn place_arguments(&self) -> Result<Vec<String>, String> {
        let Some(near) = self.probe.near_ns() else { return Ok(Vec::new()) };
        let file = self.output.join("place");
        std::fs::write(&file, LINES).map_err(|error| format!("{}: {error}", file.display()))?;
        let (near, patience) = (near.round().max(1.0), self.probe.patience().as_millis());
        let words = ["--place", &file.display().to_string(), "--near-ns", &near.to_string()].map(String::from);
        Ok([words.as_slice(), &["--patience-ms".to_string(), patience.to_string()]].concat())
    }

    /// One launch, and again while the host or other programs take the cores or, where the ranks do not wait by themselves, these are in
    /// a bad place: a few times, if there is patience at all. Returns their place with the outcome.
    fn launch_near(&mut self, job: &Job, library: &Library) -> (Option<Placement>, Outcome) {
        let limit = self.options.timeout.min(job.limit_s);
        let within = job.looks_within();
        let mut tries = 0;
        loop {
            tries += 1;
            let mut arguments = job.arguments();
            let before = match job.probed {
                true if within => self.probe.begin(),
                true => self.probe.settle(),
                false => None,
            };
            if within {
                match self.place_arguments() {
                    Ok(more) => arguments.extend(more),
                    Err(reason) => return (None, Outcome::not_started(reason)),
                }
            }
            let groups: [(usize, &[String], &[String]); 1] = [(job.ranks, &[], &arguments)];
            let outcome = self.launch_for(limit, library, job.binding, job.program(), &groups);
            let place = self.probe.since(before);
            let near = if within { !place.is_some_and(|place| place.is_stolen()) } else { self.probe.is_good(place) };
            let good = near && !is_disturbed(outcome.others);
            let enough = tries == TRIES || !self.judges();
            if outcome.failure.is_some() || good || enough {
                return (place, outcome);
            }
        }
    }

    /// Where the cores were while a line was measured, by what the ranks and the runner have seen.
    fn placement(&self, line_ns: Option<[f64; 2]>, launch: Option<Placement>) -> Option<Placement> {
        let Some([least_ns, most_ns]) = line_ns else { return launch };
        let seen = Placement { least_ns, most_ns, shared: false, stolen: launch.map_or(0.0, |launch| launch.stolen) };
        let shared = self.probe.near_ns().is_some_and(|near| seen.is_one(near));
        Some(Placement { shared, ..seen })
    }

    /// One run. The figures of a run that fails are kept only when it is a single
    /// benchmark, whose figures would otherwise be lost, or when the run was stopped because it took too long. Returns
    /// why it failed.
    fn run_once(&mut self, job: &Job, library: &Library) -> Option<Failure> {
        let (launch, outcome) = self.launch_near(job, &library.with(&job.variables).surviving(job.survives));
        let mut lines: Vec<figures::Line> = outcome.output.lines().filter_map(parse).collect();
        let mut failure = outcome.failure.map(|reason| Failure { reason, stopped: outcome.stopped });
        if failure.as_ref().is_some_and(|failure| job.benchmarks.len() > 1 && !failure.stopped) {
            return failure;
        }
        if failure.is_none() && lines.is_empty() {
            return Some(Failure { reason: "it printed no figure".to_string(), stopped: false });
        }
        if let Some(failure) = failure.as_mut().filter(|failure| failure.stopped && !lines.is_empty()) {
            failure.reason += ", with the figures that it had";
        }
        if job.wall && failure.is_none() {
            let value = outcome.wall.as_secs_f64() * 1e3;
            let size = job.ranks as u64;
            let (benchmark, unit) = ("launch".into(), "ms".into());
            lines.push(figures::Line { benchmark, size, value, unit, line_ns: None });
        }
        for figures::Line { benchmark, size, value, unit, line_ns } in lines {
            let placement = self.placement(line_ns, launch);
            let mut title = job.title.clone();
            if figures::is_overhead(&benchmark) {
                title += ": time that the message costs";
            }
            let row = Row { title, benchmark, size, unit, ranks: job.ranks };
            let value = value * figures::quickened(&row.unit, job.slower);
            self.figures.add(row, &library.name, Sample { value, placement, others: outcome.others });
        }
        failure
    }
}
