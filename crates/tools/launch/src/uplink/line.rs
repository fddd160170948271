//! A connection on which both ends have proven that they belong to the job. What goes over it is sealed: nobody on the way can
//! read it, change it, or say it once more.
//!
//! A message is the length of what is sealed (4 bytes, little-endian), and that.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, sockopt};
use tern_proof::{Proven, Sealer, TAG};

/// Largest message: a bound on damage.
const MOST: usize = 256 << 20;
/// How long the rest of a message may take whose beginning has come, until the settings of the job are known.
const REST: Duration = Duration::from_secs(30);

/// A connection between two processes of a job.
pub struct Line {
    socket: TcpStream,
    sends: Mutex<Sends>,
    receives: Mutex<Sealer>,
}

/// What is sent, in the order of its numbers.
struct Sends {
    sealer: Sealer,
    /// What the other end has had no room for yet.
    left: Vec<u8>,
    /// A thread writes what is left, and nobody else writes meanwhile.
    written: bool,
}

impl Line {
    pub fn new(proven: Proven) -> Line {
        let socket = TcpStream::from(proven.socket);
        // Each end waits for the other where it has to.
        let _ = socket.set_nonblocking(false).and_then(|()| socket.set_read_timeout(Some(REST)));
        let [sealer, receives] = [proven.session.sends, proven.session.receives].map(|key| Sealer::new(&key));
        let sends = Sends { sealer, left: Vec::new(), written: false };
        Line { socket, sends: Mutex::new(sends), receives: Mutex::new(receives) }
    }

    /// Messages leave at once, and another end that gives no sign for TERN_PEER_TIMEOUT is gone. Both ends read at all times, so
    /// one that has no room for so long is gone, too, and so is one that sends no more than a part of a message.
    pub fn prepare(&self) {
        let silence = tern_settings::PEER_TIMEOUT.get();
        let _ = self.socket.set_nodelay(true);
        let _ = tern_node::keep_alive(&self.socket, silence);
        let _ = sockopt::set_tcp_user_timeout(&self.socket, silence.as_millis() as u32);
        let _ = self.socket.set_read_timeout(Some(silence.max(Duration::from_millis(1))));
    }

    /// This end.
    pub fn local(&self) -> Option<std::net::IpAddr> {
        Some(self.socket.local_addr().ok()?.ip().to_canonical())
    }

