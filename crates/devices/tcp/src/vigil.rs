//! Peers that give no sign any more: a wire is cut, a machine has lost its power.
//!
//! The kernel notices by itself only where nothing is under way (keepalive). Where bytes have not been acknowledged, it
//! sends them again for a quarter of an hour. Its own limit for that, TCP_USER_TIMEOUT, is none for a peer that computes:
//! it also ends a connection whose receiver has had no room for so long. So the thread asks for the age of the last
//! acknowledgement, which a living kernel sends for its process. Connections beside the first one are looked after, too: nobody reads from
//! them here, so nobody else would see their end.

use crate::fault::Fault;
use crate::outlet::Outlet;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

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
    if state(&outlet.socket).is_ok_and(|state| is_silent(&state, silence)) {
        return Some(Fault { errno: Errno::TIMEDOUT, to: None });
    }
    outlet.further().into_iter().find_map(|(socket, to)| {
        let state = state(&socket).ok()?;
        let errno = match is_silent(&state, silence) {
            true => Errno::TIMEDOUT,
            false if state.tcpi_state == TCP_CLOSE => {
                sockopt::socket_error(&socket).ok()?.err().unwrap_or(Errno::CONNRESET)
            }
            false => return None,
        };
        Some(Fault { errno, to: Some(to) })
    })
}

/// The state of a connection that has failed, to the kernel.
const TCP_CLOSE: u8 = 7;

fn state(socket: &OwnedFd) -> Result<libc::tcp_info, Errno> {
    // SAFETY: a structure of numbers.
    let mut state: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of_val(&state) as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into it.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut state).cast(), &raw mut len)
    };
    if result == 0 {
        Ok(state)
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
    }
}

/// Something waits for an acknowledgement, which the kernel has asked for again: bytes, or the question whether there is room. Bytes that this
/// machine's own rules do not let out count as the latter.
fn waits(state: &libc::tcp_info) -> bool {
    state.tcpi_unacked > 0 && state.tcpi_retransmits > 0 || state.tcpi_probes > 0
}

/// The same, and none has come for so long.
fn is_silent(state: &libc::tcp_info, silence: Duration) -> bool {
    waits(state) && u128::from(state.tcpi_last_ack_recv) >= silence.as_millis()
}

/// Whether the kernel asks the peer's again. Either that one answers, or [`Vigil`] ends the connection.
pub fn is_asked(socket: &OwnedFd) -> bool {
    state(socket).is_ok_and(|state| waits(&state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::SendFlags;
    use std::net::{TcpListener, TcpStream};

    fn told(unacked: u32, retransmits: u8, probes: u8, age: u32) -> bool {
        // SAFETY: a structure of numbers.
        let mut state: libc::tcp_info = unsafe { std::mem::zeroed() };
        (state.tcpi_unacked, state.tcpi_retransmits, state.tcpi_probes) = (unacked, retransmits, probes);
        state.tcpi_last_ack_recv = age;
        is_silent(&state, Duration::from_secs(5))
    }

    #[test]
    fn only_a_peer_that_was_asked_can_be_silent() {
        assert!(told(1, 3, 0, 5000), "bytes that were sent again");
        assert!(told(0, 0, 2, 6000), "asked for room");
        assert!(!told(1, 3, 0, 4999), "not long enough");
        assert!(!told(0, 0, 0, 60_000), "nothing was asked");
        assert!(!told(7, 0, 0, 60_000), "sent just now, after a long pause");
    }

    /// A receiver that computes has no room, and its kernel says so: however short the limit, it is not lost.
    #[test]
    fn a_peer_without_room_is_not_silent() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let here = TcpStream::connect(address).expect("a connection");
        let _there = listener.accept().expect("a connection");
        let socket = OwnedFd::from(here);
        let bytes = vec![0; 1 << 20];
        // Until the socket takes no more, the kernel has asked for room twice, and has its answers. (`backoff` counts
        // questions; `probes` those without an answer.)
        loop {
            let full = rustix::net::send(&socket, &bytes, SendFlags::DONTWAIT) == Err(Errno::AGAIN);
            let state = state(&socket).expect("a TCP socket");
            if full && state.tcpi_backoff > 1 && !is_silent(&state, Duration::ZERO) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
