//! How two groups of processes come to know each other, and get an intercommunicator (MPI 5.0 section 11.9).
//!
//! The two roots have a socket between them, the *line*. Over it go who is in the groups, by what each knows each
//! (nothing, the own job, a bridge), and, where two do not know each other, the memory of a new
//! bridge. Each root passes that on to its group. Everything else is messages of MPI within the groups.

use crate::bridge::{Roster, way_to};
use crate::constants::*;
use crate::context::{BOOTSTRAP, allocate, reserved_tag};
use crate::error::{Error, Result};
use crate::exchange::Circle;
use crate::identity;
use crate::objects::{Comm, Errhandler, Group};
use crate::runtime::adi;
use crate::task::run;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Instant;
use tern_pmi::parcel::{self, Parcel, Reader, Writer};

/// The line between two roots.
pub struct Line {
    pub socket: OwnedFd,
    /// This side makes the memory.
    pub host: bool,
    /// What has come already.
    pub early: Option<Vec<u8>>,
    pub deadline: Option<Instant>,
}

/// Looks for something that comes by a descriptor, until it is there; makes progress meanwhile, and lets
/// other threads in. `None` when `deadline` has passed.
pub fn wait_for<T>(
    fd: BorrowedFd<'_>,
    deadline: Option<Instant>,
    mut attempt: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    loop {
        if let Some(found) = attempt()? {
            return Ok(Some(found));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
        if !adi().progress() {
            // A signal or an error: it looks again.
            let wait = || poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&NAP));
            let _ = tern_mcm::lock::outside(wait);
        }
    }
}

fn lost(errno: Errno) -> Box<Error> {
    Error::new(MPI_ERR_PORT, format!("the process at the other end of the port is gone, or gave up: {errno}"))
}

impl Line {
    fn receive(&mut self) -> Result<Parcel> {
        let look = || parcel::receive(&self.socket).map_err(lost);
        match wait_for(self.socket.as_fd(), self.deadline, look)? {
            Some(parcel) => Ok(parcel),
            None => err!(MPI_ERR_PORT, "nobody has answered at the port in the time that the info key timeout gives"),
        }
    }

    /// Gives bytes and gets those of the other root.
    fn exchange(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        parcel::send(&self.socket, None, bytes, &[]).map_err(lost)?;
        if let Some(early) = self.early.take() {
            return Ok(early);
        }
        let bytes = self.receive()?.bytes;
        // Who has answered once is not waited for in vain.
        self.deadline = None;
        Ok(bytes)
    }

    /// The memory of a bridge with this roster, which one side makes and both get.
    fn share(&mut self, roster: &Roster) -> Result<OwnedFd> {
        if self.host {
            let file = roster.build()?;
            parcel::send(&self.socket, None, &[], &[file.as_fd()]).map_err(lost)?;
            return Ok(file);
        }
        let file = self.receive()?.fds.pop();
        file.ok_or_else(|| Error::new(MPI_ERR_INTERN, "the other side has sent no memory"))
    }
}

/// What the process with index `root` has, or the error that it has met, at all processes of the circle.
pub fn tell(circle: &Circle, root: usize, value: Option<Result<Vec<u8>>>) -> Result<Vec<u8>> {
    let mut out = Writer::default();
    match &value {
        Some(Ok(bytes)) => _ = out.number(0).bytes(bytes),
        Some(Err(error)) => _ = out.number(1 + error.code as u64).bytes(error.message.as_bytes()),
        None => {}
    }
    let shared = circle.clone();
    let told = run(async move { Ok(shared.share(root, out.0).await) })?;
    if let Some(Err(error)) = value {
        return Err(error);
    }
    let mut told = Reader(&told);
    let (kind, bytes) = told.number().zip(told.bytes()).expect("the root tells something");
    match kind {
        0 => Ok(bytes.to_vec()),
        code => Err(Error::new(code as i32 - 1, String::from_utf8_lossy(bytes))),
    }
}

