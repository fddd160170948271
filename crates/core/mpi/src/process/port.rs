//! Ports: how groups of processes that were started apart find each other (MPI 5.0 section 11.9).
//!
//! Names of services are kept by the launcher of the process that publishes them, until that ends; all processes of the
//! user on this machine know them, and where TERN_NAMES is set, those that have the same folder.

use crate::args::{Out, TextOut};
use crate::comm::hand_out;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use crate::info;
use crate::meeting::gate::{Gate, Name, call};
use crate::meeting::introduce::introduce;
use crate::meeting::line::{Line, wait_for};
use crate::meeting::pass_on::find_all;
use crate::objects::{Comm, Info, objects};
use crate::runtime::runtime;
use rustix::io::Errno;
use rustix::net;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tern_pmi::control::Message;

/// How long MPI_Comm_connect waits if it is not told: section 11.9.3 wants it to end if nobody ever accepts.
const PATIENCE: Duration = Duration::from_secs(600);
/// The ports that this process has open, by number.
static PORTS: Guarded<RefCell<BTreeMap<u64, Rc<Gate>>>> = Guarded::new(RefCell::new(BTreeMap::new()));

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
    let gate = Gate::open()?;
    port_name.set(&gate.name.text(), MPI_MAX_PORT_NAME);
    PORTS.get().borrow_mut().insert(gate.name.number, Rc::new(gate));
    Ok(())
}

/// MPI_Close_port
pub fn close_port(port_name: &str) -> Result<()> {
    let port = Name::parse(port_name)?;
    match PORTS.get().borrow_mut().remove(&port.number) {
        Some(_) => Ok(()),
        None => err!(MPI_ERR_PORT, "the port {port_name} is not open in this process"),
    }
}

fn own_port(name: &str) -> Result<Rc<Gate>> {
    let found = PORTS.get().borrow().get(&Name::parse(name)?.number).cloned();
    found.ok_or_else(|| Error::new(MPI_ERR_PORT, format!("the port {name} is not open in this process")))
}

/// The communicator that a root has found the line for.
fn found(comm: Rc<Comm>, root: i32, line: Option<Result<Line>>, newcomm: Out<usize>) -> Result<()> {
    crate::bridge::sweep();
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
    find_all(&comm.circle())?;
    let line = || own_port(port_name)?.take_caller(deadline(&info)?);
    let line = (comm.rank == root).then(line);
    found(comm, root, line, newcomm)
}

/// MPI_Comm_connect. It waits for as many seconds as the info key `timeout` says, else for [`PATIENCE`].
pub fn comm_connect(
    port_name: &str, info: Option<Rc<Info>>, root: i32, comm: Rc<Comm>, newcomm: Out<usize>,
) -> Result<()> {
    crate::comm::create::check_intra(&comm)?;
    find_all(&comm.circle())?;
    let line = || call(&Name::parse(port_name)?, Some(deadline_of_caller(&info)?));
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

/// MPI_Comm_join (section 11.10.3): the processes tell each other ports over the socket, which may be of any
/// kind, and the one with the lower number takes the other's call.
pub fn comm_join(fd: i32, intercomm: Out<usize>) -> Result<()> {
    intercomm.set(MPI_COMM_NULL);
    crate::bridge::sweep();
    if fd < 0 {
        return err!(MPI_ERR_ARG, "{fd} is no descriptor");
    }
    // SAFETY: a number that is no open descriptor is answered with EBADF; nothing else is done with it.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    let gate = Gate::open()?;
    let other = greet(fd, &gate.name)?;
    let line = match gate.name.number.cmp(&other.number) {
        std::cmp::Ordering::Less => gate.take_caller(None),
        std::cmp::Ordering::Greater => call(&other, None),
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
fn greet(fd: BorrowedFd<'_>, own: &Name) -> Result<Name> {
    let failed = |errno: Errno| Error::new(MPI_ERR_ARG, format!("the socket cannot be used: {errno}"));
    let own = own.text();
    let greeting = [&MAGIC[..], &(own.len() as u32).to_be_bytes(), own.as_bytes()].concat();
    let mut sent = 0;
    while sent < greeting.len() {
        match net::send(fd, &greeting[sent..], net::SendFlags::NOSIGNAL) {
            Ok(more) => sent += more,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    let head = read_exactly(fd, 12)?;
    let length = u32::from_be_bytes(head[8..].try_into().expect("four bytes")) as usize;
    if head[..8] != MAGIC || length >= MPI_MAX_PORT_NAME as usize {
        return err!(MPI_ERR_OTHER, "the process at the other end of the socket has not called MPI_Comm_join of Tern");
    }
    Name::parse(&String::from_utf8_lossy(&read_exactly(fd, length)?))
}

fn read_exactly(fd: BorrowedFd<'_>, length: usize) -> Result<Vec<u8>> {
    let failed = |errno: Errno| Error::new(MPI_ERR_ARG, format!("the socket cannot be used: {errno}"));
    let (mut got, mut bytes) = (0, vec![0; length]);
    let look = || {
        match net::recv(fd, &mut bytes[got..], net::RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Err(failed(Errno::CONNRESET)),
            Ok((_, more)) => got += more,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(failed(errno)),
        }
        Ok((got == length).then_some(()))
    };
    wait_for(fd, None, look)?.expect("it waits without end");
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_connects_gives_up_in_the_end() {
        assert!(deadline(&None).unwrap().is_none());
        assert!(deadline_of_caller(&None).unwrap() > Instant::now());
    }
}
