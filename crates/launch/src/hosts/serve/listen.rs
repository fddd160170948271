//! Agents call, prove that they belong to the job, and are listened to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::super::tree::BRANCH;
use super::{Event, Server, Up};
use crate::uplink::prepare;

/// How long an agent may take to say who it is, once it has connected.
const JOIN: Duration = Duration::from_secs(10);
/// Callers beside the agents that may be about to say who they are at one time; more are turned away.
const STRANGERS: usize = 64;

impl Server<'_> {
    /// Begins to listen for agents; gives the addresses where.
    pub(super) fn listen(&self, secret: u64, tell: &Sender<Event>) -> Result<String, String> {
        let listener = bind()?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let accepted = tell.clone();
        let hosts = self.shares.len();
        std::thread::spawn(move || accept(&listener, secret, hosts, &accepted));
        Ok(own_addresses(port))
    }
}

/// A socket that listens at all addresses of this machine, on a port of `TERN_PORT_RANGE`.
fn bind() -> Result<TcpListener, String> {
    let ports = tern_settings::port_range()?;
    let mut last = None;
    // That of IPv6 takes calls over IPv4, too; a host may be without IPv6.
    for any in [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)] {
        for port in ports.clone().unwrap_or(0..=0) {
            match TcpListener::bind((any, port)) {
                Ok(listener) => return Ok(listener),
                Err(error) => last = Some(error),
            }
        }
    }
    let why = last.map_or(String::new(), |error| error.to_string());
    let range = ports.map_or(String::new(), |range| format!(" on a port of {}-{}", range.start(), range.end()));
    Err(format!("cannot listen for the agents of the hosts{range}: {why}"))
}

/// The addresses of this machine, those that others may reach first.
fn own_addresses(port: u16) -> String {
    let mut found: Vec<IpAddr> = tern_node::interfaces().into_iter().map(|one| one.address).collect();
    found.sort_by_key(|address| (address.is_loopback(), address.is_ipv6()));
    let shown = found.into_iter().map(|address| SocketAddr::new(address, port).to_string());
    shown.collect::<Vec<_>>().join(",")
}

/// Takes the calls of agents. Who does not know the secret is not listened to.
fn accept(listener: &TcpListener, secret: u64, hosts: usize, tell: &Sender<Event>) {
    let strangers = Arc::new(AtomicUsize::new(0));
    for socket in listener.incoming().flatten() {
        // Relaxed: a count. One more is let in only here.
        if strangers.load(Ordering::Relaxed) >= hosts + STRANGERS {
            continue;
        }
        strangers.fetch_add(1, Ordering::Relaxed);
        let (tell, strangers) = (tell.clone(), strangers.clone());
        std::thread::spawn(move || {
            let number = introduced(&socket, secret, hosts);
            strangers.fetch_sub(1, Ordering::Relaxed);
            if let Some(number) = number {
                listen_to(number, &socket, &tell);
            }
        });
    }
}

/// The number of the agent that has called; `None` for others.
fn introduced(socket: &TcpStream, secret: u64, hosts: usize) -> Option<usize> {
    prepare(socket);
    let _ = socket.set_read_timeout(Some(JOIN));
    let Ok(Up::Join { secret: known, number }) = Up::receive_first(socket) else { return None };
    // A branch has the number of its agent, and a mark.
    let is_agent = known == secret && ((number & !BRANCH) as usize) < hosts && socket.set_read_timeout(None).is_ok();
    is_agent.then_some(number as usize)
}

/// Passes on what an agent tells, until its connection ends.
fn listen_to(number: usize, socket: &TcpStream, tell: &Sender<Event>) {
    if number & BRANCH as usize != 0 {
        while let Ok(told @ Up::Ended { .. }) = Up::receive(socket) {
            let _ = tell.send(Event::Told(number & !(BRANCH as usize), told));
        }
        return;
    }
    let Ok(other) = socket.try_clone() else { return };
    let _ = tell.send(Event::Joined(number, other));
    while let Ok(told) = Up::receive(socket) {
        if tell.send(Event::Told(number, told)).is_err() {
            return;
        }
    }
    let _ = tell.send(Event::Lost(number));
}
