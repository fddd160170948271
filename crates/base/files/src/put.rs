//! Files that come whole, and of which nothing stays when their writer is killed.

use crate::number;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};

/// Writes the file `name` of a directory. A process that reads meanwhile sees all of the old or all of the new. The bytes get a name when
/// all of them are written; where the kernel or the file system has no files without a name, they have one of their own before.
pub fn put(directory: BorrowedFd<'_>, name: &OsStr, mode: Mode, bytes: &[u8]) -> io::Result<()> {
    let mut new = OsString::from(name);
    new.push(format!(".{:016x}.new", number()));
    match nameless(directory, mode, bytes)? {
        Some(file) if link(&file, directory, name) == Ok(()) => return Ok(()),
        Some(file) if link(&file, directory, &new) == Ok(()) => {}
        _ => named(directory, &new, mode, bytes)?,
    }
    let renamed = rustix::fs::renameat(directory, new.as_os_str(), directory, name);
    if renamed.is_err() {
        let _ = rustix::fs::unlinkat(directory, new.as_os_str(), AtFlags::empty());
    }
    Ok(renamed?)
}

/// A file with these bytes that goes with this process, unless it gets a name. `None`: there are no such files here.
fn nameless(directory: BorrowedFd<'_>, mode: Mode, bytes: &[u8]) -> io::Result<Option<File>> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(directory, ".", flags, mode) else { return Ok(None) };
    let mut file = File::from(file);
    file.write_all(bytes)?;
    Ok(Some(file))
}

/// Gives a file a name, which nothing may have.
fn link(file: &File, directory: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    let own = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    rustix::fs::linkat(CWD, own.as_str(), directory, name, AtFlags::SYMLINK_FOLLOW)
}

fn named(directory: BorrowedFd<'_>, name: &OsStr, mode: Mode, bytes: &[u8]) -> io::Result<()> {
    // EXCL follows no link.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut file = File::from(rustix::fs::openat(directory, name, flags, mode)?);
    file.write_all(bytes).inspect_err(|_| _ = rustix::fs::unlinkat(directory, name, AtFlags::empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_is_written_has_no_name_before_it_is_whole() {
        let folder = Scratch::new();
        let directory = rustix::fs::open(&*folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let names = || std::fs::read_dir(&*folder).unwrap().count();
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        // Kept, as if this process were killed now.
        match nameless(directory.as_fd(), Mode::RUSR, b"part").unwrap() {
            Some(file) => assert_eq!((names(), file.metadata().unwrap().len()), (0, 4)),
            None => eprintln!("skipped: the file system has no files without a name"),
        }
        for bytes in ["first", "second"] {
            put(directory.as_fd(), OsStr::new("file"), Mode::RUSR | Mode::WUSR, bytes.as_bytes()).unwrap();
            assert_eq!((text("file").as_str(), names()), (bytes, 1));
        }
        named(directory.as_fd(), OsStr::new("other"), Mode::RUSR, b"third").unwrap();
        assert_eq!((text("other").as_str(), names()), ("third", 2));
        assert!(named(directory.as_fd(), OsStr::new("other"), Mode::RUSR, b"again").is_err());
        assert_eq!(text("other"), "third");
    }
}
