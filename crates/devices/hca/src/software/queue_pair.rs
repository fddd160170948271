//! Queue pairs of the software HCA: what belongs to one, and how it fails. The modules below post and move.
//!
//! A queue pair has a connection of its own, and one lock for all that belongs to it. Locks of completion queues, receive queues and
//! the table of regions are taken inside of that one, and nothing inside of those.

mod calling;
mod connect;
mod handle;
mod incoming;
mod near;
mod outgoing;
mod reach;
mod requester;
mod target;

use super::address::Address;
use super::clock::NEVER;
use super::completion::Queue;
use super::engine::{News, Reach, Traffic};
use super::hello::Caller;
use super::receives::{Receive, Receives, XrcShared};
use super::rings::Rings;
use super::shared::Shared;
use super::window::{self, Window};
use crate::{
    Completion, Connection, Data, Error, Event, Limits, Opcode, Operation, Result, Segment, SendRequest, State, Status,
};
use calling::Calling;
pub use handle::QueuePair;
use incoming::Incoming;
use outgoing::Outgoing;
use reach::Group;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use target::Target;
use tern_threads::Mutex;

/// Bytes of one message at most.
pub const MESSAGE: u32 = 1 << 30;

/// Where sends of the peer find receives.
pub enum Source {
    Own(Arc<Receives>),
    Shared(Arc<Receives>),
    /// The end of an XRC connection that receives: a send says where.
    Xrc(Arc<XrcShared>),
    /// The end that sends.
    Initiator,
}

/// A request that is not complete.
#[derive(Default)]
pub struct Work {
    id: u64,
    operation: Option<Operation>,
    signaled: bool,
    fence: bool,
    receive_queue: u32,
    /// Its place in the order of the group.
    ticket: u64,
    segments: Vec<Segment>,
    inline: Option<Vec<u8>>,
    total: u32,
    /// Bytes of the answer that have come.
    answered: u32,
}

impl Work {
    fn operation(&self) -> Operation {
        self.operation.expect("work that was posted has an operation")
    }

    fn fill(&mut self, request: &SendRequest<'_>) {
        self.id = request.id;
        self.operation = Some(request.operation);
        self.signaled = request.flags.signaled;
        self.fence = request.flags.fence;
        self.receive_queue = request.receive_queue;
        self.answered = 0;
        self.segments.clear();
        match request.data {
            Data::Segments(segments) => {
                self.segments.extend_from_slice(segments);
                self.inline = None;
                self.total = segments.iter().map(|segment| segment.len).sum();
            }
            Data::Inline(parts) => {
                let bytes = self.inline.get_or_insert_default();
                bytes.clear();
                parts.iter().for_each(|part| bytes.extend_from_slice(part));
                self.total = bytes.len() as u32;
            }
        }
    }
}

impl window::Request for Work {
    fn answers(&self) -> bool {
        self.operation().answers()
    }
    fn fence(&self) -> bool {
        self.fence
    }
}

const INITIALIZED: u8 = 0;
const READY: u8 = 1;
const FAILED: u8 = 2;

pub struct Pair {
    pub number: u32,
    hca: Arc<Shared>,
    domain: u32,
    send: Option<Arc<Queue>>,
    receive: Option<Arc<Queue>>,
    source: Source,
    limits: Limits,
    /// Slots of the send queue in use.
    used: Arc<AtomicU32>,
    /// Written under the lock of `inner`.
    phase: AtomicU8,
    /// Of an XRC initiator: what it shares with its other connections.
    group: Option<Arc<Group>>,
    /// What goes to a peer of this machine goes through these.
    rings: OnceLock<Rings>,
    /// It has, or had, a connection through a socket.
    far: AtomicBool,
    /// For those who look at rings without the lock: they are in use; the next frame is left alone until then.
    open: AtomicBool,
    hold: AtomicU64,
    /// The port that it is on.
    port: AtomicU8,
    inner: Mutex<Inner>,
}

