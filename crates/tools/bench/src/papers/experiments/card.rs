//! Experiments on the software HCA, with the link model of the card that the paper had.

use crate::line::Setting;
use crate::papers::registry::{Experiment, Part, Place, Work, card, part};
use crate::variants::{
    self, FULL_HEADERS, GATHER_LISTS, HEADER_CACHE, PACKING, PLAIN_EAGER, RGET, RPUT, TUPLEQ, TUPLEQ_WITH_COPY,
};

/// The card of 2005, and that of 2009.
const OLD: &str = "sdr-pcix";
const NEW: &str = "ddr";

pub const HEADERS_TITLE: &str = "Ping-pong between nodes, half round trip";
pub const ONE: &str = "Messages between nodes, one at a time, half round trip";
pub const SEVERAL: &str = "Messages between nodes, several in flight";
pub const INTRA_ONE: &str = "Ping-pong inside a node, half round trip";
pub const INTRA_SEVERAL: &str = "Several messages in flight inside a node";
pub const COLUMNS_TITLE: &str = "Columns of a matrix with 1024 rows, by the bytes of the column";
pub const PACKETS_ONE: &str = "Ping-pong by size of the communication buffers, half round trip";
pub const PACKETS_SEVERAL: &str = "Several messages in flight by size of the communication buffers";
pub const COSTS_TITLE: &str = "What a copy and a registration take, and from how many uses on registering pays";
pub const SEARCH_TITLE: &str = "A look for a buffer among so many";
pub const FREQUENT_TITLE: &str = "Ping-pong from the same buffers, half round trip";
pub const BACK_TO_BACK: &str = "1000 buffers back to back, buffer i used i times";
pub const APART: &str = "1000 buffers on pages of their own, buffer i used i times";
pub const COLLECTIVES_4: &str = "Collectives, 4 ranks on 4 nodes";
pub const COLLECTIVES_16: &str = "Collectives, 16 ranks on 4 nodes";
pub const GRADIENT: &str = "Conjugate gradients: few buffers, used often";
pub const WAVEFRONT: &str = "A wavefront: each buffer used once";
pub const RECEIVER: &str = "Share of its time that the receiver keeps";
pub const SENDER: &str = "Share of its time that the sender keeps";
pub const SOLVER_TITLE: &str = "An alternating-direction solver";

pub const HEADERS: Experiment = Experiment {
    name: "header-cache",
    lines: &[HEADER_CACHE, FULL_HEADERS],
    plain: false,
    parts: &[card(HEADERS_TITLE, &["pingpong"], &[1, 4, 16, 64, 256, 1024, 4096], 2, (OLD, 32))],
};

