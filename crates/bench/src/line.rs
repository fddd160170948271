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

/// Tern with each of its mechanisms forced.
pub const MECHANISMS: [(&str, &str); 5] = [
    ("tern-pipe", "tern:TERN_MECHANISM=pipe"),
    ("tern-cma", "tern:TERN_MECHANISM=cma:TERN_PROMOTE=off"),
    ("tern-mapped", "tern:TERN_MECHANISM=mapped"),
    ("tern-promote", "tern:TERN_PROMOTE=always"),
    ("tern-off", "tern:TERN_PROMOTE=off"),
];

impl Line {
    /// Reads a name (a library, or one of [`MECHANISMS`]), or
    /// `NAME=LIBRARY[@PREFIX][:VARIABLE=VALUE]...`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let known = MECHANISMS.iter().find(|(name, _)| *name == text);
        let (name, what) = match (known, text.split_once('=')) {
            (Some((name, what)), _) => (*name, *what),
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
            Some(variables) if !name.is_empty() && !library.is_empty() => Ok(Self {
                name: name.to_string(),
                library: library.to_string(),
                prefix,
                variables,
            }),
            _ => Err(format!(
                "line `{text}`: expected NAME=LIBRARY[@PREFIX][:VARIABLE=VALUE]..."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_a_line_of_its_own() {
        let line = Line::parse("mpich").unwrap();
        assert_eq!(
            (line.name.as_str(), line.library.as_str()),
            ("mpich", "mpich")
        );
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
    fn mechanisms_are_known_by_name() {
        for (name, _) in MECHANISMS {
            let line = Line::parse(name).unwrap();
            assert_eq!((line.name.as_str(), line.library.as_str()), (name, "tern"));
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
