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

/// The name of an HCA's socket. Names can be read by everybody on the machine, and the token is a secret.
fn name(token: u64) -> Result<SocketAddrUnix, Errno> {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(token);
    SocketAddrUnix::new_abstract_name(format!("tern-hca-{hash:016x}").as_bytes())
}

fn socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    descriptors::obtain(|| socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None))
}

/// Where processes of this machine call.
pub fn listener(token: u64) -> Result<OwnedFd, Errno> {
    let listener = socket()?;
    bind(&listener, &name(token)?)?;
    listen(&listener, 4096)?;
    Ok(listener)
}

/// Calls the HCA with that token and says hello. An error when it is not on this machine, or cannot be called so.
pub fn call(token: u64, hello: &[u8]) -> Result<(OwnedFd, Rings), Errno> {
    let socket = socket()?;
    connect(&socket, &name(token)?)?;
    let rings = Rings::new()?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    let files = [rings.file().as_fd()];
    attached.push(SendAncillaryMessage::ScmRights(&files));
    let sent = sendmsg(&socket, &[IoSlice::new(hello)], &mut attached, SendFlags::NOSIGNAL)?;
    if sent == hello.len() { Ok((socket, rings)) } else { Err(Errno::AGAIN) }
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
