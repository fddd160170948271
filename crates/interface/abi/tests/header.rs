//! `include/mpi.h` is good C and C++, and says what the ABI headers of MPICH and Intel MPI say.
//!
//! Those headers are looked for in TERN_PEERS_DIR (folders `mpich` and `impi`), else taken from the
//! packages `mpich` and `impi-devel` on PyPI; when neither can be had, the comparison is skipped and
//! says so.

#[path = "../generator/mod.rs"]
mod generator;
#[path = "support/peer_headers.rs"]
mod peer_headers;

use generator::header;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tern_table::Tables;
use tern_table::constants::Form;

fn tables() -> Tables {
    Tables::read()
}

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include")
}

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn compile(compiler: &str, include: &Path, source: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(compiler);
    command.arg("-I").arg(include).arg(source).args(arguments);
    command.output().unwrap_or_else(|e| panic!("{compiler}: {e}"))
}

fn assert_compiles(compiler: &str, include: &Path, source: &Path, arguments: &[&str]) {
    let output = compile(compiler, include, source, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} {arguments:?}:\n{said}");
}

#[test]
fn the_header_is_strict_c_and_cxx() {
    let dir = scratch("strict");
    let text = "#include <mpi.h>\nint main(void) { MPI_Comm c = MPI_COMM_WORLD; return c == MPI_COMM_NULL; }\n";
    for (compiler, name, standards) in
        [("cc", "strict.c", ["-std=c89", "-std=c17"]), ("c++", "strict.cc", ["-std=c++98", "-std=c++20"])]
    {
        let source = dir.join(name);
        std::fs::write(&source, text).unwrap();
        for standard in standards {
            let flags = [standard, "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"];
            assert_compiles(compiler, &include(), &source, &flags);
        }
    }
}

/// A program that prints every constant and the layout of the types.
fn printer(tables: &Tables) -> String {
    let mut body = String::new();
    for group in tables.constants.iter().filter(|group| !group.extension) {
        for constant in &group.constants {
            let cast = if matches!(group.form, Form::Enum(_) | Form::Define) { "" } else { "(intptr_t)" };
            let name = &constant.name;
            let _ = writeln!(body, "    printf(\"{name} %lld\\n\", (long long){cast}{name});");
        }
    }
    for ty in ["MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Status", "MPI_Comm", "MPI_T_cb_safety"] {
        let _ = writeln!(body, "    printf(\"sizeof {ty} %zu\\n\", sizeof({ty}));");
    }
    for field in ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal"] {
        let _ = writeln!(body, "    printf(\"offset {field} %zu\\n\", offsetof(MPI_Status, {field}));");
    }
    format!("#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{{\n{body}    return 0;\n}}\n")
}

/// What the printer says with the `mpi.h` in `include`.
fn printed(tables: &Tables, include: &Path, dir: &Path, name: &str) -> Vec<String> {
    let (source, program) = (dir.join(format!("{name}.c")), dir.join(name));
    std::fs::write(&source, printer(tables)).unwrap();
    assert_compiles("cc", include, &source, &["-o", program.to_str().unwrap()]);
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect()
}

/// Where a peer's header is known to differ, and why.
struct Peer {
    name: &'static str,
    package: &'static str,
    constants: &'static [&'static str],
    prototypes: &'static [&'static str],
}

/// Both have only the large-count form of these, under the plain name; the Forum's errata
/// (mpi-abi-stubs) have both forms.
const PARTITIONED: [&str; 2] = ["MPI_Precv_init", "MPI_Psend_init"];

const MPICH: Peer = Peer { name: "mpich", package: "mpich==5.0.2", constants: &[], prototypes: &PARTITIONED };

