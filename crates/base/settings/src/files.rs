//! Settings in files: one of the site beside the library, and one of the user.
//!
//! A line is `NAME = value`, with the names of the environment variables; what stands behind `#` is a comment. The user's file counts more
//! than the site's, and the environment more than both. Processes that Tern's mpiexec starts read no file: mpiexec has, and gives them what
//! it found. On another host the agent adds what the files there say of other settings.

use std::ffi::{CStr, OsStr, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::Source;

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The name in front of `=`.
    pub name: String,
    /// What stands behind it, without blanks around.
    pub value: String,
    /// Which of the files it is in.
    pub source: Source,
    /// Where it stands, for messages: `/etc/tern.conf:3`.
    pub at: String,
}

/// The lines of all files, those that count more first; and what is wrong with others, a line each for the user.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// In the order in which they count.
    pub lines: Vec<Line>,
    /// Lines that are none, and a file that was asked for and cannot be read.
    pub faults: Vec<String>,
}

impl Files {
    /// What the files say of a setting: the last line of the file that counts most.
    pub fn value(&self, name: &str) -> Option<&Line> {
        let first = self.lines.iter().find(|line| line.name == name)?;
        self.lines.iter().rfind(|line| line.name == name && line.source == first.source)
    }

    /// Adds the lines of a file.
    fn add(&mut self, path: &Path, source: Source, text: &str) {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            let at = format!("{}:{number}", path.display());
            match line.split_once('=') {
                _ if line.is_empty() => {}
                Some((name, value)) if name.trim().starts_with("TERN_") => {
                    let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
                    self.lines.push(Line { name, value, source, at });
                }
                _ => self.faults.push(format!("{at}: \"{line}\" is not a line TERN_NAME = value")),
            }
        }
    }
}

/// Reads the files. `asked` is the value of TERN_CONF: a file in place of both, or `off` for none.
pub fn read(asked: &str) -> Files {
    let mut files = Files::default();
    match asked {
        "off" => {}
        "" => {
            for (path, source) in places() {
                // Most have none.
                if let Ok(text) = std::fs::read_to_string(&path) {
                    files.add(&path, source, &text);
                }
            }
        }
        path => match std::fs::read_to_string(path) {
            Ok(text) => files.add(Path::new(path), Source::User, &text),
            Err(error) => files.faults.push(format!("TERN_CONF={path}: the file cannot be read: {error}")),
        },
    }
    files
}

/// The files that are looked for where TERN_CONF names none, those that count more first.
pub fn places() -> Vec<(PathBuf, Source)> {
    let places = [(user(), Source::User), (site(), Source::Site)];
    places.into_iter().filter_map(|(path, source)| Some((path?, source))).collect()
}

/// `$XDG_CONFIG_HOME/tern.conf`, else `~/.config/tern.conf`.
fn user() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("tern.conf"))
}

/// `PREFIX/etc/tern.conf`, where PREFIX is the folder above that of this library or program.
fn site() -> Option<PathBuf> {
    Some(site_below(own_file()?.parent()?.parent()?))
}

/// What a package manager has installed below /usr is configured in /etc.
fn site_below(prefix: &Path) -> PathBuf {
    let packaged = prefix.starts_with("/usr") && !prefix.starts_with("/usr/local");
    if packaged { PathBuf::from("/etc/tern.conf") } else { prefix.join("etc/tern.conf") }
}

/// The file that this code was loaded from: the library, or the program. It is looked for once.
pub fn own_file() -> Option<&'static Path> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    FILE.get_or_init(find_own_file).as_deref()
}

fn find_own_file() -> Option<PathBuf> {
    let mut about = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the function writes to `about` alone; any address may be asked about.
    let found = unsafe { libc::dladdr(find_own_file as *const c_void, about.as_mut_ptr()) };
    // SAFETY: all zeros are a value, with no name in it.
    let name = unsafe { about.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return None;
    }
    // SAFETY: a string of the loader's, which lives as long as this code.
    let name = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
    // The name of a program is what it was called by.
    let file = if name.is_absolute() { name.to_owned() } else { std::env::current_exe().ok()? };
    file.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[(&str, Source, &str)]) -> Files {
        let mut files = Files::default();
        texts.iter().for_each(|(path, source, text)| files.add(Path::new(path), *source, text));
        files
    }

    #[test]
    fn the_users_file_counts_more_and_a_later_line_more_than_an_earlier_one() {
        let user = "TERN_SPIN = 5\n\n# TERN_LOG=debug\nTERN_SPIN=7 # the last one\n";
        let site = "TERN_SPIN = 9\nTERN_LOG=info\nTERN_LOG = error";
        let files = of(&[("/u", Source::User, user), ("/s", Source::Site, site)]);
        assert_eq!(files.faults, Vec::<String>::new());
        let spin = files.value("TERN_SPIN").expect("a value");
        assert_eq!((spin.value.as_str(), spin.at.as_str(), spin.source), ("7", "/u:4", Source::User));
        let log = files.value("TERN_LOG").expect("a value");
        assert_eq!((log.value.as_str(), log.at.as_str()), ("error", "/s:3"));
        assert_eq!(files.value("TERN_RING"), None);
    }

    #[test]
    fn what_is_no_line_is_told_with_its_place() {
        let files = of(&[("/s", Source::Site, "TERN_SPIN 5\nPATH=/bin\n=3\n")]);
        assert_eq!(files.lines, []);
        let places: Vec<bool> =
            (1..).zip(&files.faults).map(|(n, fault)| fault.starts_with(&format!("/s:{n}: "))).collect();
        assert_eq!(places, [true; 3]);
    }

    #[test]
    fn packages_are_configured_in_etc() {
        assert_eq!(site_below(Path::new("/usr/lib/x/tern")), Path::new("/etc/tern.conf"));
        assert_eq!(site_below(Path::new("/usr/local")), Path::new("/usr/local/etc/tern.conf"));
        assert_eq!(site_below(Path::new("/opt/tern")), Path::new("/opt/tern/etc/tern.conf"));
    }

    #[test]
    fn a_file_that_was_asked_for_is_missed() {
        let files = read("/nowhere/tern.conf");
        assert!(files.faults[0].starts_with("TERN_CONF=/nowhere/tern.conf: "), "{files:?}");
        assert_eq!(read("off"), Files::default());
    }
}
