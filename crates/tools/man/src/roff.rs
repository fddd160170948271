//! Text for man(7): what groff and mandoc read.

/// The date of the pages: when their texts were last changed as a whole.
const DATE: &str = "2026-11-27";

/// The first line of a page.
pub fn title(name: &str, section: u8, manual: &str) -> String {
    format!(".TH {} {section} {DATE} \"Tern {}\" \"{manual}\"\n", escape(name), env!("CARGO_PKG_VERSION"))
}

/// Text in which nothing is taken for a command: backslashes and dashes, and dots and quotes that begin a line.
pub fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines =
        text.split('\n').map(|line| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.into() });
    lines.collect::<Vec<String>>().join("\n")
}

/// As `escape`, for text within a line.
fn plain(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

/// As `escape`, with `*word*` in italics and names of MPI in bold.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('*').enumerate() {
        match at % 2 {
            1 => out.push_str(&italic(part)),
            _ => out.push_str(&bold_names(part)),
        }
    }
    if out.starts_with(['.', '\'']) { format!("\\&{out}") } else { out }
}

pub fn italic(text: &str) -> String {
    format!("\\fI{}\\fR", plain(text))
}

pub fn bold(text: &str) -> String {
    format!("\\fB{}\\fR", plain(text))
}

/// Names that begin with MPI_ in bold.
fn bold_names(text: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("MPI_") {
        let name = &rest[at..];
        let end = name.find(|c| !word(c)).unwrap_or(name.len());
        out.push_str(&plain(&rest[..at]));
        out.push_str(&bold(&name[..end]));
        rest = &name[end..];
    }
    out + &plain(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_for_a_command() {
        assert_eq!(escape("a-b\\c\n.d\n'e"), "a\\-b\\ec\n\\&.d\n\\&'e");
    }

    #[test]
    fn names_stand_out() {
        assert_eq!(prose("in *buf*, or MPI_IN_PLACE."), "in \\fIbuf\\fR, or \\fBMPI_IN_PLACE\\fR.");
    }
}
