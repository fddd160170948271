//! The name of the library for the loader.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtern_region.so.1");
    println!("cargo:rerun-if-changed=build.rs");
}
