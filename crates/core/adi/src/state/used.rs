//! Composer: notes which ways were taken, where the user has asked for that.

use super::State;
use crate::Proc;
use crate::transfer::Published;
use tern_mcm::Delivery;
use tern_policy::pair::Pair;
use tern_policy::transfer::{ChosenBy, Deliver};
use tern_policy::{
    Decision, Maker, Packets, Reason, RecvFacts, RecvPlan, RndvFacts, RndvPlan, SendPlan, Unpublished, Why,
};

const PACKETS: SendPlan = SendPlan::Deliver(Deliver::Packets);

impl State {
    /// How far `peer` is, for the user.
    fn class_of(&self, peer: Proc) -> &'static str {
        if peer == self.mcm.me() {
            return "to itself";
        }
        self.mcm.direct().map_or("over a network", |direct| direct.pair(peer).class)
    }

    /// A transfer between this process and `peer` goes so.
    #[cold]
    pub fn note_used(&mut self, operation: &str, peer: Proc, len: usize, way: &str, why: Why) {
        let class = self.class_of(peer);
        if let Some(used) = &mut self.used {
            used.note(operation, class, len, way, &why.to_string());
        }
    }

    /// By which mechanism the last message to or from `peer` was moved.
    pub fn mechanism(&self, peer: Proc) -> &'static str {
        self.mcm.direct().map_or("packets", |direct| direct.mechanism(peer))
    }

    /// A message goes so.
    #[inline]
    pub(super) fn note_send(&mut self, to: Proc, len: usize, decision: &Decision) {
        if self.used.is_some() {
            self.note_used("send", to, len, decision.plan.text(), decision.reason.why("packets"));
        }
    }

    /// A message of `len` bytes to `to` was delivered so into a published receive.
    #[inline]
    pub(super) fn note_delivery(&mut self, to: Proc, len: usize, decision: &Decision, delivery: &Delivery) {
        if self.used.is_some() {
            self.note_delivered(to, len, decision, delivery);
        }
    }

    #[cold]
    fn note_delivered(&mut self, to: Proc, len: usize, decision: &Decision, delivery: &Delivery) {
        let (way, why) = match delivery {
            Delivery::Done | Delivery::Pending => (decision.plan, decision.reason.why(self.mechanism(to))),
            Delivery::Packets { .. } if decision.plan == PACKETS => (PACKETS, decision.reason.why("packets")),
            Delivery::Packets { .. } => (PACKETS, Why::new("the way that was chosen has failed", Maker::Default)),
            // It goes another way.
            Delivery::Stream => return,
        };
        self.note_used("send", to, len, way.text(), why);
    }

    /// A receive of which this is known goes so.
    #[inline]
    pub(super) fn note_receive(&mut self, from: Proc, facts: &RecvFacts, plan: RecvPlan) {
        if self.used.is_some() {
            self.note_used("receive", from, facts.size, plan.text(), plan.why(facts));
        }
    }

    /// A receive of `len` bytes that was to be published is not, or not yet: `published` tells which.
    #[inline]
    pub(super) fn note_unpublished(&mut self, from: Proc, len: usize, kept: Unpublished, published: Published) {
        if self.used.is_some() {
            self.note_used("receive", from, len, Unpublished::text(published.is_watched()), kept.why());
        }
    }

    /// The bytes of a message that waited at its sender, of which this is known, are moved so. `by`: who has chosen how the receiver gets them.
    #[inline]
    pub(super) fn note_rendezvous(&mut self, from: Proc, facts: &RndvFacts, plan: RndvPlan, by: ChosenBy) {
        if self.used.is_some() {
            let why = plan.why(facts, &self.direct_pair(from), by, self.mechanism(from));
            self.note_used("receive of a message that waits at its sender", from, facts.bytes, plan.text(), why);
        }
    }

    #[cold]
    fn direct_pair(&self, peer: Proc) -> Pair {
        self.mcm.direct().map_or_else(Pair::default, |direct| direct.pair(peer))
    }

    /// A message that asks nothing goes in packets. Those of the short path are counted for all peers together.
    #[inline]
    pub(super) fn note_short(&mut self, to: Proc, len: usize) {
        if self.used.is_some() && !self.short.takes(len) {
            let plan = SendPlan::Eager(Packets::Only);
            self.note_used("send", to, len, plan.text(), Reason::Short.why("packets"));
        }
    }
}
