//! Peers that give no sign any more: a wire is cut, a machine has lost its power.
//!
//! The kernel notices by itself only where nothing is under way (keepalive). Where bytes have not been acknowledged, it
//! sends them again for a quarter of an hour. Its own limit for that, TCP_USER_TIMEOUT, is none for a peer that computes:
//! it also ends a connection whose receiver has had no room for so long. So the thread asks for the age of the last
//! acknowledgement or data, which a living kernel sends for its process. Connections beside the first one are looked after, too: nobody reads from
//! them here, so nobody else would see their end.

use crate::fault::Fault;
use crate::outlet::Outlet;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tern_node::Connection;

/// The open connections.
pub struct Vigil {
    silence: Duration,
    next: Instant,
    outlets: Vec<Weak<Outlet>>,
}

impl Vigil {
    /// `silence`: how long a peer may give no sign.
    pub fn new(silence: Duration) -> Vigil {
        Vigil { silence, next: Instant::now(), outlets: Vec::new() }
    }

    /// Looks after a connection, until it is closed.
    pub fn watch(&mut self, outlet: &Arc<Outlet>) {
        self.outlets.push(Arc::downgrade(outlet));
    }

    /// When to call [`Vigil::look`]. `None`: no connection is open.
    pub fn due(&self) -> Option<Instant> {
        (!self.outlets.is_empty()).then_some(self.next)
    }

    /// Ends the connections of peers that have given no sign.
    pub fn look(&mut self, now: Instant) {
        if self.due().is_none_or(|due| now < due) {
            return;
        }
        self.next = now + self.silence / 6;
        let silence = self.silence;
        self.outlets.retain(|outlet| {
            let Some(outlet) = outlet.upgrade() else { return false };
            let fault = look_at(&outlet, silence);
            if let Some(fault) = fault {
                outlet.fail(fault);
            }
            fault.is_none()
        });
    }
}

/// Why a connection is to be ended.
fn look_at(outlet: &Outlet, silence: Duration) -> Option<Fault> {
    if Connection::of(&outlet.socket).is_ok_and(|state| state.is_silent(silence)) {
        return Some(Fault { errno: Errno::TIMEDOUT, to: None });
    }
    outlet.further().into_iter().find_map(|(socket, to)| {
        let state = Connection::of(&*socket).ok()?;
        let errno = match state.is_silent(silence) {
            true => Errno::TIMEDOUT,
            false if state.is_closed() => sockopt::socket_error(&socket).ok()?.err().unwrap_or(Errno::CONNRESET),
            false => return None,
        };
        Some(Fault { errno, to: Some(to) })
    })
}

/// Whether the kernel asks the peer's again. Either that one answers, or [`Vigil`] ends the connection.
pub fn is_asked(socket: &OwnedFd) -> bool {
    Connection::of(socket).is_ok_and(|state| state.is_asked())
}
