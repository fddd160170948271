//! What is compared: each experiment has a file, and a place in [`EXPERIMENTS`].

mod columns;
mod frequent;
mod headers;
mod overlap;
mod packets;
mod peers;
mod ports;
mod solver;

use crate::Options;
use crate::chart::Scale;
use crate::line::Setting;
use crate::suite::{Binding, Job};

/// One comparison.
pub struct Experiment {
    pub heading: &'static str,
    /// What is measured, what the paper found, how to read it.
    pub about: &'static str,
    /// The link model.
    pub link: &'static str,
    pub variants: &'static [Setting],
    pub parts: &'static [Part],
    pub plots: &'static [Plot],
    /// Whether to say how much the first line saves against the second.
    pub gain: bool,
    /// Whether figures are reckoned for more peers.
    pub modelled: bool,
    /// What Tern explains of it: title of a table, and how what Tern prints of it begins.
    pub explained: Option<(&'static str, &'static str)>,
}

/// A launch.
pub struct Part {
    pub title: &'static str,
    pub benchmarks: &'static [&'static str],
    pub sizes: &'static [u64],
    pub ranks: usize,
    /// Simulated nodes; 0: as many as ranks.
    pub nodes: usize,
    pub more: &'static [&'static str],
    /// Work of a stage, in microseconds of the link's time.
    pub work_us: u64,
    /// Milliseconds for a figure.
    pub time: u64,
    /// The link is so many times slower than it is called, and the figures are given as without that.
    pub slower: u32,
    /// Measured in one round only.
    pub once: bool,
}

/// Title of the figures, benchmark, heading.
type Panel = (&'static str, &'static str, &'static str);

/// A diagram.
pub struct Plot {
    pub file: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub scale: Scale,
    pub panels: &'static [Panel],
    /// How much the lines save against the second instead of the figures themselves.
    pub saved: bool,
}

const fn part(title: &'static str, benchmarks: &'static [&'static str], sizes: &'static [u64], slower: u32) -> Part {
    Part { title, benchmarks, sizes, ranks: 2, nodes: 0, more: &[], work_us: 0, time: 150, slower, once: false }
}

/// The plot of an experiment that is a ping-pong and nothing else.
const fn half_round_trips(file: &'static str, title: &'static str, panels: &'static [Panel]) -> Plot {
    Plot { file, title, unit: "us", scale: Scale::Logarithmic, panels, saved: false }
}

/// Of `--quick`: ranks, milliseconds for a figure, how much slower a link is, buffers of the spectrum.
const FEW: usize = 8;
const SHORT: u64 = 10;
const HARDLY: u32 = 4;
const BUFFERS: &str = "20";

impl Part {
    pub fn slower(&self, quick: bool) -> u32 {
        if quick { self.slower.min(HARDLY) } else { self.slower }
    }

    fn job(&self, experiment: &Experiment, quick: bool) -> Job {
        let ranks = if quick { self.ranks.min(FEW) } else { self.ranks };
        let nodes = if self.nodes == 0 { ranks } else { self.nodes.min(ranks / 2) };
        let mut job = Job::new(self.title, ranks, Binding::Nodes(nodes), self.benchmarks).sizes(self.sizes);
        job.time_ms = if quick { SHORT } else { self.time };
        job.batches = if quick { 3 } else { 5 };
        job.probed = false;
        job.once = self.once;
        job.sized = !self.sizes.is_empty();
        job.more = self.more.iter().map(|word| word.to_string()).collect();
        let slower = self.slower(quick);
        if self.work_us > 0 {
            job.more.extend(["--work-us".to_string(), (self.work_us * u64::from(slower)).to_string()]);
        }
        if quick {
            job.sizes = self.sizes.last().copied().into_iter().collect();
            job.more.extend(["--buffers", BUFFERS].map(String::from));
        }
        job.lines = experiment.variants.iter().map(|variant| variant.name.to_string()).collect();
        job.slower = slower.into();
        job.variables = vec![("TERN_LINK".to_string(), format!("{}/{slower}", experiment.link))];
        job
    }
}

impl Experiment {
    pub fn titles(&self) -> impl Iterator<Item = String> {
        let of_part = |part: &Part| [part.title.to_string(), format!("{}: time that the message costs", part.title)];
        self.parts.iter().flat_map(of_part).chain(self.explained.map(|(title, _)| title.to_string()))
    }

    pub fn has(&self, title: &str) -> bool {
        self.titles().any(|known| known == title)
    }

    /// All launches; of those that fill one table a quick look takes the first.
    pub fn jobs(&self, options: &Options) -> Vec<Job> {
        let mut jobs: Vec<Job> = self.parts.iter().map(|part| part.job(self, options.quick)).collect();
        if options.quick {
            jobs.dedup_by(|next, before| next.title == before.title);
        }
        jobs
    }
}

/// Work is sleep.
const IDLE: &[&str] = &["--idle", "1"];

pub const EXPERIMENTS: &[Experiment] = &[
    headers::HEADERS,
    packets::PACKETS,
    columns::COLUMNS,
    frequent::FREQUENT,
    overlap::OVERLAP,
    solver::SOLVER,
    ports::PORTS,
    peers::PEERS,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_name_stands_for_the_same_settings_everywhere() {
        let all: Vec<&Setting> = EXPERIMENTS.iter().flat_map(|experiment| experiment.variants).collect();
        for one in &all {
            for other in all.iter().filter(|other| other.name == one.name) {
                assert_eq!(one.settings, other.settings, "{}", one.name);
            }
        }
    }

    #[test]
    fn titles_are_of_one_experiment_only() {
        for experiment in EXPERIMENTS {
            for title in experiment.titles() {
                let others = EXPERIMENTS.iter().filter(|other| other.has(&title));
                assert_eq!(others.count(), 1, "{title}");
            }
        }
    }

    #[test]
    fn plots_are_of_what_is_measured_into_files_of_their_own() {
        let mut files = BTreeSet::new();
        for experiment in EXPERIMENTS {
            for plot in experiment.plots {
                assert!(files.insert(plot.file), "{} twice", plot.file);
                assert!(plot.panels.iter().all(|(title, ..)| experiment.has(title)), "{}", plot.file);
            }
        }
    }

    #[test]
    fn a_quick_look_takes_every_part_but_little_of_it() {
        for experiment in EXPERIMENTS {
            for part in experiment.parts {
                let (whole, quick) = (part.job(experiment, false), part.job(experiment, true));
                assert!(quick.ranks <= FEW && quick.sizes.len() <= 1 && quick.slower <= whole.slower);
                assert_eq!(quick.benchmarks, whole.benchmarks);
                assert_eq!(quick.sizes.is_empty(), whole.sizes.is_empty());
            }
        }
    }
}
