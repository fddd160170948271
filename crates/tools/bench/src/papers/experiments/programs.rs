//! Whole programs: shortest paths, and the NAS Parallel Benchmarks, inside a node and over the model of a link.

use super::card::{PROTOCOLS, REUSING};
use super::node::{BROADCASTS, MECHANISMS};
use crate::line::Setting;
use crate::papers::registry::{Experiment, Part, Place, Work, program};

pub const PATHS_2: &str = "Shortest paths, 1024 vertices, 2 ranks";
pub const PATHS_4: &str = "Shortest paths, 1024 vertices, 4 ranks";
pub const LONG_PATHS_2: &str = "Shortest paths, rows of 8192 vertices by way of 128, 2 ranks";
pub const LONG_PATHS_4: &str = "Shortest paths, rows of 8192 vertices by way of 128, 4 ranks";
pub const SORT_2: &str = "Integer sort, is.A.2";
pub const SORT_4: &str = "Integer sort, is.A.4";
pub const TRANSFORM_2: &str = "Fourier transform, ft.W.2";
pub const TRANSFORM_4: &str = "Fourier transform, ft.W.4";
pub const LAYERS_CG: &str = "NAS CG, class S, 4 ranks";
pub const LAYERS_IS: &str = "NAS IS, class W, 4 ranks";
pub const LAYERS_MG: &str = "NAS MG, class W, 4 ranks";
pub const FREQUENT_CG: &str = "NAS CG, class S, 4 ranks on 4 nodes";
pub const FREQUENT_LU: &str = "NAS LU, class S, 4 ranks on 4 nodes";
pub const REUSE_CG: &str = "Uses of buffers, NAS CG, class W, 4 ranks";
pub const REUSE_LU: &str = "Uses of buffers, NAS LU, class W, 4 ranks";
pub const REUSE_MG: &str = "Uses of buffers, NAS MG, class W, 4 ranks";
pub const SP_S: &str = "NAS SP, class S, 4 ranks on 4 nodes";
pub const SP_W: &str = "NAS SP, class W, 4 ranks on 4 nodes";

const fn paths(title: &'static str, ranks: usize, words: &'static str) -> Part {
    program(title, &["asp"], ranks, Work::Paths(words))
}

pub const PATHS: Experiment = Experiment {
    name: "shortest-paths",
    lines: BROADCASTS,
    plain: true,
    parts: &[
        paths(PATHS_2, 2, "1024"),
        paths(PATHS_4, 4, "1024"),
        paths(LONG_PATHS_2, 2, "8192 time 128"),
        paths(LONG_PATHS_4, 4, "8192 time 128"),
    ],
};

pub const SORT_AND_TRANSFORM: Experiment = Experiment {
    name: "nas-by-mechanism",
    lines: MECHANISMS,
    plain: false,
    parts: &[
        program(SORT_2, &["is"], 2, Work::Nas("is.A")),
        program(SORT_4, &["is"], 4, Work::Nas("is.A")),
        program(TRANSFORM_2, &["ft"], 2, Work::Nas("ft.W")),
        program(TRANSFORM_4, &["ft"], 4, Work::Nas("ft.W")),
    ],
};

const OLD: Option<(&str, u32)> = Some(("sdr-pcix", 1));
const NEW: Option<(&str, u32)> = Some(("ddr", 1));
const LAYERED: &[&str] = &["by device"];
const LOOPED: &[&str] = &["all by the card"];

/// Two nodes of two processors each: inside a node by shared memory, or all through the card.
const fn layered(title: &'static str, benchmark: &'static [&'static str], name: &'static str) -> Part {
    Part { place: Place::Nodes(2), link: OLD, lines: LAYERED, ..program(title, benchmark, 4, Work::Nas(name)) }
}

const fn looped(title: &'static str, benchmark: &'static [&'static str], name: &'static str) -> Part {
    Part { place: Place::Nodes(4), lines: LOOPED, ..layered(title, benchmark, name) }
}

pub const LAYERS: Experiment = Experiment {
    name: "nas-by-layers",
    lines: &[
        Setting { name: "by device", settings: &[("TERN_TUPLEQ", "off"), ("TERN_HEADER_CACHE", "on")] },
        Setting {
            name: "all by the card",
            settings: &[("TERN_TUPLEQ", "off"), ("TERN_HEADER_CACHE", "off"), ("TERN_EAGER_LIMIT", "8192")],
        },
    ],
    plain: false,
    parts: &[
        layered(LAYERS_CG, &["cg"], "cg.S"),
        looped(LAYERS_CG, &["cg"], "cg.S"),
        layered(LAYERS_IS, &["is"], "is.W"),
        looped(LAYERS_IS, &["is"], "is.W"),
        layered(LAYERS_MG, &["mg"], "mg.W"),
        looped(LAYERS_MG, &["mg"], "mg.W"),
    ],
};

/// Each rank a node: shared memory plays no part.
const fn apart(title: &'static str, benchmark: &'static [&'static str], work: Work) -> Part {
    Part { place: Place::Nodes(4), link: NEW, ..program(title, benchmark, 4, work) }
}

pub const FREQUENT: Experiment = Experiment {
    name: "nas-frequent-buffers",
    lines: REUSING,
    plain: false,
    parts: &[apart(FREQUENT_CG, &["cg"], Work::Nas("cg.S")), apart(FREQUENT_LU, &["lu"], Work::Nas("lu.S"))],
};

/// Counted by a library between the program and Tern; no link is needed.
const fn counted(title: &'static str, name: &'static str) -> Part {
    program(title, &["reuse_uses", "reuse_share"], 4, Work::Reuse(name))
}

pub const COUNTED: Experiment = Experiment {
    name: "uses-of-buffers",
    lines: &[Setting { name: "counted", settings: &[] }],
    plain: false,
    parts: &[counted(REUSE_CG, "cg.W"), counted(REUSE_LU, "lu.W"), counted(REUSE_MG, "mg.W")],
};

pub const PENTADIAGONAL: Experiment = Experiment {
    name: "nas-sp",
    lines: PROTOCOLS,
    plain: false,
    parts: &[apart(SP_S, &["sp"], Work::Nas("sp.S")), apart(SP_W, &["sp"], Work::Nas("sp.W"))],
};
