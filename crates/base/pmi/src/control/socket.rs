//! Messages over the socket, with descriptors attached.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sockopt,
};

use super::{MAX_MESSAGE, Message};

/// Sends a message. Waits while the other side's queue is full, which holds hundreds: for messages that the other side is about to take,
/// as the answer to its request. Others go by [`send_at_once`].
pub fn send(socket: impl AsFd, message: &Message) -> rustix::io::Result<()> {
    send_flagged(socket.as_fd(), message, SendFlags::NOSIGNAL)
}

/// Sends a message without waiting. Who looks at [`has_room`] before leaves room for answers.
///
/// Errors: EAGAIN, the other side has not taken what was sent before.
pub fn send_at_once(socket: impl AsFd, message: &Message) -> rustix::io::Result<()> {
    send_flagged(socket.as_fd(), message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

fn send_flagged(socket: BorrowedFd<'_>, message: &Message, flags: SendFlags) -> rustix::io::Result<()> {
    let bytes = message.encode();
    rustix::io::retry_on_intr(|| rustix::net::send(socket, &bytes, flags).map(|_| ()))
}

/// Whether the other side has taken most of what was sent. Linux calls a Unix socket writable while at most a quarter of its memory is in
/// use. `poll` therefore wakes whoever waits for room, and who heeds this never fills the queue.
pub fn has_room(socket: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&socket, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(rustix::event::poll(&mut fds, Some(&at_once)), Ok(1))
}

/// Sends a message with one or two descriptors attached.
pub fn send_with(socket: impl AsFd, message: &Message, fds: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(fds));
    let bytes = message.encode();
    rustix::net::sendmsg(socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// What comes with a message.
#[derive(Debug, Default)]
pub struct Attached {
    /// The descriptors that the sender attached.
    pub fds: Vec<OwnedFd>,
    /// The process that sent it, as the receiver would number it, if the receiver called
    /// [`ask_for_sender`] before. It may be in a container, and not know this number itself.
    pub pid: Option<u32>,
}

/// Asks the kernel to say with each message that comes to this socket which process sent it.
pub fn ask_for_sender(socket: impl AsFd) -> rustix::io::Result<()> {
    sockopt::set_socket_passcred(socket, true)
}

/// What [`receive`] found.
#[derive(Debug)]
pub enum Received {
    /// A message, with what the kernel attached to it.
    Message(Message, Attached),
    /// A message that this version does not know.
    Unknown,
    /// Nothing for now.
    Nothing,
    /// The other side has closed.
    Closed,
}

/// Receives a message; `wait` says whether to wait for one.
pub fn receive(socket: impl AsFd, wait: bool) -> rustix::io::Result<Received> {
    let mut bytes = [0u8; MAX_MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2), ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
    let mut is_reset = false;
    let length = loop {
        let buffers = &mut [IoSliceMut::new(&mut bytes)];
        match rustix::net::recvmsg(socket.as_fd(), buffers, &mut ancillary, flags) {
            Ok(got) => break got.bytes,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            // The other side has closed and left unread what was sent to it. The kernel says that once, before what the other side has
            // sent itself.
            Err(Errno::CONNRESET) if !is_reset => is_reset = true,
            Err(Errno::CONNRESET) => return Ok(Received::Closed),
            Err(errno) => return Err(errno),
        }
    };
    if length == 0 {
        return Ok(Received::Closed);
    }
    let mut attached = Attached::default();
    for message in ancillary.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(fds) => attached.fds.extend(fds),
            RecvAncillaryMessage::ScmCredentials(sender) => {
                attached.pid = Some(sender.pid.as_raw_pid() as u32);
            }
            _ => {}
        }
    }
    Ok(match Message::decode(&bytes[..length]) {
        Some(message) => Received::Message(message, attached),
        None => Received::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[test]
    fn what_was_said_before_the_end_is_heard_where_an_answer_was_not_read() {
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (rank, launcher) = pair.expect("two sockets");
        send(&launcher, &Message::Ask).expect("room");
        send(&rank, &Message::Finalized).expect("room");
        drop(rank);
        assert!(matches!(receive(&launcher, false), Ok(Received::Message(Message::Finalized, _))));
        assert!(matches!(receive(&launcher, false), Ok(Received::Closed)));
    }
}
