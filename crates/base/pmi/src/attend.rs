//! A launcher for a process that was started without one: it starts the processes that this one
//! spawns, keeps names, and ends when this process and they have.

use std::io;

use rustix::net::SocketType;

use crate::{Control, background};

/// The option of `mpiexec` that a process gives which starts it for itself; after it the number of its
/// end of the socket, and the number of the process.
pub const ATTEND: &str = "--attend";

/// Starts a launcher for this process.
///
/// Errors: mpiexec is not found, or cannot be started.
pub fn attend() -> io::Result<Control> {
    let purpose = "it starts the processes of a program that was itself started without mpiexec";
    Ok(Control::to(background::start(ATTEND, SocketType::SEQPACKET, purpose)?))
}
