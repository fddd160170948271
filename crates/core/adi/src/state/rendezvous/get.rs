//! Composer: the receiver gets the bytes from where they lie (RGET): a copy inside a node, a read by the network card between nodes.

use super::Wanted;
use crate::packet::Packet;
use crate::parts::rendezvous::Get;
use crate::state::State;
use tern_mcm::{Pull, PullTo, way_from};
use tern_policy::transfer::ChosenBy;

impl State {
    /// Gets the message that waits at its sender. False if that is not possible, or packets are better. Tells who has chosen the way.
    pub(super) fn get(&mut self, wanted: &Wanted, by: &mut ChosenBy) -> bool {
        let &Wanted { request, from, sender, source, .. } = wanted;
        self.learned.transfer();
        let len = source.len as usize;
        let exchanges = self.call_exchanges(from, len);
        let fetched = self.direct().pair(from).is_fetched(len, self.eager_limit(from));
        let target = match tern_policy::locates_target(source.place != 0, exchanges, fetched) {
            true => self.locate(request, from, false),
            false => self.requests.get(request).data.memory(),
        };
        let (direct, then) = (self.direct(), self.then(false));
        let chosen = way_from(direct, self.chooser.as_deref(), from, (&source, &target), then, self.clock);
        *by = chosen.by;
        let pull = direct.pull(from, &source, PullTo::Receive(&target, request, chosen.way));
        if pull != Pull::Done {
            self.unconfirmed.forget(from, sender);
        }
        match pull {
            Pull::No => return false,
            Pull::Done => self.end_copied(wanted),
            Pull::Pending | Pull::Unordered => self.rendezvous.start_get(Get { receiver: request, from, sender }),
            Pull::Joint(number) => self.ask_to_join(from, sender, number),
        }
        true
    }

    /// Request `receiver` has got its message; the sender wants to know, unless it was asked to help.
    pub(in crate::state) fn end_pull(&mut self, receiver: u32) {
        if let Some(Get { from, sender, .. }) = self.rendezvous.end_get(receiver) {
            self.control(from, Packet::Ats { sender });
        }
        self.complete(receiver);
    }
}
