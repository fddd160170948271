//! Transfers that are over, found by who asks for one of them, without a look at everything else.

use super::{Side, State};
use crate::Proc;
use crate::packet::Packet;
use tern_mcm::{Sink, lock};

/// Of so many looks at one transfer only, one is left out.
const QUICK: u32 = 64;

impl State {
    /// True when `request` is a published receive, or a long send, and is found to be over. Now and then it does not look, so that a program
    /// whose messages are always there already does not wait without end for anything else.
    #[inline]
    pub fn take_ended(&mut self, request: u32) -> bool {
        let transfer = self.transfers.get(request);
        let len = transfer.data.len();
        if len < self.direct_from {
            return false;
        }
        self.quick = self.quick.wrapping_add(1);
        if self.quick.is_multiple_of(QUICK) {
            return false;
        }
        match transfer.side {
            Side::Send { to, .. } => self.take_sent(request) || self.take_answer(to, request),
            Side::Receive { published, .. } if published.is_published() => {
                let Some(size) = self.direct().take_filled(published.peer, published.slot(), len as u64) else {
                    return false;
                };
                self.filled(request, size);
                true
            }
            Side::Receive { .. } => false,
        }
    }

    fn take_sent(&mut self, request: u32) -> bool {
        let over = self.direct().take_sent(request);
        if over {
            self.end_push(request);
        }
        over && self.transfers.get(request).done
    }

    /// Looks whether the next packet from `to` ends send `request`, and takes it then. Any other stays for a look at everything: it may take long,
    /// and who waits has not begun to.
    fn take_answer(&mut self, to: Proc, request: u32) -> bool {
        if to == self.mcm.me() || lock::enabled() {
            // As all that goes past the look at everything, it is for programs whose calls come one at a time.
            return false;
        }
        let mcm = self.mcm.clone();
        mcm.take_next(to, 1, |header, payload| {
            let ends = Packet::ends(header, request);
            if ends {
                self.packet(to, header, payload);
            }
            ends
        });
        self.transfers.get(request).done
    }
}
