//! Messages of some KiB out of memory that their receiver reaches, while it waits: it copies them from where they lie, and has
//! published nothing. There is one copy as with a published receive, and nothing to be found out about the receiver's memory.
//!
//! Whether promoted memory is still where it was must be asked of the kernel where that does not tell by itself, which takes as long as
//! copying 32 KiB. So a sender that waits and is not sure tells the place that it presumes (`Rts`), asks meanwhile, and tells what it has heard (`RtsConfirm`). Until then the
//! receiver has bytes that may be the wrong ones. If they are, it asks for packets.

use super::direct::key;
use super::facts::Receiving;
use super::{NONE, Side, State, Transfer};
use crate::packet::Packet;
use crate::{Data, Pattern, Proc, Tuple};
use std::ops::RangeInclusive;
use tern_counters as counters;
use tern_mcm::{Memory, SpeculativeAddress};
use tern_policy::{self as policy, Backoff, Hope, Trust, rules};

/// Receives that are published after one whose message has come in packets: at first, and at most. Each time in a row it is twice
/// as many.
const PUBLISHED: RangeInclusive<u32> = 1..=64;

/// Of one peer.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    trust: Trust,
    /// Receives that are published before the next one is not.
    published: Backoff,
}

/// A message whose sender has not said yet whether it is where the receiver was told.
#[derive(Clone, Copy, Debug)]
struct Unsure {
    from: Proc,
    /// The sender's request.
    sender: u32,
    /// The receive that has copied it; `NONE` while there is none.
    receiver: u32,
    bytes: u64,
    /// It is not, and no receive has asked for it.
    wrong: bool,
}

/// What is known of such messages.
#[derive(Debug, Default)]
pub struct Fetching {
    peers: Vec<Peer>,
    /// The sender that the receive under way was left unpublished for.
    hoped: Option<Proc>,
    unsure: Vec<Unsure>,
    /// Own sends that are not where their receivers were told.
    misplaced: Vec<u32>,
    /// The last such message, and the looks at everything before it.
    trusted: Option<(u32, u32)>,
}

impl Fetching {
    fn peer(&mut self, peer: Proc) -> &mut Peer {
        let at = peer as usize;
        if self.peers.len() <= at {
            self.peers.resize(at + 1, Peer::default());
        }
        &mut self.peers[at]
    }

    fn position(&self, from: Proc, sender: u32) -> Option<usize> {
        self.unsure.iter().position(|unsure| (unsure.from, unsure.sender) == (from, sender))
    }
}

impl State {
    /// [`tern_policy::pair::Pair::fetches`], of messages that would go without asking.
    #[inline]
    pub(super) fn suits_fetching(&self, peer: Proc, len: usize, sure: bool) -> bool {
        len <= self.eager_limit(peer) && self.direct().pair(peer).fetches(len, sure)
    }

    /// See [`tern_policy::pair::Pair::suits_kernel`].
    pub(super) fn suits_kernel(&self, peer: Proc, len: usize) -> policy::Likely {
        let direct = self.direct();
        direct.pair(peer).suits_kernel(len, || direct.copies(peer))
    }

    // ---- the sender

    /// Where the data of such a message is presumed to lie, and whether that is sure.
    pub(super) fn presume(&self, to: Proc, data: &Data) -> Option<(Memory, bool)> {
        let memory = data.memory();
        let fits = memory.is_dense() && self.suits_fetching(to, data.len(), false);
        let SpeculativeAddress { place, sure } = fits.then(|| self.direct().speculative_address(&memory)).flatten()?;
        Some((Memory { place, ..memory }, sure))
    }

    /// Whether the receiver of the next message on the stream, of `len` bytes, waits for it and would fetch it, or most likely is about
    /// to: to others a sender that waits would not get on if they counted on its message to be buffered. `kept`: one that does not
    /// wait, and comes to look, would keep the message; so its sender is held up no longer than until then, and trusts it less.
    pub(super) fn will_be_hoped(&mut self, to: Proc, tuple: &Tuple, len: usize, kept: bool) -> Hope {
        if kept
            && self.suits_fetching(to, len, false)
            && self.fetching.peer(to).trust.trusts()
            && rules::TRUST.applies()
        {
            return Hope::Trusted;
        }
        let hoped = self.is_hoped(to, tuple, len);
        self.fetching.peer(to).trust.see(hoped);
        if hoped { Hope::Seen } else { Hope::No }
    }

    /// The message whose receiver was trusted is request `request`.
    pub(super) fn trust(&mut self, request: u32) {
        self.fetching.trusted = Some((request, self.looks));
    }

    /// Peer `from` has send `request`. `kept`: it did not wait for it.
    pub(super) fn end_trust(&mut self, from: Proc, request: u32, kept: bool) {
        if let Some((_, looks)) = self.fetching.trusted.take_if(|&mut (trusted, _)| trusted == request) {
            let waited = !kept && Trust::is_in_time(self.looks.wrapping_sub(looks));
            self.fetching.peer(from).trust.judge(waited);
        }
    }

    /// Whether the receiver of the next message on the stream, of `len` bytes, waits for it and would fetch it.
    pub(super) fn is_hoped(&self, to: Proc, tuple: &Tuple, len: usize) -> bool {
        let key = key(tuple.context, tuple.source, tuple.tag);
        self.suits_fetching(to, len, false)
            && self.direct().is_ready_to_receive(to, &key, self.streams[to as usize].sent())
    }

    /// Tells the receiver of send `request` whether it was told the right place.
    pub(super) fn confirm(&mut self, to: Proc, request: u32, place: u64) {
        let right = self.direct().is_still(&self.transfers.get(request).data.memory(), place);
        counters::PRESUMED.add(1);
        if !right {
            counters::MISPLACED.add(1);
            self.fetching.misplaced.push(request);
        }
        self.control(to, Packet::RtsConfirm { sender: request, right });
    }

