//! Connections that have come in and have not said yet which queue pair they are for.

use super::address::{Address, LEN};
use super::engine::{Engine, Tag};
use super::hca::Shared;
use super::near;
use super::queue_pair::Caller;
use super::rings::Rings;
use super::wire::{Frame, HEADER, Kind};
use crate::descriptors::{self, Reserve};
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_threads::Mutex;

/// From so many callers on that have not said what they want, those give way that have had their time.
const MANY: usize = 128;
/// The time that a caller has then.
const TIME: Duration = Duration::from_secs(2);
/// From so many on the oldest gives way to the next one at once. A caller of the job says what it wants as soon as it is
/// connected.
const MOST: usize = 1024;
/// What a stranger says first.
pub const HELLO: usize = HEADER + LEN;

struct Stranger {
    socket: OwnedFd,
    /// The token of the HCA that it came to.
    token: u64,
    said: [u8; HELLO],
    len: usize,
    /// It is of this machine; and the rings that it has made.
    near: bool,
    rings: Option<OwnedFd>,
    since: Instant,
}

#[derive(Default)]
pub struct Strangers {
    waiting: Mutex<HashMap<u32, Stranger>>,
    reserve: Reserve,
}

impl Strangers {
    /// Takes all connections that wait at a listener of the HCA; turns them away when there is no descriptor for them.
    pub fn accept(&self, hca: &Arc<Shared>, listener: &OwnedFd, near: bool) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Two threads may be at it at once: the listener does not block.
        loop {
            let socket = match descriptors::obtain(|| accept_with(listener, flags)) {
                Ok(socket) => socket,
                Err(error) if descriptors::is_shortage(&error) => {
                    let turned_away = self.reserve.give_way(|| accept_with(listener, flags)).is_ok();
                    if self.reserve.refill() && turned_away {
                        continue;
                    }
                    return;
                }
                Err(_) => return,
            };
            let number = hca.engine().number();
            let mut waiting = self.waiting.lock();
            if waiting.len() >= MANY {
                give_way(&mut waiting);
            }
            if hca.engine().watch(&socket, Tag::Stranger(number)).is_ok() {
                waiting.insert(
                    number,
                    Stranger {
                        socket,
                        token: hca.token,
                        said: [0; HELLO],
                        len: 0,
                        near,
                        rings: None,
                        since: Instant::now(),
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
        let heard = if stranger.near {
            near::hear(&stranger.socket, place)
        } else {
            recv(&stranger.socket, place, RecvFlags::DONTWAIT).map(|(len, _)| (len, None))
        };
        match heard {
            Ok((len, rings)) if len > 0 => {
                stranger.len += len;
                stranger.rings = stranger.rings.take().or(rings);
                if stranger.len < HELLO {
                    return;
                }
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
            _ => {
                waiting.remove(&number);
                counters::NETWORK_STRANGERS.add(1);
                return;
            }
        }
        let stranger = waiting.remove(&number).expect("it was there");
        drop(waiting);
        if introduce(engine, stranger).is_none() {
            counters::NETWORK_STRANGERS.add(1);
        }
    }
}

/// Those go that have had their time; and if they are too many all the same, the oldest.
fn give_way(waiting: &mut HashMap<u32, Stranger>) {
    let before = waiting.len();
    waiting.retain(|_, stranger| stranger.since.elapsed() < TIME);
    if waiting.len() >= MOST
        && let Some(oldest) = waiting.iter().min_by_key(|(_, stranger)| stranger.since).map(|(number, _)| *number)
    {
        waiting.remove(&oldest);
    }
    counters::NETWORK_STRANGERS.add((before - waiting.len()) as u64);
}

/// Gives the connection to the queue pair that it is for; closes it when there is none.
fn introduce(engine: &Engine, stranger: Stranger) -> Option<()> {
    let (header, address) = stranger.said.split_at(HEADER);
    let frame = Frame::decode(header.try_into().expect("a header's length"))?;
    let wanted = frame.kind == Kind::Hello && frame.address == stranger.token;
    let from = Address::decode(address).ok().filter(|_| wanted)?;
    let rings = stranger.rings.and_then(|file| Rings::open(file).ok());
    if stranger.near && rings.is_none() {
        return None;
    }
    let caller = Caller { from, socket: stranger.socket, rings };
    if frame.receive_queue != 0 {
        if let Some(hca) = engine.hca_with(stranger.token) {
            hca.guest(frame.receive_queue, caller);
        }
    } else if let Some(pair) = engine.pair(frame.sequence as u32) {
        pair.visitor(caller);
    }
    Some(())
}
