//! Composer: messages of some KiB out of memory that their receiver reaches, while it waits. It copies them from where they lie, and has
//! published nothing. There is one copy as with a published receive, and nothing to be found out about the receiver's memory.
//!
//! Whether promoted memory is still where it was must be asked of the kernel where that does not tell by itself, which takes as long as
//! copying 32 KiB. So a sender that waits and is not sure tells a speculative address (`Rts`), asks meanwhile, and tells what it has heard
//! (`RtsConfirm`). Until then the receiver has bytes that may be the wrong ones. If they are, it asks for packets.

use super::State;
use super::facts::Receiving;
use super::facts::key;
use crate::transfer::{Side, Transfer};
use crate::{Data, Pattern, Proc, Tuple};
use tern_mcm::{Memory, PeerState, SpeculativeAddress};
use tern_policy::{self as policy, Readiness, RecvPlan};

impl State {
    // ---- the sender

    /// Where the data of a message lies that may be fetched, by speculation, and whether that is sure.
    pub(super) fn speculate(&self, data: &Data) -> Option<(Memory, bool)> {
        let memory = data.memory();
        let speculative = memory.is_dense().then(|| self.direct().speculative_address(&memory)).flatten();
        let SpeculativeAddress { place, sure } = speculative?;
        Some((Memory { place, ..memory }, sure))
    }

    /// Whether the receiver of the next message on the stream waits for it and would fetch it, or most likely is about
    /// to: to others a sender that waits would not get on if they counted on its message to be buffered. `fetched`: the message is of a length
    /// that is fetched. `kept`: a receiver that does not wait, and comes to look, would keep the message. Its sender is held up no longer than
    /// until then, and predicts less.
    pub(super) fn readiness(&mut self, to: Proc, tuple: &Tuple, fetched: bool, kept: bool) -> Readiness {
        if kept && fetched && self.ready.predicts(to) {
            return Readiness::Predicted;
        }
        let ready = self.is_ready(to, tuple, fetched);
        self.ready.see(to, ready);
        if ready { Readiness::Seen } else { Readiness::No }
    }

    /// Whether the receiver of the next message on the stream waits for it and would fetch it; `fetched`: see [`State::readiness`].
    pub(super) fn is_ready(&self, to: Proc, tuple: &Tuple, fetched: bool) -> bool {
        let key = key(tuple.context, tuple.source, tuple.tag);
        fetched && self.direct().peer_is(to, PeerState::Ready { key: &key, sent: self.queues.sent(to) })
    }

    // ---- the receiver

    /// Whether the receive that is about to start had better not be published, since its message may be fetched if it lies in shared
    /// memory: the receiver's own is shared as well, or would get packets otherwise. Tells the sender if so, until [`State::end_ready`].
    pub fn get_ready(&mut self, from: Proc, pattern: &Pattern, data: &Data) -> bool {
        let mut receiving = Receiving::waiting(self, from, pattern, data);
        let fetches = receiving.plan(policy::receive_left) == RecvPlan::Fetch;
        if fetches {
            self.tell_ready(from, pattern);
        }
        fetches
    }

    /// Tells the sender of the next message that this process waits for it and is going to fetch it.
    pub(super) fn tell_ready(&mut self, from: Proc, pattern: &Pattern) {
        if self.matching.find_unexpected(pattern).is_none() {
            let key = key(pattern.context, pattern.source, pattern.tag);
            self.direct().tell_ready(from, Some((&key, self.queues.taken(from))));
            self.ready.tell(from);
        }
    }

    /// The program waits for receive `request` alone: tells its sender, if the message may be fetched, until [`State::end_ready`].
    pub fn get_ready_for(&mut self, request: u32) {
        let Transfer { side: Side::Receive { place: Some(place), from, published, .. }, data, .. } =
            self.requests.get(request)
        else {
            return;
        };
        if published.is_left() && self.matching.is_only_one() && self.stream.is_flushed() {
            let (from, pattern, data) = (*from, self.matching.posted_pattern(*place), data.clone());
            self.get_ready(from, &pattern, &data);
        }
    }

    /// The receive has got its message, or some of it.
    pub fn end_ready(&mut self) {
        if let Some(from) = self.ready.take_told() {
            self.direct().tell_ready(from, None);
        }
    }
}
