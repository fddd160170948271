//! The thread of the device: it makes connections, and writes what sockets took in part.
//!
//! The process and its thread meet in [`Shared`]. The process asks for connections and leaves outlets to be looked
//! after; the thread leaves what has come of that, and rings.

use crate::outlet::{Flushed, Outlet};
use crate::proof::{CHALLENGE, HELLO, Hello, Keys, Nonce, PROOF, VERDICT, random};
use crate::vigil::{Vigil, keep_alive};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tern_counters as counters;

/// How long a stranger may take to prove that it is none.
const PROOF_TIME: Duration = Duration::from_secs(10);
/// How long one address of a peer is tried.
const TRY_TIME: Duration = Duration::from_secs(3);
/// How long a peer is called in all.
const CALL_TIME: Duration = Duration::from_secs(30);
/// Between two calls.
const PAUSE: Duration = Duration::from_millis(200);
/// What a process that goes on calling the library writes by itself.
const NAP: Duration = Duration::from_millis(1);
/// Bytes that may wait for a connection: some packets.
const MOST_FIRST: usize = 256 << 10;
/// Callers that have not proven themselves yet, at a time.
const MOST_STRANGERS: usize = 256;

/// What the process and its thread share.
pub struct Shared {
    pub keys: Keys,
    pub peers: Vec<Vec<SocketAddr>>,
    state: Mutex<State>,
    /// Something stands in `state` for the process.
    news: AtomicBool,
    /// Wakes the thread.
    wake: OwnedFd,
    /// Wakes the process: readable from a ring until it is drained.
    pub bell: OwnedFd,
    /// How often it was rung.
    pub rung: AtomicU32,
    /// As [`crate::Settings::silence`].
    pub silence: Duration,
}

#[derive(Default)]
struct State {
    /// Peers to be called.
    wanted: Vec<u32>,
    /// Frames for peers that are being called.
    first: HashMap<u32, Vec<u8>>,
    /// Outlets in which something is left, or whose room is waited for: those that the thread has not seen, and all.
    outlets: Vec<Arc<Outlet>>,
    watched: Vec<Arc<Outlet>>,
    /// The process is about to sleep: it writes nothing by itself.
    hurry: bool,
    over: bool,
    /// Connections for the process.
    opened: Vec<(u32, Arc<Outlet>)>,
    /// Peers that could not be reached, and why.
    failed: Vec<(u32, String)>,
    /// Peers that there is a connection to, or was.
    known: HashSet<u32>,
    /// Peers that are being called.
    calling: HashSet<u32>,
}

/// What came of calls.
#[derive(Default)]
pub struct News {
    pub opened: Vec<(u32, Arc<Outlet>)>,
    pub failed: Vec<(u32, String)>,
}

