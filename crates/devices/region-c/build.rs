//! The name of the library for the loader.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtern_region.so.1");
    // Threads of the library may go on when the part of a program is closed that has used it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=build.rs");
}
