//! What has become of the receives that this process has published and of the messages that it has left to others.

use crate::memcheck;
use crate::posted_receives::{ByModule, PostedReceives, Stage, Word};
use crate::share::{Share, Side};
use crate::state::Shm;
use crate::transfers::Pending;
use tern_device::Sink;
use tern_policy::transfer::CHUNK;

/// What there will be news of ([`Shm::news_line`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The receive that is published in a slot.
    Published(u32),
    /// The message that was [left](tern_device::Delivery::Pending) last to a receive of the peer.
    Left,
    /// Whatever its next packet tells.
    Packet,
}

impl Shm {
    /// What this process has published for `peer`.
    pub(super) fn own_posted(&self, peer: u32) -> &PostedReceives {
        self.segment.posted(self.me, peer)
    }

    /// The cache line on which there will be news from `peer`, for whoever is going to ask soon.
    pub fn news_line(&self, peer: u32, of: News) -> Option<*const u8> {
        if !self.is_home(peer) {
            return None;
        }
        match of {
            News::Published(slot) => Some(self.own_posted(peer).line(slot)),
            News::Left => {
                let pending = self.direct.pending.borrow();
                let last = pending.last().filter(|message| message.peer == peer)?;
                Some(self.segment.posted(peer, self.me).line(last.slot))
            }
            News::Packet => Some(self.next_cell(peer)),
        }
    }

    /// The size of the message that has filled the receive of a slot, with `room` bytes, which is published no more. `None`: it is not filled.
    #[inline]
    pub(super) fn take_filled(&self, peer: u32, slot: u32, room: u64) -> Option<u64> {
        let posted = self.own_posted(peer);
        let word = posted.word(slot);
        if word.stage() != Stage::Filled || word.is_joint() {
            return None;
        }
        // What is said of it lies on a line that the sender has read, and need not be fetched again.
        let size = if word.fits() { room } else { posted.size(slot) };
        if self.direct.checked {
            memcheck::filled(&posted.target(slot), size);
        }
        posted.free(slot, word);
        self.end_publication(peer, slot);
        Some(size)
    }

    /// The length of the message of `sender`, which was left to its receiver, once that has copied it.
    #[inline]
    pub(super) fn take_sent(&self, sender: u32) -> Option<u64> {
        let mut pending = self.direct.pending.borrow_mut();
        let copied =
            |message: &Pending| !self.segment.posted(message.peer, self.me).is_shared(message.slot, message.word);
        let at = pending.iter().position(|message| message.sender == sender && copied(message));
        at.map(|at| pending.swap_remove(at).len)
    }

    /// Frees the slot of a receive that was filled, or whose message comes in packets.
    pub(crate) fn forget(&self, peer: u32, slot: u32) {
        let posted = self.own_posted(peer);
        posted.free(slot, posted.word(slot));
        self.end_publication(peer, slot);
    }

    /// Fetches the word of what has been published first, which the sender may have written, while others are looked at.
    #[inline]
    pub(crate) fn expect_filled(&self) {
        if let Some(&(peer, _)) = self.direct.published.borrow().first() {
            tern_device::hint::prefetch(self.own_posted(peer));
        }
    }

    /// Looks after published receives and pending messages; returns how many have ended.
    #[inline]
    pub(crate) fn poll_direct(&self, sink: &mut dyn Sink) -> usize {
        if self.direct.is_idle() {
            return 0;
        }
        let ended = self.look_at_posted(sink) + self.look_at_pending(sink);
        self.let_go_of_copies();
        ended
    }

    fn look_at_posted(&self, sink: &mut dyn Sink) -> usize {
        let mut ended = 0;
        let mut at = 0;
        loop {
            // The sink may publish: nothing is borrowed while it runs.
            let Some(&(peer, _)) = self.direct.published.borrow().get(at) else { return ended };
            let posted = self.own_posted(peer);
            for slot in 0..posted.used() {
                let word = posted.word(slot);
                let filled = match word.stage() {
                    Stage::Filled => true,
                    Stage::Shared => self.help(peer, posted, slot, word),
                    Stage::Packets if word.is_joint() => {
                        // Nobody but this process has a use for the slot: the packets are for the request.
                        self.forget(peer, slot);
                        false
                    }
                    _ => false,
                };
                if filled {
                    let (receiver, size) = (posted.receiver(slot), posted.size(slot));
                    if self.direct.checked {
                        memcheck::filled(&posted.target(slot), size);
                    }
                    self.forget(peer, slot);
                    if word.is_joint() {
                        sink.pulled(receiver)
                    } else {
                        sink.delivered(receiver, size)
                    }
                    ended += 1;
                }
            }
            at += 1;
        }
    }

