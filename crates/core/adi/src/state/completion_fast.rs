//! Composer, short paths: transfers that are over, found by who asks for one of them, without a look at everything else.

use super::State;
use crate::packet::Packet;
use crate::transfer::Side;
use crate::{Proc, Status};
use tern_mcm::{Ended, Sink, lock};

impl State {
    /// The short path of [`State::filled`]: ends receive `request` if it is published and has got its whole message: frees it, and tells its status. One whose message was too long
    /// for it is over as well, but not freed, and `None` like those that are not.
    #[inline]
    pub fn end_filled_fast(&mut self, request: u32) -> Option<Status> {
        let transfer = self.requests.get(request);
        let Side::Receive { place, from, published, .. } = transfer.side else { return None };
        if !published.is_published() || self.requests.is_passed_over() {
            return None;
        }
        let transfer = self.requests.get(request);
        let receive = Ended::Receive { slot: published.slot(), room: transfer.data.len() as u64 };
        let size = self.direct().take_ended(published.peer, receive)?;
        let Status { source, tag, .. } = transfer.status;
        let status = transfer.data.received(source, tag, size);
        if status.is_whole() {
            self.filled_and_freed(request, from, place, published, &status);
            Some(status)
        } else {
            self.filled(request, size);
            None
        }
    }

    /// The short path of a look at everything: whether `request` is over, after a look for the end of a long send.
    pub fn take_ended_fast(&mut self, request: u32) -> bool {
        let transfer = self.requests.get(request);
        if let Side::Send { to, .. } = transfer.side
            && transfer.data.len() >= self.direct_from
            && !self.requests.is_passed_over()
            && !self.take_sent(to, request)
        {
            self.take_answer(to, request);
        }
        self.requests.get(request).done
    }

    fn take_sent(&mut self, to: Proc, request: u32) -> bool {
        let over = self.direct().take_ended(to, Ended::Send(request)).is_some();
        if over {
            self.end_push(request);
        }
        over && self.requests.get(request).done
    }

    /// Looks whether the next packet from `to` ends send `request`, and takes it then. Any other stays for a look at everything: it may take long,
    /// and who waits has not begun to.
    fn take_answer(&mut self, to: Proc, request: u32) {
        if to == self.mcm.me() || lock::enabled() {
            // As all that goes past the look at everything, it is for programs whose calls come one at a time.
            return;
        }
        let mcm = self.mcm.clone();
        mcm.take_next(to, 1, |header, payload| {
            let ends = Packet::ends(header, request);
            if ends {
                self.packet(to, header, payload);
            }
            ends
        });
    }
}
