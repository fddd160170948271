//! Whether a peer that sends many short packets is offered a ring in the memory of their receiver: the rule `rings`.

use crate::rules;
use core::cell::Cell;

/// The most packets past a ring before it is used again.
const PATIENCE: u32 = 1 << 12;

/// What there is of a ring for the packets of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// There is none yet. `room`: this process may have one more.
    None {
        /// See there.
        room: bool,
    },
    /// The peer writes to it, or has not said yet that it does not any more.
    InUse,
    /// The peer writes nothing to it.
    Paused,
}

/// What is said to a peer about a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingStep {
    /// A new one is made and offered.
    Offer,
    /// The paused one is used again.
    Resume,
}

/// How many packets of a peer come past a ring.
#[derive(Debug)]
pub struct RingDemand {
    /// Since it was last thought of.
    past: Cell<u32>,
    /// After so many it is thought of.
    after: Cell<u32>,
}

impl RingDemand {
    /// A ring is offered after so many packets.
    pub fn new(after: u32) -> RingDemand {
        RingDemand { past: Cell::new(0), after: Cell::new(after) }
    }

    /// A packet that a ring would have had room for has come past it: what to say to its sender. `ring` is asked now and then.
    #[inline]
    pub fn pass(&self, ring: impl FnOnce() -> Ring) -> Option<RingStep> {
        self.past.set(self.past.get() + 1);
        if self.past.get() < self.after.get() {
            return None;
        }
        self.past.set(0);
        let step = match ring() {
            Ring::None { room: true } => RingStep::Offer,
            Ring::Paused => RingStep::Resume,
            Ring::None { room: false } | Ring::InUse => return None,
        };
        rules::RINGS.applies().then_some(step)
    }

    /// The peer is asked to pause, since this process is about to sleep: it takes twice as many packets until the ring is used again.
    pub fn pause(&self) {
        self.after.set((self.after.get() * 2).clamp(1, PATIENCE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets until something is said, and what.
    fn until(demand: &RingDemand, ring: Ring) -> (u32, RingStep) {
        (1..).find_map(|packet| demand.pass(|| ring).map(|step| (packet, step))).expect("it is thought of")
    }

    #[test]
    fn a_ring_is_offered_after_so_many_packets_and_used_again_later_each_time() {
        let demand = RingDemand::new(64);
        assert_eq!(until(&demand, Ring::None { room: true }), (64, RingStep::Offer));
        for after in [128, 256, 512, 1024, 2048, 4096, 4096] {
            demand.pause();
            assert_eq!(until(&demand, Ring::Paused), (after, RingStep::Resume));
        }
    }

    #[test]
    fn nothing_is_said_where_a_ring_is_in_use_or_none_can_be_had() {
        let demand = RingDemand::new(4);
        assert!((0..100).all(|_| demand.pass(|| Ring::InUse).is_none()));
        assert!((0..100).all(|_| demand.pass(|| Ring::None { room: false }).is_none()));
    }

    #[test]
    fn one_that_is_asked_to_pause_at_once_is_not_used_for_each_packet() {
        let demand = RingDemand::new(0);
        assert_eq!(until(&demand, Ring::None { room: true }).0, 1);
        (0..2).for_each(|_| demand.pause());
        assert_eq!(until(&demand, Ring::Paused).0, 2);
    }
}
