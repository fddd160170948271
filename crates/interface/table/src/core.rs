//! The table of functions by which the faces of other binary interfaces reach the core: `tern_core_3` in
//! libmpi_abi.so.1. The core's crate and the faces' crates each make the Rust text of it from here, so that both agree.
//! A face knows of the core nothing but this table and the standard ABI's C types.

use crate::Tables;
use crate::function::Function;
use std::fmt::Write;

/// Functions beside those of the standard: name, Rust parameters, Rust result.
const EXTRAS: [(&str, &str, &str); 7] = [
    // An operation whose function gets `state`, vectors of at most `most` elements, and the standard handle of the
    // datatype; `release` takes the state back.
    (
        "op_create_stated",
        "call: unsafe extern \"C\" fn(Ptr, Ptr, Ptr, i64, Handle), state: Ptr, \
         release: Option<unsafe extern \"C\" fn(Ptr)>, most: i64, commute: c_int, op: *mut Handle",
        "c_int",
    ),
    // An error handler whose function gets `state`, a standard handle, and a standard code, which it may change. Kinds:
    // 0 communicators, 1 windows, 2 files, 3 sessions.
    (
        "errhandler_create_stated",
        "kind: c_int, call: unsafe extern \"C\" fn(Ptr, *mut Handle, *mut c_int), state: Ptr, \
         release: Option<unsafe extern \"C\" fn(Ptr)>, errhandler: *mut Handle",
        "c_int",
    ),
    // How many processes a communicator's collectives speak with: the size of the remote or only group; -1 for what is
    // no communicator.
    ("peers", "comm: Handle", "i64"),
    // The number of neighbours that a process receives from and sends to; -1 for what has no topology.
    ("neighbors", "comm: Handle, sources: *mut i64, destinations: *mut i64", "()"),
    // How many error codes this thread's last spawn has filled in.
    ("spawn_codes", "", "i64"),
    // The process's own rank in a communicator; -1 for what is none.
    ("own_rank", "comm: Handle", "c_int"),
    // Steps around each round of a request that a collective has just given: `before` when a persistent one starts,
    // `after` when a round is complete. Both get `state`; `release` takes it back.
    (
        "request_around",
        "request: Handle, before: Option<unsafe extern \"C\" fn(Ptr)>, after: unsafe extern \"C\" fn(Ptr), state: Ptr, \
         release: Option<unsafe extern \"C\" fn(Ptr)>",
        "c_int",
    ),
];

/// The name of the table as a symbol. A change of anything in the table needs another number.
pub const SYMBOL: &str = "tern_core_3";

/// The functions of the core beside the table, for a library that has no memory left: one ends the job, one raises MPI_ERR_NO_MEM.
pub const NO_MEMORY: [&str; 2] = ["tern_out_of_memory", "tern_no_memory"];

/// The names of the table's functions, in its order, with parameters and result as Rust types.
fn rows(tables: &Tables) -> Vec<(String, String, String)> {
    let mut rows = Vec::new();
    for function in tables.functions() {
        for &large in function.forms() {
            let params: Vec<String> =
                function.params.iter().map(|p| format!("{}: {}", p.name, tables.kind(p).ffi(large))).collect();
            rows.push((function.c_name(large).to_lowercase(), params.join(", "), rust_return(function).into()));
        }
    }
    rows.extend(EXTRAS.map(|(name, params, result)| (name.into(), params.into(), result.into())));
    rows
}

/// The Rust type of what a function of the standard returns.
pub fn rust_return(function: &Function) -> &'static str {
    match function.returns.as_str() {
        "" => "c_int",
        "double" => "f64",
        "aint" => "i64",
        _ => "Handle",
    }
}

/// The type of the table, `Core`. The names `Ptr`, `Handle` and `c_int` are to be in scope.
pub fn declaration(tables: &Tables) -> String {
    let mut out = String::from(
        "/// The functions of the core, with the standard ABI's values.\n#[repr(C)]\npub struct Core {\n    \
         /// How many bytes this table has.\n    pub size: usize,\n",
    );
    for (name, params, result) in rows(tables) {
        let _ = writeln!(out, "    pub {name}: unsafe extern \"C\" fn({params}) -> {result},");
    }
    out.push_str("}\n");
    out
}

/// The table itself; `path` gives the function for a name of the table.
pub fn definition(tables: &Tables, path: impl Fn(&str) -> String) -> String {
    let mut out = format!(
        "/// See tern_table::core.\n#[unsafe(no_mangle)]\n#[allow(non_upper_case_globals)]\n\
         pub static {SYMBOL}: Core = Core {{\n    size: size_of::<Core>(),\n"
    );
    for (name, ..) in rows(tables) {
        let _ = writeln!(out, "    {name}: {},", path(&name));
    }
    out.push_str("};\n");
    out
}

/// The functions of the standard with their names, `NAMED`: where each is, and what programs call it. `At` is to be in scope.
pub fn names(tables: &Tables, path: impl Fn(&str) -> String) -> String {
    let mut out = String::from("/// See tern_table::core.\npub static NAMED: &[(At, &str)] = &[\n");
    for function in tables.functions() {
        for &large in function.forms() {
            let (name, path) = (function.full_name(large), path(&function.c_name(large).to_lowercase()));
            let _ = writeln!(out, "    (At({path} as *const ()), \"{name}\"),");
        }
    }
    out.push_str("];\n");
    out
}

/// True for the functions of the table that are none of the standard.
pub fn is_extra(name: &str) -> bool {
    EXTRAS.iter().any(|row| row.0 == name)
}
