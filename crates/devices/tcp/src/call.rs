//! A peer that is being called: its addresses are tried one after the other, until it proves itself at one.

use crate::shared::Sign;
use rustix::io::Errno;
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
    /// How long it is called while no kernel answers at any of its addresses, and how long in all.
    unheard_until: Instant,
    until: Instant,
    /// A connection has come about, at any of its addresses.
    was_heard: bool,
    /// This process had no descriptor for some try.
    was_short: bool,
    /// It has said that it calls this process.
    calls_itself: bool,
    /// What came of each address, for the user.
    pub tried: Vec<String>,
}

impl Call {
    /// `addresses`: how many the peer has, each of which gets its time. `silence`: how long a peer may give no sign. Who waits for this process for so long calls it ([`tern_device::Channel::reach`]), which
    /// may go where the other way does not.
    pub fn new(now: Instant, addresses: usize, silence: Duration) -> Call {
        let all = TRY_TIME * addresses.max(1) as u32;
        Call {
            at: 0,
            shake: None,
            again: now,
            unheard_until: now + (2 * silence).max(all).min(CALL_TIME),
            until: now + CALL_TIME,
            was_heard: false,
            was_short: false,
            calls_itself: false,
            tried: Vec::new(),
        }
    }

    /// When it is given up.
    pub fn until(&self) -> Instant {
        if self.was_heard { self.until } else { self.unheard_until }
    }

    /// What it has told of the peer.
    pub fn sign(&self) -> Sign {
        if self.was_heard || self.is_heard() {
            Sign::Heard
        } else if self.was_short {
            Sign::Untried
        } else {
            Sign::None
        }
    }

    /// Whether somebody over there has the call: its hello was sent.
    pub fn is_heard(&self) -> bool {
        self.shake.as_ref().is_some_and(|shake| !matches!(shake.stage, Stage::Connecting(_)))
    }

    /// Tries the next address.
    pub fn begin(&mut self, addresses: &[SocketAddr], silence: Duration) {
        let Some(&address) = addresses.get(self.at) else {
            (self.until, self.unheard_until) = (Instant::now(), Instant::now());
            return;
        };
        match connect(address, silence) {
            Ok(socket) => self.shake = Some(Shake::new(socket, Stage::Connecting(0), TRY_TIME)),
            Err(error) => self.fail(addresses, error),
        }
    }

    /// No try could be made at this address.
    fn fail(&mut self, addresses: &[SocketAddr], error: Errno) {
        self.was_short |= matches!(error, Errno::MFILE | Errno::NFILE);
        self.next(addresses, &std::io::Error::from(error).to_string());
    }

    /// This address leads nowhere.
    pub fn next(&mut self, addresses: &[SocketAddr], why: &str) {
        if self.tried.len() < addresses.len() {
            self.tried.push(format!("{} ({why})", addresses[self.at]));
        }
        self.at = (self.at + 1) % addresses.len();
        if self.at == 0 { self.pause() } else { self.again_at(Instant::now()) }
    }

    /// It has refused the call, since its own comes.
    pub fn wait_for_theirs(&mut self) {
        self.calls_itself = true;
        self.pause();
    }

    fn pause(&mut self) {
        self.again_at(Instant::now() + PAUSE);
    }

    fn again_at(&mut self, at: Instant) {
        self.was_heard |= self.is_heard();
        self.shake = None;
        self.again = at;
    }

    /// What to tell the user.
    pub fn why(&self, addresses: &[SocketAddr]) -> String {
        let mut tried = self.tried.clone();
        if self.calls_itself {
            tried.push("it has said that it calls this process, and its call has not come".into());
        }
        if addresses.is_empty() {
            tried.push("it has no address".into());
        } else if tried.is_empty() {
            let all: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
            tried.push(format!("{} (no answer)", all.join(", ")));
        }
        format!(
            "it cannot be reached over TCP: {}; see whether a firewall is in the way (TERN_PORT_RANGE), or name the \
             interface (TERN_INTERFACE)",
            tried.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_of_ones_own_tells_nothing_of_a_peer() {
        let addresses = [SocketAddr::from(([127, 0, 0, 1], 9))];
        for (error, sign) in
            [(Errno::MFILE, Sign::Untried), (Errno::NFILE, Sign::Untried), (Errno::NETUNREACH, Sign::None)]
        {
            let mut call = Call::new(Instant::now(), 1, Duration::from_secs(1));
            call.fail(&addresses, error);
            assert_eq!(call.sign(), sign, "{error}");
        }
    }
}
