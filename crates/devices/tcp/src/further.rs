//! Further connections to a peer, each by another interface: its other addresses are called, one after the other.
//!
//! Which interface an address is reached by, the kernel's routes say. An address that leads over an interface which is in use
//! already is left; so is one that does not answer.

use crate::call::TRY_TIME;
use crate::frame::PIECE;
use crate::outlet::Outlet;
use rustix::fd::{AsRawFd, OwnedFd};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_node::Interface;
use tern_proof::{Keys, Shake, Stage, Step, Verdict, connect};

/// Connections beside the first one, at most.
pub const MOST: u32 = 7;

/// A peer that is called for further connections.
pub struct Further {
    peer: u32,
    outlet: Arc<Outlet>,
    /// Addresses that were not tried, the next one last, with their places in the list of all.
    left: Vec<(usize, SocketAddr)>,
    /// Interfaces of this machine.
    interfaces: Vec<Interface>,
    used: Vec<Vec<u8>>,
    made: u32,
    under_way: Option<(Shake, IpAddr)>,
}

impl Further {
    /// `outlet`: the first connection.
    pub fn new(peer: u32, outlet: Arc<Outlet>, addresses: &[SocketAddr]) -> Further {
        let interfaces = tern_node::interfaces();
        let remote =
            rustix::net::getpeername(&outlet.socket).ok().flatten().and_then(|at| SocketAddr::try_from(at).ok());
        let remote = remote.map(|at| at.ip().to_canonical());
        let place = addresses.iter().position(|address| Some(address.ip()) == remote);
        let used = local(&outlet.socket).and_then(|local| name(&interfaces, local, place));
        let others = addresses.iter().copied().enumerate().filter(|(at, _)| Some(*at) != place);
        let left = others.rev().collect();
        Further { peer, outlet, left, interfaces, used: used.into_iter().collect(), made: 0, under_way: None }
    }

    pub fn shake(&self) -> Option<&Shake> {
        self.under_way.as_ref().map(|(shake, _)| shake)
    }

    /// Goes on; false when all addresses have been tried.
    pub fn go_on(&mut self, keys: &Keys, silence: Duration) -> bool {
        if let Some((mut shake, to)) = self.under_way.take() {
            match shake.step(keys, self.peer) {
                Ok(Step::Verdict(Verdict::Taken)) => {
                    counters::TCP_CONNECTIONS.add(1);
                    self.made += 1;
                    [&self.outlet.socket, &shake.socket].into_iter().for_each(keep_little);
                    self.outlet.add(shake.socket, to);
                }
                Ok(Step::Wait) if Instant::now() < shake.until => self.under_way = Some((shake, to)),
                Ok(_) | Err(_) => drop(self.used.pop()),
            }
        }
        while self.under_way.is_none() {
            let Some((place, address)) = self.left.pop() else { return false };
            self.under_way = self.call(place, address, silence).map(|shake| (shake, address.ip()));
        }
        true
    }

    fn call(&mut self, place: usize, address: SocketAddr, silence: Duration) -> Option<Shake> {
        if self.made == MOST {
            return None;
        }
        let socket = connect(address, silence).ok()?;
        let interface = name(&self.interfaces, local(&socket)?, Some(place))?;
        if self.used.contains(&interface) {
            return None;
        }
        self.used.push(interface);
        Some(Shake::new(socket, Stage::Connecting(self.made + 1), TRY_TIME))
    }
}

/// Has a socket take no more than a piece beyond what is on its way: what a slow connection has taken no other one can send.
fn keep_little(socket: &OwnedFd) {
    let bytes = PIECE as libc::c_int;
    let len = size_of_val(&bytes) as libc::socklen_t;
    // SAFETY: the kernel reads an int. A kernel that refuses keeps more.
    unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, (&raw const bytes).cast(), len)
    };
}

/// This end of a connection.
fn local(socket: &OwnedFd) -> Option<IpAddr> {
    let address = SocketAddr::try_from(rustix::net::getsockname(socket).ok()?).ok()?;
    Some(address.ip().to_canonical())
}

/// The interface with this address. Of the loopback's each place in a list of addresses counts as one: tests have no other.
fn name(interfaces: &[Interface], local: IpAddr, place: Option<usize>) -> Option<Vec<u8>> {
    if local.is_loopback() {
        return Some(format!("lo, {}", place?).into_bytes());
    }
    interfaces.iter().find(|one| one.address == local).map(|one| one.name.clone())
}
