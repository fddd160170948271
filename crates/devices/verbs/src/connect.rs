//! How queue pairs are connected when two processes first need each other.
//!
//! Each process listens on a socket, whose address all processes know. Who first sends to a peer has its thread call it there and
//! waits for the answer, which a thread of the peer gives: its program need not be in the library. Both sides prove first that they
//! know the secret of the process that is called, and what they say then nobody else can read or change. What is said and
//! who wins when both call is the state machine in [`crate::handshake`]. The socket stays open as long as the
//! connection: its end tells that a process is gone, which an idle queue pair would not.
//!
//! A call for which somebody waits and which fails is a loss. A process that only waits for a peer has it called as well
//! ([`Connections::reach`]), and several such calls have to fail before the peer is lost.

mod call;
mod end;
mod line;
mod peer;
#[cfg(test)]
mod tests;
mod thread;
mod words;

use crate::fabric::Fabric;
use crate::handshake::{Answer, Event, State};
use crate::settings::Settings;
use crate::transport::Sending;
use call::Wanted;
use end::End;
use peer::Peer;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tern_hca::Connection;
use tern_hca::descriptors::Reserve;
use tern_node::random;
use tern_proof::Token;
use tern_threads::{Condvar, Mutex, Thread};
use words::{Hello, Word};

pub use words::{Address, Terms};

/// A host that the kernel has not heard of for so long is gone: the queue pairs notice sooner where something is under way.
const SILENCE: Duration = Duration::from_secs(600);
/// So many calls that no machine answers, one after the other, are a loss where nobody waits for the connection.
const UNANSWERED: u32 = 3;

/// A connection that may be used.
#[derive(Clone)]
pub struct Connected {
    pub sending: Sending,
    /// What the peer grants.
    pub terms: Terms,
}

/// What the thread and the device share.
struct Shared {
    me: u32,
    /// The secret of this process.
    token: Token,
    node: u32,
    fabric: Fabric,
    terms: Terms,
    connection: Connection,
    peers: Mutex<HashMap<u32, Peer>>,
    /// A state has changed.
    changed: Condvar,
    /// Peers that the thread shall call.
    wanted: Mutex<Vec<Wanted>>,
    /// Peers to which nothing more is said: the thread shall end its side of their sockets.
    abandoned: Mutex<Vec<u32>>,
    /// Peers that were lost, until the device takes notice.
    losses: Mutex<Vec<(u32, String)>>,
    has_losses: AtomicBool,
    /// Wakes the device when it sleeps.
    alarm: Arc<OwnedFd>,
    /// Wakes the thread.
    wake: OwnedFd,
    /// Peers are to be told that this process has sent all.
    settling: AtomicBool,
    /// Peers are to be told that this process ends; and they have been.
    parting: AtomicBool,
    parted: AtomicBool,
    /// For the socket on which a peer is told that there is none for it.
    reserve: Reserve,
    /// [`Settings::silence`] and [`Settings::patience`].
    silence: Duration,
    patience: Duration,
    over: AtomicBool,
}

/// The connections of a process.
pub struct Connections {
    shared: Arc<Shared>,
    address: Address,
    thread: Option<Thread>,
}

impl Connections {
    /// Listens at `host`, and answers calls to process `me` from now on. `alarm` is written to when a peer is lost.
    ///
    /// Errors: no socket, descriptor or thread is left.
    pub fn listen(
        me: u32, host: IpAddr, settings: &Settings, fabric: Fabric, terms: Terms, alarm: Arc<OwnedFd>,
    ) -> io::Result<Connections> {
        let (node, silence, patience) = (settings.node, settings.silence, settings.patience);
        let listener = TcpListener::bind((host, 0))?;
        let (port, transport) = (listener.local_addr()?.port(), fabric.transport());
        let address = Address { host, port, token: random()?, node, transport };
        let shared = Arc::new(Shared {
            me,
            token: address.token,
            node,
            fabric,
            terms,
            connection: Connection::default(),
            peers: Mutex::default(),
            changed: Condvar::new(),
            wanted: Mutex::default(),
            abandoned: Mutex::default(),
            losses: Mutex::default(),
            has_losses: AtomicBool::new(false),
            alarm,
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            settling: AtomicBool::new(false),
            parting: AtomicBool::new(false),
            parted: AtomicBool::new(false),
            reserve: Reserve::default(),
            silence,
            patience,
            over: AtomicBool::new(false),
        });
        let thread = thread::begin(shared.clone(), listener)?;
        Ok(Connections { shared, address, thread: Some(thread) })
    }