const FLIGHT_SIZES: &[u64] = &[1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

pub const FLIGHT: Experiment = Experiment {
    name: "messages-in-flight",
    lines: &[Setting { name: "by the card", settings: &[("TERN_TUPLEQ", "off")] }],
    plain: false,
    parts: &[
        card(ONE, &["pingpong"], FLIGHT_SIZES, 2, (OLD, 8)),
        card(SEVERAL, &["stream"], FLIGHT_SIZES, 2, (OLD, 8)),
    ],
};

const INTRA_SIZES: &[u64] = &[4, 64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
const BY_MEMORY: &[&str] = &["shared memory"];
const BY_CARD: &[&str] = &["through the card"];

pub const INTRA: Experiment = Experiment {
    name: "inside-a-node",
    lines: &[
        Setting { name: "shared memory", settings: &[("TERN_MECHANISM", "pipe")] },
        Setting { name: "through the card", settings: &[("TERN_TUPLEQ", "off"), ("TERN_HEADER_CACHE", "off")] },
    ],
    plain: false,
    parts: &[
        Part { lines: BY_MEMORY, ..part(INTRA_ONE, &["pingpong"], INTRA_SIZES, 2) },
        Part { lines: BY_CARD, ..card(INTRA_ONE, &["pingpong"], INTRA_SIZES, 2, (OLD, 8)) },
        Part { lines: BY_MEMORY, ..part(INTRA_SEVERAL, &["stream"], INTRA_SIZES, 2) },
        Part { lines: BY_CARD, ..card(INTRA_SEVERAL, &["stream"], INTRA_SIZES, 2, (OLD, 8)) },
    ],
};

pub const COLUMNS: Experiment = Experiment {
    name: "columns",
    lines: &[GATHER_LISTS, PACKING],
    plain: false,
    parts: &[card(
        COLUMNS_TITLE,
        &["column_type", "column_turns"],
        &[256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20],
        2,
        (OLD, 8),
    )],
};

const PACKET_SIZES: &[u64] = &[1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10];

pub const PACKETS: Experiment = Experiment {
    name: "packets",
    lines: &[
        Setting { name: "packets, 2 KiB", settings: &[("TERN_PACKET", "2048"), ("TERN_EAGER_LIMIT", "32768")] },
        Setting { name: "packets, 8 KiB", settings: &[("TERN_PACKET", "8192"), ("TERN_EAGER_LIMIT", "32768")] },
        Setting { name: "rendezvous, 2 KiB", settings: &[("TERN_PACKET", "2048"), ("TERN_EAGER_LIMIT", "2048")] },
        Setting { name: "rendezvous, 8 KiB", settings: &[("TERN_PACKET", "8192"), ("TERN_EAGER_LIMIT", "8192")] },
    ],
    plain: false,
    parts: &[
        card(PACKETS_ONE, &["pingpong"], PACKET_SIZES, 2, (OLD, 16)),
        card(PACKETS_SEVERAL, &["stream"], PACKET_SIZES, 2, (OLD, 16)),
    ],
};

const EAGER: &[u64] = &[128, 256, 512, 1024, 2048, 4096, 8192];
pub const REUSING: &[Setting] = &[variants::FREQUENT, PLAIN_EAGER];

pub const EXPLAINED: Experiment = Experiment {
    name: "copy-and-registration",
    lines: &[variants::FREQUENT],
    plain: false,
    parts: &[Part { work: Work::Explained, ..card(COSTS_TITLE, &["copy_cost", "break_even"], EAGER, 2, (NEW, 1)) }],
};

pub const SEARCH: Experiment = Experiment {
    name: "search",
    lines: &[Setting { name: "hash table", settings: &[] }, Setting { name: "binary tree", settings: &[] }],
    plain: false,
    parts: &[Part { work: Work::Search, ..part(SEARCH_TITLE, &["search"], &[10, 100, 1000, 4000], 1) }],
};

pub const FREQUENT: Experiment = Experiment {
    name: "frequent-buffers",
    lines: REUSING,
    plain: false,
    parts: &[card(FREQUENT_TITLE, &["pingpong_nonblocking"], EAGER, 2, (NEW, 32))],
};

pub const SPECTRUM: Experiment = Experiment {
    name: "spectrum",
    lines: REUSING,
    plain: false,
    parts: &[
        card(BACK_TO_BACK, &["spectrum"], EAGER, 2, (NEW, 1)),
        Part { more: &["--apart", "1"], ..card(APART, &["spectrum"], EAGER, 2, (NEW, 1)) },
    ],
};

pub const COLLECTIVES: Experiment = Experiment {
    name: "frequent-collectives",
    lines: REUSING,
    plain: false,
    parts: &[
        Part { time: 200, ..card(COLLECTIVES_4, &["bcast_turns", "scatter_turns"], COLLECTIVE_SIZES, 4, (NEW, 32)) },
        Part {
            place: Place::Nodes(4),
            time: 200,
            ..card(COLLECTIVES_16, &["bcast_turns", "scatter_turns"], COLLECTIVE_SIZES, 16, (NEW, 32))
        },
    ],
};

const COLLECTIVE_SIZES: &[u64] = &[256, 1024, 4096, 8192];

pub const REUSE: Experiment = Experiment {
    name: "reuse",
    lines: REUSING,
    plain: false,
    parts: &[
        card(GRADIENT, &["gradient"], &[1024, 4096, 8192], 4, (NEW, 32)),
        card(WAVEFRONT, &["wavefront"], &[1024, 4096, 8192], 4, (NEW, 32)),
    ],
};

/// The protocols of the paper on TupleQ.
pub const PROTOCOLS: &[Setting] = &[TUPLEQ, TUPLEQ_WITH_COPY, RGET, RPUT];

/// Work is sleep: the engine of the software HCA needs the core that a card would leave alone.
const IDLE: &[&str] = &["--idle", "1"];

const fn overlap(title: &'static str, benchmark: &'static [&'static str], sizes: &'static [u64], slower: u32) -> Part {
    Part { more: IDLE, time: 40, ..card(title, benchmark, sizes, 2, (NEW, slower)) }
}

pub const OVERLAP: Experiment = Experiment {
    name: "overlap",
    lines: PROTOCOLS,
    plain: false,
    parts: &[
        overlap(RECEIVER, &["overlap_recv"], &[1, 64, 1024, 4096, 16384], 64),
        overlap(RECEIVER, &["overlap_recv"], &[65536, 262144], 16),
        overlap(RECEIVER, &["overlap_recv"], &[1048576], 8),
        overlap(SENDER, &["overlap_send"], &[1, 64, 1024, 4096, 16384], 64),
        overlap(SENDER, &["overlap_send"], &[65536, 262144], 16),
        overlap(SENDER, &["overlap_send"], &[1048576], 8),
    ],
};

const fn boundary(sizes: &'static [u64], work_us: u64, slower: u32) -> Part {
    Part { more: IDLE, work_us, time: 100, ..card(SOLVER_TITLE, &["solver"], sizes, 4, (NEW, slower)) }
}

pub const SOLVER: Experiment = Experiment {
    name: "solver",
    lines: PROTOCOLS,
    plain: false,
    parts: &[boundary(&[16384], 40, 64), boundary(&[65536], 140, 32), boundary(&[262144], 540, 16)],
};
