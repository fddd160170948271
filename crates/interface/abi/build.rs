//! Writes the C entry points from the tables, and names the library as the standard ABI asks.

#[path = "generator/mod.rs"]
mod generator;

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed={}", tern_table::folder().display());
    println!("cargo:rerun-if-changed=generator");
    tern_table::link("libmpi_abi.so.1");
    let tables = tern_table::Tables::read();
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let text = generator::entries::entries(&tables) + &generator::entries::core_table(&tables);
    std::fs::write(Path::new(&out).join("entries.rs"), text).expect("writing entries.rs");
}
