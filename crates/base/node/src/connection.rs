//! What the kernel knows of the other end of a TCP connection.
//!
//! A machine whose process computes acknowledges what comes for it; one that has lost its power, or the way to which is cut, does not. The kernel
//! notices by itself only where nothing is under way (keepalive). Where bytes have not been acknowledged, it sends them again for a
//! quarter of an hour.

use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;
use std::time::Duration;

/// States of the kernel's.
const ESTABLISHED: u8 = 1;
const CLOSE: u8 = 7;
/// So many questions without an answer are no matter of one that is on its way.
const AGAIN: u8 = 2;

/// A TCP connection, as it was when the kernel was asked.
pub struct Connection(libc::tcp_info);

impl Connection {
    /// Asks the kernel.
    ///
    /// Errors: it is no TCP socket.
    pub fn of(socket: impl AsFd) -> Result<Connection, Errno> {
        // SAFETY: a structure of numbers.
        let mut state: libc::tcp_info = unsafe { std::mem::zeroed() };
        let mut len = size_of_val(&state) as libc::socklen_t;
        let socket = socket.as_fd().as_raw_fd();
        // SAFETY: the kernel writes at most `len` bytes into it.
        let result = unsafe {
            libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut state).cast(), &raw mut len)
        };
        if result == 0 {
            Ok(Connection(state))
        } else {
            Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
        }
    }

    /// Both ends are connected.
    pub fn is_open(&self) -> bool {
        self.0.tcpi_state == ESTABLISHED
    }

    /// It has failed, to the kernel.
    pub fn is_closed(&self) -> bool {
        self.0.tcpi_state == CLOSE
    }

    /// Something waits for an acknowledgement, which the kernel has asked for again: bytes, or the question whether there is room. Bytes that this
    /// machine's own rules do not let out count as the latter.
    pub fn is_asked(&self) -> bool {
        self.0.tcpi_unacked > 0 && self.0.tcpi_retransmits > 0 || self.0.tcpi_probes > 0
    }

    /// The kernel has asked again and again, and neither an acknowledgement nor data has come for so long. The peer is gone, or the way to it,
    /// where the kernel asks often enough ([`keep_alive`](crate::keep_alive)).
    ///
    /// The answer to one question may be on its way, however old the last sign is: where the peer has had no room for long, the kernel asks
    /// every two minutes. Such a peer that goes is therefore silent after four minutes at most.
    pub fn is_silent(&self, silence: Duration) -> bool {
        let state = &self.0;
        let is_asked_again = state.tcpi_unacked > 0 && state.tcpi_retransmits >= AGAIN || state.tcpi_probes >= AGAIN;
        let age = state.tcpi_last_ack_recv.min(state.tcpi_last_data_recv);
        is_asked_again && u128::from(age) >= silence.as_millis()
    }
}

/// Bytes that were written to a TCP socket and that the machine of its peer has not acknowledged. None of another socket.
pub fn unacknowledged(socket: impl AsFd) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ writes an int.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if done == 0 { bytes as usize } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::SendFlags;
    use std::net::{TcpListener, TcpStream};

    /// Whether a peer is silent for a limit of five seconds. The ages are those of the last acknowledgement and of the last data, in
    /// milliseconds.
    fn told(unacked: u32, retransmits: u8, probes: u8, ages: [u32; 2]) -> bool {
        // SAFETY: a structure of numbers.
        let mut state: libc::tcp_info = unsafe { std::mem::zeroed() };
        (state.tcpi_unacked, state.tcpi_retransmits, state.tcpi_probes) = (unacked, retransmits, probes);
        [state.tcpi_last_ack_recv, state.tcpi_last_data_recv] = ages;
        Connection(state).is_silent(Duration::from_secs(5))
    }

    #[test]
    fn only_a_peer_that_was_asked_can_be_silent() {
        assert!(told(1, 3, 0, [5000; 2]), "bytes that were sent again");
        assert!(told(0, 0, 2, [6000; 2]), "asked for room");
        assert!(!told(1, 3, 0, [4999; 2]), "not long enough");
        assert!(!told(0, 0, 0, [60_000; 2]), "nothing was asked");
        assert!(!told(7, 0, 0, [60_000; 2]), "sent just now, after a long pause");
    }

    #[test]
    fn an_answer_may_be_on_its_way() {
        assert!(!told(0, 0, 1, [120_000; 2]), "asked for room just now, after a long time without any");
        assert!(!told(1, 1, 0, [60_000; 2]), "sent again just now, after a long pause");
        assert!(!told(1, 1, 1, [60_000; 2]), "one question is not two");
    }

    #[test]
    fn data_is_a_sign() {
        assert!(!told(1, 3, 0, [60_000, 10]), "data came just now");
        assert!(!told(1, 3, 0, [10, 60_000]), "an acknowledgement came just now");
    }

    #[test]
    fn connected_ends_are_open() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let here = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let state = Connection::of(&here).expect("a TCP socket");
        assert!(state.is_open() && !state.is_closed() && !state.is_asked());
        assert!(Connection::of(std::fs::File::open("/dev/null").expect("a device")).is_err());
    }

    /// A receiver that computes has no room, and its kernel says so: however short the limit, it is not lost.
    #[test]
    fn a_peer_without_room_is_not_silent() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let here = TcpStream::connect(address).expect("a connection");
        let _there = listener.accept().expect("a connection");
        let socket = here;
        let bytes = vec![0; 1 << 20];
        // Until the socket takes no more, the kernel has asked for room twice, and has its answers. (`backoff` counts
        // questions; `probes` those without an answer.)
        loop {
            let full = rustix::net::send(&socket, &bytes, SendFlags::DONTWAIT) == Err(Errno::AGAIN);
            let state = Connection::of(&socket).expect("a TCP socket");
            if full && state.0.tcpi_backoff > 1 && !state.is_silent(Duration::ZERO) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
