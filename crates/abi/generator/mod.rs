//! Reads the tables in `table/` and writes what follows from them: the C entry points (for
//! build.rs), `include/mpi.h` and the core's constants (for the tests, which keep both up to
//! date). The tables are the only place that knows the functions of the standard.

#![allow(dead_code, reason = "build.rs and each test use a part")]

pub mod constants;
pub mod entries;
pub mod header;
pub mod kinds;
pub mod table;

use std::path::Path;

/// Everything that the tables say.
pub struct Tables {
    pub kinds: Vec<kinds::Kind>,
    pub chapters: Vec<table::Chapter>,
    pub constants: Vec<constants::Group>,
}

/// The chapters, in the order of the header.
pub const CHAPTERS: [&str; 13] = [
    "environment",
    "errors",
    "info",
    "point-to-point",
    "datatypes",
    "operations",
    "communicators",
    "topologies",
    "collectives",
    "one-sided",
    "dynamic-processes",
    "files",
    "tool",
];

impl Tables {
    /// Reads all of `dir`; a mistake in a table panics with file and line.
    pub fn read(dir: &Path) -> Tables {
        let text = |name: &str| {
            let path = dir.join(format!("{name}.txt"));
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        };
        let kinds = kinds::parse(&text("kinds"));
        let chapters = CHAPTERS.iter().map(|name| table::parse(name, &text(name), &kinds)).collect();
        Tables { kinds, chapters, constants: constants::parse(&text("constants")) }
    }

    pub fn functions(&self) -> impl Iterator<Item = &table::Function> {
        self.chapters.iter().flat_map(|chapter| &chapter.functions)
    }

    pub fn kind(&self, param: &table::Param) -> &kinds::Kind {
        &self.kinds[param.kind]
    }

    /// The names of all C functions, MPI_ and PMPI_, large-count forms included, sorted.
    pub fn symbols(&self) -> Vec<String> {
        let mut names = Vec::new();
        for function in self.functions() {
            for &form in function.forms() {
                for prefix in ["MPI_", "PMPI_"] {
                    names.push(format!("{prefix}{}", function.c_name(form)));
                }
            }
        }
        names.sort();
        names
    }
}