/// Fails at all processes of the circle if it does at one.
pub fn agree(circle: &Circle, outcome: &Result<()>) -> Result<()> {
    let (circle, failed) = (circle.clone(), outcome.is_err() as u8);
    let all = run(async move { Ok(circle.agree(vec![failed], |all, more| all[0] |= more[0]).await) })?;
    match (outcome, all[0]) {
        (Err(error), _) => Err(error.clone()),
        (Ok(()), 0) => Ok(()),
        _ => err!(MPI_ERR_OTHER, "it failed at another process of the communicator"),
    }
}

// --- Passing a descriptor on within a group ----------------------------------------------------

/// Where a process gets a descriptor from the root of its group.
struct Inbox {
    socket: OwnedFd,
    /// The number in its address, and what the sender must know.
    address: u64,
    secret: u64,
}

impl Inbox {
    fn open() -> rustix::io::Result<Inbox> {
        let (address, secret) = (tern_pmi::new_job_id(), tern_pmi::new_job_id());
        let socket = datagrams()?;
        bind(&socket, &inbox(address)?)?;
        Ok(Inbox { socket, address, secret })
    }

    /// What the root has sent before.
    fn take(&self) -> Option<OwnedFd> {
        while let Ok(Some(mut parcel)) = parcel::receive(&self.socket) {
            if parcel.bytes == self.secret.to_le_bytes() {
                return parcel.fds.pop();
            }
        }
        None
    }
}

fn datagrams() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
}

fn inbox(address: u64) -> rustix::io::Result<SocketAddrUnix> {
    SocketAddrUnix::new_abstract_name(format!("tern-inbox-{address:016x}").as_bytes())
}

/// Passes the file that the process with index `root` has to all processes of the circle.
pub fn pass_on(circle: &Circle, root: usize, file: Option<Result<OwnedFd>>) -> Result<OwnedFd> {
    let own = (circle.me != root).then(Inbox::open);
    let mut words = Writer::default();
    if let Some(Ok(inbox)) = &own {
        words.number(inbox.address).number(inbox.secret);
    }
    let shared = circle.clone();
    let inboxes = run(async move { Ok(shared.gather(&words.0).await) })?;
    let send = |file: &OwnedFd| -> Result<Vec<u8>> {
        let socket = datagrams().map_err(no_way)?;
        for (_, words) in inboxes.iter().enumerate().filter(|&(index, _)| index != root) {
            let mut words = Reader(words);
            let (address, secret) = words.number().zip(words.number()).ok_or_else(|| no_way(Errno::NOTCONN))?;
            let address = inbox(address).map_err(no_way)?;
            parcel::send(&socket, Some(&address), &secret.to_le_bytes(), &[file.as_fd()]).map_err(no_way)?;
        }
        Ok(Vec::new())
    };
    let sent = match &file {
        Some(Ok(file)) => Some(send(file)),
        Some(Err(error)) => Some(Err(error.clone())),
        None => None,
    };
    tell(circle, root, sent)?;
    match (file, own) {
        (Some(file), _) => file,
        (None, Some(Ok(inbox))) => inbox.take().ok_or_else(|| no_way(Errno::NOMSG)),
        (None, _) => Err(no_way(Errno::NOTCONN)),
    }
}

fn no_way(errno: Errno) -> Box<Error> {
    Error::new(MPI_ERR_OTHER, format!("memory cannot be passed on between the processes of the communicator: {errno}"))
}

// --- Two groups --------------------------------------------------------------------------------

/// Two groups that know each other.
struct Sides {
    remote: Rc<Group>,
    /// The group of the host comes first wherever there is an order.
    own_first: bool,
    /// A number for this meeting.
    number: u64,
}

/// Makes an intercommunicator between the processes of `local`, which all call this, and those at the
/// other end of the line that the one with index `root` in `circle` has.
pub fn introduce(
    local: Rc<Group>,
    circle: &Circle,
    root: usize,
    line: Option<Result<Line>>,
    errhandler: Rc<Errhandler>,
) -> Result<Comm> {
    let sides = meet(&local, circle, root, line)?;
    let (first, second) = if sides.own_first { (&local, &sides.remote) } else { (&sides.remote, &local) };
    let procs = first.procs.iter().chain(second.procs.iter()).copied().collect();
    let me = circle.me + if sides.own_first { 0 } else { first.procs.len() };
    join(sides.number, me, procs, local, sides.remote.clone(), errhandler)
}

