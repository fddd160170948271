//! What the build script of a library of Fortran procedures does.

use crate::entries::{F08, declarations, entries};
use std::path::Path;
use std::process::Command;
use std::{env, fs};
use tern_table::Tables;

/// Writes the procedures into OUT_DIR, and links the library `soname` with the C library `of`: with a stand-in that
/// has its names, since cargo builds no library for another one to link with.
pub fn build(soname: &str, of: &str, f08: F08) {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let out = Path::new(&out);
    let tables = Tables::read();
    let write = |name: &str, text: String| fs::write(out.join(name), text).expect("writing to OUT_DIR");
    write("entries.rs", entries(&tables, f08));
    write("c.rs", declarations(&tables));
    write("core.rs", tern_table::core::declaration(&tables));

    let mut names = tables.symbols();
    // Open MPI's and MPICH's: conversions of handles.
    for class in ["Comm", "Group", "Type", "Op", "Errhandler", "Info", "Request", "Message", "Win", "File"] {
        for tool in ["MPI", "PMPI"] {
            names.extend([format!("{tool}_{class}_f2c"), format!("{tool}_{class}_c2f")]);
        }
    }
    let functions: String = names.iter().map(|name| format!("void {name}(void) {{}}\n")).collect();
    write("stand_in.c", functions + "void *MPI_UNWEIGHTED, *MPI_WEIGHTS_EMPTY;\n");
    let library = out.join("libstand_in.so");
    let mut command = Command::new(tern_table::c_compiler());
    command.args(["-shared", "-fPIC", "-nostdlib", "-o"]).arg(&library).arg(out.join("stand_in.c"));
    command.arg(format!("-Wl,-soname,{of}"));
    assert!(command.status().expect("a C compiler").success(), "{command:?}");
    println!("cargo:rustc-cdylib-link-arg={}", library.display());
    tern_table::link(soname);
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags");
    // A program calls few of the C functions: each is looked up at its first call.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,lazy");
    println!("cargo:rerun-if-changed={}", tern_table::folder().display());
    println!("cargo:rerun-if-changed=build.rs");
}
