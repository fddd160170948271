//! What is compared, in the order of the papers.

use crate::chart::Scale;
use crate::line::Setting;
use crate::suite::{Binding, Job};
use crate::variants::{BY_LINES, BY_MODULE, BY_REGION, CMA, MAPPED, MODULE, PIPE, TREE_BY_CMA, TREE_BY_PIPE};

/// Messages by each mechanism alone.
const MECHANISMS: &[&str] = &["pipe", "mapped", "cma", MODULE];
/// A broadcast in each way alone.
const BROADCASTS: &[&str] = &["tree, pipe", "tree, cma", "lines", "region"];

pub const LINES: &[Setting] = &[PIPE, MAPPED, CMA, BY_MODULE, TREE_BY_PIPE, TREE_BY_CMA, BY_LINES, BY_REGION];

/// What is measured without MPI, by [`super::regions`].
#[derive(Clone, Copy, PartialEq)]
pub enum Direct {
    /// Who copies.
    Strategies,
    /// One region for all readers, or one for each.
    Regions,
}

/// One figure or table of the papers, or several that are alike.
pub struct Experiment {
    pub heading: &'static str,
    /// What is measured, what the papers found, how to read it.
    pub about: &'static str,
    /// Names of [`LINES`].
    pub lines: &'static [&'static str],
    pub parts: &'static [Part],
    pub direct: Option<(Direct, &'static [Part])>,
    pub plots: &'static [Plot],
}

/// A launch.
pub struct Part {
    pub title: &'static str,
    pub benchmarks: &'static [&'static str],
    pub sizes: &'static [u64],
    pub ranks: usize,
    /// Another program than that of the benchmarks, its arguments, and those with `--quick`.
    pub program: Option<[&'static str; 3]>,
}

/// A diagram.
pub struct Plot {
    pub file: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub scale: Scale,
    /// The figures are times, and message size divided by them is drawn.
    pub bandwidth: bool,
    /// Title of the figures, benchmark, heading.
    pub panels: &'static [(&'static str, &'static str, &'static str)],
}

const fn part(title: &'static str, benchmarks: &'static [&'static str], sizes: &'static [u64], ranks: usize) -> Part {
    Part { title, benchmarks, sizes, ranks, program: None }
}

const fn plot(
    file: &'static str, title: &'static str, unit: &'static str,
    panels: &'static [(&'static str, &'static str, &'static str)],
) -> Plot {
    Plot { file, title, unit, scale: Scale::Logarithmic, bandwidth: false, panels }
}

/// Of `--quick`: milliseconds for a figure, and for a figure of more ranks than cores; ranks.
const SHORT: u64 = 6;
const SHORT_CROWDED: u64 = 12;
const FEW: usize = 4;
/// The same otherwise.
const LONG: u64 = 30;
const LONG_CROWDED: u64 = 60;
/// A launch of a library that is thousands of times slower than the others ends after so many seconds.
const LIMIT_S: u64 = 60;
const LIMIT_QUICK_S: u64 = 15;

const MESSAGES: &[u64] = &[1024, 4096, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304];
const BLOCKS: &[u64] = &[4096, 16384, 65536, 131072, 524288, 1048576];
const VECTORS: &[u64] = &[4096, 16384, 65536, 262144, 1048576, 4194304];

const PING_PONG: &str = "Ping-pong, half round trip, by mechanism; same buffers, in cache";
const PING_PONG_OFF: &str = "Ping-pong, half round trip, by mechanism; every message elsewhere in a 256 MiB pool";
const PING_PING: &str = "Ping-ping, bytes of both ways counted, by mechanism; same buffers, in cache";
const PING_PING_OFF: &str = "Ping-ping, bytes of both ways counted, by mechanism; off cache";
const STRATEGIES: &str = "Who copies, without MPI: written before, copied, read after; off cache";
const PATTERNS_2: &str = "Reduce, scatter, alltoall by mechanism, 2 ranks";
const PATTERNS_4: &str = "Reduce, scatter, alltoall by mechanism, 4 ranks";
const PATTERNS_8: &str = "Reduce, scatter, alltoall by mechanism, 8 ranks";
const PATTERNS: &[&str] = &["reduce", "scatter", "alltoall"];
const REGIONS_2: &str = "A broadcast by regions without MPI, 2 processes";
const REGIONS_4: &str = "A broadcast by regions without MPI, 4 processes";
const REGIONS_8: &str = "A broadcast by regions without MPI, 8 processes";
const BCAST_4: &str = "Broadcast, 4 ranks";
const BCAST_8: &str = "Broadcast, 8 ranks";
const SORT_2: &str = "Integer sort of NAS, class A, 2 ranks (size: bytes of all keys)";
const SORT_4: &str = "Integer sort of NAS, class A, 4 ranks (size: bytes of all keys)";
const PATHS_2: &str = "Shortest paths, short rows, 2 ranks (size: bytes of a row)";
const PATHS_4: &str = "Shortest paths, short rows, 4 ranks (size: bytes of a row)";
const LONG_PATHS_2: &str = "Shortest paths, long rows, 2 ranks (size: bytes of a row)";
const LONG_PATHS_4: &str = "Shortest paths, long rows, 4 ranks (size: bytes of a row)";

pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        heading: "Ping-pong by mechanism (2010, figure 1; 2013, figures 9 and 12)",
        about: "*Papers: in cache 4 GiB/s and off cache 1 GiB/s by KNEM between sockets of a Xeon of 2006; on a Westmere one copy by \
                the kernel is 18 to 30 % faster than two off cache and between sockets, and no slower in the others; two copies win \
                below 16 to 32 KiB; a DMA engine is never faster on machines after 2007.* `pipe` is two copies through shared \
                memory, `cma` one by the kernel, `mapped` one between pages that both processes have mapped.",
        lines: MECHANISMS,
        parts: &[part(PING_PONG, &["pingpong"], MESSAGES, 2), part(PING_PONG_OFF, &["pingpong_off"], MESSAGES, 2)],
        direct: None,
        plots: &[Plot {
            bandwidth: true,
            ..plot(
                "pingpong.svg",
                "Ping-pong by mechanism, bandwidth",
                "GB/s",
                &[(PING_PONG, "pingpong", "in cache"), (PING_PONG_OFF, "pingpong_off", "off cache")],
            )
        }],
    },
    Experiment {
        heading: "Ping-ping: both processes send at once (2013, figure 10)",
        about: "*Paper: on an Opteron two copies are slightly faster in the ping-pong off cache; when both send at once the rate of a \
                process stays as it was with KNEM, and falls to nearly the half with two copies.* Here bytes of both ways count: \
                with nothing lost by contention the figures are twice those of the ping-pong.",
        lines: MECHANISMS,
        parts: &[part(PING_PING, &["sendrecv"], MESSAGES, 2), part(PING_PING_OFF, &["sendrecv_off"], MESSAGES, 2)],
        direct: None,
        plots: &[plot(
            "pingping.svg",
            "Ping-ping by mechanism, bandwidth of both ways",
            "GB/s",
            &[(PING_PING, "sendrecv", "in cache"), (PING_PING_OFF, "sendrecv_off", "off cache")],
        )],
    },
    Experiment {
        heading: "Who copies (2013, figure 11)",
        about: "Two processes exchange messages directly by regions (tern_region), each cache line written before and read after, \
                in pools of 64 MiB. *Paper: sender writing, receiver reading, inline or between two regions: all alike, within 10 %.* \
                Here also both halves at once, and the receiver's copy thread.",
        lines: &[],
        parts: &[],
        direct: Some((
            Direct::Strategies,
            &[part(
                STRATEGIES,
                &["exchange"],
                &[16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304],
                2,
            )],
        )),
        plots: &[plot(
            "strategies.svg",
            "Who copies: written, copied, read",
            "us",
            &[(STRATEGIES, "exchange", "without MPI, off cache")],
        )],
    },
    Experiment {
        heading: "Reduce, scatter and alltoall by mechanism and process count (2010, figures 3 to 6)",
        about: "The size is a vector of the reduction, or a block. *Paper: one copy pays from 128 KiB on for reduce (+20 %) and \
                scatter (+30 %), whatever the number of processes; for alltoall always with medium and large blocks (+50 % to twice), \
                from a size that falls with the number of processes.* More than two ranks share two cores here, which the paper \
                did not do.",
        lines: MECHANISMS,
        parts: &[
            part(PATTERNS_2, PATTERNS, BLOCKS, 2),
            part(PATTERNS_4, PATTERNS, BLOCKS, 4),
            part(PATTERNS_8, PATTERNS, BLOCKS, 8),
        ],
        direct: None,
        plots: &[
            plot(
                "reduce.svg",
                "Reduce by mechanism",
                "us",
                &[
                    (PATTERNS_2, "reduce", "2 ranks"),
                    (PATTERNS_4, "reduce", "4 ranks"),
                    (PATTERNS_8, "reduce", "8 ranks"),
                ],
            ),
            plot(
                "scatter.svg",
                "Scatter by mechanism",
                "us",
                &[
                    (PATTERNS_2, "scatter", "2 ranks"),
                    (PATTERNS_4, "scatter", "4 ranks"),
                    (PATTERNS_8, "scatter", "8 ranks"),
                ],
            ),
            plot(
                "alltoall.svg",
                "Alltoall by mechanism",
                "us",
                &[
                    (PATTERNS_2, "alltoall", "2 ranks"),
                    (PATTERNS_4, "alltoall", "4 ranks"),
                    (PATTERNS_8, "alltoall", "8 ranks"),
                ],
            ),
        ],
    },
    Experiment {
        heading: "A broadcast with one region, and with one for each reader (2013, figure 13)",
        about: "The root declares regions, the readers copy, the root takes the regions back. *Paper: with 16 processes a broadcast \
                takes 3 to 4.6 times as long as with 2 if each reader has a region, 1.3 to 2.2 times with one region; the gain is \
                greater at 128 KiB than at 4 MiB.* A region of this library pins no memory (a region of the kernel module does), so \
                a further one costs little.",
        lines: &[],
        parts: &[],
        direct: Some((
            Direct::Regions,
            &[
                part(REGIONS_2, &["bcast"], VECTORS, 2),
                part(REGIONS_4, &["bcast"], VECTORS, 4),
                part(REGIONS_8, &["bcast"], VECTORS, 8),
            ],
        )),
        plots: &[plot(
            "regions.svg",
            "A broadcast with one region, and with one for each reader",
            "us",
            &[
                (REGIONS_2, "bcast", "2 processes"),
                (REGIONS_4, "bcast", "4 processes"),
                (REGIONS_8, "bcast", "8 processes"),
            ],
        )],
    },
    Experiment {
        heading: "Broadcast by messages and by regions (2013, figure 14)",
        about: "`tree`: point-to-point messages along a binomial tree, in two copies (pipe) or one (cma); `lines`: two copies through \
                memory that all share; `region`: the root declares its memory, all others copy at once. *Paper: the native \
                broadcast takes 30 to 40 % less time than the default one from 4 KiB to 4 MiB; one by messages of one copy is faster \
                with large ones only; a level for each NUMA node saves a further 10 to 20 %.* This machine has one NUMA node.",
        lines: BROADCASTS,
        parts: &[part(BCAST_4, &["bcast"], VECTORS, 4), part(BCAST_8, &["bcast"], VECTORS, 8)],
        direct: None,
        plots: &[plot(
            "bcast.svg",
            "Broadcast by messages and by regions",
            "us",
            &[(BCAST_4, "bcast", "4 ranks"), (BCAST_8, "bcast", "8 ranks")],
        )],
    },
    Experiment {
        heading: "The integer sort of the NAS Parallel Benchmarks (2010 and 2013, tables 1)",
        about: "IS as it comes, verified. *Papers: one copy against two saves 16 % to 38 % (classes B to D, 8 to 64 processes), \
                and 18 % for is.C.16.*",
        lines: MECHANISMS,
        parts: &[
            Part { program: Some(["is.A.2", "", ""]), ..part(SORT_2, &["is"], &[], 2) },
            Part { program: Some(["is.A.4", "", ""]), ..part(SORT_4, &["is"], &[], 4) },
        ],
        direct: None,
        plots: &[],
    },
    Experiment {
        heading: "Shortest paths by Floyd and Warshall (2013, table 2)",
        about: "`demo/asp.c`: the whole time, and that in broadcasts, of the slowest rank. Short rows: all vertices, compared with what \
                one rank finds alone. Long rows: 8192 vertices, by way of 128 of them. *Paper: 48 cores, 32768 vertices, rows of \
                128 KiB: the native broadcast takes 198 s, messages by KNEM 294 s (MPICH2) and 550 s (Open MPI); of the whole \
                time that is 2 %.* Most of the time in broadcasts is the wait for the slowest rank.",
        lines: BROADCASTS,
        parts: &[
            Part { program: Some(["asp", "1024", "512"]), ..part(PATHS_2, &["asp"], &[], 2) },
            Part { program: Some(["asp", "1024", "512"]), ..part(PATHS_4, &["asp"], &[], 4) },
            Part { program: Some(["asp", "8192 time 128", "8192 time 16"]), ..part(LONG_PATHS_2, &["asp"], &[], 2) },
            Part { program: Some(["asp", "8192 time 128", "8192 time 16"]), ..part(LONG_PATHS_4, &["asp"], &[], 4) },
        ],
        direct: None,
        plots: &[],
    },
];

