//! Composer: both processes copy one message: the receiver has begun, and the sender takes part if it waits in the library. Whether that is worth it is
//! told by the policy ([`tern_policy::transfer::Get`]), before the device is asked to [get](super::get) the message.

use crate::Proc;
use crate::packet::Packet;
use crate::state::State;
use crate::transfer::Stage;
use tern_mcm::{Pull, PushTo};

impl State {
    /// Tells the sender that it may take part in copy `number`.
    pub(super) fn ask_to_join(&mut self, from: Proc, sender: u32, number: u64) {
        self.control(from, Packet::Join { sender, number });
    }

    /// `Join`: the receiver copies the message, and this side may help.
    pub(in crate::state) fn join(&mut self, from: Proc, request: u32, number: u64) {
        // Both have the kernel copy from the address: the place does not matter any more.
        self.unconfirmed.end_misplaced(request);
        let source = self.requests.get(request).data.memory();
        let joined =
            self.mcm.direct().map_or(Pull::No, |direct| direct.push(from, &source, PushTo::Joint(number), request));
        match joined {
            Pull::Done => self.advance_send(request, true, true),
            Pull::No => {
                let header = Packet::Join { sender: request, number }.encode();
                self.report_damaged(from, &header, 0, "no copy has that number");
            }
            Pull::Pending | Pull::Unordered | Pull::Joint(_) => self.requests.get_mut(request).stage = Stage::Unnamed,
        }
    }
}
