//! Which MPI library a program gets. Tern's folder of libraries stands first in `LD_LIBRARY_PATH` of the ranks, so
//! that programs built for another MPI library of the same file name run on Tern.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::by_name;
use crate::elf::Elf;
use crate::planned::Planned;

/// Where the loader looks before its own folders.
pub const PATH: &str = "LD_LIBRARY_PATH";
/// The library of the standard ABI: the folder that has it is Tern's.
const OWN: &str = "libmpi_abi.so.1";

/// The file names of MPI libraries, and whose binary interface each has.
const LIBRARIES: [(&str, &str); 5] = [
    (OWN, "the standard ABI"),
    ("libmpi.so.12", "MPICH's ABI"),
    ("libmpich.so.12", "MPICH's ABI"),
    ("libmpi.so.40", "Open MPI's ABI"),
    ("libmpi.so.20", "the ABI of Open MPI 2"),
];

/// The folder of Tern's libraries, by the place of this program; none if it was not installed.
pub fn folder() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let folder = own.parent()?.parent()?.join("lib");
    folder.join(OWN).exists().then_some(folder)
}

/// A file of Tern's share folder, by the place of this program; none if it was not installed.
pub fn shared(name: &str) -> Option<PathBuf> {
    let file = folder()?.parent()?.join("share/tern").join(name);
    file.exists().then_some(file)
}

/// Tern's `folder`, and that for programs that open a library by a name without a version ([`by_name`]), in front of what
/// the loader is to look through already.
pub fn in_front(folder: &Path, path: Option<&OsStr>) -> OsString {
    let rest: Vec<PathBuf> = path
        .filter(|path| !path.is_empty())
        .map_or(Vec::new(), |path| std::env::split_paths(path).filter(|entry| !entry.starts_with(folder)).collect());
    let by_name = by_name::folder(folder, &rest);
    let all = std::iter::once(folder.to_owned()).chain(by_name).chain(rest);
    // A folder with a colon in its name cannot be in the list.
    std::env::join_paths(all).unwrap_or_else(|_| path.unwrap_or_default().to_owned())
}

/// An MPI library that a program loads.
#[derive(Debug, PartialEq)]
pub struct Loaded {
    /// Its file name, as the program has it.
    pub name: &'static str,
    /// Whose binary interface it has.
    pub abi: &'static str,
    /// The file; none if the loader finds none.
    pub file: Option<PathBuf>,
    /// A folder of the program's own that goes before `LD_LIBRARY_PATH` (DT_RPATH), if it has such.
    pub fixed: Option<String>,
}

impl Loaded {
    /// Whether it is one of Tern's.
    pub fn is_own(&self) -> bool {
        let file = self.file.as_ref().and_then(|file| file.canonicalize().ok());
        let folder = folder().and_then(|folder| folder.canonicalize().ok());
        file.zip(folder).is_some_and(|(file, folder)| file.parent() == Some(&folder))
    }

    /// The file and what is to be known of it, for the user.
    pub fn told(&self) -> String {
        let Loaded { name, abi, file, .. } = self;
        match file {
            None => format!("{name} ({abi}) is not found; LD_LIBRARY_PATH may name its folder"),
            Some(file) if self.is_own() => format!("{name} ({abi}) is Tern's, {}", file.display()),
            Some(file) => format!("{name} ({abi}) is {}, not Tern's{}", file.display(), self.why()),
        }
    }

    /// Why it is not Tern's, if that can be seen, and what helps.
    pub fn why(&self) -> String {
        match &self.fixed {
            Some(folders) => format!(
                ": the program has an RPATH ({folders}), which goes before {PATH}; \
                 patchelf --remove-rpath or chrpath -d takes it away"
            ),
            None => String::new(),
        }
    }
}

/// Whether the program names folders that go before `LD_LIBRARY_PATH`.
pub fn is_fixed(program: &Planned) -> bool {
    read(program).is_some_and(|elf| elf.rpath.is_some())
}

/// The MPI libraries that the loader finds for a program, as it would load it with the program's environment. None
/// for scripts and for programs without MPI.
pub fn of(program: &Planned) -> Vec<Loaded> {
    let Some(elf) = read(program) else { return Vec::new() };
    let Some(list) = list(&elf, program) else { return Vec::new() };
    let known = |line: &str| {
        let line = line.trim();
        // The loader stops at the first library that it does not find, and names it.
        let missing = line.split_once("shared libraries: ").and_then(|(_, rest)| rest.split_once(": cannot open"));
        let (name, file) = missing.or(line.split_once(" => "))?;
        let &(name, abi) = LIBRARIES.iter().find(|(known, _)| *known == name)?;
        let file = file.starts_with('/').then(|| PathBuf::from(file.split(" (0x").next().unwrap_or(file)));
        Some(Loaded { name, abi, file, fixed: elf.rpath.clone() })
    };
    list.lines().filter_map(known).collect()
}

/// The program's own headers; none if it is no program of the usual format.
fn read(program: &Planned) -> Option<Elf> {
    let file = OsStr::from_bytes(program.file.to_bytes());
    let wdir = program.wdir.as_ref().map_or(OsStr::new("."), |wdir| OsStr::from_bytes(wdir.to_bytes()));
    let mut file = std::fs::File::open(Path::new(wdir).join(file)).ok()?;
    Elf::read(|at, length| {
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(at)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    })
}

/// What the loader that the program names says it would load, or why it cannot.
fn list(elf: &Elf, program: &Planned) -> Option<String> {
    let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    let mut command = Command::new(text(elf.loader.as_bytes()));
    command.arg("--list").arg(text(program.file.to_bytes())).stdin(Stdio::null()).env_clear();
    for entry in &program.env {
        if let Some(at) = entry.to_bytes().iter().position(|byte| *byte == b'=') {
            let (name, value) = entry.to_bytes().split_at(at);
            command.env(text(name), text(&value[1..]));
        }
    }
    if let Some(wdir) = &program.wdir {
        command.current_dir(text(wdir.to_bytes()));
    }
    let output = command.output().ok()?;
    Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(path: Option<&str>) -> String {
        in_front(Path::new("/tern/lib"), path.map(OsStr::new)).into_string().unwrap()
    }

    #[test]
    fn own_libraries_come_first() {
        assert_eq!(front(None), "/tern/lib");
        assert_eq!(front(Some("")), "/tern/lib");
        assert_eq!(front(Some("/a:/b")), "/tern/lib:/a:/b");
        assert_eq!(front(Some("/a:/tern/lib:/b")), "/tern/lib:/a:/b");
    }

    #[test]
    fn a_library_is_told_with_the_reason() {
        let mut library = Loaded {
            name: "libmpi.so.40",
            abi: "Open MPI's ABI",
            file: Some("/usr/lib/libmpi.so.40".into()),
            fixed: None,
        };
        assert_eq!(library.told(), "libmpi.so.40 (Open MPI's ABI) is /usr/lib/libmpi.so.40, not Tern's");
        library.fixed = Some("/opt/lib".into());
        assert!(library.told().contains("RPATH (/opt/lib)"), "{}", library.told());
        library.file = None;
        assert!(library.told().contains("not found"), "{}", library.told());
    }
}
