//! Files of a crate form no circle either, at any depth of its folders.
//!
//! A folder is the inside of the file beside it: what a file of the folder names of that one, and of those above, is no step of a circle. A name
//! that a module re-exports counts as the file that it comes from.

use crate::{Graph, code, on_circles, sources, word};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Crates with circles of files, and how many of their files lie on one. All others have none, and a number only falls.
#[rustfmt::skip]
const OPEN: &[(&str, usize)] = &[
    ("mpi", 12),
    ("region", 10),
];

/// The names of a path, from the root of its crate.
type Names = Vec<String>;

/// The module of a file.
fn module(file: &Path) -> Names {
    let mut names: Names = file.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| last == "mod") || names == ["lib"] || names == ["main"] {
        names.pop();
    }
    names
}

/// The paths of a tree of names as `use` has it: `a::{b, c::d}`.
fn expand(before: &[String], tree: &str, found: &mut Vec<Names>) {
    let mut depth = 0;
    let parts = tree.split(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        let (head, inside) = part.split_once('{').map_or((part, None), |(head, rest)| (head, rest.rsplit_once('}')));
        let names = head.split("::").map(|name| word(name.trim())).filter(|name| !name.is_empty());
        let path: Names = before.iter().cloned().chain(names).collect();
        match inside {
            Some((inside, _)) => expand(&path, inside, found),
            None => found.push(path),
        }
    }
}

/// What a file says of others: paths that it uses, and what it re-exports, each name with its path.
#[derive(Default)]
struct Said {
    paths: Vec<Names>,
    exports: BTreeMap<String, Names>,
}

fn said(text: &str) -> Said {
    let mut said = Said::default();
    let mut rest = String::new();
    let mut pieces = text.split("use ");
    let mut before = pieces.next().unwrap_or_default();
    rest.push_str(before);
    for piece in pieces {
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        let public = line == "pub" || line.starts_with("pub(");
        before = piece;
        match piece.split_once(';') {
            Some((tree, behind)) if line.is_empty() || public => {
                let mut paths = Vec::new();
                expand(&[], tree, &mut paths);
                rest.push_str(behind);
                if public {
                    said.exports.extend(paths.iter().filter_map(|path| Some((path.last()?.clone(), path.clone()))));
                } else {
                    said.paths.extend(paths);
                }
            }
            _ => rest.push_str(piece),
        }
    }
    said.paths.extend(inline(&rest));
    said
}

/// Paths of two names and more in the midst of code.
fn inline(code: &str) -> Vec<Names> {
    let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let paths = code.split(|letter| !is_path(letter)).filter(|path| path.contains("::"));
    paths.map(|path| path.split("::").map(str::to_owned).collect()).collect()
}

/// The modules of a crate, as files.
struct Files(BTreeMap<Names, Said>);

impl Files {
    /// The file that a path means where `from` has it.
    fn resolve(&self, from: &[String], path: &[String], again: usize) -> Option<Names> {
        let mut at = from.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (at, rest) = (Names::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    at.pop();
                    rest = &rest[1..];
                }
            }
            name => {
                let mut below = at.clone();
                below.push(name.to_owned());
                self.0.get(&below)?;
            }
        }
        while let Some((name, behind)) = rest.split_first() {
            at.push(name.clone());
            if !self.0.contains_key(&at) {
                at.pop();
                break;
            }
            rest = behind;
        }
        let exported = rest.first().and_then(|name| self.0.get(&at)?.exports.get(name));
        match exported {
            Some(origin) if again > 0 => {
                let path: Names = origin.iter().chain(&rest[1..]).cloned().collect();
                self.resolve(&at, &path, again - 1).or(Some(at))
            }
            _ => Some(at),
        }
    }

    fn graph(&self) -> Graph {
        let name = |names: &Names| names.join("::");
        let targets = |(from, said): (&Names, &Said)| -> BTreeSet<String> {
            let found = said.paths.iter().filter_map(|path| self.resolve(from, path, 4));
            found.filter(|to| !from.starts_with(to)).map(|to| name(&to)).collect()
        };
        self.0.iter().map(|file| (name(file.0), targets(file))).collect()
    }
}

#[test]
fn no_circle_of_files_is_new() {
    let mut faults = Vec::new();
    for folder in sources::crates() {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let src = folder.join("src");
        if !src.is_dir() {
            continue;
        }
        let files = sources::files(&src, &["tests", "model", "conformance"]);
        let files =
            files.iter().map(|(file, text)| (module(file.strip_prefix(&src).expect("inside")), said(&code(text))));
        let graph = Files(files.collect()).graph();
        let circles = on_circles(&graph);
        let allowed = OPEN.iter().find(|(of, _)| *of == name).map_or(0, |(_, count)| *count);
        if circles.len() != allowed {
            faults.push(format!("{name}: {} files on circles, {allowed} in OPEN: {circles:?}", circles.len()));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn circles_of_files_are_found() {
    let names = |path: &str| -> Names { path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect() };
    let graph =
        |files: &[(&str, &str)]| Files(files.iter().map(|(path, text)| (names(path), said(text))).collect()).graph();
    // A folder and the file beside it are one; two files of it are not, by any kind of path.
    let graph_of = |second: &str| {
        graph(&[("", "mod a;"), ("a", "pub use b::B;\nuse c::C;"), ("a::b", "use super::c::C;"), ("a::c", second)])
    };
    assert!(on_circles(&graph_of("use super::A;\nuse std::{b::X};")).is_empty());
    for second in [
        "use super::{A, b::B};",
        "use crate::a::B;",
        "fn f() { super::b::g() }",
        "pub(super) fn f() -> crate::a::b::B {}",
    ] {
        assert_eq!(on_circles(&graph_of(second)), ["a::b", "a::c"], "{second}");
    }
}