    /// Where others call this process.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The connection to `peer`, which listens at `address`. Waits until it can be used.
    ///
    /// Errors: a sentence that says why it cannot be made.
    pub fn connect(&self, peer: u32, address: &Address) -> Result<Connected, String> {
        self.shared.want(peer, address, true);
        self.wait(peer)
    }

    /// Finds out whether `peer`, which listens at `address`, can be reached. What it has sent may need a connection that this process
    /// makes.
    pub fn reach(&self, peer: u32, address: &Address) {
        self.shared.want(peer, address, false);
    }

    /// Waits until the connection to a peer can be used.
    fn wait(&self, peer: u32) -> Result<Connected, String> {
        // The thread knows sooner what has become of its own call. A call of the peer's may never come.
        let time = self.shared.silence + 2 * self.shared.patience;
        let end = Instant::now() + time;
        let mut peers = self.shared.peers.lock();
        loop {
            let entry = peers.get_mut(&peer).ok_or("nobody has called it")?;
            match entry.state {
                State::Lost => return Err(entry.why.clone()),
                // The way to its node may wait for another process there.
                State::Open => {
                    if let Some(connected) = entry.connected() {
                        return Ok(connected);
                    }
                }
                _ => {}
            }
            if !self.shared.changed.wait_until(&mut peers, end) {
                let why = format!("it did not answer within {} s", time.as_secs());
                if let Some(entry) = peers.get_mut(&peer) {
                    // A call that comes later is refused: nothing is taken from a peer that is lost.
                    entry.lose(why.clone());
                    self.shared.abandon(peer);
                }
                return Err(why);
            }
        }
    }

    /// The connection to a peer from which something has come, so that it can be used, whether or not it
    /// has said so here.
    pub fn accepted(&self, peer: u32) -> Option<Connected> {
        let mut peers = self.shared.peers.lock();
        let entry = peers.get_mut(&peer)?;
        if entry.state == State::Welcoming {
            entry.state = State::Open;
        }
        entry.connected()
    }

    /// The next peer that was lost, and why.
    #[inline]
    pub fn next_loss(&self) -> Option<(u32, String)> {
        // Relaxed: the lock orders what is behind it; a loss that is seen late is seen at the next look.
        if !self.shared.has_losses.load(Ordering::Relaxed) {
            return None;
        }
        let mut losses = self.shared.losses.lock();
        let loss = losses.pop();
        self.shared.has_losses.store(!losses.is_empty(), Ordering::Relaxed);
        loss
    }

    /// True when a peer has ended as it should; waits a little for its word or its end.
    pub fn has_left(&self, peer: u32, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        let mut peers = self.shared.peers.lock();
        loop {
            match peers.get(&peer) {
                Some(entry) if entry.state == State::Lost => return entry.left,
                None => return false,
                _ => {}
            }
            if !self.shared.changed.wait_until(&mut peers, end) {
                return false;
            }
        }
    }

    /// Tells all peers that this process has sent what it had to send.
    pub fn settle(&self) {
        self.shared.settling.store(true, Ordering::SeqCst);
        self.shared.wake();
    }

