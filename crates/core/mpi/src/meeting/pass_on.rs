//! What the root of a group of processes has or has met with, for all of them: bytes, errors, descriptors.

use crate::constants::*;
use crate::error::{Error, Result};
use crate::exchange::Circle;
use crate::lost::is_survived;
use crate::task::run;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use std::os::fd::{AsFd, OwnedFd};
use tern_pmi::parcel::{self, Reader, Writer};

/// Comes before the root begins something that others would wait for without end. Where the job goes on when it loses processes, a lost one
/// of the circle fails it.
pub fn find_all(circle: &Circle) -> Result<()> {
    if is_survived() {
        let circle = circle.clone();
        run(async move { circle.meet().await })?;
    }
    Ok(())
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
    let told = run(async move { shared.share(root, out.0).await })?;
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
    let (circle, failed) = (circle.clone(), outcome.is_err());
    let failed = run(async move { circle.any(failed).await })?;
    match (outcome, failed) {
        (Err(error), _) => Err(error.clone()),
        (Ok(()), false) => Ok(()),
        _ => err!(MPI_ERR_OTHER, "it failed at another process of the communicator"),
    }
}

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
    let inboxes = run(async move { shared.gather(&words.0).await })?;
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
