//! A peer that is being called: its addresses are tried one after the other, until it proves itself at one.

use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tern_proof::{Shake, Stage, connect};

/// How long the kernel at one address of a peer may take to answer.
pub const TRY_TIME: Duration = Duration::from_secs(3);
/// How long a peer is called in all: on a busy machine its process may take as long for its part of a handshake.
const CALL_TIME: Duration = Duration::from_secs(60);
/// Between two calls.
const PAUSE: Duration = Duration::from_millis(200);

/// A peer that is being called.
pub struct Call {
    /// Which of its addresses is tried.
    pub at: usize,
    pub shake: Option<Shake>,
    /// When the next try begins, where none is under way.
    pub again: Instant,
    pub until: Instant,
    /// What came of each address, for the user.
    pub tried: Vec<String>,
}

impl Call {
    pub fn new(now: Instant) -> Call {
        Call { at: 0, shake: None, again: now, until: now + CALL_TIME, tried: Vec::new() }
    }

    /// Tries the next address.
    pub fn begin(&mut self, addresses: &[SocketAddr], silence: Duration) {
        let Some(&address) = addresses.get(self.at) else {
            self.until = Instant::now();
            return;
        };
        match connect(address, silence) {
            Ok(socket) => self.shake = Some(Shake::new(socket, Stage::Connecting(0), TRY_TIME)),
            Err(error) => self.next(addresses, &std::io::Error::from(error).to_string()),
        }
    }

    /// This address leads nowhere.
    pub fn next(&mut self, addresses: &[SocketAddr], why: &str) {
        if self.tried.len() < addresses.len() {
            self.tried.push(format!("{} ({why})", addresses[self.at]));
        }
        self.at = (self.at + 1) % addresses.len();
        if self.at == 0 { self.pause() } else { self.again_at(Instant::now()) }
    }

    pub fn pause(&mut self) {
        self.again_at(Instant::now() + PAUSE);
    }

    fn again_at(&mut self, at: Instant) {
        self.shake = None;
        self.again = at;
    }

    /// What to tell the user.
    pub fn why(&self) -> String {
        let tried = if self.tried.is_empty() { "it has no address".to_owned() } else { self.tried.join(", ") };
        format!(
            "it cannot be reached over TCP: {tried}; see whether a firewall is in the way (TERN_PORT_RANGE), or name the \
             interface (TERN_INTERFACE)"
        )
    }
}
