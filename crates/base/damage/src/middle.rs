//! Somebody in the middle of connections: a relay that keeps what it sees, and changes a byte if it is told so.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A stream that can be relayed.
pub trait Stream: Read + Write + Send + Sized + 'static {
    /// Another handle of the same stream.
    fn again(&self) -> Self;
    /// Ends it in both directions.
    fn end(&self);
    /// How long a read waits.
    fn patience(&self, time: Duration);
}

macro_rules! stream {
    ($($kind:ty),*) => {
        $(impl Stream for $kind {
            fn again(&self) -> Self {
                self.try_clone().expect("a descriptor")
            }
            fn end(&self) {
                let _ = self.shutdown(Shutdown::Both);
            }
            fn patience(&self, time: Duration) {
                self.set_read_timeout(Some(time)).expect("a socket");
            }
        })*
    };
}

stream!(TcpStream, UnixStream);

/// Of the bytes that go up, from the caller, or down, to it, the one at this place, from 0, has these bits changed.
#[derive(Clone, Copy, Debug)]
pub struct Flip {
    pub up: bool,
    pub at: usize,
    pub bits: u8,
}

/// What went over a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub up: Vec<u8>,
    pub down: Vec<u8>,
}

impl Heard {
    /// Whether these bytes went over it, either way.
    pub fn saw(&self, bytes: &[u8]) -> bool {
        [&self.up, &self.down].iter().any(|way| way.windows(bytes.len()).any(|window| window == bytes))
    }
}

type Kept = Arc<Mutex<Heard>>;

/// Passes all on between two streams until one ends; what goes is kept as it was before the change.
pub fn between<S: Stream, T: Stream>(caller: &S, called: &T, flip: Option<Flip>) -> Arc<Mutex<Heard>> {
    let kept = Kept::default();
    let up = (caller.again(), called.again(), kept.clone(), true);
    let down = (called.again(), caller.again(), kept.clone(), false);
    thread::spawn(move || copy(up.0, up.1, &up.2, up.3, flip));
    thread::spawn(move || copy(down.0, down.1, &down.2, down.3, flip));
    kept
}

fn copy<S: Stream, T: Stream>(mut from: S, mut to: T, kept: &Kept, up: bool, flip: Option<Flip>) {
    let mut gone = 0;
    let mut piece = [0; 65536];
    while let Ok(len @ 1..) = from.read(&mut piece) {
        let piece = &mut piece[..len];
        {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if up { &mut kept.up } else { &mut kept.down }.extend_from_slice(piece);
        }
        if let Some(flip) = flip.filter(|flip| flip.up == up && (gone..gone + len).contains(&flip.at)) {
            piece[flip.at - gone] ^= flip.bits;
        }
        gone += len;
        if to.write_all(piece).is_err() {
            break;
        }
    }
    from.end();
    to.end();
}

/// A port of this machine that stands for another.
pub struct Relay {
    pub address: SocketAddr,
    kept: Arc<Mutex<Vec<Kept>>>,
    over: Arc<AtomicBool>,
}

impl Relay {
    /// Callers get to `target`; of each connection that byte is changed.
    pub fn new(target: SocketAddr, flip: Option<Flip>) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let (kept, over): (Arc<Mutex<Vec<Kept>>>, Arc<AtomicBool>) = Default::default();
        let (all, ended) = (kept.clone(), over.clone());
        thread::spawn(move || {
            while let Ok((caller, _)) = listener.accept() {
                // Relaxed: the connection that wakes this thread comes behind it.
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                if let Ok(called) = TcpStream::connect(target) {
                    // Who asks afterwards finds it, however soon it ends.
                    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                    all.push(between(&caller, &called, flip));
                }
            }
        });
        Relay { address, kept, over }
    }

    /// What went over each connection, in the order in which they were made.
    pub fn heard(&self) -> Vec<Heard> {
        let all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner).clone()).collect()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

/// Says these pieces as a caller, each after something has come in answer to the one before or nothing has for a tenth of a
/// second. Returns what has come until the other side has ended the connection; `None`: it has not within `time`.
pub fn say<S: Stream>(mut stream: S, pieces: &[&[u8]], time: Duration) -> Option<Vec<u8>> {
    let mut heard = Vec::new();
    let mut bytes = [0; 4096];
    stream.patience(Duration::from_millis(100));
    for piece in pieces {
        // It may have ended by now.
        if stream.write_all(piece).is_err() {
            break;
        }
        if let Ok(len) = stream.read(&mut bytes) {
            heard.extend_from_slice(&bytes[..len]);
        }
    }
    stream.patience(time);
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return Some(heard),
            Ok(len) => heard.extend_from_slice(&bytes[..len]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return None,
            Err(_) => return Some(heard),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Somebody who says what he hears.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        thread::spawn(move || {
            for mut caller in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut bytes = [0; 16];
                    while let Ok(len @ 1..) = caller.read(&mut bytes) {
                        let _ = caller.write_all(&bytes[..len]);
                    }
                });
            }
        });
        address
    }

    fn said(relay: &Relay) -> Vec<u8> {
        let mut caller = TcpStream::connect(relay.address).expect("it listens");
        let mut bytes = [0; 3];
        caller.write_all(b"abc").and_then(|()| caller.read_exact(&mut bytes)).expect("an answer");
        bytes.to_vec()
    }

    #[test]
    fn a_relay_keeps_what_it_passes_and_changes_one_byte() {
        let relay = Relay::new(echo(), None);
        assert_eq!(said(&relay), b"abc");
        let heard = &relay.heard()[0];
        assert!(heard.up == b"abc" && heard.down == b"abc" && heard.saw(b"bc") && !heard.saw(b"cb"));
        for up in [true, false] {
            let relay = Relay::new(echo(), Some(Flip { up, at: 1, bits: 1 }));
            assert_eq!(said(&relay), b"acc");
        }
    }
}
