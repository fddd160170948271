//! The sources of the crates, as tests of their form read them.

use std::path::{Path, PathBuf};

/// The folder of all crates.
pub fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates")
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