    /// Sends a message, and waits where the other end has no room for it.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut sends = self.sends();
        let message = sends.seal(bytes)?;
        (&self.socket).write_all(&message)
    }

    /// Sends a message without waiting for the other end: what it has no room for is written by a thread. An end that is stopped holds up nobody but itself.
    ///
    /// Errors: the connection has ended. What fails later ends it, which is seen where it is read.
    pub fn send_soon(self: &Arc<Line>, bytes: &[u8]) -> io::Result<()> {
        let mut sends = self.sends();
        let message = sends.seal(bytes)?;
        if sends.written {
            sends.left.extend_from_slice(&message);
            return Ok(());
        }
        let gone = self.write_now(&message)?;
        if gone < message.len() {
            sends.left.extend_from_slice(&message[gone..]);
            sends.written = true;
            let line = self.clone();
            std::thread::spawn(move || line.write_left());
        }
        Ok(())
    }

    fn sends(&self) -> MutexGuard<'_, Sends> {
        self.sends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes as much as there is room for; gives how much that was.
    fn write_now(&self, message: &[u8]) -> io::Result<usize> {
        let mut gone = 0;
        while gone < message.len() {
            match rustix::net::send(&self.socket, &message[gone..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(len) => gone += len,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(gone)
    }

    /// Writes what is left until there is nothing, or the connection has ended.
    fn write_left(&self) {
        loop {
            let left = std::mem::take(&mut self.sends().left);
            if (&self.socket).write_all(&left).is_err() {
                // Whoever reads is told, and what is to be sent from now on fails.
                let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
            }
            let mut sends = self.sends();
            if sends.left.is_empty() {
                sends.written = false;
                return;
            }
        }
    }

    /// The next message, for which it waits without end, or for `time`.
    ///
    /// Errors: the other side is gone, or what came is no message of its.
    pub fn receive(&self, time: Option<Duration>) -> io::Result<Vec<u8>> {
        let mut receives = self.receives.lock().unwrap_or_else(PoisonError::into_inner);
        self.wait(time)?;
        let mut head = [0u8; 4];
        (&self.socket).read_exact(&mut head)?;
        let length = u32::from_le_bytes(head) as usize;
        if !(TAG..=MOST + TAG).contains(&length) {
            return Err(io::Error::other(DAMAGED));
        }
        // Memory is taken for what comes.
        let mut sealed = Vec::new();
        if (&self.socket).take(length as u64).read_to_end(&mut sealed)? < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        receives.open(&head, &sealed).map_err(|_| io::Error::other(DAMAGED))
    }

    fn wait(&self, time: Option<Duration>) -> io::Result<()> {
        let time = time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        let wait = || poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], time.as_ref());
        match rustix::io::retry_on_intr(wait)? {
            0 => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }
}

/// What is wrong with a message that does not open.
const DAMAGED: &str = "what came is no message of the other end's: somebody on the way has changed it";

impl Sends {
    /// The next message, with its head.
    fn seal(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let head = ((bytes.len() + TAG) as u32).to_le_bytes();
        let sealed = self.sealer.seal(&head, bytes).map_err(|_| io::Error::other("the message is too long"))?;
        Ok([&head[..], &sealed].concat())
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Two ends of a connection.
#[cfg(test)]
pub fn pair() -> (Line, Line) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let caller = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
    let (called, _) = listener.accept().expect("the caller");
    let line = |socket: TcpStream, sends, receives| {
        let session = tern_proof::Session { sends: [sends; 32], receives: [receives; 32] };
        Line::new(Proven { socket: socket.into(), number: 0, session })
    };
    (line(caller, 1, 2), line(called, 2, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_both_ways_until_somebody_meddles() {
        let (here, there) = pair();
        here.send(b"one").and_then(|()| here.send(&[])).expect("sent");
        there.send(&[7; 100_000]).expect("sent");
        let receive = |line: &Line| line.receive(None).expect("a message");
        assert_eq!((receive(&there), receive(&there), receive(&here)), (b"one".to_vec(), vec![], vec![7; 100_000]));
        // Whoever is on the way can write, but says nothing that is believed.
        (&here.socket).write_all(&[16, 0, 0, 0]).and_then(|()| (&here.socket).write_all(&[0; 16])).expect("written");
        assert!(there.receive(None).is_err());
        here.send(b"two").expect("sent");
        assert!(there.receive(None).is_err(), "nothing is believed from then on");
    }

    #[test]
    fn an_end_that_does_not_read_is_not_waited_for() {
        let (here, there) = pair();
        let here = Arc::new(here);
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // More than sockets hold.
            (0..64u8).for_each(|number| here.send_soon(&vec![number; 1 << 20]).expect("sent"));
            let _ = tell.send(here);
        });
        let here = told.recv_timeout(Duration::from_secs(60)).expect("nobody is waited for");
        (0..64u8).for_each(|number| assert_eq!(there.receive(None).expect("a message"), vec![number; 1 << 20]));
        // It has room again.
        here.send_soon(b"last").expect("sent");
        assert_eq!(there.receive(None).expect("a message"), b"last");
        drop(there);
        while here.send_soon(&[0; 1 << 16]).is_ok() {}
    }

    #[test]
    fn a_length_takes_no_memory_and_a_part_of_a_message_is_not_waited_for() {
        for (head, rest) in [(u32::MAX, 0), (15, 15), (MOST as u32, 100)] {
            let (here, there) = pair();
            there.socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
            (&here.socket).write_all(&head.to_le_bytes()).expect("written");
            (&here.socket).write_all(&vec![0; rest]).expect("written");
            assert!(there.receive(None).is_err(), "{head}");
        }
        let (_here, there) = pair();
        assert!(
            there.receive(Some(Duration::from_millis(20))).is_err_and(|error| error.kind() == io::ErrorKind::TimedOut)
        );
    }
}
