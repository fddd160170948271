//! Processes that another launcher than Tern's has started.
//!
//! Such a launcher speaks PMI-1 on the wire, or PMIx. PMIx is a library with threads of its own, which have no place
//! in a program that may count on being alone; so it is loaded by a process beside this one, the relay
//! ([`PMIX`]), which speaks PMI-1 with this one.
//!
//! All that these launchers are asked for is: rank, size, which ranks are on which node, a few words from one process
//! to all, a barrier, and the end. The rest is done by keepers ([`KEEP`]): on each node one `mpiexec` in the
//! background, started by the node's first rank. To it each rank has the line ([`crate::Control`]) that it has to
//! Tern's own launcher under that one. See `docs/launchers.md`.

mod keep;
mod line;
mod mapping;
mod place;
mod signs;

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

use rustix::io::FdFlags;
use rustix::net::SocketType;

use crate::{Error, Job, background};
use line::Line;

pub use keep::{Begin, Role};
pub use place::welcome;

/// The option of `mpiexec` that a rank gives which starts a keeper, or the root of all keepers; after it the number
/// of its end of the socket, and the number of the process.
pub const KEEP: &str = "--keep";
/// The same for the relay to PMIx.
pub const PMIX: &str = "--pmix";

/// How a launcher is reached.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// PMI-1 over an inherited descriptor.
    Descriptor(RawFd),
    /// PMI-1 over TCP: `host:port`, and the number by which the process names itself.
    Port(String, String),
    /// PMIx.
    Pmix,
}

/// The line to the launcher, until it was told that this process is done with MPI.
static LINE: Mutex<Option<Line>> = Mutex::new(None);

fn with_line(act: impl FnOnce(&mut Option<Line>)) {
    act(&mut LINE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
}

/// Tells a launcher that is not Tern's that this process has finalized MPI, if there is one. Once.
pub fn finalize() {
    with_line(|line| {
        if let Some(line) = line.take() {
            // With the launcher gone, nobody wants to know.
            let _ = line.finalize();
        }
    });
}

/// Tells a launcher that is not Tern's to end the job with this exit code, if there is one.
pub fn abort(code: i32) {
    with_line(|line| {
        if let Some(line) = line {
            line.abort(code);
        }
    });
}

/// The number of processes as the environment tells it; 1 if it does not.
pub(crate) fn told_size(get: impl Fn(&str) -> Option<String>) -> u32 {
    get("PMI_SIZE").and_then(|size| size.trim().parse().ok()).unwrap_or(1)
}

/// Words about the launcher of this process, for a tool.
///
/// Error: as from [`crate::init`].
pub fn describe() -> Result<&'static str, Error> {
    Ok(match find(|name| std::env::var(name).ok(), is_socket)? {
        Some(Way::Descriptor(_) | Way::Port(..)) => "a launcher that speaks PMI-1",
        Some(Way::Pmix) => "a launcher that speaks PMIx",
        None => "no launcher: an MPI program is a world of one",
    })
}

/// How the launcher is reached, if there is one. A descriptor that is open counts more than words: variables are
/// inherited by everything, also from a job around this one.
///
/// Error: the environment says that there are several processes, and no way to the launcher.
fn find(get: impl Fn(&str) -> Option<String>, open: impl Fn(RawFd) -> bool) -> Result<Option<Way>, Error> {
    let number = |name: &str| get(name).and_then(|value| value.trim().parse::<i64>().ok());
    let fd = number("PMI_FD").and_then(|fd| RawFd::try_from(fd).ok());
    if let Some(fd) = fd.filter(|fd| open(*fd)) {
        return Ok(Some(Way::Descriptor(fd)));
    }
    if get("PMIX_NAMESPACE").is_some() && number("PMIX_RANK").is_some() {
        return Ok(Some(Way::Pmix));
    }
    if let Some(port) = get("PMI_PORT") {
        let id = get("PMI_ID").or_else(|| get("PMI_RANK"));
        return Ok(Some(Way::Port(port, id.unwrap_or_else(|| "0".into()))));
    }
    signs::refuse(get)?;
    Ok(None)
}

