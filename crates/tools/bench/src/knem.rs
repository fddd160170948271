//! `tern-bench knem`: the experiments of the two papers about KNEM that one machine can show. Tern with each of its
//! mechanisms stands beside itself and beside the other libraries.
//!
//! [`experiments`] says what is compared, figure by figure; [`programs`] compiles two applications; [`regions`] copies between
//! processes without MPI, [`member`] is such a process; [`module`] takes the kernel module
//! apart; [`plots`] draws.

pub mod experiments;
pub mod member;
pub mod module;
mod plots;
pub mod programs;
pub mod regions;

use crate::document;
use crate::line::{Line, Setting};
use crate::session::Session;
use crate::variants::MODULE;
use crate::{Options, Places, cores, report};
use experiments::{EXPERIMENTS, LINES};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How often each line runs, unless `--rounds` says.
const ROUNDS: usize = 3;
/// The device of the kernel module.
const DEVICE: &str = "/dev/tern";

/// Measures everything, prints the tables, and writes them with the plots to the folder `knem` of the output.
pub fn measure(options: &Options, places: &Places, npb: Option<&PathBuf>) -> Result<(), String> {
    let start = Instant::now();
    let parts = module::measure();
    if options.only.iter().any(|wanted| wanted == module::NAME) {
        println!("{parts}");
        return Ok(());
    }
    let output = places.output.join("knem");
    let rounds = options.rounds.unwrap_or(if options.quick { 1 } else { ROUNDS });
    let options = &Options { rounds: Some(rounds), ..options.clone() };
    let module = fs::File::options().read(true).write(true).open(DEVICE);
    let lines = lines(options, module.is_ok())?;
    let mut session = Session::with_lines(options, places, &output, lines.into_iter().map(|line| (line, None)))?;
    if let Err(error) = module {
        session.problem(
            MODULE,
            "all",
            format!("{DEVICE}: {error}; docs/kernel-module.md says how the module is loaded"),
        );
    }
    programs::compile(&mut session, places, npb);
    for experiment in EXPERIMENTS {
        regions::measure(experiment, options, &mut session);
    }
    let peers: Vec<&str> = options.libraries.iter().chain(&options.lines).map(|name| name_of(name)).collect();
    let jobs: Vec<_> = EXPERIMENTS.iter().flat_map(|experiment| experiment.jobs(options.quick, &peers)).collect();
    session.run(&jobs, |session| write(session, &output))?;
    write(&session, &output)?;
    if let Some(page) = &options.markdown {
        let plots = EXPERIMENTS.iter().flat_map(|experiment| experiment.plots);
        let plots = plots.map(|plot| (plot.file, format!("knem_{}", plot.file)));
        document::put(page, "knem", &(text(&session, "plots/knem_") + &parts), &output, plots)?;
    }
    println!("{}{parts}", text(&session, ""));
    eprintln!(
        "written after {} s: report.md, figures.csv, figures.json and plots in {}",
        start.elapsed().as_secs(),
        output.display()
    );
    Ok(())
}

/// The name of a line that `--line` gives.
fn name_of(line: &str) -> &str {
    line.split_once('=').map_or(line, |(name, _)| name)
}

/// The libraries that are asked for, Tern with settings, and what [`regions`] measures: names of columns, which no launch has.
fn lines(options: &Options, module: bool) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for name in options.libraries.iter().chain(&options.lines) {
        lines.push(Line::parse(name)?);
    }
    lines.extend(LINES.iter().filter(|setting| module || setting.name != MODULE).map(Setting::line));
    let columns = regions::COLUMNS.iter().map(|name| Setting { name, settings: &[] }.line());
    lines.extend(columns);
    Ok(lines)
}

fn write(session: &Session, output: &Path) -> Result<(), String> {
    report::write(session, output)?;
    let path = output.join("report.md");
    fs::write(&path, text(session, "")).map_err(|error| format!("{}: {error}", path.display()))?;
    plots::write(session, output)
}

/// The whole report. `plots` is what stands before the names of the plots' files.
fn text(session: &Session, plots: &str) -> String {
    let mut text = format!(
        "{}, cores {:?}, Linux {}. Medians of {} rounds{}, lines in turn, ± half the interquartile range. Bold: the best. \
         Tern's lead: how many times better Tern as it comes is than the best of the other libraries. n: values behind a \
         figure; of fewer than 3 it is hardly worth its name.\n\n",
        cores::model(),
        session.cores,
        cores::kernel(),
        session.rounds,
        if session.added { " or more" } else { "" },
    );
    for setting in LINES {
        let _ = writeln!(text, "- {}: `{}`", setting.name, setting.shown());
    }
    for experiment in EXPERIMENTS {
        let tables = report::tables(session, |row| experiment.has(&row.title));
        if tables.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n### {}\n\n{}\n{tables}", experiment.heading, experiment.about);
        for plot in experiment.plots.iter().filter(|plot| plots::has_figures(session, plot)) {
            let _ = writeln!(text, "![{}]({plots}{})", plot.title, plot.file);
        }
    }
    text + &report::problems(session, "### Not there\n")
}