/// Intel's is from before the Forum corrected values in its header (mpi-abi-stubs, pull request
/// 72), and lacks a `const` where MPI 5.0 has it.
const INTEL: Peer = Peer {
    name: "impi",
    package: "impi-devel==2021.18.1",
    constants: &[
        "MPI_ERRORS_ABORT",
        "MPI_ERRORS_RETURN",
        "MPI_SEEK_SET",
        "MPI_SEEK_CUR",
        "MPI_SEEK_END",
        "MPI_APPNUM",
        "MPI_LASTUSEDCODE",
        "MPI_UNIVERSE_SIZE",
    ],
    prototypes: &[
        PARTITIONED[0],
        PARTITIONED[1],
        "MPI_Request_get_status_all",
        "MPI_Request_get_status_any",
        "MPI_Request_get_status_some",
        "MPI_Status_get_error",
        "MPI_Status_get_source",
        "MPI_Status_get_tag",
    ],
};

fn compare(peer: &Peer) {
    let Some(theirs) = peer_headers::find(peer.name, peer.package) else { return };
    let tables = tables();
    let dir = scratch(peer.name);
    std::fs::copy(&theirs, dir.join("mpi.h")).unwrap();
    compare_constants(peer, &tables, &dir);
    compare_prototypes(peer, &tables, &dir);
    compare_names(&tables, &std::fs::read_to_string(&theirs).unwrap());
}

fn compare_constants(peer: &Peer, tables: &Tables, dir: &Path) {
    let ours = printed(tables, &include(), dir, "ours");
    let theirs = printed(tables, dir, dir, "theirs");
    assert!(ours.len() > 370 && ours.len() == theirs.len(), "{} and {} lines", ours.len(), theirs.len());
    let mut different: Vec<&str> =
        ours.iter().zip(&theirs).filter(|(a, b)| a != b).map(|(a, _)| a.split(' ').next().unwrap()).collect();
    different.sort();
    let mut known = peer.constants.to_vec();
    known.sort();
    assert_eq!(different, known, "constants that differ from those of {}", peer.name);
}

/// Declares our prototypes and callback types after theirs: C refuses what does not agree.
fn compare_prototypes(peer: &Peer, tables: &Tables, dir: &Path) {
    let mut text = String::from("#include <mpi.h>\n");
    text.push_str(&header::callback_types());
    for (name, prototype) in header::prototypes(tables) {
        if !peer.prototypes.contains(&name.as_str()) {
            let _ = writeln!(text, "{prototype}");
        }
    }
    let source = dir.join("prototypes.c");
    std::fs::write(&source, &text).unwrap();
    assert_compiles("cc", dir, &source, &["-std=c11", "-fsyntax-only"]);
    // The exceptions are real: with them, C does refuse.
    for (name, prototype) in header::prototypes(tables) {
        if peer.prototypes.contains(&name.as_str()) {
            std::fs::write(&source, format!("#include <mpi.h>\n{prototype}\n")).unwrap();
            let output = compile("cc", dir, &source, &["-fsyntax-only"]);
            assert!(!output.status.success(), "{name} agrees with {} now", peer.name);
        }
    }
}

/// Every function that they declare is declared by us.
fn compare_names(tables: &Tables, theirs: &str) {
    let ours = tables.symbols();
    let mut seen = 0;
    for line in theirs.lines().filter(|line| !line.starts_with([' ', '#', '/', '*']) && !line.starts_with("typedef")) {
        let Some(before) = line.split('(').next().filter(|_| line.contains('(')) else { continue };
        let name = before.split_whitespace().next_back().unwrap_or("");
        let is_function = name.starts_with("MPI_") || name.starts_with("PMPI_");
        // Of Fortran's handles, which MPI 5.0 leaves to a library of their own.
        if is_function && !name.ends_with("_f2c") && !name.ends_with("_c2f") {
            assert!(ours.binary_search(&name.to_string()).is_ok(), "{name} is missing");
            seen += 1;
        }
    }
    assert!(seen >= 1324, "only {seen} functions found in the peer's header");
}

#[test]
fn the_header_agrees_with_mpich() {
    compare(&MPICH);
}

#[test]
fn the_header_agrees_with_intel_mpi() {
    compare(&INTEL);
}
