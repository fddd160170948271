//! The form of the engine's crates: functions that fit a screen, contracts that fit two, and no clock inside the protocols.

mod sources;

use std::path::PathBuf;

/// Crates whose form is looked at.
const CRATES: [&str; 4] = ["adi", "policy", "device", "mcm"];
/// Lines of a function at most, with its signature.
const FUNCTION: usize = 60;
/// Methods at most that whoever implements a trait must write.
const REQUIRED: usize = 15;

/// The files of a crate, without its tests: name and text.
fn files(name: &str) -> Vec<(PathBuf, String)> {
    let files = sources::files(&sources::of(name).join("src"), &["tests", "model", "conformance"]);
    assert!(!files.is_empty(), "{name} has no files");
    files
}

/// The blocks whose first line `begins`, as rustfmt sets them: up to a line with the same indentation that closes them.
fn blocks(text: &str, begins: impl Fn(&str) -> bool) -> Vec<(&str, Vec<&str>)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| begins(line.trim_start())) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let ends =
            |other: &&str| [format!("{indent}}}"), format!("{indent}}};")].contains(&other.trim_end().to_owned());
        // What ends in a semicolon before a brace opens has no body.
        let head = lines[at..].iter().find(|line| line.ends_with('{') || line.ends_with(';') || line.ends_with('}'));
        if head.is_none_or(|line| !line.ends_with('{')) {
            continue;
        }
        let len = lines[at..].iter().position(ends).expect("a block ends");
        blocks.push((lines[at], lines[at..=at + len].to_vec()));
    }
    blocks
}

fn is_function(line: &str) -> bool {
    let words = ["pub ", "const ", "unsafe ", "extern \"C\" ", "async "];
    let mut rest = line;
    loop {
        rest = match rest.strip_prefix("pub(").and_then(|inner| inner.split_once(") ")) {
            Some((_, behind)) => behind,
            None => match words.iter().find_map(|word| rest.strip_prefix(word)) {
                Some(behind) => behind,
                None => return rest.starts_with("fn "),
            },
        };
    }
}

fn is_trait(line: &str) -> bool {
    line.starts_with("pub trait ") || line.starts_with("trait ") || line.starts_with("pub(crate) trait ")
}

/// Methods of a trait without a body.
fn required(block: &[&str]) -> usize {
    let text = block.join("\n");
    let heads = block.iter().filter(|line| is_function(line.trim_start())).count();
    heads - blocks(&text, is_function).len() - block.iter().filter(|line| one_line(line)).count()
}

/// A method whose body stands on the line of its head.
fn one_line(line: &str) -> bool {
    is_function(line.trim_start()) && line.ends_with('}')
}

#[test]
fn functions_fit_a_screen() {
    let mut long = Vec::new();
    for name in CRATES {
        for (path, text) in files(name) {
            for (head, lines) in blocks(&text, is_function).into_iter().filter(|(_, lines)| lines.len() > FUNCTION) {
                long.push(format!("{}: {} lines: {}", path.display(), lines.len(), head.trim()));
            }
        }
    }
    assert!(long.is_empty(), "\n{}", long.join("\n"));
}

#[test]
fn traits_ask_for_little() {
    let mut large = Vec::new();
    for name in CRATES {
        for (path, text) in files(name) {
            for (head, lines) in blocks(&text, is_trait) {
                let count = required(&lines);
                if count > REQUIRED {
                    large.push(format!("{}: {count} required methods: {}", path.display(), head.trim()));
                }
            }
        }
    }
    assert!(large.is_empty(), "\n{}", large.join("\n"));
}

/// Methods of the contract `Direct`, of all its traits together: fewer than this.
const CONTRACT: usize = 30;

/// The names of the methods of a trait, which stand one step to the right of it.
fn methods(block: &[&str]) -> Vec<String> {
    let heads = block.iter().filter(|line| line.starts_with("    ") && is_function(&line[4..]));
    let name = |line: &&str| line.split("fn ").nth(1).and_then(|rest| rest.split(['(', '<']).next()).map(str::to_owned);
    heads.filter_map(name).collect()
}

/// The traits that a line sums up: `pub trait A: B + C {}` has B and C.
fn parts_of<'a>(text: &'a str, sum: &str) -> Vec<&'a str> {
    let head = format!("pub trait {sum}: ");
    let line = text.lines().find_map(|line| line.strip_prefix(&head)).expect("the sum of some traits");
    line.trim_end_matches(" {}").split(" + ").collect()
}

