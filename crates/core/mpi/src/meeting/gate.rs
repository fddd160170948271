//! Ports, and how they are called: a Unix socket for callers of this machine, a TCP socket for others.
//!
//! The name of a port is `tern:NUMBER`, with the number of its abstract Unix address, and for callers of other machines
//! `/SECRET/ADDRESS,ADDRESS...` behind it. Who has the name may call.

use crate::constants::*;
use crate::error::{Error, Result};
use crate::exchange::Circle;
use crate::meeting::line::{Line, Wire, wait_for};
use crate::runtime::runtime;
use crate::task::run;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::cell::RefCell;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use tern_mcm::{Door, Knock, Progress, Proven};
use tern_pmi::parcel;

/// What names of ports begin with.
const PREFIX: &str = "tern:";
/// Longest name: the program's text may have no more room.
const LONGEST: usize = 250;
/// Connections that may wait at a port.
const WAITING: i32 = 128;
/// So many calls of an address may be cut, each of them this long after the last.
const CUT_CALLS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);
/// How long a caller waits that has no other limit.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// What a name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub number: u64,
    secret: u128,
    addresses: Vec<SocketAddr>,
}

impl Name {
    /// Errors: MPI_ERR_PORT for other texts.
    pub fn parse(text: &str) -> Result<Name> {
        let read = || {
            let mut parts = text.strip_prefix(PREFIX)?.split('/');
            let number = hex(parts.next()?, 16)? as u64;
            let (secret, addresses) = match parts.next() {
                None => (0, Vec::new()),
                Some(secret) => {
                    let list = parts.next()?.split(',');
                    (hex(secret, 32)?, list.map(|one| one.parse().ok()).collect::<Option<_>>()?)
                }
            };
            parts.next().is_none().then_some(Name { number, secret, addresses })
        };
        read().ok_or_else(|| Error::new(MPI_ERR_PORT, format!("{text:?} is not the name of a port of Tern's")))
    }

    /// The text; without the addresses that it has no room for.
    pub fn text(&self) -> String {
        let mut text = format!("{PREFIX}{:016x}", self.number);
        for (at, address) in self.addresses.iter().enumerate() {
            let more = match at {
                0 => format!("/{:032x}/{address}", self.secret),
                _ => format!(",{address}"),
            };
            if text.len() + more.len() <= LONGEST {
                text += &more;
            }
        }
        text
    }
}

/// A number of so many digits, and nothing else.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u128::from_str_radix(text, 16).ok().filter(|_| right)
}

/// The secret as the handshake has it.
fn token(secret: u128) -> [u8; 32] {
    let bytes = secret.to_le_bytes();
    let mut token = [0; 32];
    token[..16].copy_from_slice(&bytes);
    token[16..].copy_from_slice(&bytes);
    token
}

/// A port that is open.
pub struct Gate {
    pub name: Name,
    near: OwnedFd,
    /// Where callers of other machines knock; none where there is no network.
    far: Option<RefCell<Door>>,
}

impl Gate {
    /// Opens a port.
    ///
    /// Errors: MPI_ERR_PORT, no socket is left.
    pub fn open() -> Result<Gate> {
        let number = tern_pmi::new_job_id();
        let open = || {
            let socket = socket()?;
            net::bind(&socket, &address(number))?;
            net::listen(&socket, WAITING)?;
            Ok(socket)
        };
        let near =
            open().map_err(|errno: Errno| Error::new(MPI_ERR_PORT, format!("a port cannot be opened: {errno}")))?;
        let random = tern_node::random::<16>();
        let random = random.map_err(|error| Error::new(MPI_ERR_PORT, format!("a port has no secret: {error}")))?;
        let secret = u128::from_le_bytes(random);
        let (far, addresses) = match tern_mcm::door(&runtime().job, token(secret)) {
            Ok((door, addresses)) => (Some(RefCell::new(door)), addresses),
            Err(error) => {
                tern_settings::info!("a port is for this machine alone: {error}");
                (None, Vec::new())
            }
        };
        Ok(Gate { name: Name { number, secret, addresses }, near, far })
    }