    /// Tells all connected peers that the end of this process will be no loss. Returns when that has left it, or after a second.
    pub fn say_farewell(&self) {
        // SeqCst: pairs with the swap of the thread, and the load below with its store.
        self.shared.parting.store(true, Ordering::SeqCst);
        self.shared.wake();
        let end = Instant::now() + Duration::from_secs(1);
        while !self.shared.parted.load(Ordering::SeqCst) && Instant::now() < end {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// True when no peer has anything to send any more, as far as they have said.
    pub fn all_have_settled(&self) -> bool {
        let peers = self.shared.peers.lock();
        peers.values().all(|peer| peer.settled || !matches!(peer.state, State::Open | State::Welcoming))
    }

    /// Whether a peer that was given up knows of it, or is gone; waits for that until `end` at most.
    pub fn knows_of_the_end(&self, peer: u32, end: Instant) -> bool {
        let mut peers = self.shared.peers.lock();
        loop {
            if peers.get(&peer).is_some_and(|entry| entry.line_ended) {
                return true;
            }
            if !self.shared.changed.wait_until(&mut peers, end) {
                return false;
            }
        }
    }

    /// Says that the device has given a peer up. The peer learns of it by the end of its socket.
    pub fn give_up(&self, peer: u32, why: &str) {
        if let Some(entry) = self.shared.peers.lock().get_mut(&peer) {
            entry.lose(why.into());
        }
        self.shared.abandon(peer);
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

impl Shared {
    /// Has the thread call a peer, unless that is under way or done. `needed`: the program waits for the connection.
    fn want(&self, peer: u32, address: &Address, needed: bool) {
        let mut peers = self.peers.lock();
        let entry = peers.entry(peer).or_insert_with(Peer::new);
        entry.is_needed |= needed;
        if entry.state == State::Apart {
            entry.state = State::Knocking;
            let until = Instant::now() + self.patience;
            self.wanted.lock().push(Wanted { peer, address: *address, until });
            self.wake();
        }
    }

    /// The first word to a peer on `node` that was called and has proven itself. `None`: its own call has come, or it is lost.
    ///
    /// Errors: there is no queue pair for it.
    fn hello(&self, peer: u32, node: u32) -> Result<Option<Word>, String> {
        let mut peers = self.peers.lock();
        if peers.get(&peer).is_none_or(|entry| entry.state != State::Knocking) {
            return Ok(None);
        }
        let entry = self.entry(&mut peers, peer, node)?;
        (entry.state, entry.line_ended) = (State::Calling, false);
        let pair = entry.end.as_ref().expect("made with the entry").address();
        Ok(Some(Word::Hello(Hello { node: self.node, terms: self.terms, pair })))
    }

    /// A call has come to nothing before it said hello. `answered`: a machine has answered, or this process is at fault.
    fn call_failed(&self, peer: u32, why: String, answered: bool) {
        let mut peers = self.peers.lock();
        // Unless the peer's own call has come, which counts then.
        let Some(entry) = peers.get_mut(&peer).filter(|entry| entry.state == State::Knocking) else { return };
        entry.state = State::Apart;
        entry.unanswered = if answered { 0 } else { entry.unanswered + 1 };
        if entry.is_needed || entry.unanswered >= UNANSWERED {
            entry.lose(why.clone());
            self.tell(peer, why);
        }
    }

    /// A peer that was told hello does not answer as it should.
    fn unanswered(&self, peer: u32, why: String) {
        let mut peers = self.peers.lock();
        if let Some(entry) = peers.get_mut(&peer).filter(|entry| entry.state == State::Calling) {
            entry.lose(why.clone());
            self.tell(peer, why);
        }
    }

    /// What is known of a peer on `node`, with an end towards it.
    fn entry<'a>(&self, peers: &'a mut HashMap<u32, Peer>, peer: u32, node: u32) -> Result<&'a mut Peer, String> {
        let entry = peers.entry(peer).or_insert_with(Peer::new);
        if entry.end.is_none() {
            let end = End::new(&self.fabric, node);
            entry.end = Some(end.map_err(|error| format!("no queue pair can be made for it: {error}"))?);
        }
        Ok(entry)
    }

    /// The address of the end towards a peer.
    fn own_end(&self, peer: u32) -> Option<Vec<u8>> {
        self.peers.lock().get(&peer)?.end.as_ref().map(End::address)
    }

    /// Does what a word of a peer asks for, all but the answer. `own`: it is said on a call of this process.
    ///
    /// Errors: why the call is refused.
    fn hear(&self, peer: u32, own: bool, word: &Word) -> Result<Answer, String> {
        let event = match word {
            Word::Hello(_) => Event::Hello,
            Word::Welcome(..) => Event::Welcome,
            Word::Declined => Event::Declined,
            Word::Refused(_) if own => Event::Refused,
            Word::Refused(_) => Event::Withdrawn,
            Word::Ready => Event::Ready,
            Word::Bye | Word::Settled => {
                if let Some(entry) = self.peers.lock().get_mut(&peer) {
                    entry.settled = true;
                }
                return Ok(Answer::Nothing);
            }
        };
        let mut peers = self.peers.lock();
        let entry = match word {
            Word::Hello(hello) => match self.entry(&mut peers, peer, hello.node) {
                Ok(entry) => entry,
                Err(why) => {
                    drop(peers);
                    return self.turn_away(peer, &why);
                }
            },
            _ => peers.get_mut(&peer).ok_or("a word of a peer that nobody has called")?,
        };
        let answer = entry.happens(event, self.me < peer);
        match (answer, word) {
            (Answer::Refuse, _) => return Err(entry.given_up()),
            (Answer::Lose, Word::Refused(why)) => {
                let why = format!("it refuses the connection: {why}");
                entry.lose(why.clone());
                self.tell(peer, why);
            }
            (Answer::Welcome, Word::Hello(Hello { terms, pair, .. })) | (Answer::Ready, Word::Welcome(terms, pair)) => {
                if let Err(error) = entry.connect(*terms, pair, own, &self.connection) {
                    let why = format!("its queue pair cannot be connected: {error}");
                    entry.lose(why.clone());
                    self.tell(peer, why.clone());
                    return Err(why);
                }
            }
            _ => {}
        }
        self.changed.notify_all();
        Ok(answer)
    }

    /// A peer has called for which something is missing here. What to answer, unless the call counts: then the peer is lost.
    ///
    /// Errors: why the call is refused.
    fn turn_away(&self, peer: u32, why: &str) -> Result<Answer, String> {
        let mut peers = self.peers.lock();
        let entry = peers.entry(peer).or_insert_with(Peer::new);
        if entry.state == State::Lost {
            return Err(entry.given_up());
        }
        let answer = entry.happens(Event::VainHello, self.me < peer);
        if answer != Answer::Refuse {
            return Ok(answer);
        }
        entry.lose(why.into());
        self.tell(peer, why.into());
        Err(why.into())
    }

    /// The socket of a call has ended, of an `own` one of this process; `farewell`: after the peer has said so.
    fn end(&self, peer: u32, own: bool, farewell: bool) {
        let mut peers = self.peers.lock();
        let Some(entry) = peers.get_mut(&peer) else { return };
        if matches!(entry.state, State::Open | State::Welcoming) && entry.is_caller != own {
            // The call does not count.
            return;
        }
        entry.line_ended = true;
        let why = if farewell { "it has ended" } else { "its process is gone, or the network to it" };
        match entry.state {
            State::Open | State::Welcoming => {}
            // It ends as it should, and nobody here wants to send it anything.
            State::Calling if farewell && !entry.is_needed => {
                entry.state = State::Apart;
                return entry.end.take().iter().for_each(End::give_up);
            }
            State::Calling => {
                entry.lose(why.into());
                return self.tell(peer, why.into());
            }
            State::Apart | State::Knocking | State::Expecting | State::Lost => return self.changed.notify_all(),
        }
        (entry.state, entry.why, entry.left) = (State::Lost, why.into(), farewell);
        if farewell {
            self.changed.notify_all();
        } else {
            self.tell(peer, why.into());
        }
    }

    /// Has the thread end its side of the sockets to a peer that is lost.
    fn abandon(&self, peer: u32) {
        self.abandoned.lock().push(peer);
        self.wake();
    }

    /// Tells the device, whoever waits for a connection, and the peer, that it is lost.
    fn tell(&self, peer: u32, why: String) {
        self.changed.notify_all();
        self.abandon(peer);
        self.losses.lock().push((peer, why));
        // Relaxed: as in `next_loss`.
        self.has_losses.store(true, Ordering::Relaxed);
        ring(&self.alarm);
    }

    fn wake(&self) {
        ring(&self.wake);
    }
}

/// Makes an event descriptor readable.
pub fn ring(descriptor: &OwnedFd) {
    // It cannot fail but by being full, and then it is readable.
    let _ = rustix::io::write(descriptor, &1u64.to_ne_bytes());
}

/// Makes it unreadable.
pub fn quiet(descriptor: &OwnedFd) {
    let _ = rustix::io::read(descriptor, &mut [0; 8]);
}
