//! A handshake on a socket that never blocks, from either side.

use crate::proof::{CHALLENGE, HELLO, Hello, Keys, Nonce, PROOF, Session, VERDICT};
use crate::socket::source;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, sockopt};
use std::net::IpAddr;
use std::time::{Duration, Instant};
use tern_node::random;

/// How long a stranger may take to prove that it is none.
pub const PROOF_TIME: Duration = Duration::from_secs(10);

/// A handshake, from either side.
pub struct Shake {
    pub socket: OwnedFd,
    pub stage: Stage,
    /// What has come of the next message.
    pub read: Vec<u8>,
    pub until: Instant,
    /// Where a caller is.
    pub source: Option<IpAddr>,
    /// Of a call: how long the called side may take to answer.
    answer: Duration,
    /// Of a call: it says its own proof only when it is told to go on, for it may be one of several calls of one peer.
    holds: bool,
}

pub enum Stage {
    /// A caller has not said who it is.
    Hello,
    /// A caller has been challenged.
    Challenged(Hello, Nonce),
    /// The connection of a call is being made, the one with this number.
    Connecting(u32),
    /// A call has said hello.
    Greeted(Hello),
    /// The called side has proven itself; this is what a call has to say to prove itself.
    Met(Hello, Nonce, [u8; PROOF]),
    /// A call has proven itself.
    Proven(Hello, Nonce),
}

/// What a step of a handshake has come to.
pub enum Step {
    Wait,
    /// The called side of a call that holds has proven itself.
    Met,
    /// The caller is who it says.
    Caller(Hello),
    /// What the called side does with the call.
    Verdict(Verdict),
}

/// What the called side does with the call of somebody who belongs to the job, as the byte that says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// It calls itself, and that call goes on.
    CallsItself = 0,
    Taken = 1,
    /// It has counted the caller as lost, since it could not call it.
    GivenUp = 2,
}

impl From<u8> for Verdict {
    fn from(byte: u8) -> Verdict {
        match byte {
            1 => Verdict::Taken,
            2 => Verdict::GivenUp,
            _ => Verdict::CallsItself,
        }
    }
}

/// Why a handshake ends.
pub enum End {
    /// Of the network.
    Broken(Errno),
    /// Whoever it is, it does not belong to the job.
    Stranger,
}

impl End {
    /// What the system would say of it.
    pub fn errno(&self) -> Errno {
        match self {
            End::Broken(errno) => *errno,
            End::Stranger => Errno::ACCESS,
        }
    }
}

impl From<Errno> for End {
    fn from(error: Errno) -> End {
        End::Broken(error)
    }
}

impl From<crate::proof::Stranger> for End {
    fn from(_: crate::proof::Stranger) -> End {
        End::Stranger
    }
}

impl Shake {
    pub fn new(socket: OwnedFd, stage: Stage, time: Duration) -> Shake {
        let source = if matches!(stage, Stage::Hello) { source(&socket) } else { None };
        let until = Instant::now() + time;
        Shake { socket, stage, read: Vec::new(), until, source, answer: PROOF_TIME, holds: false }
    }

    /// Has a call wait so long for the called side to prove itself, in place of [`PROOF_TIME`].
    pub fn wait_for_answer(&mut self, time: Duration) {
        self.answer = time;
    }

    /// Has a call wait for [`Shake::go_on`] once the called side has proven itself.
    pub fn hold(&mut self) {
        self.holds = true;
    }

    /// A call proves itself, after [`Step::Met`].
    pub fn go_on(&mut self) -> Result<(), Errno> {
        if let Stage::Met(hello, nonce, proof) = self.stage {
            self.say(&proof)?;
            self.stage = Stage::Proven(hello, nonce);
        }
        Ok(())
    }

    /// The keys for what is said afterwards, once both sides have proven themselves.
    pub fn session(&self, keys: &Keys) -> Option<Session> {
        match &self.stage {
            Stage::Challenged(hello, nonce) | Stage::Proven(hello, nonce) => Some(keys.session(hello, nonce)),
            _ => None,
        }
    }

    pub fn events(&self) -> PollFlags {
        if matches!(self.stage, Stage::Connecting(_)) { PollFlags::OUT } else { PollFlags::IN }
    }

    /// Whether the next step has something to do.
    pub fn is_ready(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.socket, self.events())], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// The next message, of `N` bytes; none of what is behind it is read.
    fn message<const N: usize>(&mut self) -> Result<Option<[u8; N]>, Errno> {
        let mut bytes = [0; N];
        let missing = N - self.read.len();
        match rustix::net::recv(&self.socket, &mut bytes[..missing], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => Err(Errno::CONNRESET),
            Ok((_, count)) => {
                self.read.extend_from_slice(&bytes[..count]);
                let whole = self.read.as_slice().try_into().ok();
                if whole.is_some() {
                    self.read.clear();
                }
                Ok(whole)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn say(&self, bytes: &[u8]) -> Result<(), Errno> {
        // A fresh socket has room for all of a handshake.
        let count = rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        if count == bytes.len() { Ok(()) } else { Err(Errno::NOBUFS) }
    }

    /// Goes on, as the socket is ready.
    pub fn step(&mut self, keys: &Keys, peer: u32) -> Result<Step, End> {
        match &self.stage {
            Stage::Hello => {
                let Some(hello) = self.message::<HELLO>()? else { return Ok(Step::Wait) };
                let (hello, nonce) = (keys.read_hello(&hello)?, random().map_err(|_| Errno::IO)?);
                self.say(&keys.challenge(&hello, &nonce))?;
                self.stage = Stage::Challenged(hello, nonce);
            }
            &Stage::Challenged(hello, nonce) => {
                let Some(proof) = self.message::<PROOF>()? else { return Ok(Step::Wait) };
                keys.check(&hello, &nonce, &proof)?;
                return Ok(Step::Caller(hello));
            }
            &Stage::Connecting(wire) => {
                sockopt::socket_error(&self.socket)??;
                let hello = keys.hello(peer, wire, random().map_err(|_| Errno::IO)?);
                match self.say(&hello.encode()) {
                    // The kernel over there has answered; the process may be busy.
                    Ok(()) => (self.stage, self.until) = (Stage::Greeted(hello), Instant::now() + self.answer),
                    // Not connected yet.
                    Err(Errno::AGAIN | Errno::NOTCONN) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            &Stage::Greeted(hello) => {
                let Some(challenge) = self.message::<CHALLENGE>()? else { return Ok(Step::Wait) };
                let proof = keys.prove(&hello, &challenge)?;
                self.stage = Stage::Met(hello, challenge[..16].try_into().expect("16 bytes"), proof);
                match self.holds {
                    true => return Ok(Step::Met),
                    false => self.go_on()?,
                }
            }
            Stage::Met(..) => return Ok(Step::Met),
            Stage::Proven(..) => {
                let Some([verdict]) = self.message::<VERDICT>()? else { return Ok(Step::Wait) };
                return Ok(Step::Verdict(verdict.into()));
            }
        }
        Ok(Step::Wait)
    }
}