/// What moves.
pub struct Inner {
    connection: Connection,
    peer: Option<Address>,
    /// A connection that this side makes.
    calling: Option<Box<Calling>>,
    socket: Option<OwnedFd>,
    /// The same when nothing goes through it any more, and the peer is not to hear of that.
    severed: Option<OwnedFd>,
    /// A connection that came before this side was connected.
    parked: Option<Caller>,
    /// Both ends know each other.
    attached: bool,
    /// When it is looked whether the peer has answered, if something waits for it.
    patience: u64,
    readable: bool,
    writable: bool,
    /// The peer sends no more: what it has sent is read to its end.
    ended: bool,
    window: Window<Work>,
    /// Work that was used, whose lists are used again.
    spare: Vec<Work>,
    /// Requests that completed since the last completion.
    silent: u32,
    outgoing: Outgoing,
    incoming: Incoming,
    target: Target,
    /// The peer is not ready until then, and has said so that often.
    not_ready_until: u64,
    not_ready: u8,
    /// What the peer has executed, as far as it has said.
    executed: u64,
    /// The connection has ended, which nobody has been told by a completion.
    lost: Option<String>,
    reason: Option<String>,
    /// It stands in the engine's lists already.
    owing: bool,
    going_on: bool,
}

impl Default for Inner {
    fn default() -> Inner {
        Inner {
            connection: Connection::default(),
            peer: None,
            calling: None,
            socket: None,
            severed: None,
            parked: None,
            attached: false,
            patience: NEVER,
            readable: false,
            writable: false,
            ended: false,
            window: Window::new(),
            spare: Vec::new(),
            silent: 0,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            target: Target::default(),
            not_ready_until: 0,
            not_ready: 0,
            executed: 0,
            lost: None,
            reason: None,
            owing: false,
            going_on: false,
        }
    }
}

impl Pair {
    fn phase(&self) -> u8 {
        self.phase.load(Ordering::Relaxed)
    }

    fn port(&self) -> u8 {
        self.port.load(Ordering::Relaxed)
    }

    /// Which connection, and whose, for messages.
    fn name(&self, inner: &Inner) -> String {
        match &inner.peer {
            Some(peer) => format!("queue pair {} to {} at {}", self.number, peer.number, peer.socket),
            None => format!("queue pair {}", self.number),
        }
    }

    /// Goes to error: completes the request with that number, or the first that is not done, with `status`, and
    /// all others as flushed. `linger` leaves the connection until what is queued for the peer has gone.
    fn fail(&self, inner: &mut Inner, number: Option<u64>, status: Status, why: &str, linger: bool) {
        if self.phase() == FAILED {
            return;
        }
        self.phase.store(FAILED, Ordering::Relaxed);
        let why = format!("{}: {why}", self.name(inner));
        let mut told = false;
        while let Some((this, work, done)) = inner.window.take() {
            let status = match number {
                _ if done => Status::Success,
                Some(number) if number != this => Status::Flushed,
                _ if told => Status::Flushed,
                _ => {
                    told = true;
                    status
                }
            };
            self.complete(inner, work, status);
        }
        if let Some(receive) = inner.target.interrupted() {
            self.complete_receive(&receive.source, receive.receive, Status::Flushed, 0, None, false);
        }
        if let Source::Own(receives) = &self.source {
            while let Some(receive) = receives.take() {
                self.complete_receive(receives, receive, Status::Flushed, 0, None, false);
            }
        }
        if !told && number != Some(u64::MAX) {
            self.hca.tell(Event::QueuePairError { queue_pair: self.number, why: why.clone() });
        }
        if let Some(group) = &self.group {
            group.fail(self.hca.engine(), &why);
        }
        inner.reason = Some(why);
        if !linger || !inner.outgoing.keep_words() {
            self.close(inner);
            inner.outgoing.clear();
        }
    }

    /// Nothing comes or goes any more.
    fn close(&self, inner: &mut Inner) -> Option<OwnedFd> {
        self.open.store(false, Ordering::Relaxed);
        inner.calling = None;
        inner.socket.take()
    }

