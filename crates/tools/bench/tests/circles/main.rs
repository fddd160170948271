//! Modules of a crate form no circle: what two of them share lies below both.
//!
//! Many crates are older than the rule. [`OPEN`] says how many of their modules still lie on a circle; a number only falls.

mod files;
mod methods;
#[path = "../sources/mod.rs"]
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Crates with circles, and how many of their top modules lie on one. All others have none.
#[rustfmt::skip]
const OPEN: &[(&str, usize)] = &[];

/// From a module to those that it names.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The modules directly under the root of a crate, with the modules of it that they name: as `crate::module`, as `super::module`,
/// or by what the root re-exports of a module.
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
    let root = files.iter().find(|(file, _)| file.ends_with("src/lib.rs")).map(|(_, text)| re_exports(&code(text)));
    let root = root.unwrap_or_default();
    for (file, text) in files {
        let own = top(&file);
        let up = "super::".repeat(depth(file.strip_prefix(src).expect("inside")));
        let text = code(&text).replace(&up, "crate::");
        let module = |name: String| if names.contains(&name) { Some(name) } else { root.get(&name).cloned() };
        let named = named(&text).into_iter().filter_map(module).filter(|name| names.contains(name) && *name != own);
        graph.get_mut(&own).expect("a module").extend(named);
    }
    for root in ["lib", "main"] {
        graph.remove(root);
    }
    graph
}

/// How many modules down from the root that file is, at least 1.
fn depth(file: &Path) -> usize {
    (file.iter().count() - usize::from(file.ends_with("mod.rs"))).max(1)
}

/// Names that a root takes from its modules by `use module::name` or `use module::{name, name}`, each with the module.
fn re_exports(root: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for rest in ["pub use ", "pub(crate) use "].iter().flat_map(|begin| root.split(begin).skip(1)) {
        let path = rest.split(';').next().unwrap_or_default();
        let Some((module, names)) = path.trim_start_matches("crate::").split_once("::") else { continue };
        for name in names.split([',', '{', '}']) {
            let name = name.rsplit([':', ' ']).find(|part| !part.is_empty()).unwrap_or_default();
            found.insert(name.trim().to_owned(), module.to_owned());
        }
    }
    found
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
    let mut faults = Vec::new();
    for folder in sources::crates() {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let src = folder.join("src");
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

#[test]
fn re_exports_count_as_their_modules() {
    let root = "mod a;\npub use a::{One, inner::Two, three as four,\n five};\npub(crate) use b::Six;\n";
    let found: Vec<_> = re_exports(root).into_iter().filter(|(name, _)| !name.is_empty()).collect();
    let wanted = [("One", "a"), ("Six", "b"), ("Two", "a"), ("five", "a"), ("four", "a")];
    assert_eq!(found, wanted.map(|(name, module)| (name.to_owned(), module.to_owned())));
}

#[test]
fn files_know_their_depth() {
    for (file, wanted) in [("a.rs", 1), ("a/mod.rs", 1), ("a/b.rs", 2), ("a/b/mod.rs", 2), ("a/b/c.rs", 3)] {
        assert_eq!(depth(Path::new(file)), wanted, "{file}");
    }
}
