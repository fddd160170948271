//! Reads the settings from the environment and from files, once, and says what is wrong with them.

use std::sync::{Once, OnceLock};

use crate::files::{self, Files};
use crate::{ALL, Source};

/// Names that mpiexec sets for the processes that it starts.
const INTERNAL: [&str; 5] = ["TERN_LAUNCH", "TERN_RANK", "TERN_SIZE", "TERN_COSTS_FILE", "TERN_BOUND"];
/// Names that the compiler wrappers take, and that a user may have set for them.
const WRAPPERS: [&str; 3] = ["TERN_CC", "TERN_CXX", "TERN_FC"];
/// Start of the names that tests use.
const TEST: &str = "TERN_TEST";

/// Reads all settings from the environment if that was not done yet, and prints a warning line for
/// each thing that is wrong. In a job, rank 0 speaks for all, and does not repeat what the
/// launcher has said.
pub fn load() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let launch = std::env::var("TERN_LAUNCH").unwrap_or_default();
        let files = files();
        for entry in ALL {
            let own = std::env::var(entry.name());
            let own = own.as_deref().map(|text| (text, Source::Environment));
            let of_file = || files.value(entry.name()).map(|line| (line.value.as_str(), line.source));
            // What is wrong is found again and reported by `problems`.
            let _ = entry.accept(own.ok().or_else(of_file));
        }
        if let Some(warned) = told(&launch) {
            for (name, problem) in problems(variables()) {
                if !warned.contains(&name.as_str()) {
                    crate::warn!("{problem}");
                }
            }
            for fault in &files.faults {
                crate::warn!("{fault}");
            }
            for line in &files.lines {
                if let Err(problem) = check(&line.name, &line.value) {
                    crate::warn!("{}: {problem}", line.at);
                }
            }
        }
    });
}

/// What the files say, which are read once; nothing in a process that mpiexec has started, since that has read them.
fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| match std::env::var_os("TERN_LAUNCH") {
        Some(_) => Files::default(),
        None => files::read(&std::env::var("TERN_CONF").unwrap_or_default()),
    })
}

/// The settings that files have given and the environment has not: names and values, for a launcher to pass on.
pub fn from_files() -> Vec<(&'static str, &'static str)> {
    let of_file = ALL.iter().filter(|entry| matches!(entry.source(), Source::User | Source::Site));
    of_file.map(|entry| (entry.name(), entry.value())).collect()
}

/// What is wrong with these environment variables: pairs of the name and one line about it.
pub fn problems(variables: impl IntoIterator<Item = (String, String)>) -> Vec<(String, String)> {
    variables
        .into_iter()
        .filter_map(|(name, value)| check(&name, &value).err().map(|problem| (name, problem)))
        .collect()
}

/// Checks one environment variable; the error is a line for the user. Names without `TERN_` pass.
pub fn check(name: &str, value: &str) -> Result<(), String> {
    let of_others = INTERNAL.contains(&name) || WRAPPERS.contains(&name) || name.starts_with(TEST);
    if !name.starts_with("TERN_") || of_others {
        return Ok(());
    }
    match ALL.iter().find(|entry| entry.name() == name) {
        Some(entry) => entry.check(value).map_err(|why| {
            let default = match entry.default() {
                "" => "its default",
                default => default,
            };
            format!("{name}={value}: the value {why}; using {default}")
        }),
        None => Err(match nearest(name) {
            Some(known) => format!("{name} is not a setting of Tern; did you mean {known}?"),
            None => format!("{name} is not a setting of Tern; tern-info lists them"),
        }),
    }
}

/// The environment variables with a `TERN_` name that are valid Unicode, in order of name.
fn variables() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| name.starts_with("TERN_"))?;
            Some((name, value.to_string_lossy().into_owned()))
        })
        .collect();
    found.sort();
    found
}

/// Which problems this process need not report: `None` is all of them (another rank does it),
/// else the names that the launcher has reported. `launch` is the value of TERN_LAUNCH.
fn told(launch: &str) -> Option<Vec<&str>> {
    let field =
        |key: &str| launch.split(' ').find_map(|part| part.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')));
    if field("rank").is_some_and(|rank| rank != "0") {
        return None;
    }
    Some(field("warned").unwrap_or_default().split(',').collect())
}

/// The setting whose name is nearest to `name`, if it is near enough for a slip of the hand.
fn nearest(name: &str) -> Option<&'static str> {
    ALL.iter()
        .map(|entry| (distance(name, entry.name()), entry.name()))
        .min()
        .filter(|(distance, _)| *distance <= 3)
        .map(|(_, name)| name)
}

/// How many letters must be added, removed or replaced to turn one word into the other.
pub fn distance(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_told_the_nearest() {
        let line = check("TERN_SPINN", "1").unwrap_err();
        assert_eq!(line, "TERN_SPINN is not a setting of Tern; did you mean TERN_SPIN?");
        let line = check("TERN_SOMETHING_ELSE", "1").unwrap_err();
        assert!(line.contains("tern-info"), "{line}");
        assert_eq!(check("TERN_LAUNCH", "anything"), Ok(()));
        assert_eq!(check("TERN_FC", "gfortran-12"), Ok(()));
        assert_eq!(check("PATH", "/bin"), Ok(()));
    }

    #[test]
    fn wrong_values_name_the_default() {
        let line = check("TERN_LOG", "loud").unwrap_err();
        assert_eq!(line, "TERN_LOG=loud: the value must be one of error, warn, info, debug; using warn");
        let line = check("TERN_SPIN", "-1").unwrap_err();
        assert!(line.starts_with("TERN_SPIN=-1: ") && line.ends_with("using auto"), "{line}");
        assert_eq!(check("TERN_SPIN", "10k"), Ok(()));
    }

    #[test]
    fn one_rank_speaks_and_does_not_repeat_the_launcher() {
        assert_eq!(told(""), Some(vec![""]));
        assert_eq!(told("rank=3 size=4"), None);
        assert_eq!(told("rank=0 size=4 warned=TERN_A,TERN_B"), Some(vec!["TERN_A", "TERN_B"]));
    }

    #[test]
    fn edit_distance() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
