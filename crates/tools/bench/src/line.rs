//! A line of a comparison: a library with settings, so that one library can run several times.

use std::path::PathBuf;

/// What a column of a table, or a line of a plot, stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub name: String,
    /// One of the libraries that `library` knows.
    pub library: String,
    /// Where it is installed, if not in its usual place.
    pub prefix: Option<PathBuf>,
    /// Environment variables of its runs.
    pub variables: Vec<(String, String)>,
}

/// Lines that run beside the libraries in some jobs only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extra {
    /// Tern with each of its mechanisms forced.
    Mechanisms,
    /// Peers in further settings for more ranks than cores.
    Crowded,
    /// Tern with jobs that go on without ranks that they lose.
    Surviving,
    /// Peers whose collectives follow the levels of a large node, which they do not do by themselves.
    Levels,
}

/// Lines that have a name.
pub const KNOWN: [(Extra, &str, &str); 9] = [
    (Extra::Mechanisms, "tern-pipe", "tern:TERN_MECHANISM=pipe"),
    (Extra::Mechanisms, "tern-cma", "tern:TERN_MECHANISM=cma:TERN_PROMOTE=off"),
    (Extra::Mechanisms, "tern-mapped", "tern:TERN_MECHANISM=mapped"),
    (Extra::Mechanisms, "tern-promote", "tern:TERN_PROMOTE=always"),
    (Extra::Mechanisms, "tern-off", "tern:TERN_PROMOTE=off"),
    (Extra::Surviving, "tern-ft", "tern:TERN_FT=on"),
    // Better than waiting (what plain `impi` does there) for point-to-point, worse for collectives.
    (Extra::Crowded, "impi-yield", "impi:I_MPI_WAIT_MODE=0:I_MPI_THREAD_YIELD=2:I_MPI_SPIN_COUNT=1"),
    // Above the 30 of `tuned` and the 35 of `han`.
    (Extra::Levels, "openmpi-xhc", "openmpi:OMPI_MCA_coll_xhc_priority=40"),
    (Extra::Levels, "openmpi-acoll", "openmpi:OMPI_MCA_coll_acoll_priority=40"),
];

impl Line {
    /// Reads a name (a library, or one of [`KNOWN`]), or
    /// `NAME=LIBRARY[@PREFIX][:VARIABLE=VALUE]...`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let known = KNOWN.iter().find(|(_, name, _)| *name == text);
        let (name, what) = match (known, text.split_once('=')) {
            (Some((_, name, what)), _) => (*name, *what),
            (None, Some(parts)) => parts,
            (None, None) => (text, text),
        };
        let mut parts = what.split(':');
        let library = parts.next().unwrap_or_default();
        let (library, prefix) = match library.split_once('@') {
            Some((library, prefix)) => (library, Some(PathBuf::from(prefix))),
            None => (library, None),
        };
        let setting = |part: &str| {
            let (variable, value) = part.split_once('=')?;
            Some((variable.to_string(), value.to_string()))
        };
        let variables = parts.map(setting).collect::<Option<Vec<_>>>();
        match variables {
            Some(variables) if !name.is_empty() && !library.is_empty() => {
                Ok(Self { name: name.to_string(), library: library.to_string(), prefix, variables })
            }
            _ => Err(format!("line `{text}`: expected NAME=LIBRARY[@PREFIX][:VARIABLE=VALUE]...")),
        }
    }
}

/// Tern with settings: a line of an experiment.
pub struct Setting {
    pub name: &'static str,
    pub settings: &'static [(&'static str, &'static str)],
}

impl Setting {
    pub fn line(&self) -> Line {
        Line {
            name: self.name.to_string(),
            library: "tern".to_string(),
            prefix: None,
            variables: self.settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        }
    }

    /// As a user would write the settings.
    pub fn shown(&self) -> String {
        self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_a_line_of_its_own() {
        let line = Line::parse("mpich").unwrap();
        assert_eq!((line.name.as_str(), line.library.as_str()), ("mpich", "mpich"));
        assert!(line.variables.is_empty() && line.prefix.is_none());
    }

    #[test]
    fn a_line_has_a_prefix_and_settings() {
        let line = Line::parse("old=tern@/opt/old:TERN_SPIN=0:A=b=c").unwrap();
        assert_eq!((line.name.as_str(), line.library.as_str()), ("old", "tern"));
        assert_eq!(line.prefix, Some(PathBuf::from("/opt/old")));
        let expected = [("TERN_SPIN", "0"), ("A", "b=c")];
        assert_eq!(line.variables, expected.map(|(a, b)| (a.into(), b.into())));
    }

    #[test]
    fn lines_are_known_by_name() {
        for (_, name, _) in KNOWN {
            let line = Line::parse(name).unwrap();
            assert_eq!(line.name, name);
            assert!(name.starts_with(&format!("{}-", line.library)));
            assert!(!line.variables.is_empty());
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_an_error() {
        for wrong in ["", "=tern", "x=", "x=tern:SPIN", "x=:A=b"] {
            assert!(Line::parse(wrong).is_err(), "{wrong}");
        }
    }
}
