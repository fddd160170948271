//! Whether the pages of the papers say what was run, and how old their figures are.

use super::origin;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The sizes that a text names, such as `64 KiB`.
fn sizes(text: &str) -> BTreeSet<String> {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || "|,;:()".contains(c)).filter(|w| !w.is_empty()).collect();
    let unit = |word: &str| ["B", "KiB", "MiB", "GiB"].into_iter().find(|unit| word.trim_end_matches('.') == *unit);
    let pairs = words.windows(2).filter(|pair| pair[0].bytes().all(|byte| byte.is_ascii_digit()));
    pairs.filter_map(|pair| Some(format!("{} {}", pair[0], unit(pair[1])?))).collect()
}

/// Whether a line of a page is what the paper says, and not what was run.
fn is_of_the_paper(line: &str) -> bool {
    line.starts_with("*Paper:*") || line.starts_with("*Settings:*") || line.starts_with("![")
}

/// The sizes that a section's text names and none of its tables has.
fn strangers(section: &str) -> Vec<String> {
    let (rows, text): (Vec<&str>, Vec<&str>) = section.lines().partition(|line| line.starts_with('|'));
    let measured = sizes(&rows.join("\n"));
    let text: Vec<&str> = text.into_iter().filter(|line| !is_of_the_paper(line)).collect();
    sizes(&text.join("\n")).into_iter().filter(|size| !measured.contains(size)).collect()
}

/// What is wrong with a page, section by section. Sections without a table have nothing to be held against.
fn faults(page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for section in page.split("\n## ").skip(1).filter(|section| section.contains("\n|")) {
        let heading = section.lines().next().unwrap_or_default();
        let named = strangers(section).into_iter();
        faults.extend(named.map(|size| format!("{heading}: the text names {size}, which its tables do not have")));
    }
    faults
}

/// The commits that a page names behind `commit `, each once, with the headings where they stand.
fn commits(page: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let heading = section.lines().next().unwrap_or_default().to_string();
        for rest in section.split("commit ").skip(1) {
            let commit: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
            if commit.len() < 7 {
                continue;
            }
            match found.iter_mut().find(|(known, _)| *known == commit) {
                Some((_, headings)) if headings.contains(&heading) => {}
                Some((_, headings)) => headings.push(heading.clone()),
                None => found.push((commit, vec![heading.clone()])),
            }
        }
    }
    found
}

/// Looks at all pages of a folder. Old figures are told, and are no error.
pub fn run(folder: &Path, root: &Path) -> Result<(), String> {
    let mut wrong = Vec::new();
    for paper in super::entries::PAPERS {
        let path = folder.join(paper.name).with_extension("md");
        let page = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        wrong.extend(faults(&page).into_iter().map(|fault| format!("{}: {fault}", path.display())));
        let missing = paper.entries.iter().filter(|entry| !page.contains(&format!("\n| {} | ", entry.title())));
        wrong.extend(missing.map(|entry| format!("{}: no row for {}", path.display(), entry.title())));
        for (commit, headings) in commits(&page) {
            match origin::later(root, &commit) {
                Some(0) => {}
                Some(count) => println!(
                    "older: {}, {}: measured at {commit}, and {count} commits have changed what they measure since",
                    path.display(),
                    headings.join(", ")
                ),
                None => println!(
                    "of unknown age: {}, {}: {commit} is not in this history",
                    path.display(),
                    headings.join(", ")
                ),
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# T\n\n## Figure 1\n\n*Paper:* from 2 MiB on.\n\n*Here:* at 64 KiB (4 KiB, 2 ranks).\n\n\
                        *Measured:* 4 KiB to 64 KiB, commit abcdef1, 2026-11-30.\n\n| a | size |\n|---|---|\n| p | 4 KiB |\n| p | 64 KiB |\n";

    #[test]
    fn a_text_that_names_what_its_tables_have_is_right() {
        assert_eq!(faults(PAGE), Vec::<String>::new());
    }

    #[test]
    fn a_text_that_names_another_size_is_found() {
        let faults = faults(&PAGE.replace("at 64 KiB", "at 1 MiB"));
        assert_eq!(faults, ["Figure 1: the text names 1 MiB, which its tables do not have"]);
        assert_eq!(self::faults(&PAGE.replace("| p | 4 KiB |", "| p | 8 KiB |")).len(), 1);
    }

    #[test]
    fn commits_stand_with_their_headings() {
        let page = format!("{PAGE}\n## Table 2\n\ncommit abcdef1, commit 1234567, commit unknown\n");
        let headings = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let expected = [
            ("abcdef1".to_string(), headings(&["Figure 1", "Table 2"])),
            ("1234567".to_string(), headings(&["Table 2"])),
        ];
        assert_eq!(commits(&page), expected);
    }
}
