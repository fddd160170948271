//! Connections between processes of one machine: a Unix socket to find each other, to wake the other side, and to
//! learn of its end; and [`Rings`], through which everything goes.
//!
//! The socket's name is abstract, so it reaches as far as the network namespace does, as a TCP connection over loopback.

use super::rings::Rings;
use crate::descriptors;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, recvmsg, send, sendmsg, socket_with,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

/// The name of the socket of an HCA with that name. Names can be read by everybody on the machine.
fn socket_of(name: u64) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new_abstract_name(format!("tern-hca-{name:016x}").as_bytes())
}

fn socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    descriptors::obtain(|| socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None))
}

/// Where processes of this machine call.
pub fn listener(name: u64) -> Result<OwnedFd, Errno> {
    let listener = socket()?;
    bind(&listener, &socket_of(name)?)?;
    listen(&listener, 4096)?;
    Ok(listener)
}

/// Calls the HCA with that name, and makes the rings for what goes there. An error when it is not on this machine, or cannot be
/// called so.
pub fn call(name: u64) -> Result<(OwnedFd, Rings), Errno> {
    let socket = socket()?;
    connect(&socket, &socket_of(name)?)?;
    Ok((socket, Rings::new()?))
}

/// Says hello, with the file of the rings.
pub fn greet(socket: &OwnedFd, hello: &[u8], rings: &Rings) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    let files = [rings.file().as_fd()];
    attached.push(SendAncillaryMessage::ScmRights(&files));
    let sent = sendmsg(socket, &[IoSlice::new(hello)], &mut attached, SendFlags::NOSIGNAL)?;
    if sent == hello.len() { Ok(()) } else { Err(Errno::AGAIN) }
}

/// Receives what a caller says, with the file of its rings.
///
/// An error too when there is no descriptor for the file: the kernel would drop it.
pub fn hear(socket: &OwnedFd, into: &mut [u8]) -> Result<(usize, Option<OwnedFd>), Errno> {
    descriptors::obtain(|| rustix::io::dup(socket))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let got = recvmsg(socket, &mut [IoSliceMut::new(into)], &mut attached, flags)?;
    let files = attached.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    Ok((got.bytes, files.last()))
}

/// Wakes the other side. If the socket is full, it has been woken often enough.
pub fn wake(socket: &OwnedFd) {
    let _ = send(socket, &[1], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
}

/// Forgets what has woken this side.
pub fn hush(socket: &OwnedFd) {
    let mut bytes = [0; 64];
    while let Ok((64, _)) = rustix::net::recv(socket, &mut bytes, RecvFlags::DONTWAIT) {}
}
