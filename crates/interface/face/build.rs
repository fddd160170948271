//! Writes the type of the core's table of functions.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed={}", tern_table::folder().display());
    let text = tern_table::core::declaration(&tern_table::Tables::read());
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join("core.rs"), text).expect("writing core.rs");
}
