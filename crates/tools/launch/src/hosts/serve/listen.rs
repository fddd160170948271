//! Agents call, both sides prove that they belong to the job, and then the agents are listened to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use tern_pmi::Secret;
use tern_proof::Door;

use super::super::tree::BRANCH;
use super::{Event, Server, Up};
use crate::uplink::{Line, callers};

/// Callers at one time that may be strangers, beside the agents and their branches.
const STRANGERS: usize = 64;

impl Server<'_> {
    /// Begins to listen for agents; gives the addresses where.
    pub(super) fn listen(&self, secret: Secret, tell: &Sender<Event>) -> Result<String, String> {
        let listener = bind()?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let hosts = self.shares.len();
        let door = Door::new(listener.into(), secret, 2 * hosts + STRANGERS, tern_settings::PEER_TIMEOUT.get());
        let tell = tell.clone();
        std::thread::spawn(move || accept(door, hosts, &tell));
        Ok(callers(port))
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
                Ok(listener) => {
                    // All agents may call at once.
                    let _ = rustix::net::listen(&listener, 4096);
                    listener.set_nonblocking(true).map_err(|error| error.to_string())?;
                    return Ok(listener);
                }
                Err(error) => last = Some(error),
            }
        }
    }
    let why = last.map_or(String::new(), |error| error.to_string());
    let range = ports.map_or(String::new(), |range| format!(" on a port of {}-{}", range.start(), range.end()));
    Err(format!("cannot listen for the agents of the hosts{range}: {why}"))
}

/// Takes the calls of agents. Who does not prove that it knows the secret is told nothing, and not listened to.
fn accept(mut door: Door, hosts: usize, tell: &Sender<Event>) {
    loop {
        door.wait();
        while let Some(proven) = door.take() {
            let number = proven.number;
            // A branch has the number of its agent, and a mark.
            if ((number & !BRANCH) as usize) < hosts {
                let line = Line::new(proven);
                line.prepare();
                let tell = tell.clone();
                std::thread::spawn(move || listen_to(number, line, &tell));
            }
        }
    }
}

/// Passes on what an agent tells, until its connection ends.
fn listen_to(number: u32, line: Line, tell: &Sender<Event>) {
    let agent = (number & !BRANCH) as usize;
    if number & BRANCH != 0 {
        while let Ok(told @ Up::Ended { .. }) = Up::receive(&line) {
            let _ = tell.send(Event::Told(agent, told));
        }
        return;
    }
    let line = Arc::new(line);
    let _ = tell.send(Event::Joined(agent, line.clone()));
    while let Ok(told) = Up::receive(&line) {
        let event = match told {
            Up::Begun => Event::Begun(agent, line.clone()),
            told => Event::Told(agent, told),
        };
        if tell.send(event).is_err() {
            return;
        }
    }
    let _ = tell.send(Event::Lost(agent, line));
}
