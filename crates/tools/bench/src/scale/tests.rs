//! What the tests of this command share: made-up nodes, figures, and folders.

use super::machine::levels;
use super::results::{LineOf, Results};
use crate::figures::{Figures, Row, Sample};
use crate::session::Problem;
use std::fs;
use std::path::PathBuf;
use tern_node::{Shape, Thread};

/// A node of so many packages, NUMA nodes in each, third-level caches in each, cores in each, threads in each. The first threads of all cores are numbered
/// first.
pub fn node([packages, nodes, caches, cores, threads]: [usize; 5]) -> Shape {
    let all = packages * nodes * caches * cores;
    let thread = |number: usize| {
        let core = number % all;
        let cache = core / cores;
        let node = cache / caches;
        Thread::new(number, [core, core, core, cache, node, node / nodes])
    };
    Shape::new((0..all * threads).map(thread).collect())
}

/// A folder that goes with the value.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tern-bench-scale-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Adds the values of a line, microseconds, one for each round.
pub fn add(figures: &mut Figures, (benchmark, ranks, size): (&str, usize, u64), line: &str, values: &[f64]) {
    let row = Row { title: format!("{ranks} ranks"), benchmark: benchmark.into(), size, unit: "us".into(), ranks };
    for value in values {
        figures.add(row.clone(), line, Sample { value: *value, placement: None, others: 0.0 });
    }
}

/// Results of two packages of six caches of eight cores: Tern loses one broadcast of 96 ranks to xhc by half, and is ahead or even elsewhere.
pub fn results() -> Results {
    let line = |name: &str, label: &str, settings: &str| LineOf {
        name: name.into(),
        label: label.into(),
        settings: settings.into(),
        is_tern: name == "tern",
    };
    let mut results = Results {
        about: vec![("processor".into(), "a processor".into()), ("kernel".into(), "Linux 6.1".into())],
        levels: levels(&node([2, 1, 6, 8, 2])),
        lines: vec![line("tern", "Tern", ""), line("openmpi-xhc", "openmpi-xhc", "OMPI_MCA_coll_xhc_priority=40")],
        problems: vec![Problem { library: "impi".into(), what: "all".into(), reason: "it is missing".into() }],
        rounds: 3,
        commit: "abcdef1".into(),
        date: "2026-12-01".into(),
        ..Results::default()
    };
    for (row, tern, xhc) in [
        (("barrier", 8, 0), [1.0, 1.1, 0.9], [2.0, 2.0, 2.1]),
        (("barrier", 96, 0), [3.0, 3.0, 3.0], [6.0, 6.0, 6.0]),
        (("bcast", 8, 8), [1.0, 1.0, 1.0], [1.0, 1.01, 0.99]),
        (("bcast", 96, 8), [2.0, 2.1, 1.9], [3.0, 3.0, 3.0]),
        (("bcast", 96, 1024), [4.0, 4.0, 4.0], [2.0, 2.0, 2.0]),
    ] {
        add(&mut results.figures, row, "tern", &tern);
        add(&mut results.figures, row, "openmpi-xhc", &xhc);
    }
    results
}
