//! What is said of functions, parameters and errors: the files in `texts`, whose first lines explain them.

use std::collections::BTreeMap;

/// What is said of a function.
#[derive(Debug)]
pub struct Function {
    /// Continues "MPI_NAME ...".
    pub summary: String,
    /// Further sentences, or nothing.
    pub more: String,
    /// Error classes beside those of the parameters' kinds.
    pub errors: Vec<String>,
    /// Number of the section of the standard.
    pub section: String,
    /// Its heading.
    pub title: String,
}

/// What is said of a kind of parameters.
#[derive(Debug, Default)]
pub struct Kind {
    /// `in`, `out` or `inout`.
    pub direction: String,
    pub errors: Vec<String>,
    pub text: String,
    /// What is said instead of parameters of certain names.
    pub named: BTreeMap<String, String>,
}

pub struct Texts {
    /// By name after `MPI_`.
    pub functions: BTreeMap<String, Function>,
    pub kinds: BTreeMap<String, Kind>,
    /// By what follows `MPI_ERR_`, or `T_` and what follows `MPI_T_ERR_`.
    pub errors: BTreeMap<String, String>,
}

impl Texts {
    /// Reads all texts; a mistake in one panics with file and line.
    pub fn read() -> Texts {
        Texts {
            functions: functions(include_str!("../texts/functions.txt")),
            kinds: kinds(include_str!("../texts/parameters.txt")),
            errors: errors(include_str!("../texts/errors.txt")),
        }
    }
}

impl Kind {
    /// What is said of a parameter of that name.
    pub fn of(&self, name: &str) -> &str {
        self.named.get(name).unwrap_or(&self.text)
    }
}

/// Lines that say something, with their numbers and whether they are indented.
fn lines(text: &str) -> impl Iterator<Item = (usize, bool, &str)> {
    let said = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    (1..).zip(text.lines()).filter(said).map(|(at, line)| (at, line.starts_with(' '), line.trim()))
}

/// `NAME [A,B]: text`
fn parts(file: &str, at: usize, line: &str) -> (String, Vec<String>, String) {
    let (head, text) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
    assert!(!text.is_empty(), "{file}:{at}: no text");
    match head.split_once(" [") {
        Some((name, classes)) => {
            let classes = classes.strip_suffix(']').unwrap_or_else(|| panic!("{file}:{at}: no ]"));
            (name.into(), classes.split(',').map(String::from).collect(), text.into())
        }
        None => (head.into(), Vec::new(), text.into()),
    }
}

fn functions(text: &str) -> BTreeMap<String, Function> {
    let mut all = BTreeMap::new();
    let (mut section, mut title) = ("", "");
    for (at, indented, line) in lines(text) {
        if !indented {
            let rest = line.strip_prefix("section ").and_then(|rest| rest.split_once(' '));
            (section, title) = rest.unwrap_or_else(|| panic!("functions.txt:{at}: no section NUMBER TITLE"));
            continue;
        }
        let (name, errors, text) = parts("functions.txt", at, line);
        let (summary, more) = text.split_once(". ").unwrap_or((&text, ""));
        let function = Function {
            summary: summary.trim_end_matches('.').into(),
            more: more.into(),
            errors,
            section: section.into(),
            title: title.into(),
        };
        assert!(all.insert(name, function).is_none(), "functions.txt:{at}: said twice");
    }
    all
}

fn kinds(text: &str) -> BTreeMap<String, Kind> {
    let mut all = BTreeMap::new();
    let mut last = String::new();
    for (at, indented, line) in lines(text) {
        let (name, errors, text) = parts("parameters.txt", at, line);
        if indented {
            let kind: &mut Kind = all.get_mut(&last).unwrap_or_else(|| panic!("parameters.txt:{at}: no kind begun"));
            assert!(kind.named.insert(name, text).is_none(), "parameters.txt:{at}: said twice");
            continue;
        }
        let (direction, name) =
            name.split_once(' ').unwrap_or_else(|| panic!("parameters.txt:{at}: no DIRECTION KIND"));
        assert!(["in", "out", "inout"].contains(&direction), "parameters.txt:{at}: {direction}");
        last = name.into();
        let kind = Kind { direction: direction.into(), errors, text, named: BTreeMap::new() };
        assert!(all.insert(last.clone(), kind).is_none(), "parameters.txt:{at}: said twice");
    }
    all
}

fn errors(text: &str) -> BTreeMap<String, String> {
    let line = |(at, _, line)| {
        let (name, _, text) = parts("errors.txt", at, line);
        (name, text)
    };
    lines(text).map(line).collect()
}
