//! Files with a program and its options in each line (`-configfile`, MPI 5.0 section 11.5).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use super::values::shown;

/// The lines of the file as arguments: each is one program with its options. Lines that begin with `#` are comments, and a
/// `\` at the end of a line takes the next one to it.
pub(super) fn sections(path: &OsStr) -> Result<Vec<Vec<OsString>>, String> {
    let name = shown(path);
    let text = std::fs::read(path).map_err(|error| format!("the configuration file {name}: {error}"))?;
    let sections = split(&text).map_err(|line| format!("the configuration file {name}: a quote is open: {line}"))?;
    match sections.is_empty() {
        true => Err(format!("the configuration file {name} has no program")),
        false => Ok(sections),
    }
}

/// The error is the line.
fn split(text: &[u8]) -> Result<Vec<Vec<OsString>>, String> {
    let mut sections = Vec::new();
    let mut lines = text.split(|byte| *byte == b'\n');
    while let Some(line) = lines.next() {
        if line.trim_ascii_start().starts_with(b"#") {
            continue;
        }
        let mut line = line.trim_ascii_end().to_vec();
        while line.ends_with(b"\\") {
            line.pop();
            let Some(next) = lines.next() else { break };
            line.extend_from_slice(next.trim_ascii_end());
        }
        let words = words(&line).ok_or_else(|| String::from_utf8_lossy(&line).into_owned())?;
        // As on the command line, and at the end of lines, as MPICH's users write it.
        sections.extend(words.split(|word| word == ":").filter(|words| !words.is_empty()).map(<[_]>::to_vec));
    }
    Ok(sections)
}

/// Words with blanks between; quotes and `\` keep what they stand around or before. `None` for a quote that is open.
fn words(line: &[u8]) -> Option<Vec<OsString>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = line.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (None | Some(b'"'), b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (Some(_), _) => word.get_or_insert_default().push(byte),
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None, _) if byte.is_ascii_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    quote.is_none().then(|| words.into_iter().map(OsString::from_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_program_with_its_options() {
        let text =
            b"# comment\n-n 2 prog 'a b' \"c \\\" d\" e\\ f ''\n\n  # another\n-n 1 \\\n other : \n-n 3 x : -n 4 y\n";
        let expected: [&[&str]; 4] = [
            &["-n", "2", "prog", "a b", "c \" d", "e f", ""],
            &["-n", "1", "other"],
            &["-n", "3", "x"],
            &["-n", "4", "y"],
        ];
        assert_eq!(split(text).unwrap(), expected);
        assert_eq!(split(b"\n-n 2 'open\n").unwrap_err(), "-n 2 'open");
        assert_eq!(split(b"# nothing\n\n"), Ok(vec![]));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let wrong = sections(OsStr::new("/dev/null/config")).unwrap_err();
        assert!(wrong.starts_with("the configuration file /dev/null/config: "), "{wrong}");
        assert_eq!(sections(OsStr::new("/dev/null")).unwrap_err(), "the configuration file /dev/null has no program");
    }
}
