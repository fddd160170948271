//! The library exports the functions of the header and nothing else, under its standard name, and reaches its own
//! functions by no symbol.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that TERN_TEST_LIBRARY names, else that of this profile, built if it is not.
fn library() -> PathBuf {
    if let Some(library) = std::env::var_os("TERN_TEST_LIBRARY") {
        return library.into();
    }
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "-p", "tern-abi", "--manifest-path"]);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    assert!(command.status().unwrap().success(), "{command:?}");
    // This test lies in deps/ of the same folder.
    let tests = std::env::current_exe().unwrap();
    tests.parent().and_then(Path::parent).unwrap().join("libmpi_abi.so")
}

fn output(program: &str, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(program).args(arguments).arg(file).output();
    let output = output.unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Names that the checked-in header declares.
fn declared() -> Vec<String> {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include/mpi.h");
    let text = std::fs::read_to_string(header).unwrap();
    let functions = text.split("/* ---- Functions ---- */").nth(1).unwrap();
    // What the header itself defines comes behind them.
    let functions = functions.split("/* ---- ").next().unwrap();
    let words = functions.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '(');
    let mut names: Vec<String> = words
        .filter_map(|word| word.split_once('(').map(|(name, _)| name))
        .filter(|name| ["MPI_", "PMPI_", "MPIX_", "PMPIX_"].iter().any(|prefix| name.starts_with(prefix)))
        .map(String::from)
        .collect();
    names.sort();
    names
}

/// Names of section 19.3: variables and functions.
fn fortran() -> Vec<String> {
    let kinds = ["Comm", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Type", "Win"];
    let handles = kinds.iter().flat_map(|kind| [format!("{kind}_c2f"), format!("{kind}_f2c")]);
    let statuses = ["c2f", "f2c", "c2f08", "f082c", "f2f08", "f082f"].map(|name| format!("Status_{name}"));
    let functions = handles.chain(statuses).flat_map(|name| [format!("MPI_{name}"), format!("PMPI_{name}")]);
    let variables = ["F_STATUS_IGNORE", "F_STATUSES_IGNORE", "F08_STATUS_IGNORE", "F08_STATUSES_IGNORE"];
    functions.chain(variables.map(|name| format!("MPI_{name}"))).collect()
}

/// What MPI-3.0 removed, for programs that were linked with a library which has it.
fn removed() -> Vec<String> {
    let types = ["extent", "lb", "ub", "hindexed", "hvector", "struct"].map(|name| format!("Type_{name}"));
    let handlers = ["create", "get", "set"].map(|name| format!("Errhandler_{name}"));
    let names = types.into_iter().chain(handlers).chain(["Address".into()]);
    names.flat_map(|name| [format!("MPI_{name}"), format!("PMPI_{name}")]).collect()
}

/// What programs ask for memory of graphics cards by, in other libraries.
fn graphics() -> impl Iterator<Item = String> {
    let cards = ["cuda", "hip", "rocm", "ze"].map(|card| format!("MPIX_Query_{card}_support"));
    cards.into_iter().chain(["MPIX_GPU_query_support".into()])
}

#[test]
fn exactly_the_functions_of_the_header_are_exported() {
    let library = library();
    let listing = output("nm", &["-D", "--defined-only", "--format=posix"], &library);
    let mut exported: Vec<String> =
        listing.lines().filter_map(|line| line.split(' ').next()).map(String::from).collect();
    exported.sort();
    let declared = declared();
    assert_eq!(declared, tern_table::Tables::read().symbols());
    let missing: Vec<_> = declared.iter().filter(|name| exported.binary_search(name).is_err()).collect();
    assert!(missing.is_empty(), "declared, not exported: {missing:?}");
    // The way of the faces to the core, and what headers of other libraries declare for callers in Fortran.
    let core = tern_table::core::NO_MEMORY.into_iter().chain([tern_table::core::SYMBOL]);
    // What debuggers look for in a process.
    let core = core.chain(["MPIR_dll_name", "tern_queues"]);
    let others: Vec<String> =
        fortran().into_iter().chain(removed()).chain(graphics()).chain(core.map(String::from)).collect();
    let missing: Vec<_> = others.iter().filter(|name| exported.binary_search(name).is_err()).collect();
    assert!(missing.is_empty(), "not exported: {missing:?}");
    exported.retain(|name| !others.contains(name));
    let stray: Vec<_> = exported.iter().filter(|name| declared.binary_search(name).is_err()).collect();
    assert!(stray.is_empty(), "exported, not declared: {stray:?}");
}

#[test]
fn the_library_has_its_standard_name() {
    let dynamic = output("readelf", &["-d"], &library());
    assert!(dynamic.contains("[libmpi_abi.so.1]"), "{dynamic}");
}

/// A face or a tool may define any of the functions too. A reference by symbol would lead there.
#[test]
fn the_library_reaches_its_own_functions_by_no_symbol() {
    let library = library();
    let declared = declared();
    // Offset, info, type, value of the symbol, name, `+`, addend.
    let relocations = output("readelf", &["--relocs", "--wide"], &library);
    let names = relocations.lines().filter_map(|line| line.split_whitespace().nth(4));
    let own: Vec<_> = names.filter(|name| declared.binary_search(&name.to_string()).is_ok()).collect();
    assert!(relocations.contains(" R_"), "{relocations}");
    assert!(own.is_empty(), "by symbol: {own:?}");
}
