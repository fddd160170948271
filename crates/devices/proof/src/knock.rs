//! Connections of two processes that know nothing of each other but a secret, as the one in the name of a port: the handshake
//! of [`crate::proof`] without a thread.

use crate::proof::{Keys, Session, Token};
use crate::shake::{PROOF_TIME, Shake, Stage, Step, Verdict};
use crate::socket::{connect, prepare};
use rustix::event::{PollFd, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::io::Result;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// The numbers of the two sides in their handshake.
const CALLER: u32 = 0;
const CALLED: u32 = 1;

/// A connection on which the handshake is under way.
pub struct Knock {
    shake: Shake,
    keys: Keys,
    /// What a caller has said it is, once it has proven itself.
    number: Option<u32>,
}

/// How far a knock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Wait,
    /// The other side has proven that it knows the secret, and waits for the proof of a caller that holds.
    Met,
    /// Both sides have proven it.
    Proven,
}

/// A connection on which both sides have proven themselves.
pub struct Proven {
    /// It does not block, and no byte behind the handshake has been read.
    pub socket: OwnedFd,
    /// What the caller says that it is.
    pub number: u32,
    /// The keys for what is said from here on.
    pub session: Session,
}

fn keys(me: u32, secret: Token) -> Keys {
    Keys { me, tokens: vec![secret; 2] }
}

impl Knock {
    /// Knocks at that address, as caller `number`; waits for a connection at most for `time`. The kernel has to hear from the
    /// other side within `silence`.
    ///
    /// Errors: that of the system, at once.
    pub fn at(address: SocketAddr, secret: Token, number: u32, time: Duration, silence: Duration) -> Result<Knock> {
        let socket = connect(address, silence)?;
        let shake = Shake::new(socket, Stage::Connecting(number), time);
        Ok(Knock { shake, keys: keys(CALLER, secret), number: Some(number) })
    }

    /// Knocks on a socket that is connected, or about to be, as caller `number`; the other side has that time for its part. The
    /// socket may be one that blocks: no step waits.
    pub fn over(socket: OwnedFd, secret: Token, number: u32, time: Duration) -> Knock {
        let mut shake = Shake::new(socket, Stage::Connecting(number), time);
        shake.wait_for_answer(time);
        Knock { shake, keys: keys(CALLER, secret), number: Some(number) }
    }

    /// Has a caller wait so long for the other side's part once there is a connection.
    pub fn answered_within(mut self, time: Duration) -> Knock {
        self.shake.wait_for_answer(time);
        self
    }

    /// Somebody has knocked. It has some seconds to prove that it knows the secret.
    pub fn of_caller(socket: OwnedFd, secret: Token, silence: Duration) -> Knock {
        let _ = prepare(&socket, silence);
        Knock { shake: Shake::new(socket, Stage::Hello, PROOF_TIME), keys: keys(CALLED, secret), number: None }
    }

    /// Has a caller wait for [`Knock::go_on`] once the other side has proven itself. Of several knocks at addresses of one
    /// process only one is to go on.
    pub fn hold(mut self) -> Knock {
        self.shake.hold();
        self
    }

    /// Has a caller that holds prove itself, after [`Progress::Met`]. The other side has some seconds to answer.
    ///
    /// Errors: the connection has ended.
    pub fn go_on(&mut self) -> Result<()> {
        self.shake.until = Instant::now() + PROOF_TIME;
        Ok(self.shake.go_on()?)
    }

    /// Goes on. Never waits.
    ///
    /// Errors: the other side does not know the secret, is gone, or takes too long.
    pub fn step(&mut self) -> Result<Progress> {
        if Instant::now() >= self.shake.until {
            return Err(Errno::TIMEDOUT.into());
        }
        // Of a connection that is not made yet nothing is known.
        if !self.shake.is_ready() {
            return Ok(Progress::Wait);
        }
        match self.shake.step(&self.keys, CALLED).map_err(|end| end.errno())? {
            Step::Wait => Ok(Progress::Wait),
            Step::Met => Ok(Progress::Met),
            Step::Verdict(Verdict::Taken) => Ok(Progress::Proven),
            Step::Verdict(_) => Err(Errno::ACCESS.into()),
            Step::Caller(hello) => {
                self.shake.say(&[Verdict::Taken as u8])?;
                self.number = Some(hello.wire);
                Ok(Progress::Proven)
            }
        }
    }

    /// Goes on until both sides have proven themselves.
    ///
    /// Errors: as for [`Knock::step`].
    pub fn wait(mut self) -> Result<Proven> {
        while self.step()? != Progress::Proven {
            let (fd, until) = self.waits_for();
            let time = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            let timeout = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
            // An error is a signal: the next step tells.
            let _ = poll(&mut [fd], Some(&timeout));
        }
        self.into_proven().ok_or_else(|| Errno::ACCESS.into())
    }

    /// Whether the next step has something to do.
    pub fn is_ready(&self) -> bool {
        self.shake.is_ready()
    }

    /// Whether there is a connection: somebody answers, whoever it is.
    pub fn is_answered(&self) -> bool {
        !matches!(self.shake.stage, Stage::Connecting(_))
    }

    /// The socket that the two sides speak on.
    pub fn socket(&self) -> &OwnedFd {
        &self.shake.socket
    }

    /// Until when the other side has to have done its part.
    pub fn until(&self) -> Instant {
        self.shake.until
    }

    /// Where a caller is.
    pub fn source(&self) -> Option<IpAddr> {
        self.shake.source
    }

    /// What the next step waits for, and until when.
    pub fn waits_for(&self) -> (PollFd<'_>, Instant) {
        (PollFd::new(&self.shake.socket, self.shake.events()), self.shake.until)
    }

    /// The connection, after [`Progress::Proven`].
    pub fn into_proven(self) -> Option<Proven> {
        let session = self.shake.session(&self.keys)?;
        Some(Proven { socket: self.shake.socket, number: self.number?, session })
    }
}
