//! `tern-bench rdma`: the parts of the network device, each on and off, on the software HCA with the link model of
//! the card that the part's paper had.
//!
//! A line of a comparison is Tern with some settings. One whose settings this Tern does not have is left out, and
//! told. [`plots`] draws, [`model`] reckons what peers cost far beyond what can be started here.

mod experiments;
mod model;
mod plots;
mod ports;

use crate::line::Line;
use crate::run::run;
use crate::session::{Problem, Session};
use crate::{Options, Places, cores, report};
use experiments::{EXPERIMENTS, Experiment};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Measures everything, prints the tables, and writes them with the plots to the folder `rdma` of the output.
pub fn measure(options: &Options, places: &Places) -> Result<(), String> {
    let output = places.output.join("rdma");
    let known = settings(&places.tern)?;
    let mut missing = Vec::new();
    let mut lines = Vec::new();
    for variant in EXPERIMENTS.iter().flat_map(|experiment| experiment.variants) {
        let absent: Vec<&str> =
            variant.settings.iter().map(|(name, _)| *name).filter(|name| !known.contains(*name)).collect();
        if lines.iter().any(|line: &Line| line.name == variant.name) {
            continue;
        }
        if absent.is_empty() {
            lines.push(variant.line());
        } else {
            missing.push((variant.name, absent.join(", ")));
        }
    }
    let mut session = Session::with_lines(options, places, &output, lines.into_iter().map(|line| (line, None)))?;
    for (name, absent) in missing {
        session.problem(name, "all", format!("this Tern has no {absent}"));
    }
    let jobs: Vec<_> = EXPERIMENTS.iter().flat_map(|experiment| experiment.jobs(options)).collect();
    let mut explained = String::new();
    session.run(&jobs, |session| {
        // Once, when there is a program.
        if explained.is_empty() {
            explained = EXPERIMENTS.iter().filter_map(|experiment| experiment.explain(places, &output)).collect();
        }
        write(session, &output, &explained)
    })?;
    println!("{}", text(&session, &explained));
    eprintln!("written: report.md, figures.csv, figures.json and plots in {}", output.display());
    Ok(())
}

/// The names of the settings that the installed Tern has.
fn settings(prefix: &Path) -> Result<BTreeSet<String>, String> {
    let program = prefix.join("bin/tern-info");
    let output = Command::new(&program)
        .arg("settings")
        .output()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
    Ok(words.filter(|word| word.starts_with("TERN_")).map(String::from).collect())
}

fn write(session: &Session, output: &Path, explained: &str) -> Result<(), String> {
    report::write(session, output)?;
    let path = output.join("report.md");
    fs::write(&path, text(session, explained)).map_err(|error| format!("{}: {error}", path.display()))?;
    plots::write(session, output)
}

/// The whole report.
fn text(session: &Session, explained: &str) -> String {
    let mut text = format!(
        "{}, cores {:?}, Linux {}. Tern on its software HCA: an engine in each process, rings in shared memory, and a \
         model of a card's link, which delays what would come earlier and makes nothing faster. So these figures \
         compare the parts of Tern with each other; they are not those of a card. Each process is a node of its \
         own. Medians of {} rounds, lines in turn, ± half the interquartile range. Bold: the best.\n",
        cores::model(),
        session.cores,
        cores::kernel(),
        session.rounds,
    );
    for experiment in &EXPERIMENTS {
        let _ = write!(text, "\n## {}\n\n{}\n", experiment.heading, experiment.about);
        for variant in experiment.variants {
            let _ = writeln!(text, "- {}: {}", variant.name, variant.shown());
        }
        text += &report::tables(session, |row| experiment.titles().any(|title| title == row.title));
        text += &experiment.gains(session);
        if experiment.explained.is_some() && !explained.is_empty() {
            let _ = write!(text, "\nAs Tern explains it:\n\n```text\n{explained}```\n");
        }
        if experiment.modelled {
            text += &model::text(session);
        }
    }
    if !session.problems.is_empty() {
        text += "\n## Not there\n\n";
    }
    for Problem { library, what, reason } in &session.problems {
        let _ = writeln!(text, "- {library}, {what}: {reason}");
    }
    text
}

impl Experiment {
    /// What Tern itself says about it, with the settings of the first line.
    fn explain(&self, places: &Places, output: &Path) -> Option<String> {
        let (start, variant) = (self.explained?, self.variants.first()?);
        let mut command = Command::new("sh");
        // The explanation goes to the standard error.
        command.args(["-c", "exec \"$@\" 2>&1", "sh"]).arg(places.tern.join("bin/mpiexec"));
        command.args(["--nodes", "2", "-n", "2"]).arg(output.join("tern_mpi_bench.abi"));
        command.args(["pingpong_nonblocking", "--sizes", "4096", "--time-ms", "5", "--batches", "3"]);
        command.env("TERN_EXPLAIN", "1").env("LD_LIBRARY_PATH", places.tern.join("lib"));
        command.envs(variant.settings.iter().copied());
        let said = run(&mut command, Duration::from_secs(60)).output;
        let lines = said.lines().skip_while(|line| !line.starts_with(start));
        // A table: numbers below a heading.
        let table = lines.enumerate().take_while(|(place, line)| *place == 0 || line.starts_with(' '));
        let text: String = table.map(|(_, line)| format!("{line}\n")).collect();
        (!text.is_empty()).then_some(text)
    }

    /// How much better the first line is than the second, by row: percent of time.
    fn gains(&self, session: &Session) -> String {
        let (true, [first, second, ..]) = (self.gain, self.variants) else { return String::new() };
        let mut text = String::new();
        for (row, summary) in session.figures.rows().filter(|(row, _)| self.titles().any(|title| title == row.title)) {
            let (Some(first), Some(second)) = (summary(first.name), summary(second.name)) else { continue };
            if row.is_share() {
                continue;
            }
            let ratio = if row.higher_is_better() {
                second.median / first.median
            } else {
                first.median / second.median
            };
            let _ = write!(text, "{}{} {} {:+.1} %", separator(&text), row.benchmark, row.size, 100.0 * (1.0 - ratio));
        }
        if text.is_empty() { text } else { format!("\nTime saved by {}: {text}.\n", first.name) }
    }
}

fn separator(text: &str) -> &'static str {
    if text.is_empty() { "" } else { ", " }
}
