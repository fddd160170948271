//! Composer: notes which ways were taken, where the user has asked for that.

use super::State;
use crate::Proc;
use tern_mcm::Delivery;
use tern_policy::{Decision, RecvPlan, RndvPlan, SendPlan};

impl State {
    /// How far `peer` is, for the user.
    fn class_of(&self, peer: Proc) -> &'static str {
        if peer == self.mcm.me() {
            return "to itself";
        }
        self.mcm.direct().map_or("over a network", |direct| direct.pair(peer).class)
    }

    #[cold]
    fn note_used(&mut self, operation: &str, peer: Proc, len: usize, way: &str, reason: &str) {
        let class = self.class_of(peer);
        if let Some(used) = &mut self.used {
            used.note(operation, class, len, way, reason);
        }
    }

    /// A message goes so.
    #[inline]
    pub(super) fn note_send(&mut self, to: Proc, len: usize, decision: &Decision) {
        if self.used.is_some() {
            self.note_used("send", to, len, decision.plan.text(), decision.reason.text());
        }
    }

    /// A message of `len` bytes to `to` was delivered so into a published receive.
    #[inline]
    pub(super) fn note_delivery(&mut self, to: Proc, len: usize, decision: &Decision, delivery: &Delivery) {
        if self.used.is_none() {
            return;
        }
        let way = match delivery {
            Delivery::Done => "one copy into the published receive",
            Delivery::Pending => "one copy into the published receive, by both processes or by the receiver",
            Delivery::Packets { .. } => "packets into the published receive",
            // It goes another way.
            Delivery::Stream => return,
        };
        self.note_used("send", to, len, way, decision.reason.text());
    }

    /// A receive goes so.
    #[inline]
    pub(super) fn note_receive(&mut self, from: Proc, len: usize, plan: RecvPlan) {
        if self.used.is_some() {
            let (way, reason) = plan.text();
            self.note_used("receive", from, len, way, reason);
        }
    }

    /// The bytes of a message that waited at its sender are moved so.
    #[inline]
    pub(super) fn note_rendezvous(&mut self, from: Proc, len: usize, plan: RndvPlan) {
        if self.used.is_some() {
            let (way, reason) = plan.text();
            self.note_used("receive of a message that waits at its sender", from, len, way, reason);
        }
    }

    /// A message that asks nothing goes in packets. Those of the short path are counted for all peers together.
    #[inline]
    pub(super) fn note_short(&mut self, to: Proc, len: usize) {
        if self.used.is_some() && self.short.plan_fast(len).is_none() {
            let (plan, reason) = (SendPlan::Eager(tern_policy::Packets::Only), tern_policy::Reason::Short);
            self.note_used("send", to, len, plan.text(), reason.text());
        }
    }
}
