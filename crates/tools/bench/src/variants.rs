//! Settings that several experiments compare, by the names that tables and pages have for them.

use crate::line::Setting;

/// The name of the line that needs the kernel module.
pub const MODULE: &str = "module";

// Messages inside a node by each mechanism alone: two copies, one between shared pages, one by the kernel, one by the module.
pub const PIPE: Setting = Setting { name: "pipe", settings: &[("TERN_MECHANISM", "pipe")] };
pub const MAPPED: Setting =
    Setting { name: "mapped", settings: &[("TERN_MECHANISM", "mapped"), ("TERN_PROMOTE", "always")] };
pub const CMA: Setting = Setting { name: "cma", settings: &[("TERN_MECHANISM", "cma"), ("TERN_PROMOTE", "off")] };
pub const BY_MODULE: Setting =
    Setting { name: MODULE, settings: &[("TERN_MECHANISM", "module"), ("TERN_PROMOTE", "off")] };

// A broadcast inside a node in each way alone.
pub const TREE_BY_PIPE: Setting = Setting {
    name: "tree, pipe",
    settings: &[("TERN_MECHANISM", "pipe"), ("TERN_COLL_LINES", "off"), ("TERN_COLL", "bcast=binomial")],
};
pub const TREE_BY_CMA: Setting = Setting {
    name: "tree, cma",
    settings: &[
        ("TERN_MECHANISM", "cma"),
        ("TERN_PROMOTE", "off"),
        ("TERN_COLL_LINES", "off"),
        ("TERN_COLL", "bcast=binomial"),
    ],
};
pub const BY_LINES: Setting =
    Setting { name: "lines", settings: &[("TERN_MECHANISM", "pipe"), ("TERN_PROMOTE", "off")] };
pub const BY_REGION: Setting = Setting {
    name: "region",
    settings: &[("TERN_MECHANISM", "cma"), ("TERN_PROMOTE", "off"), ("TERN_COLL", "bcast=region")],
};

// Headers between nodes.
pub const HEADER_CACHE: Setting = Setting { name: "header cache", settings: &[("TERN_HEADER_CACHE", "on")] };
pub const FULL_HEADERS: Setting = Setting { name: "full headers", settings: &[("TERN_HEADER_CACHE", "off")] };

// Data types between nodes.
pub const GATHER_LISTS: Setting = Setting {
    name: "gather lists",
    settings: &[("TERN_TUPLEQ", "off"), ("TERN_EAGER_LIMIT", "4096"), ("TERN_RENDEZVOUS", "rput")],
};
pub const PACKING: Setting = Setting {
    name: "packing",
    settings: &[("TERN_TUPLEQ", "off"), ("TERN_EAGER_LIMIT", "4096"), ("TERN_RENDEZVOUS", "packets")],
};

// Eager messages from buffers that are used often, and by copy.
pub const FREQUENT: Setting =
    Setting { name: "frequent", settings: &[("TERN_FREQUENT", "on"), ("TERN_EAGER_LIMIT", "32768")] };
pub const PLAIN_EAGER: Setting =
    Setting { name: "plain eager", settings: &[("TERN_FREQUENT", "off"), ("TERN_EAGER_LIMIT", "32768")] };

// The protocols of the paper on TupleQ.
pub const TUPLEQ: Setting =
    Setting { name: "TupleQ", settings: &[("TERN_TUPLEQ", "write"), ("TERN_TUPLEQ_COPY", "0")] };
pub const TUPLEQ_WITH_COPY: Setting =
    Setting { name: "TupleQ with copy", settings: &[("TERN_TUPLEQ", "write"), ("TERN_TUPLEQ_COPY", "16384")] };
pub const RGET: Setting = Setting { name: "RGET", settings: &[("TERN_TUPLEQ", "off"), ("TERN_RENDEZVOUS", "rget")] };
pub const RPUT: Setting = Setting { name: "RPUT", settings: &[("TERN_TUPLEQ", "off"), ("TERN_RENDEZVOUS", "rput")] };
