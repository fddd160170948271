//! Without libfabric, or with something else in its place, the device says what can be done. Each in a process of its
//! own, since one library is loaded for good.

use std::process::Command;
use tern_ofi::{Endpoint, Settings};

/// The error of a process of its own that loads the library of that name.
fn error_of(library: &str) -> String {
    let program = std::env::current_exe().expect("this program");
    let arguments = ["--exact", "opens_what_it_is_told", "--nocapture", "--ignored"];
    let output = Command::new(program).args(arguments).env("TERN_LIBFABRIC", library).output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "it is run by the other tests"]
fn opens_what_it_is_told() {
    let Ok(library) = std::env::var("TERN_LIBFABRIC") else { return };
    let settings = Settings { library: Some(library), ..Settings::default() };
    println!("{}", Endpoint::open(0, 1, &settings).err().map_or("opened".into(), |error| error.to_string()));
}

#[test]
fn a_missing_library_is_told_with_the_remedy() {
    let error = error_of("/nowhere/libfabric.so.1");
    assert!(error.contains("/nowhere/libfabric.so.1") && error.contains("TERN_LIBFABRIC"), "{error}");
}

#[test]
fn another_library_is_told_with_the_remedy() {
    let error = error_of("libc.so.6");
    assert!(error.contains("no libfabric") && error.contains("TERN_LIBFABRIC"), "{error}");
}
