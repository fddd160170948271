//! Connections that have come in and have not proven to know the secret of the HCA, or have not said yet which queue pair they
//! are for.

use super::clock::{NEVER, now};
use super::engine::Tag;
use super::hello::{Caller, HELLO, Hello, SILENCE};
use super::near;
use super::rings::Rings;
use super::shared::Shared;
use crate::descriptors::{self, Reserve};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_proof::{Knock, PROOF_TIME, Progress, Session, gives_way};
use tern_threads::Mutex;

/// From so many callers on that have not said what they want, those give way that have had their time.
const MANY: usize = 128;
/// The time that a caller has then.
const TIME: Duration = Duration::from_secs(2);
/// From so many on one gives way to the next at once ([`gives_way`]). A caller of the job says what it wants as soon as it is
/// connected.
const MOST: usize = 1024;

struct Stranger {
    number: u32,
    /// Until it has proven itself; then it is a guest.
    knock: Option<Knock>,
    guest: Option<Guest>,
    /// It is of this machine.
    near: bool,
    source: Option<IpAddr>,
    since: Instant,
}

/// One that has proven itself, and what has come of its hello.
struct Guest {
    socket: OwnedFd,
    session: Session,
    said: [u8; HELLO],
    len: usize,
    /// The rings that a caller of this machine has made.
    rings: Option<OwnedFd>,
}

/// What a step has come to.
enum Step {
    Wait,
    Welcome,
}

#[derive(Default)]
pub struct Strangers {
    /// The oldest first.
    waiting: Mutex<Vec<Stranger>>,
    /// When the first of them has had all the time that there is; 0: there is none.
    until: AtomicU64,
    reserve: Reserve,
}

impl Strangers {
    /// Takes all connections that wait at a listener of the HCA; turns them away when there is no descriptor for them. False when
    /// there is none even for that: some may wait still, and the listener does not tell of them again.
    pub fn accept(&self, hca: &Arc<Shared>, listener: &OwnedFd, near: bool) -> bool {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Two threads may be at it at once: the listener does not block.
        loop {
            match descriptors::obtain(|| accept_with(listener, flags)) {
                Ok(socket) => self.take(hca, socket, near),
                Err(error) if descriptors::is_shortage(&error) => {
                    // Another thread may have taken the place of the reserve.
                    let turned_away = self.reserve.give_way(|| accept_with(listener, flags)).is_ok();
                    match self.reserve.refill() {
                        true if turned_away => {}
                        refilled => return refilled,
                    }
                }
                Err(_) => return true,
            }
        }
    }

    fn take(&self, hca: &Arc<Shared>, socket: OwnedFd, near: bool) {
        let engine = hca.engine();
        let number = engine.number();
        let mut waiting = self.waiting.lock();
        if waiting.len() >= MANY {
            make_room(&mut waiting);
        }
        if engine.watch(&socket, Tag::Stranger(number)).is_ok() {
            let knock = Knock::of_caller(socket, hca.token, SILENCE);
            let source = knock.source();
            waiting.push(Stranger { number, knock: Some(knock), guest: None, near, source, since: Instant::now() });
        }
        if self.until() == NEVER {
            self.until.store(now() + PROOF_TIME.as_nanos() as u64, Ordering::Relaxed);
            drop(waiting);
            engine.rouse_if_later_than(self.until());
        }
    }

    /// When [`Strangers::expire`] has something to do.
    pub fn until(&self) -> u64 {
        match self.until.load(Ordering::Relaxed) {
            0 => NEVER,
            until => until,
        }
    }

    /// Those go that have had all the time that there is.
    pub fn expire(&self) {
        let (until, time) = (self.until(), now());
        if time < until {
            return;
        }
        let mut waiting = self.waiting.lock();
        drop_those(&mut waiting, |stranger| stranger.since.elapsed() >= PROOF_TIME);
        let left = waiting.first().map(|oldest| PROOF_TIME.saturating_sub(oldest.since.elapsed()));
        self.until.store(left.map_or(0, |left| time + left.as_nanos() as u64), Ordering::Relaxed);
    }

    /// A stranger says something. `None`: none here has that number; `Some(None)`: nothing has come of it yet, or nothing will.
    pub fn listen(&self, number: u32) -> Option<Option<(Hello, Caller)>> {
        let mut waiting = self.waiting.lock();
        let at = waiting.iter().position(|stranger| stranger.number == number)?;
        let introduced = match waiting[at].step() {
            Ok(Step::Wait) => return Some(None),
            Ok(Step::Welcome) => introduce(waiting.remove(at)),
            Err(_) => {
                waiting.remove(at);
                None
            }
        };
        if introduced.is_none() {
            counters::NETWORK_STRANGERS.add(1);
        }
        Some(introduced)
    }
}

impl Stranger {
    /// Hears what it says. Never waits.
    ///
    /// Errors: it does not know the secret, or is gone.
    fn step(&mut self) -> Result<Step, Errno> {
        if let Some(knock) = &mut self.knock {
            let progress = knock.step().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            if progress == Progress::Proven {
                let proven = self.knock.take().and_then(Knock::into_proven).ok_or(Errno::ACCESS)?;
                let (socket, session) = (proven.socket, proven.session);
                self.guest = Some(Guest { socket, session, said: [0; HELLO], len: 0, rings: None });
            }
            // What it says then, if it has said it, is an event again.
            return Ok(Step::Wait);
        }
        let guest = self.guest.as_mut().ok_or(Errno::CONNRESET)?;
        let place = &mut guest.said[guest.len..];
        let heard = match self.near {
            true => near::hear(&guest.socket, place),
            false => recv(&guest.socket, place, RecvFlags::DONTWAIT).map(|(len, _)| (len, None)),
        };
        match heard {
            Ok((0, _)) => Err(Errno::CONNRESET),
            Ok((len, rings)) => {
                guest.len += len;
                guest.rings = guest.rings.take().or(rings);
                Ok(if guest.len < HELLO { Step::Wait } else { Step::Welcome })
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Step::Wait),
            Err(error) => Err(error),
        }
    }
}

/// Those go that have had their time; and if they are too many all the same, one of those that have most.
fn make_room(waiting: &mut Vec<Stranger>) {
    drop_those(waiting, |stranger| stranger.since.elapsed() >= TIME);
    if waiting.len() >= MOST
        && let Some(at) = gives_way(waiting.iter().map(|stranger| stranger.source))
    {
        waiting.remove(at);
        counters::NETWORK_STRANGERS.add(1);
    }
}

fn drop_those(waiting: &mut Vec<Stranger>, goes: impl Fn(&Stranger) -> bool) {
    let before = waiting.len();
    waiting.retain(|stranger| !goes(stranger));
    counters::NETWORK_STRANGERS.add((before - waiting.len()) as u64);
}

/// Whom it wants, and the connection; nothing if what it has said is none.
fn introduce(stranger: Stranger) -> Option<(Hello, Caller)> {
    let guest = stranger.guest?;
    let hello = Hello::open(&guest.session, &guest.said)?;
    let rings = guest.rings.and_then(|file| Rings::open(file).ok());
    if stranger.near && rings.is_none() {
        return None;
    }
    Some((hello, Caller { from: hello.from, socket: guest.socket, rings }))
}