/// Whether a descriptor is an open socket.
fn is_socket(fd: RawFd) -> bool {
    if fd < 0 {
        return false;
    }
    // SAFETY: the number may be closed, which the call answers with EBADF; it is used for nothing else.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    rustix::fs::fstat(borrowed).is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_socket())
}

/// Takes the place that another launcher gives; none if there is no such launcher.
///
/// Errors: the launcher or the keeper cannot be reached, or the environment says that there are several processes and
/// no way to the launcher. Then the launcher has been told to end the job, if it can be reached.
pub(crate) fn join() -> Result<Option<Job>, Error> {
    let get = |name: &str| std::env::var(name).ok();
    let Some(way) = find(get, is_socket)? else { return Ok(None) };
    let (place, line) = place::take(&way, get);
    match place {
        Ok(job) => {
            with_line(|kept| *kept = line);
            Ok(Some(job))
        }
        Err(error) => {
            if let Some(line) = line {
                line.abort(1);
            }
            // A lone process needs nobody.
            match is_alone(&way, get) {
                true => Ok(None),
                false => Err(error),
            }
        }
    }
}

/// Whether the environment says that this is the only process of its job.
fn is_alone(way: &Way, get: impl Fn(&str) -> Option<String>) -> bool {
    let one = |name: &str| get(name).is_some_and(|size| size.trim() == "1");
    match way {
        Way::Descriptor(_) | Way::Port(..) => one("PMI_SIZE"),
        // The variables of Slurm may be of a step around the launcher.
        Way::Pmix => get("PMIX_NAMESPACE").is_some_and(|of| of.starts_with("slurm.")) && one("SLURM_STEP_NUM_TASKS"),
    }
}

/// Opens the line, and tells rank and size where that is known from it.
fn open(way: &Way) -> Result<(Line, Option<(u32, u32)>), Error> {
    match way {
        Way::Descriptor(fd) => {
            // SAFETY: an open socket, which the launcher has left for this call to take; with another one of that
            // number the first answer would be wrong.
            let socket = unsafe { OwnedFd::from_raw_fd(*fd) };
            let _ = rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC);
            Ok((Line::new(socket), None))
        }
        Way::Port(port, id) => {
            let line = Line::connect(port)?;
            let place = line.introduce(id)?;
            Ok((line, Some(place)))
        }
        Way::Pmix => {
            let purpose = "it speaks PMIx for a program that another launcher has started";
            let socket = background::start(PMIX, SocketType::STREAM, purpose);
            let line = Line::new(socket.map_err(|error| Error::Protocol { text: error.to_string() })?);
            let place = line.introduce("0")?;
            Ok((line, Some(place)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], open: bool) -> Result<Option<Way>, Error> {
        let get = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        find(get, |_| open)
    }

    #[test]
    fn the_way_is_chosen_by_what_is_there() {
        let hydra = [("PMI_FD", "9"), ("PMI_RANK", "0"), ("PMI_SIZE", "2")];
        let pmix = [("PMIX_NAMESPACE", "a@1"), ("PMIX_RANK", "1")];
        let both = [&hydra[..], &pmix].concat();
        assert_eq!(found(&hydra, true), Ok(Some(Way::Descriptor(9))));
        assert_eq!(found(&pmix, true), Ok(Some(Way::Pmix)));
        assert_eq!(found(&both, true), Ok(Some(Way::Descriptor(9))), "the descriptor is of the inner launcher");
        assert_eq!(found(&both, false), Ok(Some(Way::Pmix)), "the variables of PMI-1 are left over");
        let port = [("PMI_PORT", "a:5"), ("PMI_ID", "3")];
        assert_eq!(found(&port, false), Ok(Some(Way::Port("a:5".into(), "3".into()))));
        assert_eq!(found(&[], true), Ok(None));
        assert!(found(&hydra, false).is_err(), "its descriptor was closed on the way");
        assert!(found(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_STEP_ID", "0")], true).is_err());
    }

    #[test]
    fn the_size_is_told_before_the_line_is_open() {
        assert_eq!(told_size(|name| (name == "PMI_SIZE").then(|| "4".into())), 4);
        assert_eq!(told_size(|_| None), 1);
    }
}
