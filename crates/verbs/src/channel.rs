//! What is known of the queue pair to one peer.

use crate::connect::Connected;
use crate::credits::Credits;
use crate::header::HeaderCache;
use crate::rings::{Inbox, Outbox, Word};
use crate::wire::PREFIX;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use tern_hca::{Operation, QueuePair};

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

/// The way to a peer and back.
pub struct Channel {
    pub peer: u32,
    pub pair: Arc<QueuePair>,
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
    /// Requests since the last that has a completion of its own.
    quiet: Cell<u32>,
    /// Requests whose completion is to come.
    pub flying: Cell<u32>,
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
    pub fn new(peer: u32, connected: Connected, header: usize) -> Channel {
        let Connected { pair, terms } = connected;
        let inline = pair.limits().inline as usize;
        Channel {
            peer,
            pair,
            packet: (terms.buffer as usize).saturating_sub(PREFIX + header),
            inline,
            credits: RefCell::new(Credits::new(terms.credits.max(crate::credits::FEWEST))),
            outgoing: RefCell::default(),
            incoming: RefCell::default(),
            next_out: Cell::new(0),
            next_in: Cell::new(0),
            backlog: RefCell::default(),
            quiet: Cell::new(0),
            flying: Cell::new(0),
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
        let signals = asks || self.quiet.get() >= QUIET;
        self.quiet.set(if signals { 0 } else { self.quiet.get() + 1 });
        if signals {
            self.flying.set(self.flying.get() + 1);
        }
        signals
    }

    /// The next request asks for a completion.
    pub fn ask(&self) {
        self.quiet.set(QUIET);
    }

    /// The request that asked for a completion was not posted.
    pub fn unsignal(&self) {
        self.flying.set(self.flying.get() - 1);
        self.quiet.set(QUIET);
    }

    /// True when everything that went has ended, as far as anybody will know.
    pub fn is_settled(&self) -> bool {
        self.lost.get() || (self.flying.get() == 0 && self.quiet.get() == 0 && self.backlog.borrow().is_empty())
    }
}
