//! Long messages by RDMA: the receiver reads from the sender's memory (RGET), or the sender writes to the receiver's
//! (RPUT). Layouts of blocks at a stride travel as they are ([`crate::pieces`]); which are too small for that go in
//! packets.
//!
//! With several ports ([`crate::ports`]) a message is cut into stripes. If one of them fails with its port, the whole message goes
//! again over the channel: reads and writes may be repeated, since both memories stay as they are until all is over. Writes wait
//! until the peer is told, or what is under way there could land when all is over.
//!
//! Reads that the send queue has no room for wait here. Writes do not: what the sender says next must come after them.

use crate::channels::{Channels, Posted};
use crate::pieces;
use crate::ports::{MOST, Ports};
use crate::token::Token;
use crate::tuple_message::Message;
use std::cell::RefCell;
use tern_counters as counters;
use tern_device::runs::{FEWEST, LONGEST};
use tern_device::{Memory, Pull};
use tern_hca::{Data, Operation, Remote, Segment, Status};

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
    /// What was not posted yet, of reads.
    rest: Option<Rest>,
    /// All of it, for the case that it must go again.
    all: Rest,
    /// Bytes of a stripe, if several ports carry it.
    stripe: Option<u64>,
    /// Ports with which a stripe has failed, a bit for each.
    broken: u8,
    /// Bytes that ports carry of it.
    parts: [u64; MOST],
    /// What the receiver is told when all has landed, if its receive was published.
    filled: Option<Message>,
}

/// A message that has been moved.
#[derive(Debug)]
pub(crate) struct Moved {
    pub peer: u32,
    /// The request that is told, and what it is.
    pub request: u32,
    pub fetched: bool,
    /// What the peer is told first.
    pub filled: Option<Message>,
}

/// Requests that are to be posted.
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
    pub ports: Ports,
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

    /// A request of so many bytes was posted on a port.
    fn posted(&self, at: u32, port: usize, bytes: u64) {
        self.with(at, |it| {
            it.flying += 1;
            it.parts[port] += bytes;
        });
        self.ports.load(port, bytes);
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
                self.ports.unload(&std::mem::take(&mut it.parts));
            }
            self.end(at);
        }
        self.stalled.borrow_mut().retain(|&at| self.all.borrow()[at as usize].is_some());
    }
}

/// Whether requests between such memory are worth it.
fn pays(own: &Memory, theirs: &Memory, len: u64, gather: usize, most: usize) -> bool {
    let enough = (len / FEWEST).max(1).min(most as u64) as usize;
    pieces::writes(own, theirs, len, gather, enough) <= enough
}

fn bytes(segments: &[Segment]) -> u64 {
    segments.iter().map(|segment| u64::from(segment.len)).sum()
}

impl Moves {
    /// [`tern_device::SingleCopy::pull`].
    pub(crate) fn fetch(
        &self, channels: &Channels, peer: u32, source: &Memory, target: &Memory, receiver: u32,
    ) -> Pull {
        let len = source.len.min(target.len);
        let Some(key) = channels.registered.local_key(target) else { return Pull::No };
        let possible = source.key as u32 != 0 && !source.is_opaque() && !target.is_opaque() && len > 0;
        if !possible || !pays(target, source, len, channels.fabric.limits().gather as usize, usize::MAX) {
            return Pull::No;
        }
        counters::NETWORK_READ.add(1);
        counters::NETWORK_READ_BYTES.add(len);
        let all = Rest { own: *target, key, theirs: *source, len, done: 0 };
        let at = self.begin_move(channels, peer, receiver, true, all);
        self.read_on(channels, at);
        Pull::Pending
    }

