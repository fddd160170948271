//! Taking back what has not matched (MPI 5.0 section 3.8.4).

use super::{Body, Side, State};
use crate::packet::Packet;
use crate::{Proc, Tuple};
use tern_mcm::Recall;

impl State {
    pub fn cancel(&mut self, request: u32) {
        let transfer = self.transfers.get_mut(request);
        if transfer.done {
            return;
        }
        match transfer.side {
            Side::Receive { place: Some(place), .. } => {
                // Rule 4: a receive that its sender has claimed completes. Where that is not known at once, the
                // receive stays open: a message of the stream may still be given to it.
                if self.recall(request) == Recall::Won {
                    self.matching.withdraw(place);
                    self.cancelled(request);
                }
            }
            Side::Receive { .. } => {}
            Side::Send { to, tuple, .. } => self.cancel_send(request, to, tuple),
        }
    }

    pub(super) fn cancelled(&mut self, request: u32) {
        self.end_misplaced(request);
        self.transfers.get_mut(request).status.cancelled = true;
        self.complete(request);
    }

    fn cancel_send(&mut self, request: u32, to: Proc, tuple: Tuple) {
        if to != self.mcm.me() {
            return self.control(to, Packet::Cancel { tuple, sender: request });
        }
        let own =
            |arrival: u32| matches!(self.arrivals.get(arrival).body, Body::Own { request: own, .. } if own == request);
        if let Some(place) = self.matching.find_message(&tuple, own) {
            let arrival = self.matching.take_unexpected(place);
            self.drop_arrival(arrival);
            self.cancelled(request);
        }
    }

    /// A sender wants a message back: possible while nothing has matched it.
    pub(super) fn give_back(&mut self, from: Proc, tuple: Tuple, sender: u32) {
        let mine = |arrival: u32| {
            let arrival = self.arrivals.get(arrival);
            arrival.from == from
                && match arrival.body {
                    Body::Waiting { sender: other, .. } => other.request == sender,
                    Body::Bytes { sync, .. } => sync.is_some_and(|other| other.request == sender),
                    Body::Short(_) | Body::Own { .. } | Body::Missing(_) => false,
                }
        };
        let place = self.matching.find_message(&tuple, mine);
        if let Some(place) = place {
            let arrival = self.matching.take_unexpected(place);
            self.drop_arrival(arrival);
        }
        self.control(from, Packet::Cancelled { sender, success: place.is_some() });
    }
}
