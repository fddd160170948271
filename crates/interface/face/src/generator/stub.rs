//! The stand-in for libmpi_abi.so.1 that faces are linked with: cargo builds no library for another one to link with,
//! and the name and a few symbols are all that the linker needs.

use std::path::Path;
use std::process::Command;

/// Makes the stand-in in `folder` and tells cargo to link with it, by the name `soname` and with what is beside it.
pub fn link(folder: &Path, soname: &str) {
    let source = folder.join("core.c");
    let functions: String = tern_table::core::NO_MEMORY.map(|name| format!("void {name}(void) {{}}\n")).concat();
    std::fs::write(&source, format!("char {}[1];\n{functions}", tern_table::core::SYMBOL)).expect("writing core.c");
    let library = folder.join("libmpi_abi.so.1");
    let mut command = Command::new(tern_table::c_compiler());
    command.args(["-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "-o"]).arg(&library).arg(&source);
    assert!(command.status().expect("a C compiler").success(), "{command:?}");
    println!("cargo:rustc-cdylib-link-arg={}", library.display());
    tern_table::link(soname);
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--enable-new-dtags");
}