impl Part {
    pub fn job(&self, lines: &[String], quick: bool) -> Job {
        let binding = if self.ranks > 2 { Binding::Shared } else { Binding::Bound };
        let mut job = Job::new(self.title, self.ranks, binding, self.benchmarks).sizes(&self.sizes(quick));
        let crowded = self.ranks > 2;
        job.time_ms = match (quick, crowded) {
            (true, false) => SHORT,
            (true, true) => SHORT_CROWDED,
            (false, false) => LONG,
            (false, true) => LONG_CROWDED,
        };
        job.batches = if crowded || quick { 3 } else { 11 };
        job.limit_s = if quick { LIMIT_QUICK_S } else { LIMIT_S };
        job.sized = !self.sizes.is_empty();
        job.lines = lines.to_vec();
        if let Some([name, arguments, few]) = self.program {
            job.program = Some(name.to_string());
            let words = if quick { few } else { arguments };
            job.more = words.split_whitespace().map(String::from).collect();
        }
        job
    }

    /// Sizes; with `--quick` every second one.
    pub fn sizes(&self, quick: bool) -> Vec<u64> {
        let step = if quick { 2 } else { 1 };
        self.sizes.iter().copied().skip(step - 1).step_by(step).collect()
    }

    /// Whether a quick look leaves it out.
    pub fn is_left_out(&self, quick: bool) -> bool {
        quick && self.ranks > FEW
    }
}

