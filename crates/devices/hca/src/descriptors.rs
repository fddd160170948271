//! File descriptors when there are none left: the limit is raised where that is allowed, and who calls is turned away
//! rather than left waiting.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

/// What no descriptor could be got for.
const NONE: u8 = 0;
const PROCESS: u8 = 1;
const SYSTEM: u8 = 2;
static SHORT: AtomicU8 = AtomicU8::new(NONE);

/// An error of a call that makes a descriptor.
pub trait Fault {
    /// The system's number of it, if it has one.
    fn errno(&self) -> Option<Errno>;
}

impl Fault for Errno {
    fn errno(&self) -> Option<Errno> {
        Some(*self)
    }
}

impl Fault for io::Error {
    fn errno(&self) -> Option<Errno> {
        Errno::from_io_error(self)
    }
}

/// Makes a descriptor; again, if the process could not have another: its limit may be raised, or another thread has raised it
/// since.
///
/// Errors: those of `make`. [`shortage`] knows if there were none left.
pub fn obtain<T, E: Fault>(mut make: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    match make() {
        Err(error) if is_shortage(&error) => {
            raise();
            make().inspect_err(|error| _ = is_shortage(error))
        }
        made => made,
    }
}

/// True when there was no descriptor left.
pub fn is_shortage(error: &impl Fault) -> bool {
    let which = match error.errno() {
        Some(Errno::MFILE) => PROCESS,
        Some(Errno::NFILE) => SYSTEM,
        _ => return false,
    };
    SHORT.store(which, Ordering::Relaxed);
    true
}

/// Raises the limit as far as the process may.
fn raise() {
    let limit = getrlimit(Resource::Nofile);
    if SHORT.load(Ordering::Relaxed) == PROCESS && limit.current != limit.maximum {
        // Where that fails, the next attempt does too.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}

/// What to say, and what to try, if this process lacked a descriptor at some time.
pub fn shortage() -> Option<String> {
    match SHORT.load(Ordering::Relaxed) {
        NONE => None,
        SYSTEM => Some("the machine has no file descriptor left (fs.file-max)".into()),
        _ => {
            let limit = getrlimit(Resource::Nofile).maximum;
            let limit = limit.map_or("unlimited".into(), |limit| limit.to_string());
            Some(format!("this process has no file descriptor left; it may have {limit}: raise the limit (ulimit -n)"))
        }
    }
}

/// A descriptor that is kept for the time when there is no other.
pub struct Reserve(Mutex<Option<OwnedFd>>);

impl Default for Reserve {
    fn default() -> Reserve {
        Reserve(Mutex::new(spare()))
    }
}

fn spare() -> Option<OwnedFd> {
    eventfd(0, EventfdFlags::CLOEXEC).ok()
}

impl Reserve {
    /// Calls `make` with the place of the reserve free.
    pub fn give_way<T, E: Fault>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.0.lock().expect("nothing panics with it").take();
        make()
    }

    /// Gets it back; false if there is none.
    pub fn refill(&self) -> bool {
        let mut reserve = self.0.lock().expect("nothing panics with it");
        if reserve.is_none() {
            *reserve = spare();
        }
        reserve.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads come to the limit at once, and the other one has raised it first.
    #[test]
    fn what_another_thread_has_raised_is_used() {
        let maximum = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("up to the maximum anybody may");
        let mut attempts = 0;
        let made = obtain(|| {
            attempts += 1;
            if attempts == 1 { Err(Errno::MFILE) } else { Ok(attempts) }
        });
        assert_eq!(made, Ok(2));
        assert_eq!(obtain(|| Err::<(), _>(Errno::MFILE)), Err(Errno::MFILE));
        assert_eq!(obtain(|| Err::<(), _>(Errno::INVAL)), Err(Errno::INVAL));
    }
}
