//! `tern-bench papers`: the figures and tables of the five papers that Tern brings together, repeated on the machine at hand.
//!
//! [`entries`] is the registry: an entry for each figure and table, with what the paper found, how it is repeated, and what its figures must
//! show to agree. [`experiments`] says what is measured; [`measure`] runs it and [`crate::kept`] keeps it, round by round. [`claims`] comes to a
//! verdict, [`plots`] draws, [`page`] writes a page for each paper, and [`check`] looks whether pages say what was run.

mod check;
mod claims;
mod direct;
mod entries;
mod experiments;
mod measure;
mod nas;
mod page;
mod plots;
mod registry;

use crate::kept::Kept;
use crate::{Options, Places, origin};
use claims::{Medians, Verdict};
use clap::Args;
use entries::PAPERS;
use registry::{Entry, Experiment, How, Kind, Paper, Repeat};
use std::path::{Path, PathBuf};

/// The line that needs the kernel module, and its device.
use crate::variants::MODULE;
const DEVICE: &str = "/dev/tern";
/// How often each line runs, unless `--rounds` says.
const ROUNDS: usize = 5;

/// What `tern-bench papers` is asked for.
#[derive(Args)]
pub struct Words {
    /// Only these papers, by their names or a part of them: knem, tupleq, frequent, mvapich2, kernel
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    paper: Vec<String>,
    /// Only these figures
    #[arg(long, value_delimiter = ',', value_name = "NUMBER")]
    figure: Vec<u32>,
    /// Only these tables
    #[arg(long, value_delimiter = ',', value_name = "NUMBER")]
    table: Vec<u32>,
    /// The folder NPB3.x-MPI of the NAS Parallel Benchmarks, for the experiments with its programs
    #[arg(long, value_name = "DIR")]
    npb: Option<PathBuf>,
    /// Measure anew what earlier runs have measured
    #[arg(long)]
    again: bool,
    /// Measure nothing: what there is, with its verdicts so far
    #[arg(long)]
    list: bool,
    /// Measure nothing: whether the pages of this folder say what was run, and how old their figures are
    #[arg(long, value_name = "DIR")]
    check: Option<PathBuf>,
}

/// What a run of it is to do.
struct Ask {
    rounds: usize,
    quick: bool,
    again: bool,
    commit: String,
    npb: Option<PathBuf>,
}

/// An entry with its paper.
type Chosen = (&'static Paper, &'static Entry);

impl Words {
    fn wants(&self, paper: &Paper, entry: &Entry) -> bool {
        let named = self.paper.is_empty() || self.paper.iter().any(|name| paper.name.contains(name.as_str()));
        let all = self.figure.is_empty() && self.table.is_empty();
        let numbers = if entry.kind == Kind::Figure { &self.figure } else { &self.table };
        named && (all || numbers.contains(&entry.number))
    }

    fn chosen(&self) -> Result<Vec<Chosen>, String> {
        let known = |name: &&String| !PAPERS.iter().any(|paper| paper.name.contains(name.as_str()));
        if let Some(name) = self.paper.iter().find(known) {
            let names: Vec<&str> = PAPERS.iter().map(|paper| paper.name).collect();
            return Err(format!("no paper `{name}`; there are {}", names.join(", ")));
        }
        let all = PAPERS.iter().flat_map(|paper| paper.entries.iter().map(move |entry| (paper, entry)));
        let chosen: Vec<Chosen> = all.filter(|(paper, entry)| self.wants(paper, entry)).collect();
        if chosen.is_empty() { Err("no such figure or table".to_string()) } else { Ok(chosen) }
    }
}

/// The repetition of an entry, if it is measured.
fn repeat(entry: &Entry) -> Option<&Repeat> {
    match &entry.how {
        How::Measured(repeat) => Some(repeat),
        How::Drawn(_) | How::Impossible(_) => None,
    }
}

/// What the entries have measured, each experiment once, in the order of [`experiments::EXPERIMENTS`].
fn experiments_of(chosen: &[Chosen]) -> Vec<&'static Experiment> {
    let of_chosen = |name: &str| {
        let mut all = chosen.iter().filter_map(|(_, entry)| repeat(entry)).flat_map(|repeat| repeat.experiments);
        all.any(|experiment| experiment.name == name)
    };
    experiments::EXPERIMENTS.iter().copied().filter(|experiment| of_chosen(experiment.name)).collect()
}

/// An entry with its figures and what came of them.
struct Report {
    paper: &'static Paper,
    entry: &'static Entry,
    kept: Vec<(&'static Experiment, Kept)>,
    medians: Medians,
    verdict: Verdict,
    /// Rounds behind the figures of the experiment that has fewest.
    rounds: usize,
}

impl Report {
    /// The verdict as it is told: with the number of rounds where these are too few for it to count.
    fn told(&self) -> String {
        let text = self.verdict.text();
        let counts = matches!(self.verdict, Verdict::Agrees { .. } | Verdict::Differs { .. });
        match self.rounds {
            1 if counts => format!("of 1 round only, {text}"),
            rounds if counts && rounds < ROUNDS => format!("of {rounds} rounds only, {text}"),
            _ => text,
        }
    }

    /// Of what is kept in the folder.
    fn of((paper, entry): Chosen, peers: &[String], output: &Path) -> Self {
        let mut medians = Medians::default();
        let experiments = repeat(entry).map_or(&[][..], |repeat| repeat.experiments);
        let kept: Vec<_> = experiments.iter().map(|one| (*one, Kept::read(&output.join(one.name)))).collect();
        for (experiment, kept) in &kept {
            medians.add(&kept.figures, &claims::lines(experiment, peers));
        }
        let costs = page::kernel_costs(&medians);
        let verdict = claims::verdict(paper, entry, &medians, costs.as_deref());
        let rounds = kept.iter().map(|(_, kept)| kept.rounds).min().unwrap_or(0);
        Self { paper, entry, kept, medians, verdict, rounds }
    }
}

/// Runs the command.
pub fn run(words: &Words, options: &Options, places: &Places, root: &Path) -> Result<(), String> {
    if let Some(folder) = &words.check {
        return check::run(folder, root);
    }
    let chosen = words.chosen()?;
    let output = places.output.join("papers");
    let ask = Ask {
        rounds: options.rounds.unwrap_or(if options.quick { 1 } else { ROUNDS }),
        quick: options.quick,
        again: words.again,
        commit: origin::commit(root),
        npb: words.npb.clone(),
    };
    let peers: Vec<String> = options.libraries.iter().chain(&options.lines).map(|name| name_of(name)).collect();
    if !words.list {
        for (paper, entry) in &chosen {
            eprintln!("{}, {}: {}", paper.name, entry.title(), entry.found);
        }
        measure::measure(&experiments_of(&chosen), &ask, options, places, &output)?;
    }
    let reports: Vec<Report> = chosen.into_iter().map(|one| Report::of(one, &peers, &output)).collect();
    for report in &reports {
        plots::draw(report, &peers, &output)?;
        if words.list {
            println!("{}, {}: {}", report.paper.name, report.entry.title(), report.told());
        } else {
            println!("{}", page::section(report, &peers, 2));
        }
    }
    println!("{}", page::counts(&reports));
    if let Some(folder) = &options.markdown {
        page::write(folder, &peers, &output)?;
    }
    Ok(())
}

/// The name of a line that `--line` gives.
fn name_of(line: &str) -> String {
    line.split_once('=').map_or(line, |(name, _)| name).to_string()
}

#[cfg(test)]
mod tests;
