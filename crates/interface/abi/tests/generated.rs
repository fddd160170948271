//! The files that are made from the tables and checked in are up to date.
//! `UPDATE=1 cargo test -p tern-abi --test generated` writes them.

#[path = "../generator/mod.rs"]
mod generator;

use generator::header;
use std::path::{Path, PathBuf};
use tern_table::{Tables, constants};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn tables() -> Tables {
    Tables::read()
}

/// Compares `text` with the file, or writes it when asked to.
fn same(path: &str, text: &str) {
    let path = root().join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let line = found.lines().zip(text.lines()).position(|(a, b)| a != b).map(|at| at + 1);
    assert!(
        found == text,
        "{} does not follow from crates/interface/table/tables (line {line:?}): UPDATE=1 writes it anew",
        path.display()
    );
}

#[test]
fn the_header_follows_from_the_tables() {
    same("include/mpi.h", &header::header(&tables()));
}

#[test]
fn the_constants_follow_from_the_table() {
    same("crates/core/mpi/src/constants.rs", &constants::rust(&tables().constants));
}

#[test]
fn the_tables_have_every_function_of_the_standard() {
    let tables = tables();
    let standard = || tables.functions().filter(|function| function.is_standard());
    let (small, large) = (standard().count(), standard().filter(|f| f.large).count());
    assert_eq!(small + large, 664, "{small} functions, {large} of them with a large-count form");
    let symbols = tables.symbols();
    let (own, extensions): (Vec<&String>, Vec<&String>) = symbols.iter().partition(|name| {
        let base = name.split_once('_').expect("a prefix").1;
        standard().any(|f| f.forms().iter().any(|&form| f.c_name(form) == base))
    });
    assert_eq!((own.len(), extensions.len()), (1328, 26));
    assert!(symbols.windows(2).all(|pair| pair[0] < pair[1]), "a function is there twice");
}

#[test]
fn every_kind_is_used_and_no_two_have_one_name() {
    let tables = tables();
    for (at, kind) in tables.kinds.iter().enumerate() {
        let used = tables.functions().flat_map(|f| &f.params).any(|param| param.kind == at);
        assert!(used, "kind {} is used by no function", kind.name);
        assert!(tables.kinds[..at].iter().all(|other| other.name != kind.name), "kind {} is there twice", kind.name);
    }
}

#[test]
fn only_functions_whose_forms_differ_have_two() {
    let tables = tables();
    for function in tables.functions() {
        let varies = function.params.iter().any(|param| tables.kind(param).varies());
        assert_eq!(function.large, varies, "MPI_{}: a large-count form, but do its parameters differ?", function.name);
    }
}
