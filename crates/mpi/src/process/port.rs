//! Ports: how groups of processes that were started apart find each other (MPI 5.0 section 11.9).
//!
//! A port is a socket with an address of this machine's that no other program has; its number is random. Names of
//! services are kept by the launcher of the process that publishes them, until that ends; all processes of the user on
//! this machine know them.

use crate::args::{Out, TextOut};
use crate::comm::exchange::Circle;
use crate::comm::hand_out;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use crate::info;
use crate::objects::{Comm, Info, objects};
use crate::process::introduce::introduce;
use crate::process::line::{Line, wait_for};
use crate::runtime::runtime;
use crate::task::run;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tern_pmi::control::Message;
use tern_pmi::parcel;

/// What names of ports begin with.
const PREFIX: &str = "tern:";
/// How long MPI_Comm_connect waits if it is not told: section 11.9.3 wants it to end if nobody ever accepts.
const PATIENCE: Duration = Duration::from_secs(600);
/// Connections that may wait at a port.
const WAITING: i32 = 128;

/// The ports that this process has open, by number.
static PORTS: Guarded<RefCell<BTreeMap<u64, Rc<OwnedFd>>>> = Guarded::new(RefCell::new(BTreeMap::new()));

fn name_of(port: u64) -> String {
    format!("{PREFIX}{port:016x}")
}

fn parse(name: &str) -> Result<u64> {
    let digits = name.strip_prefix(PREFIX).filter(|digits| digits.len() == 16);
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.ok_or_else(|| Error::new(MPI_ERR_PORT, format!("{name:?} is not the name of a port of Tern's")))
}

fn address(port: u64) -> SocketAddrUnix {
    SocketAddrUnix::new_abstract_name(format!("tern-port-{port:016x}").as_bytes()).expect("the name is short")
}

fn socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// A socket at which others may connect under that number.
pub fn listen(port: u64) -> Result<OwnedFd> {
    let open = || {
        let socket = socket()?;
        net::bind(&socket, &address(port))?;
        net::listen(&socket, WAITING)?;
        Ok(socket)
    };
    open().map_err(|errno: Errno| Error::new(MPI_ERR_PORT, format!("a port cannot be opened: {errno}")))
}

/// The line to the next one that connects and still waits.
pub fn take_caller(listener: &OwnedFd, deadline: Option<Instant>) -> Result<Line> {
    loop {
        let look = || match net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => Ok(Some(socket)),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(errno) => err!(MPI_ERR_PORT, "connections are not taken at the port: {errno}"),
        };
        let Some(socket) = wait_for(listener.as_fd(), deadline, look)? else {
            return err!(MPI_ERR_PORT, "nobody has connected in time");
        };
        if !parcel::is_own_user(&socket) {
            continue;
        }
        let greeting = wait_for(socket.as_fd(), None, || match parcel::receive(&socket) {
            Ok(parcel) => Ok(parcel.map(Some)),
            // It has given up.
            Err(_) => Ok(Some(None)),
        });
        if let Some(Some(parcel)) = greeting? {
            return Ok(Line { socket, host: true, early: Some(parcel.bytes), deadline: None });
        }
    }
}

/// The line to a port.
pub fn call(port: u64, deadline: Option<Instant>) -> Result<Line> {
    let gone = |errno: Errno| {
        Error::new(MPI_ERR_PORT, format!("nobody has the port {} open on this machine: {errno}", name_of(port)))
    };
    let socket = socket().map_err(gone)?;
    let look = || match net::connect(&socket, &address(port)) {
        Ok(()) => Ok(Some(())),
        // Too many wait there already.
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(errno) => Err(gone(errno)),
    };
    // Nothing is ever read here: each look is made after a nap.
    let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(gone)?;
    if wait_for(pipe.0.as_fd(), deadline, look)?.is_none() {
        return err!(MPI_ERR_PORT, "the port {} has taken no connection in time", name_of(port));
    }
    if !parcel::is_own_user(&socket) {
        return err!(MPI_ERR_PORT, "the port {} belongs to another user", name_of(port));
    }
    Ok(Line { socket, host: false, early: None, deadline })
}

/// The line between two processes that can send to each other: `leaders`.
pub fn line_between(leaders: &Circle) -> Result<Line> {
    let own = tern_pmi::new_job_id();
    let listener = listen(own)?;
    let circle = leaders.clone();
    let ports = run(async move { circle.gather(&own.to_le_bytes()).await })?;
    if leaders.me == 0 {
        return take_caller(&listener, None);
    }
    let port = ports[0].as_slice().try_into().map(u64::from_le_bytes);
    call(port.map_err(|_| Error::new(MPI_ERR_INTERN, "the other leader has no port"))?, None)
}