    /// The line to the next one that calls and still waits.
    ///
    /// Errors: MPI_ERR_PORT, nobody has called until `deadline`, or calls cannot be taken.
    pub fn take_caller(&self, deadline: Option<Instant>) -> Result<Line> {
        self.take_caller_while(deadline, || Ok(()))
    }

    /// The same, as long as `may_come` gives no error.
    pub fn take_caller_while(&self, deadline: Option<Instant>, may_come: impl Fn() -> Result<()>) -> Result<Line> {
        loop {
            let look = || match self.next_near()? {
                Some(socket) => Ok(Some(Wire::Near(socket))),
                None => match self.next_far() {
                    Some(proven) => Ok(Some(Wire::far(proven))),
                    None => may_come().map(|()| None),
                },
            };
            let Some(wire) = wait_for(self.near.as_fd(), deadline, look)? else {
                return err!(MPI_ERR_PORT, "nobody has connected in time");
            };
            let mut line = Line { wire, host: true, early: None, deadline: None };
            // Who gives up meanwhile is not waited for.
            if let Ok(greeting) = line.receive() {
                line.early = Some(greeting.bytes);
                return Ok(line);
            }
        }
    }

    /// The next caller of this machine, of this user.
    fn next_near(&self) -> Result<Option<OwnedFd>> {
        match net::accept_with(&self.near, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => Ok(Some(socket).filter(|socket| parcel::is_own_user(socket))),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(errno) => err!(MPI_ERR_PORT, "connections are not taken at the port: {errno}"),
        }
    }

    /// The next caller of another machine that knows the secret. The others may go on when somebody is taken next.
    fn next_far(&self) -> Option<Proven> {
        self.far.as_ref()?.borrow_mut().take()
    }
}

fn address(number: u64) -> SocketAddrUnix {
    SocketAddrUnix::new_abstract_name(format!("tern-port-{number:016x}").as_bytes()).expect("the name is short")
}

fn socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// The line to a port.
///
/// Errors: MPI_ERR_PORT, nobody has it open, or nobody has answered until `deadline`.
pub fn call(name: &Name, deadline: Option<Instant>) -> Result<Line> {
    let wire = match call_near(name, deadline)? {
        Some(socket) => Wire::Near(socket),
        None => Wire::far(call_far(name, deadline)?),
    };
    Ok(Line { wire, host: false, early: None, deadline })
}

/// `None` when nobody on this machine has the port open.
fn call_near(name: &Name, deadline: Option<Instant>) -> Result<Option<OwnedFd>> {
    let gone = |errno: Errno| Error::new(MPI_ERR_PORT, format!("the port {} cannot be called: {errno}", name.text()));
    let socket = socket().map_err(gone)?;
    let look = || match net::connect(&socket, &address(name.number)) {
        Ok(()) => Ok(Some(true)),
        // Too many wait there already.
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(Errno::CONNREFUSED) => Ok(Some(false)),
        Err(errno) => Err(gone(errno)),
    };
    // Nothing is ever read here: each look is made after a nap.
    let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(gone)?;
    match wait_for(pipe.0.as_fd(), deadline, look)? {
        None => err!(MPI_ERR_PORT, "the port {} has taken no connection in time", name.text()),
        Some(false) => Ok(None),
        Some(true) if !parcel::is_own_user(&socket) => {
            err!(MPI_ERR_PORT, "the port {} belongs to another user", name.text())
        }
        Some(true) => Ok(Some(socket)),
    }
}

/// Calls of one address of a port.
struct Caller {
    address: SocketAddr,
    /// None before the next call, which is made at that time.
    knock: Option<Knock>,
    next: Instant,
    /// So many calls may be cut yet.
    left: u32,
}