    /// [`tern_device::SingleCopy::push`].
    pub(crate) fn put(&self, channels: &Channels, peer: u32, source: &Memory, target: &Memory, sender: u32) -> Pull {
        let len = source.len.min(target.len);
        let Some(own) = channels.registered.local_key(source) else { return Pull::No };
        let key = target.key as u32;
        let possible = key != 0 && !source.is_opaque() && !target.is_opaque() && len > 0;
        let gather = channels.fabric.limits().gather as usize;
        if !possible || !pays(source, target, len, gather, MOST_WRITES) {
            return Pull::No;
        }
        counters::NETWORK_WRITTEN.add(1);
        counters::NETWORK_WRITTEN_BYTES.add(len);
        let all = Rest { own: *source, key: own, theirs: *target, len, done: 0 };
        let at = self.begin_move(channels, peer, sender, false, all);
        let striped = self.with(at, |it| it.stripe.is_some());
        self.write_all(channels, at);
        if striped { Pull::Unordered } else { Pull::Pending }
    }

    /// Bytes of a stripe of such a message ([`Ports::stripe`]).
    pub(crate) fn stripe(&self, channels: &Channels, peer: u32, len: u64) -> Option<u64> {
        let stripe = self.ports.stripe(channels, peer, len);
        self.repeat(channels);
        stripe
    }

    fn begin_move(&self, channels: &Channels, peer: u32, request: u32, fetched: bool, all: Rest) -> u32 {
        let stripe = self.stripe(channels, peer, all.len);
        let rest = fetched.then_some(all);
        let (flying, failed, broken, parts) = (0, false, 0, [0; MOST]);
        self.insert(Move { peer, request, fetched, flying, failed, rest, all, stripe, broken, parts, filled: None })
    }

    /// Writes a message in stripes into a published receive that it has claimed; `filled` tells the receiver that all is there.
    /// The memories suit each other, and `own` is the key of the source.
    pub(crate) fn put_for_receive(
        &self, channels: &Channels, peer: u32, (source, own): (&Memory, u32), target: &Memory, sender: u32,
        filled: Message,
    ) {
        let all = Rest { own: *source, key: own, theirs: *target, len: source.len.min(target.len), done: 0 };
        let at = self.begin_move(channels, peer, sender, false, all);
        self.with(at, |it| it.filled = Some(filled));
        self.write_all(channels, at);
    }

    /// Posts all writes of a message.
    fn write_all(&self, channels: &Channels, at: u32) {
        let (peer, stripe, Rest { own, key, theirs, len, .. }) = self.with(at, |it| (it.peer, it.stripe, it.all));
        let (remote, gather) = (theirs.key as u32, channels.fabric.limits().gather as usize);
        let longest = stripe.unwrap_or(LONGEST);
        pieces::each_piece(&own, &theirs, 0..len, longest, key, gather, |address, segments, _| {
            let (write, data) = (Operation::Write(Remote { address, key: remote }), Data::Segments(segments));
            let port = stripe.map_or(0, |_| self.ports.post_stripe(channels, peer, at, write, data));
            self.posted(at, port, bytes(segments));
            if port == 0 {
                channels.post_surely(peer, Token::Rendezvous { peer, value: at }, write, data, true);
            }
            true
        });
        self.repeat(channels);
    }

