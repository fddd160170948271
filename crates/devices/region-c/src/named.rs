//! How processes find the file of a space by a name.
//!
//! The file lies in /dev/shm, as those of POSIX do. Its first page says what the space is like. The name is there only while
//! members come together: the last one to join removes it, or else the last one to leave. What killed processes have left
//! under a name is not used again: who comes then makes a new file.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString, c_int};

/// Where the space begins in its file; before it lies the head.
pub const BASE: u64 = 64 << 10;
/// Longest name, in bytes.
const LONGEST: usize = 200;
/// First word of a file of this version.
const MARK: u64 = u64::from_le_bytes(*b"ternreg1");
/// How often a name that others remove meanwhile is looked for.
const TRIES: u32 = 1000;

/// What all members say alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub members: u32,
    pub span: u64,
}

/// The file of a space, with its lock: nobody else joins or leaves by this name meanwhile.
pub struct Joining {
    file: OwnedFd,
    path: CString,
    head: Head,
}

impl Joining {
    /// Finds the file of that name, or makes it.
    ///
    /// Errors: ENAMETOOLONG; EINVAL for a name that is empty or has a slash, and when it is of another shape; EACCES for a
    /// file of another user's; those of the system.
    pub fn begin(name: &CStr, head: Head) -> Result<Joining, c_int> {
        let path = path(name)?;
        for _ in 0..TRIES {
            let file = open(&path).map_err(errno)?;
            fs::flock(&file, FlockOperation::LockExclusive).map_err(errno)?;
            if !is_under(&file, &path) {
                continue;
            }
            match read(file.as_fd()).map_err(errno)? {
                None => write(file.as_fd(), head).map_err(errno)?,
                // Others have ended before they were complete.
                Some(old) if !is_any_alive(file.as_fd(), old.members) => {
                    let _ = fs::unlink(&path);
                    continue;
                }
                Some(old) if old != head => return Err(-libc::EINVAL),
                Some(_) => {}
            }
            return Ok(Joining { file, path, head });
        }
        Err(-libc::EAGAIN)
    }

    /// A descriptor of the file.
    pub fn file(&self) -> Result<OwnedFd, c_int> {
        self.file.try_clone().map_err(|error| -error.raw_os_error().unwrap_or(libc::EIO))
    }

