//! `tern-bench rdma`: the parts of the network device, each on and off, on the software HCA with the link model of
//! the card that the part's paper had.
//!
//! A line of a comparison is Tern with some settings. One whose settings this Tern does not have is left out, and
//! told; so is what fails. [`experiments`] says what is compared, [`explain`] asks Tern for the costs that it has
//! measured, [`plots`] draws, [`model`] reckons what peers cost far beyond what can be started here, [`document`] puts
//! the report into a page.

mod experiments;
pub mod explain;
mod model;
mod plots;
mod tables;

use crate::document;
use crate::line::Line;
use crate::session::Session;
use crate::{Options, Places, cores, report};
use experiments::{EXPERIMENTS, Experiment};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// How often each line runs, unless `--rounds` says.
const ROUNDS: usize = 3;

/// Measures everything, prints the tables, and writes them with the plots to the folder `rdma` of the output.
pub fn measure(options: &Options, places: &Places) -> Result<(), String> {
    let start = Instant::now();
    let output = places.output.join("rdma");
    let (lines, missing) = lines(&settings(&places.tern)?);
    let rounds = options.rounds.unwrap_or(if options.quick { 1 } else { ROUNDS });
    let options = &Options { rounds: Some(rounds), ..options.clone() };
    let mut session = Session::with_lines(options, places, &output, lines.into_iter().map(|line| (line, None)))?;
    for (name, absent) in missing {
        session.problem(name, "all", format!("this Tern has no {absent}"));
    }
    let mut explained = String::new();
    for experiment in EXPERIMENTS {
        explained += &explain::explain(experiment, places, &mut session);
    }
    let jobs: Vec<_> = EXPERIMENTS.iter().flat_map(|experiment| experiment.jobs(options)).collect();
    session.run(&jobs, |session| write(session, &output, &explained))?;
    write(&session, &output, &explained)?;
    if let Some(page) = &options.markdown {
        let plots = EXPERIMENTS.iter().flat_map(|experiment| experiment.plots);
        let plots = plots.map(|plot| (plot.file, format!("rdma_{}", plot.file)));
        document::put(page, "rdma", &text(&session, &explained, "plots/rdma_"), &output, plots)?;
    }
    println!("{}", text(&session, &explained, ""));
    eprintln!(
        "written after {} s: report.md, figures.csv, figures.json and plots in {}",
        start.elapsed().as_secs(),
        output.display()
    );
    match session.problems.len() {
        0 => Ok(()),
        count => Err(format!("{count} parts failed or are missing; they are named above")),
    }
}

/// The lines that this Tern has the settings for; and the others, with what they lack.
fn lines(known: &BTreeSet<String>) -> (Vec<Line>, Vec<(&'static str, String)>) {
    let (mut lines, mut missing): (Vec<Line>, Vec<_>) = Default::default();
    for variant in EXPERIMENTS.iter().flat_map(|experiment| experiment.variants) {
        let absent = variant.settings.iter().map(|(name, _)| *name).filter(|name| !known.contains(*name));
        let absent = absent.collect::<Vec<_>>().join(", ");
        if lines.iter().any(|line| line.name == variant.name) {
            continue;
        }
        match absent.is_empty() {
            true => lines.push(variant.line()),
            false => missing.push((variant.name, absent)),
        }
    }
    (lines, missing)
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
    fs::write(&path, text(session, explained, "")).map_err(|error| format!("{}: {error}", path.display()))?;
    plots::write(session, output)
}

/// The whole report. `plots` is what stands before the names of the plots' files.
fn text(session: &Session, explained: &str, plots: &str) -> String {
    let mut text = format!(
        "{}, cores {:?}, Linux {}. Medians of {} rounds{}, lines in turn, ± half the interquartile range. Bold: the best. \
         Time saved: by the first line against the second.\n",
        cores::model(),
        session.cores,
        cores::kernel(),
        session.rounds,
        if session.added { " or more" } else { "" },
    );
    for experiment in EXPERIMENTS {
        let _ = write!(text, "\n### {}\n\n{}\n", experiment.heading, experiment.about);
        text += &setting(experiment, session.is_quick());
        text += &tables::text(session, experiment);
        if experiment.explained.is_some() && !explained.is_empty() {
            let _ = write!(text, "\nAs Tern explains it (TERN_EXPLAIN=1):\n\n```text\n{explained}```\n");
        }
        if experiment.modelled {
            text += &model::text(session);
        }
        text.push('\n');
        for plot in experiment.plots {
            let _ = writeln!(text, "![{}]({plots}{})", plot.title, plot.file);
        }
    }
    text + &report::problems(session, "### Not there\n")
}

/// Link and lines of an experiment.
fn setting(experiment: &Experiment, quick: bool) -> String {
    let times: BTreeSet<u32> = experiment.parts.iter().map(|part| part.slower(quick)).collect();
    let times = times.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let mut text = match experiment.link {
        "none" => String::from("\nWithout a link model.\n\n"),
        link => format!("\nLink `{link}`, in slow motion by {times}.\n\n"),
    };
    for variant in experiment.variants {
        let _ = writeln!(text, "- {}: `{}`", variant.name, variant.shown());
    }
    text
}
