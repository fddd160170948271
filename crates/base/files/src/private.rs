//! A directory that only this user writes.

use crate::put::put;
use crate::{distrust, number, others_write, own_user};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// How often a name is sought that nothing has yet.
const TRIES: u32 = 16;

/// A directory that belongs to this process's user and that nobody else writes, held open.
#[derive(Debug)]
pub struct Private {
    directory: OwnedFd,
    path: PathBuf,
}

impl Private {
    /// The directory `name` in `base`. Each of the two is made, with mode 0700, if it is missing and what it lies in is
    /// there. A directory of this user's that others may write is closed to them.
    ///
    /// Errors: PermissionDenied with a line that says why, for a directory that another user has or has made; else
    /// that of the system.
    pub fn open(base: &Path, name: &str) -> io::Result<Private> {
        let above = match open_directory(base, OFlags::empty()) {
            Err(Errno::NOENT) => {
                let above = base.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
                check_owner(&rustix::fs::stat(above)?, above)?;
                make(|| rustix::fs::mkdir(base, Mode::RWXU))?;
                open_directory(base, OFlags::empty())?
            }
            opened => opened?,
        };
        check_owner(&rustix::fs::fstat(&above)?, base)?;
        make(|| rustix::fs::mkdirat(&above, name, Mode::RWXU))?;
        Private::at(&above, name, base.join(name))
    }

    /// A new directory with a name of its own in the folder for temporary files.
    pub fn temporary() -> io::Result<Private> {
        let folder = std::env::temp_dir();
        let above = open_directory(&folder, OFlags::empty())?;
        for _ in 0..TRIES {
            let name = format!("tern-{:016x}", number());
            match rustix::fs::mkdirat(&above, name.as_str(), Mode::RWXU) {
                Ok(()) => return Private::at(&above, &name, folder.join(name.as_str())),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// A directory that is there, as another process of this user has made it.
    ///
    /// Errors: as [`Private::open`].
    pub fn find(path: &Path) -> io::Result<Private> {
        Private::at(rustix::fs::CWD, path, path.into())
    }

    fn at(above: impl AsFd, name: impl rustix::path::Arg, path: PathBuf) -> io::Result<Private> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let directory = match rustix::fs::openat(above, name, flags, Mode::empty()) {
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(distrust(format!("{} is no directory, or a symbolic link to one", path.display())));
            }
            opened => opened?,
        };
        let status = rustix::fs::fstat(&directory)?;
        if status.st_uid != own_user() {
            return Err(distrust(format!("{} belongs to user {}", path.display(), status.st_uid)));
        }
        if others_write(&status) {
            rustix::fs::fchmod(&directory, Mode::RWXU)?;
        }
        Ok(Private { directory, path })
    }

    /// Its path, for other processes of this user.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file that is there, to be read.
    ///
    /// Errors: PermissionDenied for what is no plain file, and for one that another user owns or may write.
    pub fn read(&self, name: &str) -> io::Result<File> {
        self.opened(name, OFlags::RDONLY)
    }

    /// A file that is there, to be read and written.
    ///
    /// Errors: as [`Private::read`].
    pub fn change(&self, name: &str) -> io::Result<File> {
        self.opened(name, OFlags::RDWR)
    }

    /// A new file; one of that name must not be there.
    pub fn create(&self, name: &str) -> io::Result<File> {
        self.opened(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    fn opened(&self, name: &str, flags: OFlags) -> io::Result<File> {
        // Without NONBLOCK a FIFO would hold this process until somebody writes.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let wrong = |why: &str| distrust(format!("{}: {why}", self.path.join(name).display()));
        let file = match rustix::fs::openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR) {
            Err(Errno::LOOP) => return Err(wrong("it is a symbolic link")),
            Err(Errno::NXIO) => return Err(wrong("it is no plain file")),
            opened => opened?,
        };
        let status: Stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(wrong("it is no plain file"));
        }
        if status.st_uid != own_user() || others_write(&status) {
            return Err(wrong("another user owns it, or may write it"));
        }
        Ok(file.into())
    }

    /// Writes a file. A process that reads meanwhile sees all of the old or all of the new.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        put(self.directory.as_fd(), name.as_ref(), Mode::RUSR | Mode::WUSR, bytes)
    }

    /// The lock `name`, which one process holds until it drops the file. `None` where locks are not known.
    ///
    /// Errors: WouldBlock when another process holds it.
    pub fn lock(&self, name: &str) -> io::Result<Option<File>> {
        let file = self.opened(name, OFlags::RDWR | OFlags::CREATE)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK) => Err(io::ErrorKind::WouldBlock.into()),
            Err(_) => Ok(None),
        }
    }

    /// Removes a file from it.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.directory, name, AtFlags::empty())?)
    }

    /// Removes the directory, which must be empty.
    pub fn remove_directory(self) -> io::Result<()> {
        Ok(rustix::fs::rmdir(&self.path)?)
    }
}

/// What a directory lies in belongs to this user, or to root.
fn check_owner(above: &Stat, path: &Path) -> io::Result<()> {
    match above.st_uid == own_user() || above.st_uid == 0 {
        true => Ok(()),
        false => Err(distrust(format!("{} belongs to user {}", path.display(), above.st_uid))),
    }
}

fn open_directory(path: &Path, more: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY | more;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Makes a directory that may be there.
fn make(mkdir: impl FnOnce() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    match mkdir() {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests;
