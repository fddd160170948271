//! `libmpi.so`, the name without a version. Programs open it at run time that are not linked with an MPI library, as the
//! published wheel of mpi4py does.
//!
//! The name says nothing of the binary interface. On a machine with a package for development it stands for the library of
//! that package, whose own name says it. So the ranks find the name in a folder of Tern's, in which it stands for Tern's
//! library of the same interface. Where the machine has no such name, the ranks have none either, for any choice would be
//! wrong for some programs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::elf;

const NAME: &str = "libmpi.so";
/// The names that libraries have themselves, and Tern's folder with [`NAME`] for their interface.
const FOLDERS: [(&str, &str); 3] =
    [("libmpi.so.12", "tern/open/12"), ("libmpich.so.12", "tern/open/12"), ("libmpi.so.40", "tern/open/40")];
/// What the loader looks in before its own folders.
const CACHE: &str = "/etc/ld.so.cache";

/// The folder below `own`, that of Tern's libraries, in which ranks find the name. The loader would look through `path` for
/// them first. None where it finds nothing, or a library of another interface.
pub fn folder(own: &Path, path: &[PathBuf]) -> Option<PathBuf> {
    let in_path = path.iter().map(|folder| folder.join(NAME));
    let name =
        in_path.chain(std::iter::once_with(cached).flatten()).chain(of_loader()).find_map(|file| soname(&file))?;
    let (_, folder) = FOLDERS.iter().find(|(known, _)| *known == name)?;
    Some(own.join(folder)).filter(|folder| folder.join(NAME).exists())
}

/// The name that a library has itself, if it is one that this machine can load.
fn soname(file: &Path) -> Option<String> {
    let mut file = File::open(file).ok()?;
    elf::soname(|at, length| {
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(at)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    })
}

/// The files of that name that the loader's cache has.
fn cached() -> Vec<PathBuf> {
    std::fs::read(CACHE).map_or(Vec::new(), |cache| named(&cache))
}

/// The paths that end in `/libmpi.so` among strings that end with a zero byte.
fn named(cache: &[u8]) -> Vec<PathBuf> {
    let ends = |string: &&[u8]| string.first() == Some(&b'/') && string.ends_with(b"/libmpi.so");
    let strings = cache.split(|byte| *byte == 0);
    strings.filter(ends).map(|string| Path::new(std::ffi::OsStr::from_bytes(string)).to_owned()).collect()
}

/// The files of that name in the loader's own folders.
fn of_loader() -> impl Iterator<Item = PathBuf> {
    let several = format!("{}-linux-gnu", std::env::consts::ARCH);
    let of_machine = ["/lib", "/usr/lib"].map(|folder| Path::new(folder).join(&several));
    let plain = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from);
    of_machine.into_iter().chain(plain).map(|folder| folder.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_has_whole_paths() {
        let cache = b"glibc-ld.so.cache1.1\0\x05\0/x/libmpi.so\0libmpi.so\0/y/libmpi.so.40\0/z/libompi.so\0/libmpi.so";
        assert_eq!(named(cache), [Path::new("/x/libmpi.so"), Path::new("/libmpi.so")]);
        assert!(named(b"").is_empty());
    }

    #[test]
    fn what_is_no_library_has_no_name() {
        assert_eq!(soname(Path::new("/etc/passwd")), None);
        assert_eq!(soname(Path::new("/no/such/file")), None);
        assert_eq!(folder(Path::new("/nowhere"), &[PathBuf::from("/nowhere/either")]), None);
    }
}
