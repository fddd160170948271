//! Files that the user names.

use crate::put::put;
use crate::{distrust, others_write, own_user};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The most that [`read`] takes, in bytes.
const LARGEST: u64 = 16 << 20;

/// Opens a file to be written, empty; makes it if it is missing.
///
/// Errors: PermissionDenied for a link or file that another user has put into a folder which several users write; NXIO
/// for a FIFO that nobody reads.
pub fn create(path: &Path) -> io::Result<File> {
    // Nothing is truncated before its owner is known.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let mode = Mode::from_raw_mode(0o666);
    let file = match rustix::fs::open(path, flags | OFlags::NOFOLLOW, mode) {
        Err(Errno::LOOP) => {
            let link = rustix::fs::statat(CWD, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
            if !is_ours(&link, path)? {
                return Err(foreign(path, "a symbolic link", link.st_uid));
            }
            rustix::fs::open(path, flags, mode)?
        }
        opened => opened?,
    };
    let status = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(status.st_mode) == FileType::RegularFile {
        if !is_ours(&status, path)? {
            return Err(foreign(path, "a file", status.st_uid));
        }
        rustix::fs::ftruncate(&file, 0)?;
    }
    blocking(&file)?;
    Ok(file.into())
}

/// Writes a file so that a process that reads meanwhile sees all of the old or all of the new. What is no plain file, such
/// as /dev/stdout, is written to.
///
/// Errors: as [`create`].
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let status = rustix::fs::statat(CWD, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    let plain = status.is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile);
    if !plain && status.is_ok() {
        return create(path)?.write_all(bytes);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(Errno::ISDIR)?;
    let directory = rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    put(directory.as_fd(), name, Mode::from_raw_mode(0o666), bytes)
}

/// Bytes of room beyond the size of a file, with which a reader does not ask for its end by a small read of its own.
const SPARE: usize = 64;

/// The text of a plain file. Does not wait for a FIFO, and takes 16 MiB at most.
pub fn read(path: &Path) -> io::Result<String> {
    read_if(path, |_| true)
}

/// The same; the file must belong to this user, or to root.
pub fn read_own(path: &Path) -> io::Result<String> {
    read_if(path, |status| status.st_uid == own_user() || status.st_uid == 0)
}

fn read_if(path: &Path, is_trusted: impl Fn(&Stat) -> bool) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    let status = rustix::fs::fstat(&file)?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Errno::ISDIR.into()),
        _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file")),
    }
    if !is_trusted(&status) {
        return Err(distrust(format!("it belongs to user {}", status.st_uid)));
    }
    // With room to spare, so that one call reads all, and another finds the end.
    let mut text = String::with_capacity((status.st_size as u64).min(LARGEST) as usize + SPARE);
    File::from(file).take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Whether this user has put it there, or whose folder it lies in, or others cannot write to that folder.
fn is_ours(status: &Stat, path: &Path) -> io::Result<bool> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = rustix::fs::stat(folder)?;
    Ok([own_user(), folder.st_uid].contains(&status.st_uid) || !others_write(&folder))
}

fn foreign(path: &Path, what: &str, user: u32) -> io::Error {
    distrust(format!("{} is {what} of user {user} in a folder that others write", path.display()))
}

/// From here on a full pipe is waited for.
fn blocking(file: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    Ok(rustix::fs::fcntl_setfl(file, flags - OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests;