    /// After joining: when all are there, nobody needs the name any more.
    pub fn end(self) {
        if are_all_alive(self.file.as_fd(), self.head.members) {
            let _ = fs::unlink(&self.path);
        }
        let _ = fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// Removes a name.
pub fn remove(name: &CStr) -> Result<(), c_int> {
    fs::unlink(path(name)?).map_err(errno)
}

/// Before leaving, or after it: removes the name if nobody else of the space lives.
pub fn leave(name: &CStr) {
    let Ok(path) = path(name) else { return };
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file) = fs::open(&path, flags, Mode::empty()) else { return };
    let locked = fs::flock(&file, FlockOperation::LockExclusive).is_ok() && is_under(&file, &path);
    if locked
        && let Ok(Some(head)) = read(file.as_fd())
        && !is_any_alive(file.as_fd(), head.members)
    {
        let _ = fs::unlink(&path);
    }
}

fn path(name: &CStr) -> Result<CString, c_int> {
    let bytes = name.to_bytes();
    if bytes.len() > LONGEST {
        return Err(-libc::ENAMETOOLONG);
    }
    if bytes.is_empty() || bytes.contains(&b'/') {
        return Err(-libc::EINVAL);
    }
    let mut path = format!("/dev/shm/tern-region.{}.", rustix::process::geteuid().as_raw()).into_bytes();
    path.extend_from_slice(bytes);
    CString::new(path).map_err(|_| -libc::EINVAL)
}

/// A plain file that this user alone may open.
fn open(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    let status = fs::fstat(&file)?;
    let own = status.st_uid == rustix::process::geteuid().as_raw();
    let plain = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    let closed = Mode::from_raw_mode(status.st_mode).bits() & 0o077 == 0;
    if own && plain && closed { Ok(file) } else { Err(Errno::ACCESS) }
}

/// Whether the name still leads to this file.
fn is_under(file: &OwnedFd, path: &CStr) -> bool {
    match (fs::fstat(file), fs::lstat(path)) {
        (Ok(one), Ok(two)) => (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino),
        _ => false,
    }
}

fn read(file: BorrowedFd<'_>) -> Result<Option<Head>, Errno> {
    let mut bytes = [0; 24];
    if rustix::io::pread(file, &mut bytes, 0)? < bytes.len() {
        return Ok(None);
    }
    let word = |index: usize| u64::from_ne_bytes(std::array::from_fn(|at| bytes[8 * index + at]));
    Ok((word(0) == MARK).then(|| Head { members: word(1) as u32, span: word(2) }))
}

fn write(file: BorrowedFd<'_>, head: Head) -> Result<(), Errno> {
    let words = [MARK, u64::from(head.members), head.span];
    let mut bytes = [0; 24];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    rustix::io::pwrite(file, &bytes, 0).map(|_| ())
}

/// Whether a lock of a member's lies on some byte of these (see `Seat` of the region crate).
fn is_locked(file: BorrowedFd<'_>, start: u64, len: u64) -> bool {
    // SAFETY: all zeros is a value of this type.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    (lock.l_start, lock.l_len) = (start as libc::off_t, len as libc::off_t);
    // SAFETY: reads and writes the struct above.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
    // What the kernel does not tell counts as alive.
    asked != 0 || lock.l_type != libc::F_UNLCK as libc::c_short
}

fn is_any_alive(file: BorrowedFd<'_>, members: u32) -> bool {
    is_locked(file, BASE, u64::from(members.max(1)))
}

fn are_all_alive(file: BorrowedFd<'_>, members: u32) -> bool {
    (0..u64::from(members)).all(|member| is_locked(file, BASE + member, 1))
}

fn errno(errno: Errno) -> c_int {
    -errno.raw_os_error()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(test: &str) -> CString {
        CString::new(format!("{test}-{}", std::process::id())).expect("a name")
    }

    #[test]
    fn a_name_that_nobody_living_has_is_made_anew() {
        let name = name("anew");
        let head = Head { members: 2, span: BASE };
        let first = Joining::begin(&name, head).expect("a file");
        let inode = fs::fstat(&first.file).expect("a file").st_ino;
        // Nobody has joined in it, as after a kill.
        drop(first);
        let other = Head { members: 3, span: 2 * BASE };
        let second = Joining::begin(&name, other).expect("a file");
        assert_ne!(fs::fstat(&second.file).expect("a file").st_ino, inode);
        drop(second);
        leave(&name);
        assert_eq!(remove(&name), Err(-libc::ENOENT));
    }

    #[test]
    fn names_and_files_of_others_are_refused() {
        let head = Head { members: 2, span: BASE };
        let refused = |name: &CStr| Joining::begin(name, head).err();
        assert_eq!(refused(c""), Some(-libc::EINVAL));
        assert_eq!(refused(c"a/b"), Some(-libc::EINVAL));
        assert_eq!(refused(&CString::new("x".repeat(LONGEST + 1)).expect("a name")), Some(-libc::ENAMETOOLONG));
        let name = name("open");
        let file = open(&path(&name).expect("a path")).expect("a file");
        fs::fchmod(&file, Mode::from_raw_mode(0o666)).expect("its mode");
        assert_eq!(refused(&name), Some(-libc::EACCES));
        remove(&name).expect("removed");
        fs::symlink(c"/tmp/elsewhere", path(&name).expect("a path")).expect("a link");
        assert_eq!(refused(&name), Some(-libc::ELOOP));
        remove(&name).expect("removed");
    }
}
