//! How queue pairs are connected when two processes first need each other.
//!
//! Each process listens on a socket, whose address all processes know. Who first sends to a peer calls it there and
//! waits for the answer, which a thread of the peer gives: its program need not be in the library. Both sides prove first that they
//! know the secret of the process that is called, and what they say then nobody else can read or change. What is said and
//! who wins when both call is the state machine in [`crate::handshake`]. The socket stays open as long as the
//! connection: its end tells that a process is gone, which an idle queue pair would not.

mod end;
mod line;
mod thread;
mod words;

use crate::fabric::Fabric;
use crate::handshake::{Answer, Event, State};
use crate::transport::Sending;
use end::End;
use line::Line;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tern_hca::Connection;
use tern_hca::descriptors::{self, Reserve};
use tern_node::random;
use tern_proof::{Knock, Token};
use tern_threads::{Condvar, Mutex, Thread};
use words::{Hello, Word};

pub use words::{Address, Terms};

/// A connection that may be used.
#[derive(Clone)]
pub struct Connected {
    pub sending: Sending,
    /// What the peer grants.
    pub terms: Terms,
}

/// A peer that somebody has called.
struct Peer {
    state: State,
    end: Option<End>,
    /// Once it is connected.
    sending: Option<Sending>,
    terms: Terms,
    /// It has sent all that it had to send.
    settled: bool,
    /// Why it is lost.
    why: String,
    /// It has ended as it should.
    left: bool,
}

impl Peer {
    fn new() -> Peer {
        Peer {
            state: State::Apart,
            end: None,
            sending: None,
            terms: Terms::default(),
            settled: false,
            why: String::new(),
            left: false,
        }
    }

    fn lose(&mut self, why: String) {
        (self.state, self.why) = (State::Lost, why);
        self.end.iter().for_each(End::give_up);
    }

    fn connected(&self) -> Option<Connected> {
        let sending = self.sending.clone().filter(|_| self.end.as_ref().is_some_and(End::is_connected))?;
        Some(Connected { sending, terms: self.terms })
    }
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
    /// Lines that the thread shall watch, and the peers at their other ends.
    watched: Mutex<Vec<(Line, u32)>>,
    /// Peers whose sockets the thread shall close.
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
    /// For the socket on which a peer is told that there is none for it.
    reserve: Reserve,
    over: AtomicBool,
}

/// The connections of a process.
pub struct Connections {
    shared: Arc<Shared>,
    address: Address,
    patience: Duration,
    thread: Option<Thread>,
}

