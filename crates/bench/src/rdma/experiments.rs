//! What is compared.

use crate::Options;
use crate::line::Line;
use crate::suite::{Binding, Job};

/// Tern with settings.
pub struct Variant {
    pub name: &'static str,
    pub settings: &'static [(&'static str, &'static str)],
}

impl Variant {
    pub fn line(&self) -> Line {
        Line {
            name: self.name.to_string(),
            library: "tern".to_string(),
            prefix: None,
            variables: self.settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        }
    }

    pub fn shown(&self) -> String {
        self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }
}

/// One comparison.
pub struct Experiment {
    pub heading: &'static str,
    pub about: &'static str,
    pub variants: &'static [Variant],
    pub parts: &'static [Part],
    /// Whether to say how much the first line saves against the second.
    pub gain: bool,
    /// Whether figures are reckoned for more peers.
    pub modelled: bool,
    /// What Tern explains of it, from the line that begins so on.
    pub explained: Option<&'static str>,
}

/// A launch.
pub struct Part {
    pub title: &'static str,
    pub benchmarks: &'static [&'static str],
    pub sizes: &'static [u64],
    pub ranks: usize,
    pub more: &'static [&'static str],
    /// Milliseconds for a figure.
    pub time: u64,
}

pub const fn part(title: &'static str, benchmarks: &'static [&'static str], sizes: &'static [u64]) -> Part {
    Part { title, benchmarks, sizes, ranks: 2, more: &[], time: 150 }
}

impl Experiment {
    pub fn titles(&self) -> impl Iterator<Item = String> {
        self.parts.iter().flat_map(|part| [part.title.to_string(), format!("{}: time that the message costs", part.title)])
    }

    pub fn jobs(&self, options: &Options) -> Vec<Job> {
        let job = |part: &Part| {
            let mut job = Job::new(part.title, part.ranks, Binding::Nodes, part.benchmarks).sizes(part.sizes);
            job.time_ms = if options.quick { part.time.min(30) } else { part.time };
            job.batches = 5;
            job.probed = false;
            job.sized = !part.sizes.is_empty();
            job.more = part.more.iter().map(|word| word.to_string()).collect();
            if options.quick {
                job.more.extend(["--buffers", "100"].map(String::from));
            }
            job.lines = self.variants.iter().map(|variant| variant.name.to_string()).collect();
            job
        };
        self.parts.iter().map(job).collect()
    }
}

const EAGER_SIZES: &[u64] = &[128, 256, 512, 1024, 2048, 4096, 8192];
const LONG_SIZES: &[u64] = &[4096, 16384, 65536, 262144, 1048576];
const IDLE: &[&str] = &["--idle", "1"];

pub const EXPERIMENTS: [Experiment; 8] = [
    Experiment {
        heading: "Header caching",
        about: "A header that equals the last one on the connection travels as a few bytes (Design and Implementation \
                of High Performance MVAPICH2: 5.8 to 4.9 us for small messages). Ping-pong, half round trip.",
        variants: &[
            Variant { name: "header cache", settings: &[("TERN_LINK", "sdr-pcix"), ("TERN_HEADER_CACHE", "on")] },
            Variant { name: "full headers", settings: &[("TERN_LINK", "sdr-pcix"), ("TERN_HEADER_CACHE", "off")] },
        ],
        parts: &[part("Header caching, ping-pong", &["pingpong"], &[4, 16, 64, 128, 256, 512, 1024])],
        gain: true,
        modelled: false,
        explained: None,
    },
    Experiment {
        heading: "Packets",
        about: "Communication buffers of 2 KiB. With packets a message that is longer than a buffer goes in several; \
                without them it goes by rendezvous.",
        variants: &[
            Variant {
                name: "packets",
                settings: &[("TERN_LINK", "sdr-pcix"), ("TERN_PACKET", "2048"), ("TERN_EAGER_LIMIT", "32768")],
            },
            Variant {
                name: "no packets",
                settings: &[("TERN_LINK", "sdr-pcix"), ("TERN_PACKET", "2048"), ("TERN_EAGER_LIMIT", "2048")],
            },
        ],
        parts: &[part("Small communication buffers, ping-pong", &["pingpong"], &[1024, 2048, 4096, 8192, 16384, 32768])],
        gain: true,
        modelled: false,
        explained: None,
    },
    Experiment {
        heading: "Columns of a matrix",
        about: "A column of 1024 rows, by a derived type and packed by hand, both ways at once. Gather and scatter lists \
                of the card against packing by the library.",
        variants: &[
            Variant {
                name: "gather lists",
                settings: &[
                    ("TERN_LINK", "sdr-pcix"),
                    ("TERN_TUPLEQ", "off"),
                    ("TERN_EAGER_LIMIT", "4096"),
                    ("TERN_RENDEZVOUS", "rput"),
                ],
            },
            Variant {
                name: "packing",
                settings: &[
                    ("TERN_LINK", "sdr-pcix"),
                    ("TERN_TUPLEQ", "off"),
                    ("TERN_EAGER_LIMIT", "4096"),
                    ("TERN_RENDEZVOUS", "packets"),
                ],
            },
        ],
        parts: &[part("Columns of a matrix", &["column"], &[])],
        gain: true,
        modelled: false,
        explained: None,
    },
    Experiment {
        heading: "Frequently used eager buffers",
        about: "Buffers that are used often are registered and sent from where they are (Improving RDMA-based MPI Eager \
                Protocol for Frequently-used Buffers: up to 14 % at 8 KiB). Ping-pong from the same buffers; N buffers \
                of which buffer i is used i times; broadcast and scatter; conjugate gradients, which use few buffers \
                often, and a wavefront, which uses many seldom. All by MPI_Isend and MPI_Wait, but for the collectives.",
        variants: &[
            Variant {
                name: "frequent",
                settings: &[("TERN_LINK", "ddr"), ("TERN_FREQUENT", "on"), ("TERN_EAGER_LIMIT", "32768")],
            },
            Variant {
                name: "plain eager",
                settings: &[("TERN_LINK", "ddr"), ("TERN_FREQUENT", "off"), ("TERN_EAGER_LIMIT", "32768")],
            },
        ],
        parts: &[
            part("Frequent buffers, ping-pong", &["pingpong_nonblocking"], EAGER_SIZES),
            part("Frequent buffers, spectrum of use", &["spectrum"], &[1024, 4096, 8192]),
            Part { ranks: 4, ..part("Frequent buffers, collectives", &["bcast", "scatter"], EAGER_SIZES) },
            Part { ranks: 4, ..part("Frequent buffers, conjugate gradients", &["gradient"], &[1024, 4096, 8192]) },
            Part { ranks: 4, ..part("Frequent buffers, wavefront", &["wavefront"], &[1024, 4096, 8192]) },
        ],
        gain: true,
        modelled: false,
        explained: Some("frequently used buffers"),
    },
    Experiment {
        heading: "Overlap",
        about: "How much of its time a process keeps for computing (the Sandia host-overhead test), receive posted early. \
                Work is a sleep, for the engine of the software HCA needs the core that a card would leave alone \
                (TupleQ: Fully-Asynchronous and Zero-Copy MPI over InfiniBand: near 100 % against 0 %).",
        variants: PROTOCOLS,
        parts: &[
            Part { more: IDLE, ..part("Overlap of the receiver", &["overlap_recv"], LONG_SIZES) },
            Part { more: IDLE, ..part("Overlap of the sender", &["overlap_send"], LONG_SIZES) },
        ],
        gain: false,
        modelled: false,
        explained: None,
    },
    Experiment {
        heading: "Alternating-direction solver",
        about: "Stages that post a receive, work, wait, work and send, as NAS SP has them (TupleQ: up to 27 %), on 4 \
                ranks, 300 us of work at a stage, a sleep as above. The size is that of a boundary.",
        variants: PROTOCOLS,
        parts: &[Part {
            ranks: 4,
            more: &["--idle", "1", "--work-us", "300"],
            ..part("Alternating-direction solver", &["solver"], &[16384, 65536, 262144])
        }],
        gain: false,
        modelled: false,
        explained: None,
    },
    Experiment {
        heading: "What a peer costs",
        about: "A process's own memory, and its queue pairs, after it has met so many peers; every rank is a node.",
        variants: &[
            Variant { name: "RC", settings: &[("TERN_LINK", "none"), ("TERN_FAULTS", "tcp"), ("TERN_VERBS_TRANSPORT", "rc")] },
            Variant { name: "XRC", settings: &[("TERN_LINK", "none"), ("TERN_FAULTS", "tcp"), ("TERN_VERBS_TRANSPORT", "xrc")] },
        ],
        parts: &[Part { ranks: 64, ..part("What a peer costs", &["peers"], &[]) }],
        gain: false,
        modelled: true,
        explained: None,
    },
    super::ports::PORTS,
];

/// The four protocols of the paper on TupleQ.
const PROTOCOLS: &[Variant] = &[
    Variant {
        name: "RPUT",
        settings: &[("TERN_LINK", "ddr"), ("TERN_TUPLEQ", "off"), ("TERN_RENDEZVOUS", "rput")],
    },
    Variant {
        name: "RGET",
        settings: &[("TERN_LINK", "ddr"), ("TERN_TUPLEQ", "off"), ("TERN_RENDEZVOUS", "rget")],
    },
    Variant {
        name: "TupleQ",
        settings: &[("TERN_LINK", "ddr"), ("TERN_TUPLEQ", "write"), ("TERN_TUPLEQ_COPY", "0")],
    },
    Variant {
        name: "TupleQ with copy",
        settings: &[("TERN_LINK", "ddr"), ("TERN_TUPLEQ", "write"), ("TERN_TUPLEQ_COPY", "16384")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_the_same_settings_everywhere() {
        let all: Vec<&Variant> = EXPERIMENTS.iter().flat_map(|experiment| experiment.variants).collect();
        for one in &all {
            for other in all.iter().filter(|other| other.name == one.name) {
                assert_eq!(one.settings, other.settings, "{}", one.name);
            }
        }
    }

    #[test]
    fn titles_are_of_one_experiment_only() {
        let titles: Vec<String> = EXPERIMENTS.iter().flat_map(|experiment| experiment.titles()).collect();
        for title in &titles {
            assert_eq!(titles.iter().filter(|other| *other == title).count(), 1, "{title}");
        }
    }
}
