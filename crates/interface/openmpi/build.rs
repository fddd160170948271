//! Writes the functions, constants and predefined objects of Open MPI's ABI.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use tern_face::generator::{AbiFacts, entries, facts, stub, values};

fn main() {
    println!("cargo:rerun-if-changed={}", tern_table::folder().display());
    println!("cargo:rerun-if-changed=facts");
    let tables = tern_table::Tables::read();
    let mut facts = AbiFacts::read(Path::new("facts/constants.txt"));
    // The header says 3.1 and has most of 4.0, which programs find out by the version.
    facts.set("MPI_VERSION", "4");
    facts.set("MPI_SUBVERSION", "0");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let out = Path::new(&out);
    let write = |name: &str, text: String| std::fs::write(out.join(name), text).expect("writing to OUT_DIR");
    write("entries.rs", entries(&tables, &[]));
    // Codes that programs add are above MPI_ERR_LASTCODE as they are.
    write("values.rs", values(&tables, &facts, "OpenMpi", 0));
    write("objects.rs", objects(&tables, &facts));
    write("fortran.rs", fortran(&tables, &AbiFacts::read(Path::new("facts/fortran.txt"))));
    stub::link(out, "libmpi.so.40");
}

/// A number that no handle has: the core refuses it.
const NOTHING: usize = 0xffe;

/// Objects of Open MPI whose name no constant of the standard has: the object, its bytes, the standard handle.
const BESIDE: [(&str, i64, usize); 12] = [
    // MPI_LB and MPI_UB, which MPI-3.0 removed.
    ("ompi_mpi_lb", 512, 0x2fe),
    ("ompi_mpi_ub", 512, 0x2ff),
    ("ompi_mpi_c_complex", 512, 0x212),
    ("ompi_mpi_ldblcplex", 512, 0x224),
    ("ompi_mpi_real2", 512, 0x2ca),
    ("ompi_mpi_complex4", 512, 0x2d3),
    ("ompi_mpi_integer16", 512, 0x2e1),
    ("ompi_mpi_2cplex", 512, NOTHING),
    ("ompi_mpi_2dblcplex", 512, NOTHING),
    ("ompi_mpi_short_float", 512, 0x2ca),
    ("ompi_mpi_c_short_float_complex", 512, 0x2d3),
    // No exception crosses the core: the job ends with a message.
    ("ompi_mpi_errors_throw_exceptions", 1024, 0x141),
];

/// The predefined objects, each with the standard handle as its first word; and the list of their addresses by that.
fn objects(tables: &tern_table::Tables, facts: &AbiFacts) -> String {
    // Several standard handles may be one object here; the object stands for the first.
    let mut by_symbol: BTreeMap<&str, usize> = BTreeMap::new();
    let mut addresses = Vec::new();
    for (_, name, standard) in facts::handles(tables) {
        let Some(symbol) = facts.get(&name) else { continue };
        by_symbol.entry(symbol).or_insert(standard as usize);
        addresses.push((standard, symbol));
    }
    for (symbol, _, standard) in BESIDE {
        by_symbol.entry(symbol).or_insert(standard);
    }
    let mut text = String::new();
    for (symbol, standard) in &by_symbol {
        let beside = BESIDE.iter().find(|row| row.0 == *symbol).map(|row| row.1);
        let size = facts.number(&format!("size({symbol})")).or(beside);
        let size = size.unwrap_or_else(|| panic!("no size of {symbol}"));
        let _ = writeln!(
            text,
            "#[unsafe(no_mangle)]\npub static {symbol}: Object<{}> = Object::new({standard:#x});",
            size / 8 - 1
        );
    }
    text.push_str("/// Standard handle, address of the object.\npub static OBJECTS: &[(usize, Address)] = &[\n");
    for (standard, symbol) in &addresses {
        let _ = writeln!(text, "    ({standard:#x}, Address(&raw const {symbol} as *const ())),");
    }
    let _ = writeln!(text, "    (0x2ca, Address(&raw const ompi_mpi_short_float as *const ())),");
    let _ = writeln!(text, "    (0x2d3, Address(&raw const ompi_mpi_c_short_float_complex as *const ())),");
    let _ = writeln!(text, "    (0x2fe, Address(&raw const ompi_mpi_lb as *const ())),");
    let _ = writeln!(text, "    (0x2ff, Address(&raw const ompi_mpi_ub as *const ())),");
    text.push_str("];\n");
    text
}

/// Fortran's numbers of the predefined handles: kind, standard handle, number.
fn fortran(tables: &tern_table::Tables, facts: &AbiFacts) -> String {
    let mut text = String::from("pub const NUMBERS: &[(Kind, usize, i32)] = &[\n");
    for (ty, name, standard) in facts::handles(tables) {
        if let Some(number) = facts.number(&name) {
            let _ = writeln!(text, "    (Kind::{}, {standard:#x}, {number}),", &ty[4..]);
        }
    }
    text.push_str("];\n");
    text
}
