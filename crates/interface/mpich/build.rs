//! Writes the functions, constants and handle tables of MPICH's ABI.

use std::fmt::Write;
use std::path::Path;
use tern_face::generator::{AbiFacts, entries, facts, stub, values};

/// What marks an error code that the program has added: above MPI_ERR_LASTCODE.
const ADDED_CODES: i64 = 0x4000_0000;

fn main() {
    println!("cargo:rerun-if-changed={}", tern_table::folder().display());
    println!("cargo:rerun-if-changed=facts");
    let tables = tern_table::Tables::read();
    let facts = AbiFacts::read(Path::new("facts/constants.txt"));
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let out = Path::new(&out);
    let write = |name: &str, text: String| std::fs::write(out.join(name), text).expect("writing to OUT_DIR");
    write("entries.rs", entries(&tables, &[]));
    write("values.rs", values(&tables, &facts, "Mpich", ADDED_CODES));
    write("handles.rs", handles(&tables, &facts));
    stub::link(out, "libmpi.so.12");
}

/// The predefined handles: this face's value for each of the standard's.
fn handles(tables: &tern_table::Tables, facts: &AbiFacts) -> String {
    let mut text = String::from("/// Standard handle, MPICH's.\npub const PREDEFINED_HANDLES: &[(usize, u32)] = &[\n");
    for (ty, name, standard) in facts::handles(tables) {
        let Some(own) = facts.number(&name).filter(|_| ty != "MPI_File") else { continue };
        let _ = writeln!(text, "    ({standard:#x}, {:#x}), // {name}", own as u32);
    }
    text.push_str("];\n");
    let half = facts.number("MPIX_C_FLOAT16").expect("MPIX_C_FLOAT16 among the facts");
    let _ = writeln!(text, "pub const C_FLOAT16: u32 = {half:#x};");
    text
}