impl Experiment {
    /// All parts, those without MPI too.
    fn all(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().chain(self.direct.iter().flat_map(|(_, parts)| parts.iter()))
    }

    pub fn has(&self, title: &str) -> bool {
        self.all().any(|part| part.title == title)
    }

    /// All launches. `peers`: lines beside Tern's own.
    pub fn jobs(&self, quick: bool, peers: &[&str]) -> Vec<Job> {
        let lines: Vec<String> = peers.iter().chain(self.lines).map(|name| name.to_string()).collect();
        let parts = self.parts.iter().filter(|part| !part.is_left_out(quick));
        parts.map(|part| part.job(&lines, quick)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn lines_that_are_named_exist() {
        for name in EXPERIMENTS.iter().flat_map(|experiment| experiment.lines) {
            assert_eq!(LINES.iter().filter(|line| line.name == *name).count(), 1, "{name}");
        }
    }

    #[test]
    fn titles_are_of_one_part_only() {
        let mut titles = BTreeSet::new();
        for part in EXPERIMENTS.iter().flat_map(Experiment::all) {
            assert!(titles.insert(part.title), "{} twice", part.title);
        }
    }

    #[test]
    fn plots_are_of_what_is_measured_into_files_of_their_own() {
        let mut files = BTreeSet::new();
        for experiment in EXPERIMENTS {
            for plot in experiment.plots {
                assert!(files.insert(plot.file), "{} twice", plot.file);
                for (title, benchmark, _) in plot.panels {
                    let measured = experiment.all().find(|part| part.title == *title);
                    assert!(measured.is_some_and(|part| part.benchmarks.contains(benchmark)), "{title}: {benchmark}");
                }
            }
        }
    }

    #[test]
    fn a_quick_look_takes_every_experiment_but_less_of_it() {
        for experiment in EXPERIMENTS {
            let (whole, quick) = (experiment.jobs(false, &["tern"]), experiment.jobs(true, &["tern"]));
            assert_eq!(whole.is_empty(), quick.is_empty());
            assert!(quick.len() <= whole.len());
            for job in quick {
                assert!(job.ranks <= FEW && job.lines.contains(&"tern".to_string()));
                let same = whole.iter().find(|other| other.title == job.title).expect("a whole one");
                assert!(job.time_ms < same.time_ms && job.sizes.len() <= same.sizes.len());
                assert_eq!(job.sizes.is_empty(), same.sizes.is_empty());
            }
        }
    }
}