    /// A send is answered, or taken back. True if its receiver was told the wrong place: its word that it has the message is not to
    /// be believed.
    pub(super) fn end_misplaced(&mut self, request: u32) -> bool {
        let misplaced = &mut self.fetching.misplaced;
        let found = misplaced.iter().position(|&other| other == request);
        found.map(|at| misplaced.swap_remove(at)).is_some()
    }

    // ---- the receiver

    /// Whether the receive that is about to start had better not be published, since its message may be fetched if it lies in shared
    /// memory: the receiver's own is shared as well, or would get packets otherwise. Tells the sender if so, until
    /// [`State::end_hope`].
    pub fn hopes_to_fetch(&mut self, from: Proc, pattern: &Pattern, data: &Data) -> bool {
        let fetches = policy::fetches(&mut Receiving::waiting(self, from, pattern, data));
        if fetches {
            self.tell_ready(from, pattern);
        }
        fetches
    }

    /// Tells the sender of the next message that this process waits for it and is going to fetch it.
    pub(super) fn tell_ready(&mut self, from: Proc, pattern: &Pattern) {
        if self.matching.find_unexpected(pattern).is_none() {
            let key = key(pattern.context, pattern.source, pattern.tag);
            self.direct().set_ready_to_receive(from, &key, self.taken[from as usize].taken);
            self.fetching.hoped = Some(from);
        }
    }

    /// See [`tern_policy::RecvLook::publishes_again`].
    pub(super) fn publishes_again(&mut self, from: Proc) -> bool {
        // The default is not to publish the receive.
        !self.fetching.peer(from).published.is_due() && rules::PUBLISH_AGAIN.applies()
    }

    /// The program waits for receive `request` alone: hopes for its message, if that may be fetched, until [`State::end_hope`].
    pub fn hope_for(&mut self, request: u32) {
        let Transfer { side: Side::Receive { place: Some(place), from, published, .. }, data, .. } =
            self.transfers.get(request)
        else {
            return;
        };
        if published.is_left() && self.matching.is_only_one() && self.is_flushed() {
            let (from, pattern, data) = (*from, self.matching.posted_pattern(*place), data.clone());
            self.hopes_to_fetch(from, &pattern, &data);
        }
    }

    /// The receive has got its message, or some of it.
    pub fn end_hope(&mut self) {
        if let Some(from) = self.fetching.hoped.take() {
            self.direct().clear_ready_to_receive(from);
        }
    }

    /// A long message from `from` has come in packets.
    pub(super) fn came_in_packets(&mut self, from: Proc) {
        if self.fetching.hoped == Some(from) {
            self.end_hope();
            self.fetching.peer(from).published.in_vain(PUBLISHED);
        }
    }

    /// A message from `from` was fetched.
    pub(super) fn was_fetched(&mut self, from: Proc) {
        if self.fetching.hoped == Some(from) {
            self.end_hope();
            self.fetching.peer(from).published.paid();
        }
    }

    /// A sender will say whether its message is where it has told.
    pub(super) fn expect_word(&mut self, from: Proc, sender: u32) {
        // One that was taken back, and of which nobody has asked, may have left its word.
        self.forget_word(from, sender);
        self.fetching.unsure.push(Unsure { from, sender, receiver: NONE, bytes: 0, wrong: false });
    }

    /// Where a message lies that a receive is about to ask for, of which its sender has told `source`.
    pub(super) fn source_of(&mut self, from: Proc, sender: u32, source: &Memory) -> Memory {
        match self.fetching.position(from, sender) {
            Some(at) if self.fetching.unsure[at].wrong => {
                self.fetching.unsure.swap_remove(at);
                Memory::opaque(source.len as usize)
            }
            _ => *source,
        }
    }

    /// Receive `receiver` has copied the `bytes` bytes of a message: true when the sender has not said yet that they are the right ones.
    pub(super) fn awaits_word(&mut self, from: Proc, sender: u32, receiver: u32, bytes: u64) -> bool {
        let Some(at) = self.fetching.position(from, sender) else { return false };
        let unsure = &mut self.fetching.unsure[at];
        (unsure.receiver, unsure.bytes) = (receiver, bytes);
        true
    }

    /// The bytes of a message come otherwise: what its sender says of its place does not matter any more.
    pub(super) fn forget_word(&mut self, from: Proc, sender: u32) {
        if let Some(at) = self.fetching.position(from, sender) {
            self.fetching.unsure.swap_remove(at);
        }
    }

    /// The sender of a message says whether it is where it has told.
    pub(super) fn rts_confirm(&mut self, from: Proc, sender: u32, right: bool) {
        let Some(at) = self.fetching.position(from, sender) else { return };
        let Unsure { receiver, bytes, .. } = self.fetching.unsure[at];
        if receiver == NONE && !right {
            self.fetching.unsure[at].wrong = true;
            return;
        }
        self.fetching.unsure.swap_remove(at);
        if receiver == NONE {
            return;
        }
        if right {
            self.complete(receiver);
        } else {
            self.control(from, Packet::Cts { sender, receiver, bytes });
        }
    }

    /// Process `peer` is lost: it says nothing any more, and hears nothing.
    pub(super) fn forget_words(&mut self, peer: Proc) {
        self.fetching.unsure.retain(|unsure| unsure.from != peer);
        let transfers = &self.transfers;
        let is_for = |request: u32| matches!(transfers.get(request).side, Side::Send { to, .. } if to == peer);
        self.fetching.misplaced.retain(|&request| !is_for(request));
    }
}
