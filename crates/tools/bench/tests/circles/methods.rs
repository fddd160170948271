//! Files that call each other's methods of one type: a type whose methods are spread over files is read file by file only where these form no circle.
//!
//! The file beside a folder holds the type, so what a file of the folder calls of it is no step of a circle. Methods are known by their names: a call
//! counts where the type has one method of that name.

use crate::{Graph, code, on_circles, sources, word};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Crates with such circles, and how many of their files lie on one. All others have none, and a number only falls.
#[rustfmt::skip]
const OPEN: &[(&str, usize)] = &[
    ("adi", 22),
    ("coll", 3),
    ("hca", 2),
    ("launch", 10),
    ("ofi", 4),
    ("region", 2),
    ("rma", 13),
    ("shm", 8),
    ("verbs", 3),
];

/// Files beside all folders.
const ROOTS: [&str; 2] = ["lib", "main"];

/// The implementations of a file: of which type, and what stands inside.
fn implementations(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        match &mut open {
            None if line.starts_with("impl") || line.starts_with("unsafe impl") => {
                // An implementation of a trait is one of the type behind `for`.
                let head = line.split_once("impl").map_or("", |(_, rest)| rest);
                let head = head.split_once(" for ").map_or_else(|| behind_generics(head), |(_, of)| of);
                open = Some((word(head.trim_start_matches(['&', ' '])), String::new()));
                if line.ends_with("{}") {
                    open = None;
                }
            }
            Some(_) if line == "}" => found.extend(open.take()),
            Some((_, inside)) => {
                inside.push_str(line);
                inside.push('\n');
            }
            None => {}
        }
    }
    found
}

/// What stands behind `<...>`, if a text begins with that.
fn behind_generics(text: &str) -> &str {
    let text = text.trim_start();
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        depth += i32::from(letter == '<') - i32::from(letter == '>');
        if depth == 0 {
            return if at == 0 { text } else { text[at + 1..].trim_start() };
        }
    }
    text
}

/// The functions that an implementation has.
fn defined(inside: &str) -> impl Iterator<Item = String> {
    inside.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     ")).filter_map(|line| {
        let (before, rest) = line.split_once("fn ")?;
        before.split_whitespace().all(|word| !word.contains(['=', ';', '.'])).then(|| word(rest))
    })
}

/// The methods of its own type that an implementation calls.
fn called(inside: &str) -> BTreeSet<String> {
    let calls = ["self.", "Self::", "state."].iter().flat_map(|by| inside.split(by).skip(1));
    calls.filter(|rest| rest[word(rest).len()..].starts_with(['(', ':'])).map(word).collect()
}

/// From each file of a crate to those whose methods of the same type it calls.
fn graph(files: &[(String, String)]) -> Graph {
    let all: Vec<(&String, String, String)> = (files.iter())
        .flat_map(|(file, text)| implementations(text).into_iter().map(move |(of, inside)| (file, of, inside)))
        .collect();
    // By type and name; files with a method of that name.
    let mut methods: BTreeMap<(&String, String), BTreeSet<&String>> = BTreeMap::new();
    for (file, of, inside) in &all {
        for name in defined(inside) {
            methods.entry((of, name)).or_default().insert(file);
        }
    }
    let mut graph = Graph::new();
    for (file, of, inside) in &all {
        let edges = graph.entry((*file).clone()).or_default();
        for name in called(inside) {
            let Some(owners) = methods.get(&(of, name)) else { continue };
            let Some(owner) = owners.first().filter(|_| owners.len() == 1) else { continue };
            if owner != file && !ROOTS.contains(&owner.as_str()) && !file.starts_with(&format!("{owner}/")) {
                edges.insert((*owner).clone());
            }
        }
    }
    graph
}

/// The name of a file, as that of the folder beside it.
fn name(file: &Path, src: &Path) -> String {
    let name = file.strip_prefix(src).expect("inside").with_extension("").to_string_lossy().into_owned();
    name.strip_suffix("/mod").map_or(name.clone(), str::to_owned)
}

#[test]
fn no_circle_of_methods_is_new() {
    let mut faults = Vec::new();
    for folder in sources::crates() {
        let crate_name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let src = folder.join("src");
        if !src.is_dir() {
            continue;
        }
        let files = sources::files(&src, &["tests", "model", "conformance"]);
        let files: Vec<(String, String)> = files.iter().map(|(file, text)| (name(file, &src), code(text))).collect();
        let graph = graph(&files);
        let circles = on_circles(&graph);
        let allowed = OPEN.iter().find(|(of, _)| *of == crate_name).map_or(0, |(_, count)| *count);
        if circles.len() != allowed {
            faults.push(format!("(\"{crate_name}\", {}), now {allowed}: {circles:?}", circles.len()));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn circles_of_methods_are_found() {
    let files = |files: &[(&str, &str)]| -> Vec<(String, String)> {
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    let one = "impl T {\n    pub fn a(&self) {\n        self.b();\n    }\n}\n";
    let calls_back = "impl<'a> Trait for T<'a> {\n    fn b(&self) {\n        self.a(1)\n    }\n}\n";
    assert_eq!(on_circles(&graph(&files(&[("t/one", one), ("t/two", calls_back)]))), ["t/one", "t/two"]);
    let of_another = "impl U {\n    fn b(&self) {\n        self.a(1)\n    }\n}\n";
    assert!(on_circles(&graph(&files(&[("t/one", one), ("t/two", of_another)]))).is_empty());
    // The type's own file is beside the folder.
    assert!(on_circles(&graph(&files(&[("t", one), ("t/two", calls_back)]))).is_empty());
}
