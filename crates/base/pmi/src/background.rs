//! Processes of `mpiexec` that this process starts for itself, and a socket to each.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::io::FdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

/// Starts mpiexec with `option`, the number of its end of a socket, and the number of this process. Gives this
/// process's end of the socket, which is of that kind.
///
/// What is started goes to the background at once, so that this program has no child that it does not know.
///
/// Errors: mpiexec is not found, or cannot be started. `purpose` is said then: "it starts ...".
pub(crate) fn start(option: &str, kind: SocketType, purpose: &str) -> io::Result<OwnedFd> {
    let program = program();
    let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    // A copy without close-on-exec, for the time of the start.
    let inherited: OwnedFd = rustix::io::dup(&theirs)?;
    rustix::io::fcntl_setfd(&inherited, FdFlags::empty())?;
    let (fd, pid) = (inherited.as_raw_fd(), std::process::id());
    let mut command = Command::new(&program);
    command.args([option.to_owned(), fd.to_string(), pid.to_string()]);
    let status = command.stdin(Stdio::null()).status();
    let shown = program.display();
    match status {
        Ok(status) if status.success() => Ok(ours),
        Ok(status) => Err(io::Error::other(format!("{shown} failed: {status}"))),
        // A program that ignores SIGCHLD has no children to wait for; the socket tells whether this one lives.
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(ours),
        Err(error) => Err(io::Error::new(error.kind(), format!("{shown} cannot be started: {error}; {purpose}"))),
    }
}

/// Where mpiexec is: beside the library's folder, as installed, or in PATH.
fn program() -> PathBuf {
    installed().filter(|file| file.exists()).unwrap_or_else(|| PathBuf::from("mpiexec"))
}

fn installed() -> Option<PathBuf> {
    // SAFETY: plain data that the call fills.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address of a function of this library, and a place for the answer.
    let found = unsafe { libc::dladdr(start as *const libc::c_void, &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a string of the loader's, which lives as long as the library.
    let name = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) };
    let library = PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())).canonicalize().ok()?;
    Some(library.parent()?.parent()?.join("bin/mpiexec"))
}
