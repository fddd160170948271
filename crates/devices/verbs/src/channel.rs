//! What is known of the queue pair to one peer.

use crate::connect::Connected;
use crate::credits::Credits;
use crate::header::HeaderCache;
use crate::rings::{Inbox, Outbox, Word};
use crate::send_queue::SendQueue;
use crate::transport::Sending;
use crate::wire::PREFIX;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use tern_hca::{Data, Error, Operation, QueuePair, SendFlags, SendRequest};
use tern_policy::RingDemand;

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
    /// [`crate::wire::Kind::is_upkeep`].
    pub upkeep: bool,
    pub operation: Operation,
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
    pub sends: Rc<SendQueue>,
    /// The ring here that the peer writes to.
    pub inbox: OnceCell<Inbox>,
    /// The ring of the peer that packets may be written to.
    pub outbox: OnceCell<Outbox>,
    /// What is to be said about rings.
    pub words: RefCell<VecDeque<Word>>,
    /// Whether the peer is offered one.
    pub demand: RingDemand,
    /// The peer is to be woken as soon as there is a credit.
    pub bell: Cell<bool>,
    /// It stands in the list of channels that want something done.
    pub listed: Cell<bool>,
    /// Nothing goes or comes any more.
    pub lost: Cell<bool>,
    /// That has been told.
    pub told: Cell<bool>,
    /// Something that counts as sent has not gone, or was not acknowledged before the end.
    pub undelivered: Cell<bool>,
}

impl Channel {
    /// `header`: bytes of the longest header. `ring_after`: packets after which the peer is offered a ring.
    pub fn new(peer: u32, connected: Connected, sends: Rc<SendQueue>, header: usize, ring_after: u32) -> Channel {
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
            demand: RingDemand::new(ring_after),
            bell: Cell::new(false),
            listed: Cell::new(false),
            lost: Cell::new(false),
            told: Cell::new(false),
            undelivered: Cell::new(false),
        }
    }

    /// True when a packet may go.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.may_send_all(1)
    }

    /// True when so many packets may go, one after the other.
    #[inline]
    pub fn may_send_all(&self, packets: u32) -> bool {
        self.credits.borrow().may_send_all(packets) && self.may_post(packets.into())
    }

    /// True when so many requests of a packet find room. What was said to be sent has to go without a further look of this
    /// process, so what finds none is refused before anybody is told that it went.
    #[inline]
    pub fn may_post(&self, requests: u64) -> bool {
        self.sends.has_room(requests) && self.backlog.borrow().is_empty()
    }

    /// Cells of its ring that the peer may have again, for the next packet to tell.
    #[inline]
    pub fn free_cells(&self) -> u8 {
        self.inbox.get().map_or(0, Inbox::give_back)
    }

    /// Posts a request for the peer, which has a completion if it `asks` for one, and now and then if it does not.
    #[inline]
    pub fn post(&self, id: u64, operation: Operation, data: Data<'_>, asks: bool) -> tern_hca::Result<()> {
        self.post_to(self.receive_queue, id, operation, data, asks)
    }

    /// Posts a request for another receive queue of the peer.
    #[inline]
    pub fn post_to(
        &self, receive_queue: u32, id: u64, operation: Operation, data: Data<'_>, asks: bool,
    ) -> tern_hca::Result<()> {
        if !self.sends.has_room(1) {
            return Err(Error::QueueFull);
        }
        let signaled = self.sends.signals(asks);
        let flags = SendFlags { signaled, fence: false };
        self.pair.post_send(&SendRequest { id, operation, data, flags, receive_queue })?;
        self.sends.posted(signaled);
        Ok(())
    }

    /// True when everything that went has ended, as far as anybody will know.
    pub fn is_settled(&self) -> bool {
        self.lost.get() || (self.sends.is_empty() && self.backlog.borrow().is_empty())
    }
}
