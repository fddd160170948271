//! The table of crates in docs/architecture.md: what each is, by its manifest, and which it uses. `TERN_TEST_WRITE=1 cargo test -p tern-bench
//! --test layers` writes it anew.

use crate::{FLOORS, PROGRAMS, metadata, sources};
use serde_json::Value;
use std::fmt::Write;

const BEGIN: &str = "<!-- The crates: made from their manifests, by the test `layers`. -->\n";
const END: &str = "<!-- The end of the crates. -->\n";

/// A name as the table has it.
fn short(name: &str) -> &str {
    name.trim_start_matches("tern-")
}

/// The crates that a package is built with, in the order of the layers.
fn used(package: &Value, order: &[&str]) -> String {
    let dependencies = package["dependencies"].as_array().expect("a list of dependencies");
    let named: Vec<&str> = dependencies
        .iter()
        .filter(|dependency| dependency["kind"] != "dev")
        .filter_map(|dependency| dependency["name"].as_str())
        .collect();
    let names = order.iter().filter(|name| named.contains(name));
    names.map(|name| format!("`{}`", short(name))).collect::<Vec<_>>().join(" ")
}

/// One table.
fn rows(names: &[&str], packages: &[Value], order: &[&str]) -> String {
    let mut text = String::from("| crate | what it is | uses |\n|---|---|---|\n");
    for name in names {
        let package = packages.iter().find(|package| package["name"] == *name).expect("a package for each name");
        let about = package["description"].as_str().expect("a description");
        writeln!(text, "| `{}` | {about} | {} |", short(name), used(package, order)).expect("text");
    }
    text
}

/// All tables, with their headings.
fn tables() -> String {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let order: Vec<&str> = FLOORS.iter().flat_map(|floor| floor.layers.concat()).collect();
    let mut text = String::new();
    for floor in FLOORS {
        let rows = rows(&floor.layers.concat(), packages, &order);
        writeln!(text, "\n### `{}`\n\n{}\n\n{}", floor.name, floor.about, rows.trim_end()).expect("text");
    }
    let rows = rows(PROGRAMS, packages, &order);
    writeln!(text, "\n### `tools`\n\nPrograms. They use any crate, and no crate uses them.\n\n{}", rows.trim_end())
        .expect("text");
    text
}

#[test]
fn the_page_lists_the_crates_as_they_are() {
    let file = sources::root().join("docs/architecture.md");
    let page = std::fs::read_to_string(&file).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the beginning of the tables");
    let (known, behind) = rest.split_once(END).expect("the end of the tables");
    let now = tables();
    if std::env::var_os("TERN_TEST_WRITE").is_some() {
        std::fs::write(file, [before, BEGIN, &now, END, behind].concat()).expect("the page is written");
        return;
    }
    assert_eq!(known, now, "docs/architecture.md: TERN_TEST_WRITE=1 writes the tables of crates anew");
}