impl Caller {
    /// Goes on; true once both sides have proven themselves. `call` begins a call.
    ///
    /// Errors: nobody has the port open at this address, or somebody else answers there.
    fn step(&mut self, call: impl Fn(SocketAddr) -> std::io::Result<Knock>) -> std::io::Result<bool> {
        let Some(knock) = &mut self.knock else {
            if Instant::now() >= self.next {
                self.knock = Some(call(self.address)?);
            }
            return Ok(false);
        };
        match knock.step() {
            // Among a crowd a port lets callers go that it has not got to.
            Err(error) if error.kind() == ErrorKind::ConnectionReset && self.left > 0 => {
                (self.knock, self.next, self.left) = (None, Instant::now() + PAUSE, self.left - 1);
                Ok(false)
            }
            progress => Ok(progress? == Progress::Proven),
        }
    }
}

/// The connection to a port of another machine: all its addresses are called, and the first that answers is it. Where a call is cut
/// another one follows, some times.
fn call_far(name: &Name, deadline: Option<Instant>) -> Result<Proven> {
    if name.addresses.is_empty() {
        return err!(MPI_ERR_PORT, "nobody has the port {} open on this machine", name.text());
    }
    let time = deadline.map_or(FOREVER, |deadline| deadline.saturating_duration_since(Instant::now()));
    let silence = tern_settings::PEER_TIMEOUT.get();
    let call = |address| Knock::at(address, token(name.secret), 0, time + Duration::from_secs(1), silence);
    let caller = |&address| Caller { address, knock: None, next: Instant::now(), left: CUT_CALLS };
    let mut callers: Vec<Caller> = name.addresses.iter().map(caller).collect();
    let mut failed = Vec::new();
    let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let pipe = pipe.map_err(|errno| Error::new(MPI_ERR_PORT, format!("the port cannot be called: {errno}")))?;
    let look = || {
        for at in (0..callers.len()).rev() {
            match callers[at].step(call) {
                Ok(true) => return Ok(callers.swap_remove(at).knock.and_then(Knock::into_proven)),
                Ok(false) => {}
                Err(error) => failed.push(format!("{} ({error})", callers.swap_remove(at).address)),
            }
        }
        match callers.is_empty() {
            true => err!(MPI_ERR_PORT, "nobody has the port {} open: {}", name.text(), failed.join(", ")),
            false => Ok(None),
        }
    };
    match wait_for(pipe.0.as_fd(), deadline, look)? {
        Some(proven) => Ok(proven),
        None => err!(MPI_ERR_PORT, "the port {} has taken no connection in time", name.text()),
    }
}

/// The line between two processes that can send to each other: `leaders`.
pub fn line_between(leaders: &Circle) -> Result<Line> {
    let gate = Gate::open()?;
    let (circle, name) = (leaders.clone(), gate.name.text().into_bytes());
    let names = run(async move { circle.gather(&name).await })?;
    if leaders.me == 0 {
        return gate.take_caller(None);
    }
    call(&Name::parse(&String::from_utf8_lossy(&names[0]))?, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ports_are_read_as_written() {
        let near = Name { number: 77, secret: 0, addresses: Vec::new() };
        assert_eq!(Name::parse(&near.text()).unwrap(), near);
        let addresses = ["10.0.0.1:80", "[fd00::1]:65535"].map(|text| text.parse().unwrap()).to_vec();
        let far = Name { number: u64::MAX, secret: 5, addresses };
        assert_eq!(Name::parse(&far.text()).unwrap(), far);
        let many = Name { addresses: vec![far.addresses[1]; 100], ..far };
        assert!(many.text().len() <= LONGEST && !Name::parse(&many.text()).unwrap().addresses.is_empty());
        let wrong = ["", "tern:", "tern:12", "tern:zzzzzzzzzzzzzzzz", "tcp://1.2.3.4", "tern:+000000000000001"];
        let more = ["tern:0000000000000001/5/1.2.3.4:5", "tern:0000000000000001/", "tern:0000000000000001/5/x/y"];
        for wrong in wrong.into_iter().chain(more) {
            assert_eq!(Name::parse(wrong).unwrap_err().code, MPI_ERR_PORT, "{wrong}");
        }
    }
}
