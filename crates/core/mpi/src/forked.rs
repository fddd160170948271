//! The child of a fork: MPI belongs to its parent.
//!
//! The child has the parent's rings, sockets and requests, and would answer for the parent if it used them. A handler of fork therefore takes
//! MPI down in the child, where it is as after MPI_Finalize: exit handlers and destructors that ask MPI_Finalized find nothing to do. The entry
//! points look at the mode anyhow, so that a call in the parent does not pay for it. What shares memory with its parent and calls no handler
//! of fork (vfork, posix_spawn, system) must become another program, and then is none of these children.

use crate::constants::MPI_ERR_OTHER;
use crate::error::{Error, Result};
use crate::mode::{Mode, set_mode};
use crate::runtime::{installed, is_installed};
use std::sync::atomic::{AtomicBool, Ordering};

static CHILD: AtomicBool = AtomicBool::new(false);

/// Has forks noticed from now on. For when the library is loaded: the handlers of programs that call MPI are registered later, and run later.
pub fn watch() {
    // SAFETY: the handler stores plain values. Without memory for it a program cannot even begin.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

/// A process that has not initialised MPI leaves that to its child, if it likes.
extern "C" fn in_child() {
    if is_installed() {
        // Relaxed, here and below: the child has one thread, and those that it starts come after.
        CHILD.store(true, Ordering::Relaxed);
        set_mode(Mode::Down);
        tern_mcm::lock::forget_others();
    }
}

/// True in the child of a process that had initialised MPI.
pub fn is_child() -> bool {
    CHILD.load(Ordering::Relaxed)
}

/// Errors: this process is such a child.
pub fn check() -> Result<()> {
    if is_child() { err!(MPI_ERR_OTHER, "{}", why()) } else { Ok(()) }
}

fn why() -> String {
    let rank = installed().map_or(0, |runtime| runtime.me);
    format!("this process was forked from rank {rank}; MPI belongs to its parent")
}

/// What a call of `function`, which needs MPI, gives in a child: nothing is left to finalize, and MPI_Abort ends the child. `None` elsewhere.
pub fn answer(function: &str) -> Option<Result<()>> {
    let refused = check().err()?;
    Some(match function {
        "MPI_Finalize" | "MPI_Session_finalize" => Ok(()),
        "MPI_Abort" => end(refused.code, &told(function, &refused)),
        _ => Err(refused),
    })
}

/// What a child says of a call that failed, before it ends.
pub fn told(function: &str, error: &Error) -> String {
    format!("{function} failed: {}", error.message)
}

/// Ends this child alone, and says why. Exit handlers do not run, and what stdio holds is not written: both were the parent's.
pub fn end(code: i32, text: &str) -> ! {
    // One write, so that lines of several processes do not mix. Nobody is left to tell if it fails.
    let _ = rustix::io::write(rustix::stdio::stderr(), format!("tern: {text}\n").as_bytes());
    // SAFETY: what ends the process needs nothing.
    unsafe { libc::_exit(code) }
}
