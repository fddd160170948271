//! Writes the procedures, and links with the C library: with a stand-in that has its names, so that the real one
//! need not be built before.

use std::path::Path;
use std::process::Command;
use std::{env, fs};
use tern_table::Tables;

fn main() {
    let out = env::var("OUT_DIR").expect("OUT_DIR");
    let out = Path::new(&out);
    let tables = Tables::read();
    let write = |name: &str, text: String| fs::write(out.join(name), text).expect("OUT_DIR takes files");
    write("entries.rs", tern_fortran::entries::entries(&tables));
    write("c.rs", tern_fortran::entries::declarations(&tables));

    let names: String = tables.symbols().iter().map(|name| format!("void {name}(void) {{}}\n")).collect();
    write("stand_in.c", names);
    let library = out.join("libmpi_abi.so");
    let compiler = env::var("CC").unwrap_or("cc".into());
    let status = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-o"])
        .args([library.as_path(), out.join("stand_in.c").as_path()])
        .status();
    assert!(status.is_ok_and(|s| s.success()), "{compiler} makes no shared library");
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=dylib=mpi_abi");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpifort_abi.so.1");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags");
    // A program calls few of the C functions: each is looked up at its first call.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,lazy");
    println!("cargo:rerun-if-changed={}", tern_table::folder().display());
    println!("cargo:rerun-if-changed=build.rs");
}
