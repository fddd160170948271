//! Where callers are waited for.

use crate::Settings;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::io::{Error, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A socket that listens on a port of the settings, for all addresses if some are beyond this machine.
///
/// Errors: no port is free, or there are no sockets.
pub fn listen(settings: &Settings) -> Result<OwnedFd> {
    let near = settings.addresses.iter().all(IpAddr::is_loopback);
    let wildcards = [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
    let hosts: Vec<IpAddr> = if near { settings.addresses.clone() } else { wildcards.into() };
    let ports = settings.ports.clone().unwrap_or(0..=0);
    let mut last = Error::other("the device has no address");
    for host in hosts {
        for port in ports.clone() {
            match listen_at(SocketAddr::new(host, port)) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error.into(),
            }
        }
    }
    Err(Error::new(last.kind(), format!("no port of {}..={} can be listened on: {last}", ports.start(), ports.end())))
}

fn listen_at(address: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    if address.is_ipv6() {
        // IPv4 too.
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, 4096)?;
    Ok(socket)
}