/// The time that the info key `timeout` gives, in seconds.
fn deadline(info: &Option<Rc<Info>>) -> Result<Option<Instant>> {
    let map = info::map_of(info);
    let Some(text) = info::find(&map, "timeout") else { return Ok(None) };
    match text.trim().parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) => Ok(Some(Instant::now() + Duration::from_secs_f64(seconds))),
        _ => err!(MPI_ERR_INFO_VALUE, "the info key timeout is {text:?}, which is no number of seconds"),
    }
}

/// MPI_Open_port
pub fn open_port(_info: Option<Rc<Info>>, port_name: TextOut) -> Result<()> {
    let port = tern_pmi::new_job_id();
    let listener = listen(port)?;
    PORTS.get().borrow_mut().insert(port, Rc::new(listener));
    port_name.set(&name_of(port), MPI_MAX_PORT_NAME);
    Ok(())
}

/// MPI_Close_port
pub fn close_port(port_name: &str) -> Result<()> {
    let port = parse(port_name)?;
    match PORTS.get().borrow_mut().remove(&port) {
        Some(_) => Ok(()),
        None => err!(MPI_ERR_PORT, "the port {port_name} is not open in this process"),
    }
}

fn own_port(name: &str) -> Result<Rc<OwnedFd>> {
    let found = PORTS.get().borrow().get(&parse(name)?).cloned();
    found.ok_or_else(|| Error::new(MPI_ERR_PORT, format!("the port {name} is not open in this process")))
}

/// The communicator that a root has found the line for.
fn found(comm: Rc<Comm>, root: i32, line: Option<Result<Line>>, newcomm: Out<usize>) -> Result<()> {
    crate::process::bridge::sweep();
    let circle = comm.circle();
    let errhandler = comm.errhandler.borrow().clone();
    let made = introduce(comm.local.clone(), &circle, root as usize, line, errhandler)?;
    newcomm.set(hand_out(made));
    Ok(())
}

fn deadline_of_caller(info: &Option<Rc<Info>>) -> Result<Instant> {
    Ok(deadline(info)?.unwrap_or_else(|| Instant::now() + PATIENCE))
}

/// MPI_Comm_accept
pub fn comm_accept(
    port_name: &str, info: Option<Rc<Info>>, root: i32, comm: Rc<Comm>, newcomm: Out<usize>,
) -> Result<()> {
    crate::comm::create::check_intra(&comm)?;
    let line = || {
        let port = own_port(port_name)?;
        take_caller(&port, deadline(&info)?)
    };
    let line = (comm.rank == root).then(line);
    found(comm, root, line, newcomm)
}

/// MPI_Comm_connect. It waits for as many seconds as the info key `timeout` says, else for [`PATIENCE`].
pub fn comm_connect(
    port_name: &str, info: Option<Rc<Info>>, root: i32, comm: Rc<Comm>, newcomm: Out<usize>,
) -> Result<()> {
    crate::comm::create::check_intra(&comm)?;
    let line = || call(parse(port_name)?, Some(deadline_of_caller(&info)?));
    let line = (comm.rank == root).then(line);
    found(comm, root, line, newcomm)
}

/// Asks the launcher: the value of its answer, and the text.
fn ask(message: Message) -> Result<(i32, String)> {
    let answer = runtime().launcher()?.ask(&message, &[]);
    answer.map_err(|errno| Error::new(MPI_ERR_OTHER, format!("the launcher does not answer: {errno}")))
}

/// The name of a service, if it can be one.
fn service(name: &str) -> Result<String> {
    if name.len() >= MPI_MAX_PORT_NAME as usize {
        return err!(
            MPI_ERR_ARG,
            "the name of the service has {} characters; at most {} are allowed",
            name.len(),
            MPI_MAX_PORT_NAME - 1
        );
    }
    Ok(name.to_owned())
}

/// The name of a port, as the launcher keeps it.
fn port(name: &str) -> Result<String> {
    if name.len() >= MPI_MAX_PORT_NAME as usize || name.contains('\n') {
        return err!(MPI_ERR_PORT, "{name:?} is not the name of a port");
    }
    Ok(name.to_owned())
}

/// MPI_Publish_name: known to all processes of this user on this machine, until this job ends; only to this job
/// when another one has published the name before.
pub fn publish_name(service_name: &str, _info: Option<Rc<Info>>, port_name: &str) -> Result<()> {
    let message = Message::Publish { service: service(service_name)?, port: port(port_name)? };
    match ask(message)? {
        (0, _) => Ok(()),
        (_, why) => err!(MPI_ERR_SERVICE, "the name {service_name:?} cannot be published: {why}"),
    }
}

/// MPI_Unpublish_name
pub fn unpublish_name(service_name: &str, _info: Option<Rc<Info>>, port_name: &str) -> Result<()> {
    let message = Message::Unpublish { service: service(service_name)?, port: port(port_name)? };
    match ask(message)? {
        (0, _) => Ok(()),
        (_, why) => err!(MPI_ERR_SERVICE, "the name {service_name:?} cannot be taken back: {why}"),
    }
}

