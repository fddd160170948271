//! Long messages by RDMA: the receiver reads from the sender's memory (RGET), or the sender writes to the receiver's
//! (RPUT). Layouts of blocks at a stride travel as they are ([`crate::pieces`]); which are too small for that go in
//! packets.
//!
//! Reads that the send queue has no room for wait here. Writes do not: what the sender says next must come after them.

use crate::Verbs;
use crate::pieces;
use crate::send::Posted;
use crate::token::Token;
use std::cell::RefCell;
use tern_counters as counters;
use tern_device::{Memory, Pull, Sink};
use tern_hca::{Data, Operation, Remote, Status};

/// Fewest bytes of a request, on average: below that it costs more than packing and packets.
const LEAST: u64 = 512;
/// Writes of one message at most.
const MOST_WRITES: usize = 1024;
/// Part of the send queue that reads may take.
const SHARE: u32 = 2;

/// A message on its way.
#[derive(Debug)]
struct Move {
    peer: u32,
    /// The request that is told of the end, and what it is.
    request: u32,
    fetched: bool,
    /// Requests whose completion is to come.
    flying: u32,
    /// Nobody wants to hear of it any more.
    failed: bool,
    /// What was not posted yet.
    rest: Option<Rest>,
}

/// Reads that are to be posted.
#[derive(Clone, Copy, Debug)]
struct Rest {
    own: Memory,
    key: u32,
    theirs: Memory,
    len: u64,
    done: u64,
}

/// The messages of this process that are on their way.
#[derive(Default)]
pub(crate) struct Moves {
    all: RefCell<Vec<Option<Move>>>,
    free: RefCell<Vec<u32>>,
    /// Those that found the send queue full.
    stalled: RefCell<Vec<u32>>,
}

impl Moves {
    fn insert(&self, it: Move) -> u32 {
        let mut all = self.all.borrow_mut();
        match self.free.borrow_mut().pop() {
            Some(at) => {
                all[at as usize] = Some(it);
                at
            }
            None => {
                all.push(Some(it));
                all.len() as u32 - 1
            }
        }
    }

    /// Does something to a message on its way.
    fn with<R>(&self, at: u32, act: impl FnOnce(&mut Move) -> R) -> R {
        act(self.all.borrow_mut()[at as usize].as_mut().expect("on its way"))
    }

    /// Forgets a message of which nothing is under way and nothing left, and returns it.
    fn end(&self, at: u32) -> Option<Move> {
        let entry = &mut self.all.borrow_mut()[at as usize];
        let over = entry.as_ref().is_some_and(|it| it.flying == 0 && it.rest.is_none());
        if !over {
            return None;
        }
        self.free.borrow_mut().push(at);
        entry.take()
    }

    /// Nothing of a peer is told any more.
    #[cold]
    pub fn lost(&self, peer: u32) {
        let all: Vec<u32> = (0..self.all.borrow().len() as u32).collect();
        for at in all {
            if let Some(it) = &mut self.all.borrow_mut()[at as usize]
                && it.peer == peer
            {
                (it.failed, it.rest) = (true, None);
            }
            self.end(at);
        }
        self.stalled.borrow_mut().retain(|&at| self.all.borrow()[at as usize].is_some());
    }
}

/// Whether requests between such memory are worth it.
fn pays(own: &Memory, theirs: &Memory, len: u64, gather: usize, most: usize) -> bool {
    let enough = (len / LEAST).max(1).min(most as u64) as usize;
    pieces::writes(own, theirs, len, gather, enough) <= enough
}

