//! The parts of the engine do not know each other: only the composer sees all of them.

mod sources;

use std::collections::BTreeSet;
use std::path::Path;

/// Modules of the engine that see the parts: the composer, and the face of the crate above it.
const COMPOSER: [&str; 4] = ["state", "lib", "progress", "receiving"];

/// A text without its comments.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The words of a text, letters and digits.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty()).collect()
}

/// The parts by the list of them, `pub use file::Name;`: file and name.
fn parts(list: &str) -> Vec<(String, String)> {
    let uses = list.lines().filter_map(|line| line.strip_prefix("pub use ")?.strip_suffix(';')?.split_once("::"));
    uses.map(|(file, name)| (file.to_owned(), name.to_owned())).collect()
}

/// What is wrong with the code of one part: it names another, or the composer.
fn faults(own: &str, text: &str, parts: &[(String, String)]) -> Vec<String> {
    let code = code(text);
    let words = words(&code);
    let mut faults = Vec::new();
    for (file, name) in parts.iter().filter(|(file, _)| file != own) {
        let paths = [format!("parts::{file}"), format!("super::{file}"), format!("{file}::{name}")];
        let named = words.contains(name.as_str()) && !code.contains(&format!("crate::{name}"));
        if named || paths.iter().any(|path| code.contains(path)) {
            faults.push(format!("{own} names the part {file}"));
        }
    }
    for module in COMPOSER {
        if code.contains(&format!("crate::{module}::")) {
            faults.push(format!("{own} names {module}, which sees all parts"));
        }
    }
    if words.contains("State") || words.contains("Matching") || words.contains("Mcm") {
        faults.push(format!("{own} names the composer, the matching or the devices"));
    }
    faults
}

fn engine() -> std::path::PathBuf {
    sources::of("adi").join("src")
}

#[test]
fn no_part_knows_another() {
    let list = std::fs::read_to_string(engine().join("parts.rs")).expect("the list of parts");
    let parts = parts(&list);
    assert!(parts.len() > 8, "the list is read: {parts:?}");
    let files = sources::files(&engine().join("parts"), &[]);
    assert_eq!(files.len(), parts.len(), "each file is a part, and the other way round");
    let mut wrong = Vec::new();
    for (path, text) in &files {
        let own = path.file_stem().expect("a name").to_string_lossy();
        wrong.extend(faults(&own, text, &parts));
    }
    // The parts that are older than the list, and what all of them share.
    for module in ["matching", "tuple", "cap", "slab", "transfer"] {
        let text = std::fs::read_to_string(engine().join(module).with_extension("rs")).expect("a file");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        if code(text).contains("crate::parts") || code(text).contains("crate::state") {
            wrong.push(format!("{module} names a part or the composer"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn each_part_says_so_and_has_tests_of_its_own() {
    let list = std::fs::read_to_string(engine().join("parts.rs")).expect("the list of parts");
    for (file, name) in parts(&list) {
        let text = std::fs::read_to_string(engine().join("parts").join(&file).with_extension("rs")).expect("a part");
        assert!(text.starts_with("//! Part of the engine: "), "{file} does not say so in its first line");
        assert!(text.contains("#[test]"), "{file} has no test of its own");
        assert!(text.contains(&format!("struct {name}")) || text.contains(&format!("enum {name}")), "{file}: {name}");
    }
}

#[test]
fn the_composer_says_so() {
    let mut files = sources::files(&engine().join("state"), &[]);
    files.extend(sources::files(&engine(), &[]).into_iter().filter(|(path, _)| path.ends_with("src/state.rs")));
    assert!(files.len() > 10, "{} files of the composer", files.len());
    let silent: Vec<&Path> = files
        .iter()
        .filter(|(_, text)| !text.lines().next().is_some_and(|line| line.to_lowercase().contains("composer")))
        .map(|(path, _)| path.as_path())
        .collect();
    assert!(silent.is_empty(), "their first lines do not say that they are the composer's: {silent:?}");
}

#[test]
fn a_part_that_knows_another_is_found() {
    let parts = parts("mod a;\npub use loss::Loss;\npub use stream::Stream;\n");
    let wrong = |text: &str| faults("loss", text, &parts).len();
    assert_eq!(wrong("use crate::{Proc, Tuple};\n// The Stream is another.\nfn note(&mut self, stream: u32) {}\n"), 0);
    assert_eq!(wrong("use super::stream::Outgoing;\n"), 1);
    assert_eq!(wrong("use crate::parts::stream::Outgoing;\n"), 1);
    assert_eq!(wrong("fn note(&mut self, other: &mut Stream) {}\n"), 1);
    assert_eq!(wrong("use crate::state::State;\n"), 2);
    assert_eq!(wrong("fn send(&self, mcm: &Mcm) {}\n"), 1);
    assert_eq!(wrong("struct Loss { own: Loss }\n"), 0);
}
