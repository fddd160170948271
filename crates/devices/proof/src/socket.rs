//! The sockets of calls.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tern_node::keep_alive;

/// Begins a call, and does not wait for what comes of it.
///
/// Errors: that of the system, at once.
pub fn connect(address: SocketAddr, silence: Duration) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    prepare(&socket, silence)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// Short packets leave at once, and a peer that vanishes is noticed.
pub fn prepare(socket: &OwnedFd, silence: Duration) -> Result<(), Errno> {
    sockopt::set_tcp_nodelay(socket, true)?;
    keep_alive(socket, silence)
}

/// The address at the other end, if there is one.
pub fn source(socket: &OwnedFd) -> Option<IpAddr> {
    let address = rustix::net::getpeername(socket).ok().flatten()?;
    Some(SocketAddr::try_from(address).ok()?.ip().to_canonical())
}