impl Connections {
    /// Listens at `host` of `node`, and answers calls to process `me` from now on. `alarm` is written to when a peer is lost.
    ///
    /// Errors: no socket, descriptor or thread is left.
    pub fn listen(
        me: u32, (host, node): (IpAddr, u32), fabric: Fabric, terms: Terms, patience: Duration, alarm: Arc<OwnedFd>,
    ) -> io::Result<Connections> {
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
            watched: Mutex::default(),
            abandoned: Mutex::default(),
            losses: Mutex::default(),
            has_losses: AtomicBool::new(false),
            alarm,
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            settling: AtomicBool::new(false),
            reserve: Reserve::default(),
            over: AtomicBool::new(false),
        });
        let thread = thread::begin(shared.clone(), listener)?;
        Ok(Connections { shared, address, patience, thread: Some(thread) })
    }

    /// Where others call this process.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The connection to `peer`, which listens at `address`. Waits until it can be used.
    ///
    /// Errors: a sentence that says why it cannot be made.
    pub fn connect(&self, peer: u32, address: &Address) -> Result<Connected, String> {
        let begin = {
            let mut peers = self.shared.peers.lock();
            let entry = self.shared.entry(&mut peers, peer, address.node)?;
            let begin = entry.state == State::Apart;
            if begin {
                entry.state = State::Calling;
            }
            begin
        };
        if begin && let Err(why) = self.call(peer, address) {
            // Unless the peer's own call has come, which counts then.
            let mut peers = self.shared.peers.lock();
            if let Some(entry) = peers.get_mut(&peer).filter(|entry| entry.state == State::Calling) {
                entry.lose(why);
            }
        }
        self.wait(peer)
    }

    /// Calls a peer and hears its answer.
    fn call(&self, peer: u32, address: &Address) -> Result<(), String> {
        let at = SocketAddr::new(address.host, address.port);
        let failed = |what: &str, error: io::Error| format!("{what} {at}: {error}");
        let shared = &self.shared;
        let pair = shared.own_end(peer).ok_or("it has no queue pair")?;
        let hello = Word::Hello(Hello { node: shared.node, terms: shared.terms, pair });
        let call = || TcpStream::connect_timeout(&at, self.patience);
        let socket = match descriptors::obtain(call) {
            Ok(socket) => socket,
            Err(error) if descriptors::is_shortage(&error) => {
                let why = descriptors::shortage().unwrap_or_default();
                // The peer may wait for this process.
                if let Ok(socket) = shared.reserve.give_way(call) {
                    let met = self.meet(socket, address);
                    let _ = met.and_then(|mut line| line.say(&[hello, Word::Refused(why.clone())]));
                }
                shared.reserve.refill();
                return Err(why);
            }
            Err(error) => return Err(failed("it cannot be reached at", error)),
        };
        let mut line = self.meet(socket, address).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => format!("somebody else answers at {at}, who does not know its secret"),
            _ => failed("it does not answer at", error),
        })?;
        let talk = |line: &mut Line| -> io::Result<Word> {
            line.say(&[hello])?;
            line.wait(self.patience)
        };
        let answer = talk(&mut line).map_err(|error| failed("it does not answer at", error))?;
        if shared.hear(peer, &answer)? == Answer::Ready {
            line.say(&[Word::Ready]).map_err(|error| failed("it has gone at", error))?;
            shared.watched.lock().push((line, peer));
            shared.wake();
        }
        Ok(())
    }

    /// Both sides of a connection prove themselves.
    fn meet(&self, socket: TcpStream, address: &Address) -> io::Result<Line> {
        let _ = socket.set_nodelay(true);
        Line::new(Knock::over(socket.into(), address.token, self.shared.me, self.patience).wait()?)
    }

    /// Waits until the connection to a peer can be used.
    fn wait(&self, peer: u32) -> Result<Connected, String> {
        let end = Instant::now() + self.patience;
        let mut peers = self.shared.peers.lock();
        loop {
            let entry = peers.get_mut(&peer).ok_or("nobody has called it")?;
            match entry.state {
                State::Open => return entry.connected().ok_or_else(|| "the way to its node is not connected".into()),
                State::Lost => return Err(entry.why.clone()),
                _ => {}
            }
            if !self.shared.changed.wait_until(&mut peers, end) {
                return Err(format!("it did not answer within {} s", self.patience.as_secs()));
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

    /// True when no peer has anything to send any more, as far as they have said.
    pub fn all_have_settled(&self) -> bool {
        let peers = self.shared.peers.lock();
        peers.values().all(|peer| peer.settled || !matches!(peer.state, State::Open | State::Welcoming))
    }

    /// Says that the device has given a peer up. The peer learns of it by the end of its socket.
    pub fn give_up(&self, peer: u32, why: &str) {
        if let Some(entry) = self.shared.peers.lock().get_mut(&peer) {
            entry.lose(why.into());
        }
        self.shared.abandoned.lock().push(peer);
        self.shared.wake();
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

    /// Does what a word of a peer asks for, all but the answer.
    fn hear(&self, peer: u32, word: &Word) -> Result<Answer, String> {
        let (event, terms) = match word {
            Word::Hello(hello) => (Event::Hello, Some((hello.terms, &hello.pair))),
            Word::Welcome(terms, pair) => (Event::Welcome, Some((*terms, pair))),
            Word::Declined => (Event::Declined, None),
            Word::Refused(why) => {
                let why = format!("it refuses the connection: {why}");
                self.refused(peer, &why);
                return Err(why);
            }
            Word::Ready => (Event::Ready, None),
            Word::Bye | Word::Settled => {
                if let Some(entry) = self.peers.lock().get_mut(&peer) {
                    entry.settled = true;
                }
                return Ok(Answer::Nothing);
            }
        };
        let mut peers = self.peers.lock();
        let entry = match word {
            Word::Hello(hello) => self.entry(&mut peers, peer, hello.node)?,
            _ => peers.get_mut(&peer).ok_or("a word of a peer that nobody has called")?,
        };
        let (state, answer) = entry.state.after(event, self.me < peer);
        entry.state = state;
        if let (Answer::Welcome | Answer::Ready, Some((terms, address))) = (answer, terms) {
            entry.terms = terms;
            let end = entry.end.as_ref().expect("made with the entry");
            match end.connect(address, &self.connection) {
                Ok(sending) => entry.sending = Some(sending),
                Err(error) => {
                    let why = format!("its queue pair cannot be connected: {error}");
                    entry.lose(why.clone());
                    self.tell(peer, why.clone());
                    return Err(why);
                }
            }
        }
        self.changed.notify_all();
        Ok(answer)
    }

    /// A peer that called takes that back.
    fn refused(&self, peer: u32, why: &str) {
        let mut peers = self.peers.lock();
        if let Some(entry) = peers.get_mut(&peer).filter(|entry| entry.state == State::Welcoming) {
            entry.lose(why.into());
            self.tell(peer, why.into());
        }
    }

    /// A peer has called for which there is no descriptor.
    fn turn_away(&self, peer: u32, why: &str) {
        let mut peers = self.peers.lock();
        let entry = peers.entry(peer).or_insert_with(Peer::new);
        // A call of this side has an answer of its own.
        if entry.state == State::Apart {
            entry.lose(why.into());
            self.tell(peer, why.into());
        }
    }

    /// The socket to a peer has ended; `farewell`: after it has said so.
    fn end(&self, peer: u32, farewell: bool) {
        let mut peers = self.peers.lock();
        let Some(entry) = peers.get_mut(&peer) else { return };
        if !matches!(entry.state, State::Open | State::Welcoming) {
            return;
        }
        let why = if farewell { "it has ended" } else { "its process is gone, or the network to it" };
        (entry.state, entry.why, entry.left) = (State::Lost, why.into(), farewell);
        if farewell {
            self.changed.notify_all();
        } else {
            self.tell(peer, why.into());
        }
    }

    /// Tells the device, and whoever waits for a connection, that a peer is lost.
    fn tell(&self, peer: u32, why: String) {
        self.changed.notify_all();
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
