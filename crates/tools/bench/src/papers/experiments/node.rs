//! Experiments inside a node: by mechanism, by pattern, by way of a broadcast.

use crate::knem::experiments::Direct;
use crate::line::Setting;
use crate::papers::registry::{Experiment, Part, Work, part};
use crate::variants::{BY_LINES, BY_MODULE, BY_REGION, CMA, MAPPED, MODULE, PIPE, TREE_BY_CMA, TREE_BY_PIPE};

/// Messages by each mechanism alone.
pub const MECHANISMS: &[Setting] = &[PIPE, MAPPED, CMA, BY_MODULE];

const MESSAGES: &[u64] = &[4 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
const BLOCKS: &[u64] = &[4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
const VECTORS: &[u64] = &[4 << 10, 16 << 10, 64 << 10, 128 << 10, 512 << 10, 4 << 20];

pub const IN_CACHE: &str = "Ping-pong, half round trip; the same buffers, in cache";
pub const OFF_CACHE: &str = "Ping-pong, half round trip; every message elsewhere, off cache";
pub const BOTH_IN_CACHE: &str = "Ping-ping, bytes of both ways; the same buffers, in cache";
pub const BOTH_OFF_CACHE: &str = "Ping-ping, bytes of both ways; every message elsewhere, off cache";
pub const COPYING: &str = "Who copies, without MPI: written before, copied, read after; off cache";
pub const PATTERNS_2: &str = "Reduce, scatter and alltoall, 2 ranks";
pub const PATTERNS_8: &str = "Reduce, scatter and alltoall, 8 ranks";
pub const ALL_TO_ALL_16: &str = "Alltoall, 16 ranks";
pub const REGIONS_2: &str = "A broadcast by regions without MPI, 2 processes";
pub const REGIONS_4: &str = "A broadcast by regions without MPI, 4 processes";
pub const REGIONS_8: &str = "A broadcast by regions without MPI, 8 processes";
pub const BCAST_4: &str = "Broadcast, 4 ranks";
pub const BCAST_8: &str = "Broadcast, 8 ranks";
pub const KERNEL: &str = "What a copy takes: mapped, by the kernel, and a byte of each page by the kernel";

/// Off cache nothing is shared in place but by a fault for each page, which no program would do.
const WITHOUT_MAPPED: &[&str] = &["pipe", "cma", MODULE];

pub const COSTS: Experiment = Experiment {
    name: "kernel-costs",
    lines: &[
        Setting { name: "mapped copy", settings: &[] },
        Setting { name: "CMA", settings: &[] },
        Setting { name: "CMA, a byte of each page", settings: &[] },
        Setting { name: "empty call", settings: &[] },
    ],
    plain: false,
    parts: &[Part {
        work: Work::Costs,
        ..part(KERNEL, &["copy", "copy_off"], &[4 << 10, 64 << 10, 256 << 10, 1 << 20], 1)
    }],
};

pub const PING_PONG: Experiment = Experiment {
    name: "ping-pong",
    lines: MECHANISMS,
    plain: true,
    parts: &[
        part(IN_CACHE, &["pingpong"], MESSAGES, 2),
        Part { lines: WITHOUT_MAPPED, ..part(OFF_CACHE, &["pingpong_off"], MESSAGES, 2) },
    ],
};

pub const PING_PING: Experiment = Experiment {
    name: "ping-ping",
    lines: MECHANISMS,
    plain: true,
    parts: &[
        part(BOTH_IN_CACHE, &["sendrecv"], MESSAGES, 2),
        Part { lines: WITHOUT_MAPPED, ..part(BOTH_OFF_CACHE, &["sendrecv_off"], MESSAGES, 2) },
    ],
};

/// The columns are what [`crate::knem::regions`] calls so.
pub const STRATEGIES: Experiment = Experiment {
    name: "copy-strategies",
    lines: &[
        Setting { name: "sender writes", settings: &[] },
        Setting { name: "receiver reads", settings: &[] },
        Setting { name: "both halves", settings: &[] },
        Setting { name: "region to region", settings: &[] },
        Setting { name: "copy thread", settings: &[] },
    ],
    plain: false,
    parts: &[Part {
        work: Work::Direct(Direct::Strategies),
        ..part(COPYING, &["exchange"], &[16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20], 2)
    }],
};

const CROWD: Part = Part { time: 60, ..part(PATTERNS_8, &["reduce", "scatter", "alltoall"], BLOCKS, 8) };

pub const PATTERNS: Experiment = Experiment {
    name: "patterns",
    lines: &[PIPE, CMA, BY_MODULE],
    plain: true,
    parts: &[part(PATTERNS_2, &["reduce", "scatter", "alltoall"], BLOCKS, 2), CROWD],
};

pub const ALL_TO_ALL: Experiment = Experiment {
    name: "alltoall-16",
    lines: &[PIPE, CMA, BY_MODULE],
    plain: true,
    parts: &[Part { time: 60, ..part(ALL_TO_ALL_16, &["alltoall"], &[4 << 10, 32 << 10, 128 << 10, 512 << 10], 16) }],
};

const fn regions(title: &'static str, processes: usize) -> Part {
    Part { work: Work::Direct(Direct::Regions), ..part(title, &["bcast"], &[128 << 10, 1 << 20, 4 << 20], processes) }
}

pub const REGIONS: Experiment = Experiment {
    name: "regions",
    lines: &[Setting { name: "one region", settings: &[] }, Setting { name: "one for each", settings: &[] }],
    plain: false,
    parts: &[regions(REGIONS_2, 2), regions(REGIONS_4, 4), regions(REGIONS_8, 8)],
};

/// A broadcast in each way alone.
pub const BROADCASTS: &[Setting] = &[TREE_BY_PIPE, TREE_BY_CMA, BY_LINES, BY_REGION];

pub const BROADCAST: Experiment = Experiment {
    name: "broadcast",
    lines: BROADCASTS,
    plain: true,
    parts: &[
        Part { time: 60, ..part(BCAST_4, &["bcast"], VECTORS, 4) },
        Part { time: 60, ..part(BCAST_8, &["bcast"], VECTORS, 8) },
    ],
};