    /// Posts reads of a message, as many as there is room for.
    fn read_on(&self, channels: &Channels, at: u32) {
        let (peer, stripe, Some(mut rest)) = self.with(at, |it| (it.peer, it.stripe, it.rest)) else { return };
        let Rest { own, key, theirs, len, done } = rest;
        let remote = theirs.key as u32;
        let limits = channels.fabric.limits();
        let mut found = Posted::Done;
        let (longest, gather) = (stripe.unwrap_or(LONGEST), limits.gather as usize);
        let all = pieces::each_piece(&own, &theirs, done..len, longest, key, gather, |address, segments, _| {
            let (read, data) = (Operation::Read(Remote { address, key: remote }), Data::Segments(segments));
            let port = stripe.map_or(0, |_| self.ports.post_stripe(channels, peer, at, read, data));
            if port > 0 {
                rest.done += bytes(segments);
                self.posted(at, port, bytes(segments));
                return true;
            }
            if channels.known(peer).is_some_and(|channel| channel.sends.flying() >= limits.depth / SHARE) {
                found = Posted::Busy;
                return false;
            }
            found = channels.post(peer, Token::Rendezvous { peer, value: at }, read, data, true);
            if found == Posted::Done {
                rest.done += bytes(segments);
                self.posted(at, port, bytes(segments));
            }
            found == Posted::Done
        });
        self.with(at, |it| {
            it.failed |= found == Posted::Lost;
            it.rest = (!all && !it.failed).then_some(rest);
        });
        if found == Posted::Busy {
            self.stalled.borrow_mut().push(at);
        }
        if found == Posted::Lost {
            // The sink is told of the loss.
            self.end(at).into_iter().for_each(|it| self.ports.unload(&it.parts));
        }
        self.repeat(channels);
    }

    /// A part that went over another port than the first has ended. The message, if that was the last of it.
    pub(crate) fn stripe_moved(
        &self, channels: &Channels, peer: u32, port: u8, at: u32, status: Status,
    ) -> Option<Moved> {
        let well = status == Status::Success;
        self.ports.stripe_ended(channels, peer, port, well);
        self.repeat(channels);
        self.with(at, |it| it.broken |= u8::from(!well) << port);
        self.moved(channels, at, Status::Success)
    }

    /// Once nothing of a message is under way of which a stripe has failed, it goes again over the channel; true then, or if
    /// that is still to come.
    fn again(&self, channels: &Channels, at: u32) -> bool {
        let again = self.with(at, |it| {
            if it.broken == 0 || it.failed {
                return None;
            }
            it.rest = None;
            let again = it.flying == 0 && (it.fetched || self.ports.may_repeat(it.peer, it.broken));
            if again {
                (it.broken, it.stripe, it.rest) = (0, None, it.fetched.then_some(it.all));
                self.ports.unload(&std::mem::take(&mut it.parts));
            }
            Some((again, it.fetched))
        });
        match again {
            Some((true, true)) => self.read_on(channels, at),
            Some((true, false)) => self.write_all(channels, at),
            _ => {}
        }
        again.is_some()
    }

    /// Repeats what failed ports carried, where the peer knows of that by now.
    pub(crate) fn repeat(&self, channels: &Channels) {
        while let Some(peer) = self.ports.next_repeatable() {
            self.repeat_writes(channels, peer);
        }
    }

    /// Repeats what was written to a peer, now that it knows of more ports that failed.
    fn repeat_writes(&self, channels: &Channels, peer: u32) {
        for at in 0..self.all.borrow().len() as u32 {
            let waits = |it: &Move| it.peer == peer && it.broken != 0 && it.flying == 0;
            let waits = self.all.borrow()[at as usize].as_ref().is_some_and(waits);
            if waits {
                self.again(channels, at);
            }
        }
    }

    /// A read or a write has ended. The message, if that was the last of it.
    pub(crate) fn moved(&self, channels: &Channels, at: u32, status: Status) -> Option<Moved> {
        self.with(at, |it| {
            it.flying -= 1;
            if status != Status::Success {
                (it.failed, it.rest) = (true, None);
            }
        });
        if self.again(channels, at) {
            return None;
        }
        let Move { failed, parts, fetched, request, peer, filled, .. } = self.end(at)?;
        self.ports.unload(&parts);
        (!failed).then_some(Moved { peer, request, fetched, filled })
    }

    /// Goes on with what found no room.
    #[inline]
    pub(crate) fn move_on(&self, channels: &Channels) {
        if self.stalled.borrow().is_empty() {
            return;
        }
        for at in self.stalled.take() {
            let lives = self.all.borrow()[at as usize].is_some();
            if lives {
                self.read_on(channels, at);
            }
        }
    }
}
