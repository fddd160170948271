//! Connections of two processes that know nothing of each other but a secret, as the one in the name of a port: the handshake
//! of [`crate::proof`] without a thread.

use crate::Settings;
use crate::call::{connect, prepare};
use crate::listen::listen;
use crate::proof::{Keys, Token};
use crate::shake::{PROOF_TIME, Shake, Stage, Step};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::io::Result;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The numbers of the two sides in their handshake.
const CALLER: u32 = 0;
const CALLED: u32 = 1;

/// A socket on which callers may knock.
pub struct Door {
    listener: OwnedFd,
    secret: Token,
    /// As [`Settings::silence`].
    silence: Duration,
}

/// A connection on which the handshake is under way.
pub struct Knock {
    shake: Shake,
    keys: Keys,
}

fn keys(me: u32, secret: Token) -> Keys {
    Keys { me, tokens: vec![secret; 2] }
}

impl Door {
    /// Begins to listen; gives the addresses where, the most likely one first.
    ///
    /// Errors: no port is free, or there are no sockets.
    pub fn open(settings: &Settings, secret: Token) -> Result<(Door, Vec<SocketAddr>)> {
        let listener = listen(settings)?;
        let port = SocketAddr::try_from(rustix::net::getsockname(&listener)?)?.port();
        let addresses = settings.addresses.iter().map(|&ip| SocketAddr::new(ip, port)).collect();
        Ok((Door { listener, secret, silence: settings.silence }, addresses))
    }

    /// The next one that knocks, if somebody does. It has some seconds to prove that it knows the secret.
    pub fn next(&self) -> Option<Knock> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::accept_with(&self.listener, flags).ok()?;
        let _ = prepare(&socket, self.silence);
        Some(Knock { shake: Shake::new(socket, Stage::Hello, PROOF_TIME), keys: keys(CALLED, self.secret) })
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Knock {
    /// Knocks at that address; waits for the answer at most for `time`. `silence` is as [`Settings::silence`].
    ///
    /// Errors: that of the system, at once.
    pub fn at(address: SocketAddr, secret: Token, time: Duration, silence: Duration) -> Result<Knock> {
        let socket = connect(address, silence)?;
        Ok(Knock { shake: Shake::new(socket, Stage::Connecting(0), time), keys: keys(CALLER, secret) })
    }

    /// Goes on; true when both sides have proven that they know the secret. Never waits.
    ///
    /// Errors: the other side does not know it, is gone, or takes too long.
    pub fn step(&mut self) -> Result<bool> {
        let stranger = |errno: Errno| std::io::Error::from(errno);
        if Instant::now() >= self.shake.until {
            return Err(stranger(Errno::TIMEDOUT));
        }
        // Of a connection that is not made yet nothing is known.
        if !self.shake.is_ready() {
            return Ok(false);
        }
        match self.shake.step(&self.keys, CALLED).map_err(|end| stranger(end.errno()))? {
            Step::Wait | Step::Verdict(false) => Ok(false),
            Step::Verdict(true) => Ok(true),
            Step::Caller(_) => {
                self.shake.say(&[1])?;
                Ok(true)
            }
        }
    }

    /// The connection, which does not block, and of which no byte behind the handshake has been read.
    pub fn into_socket(self) -> OwnedFd {
        self.shake.socket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps both sides until each has an outcome.
    fn meet(mut caller: Knock, door: &Door) -> (Result<bool>, Result<bool>) {
        let mut called = None;
        let (mut one, mut other) = (Ok(false), Ok(false));
        while matches!(one, Ok(false)) || matches!(other, Ok(false)) {
            called = called.or_else(|| door.next());
            if matches!(one, Ok(false)) {
                one = caller.step();
            }
            if let (Some(called), Ok(false)) = (&mut called, &other) {
                other = called.step();
            }
            if one.is_err() || other.is_err() {
                break;
            }
            std::thread::yield_now();
        }
        (one, other)
    }

    #[test]
    fn only_who_knows_the_secret_is_let_in() {
        let (door, addresses) = Door::open(&Settings::default(), [7; 32]).expect("a door");
        let time = Duration::from_secs(20);
        let friend = Knock::at(addresses[0], [7; 32], time, time).expect("a connection");
        assert!(matches!(meet(friend, &door), (Ok(true), Ok(true))));
        let stranger = Knock::at(addresses[0], [8; 32], time, time).expect("a connection");
        let (one, other) = meet(stranger, &door);
        assert!(one.is_err() || other.is_err());
        drop(door);
        let nobody = Knock::at(addresses[0], [7; 32], time, time).and_then(|mut knock| {
            loop {
                match knock.step() {
                    Ok(false) => std::thread::yield_now(),
                    outcome => break outcome,
                }
            }
        });
        assert!(nobody.is_err());
    }
}
