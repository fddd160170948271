//! Composer: taking back what has not matched (MPI 5.0 section 3.8.4).

use super::State;
use crate::packet::Packet;
use crate::parts::Cancellation;
use crate::parts::unexpected::Body;
use crate::{Proc, Tuple};
use tern_mcm::Recall;

impl State {
    pub fn cancel(&mut self, request: u32) {
        match Cancellation::of(self.requests.get(request), self.mcm.me()) {
            Cancellation::Late => {}
            Cancellation::Recall(place) => {
                // Rule 4: a receive that its sender has claimed completes. Where that is not known at once, the
                // receive stays open: a message of the stream may still be given to it.
                if self.recall(request) == Recall::Won {
                    self.matching.withdraw(place);
                    self.cancelled(request);
                }
            }
            Cancellation::Own(tuple) => self.cancel_own(request, tuple),
            Cancellation::Ask(to, tuple) => {
                self.requests.get_mut(request).asked_back = true;
                self.control(to, Packet::Cancel { tuple, sender: request });
            }
        }
    }

    pub(super) fn cancelled(&mut self, request: u32) {
        self.unconfirmed.end_misplaced(request);
        let status = &mut self.requests.get_mut(request).status;
        // A send that was asked back since its context has ended says that.
        status.cancelled = status.aborted().is_none();
        self.complete(request);
    }

    fn cancel_own(&mut self, request: u32, tuple: Tuple) {
        let own = |arrival: u32| matches!(self.unexpected.get(arrival).body, Body::Own { request: own, .. } if own == request);
        if let Some(place) = self.matching.find_message(&tuple, own) {
            let arrival = self.matching.take_unexpected(place);
            self.drop_arrival(arrival);
            self.cancelled(request);
        }
    }

    /// A sender wants a message back: possible while nothing has matched it.
    pub(super) fn give_back(&mut self, from: Proc, tuple: Tuple, sender: u32) {
        let mine = |arrival: u32| {
            let arrival = self.unexpected.get(arrival);
            arrival.from == from && arrival.body.answers() == Some(sender)
        };
        let place = self.matching.find_message(&tuple, mine);
        if let Some(place) = place {
            let arrival = self.matching.take_unexpected(place);
            self.drop_arrival(arrival);
        }
        self.control(from, Packet::Cancelled { sender, success: place.is_some() });
    }
}
