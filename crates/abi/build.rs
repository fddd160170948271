//! Writes the C entry points from the tables, and names the library as the standard ABI asks.

#[path = "generator/mod.rs"]
mod generator;

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed={}", tern_table::folder().display());
    println!("cargo:rerun-if-changed=generator");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    // The library's own references to its functions stay in it. The compiler may put an exported function for a private one
    // that does the same; by the symbol, the table for the faces would then lead to a function of a face, and back.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    let tables = tern_table::Tables::read();
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let text = generator::entries::entries(&tables) + &generator::entries::core_table(&tables);
    std::fs::write(Path::new(&out).join("entries.rs"), text).expect("writing entries.rs");
}
