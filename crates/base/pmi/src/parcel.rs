//! Bytes of any length, and descriptors, from one process of this machine to another.
//!
//! Unix sockets that keep message boundaries have a limit for a message. So the bytes lie in a memfd
//! whose descriptor travels; the message itself is one byte. To send never waits: a message that finds no room
//! in the other side's queue is an error.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    SocketAddrUnix, sockopt,
};

/// Most descriptors in one message, the one for the bytes included.
pub const MOST: usize = 4;
/// Most bytes of a message: a bound on damage.
const LONGEST: u64 = 256 << 20;

/// What came.
#[derive(Debug)]
pub struct Parcel {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The descriptors, without that of the bytes.
    pub fds: Vec<OwnedFd>,
}

/// A memfd that holds `bytes`.
///
/// Errors: those of making and writing it; MSGSIZE for more bytes than [`unpack`] takes.
pub fn pack(bytes: &[u8]) -> rustix::io::Result<OwnedFd> {
    if bytes.len() as u64 > LONGEST {
        return Err(Errno::MSGSIZE);
    }
    let fd = rustix::fs::memfd_create("tern-parcel", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(fd);
    file.write_all(bytes).map_err(errno)?;
    Ok(file.into())
}

/// The bytes that a memfd of [`pack`] holds.
///
/// Errors: those of reading it; MSGSIZE where it claims to have more bytes than any message.
pub fn unpack(fd: OwnedFd) -> rustix::io::Result<Vec<u8>> {
    let file = File::from(fd);
    let len = file.metadata().map_err(errno)?.len();
    if len > LONGEST {
        return Err(Errno::MSGSIZE);
    }
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, 0).map_err(errno)?;
    Ok(bytes)
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Sends `bytes` and at most three descriptors over a socket, to `address` if it is not connected.
pub fn send(
    socket: impl AsFd, address: Option<&SocketAddrUnix>, bytes: &[u8], fds: &[BorrowedFd<'_>],
) -> rustix::io::Result<()> {
    let parcel = pack(bytes)?;
    let mut all = vec![parcel.as_fd()];
    all.extend_from_slice(fds);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(Errno::INVAL);
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let data = &[IoSlice::new(b"p")];
    match address {
        Some(address) => rustix::net::sendmsg_addr(socket.as_fd(), address, data, &mut ancillary, flags),
        None => rustix::net::sendmsg(socket.as_fd(), data, &mut ancillary, flags),
    }
    .map(|_| ())
}

/// Receives what [`send`] sent; `None` when nothing has come yet. Never waits.
///
/// Errors: CONNRESET when the other side has closed; PROTO for a message of another kind.
pub fn receive(socket: impl AsFd) -> rustix::io::Result<Option<Parcel>> {
    let mut byte = [0u8; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let got = loop {
        let buffers = &mut [IoSliceMut::new(&mut byte)];
        match rustix::net::recvmsg(socket.as_fd(), buffers, &mut ancillary, flags) {
            Ok(got) => break got.bytes,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(errno) => return Err(errno),
        }
    };
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(more) = message {
            fds.extend(more);
        }
    }
    if got == 0 {
        return Err(Errno::CONNRESET);
    }
    if fds.is_empty() {
        return Err(Errno::PROTO);
    }
    let bytes = unpack(fds.remove(0))?;
    Ok(Some(Parcel { bytes, fds }))
}

/// True when the process at the other end of a connected Unix socket belongs to this process's user.
pub fn is_own_user(socket: impl AsFd) -> bool {
    sockopt::socket_peercred(socket).is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

/// Parts of a message, one after the other.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Adds a number.
    pub fn number(&mut self, number: u64) -> &mut Writer {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Adds bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Writer {
        self.number(bytes.len() as u64).0.extend_from_slice(bytes);
        self
    }
}

/// Takes the parts out again; `None` when there is no such part.
#[derive(Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The number that comes next.
    pub fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    /// The bytes that come next.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[test]
    fn long_bytes_and_descriptors_arrive() {
        let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        assert!(receive(&b).unwrap().is_none());
        let bytes = vec![7u8; 1 << 20];
        let other = pack(b"other").unwrap();
        send(&a, None, &bytes, &[other.as_fd()]).unwrap();
        let mut parcel = receive(&b).unwrap().unwrap();
        assert_eq!(parcel.bytes, bytes);
        assert_eq!(unpack(parcel.fds.remove(0)).unwrap(), b"other");
        assert!(is_own_user(&a));
        drop(a);
        assert_eq!(receive(&b).unwrap_err(), Errno::CONNRESET);
    }

    /// A file without contents may claim any length.
    #[test]
    fn a_length_that_no_message_has_is_refused() {
        let empty = pack(b"").expect("a memfd");
        rustix::fs::ftruncate(&empty, LONGEST + 1).expect("a hole");
        assert_eq!(unpack(empty).unwrap_err(), Errno::MSGSIZE);
    }

    #[test]
    fn parts_come_apart_again() {
        let mut writer = Writer::default();
        writer.number(5).bytes(b"text").bytes(b"");
        let mut reader = Reader(&writer.0);
        assert_eq!(reader.number(), Some(5));
        assert_eq!(reader.bytes(), Some(&b"text"[..]));
        assert_eq!(reader.bytes(), Some(&b""[..]));
        assert_eq!(reader.bytes(), None);
        assert_eq!(Reader(&[255; 9]).bytes(), None);
    }
}
