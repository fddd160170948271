//! The pages of documentation: each is in the book, and what a page refers to is there.

mod sources;

use sources::root;
use std::path::{Path, PathBuf};

/// The pages that git would keep: those of the root, of docs/ and below, of tests/ and of .github/.
fn pages() -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = ["docs", "tests", ".github"].map(|folder| root().join(folder)).into();
    let mut found = Vec::new();
    let mut look = |folder: &Path, open: Option<&mut Vec<PathBuf>>| {
        let paths: Vec<PathBuf> = folder.read_dir().expect("a folder").flatten().map(|entry| entry.path()).collect();
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(|path| path.is_dir());
        found.extend(files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md")));
        if let Some(open) = open {
            open.extend(folders);
        }
    };
    look(root(), None);
    while let Some(folder) = open.pop() {
        look(&folder, Some(&mut open));
    }
    found
}

/// The targets of the links of a page, without what stands behind `#`; those to other places of the net are left out.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|file| !file.is_empty() && !file.contains("://") && !file.contains(char::is_whitespace)).collect()
}

#[test]
fn every_link_leads_to_a_file() {
    let pages = pages();
    assert!(pages.len() > 40, "{} pages", pages.len());
    let mut lost = Vec::new();
    for page in &pages {
        let text = std::fs::read_to_string(page).expect("a page");
        let folder = page.parent().expect("a folder");
        let missing = links(&text).into_iter().filter(|file| !folder.join(file).exists());
        lost.extend(missing.map(|file| format!("{}: {file}", page.display())));
    }
    assert!(lost.is_empty(), "\n{}", lost.join("\n"));
}

#[test]
fn every_page_is_in_the_book() {
    let docs = root().join("docs");
    let contents = std::fs::read_to_string(docs.join("SUMMARY.md")).expect("the table of contents");
    let listed: Vec<PathBuf> = links(&contents).into_iter().map(|file| docs.join(file)).collect();
    let missing = |page: &PathBuf| page.starts_with(&docs) && !page.ends_with("SUMMARY.md") && !listed.contains(page);
    let missing: Vec<PathBuf> = pages().into_iter().filter(missing).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
}

#[test]
fn links_are_read() {
    let text = "a [b](c.md) and [d](https://e) [f](g/h.md#i), ![j](k.svg) [l](#m) `x[1](int a, b)`";
    assert_eq!(links(text), ["c.md", "g/h.md", "k.svg"]);
}
