//! Connections that have come in and have not said yet which queue pair they are for.

use super::address::{Address, LEN};
use super::engine::{Engine, Tag};
use super::hca::Shared;
use super::wire::{Frame, HEADER, Kind};
use parking_lot::Mutex;
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What a stranger says first.
const HELLO: usize = HEADER + LEN;

struct Stranger {
    socket: OwnedFd,
    /// The token of the HCA that it came to.
    token: u64,
    said: [u8; HELLO],
    len: usize,
}

#[derive(Default)]
pub struct Strangers {
    waiting: Mutex<HashMap<u32, Stranger>>,
}

impl Strangers {
    /// Takes all connections that wait at the HCA's listener.
    pub fn accept(&self, hca: &Arc<Shared>) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Two threads may be at it at once: the listener does not block.
        while let Ok(socket) = accept_with(hca.listener(), flags) {
            let number = hca.engine().number();
            let mut waiting = self.waiting.lock();
            if hca.engine().watch(&socket, Tag::Stranger(number)).is_ok() {
                waiting.insert(
                    number,
                    Stranger {
                        socket,
                        token: hca.token,
                        said: [0; HELLO],
                        len: 0,
                    },
                );
            }
        }
    }

    /// A stranger says something.
    pub fn listen(&self, engine: &Engine, number: u32) {
        let mut waiting = self.waiting.lock();
        let Some(stranger) = waiting.get_mut(&number) else {
            return;
        };
        let place = &mut stranger.said[stranger.len..];
        match recv(&stranger.socket, place, RecvFlags::DONTWAIT) {
            Ok((len, _)) if len > 0 => {
                stranger.len += len;
                if stranger.len < HELLO {
                    return;
                }
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
            _ => {
                waiting.remove(&number);
                return;
            }
        }
        let stranger = waiting.remove(&number).expect("it was there");
        drop(waiting);
        introduce(engine, stranger);
    }
}

/// Gives the connection to the queue pair that it is for; closes it when there is none.
fn introduce(engine: &Engine, stranger: Stranger) {
    let (header, address) = stranger.said.split_at(HEADER);
    let Some(frame) = Frame::decode(header.try_into().expect("a header's length")) else {
        return;
    };
    let wanted = frame.kind == Kind::Hello && frame.address == stranger.token;
    let (true, Ok(from)) = (wanted, Address::decode(address)) else {
        return;
    };
    if frame.receive_queue != 0 {
        if let Some(hca) = engine.hca_with(stranger.token) {
            hca.guest(frame.receive_queue, from, stranger.socket);
        }
    } else if let Some(pair) = engine.pair(frame.sequence as u32) {
        pair.visitor(from, stranger.socket);
    }
}
