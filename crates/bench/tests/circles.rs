//! Modules of a crate form no circle: what two of them share lies below both.
//!
//! Many crates are older than the rule. [`OPEN`] says how many of their modules still lie on a circle; a number only falls.

mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Crates with circles, and how many of their top modules lie on one. All others have none.
#[rustfmt::skip]
const OPEN: &[(&str, usize)] = &[
    ("bench", 2),
    ("coll", 11),
    ("io", 3),
    ("mpi", 34),
    ("rma", 10),
    ("shm", 7),
];

/// From a module to those that it names.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The modules directly under the root of a crate, with the modules of it that they name as `crate::module`.
fn graph(src: &Path) -> Graph {
    let files = sources::files(src, &["tests", "model"]);
    let top = |file: &Path| {
        let first = file.strip_prefix(src).expect("inside").iter().next().expect("a name").to_string_lossy();
        first.trim_end_matches(".rs").to_owned()
    };
    let mut graph = Graph::new();
    for (file, _) in &files {
        graph.entry(top(file)).or_default();
    }
    let names: BTreeSet<String> = graph.keys().cloned().collect();
    for (file, text) in files {
        let text = code(&text);
        let own = top(&file);
        let named = named(&text).into_iter().filter(|name| names.contains(name) && *name != own);
        graph.get_mut(&own).expect("a module").extend(named);
    }
    for root in ["lib", "main"] {
        graph.remove(root);
    }
    graph
}

/// A text without its comments.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The first names behind each `crate::`, those in braces too.
fn named(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(list) = rest.strip_prefix('{') else {
            found.insert(word(rest));
            continue;
        };
        let mut depth = 0;
        let mut begins = true;
        for (at, letter) in list.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                letter if begins && (letter.is_alphanumeric() || letter == '_') => {
                    found.insert(word(&list[at..]));
                    begins = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// The name at the beginning of a text.
fn word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// The modules that can be reached from themselves.
fn on_circles(graph: &Graph) -> Vec<&String> {
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&String> = graph[from].iter().collect();
        while let Some(module) = open.pop() {
            if seen.insert(module) {
                open.extend(graph.get(module).into_iter().flatten());
            }
        }
        seen
    };
    graph.keys().filter(|module| reached(module).contains(module)).collect()
}

#[test]
fn no_module_circle_is_new() {
    let crates = sources::crates();
    let mut names: Vec<String> = std::fs::read_dir(crates)
        .expect("crates")
        .flatten()
        .map(|it| it.file_name().to_string_lossy().into())
        .collect();
    names.sort();
    let mut faults = Vec::new();
    for name in names {
        let src = crates.join(&name).join("src");
        if !src.is_dir() {
            continue;
        }
        let graph = graph(&src);
        let circles = on_circles(&graph);
        let allowed = OPEN.iter().find(|(crate_name, _)| *crate_name == name).map_or(0, |(_, count)| *count);
        match circles.len() {
            count if count > allowed => {
                faults.push(format!("{name}: {count} modules on circles, {allowed} before: {circles:?}"));
            }
            count if count < allowed => faults.push(format!("{name}: {count} modules on circles: say so in OPEN")),
            _ => {}
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn circles_are_found() {
    let graph = |edges: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry((*from).into()).or_default().insert((*to).into());
            graph.entry((*to).into()).or_default();
        }
        graph
    };
    assert!(on_circles(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    let one = graph(&[("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")]);
    assert_eq!(on_circles(&one), ["b", "c"]);
}

#[test]
fn names_are_read() {
    let text = code("use crate::{a::{x, y}, b, Word};\nlet z = crate::c::d(); // crate::no\n");
    assert_eq!(named(&text).into_iter().collect::<Vec<_>>(), ["Word", "a", "b", "c"]);
}