impl Verbs {
    /// [`tern_device::Direct::pull`].
    pub(crate) fn fetch(&self, peer: u32, source: &Memory, target: &Memory, receiver: u32) -> Pull {
        let len = source.len.min(target.len);
        let Some(key) = self.registered.local_key(target) else { return Pull::No };
        let possible = source.key as u32 != 0 && !source.is_opaque() && !target.is_opaque() && len > 0;
        if !possible || !pays(target, source, len, self.fabric.limits().gather as usize, usize::MAX) {
            return Pull::No;
        }
        counters::NETWORK_READ.add(1);
        counters::NETWORK_READ_BYTES.add(len);
        let rest = Some(Rest { own: *target, key, theirs: *source, len, done: 0 });
        let at = self.moves.insert(Move { peer, request: receiver, fetched: true, flying: 0, failed: false, rest });
        self.read_on(at);
        Pull::Pending
    }

    /// [`tern_device::Direct::push`].
    pub(crate) fn put(&self, peer: u32, source: &Memory, target: &Memory, sender: u32) -> Pull {
        let len = source.len.min(target.len);
        let Some(own) = self.registered.local_key(source) else { return Pull::No };
        let key = target.key as u32;
        let possible = key != 0 && !source.is_opaque() && !target.is_opaque() && len > 0;
        let gather = self.fabric.limits().gather as usize;
        if !possible || !pays(source, target, len, gather, MOST_WRITES) {
            return Pull::No;
        }
        counters::NETWORK_WRITTEN.add(1);
        counters::NETWORK_WRITTEN_BYTES.add(len);
        let it = Move { peer, request: sender, fetched: false, flying: 0, failed: false, rest: None };
        let at = self.moves.insert(it);
        pieces::each_write(source, target, 0, len, own, gather, |address, segments, _| {
            self.moves.with(at, |it| it.flying += 1);
            let write = Operation::Write(Remote { address, key });
            self.post_surely(peer, Token::Rendezvous { peer, value: at }, write, Data::Segments(segments), true);
            true
        });
        Pull::Pending
    }

    /// Posts reads of a message, as many as there is room for.
    fn read_on(&self, at: u32) {
        let (peer, Some(mut rest)) = self.moves.with(at, |it| (it.peer, it.rest)) else { return };
        let Rest { own, key, theirs, len, .. } = rest;
        let remote = theirs.key as u32;
        let limits = self.fabric.limits();
        let mut found = Posted::Done;
        let all = pieces::each_write(&own, &theirs, rest.done, len, key, limits.gather as usize, |address, segments, _| {
            if self.known(peer).is_some_and(|channel| channel.flying() >= limits.depth / SHARE) {
                found = Posted::Busy;
                return false;
            }
            let read = Operation::Read(Remote { address, key: remote });
            let token = Token::Rendezvous { peer, value: at };
            found = self.post(peer, token, read, Data::Segments(segments), true);
            if found == Posted::Done {
                rest.done += segments.iter().map(|segment| u64::from(segment.len)).sum::<u64>();
                self.moves.with(at, |it| it.flying += 1);
            }
            found == Posted::Done
        });
        self.moves.with(at, |it| {
            it.failed |= found == Posted::Lost;
            it.rest = (!all && !it.failed).then_some(rest);
        });
        if found == Posted::Busy {
            self.moves.stalled.borrow_mut().push(at);
        }
        if found == Posted::Lost {
            // The sink is told of the loss.
            self.moves.end(at);
        }
    }

    /// A read or a write has ended.
    pub(crate) fn moved(&self, at: u32, status: Status, sink: &mut dyn Sink) {
        self.moves.with(at, |it| {
            it.flying -= 1;
            if status != Status::Success {
                (it.failed, it.rest) = (true, None);
            }
        });
        match self.moves.end(at) {
            Some(Move { failed: true, .. }) | None => {}
            Some(Move { fetched: true, request, .. }) => sink.pulled(request),
            Some(Move { fetched: false, request, .. }) => sink.sent(request),
        }
    }

    /// Goes on with what found no room.
    #[inline]
    pub(crate) fn move_on(&self) {
        if self.moves.stalled.borrow().is_empty() {
            return;
        }
        for at in self.moves.stalled.take() {
            let lives = self.moves.all.borrow()[at as usize].is_some();
            if lives {
                self.read_on(at);
            }
        }
    }
}
