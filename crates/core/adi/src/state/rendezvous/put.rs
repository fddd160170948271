//! Composer: the sender puts the bytes where the receiver says that they belong (RPUT), by its network card.

use super::Wanted;
use crate::Proc;
use crate::packet::Packet;
use crate::parts::rendezvous::Fin;
use crate::parts::stream::Outgoing;
use crate::state::State;
use crate::transfer::Stage;
use tern_mcm::{Memory, Pull, PushTo};

impl State {
    /// Asks the sender to put its message where it belongs. False if the card cannot reach that.
    pub(super) fn invite(&mut self, wanted: &Wanted) -> bool {
        let &Wanted { request, from, sender, bytes, .. } = wanted;
        self.learned.transfer();
        self.unconfirmed.forget(from, sender);
        let target = self.locate(request, from, false);
        if target.key == 0 || target.is_opaque() {
            return false;
        }
        self.requests.get_mut(request).stage = Stage::Invited;
        let header = Packet::Rtr { sender, receiver: request, bytes }.encode();
        self.stream.queue(from, Outgoing::Located(header, target));
        self.flush(from);
        true
    }

    /// `Rtr`: the receiver wants `bytes` bytes in the memory that `words` tell, or else in packets.
    pub(in crate::state) fn rtr(&mut self, from: Proc, request: u32, receiver: u32, bytes: u64, words: &[u8]) {
        let pushed = match (self.rendezvous.located(request), Memory::decode(words)) {
            (Some(source), Some(target)) => self.direct().push(from, source, PushTo::Memory(&target), request),
            // The words did not travel whole.
            _ => Pull::No,
        };
        if pushed == Pull::No {
            return self.cts(from, request, receiver, bytes);
        }
        self.requests.get_mut(request).stage = Stage::Unnamed;
        if pushed == Pull::Unordered {
            self.rendezvous.start_put(request, Fin { to: from, receiver });
            return;
        }
        self.control(from, Packet::Fin { receiver });
        if pushed == Pull::Done {
            self.advance_send(request, true, true);
        }
    }

    /// The data of a send is where it belongs. A receiver that was not told by what came behind the data is told now.
    pub(in crate::state) fn end_push(&mut self, request: u32) {
        if let Some(Fin { to, receiver }) = self.rendezvous.end_put(request) {
            self.control(to, Packet::Fin { receiver });
        }
        self.advance_send(request, true, true);
    }
}