#[test]
fn the_contract_of_devices_is_small_and_told() {
    let files = files("device");
    let sum = std::fs::read_to_string(sources::of("device").join("src/direct.rs")).expect("the contract");
    let guide = std::fs::read_to_string(sources::root().join("docs/adding-a-device.md")).expect("the guide");
    let mut all = Vec::new();
    for part in parts_of(&sum, "Direct") {
        let begins = |line: &str| line.starts_with(&format!("pub trait {part} "));
        let found = files.iter().flat_map(|(_, text)| blocks(text, begins)).map(|(_, lines)| methods(&lines));
        let methods: Vec<String> = found.flatten().collect();
        assert!(!methods.is_empty(), "{part} has no methods");
        all.extend(methods);
    }
    assert!(all.len() < CONTRACT, "{} methods: {all:?}", all.len());
    let untold: Vec<_> = all.iter().filter(|name| !guide.contains(&format!("`{name}`"))).collect();
    assert!(untold.is_empty(), "docs/adding-a-device.md does not tell of {untold:?}");
}

/// Files of the walk of a long send at most.
const WALK: usize = 12;

/// The files of the numbered list behind a heading, and of each item the first one.
fn walk(page: &str, heading: &str) -> Vec<String> {
    let section = page.split(heading).nth(1).expect("the heading").split("\n## ").next().unwrap_or_default();
    let items = section.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    items.map(|item| item.split('`').nth(1).expect("an item names a file").to_owned()).collect()
}

#[test]
fn the_walk_of_a_long_send_is_short() {
    let page = std::fs::read_to_string(sources::root().join("docs/parts/messages.md")).expect("the page");
    let files = walk(&page, "\n## The walk of a send of 64 KiB\n");
    assert!((2..=WALK).contains(&files.len()), "{} files", files.len());
    let is_there =
        |file: &String| file.split_once('/').is_some_and(|(name, path)| sources::of(name).join(path).is_file());
    let missing: Vec<_> = files.iter().filter(|file| !is_there(file)).collect();
    assert!(missing.is_empty(), "{missing:?} are not there");
    assert_eq!(
        walk("a\n## B\nx\n1. `c/d.rs` is (`e`)\n2. `f.rs`\n\n## G\n3. `h.rs`\n", "\n## B\n"),
        ["c/d.rs", "f.rs"]
    );
}

#[test]
fn time_is_an_argument() {
    for (name, clocks) in [("adi", &["Instant::now"][..]), ("policy", &["Instant::now", "clock::"])] {
        for (path, text) in files(name) {
            let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let code = code.join("\n");
            assert!(!clocks.iter().any(|clock| code.contains(clock)), "{} reads a clock", path.display());
        }
    }
}

#[test]
fn what_is_too_large_is_found() {
    let body = "        work();\n".repeat(60);
    let text = format!("impl A {{\n    pub(super) unsafe fn long(&self) {{\n{body}    }}\n    fn short() {{}}\n}}\n");
    let found = blocks(&text, is_function);
    assert_eq!(found.len(), 1);
    assert!(found[0].1.len() > FUNCTION);
    let text = "pub trait B {\n    fn one(&self);\n    fn two(&self) -> bool {\n        true\n    }\n    fn three(&self) {}\n    fn four(\n        &self,\n    ) -> u32;\n}\n";
    let found = blocks(text, is_trait);
    assert_eq!(required(&found[0].1), 2);
    assert_eq!(methods(&found[0].1), ["one", "two", "three", "four"]);
    assert_eq!(parts_of("pub trait A: B + C {}\n", "A"), ["B", "C"]);
}

/// A library of which cargo is told that it has no unit tests has none: nobody would run them.
#[test]
fn there_are_no_tests_where_they_would_not_run() {
    let without = |folder: &PathBuf| {
        std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("\ntest = false\n"))
    };
    let folders: Vec<PathBuf> = sources::crates().into_iter().filter(without).collect();
    assert!(!folders.is_empty());
    for (path, _) in folders.iter().flat_map(|folder| sources::files(&folder.join("src"), &[])) {
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(!text.contains("#[test]") && !text.contains("proptest!"), "{}: its tests never run", path.display());
    }
}
