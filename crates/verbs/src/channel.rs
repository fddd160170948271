//! What is known of the queue pair to one peer.

use crate::connect::Connected;
use crate::credits::Credits;
use crate::header::HeaderCache;
use crate::rings::{Inbox, Outbox, Word};
use crate::transport::Sending;
use crate::wire::PREFIX;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use tern_hca::{Data, Operation, QueuePair, SendFlags, SendRequest};

/// Requests without a completion of their own, at most, before one that has one.
const QUIET: u32 = 16;

/// A packet, or a part of one, that was built and is to be posted.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Where it was built.
    pub buffer: u32,
    /// From which byte of it on.
    pub at: u32,
    pub len: u32,
    /// It goes with the request, and its memory is free again at once.
    pub inline: bool,
    /// Another part of the same buffer follows.
    pub follows: bool,
    pub operation: Operation,
}

/// What was posted on a queue pair.
#[derive(Default)]
pub struct Sends {
    /// Requests since the last that has a completion of its own.
    quiet: Cell<u32>,
    /// Requests whose completion is to come.
    flying: Cell<u32>,
}

/// The way to a peer and back.
pub struct Channel {
    pub peer: u32,
    pub pair: Arc<QueuePair>,
    /// Others send through the same queue pair.
    pub shared: bool,
    /// What requests name as their receive queue.
    receive_queue: u32,
    /// Payload bytes of a packet that the peer has room for.
    pub packet: usize,
    /// Bytes of a packet that travel in the request.
    pub inline: usize,
    pub credits: RefCell<Credits>,
    /// Headers that went, and that came.
    pub outgoing: RefCell<HeaderCache>,
    pub incoming: RefCell<HeaderCache>,
    /// Numbers of the next packet that goes, and of the next that comes.
    pub next_out: Cell<u16>,
    pub next_in: Cell<u16>,
    /// Packets for which the send queue had no room.
    pub backlog: RefCell<VecDeque<Frame>>,
    /// Of the queue pair.
    sends: Rc<Sends>,
    /// The ring here that the peer writes to.
    pub inbox: OnceCell<Inbox>,
    /// The ring of the peer that packets may be written to.
    pub outbox: OnceCell<Outbox>,
    /// What is to be said about rings.
    pub words: RefCell<VecDeque<Word>>,
    /// Packets that came past the ring, since it was last thought of.
    pub past: Cell<u32>,
    /// The peer is to be woken as soon as there is a credit.
    pub bell: Cell<bool>,
    /// It stands in the list of channels that want something done.
    pub listed: Cell<bool>,
    /// Nothing goes or comes any more.
    pub lost: Cell<bool>,
    /// That has been told.
    pub told: Cell<bool>,
}

impl Channel {
    pub fn new(peer: u32, connected: Connected, sends: Rc<Sends>, header: usize) -> Channel {
        let Connected { sending, terms } = connected;
        let Sending { pair, receive_queue, shared } = sending;
        let inline = pair.limits().inline as usize;
        Channel {
            peer,
            pair,
            shared,
            receive_queue,
            sends,
            packet: (terms.buffer as usize).saturating_sub(PREFIX + header),
            inline,
            credits: RefCell::new(Credits::new(terms.credits.max(crate::credits::FEWEST))),
            outgoing: RefCell::default(),
            incoming: RefCell::default(),
            next_out: Cell::new(0),
            next_in: Cell::new(0),
            backlog: RefCell::default(),
            inbox: OnceCell::new(),
            outbox: OnceCell::new(),
            words: RefCell::default(),
            past: Cell::new(0),
            bell: Cell::new(false),
            listed: Cell::new(false),
            lost: Cell::new(false),
            told: Cell::new(false),
        }
    }

    /// True when a packet may go.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.credits.borrow().may_send() && self.backlog.borrow().is_empty()
    }

    /// Cells of its ring that the peer may have again, for the next packet to tell.
    #[inline]
    pub fn free_cells(&self) -> u8 {
        self.inbox.get().map_or(0, Inbox::give_back)
    }

    /// Whether the next request asks for a completion, which it must if `asks`.
    #[inline]
    pub fn signals(&self, asks: bool) -> bool {
        let Sends { quiet, flying } = &*self.sends;
        let signals = asks || quiet.get() >= QUIET;
        quiet.set(if signals { 0 } else { quiet.get() + 1 });
        if signals {
            flying.set(flying.get() + 1);
        }
        signals
    }

    /// The next request asks for a completion.
    pub fn ask(&self) {
        self.sends.quiet.set(QUIET);
    }

    /// Posts a request for the peer.
    #[inline]
    pub fn post(&self, id: u64, operation: Operation, data: Data<'_>, flags: SendFlags) -> tern_hca::Result<()> {
        self.post_to(self.receive_queue, id, operation, data, flags)
    }

    /// Posts a request for another receive queue of the peer.
    #[inline]
    pub fn post_to(
        &self,
        receive_queue: u32,
        id: u64,
        operation: Operation,
        data: Data<'_>,
        flags: SendFlags,
    ) -> tern_hca::Result<()> {
        self.pair.post_send(&SendRequest { id, operation, data, flags, receive_queue })
    }

    /// Requests of the queue pair whose completion is to come.
    pub fn flying(&self) -> u32 {
        self.sends.flying.get()
    }

    /// One of them has ended.
    pub fn landed(&self) {
        // One that asked for no completion has one if it failed.
        self.sends.flying.set(self.flying().saturating_sub(1));
    }

    /// The request that asked for a completion was not posted.
    pub fn unsignal(&self) {
        self.sends.flying.set(self.flying() - 1);
        self.ask();
    }

    /// True when everything that went has ended, as far as anybody will know.
    pub fn is_settled(&self) -> bool {
        self.lost.get() || (self.flying() == 0 && self.sends.quiet.get() == 0 && self.backlog.borrow().is_empty())
    }
}
