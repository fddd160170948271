//! Pages of programs, from what they print with `--help`.
//!
//! A line at the margin is prose, or a heading if it ends with a colon. An indented line is an item with its
//! explanation behind two blanks or in further lines that are indented more; without any it is an example.

use std::fmt::Write;

use crate::roff::{bold, escape, prose, title};

/// The page of a program.
pub fn page(name: &str, summary: &str, help: &str) -> String {
    let mut out = title(name, 1, "Tern");
    _ = writeln!(out, ".SH NAME\n{} \\- {}\n.SH DESCRIPTION", escape(name), escape(summary));
    let lines: Vec<&str> = help.lines().collect();
    let mut at = 0;
    let mut begun = true;
    while at < lines.len() {
        let line = lines[at];
        let text = line.trim();
        if text.is_empty() {
            at += 1;
            begun = false;
            continue;
        }
        if !line.starts_with(' ') {
            match text.strip_suffix(':').filter(|_| lines.get(at + 1).is_some_and(|next| next.starts_with(' '))) {
                Some(heading) if heading.len() < 60 => _ = writeln!(out, ".SS {}", escape(heading)),
                _ => {
                    if !begun {
                        out.push_str(".PP\n");
                    }
                    _ = writeln!(out, "{}", prose(&text.replace('*', "\u{2217}")));
                }
            }
            begun = true;
            at += 1;
            continue;
        }
        let first = std::mem::replace(&mut begun, false);
        let (term, mut explanation) = match text.split_once("  ") {
            Some((term, rest)) => (term, rest.trim().to_string()),
            None => (text, String::new()),
        };
        at += 1;
        while let Some(next) = lines.get(at)
            && indent(next) > indent(line)
            && !next.trim().is_empty()
            && !(explanation.is_empty() && is_item(next))
        {
            explanation = format!("{explanation} {}", next.trim()).trim_start().to_string();
            at += 1;
        }
        match explanation.is_empty() {
            true => _ = writeln!(out, "{}.nf\n.RS 4\n{}\n.RE\n.fi", if first { "" } else { ".PP\n" }, escape(text)),
            false => _ = writeln!(out, ".TP\n{}\n{}", bold(term), prose(&explanation.replace('*', "\u{2217}"))),
        }
    }
    out.replace('\u{2217}', "*")
}

/// An option with its explanation behind two blanks.
fn is_item(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('-') && line.contains("  ")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_becomes_a_page() {
        let page = page(
            "x",
            "does",
            "Does a thing.\n\n  x [options]\n    -m  more\n\nOptions:\n  -n N    how\n          many\n  --long\n     it is\n",
        );
        for text in [
            "x \\- does\n.SH DESCRIPTION\nDoes a thing.\n",
            ".nf\n.RS 4\nx [options]\n.RE\n.fi\n",
            ".TP\n\\fB\\-m\\fR\nmore\n",
            ".SS Options\n",
            ".TP\n\\fB\\-n N\\fR\nhow many\n",
            ".TP\n\\fB\\-\\-long\\fR\nit is\n",
        ] {
            assert!(page.contains(text), "{text} is not in {page}");
        }
    }
}