/// MPI_Lookup_name
pub fn lookup_name(service_name: &str, _info: Option<Rc<Info>>, port_name: TextOut) -> Result<()> {
    let service = service(service_name)?;
    // What this job has published goes before what others have.
    if runtime().control().is_some()
        && let (0, port) = ask(Message::Lookup { service: service.clone() })?
    {
        port_name.set(&port, MPI_MAX_PORT_NAME);
        return Ok(());
    }
    match tern_pmi::names::look_up(&service) {
        Ok(Some(port)) => {
            port_name.set(&port, MPI_MAX_PORT_NAME);
            Ok(())
        }
        Ok(None) => err!(MPI_ERR_NAME, "no port is published under the name {service_name:?}"),
        Err(Errno::PERM) => {
            err!(
                MPI_ERR_NAME,
                "a process of another user holds the address of the name {service_name:?} on this machine"
            )
        }
        Err(errno) => err!(MPI_ERR_NAME, "who has published the name {service_name:?} does not answer: {errno}"),
    }
}

// --- Two processes with a socket between them ---------------------------------------------------

const MAGIC: [u8; 8] = *b"ternjoin";
const GREETING: usize = 16;

/// MPI_Comm_join (section 11.10.3): the processes tell each other ports over the socket, which may be of any
/// kind, and the one with the lower number takes the other's call.
pub fn comm_join(fd: i32, intercomm: Out<usize>) -> Result<()> {
    intercomm.set(MPI_COMM_NULL);
    crate::process::bridge::sweep();
    if fd < 0 {
        return err!(MPI_ERR_ARG, "{fd} is no descriptor");
    }
    // SAFETY: a number that is no open descriptor is answered with EBADF; nothing else is done with it.
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    let own = tern_pmi::new_job_id();
    let listener = listen(own)?;
    let other = greet(fd, own)?;
    let line = match own.cmp(&other) {
        std::cmp::Ordering::Less => take_caller(&listener, None),
        std::cmp::Ordering::Greater => call(other, None),
        std::cmp::Ordering::Equal => err!(MPI_ERR_ARG, "the socket leads back to this call"),
    };
    let line = line.map_err(|error| {
        Error::new(MPI_ERR_OTHER, format!("the process at the other end cannot be reached: {}", error.message))
    })?;
    let (world, own) = (objects().own.borrow().clone(), runtime().me);
    let Some(comm) = world else {
        return err!(MPI_ERR_OTHER, "MPI_Comm_join needs MPI_Init: sessions have no MPI_COMM_SELF");
    };
    debug_assert_eq!(*comm.local.procs, [own]);
    found(comm, 0, Some(Ok(line)), intercomm)
}

/// Tells the own port and gets the other's, over a socket that the program uses for nothing else
/// meanwhile. Reads no byte more than that.
fn greet(fd: std::os::fd::BorrowedFd<'_>, own: u64) -> Result<u64> {
    let failed = |errno: Errno| Error::new(MPI_ERR_ARG, format!("the socket cannot be used: {errno}"));
    let mut greeting = [0; GREETING];
    greeting[..8].copy_from_slice(&MAGIC);
    greeting[8..].copy_from_slice(&own.to_be_bytes());
    let mut sent = 0;
    while sent < GREETING {
        match net::send(fd, &greeting[sent..], net::SendFlags::NOSIGNAL) {
            Ok(more) => sent += more,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    let (mut got, mut theirs) = (0, [0; GREETING]);
    let look = || {
        match net::recv(fd, &mut theirs[got..], net::RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Err(failed(Errno::CONNRESET)),
            Ok((_, more)) => got += more,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(failed(errno)),
        }
        Ok((got == GREETING).then_some(theirs))
    };
    let theirs = wait_for(fd, None, look)?.expect("it waits without end");
    if theirs[..8] != MAGIC {
        return err!(MPI_ERR_OTHER, "the process at the other end of the socket has not called MPI_Comm_join of Tern");
    }
    Ok(u64::from_be_bytes(theirs[8..].try_into().expect("eight bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ports_are_read_as_written() {
        assert_eq!(parse(&name_of(77)).unwrap(), 77);
        for wrong in ["", "tern:", "tern:12", "tern:zzzzzzzzzzzzzzzz", "tcp://1.2.3.4"] {
            assert_eq!(parse(wrong).unwrap_err().code, MPI_ERR_PORT, "{wrong}");
        }
    }

    #[test]
    fn who_connects_gives_up_in_the_end() {
        assert!(deadline(&None).unwrap().is_none());
        assert!(deadline_of_caller(&None).unwrap() > Instant::now());
    }
}