impl Shared {
    pub fn new(keys: Keys, peers: Vec<Vec<SocketAddr>>, silence: Duration) -> std::io::Result<Shared> {
        let eventfd = || rustix::event::eventfd(0, EVENTFD);
        let (wake, bell) = (eventfd()?, eventfd()?);
        let news = AtomicBool::new(false);
        Ok(Shared { keys, peers, state: Mutex::default(), news, wake, bell, rung: AtomicU32::new(0), silence })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Wakes the process.
    pub fn ring(&self) {
        // Release: pairs with the acquire of who sleeps.
        self.rung.fetch_add(1, Ordering::Release);
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Asks for a connection, on which `frame` is to go first. False: there is a connection, or too much to go on it already.
    pub fn call(&self, peer: u32, frame: &[&[u8]]) -> bool {
        let mut state = self.state();
        if state.known.contains(&peer) {
            return false;
        }
        let first = state.first.entry(peer).or_default();
        if first.len() >= MOST_FIRST {
            return false;
        }
        frame.iter().for_each(|part| first.extend_from_slice(part));
        if state.calling.insert(peer) {
            state.wanted.push(peer);
            drop(state);
            self.wake();
        }
        true
    }

    /// Has the thread look after an outlet; with `hurry` at once.
    pub fn watch(&self, outlet: &Arc<Outlet>, hurry: bool) {
        let mut state = self.state();
        let fresh = !state.watched.iter().any(|other| Arc::ptr_eq(other, outlet));
        if fresh {
            state.watched.push(outlet.clone());
            state.outlets.push(outlet.clone());
        }
        state.hurry |= hurry;
        drop(state);
        if fresh || hurry {
            self.wake();
        }
    }

    /// What has happened since the last call, if anything.
    pub fn news(&self) -> Option<News> {
        // Acquire: pairs with the release in `tell`. A plain look first: most often there is nothing.
        if !self.news.load(Ordering::Relaxed) || !self.news.swap(false, Ordering::Acquire) {
            return None;
        }
        let mut state = self.state();
        Some(News { opened: std::mem::take(&mut state.opened), failed: std::mem::take(&mut state.failed) })
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.state().over = true;
        self.wake();
    }

    fn tell(&self) {
        // Release: pairs with the acquire in `news`.
        self.news.store(true, Ordering::Release);
        self.ring();
    }

    /// Gives a connection to the process, after what was to go on it first.
    fn open(&self, peer: u32, socket: OwnedFd) -> Arc<Outlet> {
        let mut state = self.state();
        let outlet = Arc::new(Outlet::new(socket, state.first.remove(&peer).unwrap_or_default()));
        if outlet.flush().is_ok_and(|flushed| !flushed.empty) {
            state.watched.push(outlet.clone());
            state.outlets.push(outlet.clone());
        }
        state.opened.push((peer, outlet.clone()));
        drop(state);
        self.tell();
        outlet
    }

    /// Looks after an outlet no more.
    fn unwatch(&self, outlet: &Arc<Outlet>) {
        let mut state = self.state();
        state.watched.retain(|other| !Arc::ptr_eq(other, outlet));
        drop(state);
        // Acquire: pairs with the release of a process that waits for room. It asks for that before it asks to be watched.
        if outlet.awaited.swap(false, Ordering::Acquire) {
            self.ring();
        }
    }
}

const EVENTFD: rustix::event::EventfdFlags =
    rustix::event::EventfdFlags::CLOEXEC.union(rustix::event::EventfdFlags::NONBLOCK);

/// A handshake, from either side.
struct Shake {
    socket: OwnedFd,
    stage: Stage,
    /// What has come of the next message.
    read: Vec<u8>,
    until: Instant,
}

enum Stage {
    /// A caller has not said who it is.
    Hello,
    /// A caller has been challenged.
    Challenged(Hello, Nonce),
    /// The connection of a call is being made.
    Connecting,
    /// A call has said hello.
    Greeted(Hello),
    /// A call has proven itself.
    Proven,
}

/// What a step of a handshake has come to.
enum Step {
    Wait,
    /// The caller is who it says.
    Caller(u32),
    /// The called side takes the call, or calls itself.
    Verdict(bool),
}

/// Why a handshake ends.
enum End {
    /// Of the network.
    Broken(Errno),
    /// Whoever it is, it does not belong to the job.
    Stranger,
}

impl From<Errno> for End {
    fn from(error: Errno) -> End {
        End::Broken(error)
    }
}

impl From<crate::proof::Stranger> for End {
    fn from(_: crate::proof::Stranger) -> End {
        End::Stranger
    }
}

impl Shake {
    fn new(socket: OwnedFd, stage: Stage, time: Duration) -> Shake {
        Shake { socket, stage, read: Vec::new(), until: Instant::now() + time }
    }

    fn events(&self) -> PollFlags {
        if matches!(self.stage, Stage::Connecting) { PollFlags::OUT } else { PollFlags::IN }
    }

    /// The next message, of `N` bytes; none of what is behind it is read.
    fn message<const N: usize>(&mut self) -> Result<Option<[u8; N]>, Errno> {
        let mut bytes = [0; N];
        let missing = N - self.read.len();
        match rustix::net::recv(&self.socket, &mut bytes[..missing], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => Err(Errno::CONNRESET),
            Ok((_, count)) => {
                self.read.extend_from_slice(&bytes[..count]);
                let whole = self.read.as_slice().try_into().ok();
                if whole.is_some() {
                    self.read.clear();
                }
                Ok(whole)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn say(&self, bytes: &[u8]) -> Result<(), Errno> {
        // A fresh socket has room for all of a handshake.
        let count = rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        if count == bytes.len() { Ok(()) } else { Err(Errno::NOBUFS) }
    }

    /// Goes on, as the socket is ready.
    fn step(&mut self, keys: &Keys, peer: u32) -> Result<Step, End> {
        match &self.stage {
            Stage::Hello => {
                let Some(hello) = self.message::<HELLO>()? else { return Ok(Step::Wait) };
                let (hello, nonce) = (keys.read_hello(&hello)?, random().map_err(|_| Errno::IO)?);
                self.say(&keys.challenge(&hello, &nonce))?;
                self.stage = Stage::Challenged(hello, nonce);
            }
            &Stage::Challenged(hello, nonce) => {
                let Some(proof) = self.message::<PROOF>()? else { return Ok(Step::Wait) };
                keys.check(&hello, &nonce, &proof)?;
                return Ok(Step::Caller(hello.from));
            }
            Stage::Connecting => {
                sockopt::socket_error(&self.socket)??;
                let hello = keys.hello(peer, random().map_err(|_| Errno::IO)?);
                match self.say(&hello.encode()) {
                    Ok(()) => self.stage = Stage::Greeted(hello),
                    // Not connected yet.
                    Err(Errno::AGAIN | Errno::NOTCONN) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            &Stage::Greeted(hello) => {
                let Some(challenge) = self.message::<CHALLENGE>()? else { return Ok(Step::Wait) };
                self.say(&keys.prove(&hello, &challenge)?)?;
                self.stage = Stage::Proven;
            }
            Stage::Proven => {
                let Some([verdict]) = self.message::<VERDICT>()? else { return Ok(Step::Wait) };
                return Ok(Step::Verdict(verdict == 1));
            }
        }
        Ok(Step::Wait)
    }
}

/// A peer that is being called.
struct Call {
    /// Which of its addresses is tried.
    at: usize,
    shake: Option<Shake>,
    /// When the next try begins, where none is under way.
    again: Instant,
    until: Instant,
    /// What came of each address, for the user.
    tried: Vec<String>,
}

/// What the thread knows.
pub struct Service {
    shared: Arc<Shared>,
    listener: OwnedFd,
    strangers: Vec<Shake>,
    calls: HashMap<u32, Call>,
    /// Outlets, and whether the process has had its time.
    outlets: Vec<(Arc<Outlet>, bool)>,
    vigil: Vigil,
}

impl Service {
    pub fn new(shared: Arc<Shared>, listener: OwnedFd) -> Service {
        let vigil = Vigil::new(shared.silence);
        Service { shared, listener, strangers: Vec::new(), calls: HashMap::new(), outlets: Vec::new(), vigil }
    }

    /// What the thread does, until it is stopped.
    pub fn run(mut self) {
        while self.take_orders() {
            self.begin_calls();
            let ready = self.wait();
            if ready.listener {
                self.accept();
            }
            self.hear_strangers();
            self.go_on_calling();
            self.write_outlets();
            self.vigil.look(Instant::now());
        }
    }

    /// False when it is over.
    fn take_orders(&mut self) -> bool {
        let mut state = self.shared.state();
        let now = Instant::now();
        for peer in std::mem::take(&mut state.wanted) {
            let call = Call { at: 0, shake: None, again: now, until: now + CALL_TIME, tried: Vec::new() };
            self.calls.insert(peer, call);
        }
        let hurry = std::mem::take(&mut state.hurry);
        self.outlets.extend(state.outlets.drain(..).map(|outlet| (outlet, false)));
        if hurry {
            self.outlets.iter_mut().for_each(|(_, due)| *due = true);
        }
        !state.over
    }

    /// Starts what is due, and gives up what has taken too long.
    fn begin_calls(&mut self) {
        let now = Instant::now();
        let shared = &self.shared;
        self.calls.retain(|&peer, call| {
            let mut state = shared.state();
            if state.known.contains(&peer) {
                // The peer was quicker.
                state.calling.remove(&peer);
                return false;
            }
            drop(state);
            if call.shake.is_none() && now >= call.until {
                shared.state().calling.remove(&peer);
                shared.state().failed.push((peer, call.why()));
                shared.tell();
                return false;
            }
            if call.shake.is_none() && now >= call.again {
                call.begin(&shared.peers[peer as usize], shared.silence);
            }
            true
        });
    }

    /// Waits until something is ready, or due.
    fn wait(&mut self) -> Ready {
        let mut fds = vec![PollFd::new(&self.shared.wake, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
        let mut until: Option<Instant> = None;
        let mut sooner = |at: Instant| until = Some(until.map_or(at, |until| until.min(at)));
        let calls = self.calls.values();
        for shake in self.strangers.iter().chain(calls.clone().filter_map(|call| call.shake.as_ref())) {
            fds.push(PollFd::new(&shake.socket, shake.events()));
            sooner(shake.until);
        }
        calls.filter(|call| call.shake.is_none()).for_each(|call| sooner(call.again.min(call.until)));
        for (outlet, due) in &self.outlets {
            if *due {
                fds.push(PollFd::new(&outlet.socket, PollFlags::OUT));
            } else {
                sooner(Instant::now() + NAP);
            }
        }
        self.vigil.due().into_iter().for_each(&mut sooner);
        let timeout = until.map(|until| {
            let time = until.saturating_duration_since(Instant::now()) + Duration::from_micros(1);
            Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos() as i64 }
        });
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return Ready { listener: false };
        }
        let ready = |at: usize| !fds[at].revents().is_empty();
        let (woken, listener) = (ready(0), ready(1));
        if woken {
            let _ = rustix::io::read(&self.shared.wake, &mut [0u8; 8]);
        }
        for (outlet, due) in &mut self.outlets {
            // A process that goes on writing needs no help.
            *due |= !outlet.was_touched();
        }
        Ready { listener }
    }

    fn accept(&mut self) {
        while let Ok(socket) = rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            if self.strangers.len() >= MOST_STRANGERS {
                counters::NETWORK_STRANGERS.add(1);
                continue;
            }
            let _ = prepare(&socket, self.shared.silence);
            self.strangers.push(Shake::new(socket, Stage::Hello, PROOF_TIME));
        }
    }

    fn hear_strangers(&mut self) {
        let now = Instant::now();
        for mut shake in std::mem::take(&mut self.strangers) {
            match shake.step(&self.shared.keys, 0) {
                Ok(Step::Caller(peer)) => self.decide(peer, shake),
                Ok(_) if now < shake.until => self.strangers.push(shake),
                Ok(_) | Err(_) => counters::NETWORK_STRANGERS.add(1),
            }
        }
    }

    /// Takes a proven caller, or tells it that this side calls, too: of two that call each other the call of the lower
    /// rank goes on.
    fn decide(&mut self, peer: u32, shake: Shake) {
        let mut state = self.shared.state();
        let own_goes_on = state.calling.contains(&peer) && self.shared.keys.me < peer;
        let taken = !own_goes_on && !state.known.contains(&peer);
        if shake.say(&[u8::from(taken)]).is_err() || !taken {
            return;
        }
        state.known.insert(peer);
        state.calling.remove(&peer);
        drop(state);
        self.calls.remove(&peer);
        self.vigil.watch(&self.shared.open(peer, shake.socket));
    }

    fn go_on_calling(&mut self) {
        let now = Instant::now();
        let mut opened = Vec::new();
        for (&peer, call) in &mut self.calls {
            let Some(shake) = &mut call.shake else { continue };
            match shake.step(&self.shared.keys, peer) {
                Ok(Step::Verdict(true)) => opened.push(peer),
                // Its own call comes.
                Ok(Step::Verdict(false)) => call.pause(),
                Ok(_) if now < shake.until => {}
                Ok(_) => call.next(&self.shared.peers[peer as usize], "no answer"),
                Err(End::Broken(error)) => {
                    let error = std::io::Error::from(error).to_string();
                    call.next(&self.shared.peers[peer as usize], &error);
                }
                Err(End::Stranger) => {
                    call.next(&self.shared.peers[peer as usize], "somebody else answers there");
                }
            }
        }
        for peer in opened {
            let call = self.calls.remove(&peer).expect("it was under way");
            let shake = call.shake.expect("it was under way");
            let mut state = self.shared.state();
            state.calling.remove(&peer);
            let fresh = state.known.insert(peer);
            drop(state);
            if fresh {
                self.vigil.watch(&self.shared.open(peer, shake.socket));
            }
        }
    }

    /// Writes what is left, where the process has not done so by itself.
    fn write_outlets(&mut self) {
        let shared = &self.shared;
        self.outlets.retain(|(outlet, due)| {
            if !due {
                return true;
            }
            // An end is seen by who reads.
            let (flushed, finished) = outlet.flush_for().unwrap_or((Flushed::EMPTY, false));
            if finished {
                shared.ring();
            }
            let room = flushed.empty && has_room(&outlet.socket);
            if room {
                shared.unwatch(outlet);
            }
            !room
        });
    }
}

struct Ready {
    listener: bool,
}

impl Call {
    /// Tries the next address.
    fn begin(&mut self, addresses: &[SocketAddr], silence: Duration) {
        let Some(&address) = addresses.get(self.at) else {
            self.until = Instant::now();
            return;
        };
        match connect(address, silence) {
            Ok(socket) => self.shake = Some(Shake::new(socket, Stage::Connecting, TRY_TIME)),
            Err(error) => self.next(addresses, &std::io::Error::from(error).to_string()),
        }
    }

    /// This address leads nowhere.
    fn next(&mut self, addresses: &[SocketAddr], why: &str) {
        if self.tried.len() < addresses.len() {
            self.tried.push(format!("{} ({why})", addresses[self.at]));
        }
        self.at = (self.at + 1) % addresses.len();
        if self.at == 0 { self.pause() } else { self.again_at(Instant::now()) }
    }

    fn pause(&mut self) {
        self.again_at(Instant::now() + PAUSE);
    }

    fn again_at(&mut self, at: Instant) {
        self.shake = None;
        self.again = at;
    }

    /// What to tell the user.
    fn why(&self) -> String {
        let tried = if self.tried.is_empty() { "it has no address".to_owned() } else { self.tried.join(", ") };
        format!(
            "it cannot be reached over TCP: {tried}; see whether a firewall is in the way (TERN_PORT_RANGE), or name the \
             interface (TERN_INTERFACE)"
        )
    }
}

fn connect(address: SocketAddr, silence: Duration) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    prepare(&socket, silence)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// Short packets leave at once, and a peer that vanishes is noticed.
fn prepare(socket: &OwnedFd, silence: Duration) -> Result<(), Errno> {
    sockopt::set_tcp_nodelay(socket, true)?;
    keep_alive(socket, silence)
}

fn has_room(socket: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT)], Some(&now)).is_ok_and(|ready| ready > 0)
}
