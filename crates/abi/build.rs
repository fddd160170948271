//! Writes the C entry points from the tables, and names the library as the standard ABI asks.

#[path = "generator/mod.rs"]
mod generator;

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=table");
    println!("cargo:rerun-if-changed=generator");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tables = generator::Tables::read(&here.join("table"));
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let text = generator::entries::entries(&tables);
    std::fs::write(Path::new(&out).join("entries.rs"), text).expect("writing entries.rs");
}