/// The intercommunicator of two groups that know each other, whose processes `procs` lists in the same order
/// at all of them; `me` is the place of this one.
pub fn join(
    number: u64,
    me: usize,
    procs: Rc<[tern_adi::Proc]>,
    local: Rc<Group>,
    remote: Rc<Group>,
    errhandler: Rc<Errhandler>,
) -> Result<Comm> {
    let circle = Circle { context: BOOTSTRAP, tag: reserved_tag((number ^ number >> 32) as u32), me, procs };
    run(async move {
        circle.meet().await;
        let id = allocate(&circle).await;
        Ok(Comm::new(id, local, Some(remote), errhandler))
    })
}

fn meet(local: &Rc<Group>, circle: &Circle, root: usize, line: Option<Result<Line>>) -> Result<Sides> {
    // Who they are.
    let own = tern_pmi::new_job_id();
    let mut hello = Writer::default();
    hello.number(own).bytes(&identity::to_bytes(&local.procs));
    let (mut line, failed) = match line {
        Some(Ok(line)) => (Some(line), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    let heard = |line: &mut Line| -> Result<Vec<u8>> {
        let theirs = line.exchange(&hello.0)?;
        let mut words = Writer::default();
        let mut parts = Reader(&theirs);
        let (number, list) = parts.number().zip(parts.bytes()).ok_or_else(|| lost(Errno::PROTO))?;
        words.number(own ^ number).number(line.host as u64).bytes(list);
        Ok(words.0)
    };
    let heard = failed.map(Err).or_else(|| line.as_mut().map(heard));
    let told = tell(circle, root, heard)?;
    let mut told = Reader(&told);
    let (number, host) = told.number().zip(told.number()).expect("the root tells all of it");
    let list = identity::list(told.bytes().expect("the root tells all of it"));
    let own_list = identity::list(&identity::to_bytes(&local.procs));
    if list.is_empty() || list.iter().any(|other| own_list.contains(other)) {
        return err!(MPI_ERR_COMM, "the two sides of a connection must not have a process in common");
    }

    // By what they know each other.
    let ways: Vec<u8> = list.iter().flat_map(|other| way_to(other).to_le_bytes()).collect();
    let shared = circle.clone();
    let ways = run(async move { Ok(shared.gather(&ways).await.concat()) })?;
    let theirs = tell(circle, root, line.as_mut().map(|line| line.exchange(&ways)))?;
    let way = |ways: &[u8], row: usize, columns: usize, column: usize| -> u64 {
        let at = 8 * (row * columns + column);
        ways.get(at..at + 8).map_or(0, |word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
    };
    let knows = |own: usize, other: usize| {
        let way_there = way(&ways, own, list.len(), other);
        way_there != 0 && way_there == way(&theirs, other, own_list.len(), own)
    };
    let all = (0..own_list.len()).all(|own| (0..list.len()).all(|other| knows(own, other)));

    let mut bridge = None;
    if !all {
        // One of two may have left what the other still has: then neither uses it.
        for (_, identity) in list.iter().enumerate().filter(|&(other, _)| !knows(circle.me, other)) {
            if let Some(proc) = identity::number(identity) {
                identity::forget(proc);
            }
        }
        let (first, second) = if host != 0 { (&own_list, &list) } else { (&list, &own_list) };
        let file = line.as_mut().map(|line| line.share(&Roster::new(first.clone(), second.clone())));
        let file = pass_on(circle, root, file)?;
        let joined = Roster::read(&file).and_then(|roster| roster.join(&file));
        let outcome = agree(circle, &joined.as_ref().map(|_| ()).map_err(Clone::clone));
        let word = [outcome.is_err() as u8];
        let theirs = tell(circle, root, line.as_mut().map(|line| line.exchange(&word)))?;
        outcome?;
        if theirs != [0] {
            return err!(MPI_ERR_OTHER, "the other side of the connection could not share memory");
        }
        bridge = Some(joined?);
    }
    let procs = list.iter().map(identity::number).collect::<Option<Vec<_>>>();
    let remote = Group::new(procs.ok_or_else(|| lost(Errno::NOTCONN))?);
    drop(bridge); // the group has it now
    Ok(Sides { remote, own_first: host != 0, number })
}