    /// Completes a request, if anybody wants to know.
    fn complete(&self, inner: &mut Inner, mut work: Work, status: Status) {
        if let Some(queue) = &self.send {
            let wanted = work.signaled || status != Status::Success;
            let completion = wanted.then(|| self.completion(&work, status));
            inner.silent += 1;
            match (&self.group, completion) {
                (Some(group), completion) => group.done(work.ticket, completion, queue, &self.used),
                (None, Some(completion)) => {
                    let slots = std::mem::take(&mut inner.silent);
                    queue.push(completion, Some((self.used.clone(), slots)));
                }
                (None, None) => {}
            }
        }
        work.operation = None;
        inner.spare.push(work);
    }

    fn completion(&self, work: &Work, status: Status) -> Completion {
        let opcode = match work.operation() {
            Operation::Send | Operation::SendWithImmediate(_) => Opcode::Send,
            Operation::Write(_) | Operation::WriteWithImmediate(..) => Opcode::Write,
            Operation::Read(_) => Opcode::Read,
            Operation::FetchAdd(..) => Opcode::FetchAdd,
            Operation::CompareSwap { .. } => Opcode::CompareSwap,
        };
        let answered = work.operation().answers();
        Completion {
            id: work.id,
            status,
            opcode,
            len: if answered { work.total } else { 0 },
            immediate: None,
            queue_pair: self.group.as_ref().map_or(self.number, |group| group.number),
        }
    }

    fn complete_receive(
        &self, source: &Arc<Receives>, receive: Receive, status: Status, len: u32, immediate: Option<u32>, write: bool,
    ) {
        if let Some(queue) = source.completions().or(self.receive.as_ref()) {
            let opcode = if write { Opcode::ReceiveWrite } else { Opcode::Receive };
            let id = receive.id;
            let completion = Completion { id, status, opcode, len, immediate, queue_pair: self.number };
            queue.push(completion, None);
        }
        source.recycle(receive);
    }

    /// Fails with the other connections of its group.
    fn join_failure(&self, inner: &mut Inner) {
        if let Some(group) = &self.group
            && group.failed()
            && self.phase() != FAILED
        {
            self.fail(inner, Some(u64::MAX), Status::Flushed, "its queue pair has failed", false);
        }
    }
}

impl Traffic for Pair {
    fn number(&self) -> u32 {
        self.number
    }

    fn reach(&self) -> Reach {
        Pair::reach(self)
    }

    #[inline]
    fn near_news(&self) -> Option<News> {
        Pair::near_news(self)
    }

    fn sleep(&self) {
        Pair::sleep(self);
    }

    fn awake(&self) {
        Pair::awake(self);
    }

    fn visit(self: Arc<Pair>, news: News, engine: bool) {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        inner.going_on = false;
        inner.readable |= news.readable;
        inner.writable |= news.writable;
        inner.ended |= news.ended;
        self.join_failure(inner);
        if news.rung {
            self.hush(inner);
        }
        self.push_out(inner);
        let more = self.take_in(inner);
        self.push_out(inner);
        self.look_at_patience(inner);
        if more && !std::mem::replace(&mut inner.going_on, true) {
            self.hca.engine().go_on(self.clone());
        }
        if inner.target.owes() && !engine {
            // A thread that polls most often sends something soon, and the acknowledgement with it.
            if !std::mem::replace(&mut inner.owing, true) {
                self.hca.engine().owe(self.clone());
            }
        } else {
            self.acknowledge(inner);
        }
    }

    fn go_on_calling(self: Arc<Pair>, engine: bool) {
        Pair::go_on_calling(&self, engine);
    }

    fn visitor(self: Arc<Pair>, caller: Caller) {
        Pair::visitor(&self, caller);
    }

    fn pay(&self) {
        let inner = &mut *self.inner.lock();
        inner.owing = false;
        self.acknowledge(inner);
    }
}
