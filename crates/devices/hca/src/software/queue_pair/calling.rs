//! A connection that this side makes, until the peer has proven to be the HCA that is called.
//!
//! What is posted meanwhile waits: the queue pair has no socket before.

use super::super::address::Address;
use super::super::engine::Tag;
use super::super::hello::{Hello, SILENCE};
use super::super::near;
use super::*;
use crate::descriptors;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use tern_proof::{Knock, Progress, Proven, Token};

/// A call under way.
pub struct Calling {
    knock: Knock,
    secret: Token,
    hello: Hello,
    /// For a peer of this machine: what it is to open.
    rings: Option<Rings>,
}

impl Pair {
    /// Begins a connection to the peer's HCA.
    ///
    /// Errors: there is no descriptor for it, or the peer's secret is not known. All others are told by the first request.
    pub fn call(self: &Arc<Pair>, inner: &mut Inner, hello: Hello, peer: &Address) -> Result<()> {
        let secret = peer.token.ok_or_else(|| peer.unknown())?;
        if self.call_near(inner, secret, hello, peer) {
            return Ok(());
        }
        match self.call_far(inner, secret, hello, peer) {
            Err(error) if descriptors::is_shortage(&error) => {
                let why = descriptors::shortage().unwrap_or_default();
                inner.lost = Some(why.clone());
                return Err(Error::Resources(why));
            }
            Err(error) => inner.lost = Some(format!("no connection: {error}")),
            Ok(()) => {}
        }
        Ok(())
    }

    /// The same to a peer of this machine, and this network namespace; false if it is none.
    fn call_near(self: &Arc<Pair>, inner: &mut Inner, secret: Token, hello: Hello, peer: &Address) -> bool {
        if peer.machine != hello.from.machine || self.hca.faults().tcp {
            return false;
        }
        let Ok((socket, rings)) = near::call(peer.name) else {
            return false;
        };
        self.knock(inner, socket, Some(rings), secret, hello).is_ok()
    }

    /// The same by TCP.
    fn call_far(
        self: &Arc<Pair>, inner: &mut Inner, secret: Token, hello: Hello, peer: &Address,
    ) -> rustix::io::Result<()> {
        let (family, own) = match peer.socket.is_ipv4() {
            true => (AddressFamily::INET, hello.from.socket.ip()),
            false => (AddressFamily::INET6, hello.from.socket.ip()),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = descriptors::obtain(|| rustix::net::socket_with(family, SocketType::STREAM, flags, None))?;
        if !own.is_loopback() {
            // By the interface that was asked for. The port is chosen when the peer is known, or a port would be used up for
            // each connection until long after its end.
            let on: libc::c_int = 1;
            // SAFETY: the option is an int, and optional.
            unsafe {
                let (value, len) = ((&raw const on).cast(), size_of_val(&on) as u32);
                libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, value, len);
            }
            rustix::net::bind(&socket, &SocketAddr::new(own, 0))?;
        }
        connect::prepare(&socket);
        match rustix::net::connect(&socket, &peer.socket) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        self.knock(inner, socket, None, secret, hello)
    }

    /// Begins the handshake on a socket that is connected, or about to be.
    fn knock(
        &self, inner: &mut Inner, socket: OwnedFd, rings: Option<Rings>, secret: Token, hello: Hello,
    ) -> rustix::io::Result<()> {
        self.hca.engine().watch(&socket, Tag::Calling(self.number)).map_err(|_| Errno::NOSPC)?;
        let knock = Knock::over(socket, secret, self.number, SILENCE);
        inner.calling = Some(Box::new(Calling { knock, secret, hello, rings }));
        Ok(())
    }

    /// Something has come of the call.
    pub fn go_on_calling(self: &Arc<Pair>, engine: bool) {
        {
            let inner = &mut *self.inner.lock();
            let Some(calling) = &mut inner.calling else {
                return;
            };
            match go_on(&mut calling.knock) {
                Ok(false) => return,
                met => {
                    let calling = inner.calling.take().expect("it is under way");
                    match met {
                        Ok(_) => self.introduce(inner, *calling),
                        Err(error) => self.call_failed(inner, *calling, &error),
                    }
                }
            }
        }
        self.clone().visit(News { readable: true, writable: true, ended: false, rung: false }, engine);
    }

    /// Says hello to a peer that has proven itself. From here on it is a connection.
    fn introduce(self: &Arc<Pair>, inner: &mut Inner, calling: Calling) {
        let Calling { knock, hello, rings, .. } = calling;
        let said = knock.into_proven().and_then(|Proven { socket, session, .. }| {
            let words = hello.seal(&session)?;
            match &rings {
                Some(rings) => near::greet(&socket, &words, rings).ok()?,
                // A fresh socket has room for it.
                None => {
                    let sent = send(&socket, &words, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).ok()?;
                    (sent == words.len()).then_some(())?;
                }
            }
            self.hca.engine().hand_over(&socket, Tag::Pair(self.number)).ok()?;
            Some(socket)
        });
        let Some(socket) = said else {
            let why = self.why_ended(inner);
            return self.lose(inner, &why);
        };
        match rings {
            Some(rings) => {
                let _ = self.rings.set(rings);
                self.open.store(true, Ordering::Relaxed);
            }
            None => self.far.store(true, Ordering::Relaxed),
        }
        self.hca.engine().connected(self.clone());
        inner.socket = Some(socket);
        inner.writable = true;
    }

    /// Nobody has proven itself. A peer of this machine may still be reached by TCP.
    fn call_failed(self: &Arc<Pair>, inner: &mut Inner, calling: Calling, error: &std::io::Error) {
        let Calling { knock, secret, hello, rings } = calling;
        drop(knock);
        let Some(peer) = inner.peer else { return };
        if rings.is_some() {
            match self.call_far(inner, secret, hello, &peer) {
                Ok(()) => return,
                Err(error) => return self.lose(inner, &format!("no connection: {error}")),
            }
        }
        let why = match Errno::from_io_error(error) {
            Some(Errno::CONNRESET | Errno::PIPE) => self.why_ended(inner),
            Some(Errno::ACCESS) => "somebody else answers there, who does not know the secret of the peer".into(),
            Some(Errno::TIMEDOUT) => "the peer did not answer".into(),
            _ => format!("no connection: {error}"),
        };
        self.lose(inner, &why);
    }
}

/// Goes as far as it goes now; true when both sides have proven themselves.
fn go_on(knock: &mut Knock) -> std::io::Result<bool> {
    loop {
        match knock.step()? {
            Progress::Proven => return Ok(true),
            // Each change is an event once.
            _ if !knock.is_answered() || !knock.is_ready() => return Ok(false),
            _ => {}
        }
    }
}