    fn look_at_pending(&self, sink: &mut dyn Sink) -> usize {
        let mut ended = 0;
        let mut at = 0;
        loop {
            let (message, refused) = {
                let mut pending = self.direct.pending.borrow_mut();
                let Some(message) = pending.get_mut(at) else { return ended };
                let finished = self.is_finished(message);
                if !finished && !self.is_refused(message) {
                    at += 1;
                    continue;
                }
                (pending.swap_remove(at), !finished)
            };
            match refused {
                true => self.send_packets(&message, sink),
                false => sink.sent(message.sender),
            }
            ended += 1;
        }
    }

    /// True when a message has been copied. A receiver that has left the library since, and so does
    /// not do its part, is not waited for.
    #[inline]
    pub(super) fn is_finished(&self, message: &mut Pending) -> bool {
        let Pending { peer, slot, word, .. } = *message;
        let posted = self.segment.posted(peer, self.me);
        if !posted.is_shared(slot, word) {
            return true;
        }
        if let Some(finished) = self.is_finished_beside(peer, posted, (slot, word), Side::Sender) {
            return finished;
        }
        if self.is_sent_by_thread(message) {
            return false;
        }
        message.looks = message.looks.saturating_sub(1);
        // What this side could not copy, the receiver copies or refuses.
        !message.failed && (message.looks == 0 || message.len > *CHUNK.end()) && self.take_over(message)
    }

    /// Whether the module has copied a message that it has; `None` where anybody may copy. Of the end this side tells the other one, which may sleep.
    #[inline]
    fn is_finished_beside(
        &self, peer: u32, posted: &PostedReceives, (slot, word): (u32, Word), side: Side,
    ) -> Option<bool> {
        match self.look_beside(posted, slot, word, side) {
            ByModule::Over => None,
            ByModule::UnderWay | ByModule::Failed => Some(false),
            ByModule::Done => {
                self.segment.doorbell(peer).ring();
                Some(true)
            }
        }
    }

    /// Neither side can have the kernel copy the rest of a message, though it has worked before.
    fn is_refused(&self, message: &Pending) -> bool {
        let Pending { peer, slot, failed, .. } = *message;
        (failed || !self.copies(peer)) && self.segment.posted(peer, self.me).slot(slot).is_refused()
    }

    #[cold]
    fn send_packets(&self, message: &Pending, sink: &mut dyn Sink) {
        let Pending { peer, slot, word, sender, .. } = *message;
        let posted = self.segment.posted(peer, self.me);
        posted.send_packets(slot, word);
        sink.undelivered(peer, sender, posted.receiver(slot), posted.target(slot).len);
    }

    #[cold]
    fn take_over(&self, message: &mut Pending) -> bool {
        let Pending { peer, slot, word, .. } = *message;
        let share = self.copy_out(peer, self.segment.posted(peer, self.me), slot, word, false);
        let finished = share == Share::Last;
        message.failed |= share == Share::Failed;
        if finished {
            // The receiver may sleep until it is done.
            self.segment.doorbell(peer).ring();
        }
        finished
    }

    /// The receiver's share of a copy from both ends; true when it has copied the last chunk.
    fn help(&self, peer: u32, posted: &PostedReceives, slot: u32, word: Word) -> bool {
        if let Some(finished) = self.is_finished_beside(peer, posted, (slot, word), Side::Receiver) {
            return finished;
        }
        if self.is_handed_over(posted, slot, word) {
            return false;
        }
        // If this side cannot, the sender does it alone.
        let finished = self.copy_in(peer, posted, slot, word);
        if finished {
            // The sender may sleep until it is done.
            self.segment.doorbell(peer).ring();
        }
        finished
    }
}
