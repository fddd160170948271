//! The tables of the standard: every function of MPI 5.0 with the kind of each parameter, and every
//! constant; and the extensions, which are marked. They are the only place that knows the functions of the standard.
//!
//! `tables/*.txt` holds the text; this crate reads it. What is generated from the tables (entry points,
//! the header, other binary interfaces, Fortran, manual pages) is written by the crates that need it,
//! in their build scripts and tests.

pub mod constants;
pub mod core;
pub mod function;
pub mod kinds;

use std::path::{Path, PathBuf};

/// The folder of the tables, for build scripts that watch it.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tables")
}

/// Tells cargo, from a build script, how a library with MPI's functions is linked: its name for the loader is `soname`,
/// and its own references to its functions stay in it. The compiler may put an exported function for a private one that
/// does the same; by the symbol, the core's table for the faces ([`core`]) would then lead to a function of a face.
pub fn link(soname: &str) {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    // Threads of the library go on after MPI_Finalize, and so do others' pointers to its functions. A part of a program that is closed does
    // not take the library with it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

/// The compiler for C that a build script makes a library for the target with. For another architecture than this machine's that is what cargo
/// links with, or else the compiler of the name that GNU's have there.
pub fn c_compiler() -> std::ffi::OsString {
    let of = |name| std::env::var_os(name);
    let same = of("TARGET") == of("HOST");
    let architecture = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    match same {
        true => of("CC").unwrap_or_else(|| "cc".into()),
        false => of("RUSTC_LINKER").unwrap_or_else(|| format!("{architecture}-linux-gnu-gcc").into()),
    }
}

/// Everything that the tables say.
pub struct Tables {
    pub kinds: Vec<kinds::Kind>,
    pub chapters: Vec<function::Chapter>,
    pub constants: Vec<constants::Group>,
}

/// The chapters, in the order of the header.
pub const CHAPTERS: [&str; 14] = [
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
    "fault-tolerance",
];

impl Tables {
    /// Reads all tables; a mistake in one panics with file and line.
    pub fn read() -> Tables {
        let dir = folder();
        let text = |name: &str| {
            let path = dir.join(format!("{name}.txt"));
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        };
        let kinds = kinds::parse(&text("kinds"));
        let chapters = CHAPTERS.iter().map(|name| function::parse(name, &text(name), &kinds)).collect();
        Tables { kinds, chapters, constants: constants::parse(&constants::joined(&text("constants"), text)) }
    }

    pub fn functions(&self) -> impl Iterator<Item = &function::Function> {
        self.chapters.iter().flat_map(|chapter| &chapter.functions)
    }

    pub fn kind(&self, param: &function::Param) -> &kinds::Kind {
        &self.kinds[param.kind]
    }

    /// The names of all C functions and of their profiling forms (`PMPI_X`), large-count forms included, sorted.
    pub fn symbols(&self) -> Vec<String> {
        let mut names = Vec::new();
        for function in self.functions() {
            for &form in function.forms() {
                for name in function.full_names(form) {
                    names.push(format!("P{name}"));
                    names.push(name);
                }
            }
        }
        names.sort();
        names
    }
}
