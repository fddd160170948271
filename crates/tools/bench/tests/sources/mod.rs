//! The sources of the crates, as tests of their form read them. Each test uses some of it.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> &'static Path {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.filter(|folder| folder.join("Cargo.lock").exists()).last().expect("the root")
}

/// The folders of all crates, sorted.
pub fn crates() -> Vec<PathBuf> {
    let mut open = vec![root().join("crates")];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        if folder.join("Cargo.toml").exists() {
            found.push(folder);
            continue;
        }
        open.extend(std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()));
    }
    found.sort();
    found
}

/// The folder of the crate of that name, without `tern-`.
pub fn of(name: &str) -> PathBuf {
    crates().into_iter().find(|folder| folder.ends_with(name)).unwrap_or_else(|| panic!("no crate {name}"))
}

/// The files of a folder and of those in it, but for those with such names (without their endings): the path, and the text without
/// the tests at its end.
pub fn files(folder: &Path, but: &[&str]) -> Vec<(PathBuf, String)> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            match path.is_dir() {
                _ if but.contains(&&*stem) => {}
                true => folders.push(path),
                false if path.extension().is_some_and(|end| end == "rs") => {
                    let text = std::fs::read_to_string(&path).expect("a file");
                    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
                    files.push((path, code));
                }
                false => {}
            }
        }
    }
    files
}
