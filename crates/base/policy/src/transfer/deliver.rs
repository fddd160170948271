//! Who copies the bytes of a message, and by which mechanism, once its receive is known: the steps that a device takes.
//!
//! The device states the facts of the message as a [`Situation`], and does what it is told. Where a step turns out to be impossible, the
//! message goes in packets.

use std::ops::RangeInclusive;

use super::{By, Chooser, Situation, Stage, Transfer};
use crate::offload::{self, is_worth_a_thread};
use crate::plan::CopyMode;
use tern_settings::Mechanism;

/// Bytes that one side copies at a time when both are at work: of a message up to twice as long two chunks, which are as many as two
/// processes need, but not less than the lower bound. The first is the sender's, who begins a little sooner.
pub const CHUNK: RangeInclusive<u64> = 16 << 10..=32 << 10;
/// The most bytes that each of two processes has the kernel copy at a time.
const KERNEL_CHUNK: u64 = 64 << 10;

/// Bytes that each of two processes which copy one message together copies at a time. By the kernel that is half of a short message.
pub fn chunk(len: u64, by_kernel: bool) -> u64 {
    match by_kernel {
        true => len.div_ceil(2).next_multiple_of(4096).min(KERNEL_CHUNK),
        false if len <= 2 * CHUNK.end() => (len / 16 * 9).next_multiple_of(64).max(*CHUNK.start()),
        false => *CHUNK.end(),
    }
}

/// What the sender of a message does with a published receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deliver {
    /// It leaves the receive alone: the message goes on the stream, at once or after a request.
    Stream,
    /// It sends packets for the receive.
    Packets,
    /// It copies alone, through its view of the receiver's memory.
    Mapped,
    /// Both copy, chunk by chunk, through their views.
    Joint {
        /// The first chunk is the sender's. Else the sender leaves as much as it can to the receiver.
        begins: bool,
    },
    /// It has the kernel copy.
    Kernel,
    /// Both have the kernel copy, chunk by chunk.
    JointKernel,
    /// A thread of this process copies, chunk by chunk, and so may the receiver; or the kernel module copies all of it.
    HandedOver(offload::By),
}

/// What the receiver of a message that waits at its sender does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Get {
    /// It takes packets.
    Packets,
    /// It copies alone, through its view of the sender's memory.
    Mapped,
    /// Both copy, chunk by chunk, through their views.
    Joint,
    /// It has the kernel copy.
    Kernel,
    /// Both have the kernel copy, chunk by chunk.
    JointKernel,
    /// A thread of this process copies, chunk by chunk, and so may the sender; or the kernel module copies all of it.
    HandedOver(offload::By),
}

impl Situation {
    /// Whether it matters that the other process waits, which takes time to find out. Who gets a message out of shared memory into private
    /// memory does it alone, and so does who has one chunk of it to copy.
    #[inline]
    pub fn needs_the_other(&self) -> bool {
        let gets = self.stage != Stage::Published && self.source_shared;
        !gets || (self.target_shared && self.size > *CHUNK.start())
    }
}

impl Chooser {
    /// Who copies the message beside the program, if somebody does. Then neither side's program has to wait for it, so what trials have found of
    /// calls that copy does not count.
    fn hands_over(&self, situation: &Situation) -> Option<offload::By> {
        if !situation.has_copier {
            return None;
        }
        let asked = tern_settings::OFFLOAD.get();
        let shared = situation.source_shared && situation.target_shared;
        let kernel = (situation.push || situation.pull) && situation.block == 0;
        let goes = || offload::goes_to_module(asked, self.costs(), situation.placement, situation.size);
        let module = kernel && situation.by_module && goes();
        let by = match self.asked() {
            Mechanism::Auto if shared => offload::By::View,
            Mechanism::Mapped => shared.then_some(offload::By::View)?,
            Mechanism::Auto | Mechanism::Module if module => offload::By::Module,
            Mechanism::Auto | Mechanism::Cma => kernel.then_some(offload::By::Number)?,
            Mechanism::Pipe | Mechanism::Module => return None,
        };
        let long = is_worth_a_thread(self.costs(), situation.placement, by != offload::By::View, situation.size);
        (long && (by == offload::By::Module || offload::has_thread(asked))).then_some(by)
    }

    /// What the sender does that sees a published receive. `waits`: its program waits for the message. `copy`: what trials have found.
    #[inline]
    pub fn deliver(&self, situation: &Situation, waits: bool, copy: CopyMode, now: impl FnOnce() -> u64) -> Deliver {
        if let Some(by) = self.hands_over(situation) {
            return Deliver::HandedOver(by);
        }
        let both = situation.allows(Transfer::Mapped { by: By::Both }) && !situation.crowded;
        // One chunk is copied faster by who reads from the other's cache than by who writes to what the other has. A sender that could
        // compute leaves all of it.
        let joint = || Deliver::Joint { begins: waits && situation.size > chunk(situation.size, false) };
        if situation.source_shared && situation.target_shared {
            match copy {
                CopyMode::Packets => return Deliver::Packets,
                CopyMode::Single if both => return joint(),
                CopyMode::Single => return Deliver::Mapped,
                CopyMode::ByDevice => {}
            }
        }
        let private = !situation.source_shared && !situation.target_shared;
        if (!situation.eager || private) && !waits && !both && situation.other_waits {
            // The receiver has time to fetch it, or to take packets if the sender soon waits too.
            return Deliver::Stream;
        }
        match self.pick(situation, now) {
            Transfer::Eager => Deliver::Stream,
            Transfer::Pipe => Deliver::Packets,
            Transfer::Mapped { .. } if both => joint(),
            Transfer::Mapped { by: By::Both | By::Sender } => Deliver::Mapped,
            Transfer::Cma { by: By::Both } if waits => Deliver::JointKernel,
            Transfer::Cma { by: By::Sender | By::Both } => Deliver::Kernel,
            // The sender asks to send, and the receiver fetches.
            Transfer::Mapped { by: By::Receiver } | Transfer::Cma { by: By::Receiver } => Deliver::Stream,
        }
    }

    /// What the receiver does that may get a message from where it lies.
    #[inline]
    pub fn get(&self, situation: &Situation, now: impl FnOnce() -> u64) -> Get {
        if let Some(by) = self.hands_over(situation) {
            return Get::HandedOver(by);
        }
        let shares =
            |by, by_kernel| by == By::Both && !situation.crowded && situation.size > chunk(situation.size, by_kernel);
        match self.pick(situation, now) {
            Transfer::Mapped { by } if shares(by, false) => Get::Joint,
            Transfer::Mapped { .. } => Get::Mapped,
            Transfer::Cma { by } if shares(by, true) => Get::JointKernel,
            Transfer::Cma { .. } => Get::Kernel,
            Transfer::Eager | Transfer::Pipe => Get::Packets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SingleCopy;
    use super::offload::By;
    use super::*;
    use crate::costs::{Costs, Curve, Mover};
    use std::rc::Rc;
    use tern_settings::Mechanism;

    const LONG: u64 = 1 << 20;

    /// A byte takes 1 ns by these movers, and 10 ns by all others.
    fn chooser(quick: &[Mover]) -> Chooser {
        let mut costs = Costs::default();
        let line = |slope: f64| Curve::new(vec![(0, 0.0), (1 << 30, slope * f64::from(1 << 30))]).expect("a curve");
        for pace in &mut costs.paces {
            for mover in Mover::ALL {
                let slope = if quick.contains(&mover) { 1.0 } else { 10.0 };
                pace.movers[mover as usize] = std::array::from_fn(|_| line(slope));
            }
        }
        Chooser::new(Rc::new(costs), Mechanism::Auto, SingleCopy::default())
    }

    fn shared(stage: Stage) -> Situation {
        let size = LONG;
        Situation { size, stage, source_shared: true, target_shared: true, eager: false, ..Situation::default() }
    }

    fn private(stage: Stage) -> Situation {
        let kernel = Situation { push: stage == Stage::Published, pull: stage == Stage::Requested, ..shared(stage) };
        Situation { source_shared: false, target_shared: false, ..kernel }
    }

    #[test]
    fn trials_decide_between_shared_memories() {
        let chooser = chooser(&[Mover::Pipe]);
        let deliver = |situation: &Situation, copy| chooser.deliver(situation, true, copy, || 0);
        let waits = shared(Stage::Published);
        assert_eq!(deliver(&waits, CopyMode::Packets), Deliver::Packets);
        assert_eq!(deliver(&waits, CopyMode::Single), Deliver::Joint { begins: true });
        let computes = Situation { other_waits: false, ..waits };
        assert_eq!(deliver(&computes, CopyMode::Single), Deliver::Mapped);
        let crowded = Situation { crowded: true, ..waits };
        assert_eq!(deliver(&crowded, CopyMode::Single), Deliver::Mapped);
        let from_private = Situation { source_shared: false, other_waits: false, ..waits };
        assert_eq!(deliver(&from_private, CopyMode::Packets), Deliver::Mapped, "the trial was of other memory");
    }

    #[test]
    fn a_sender_begins_what_it_waits_for_and_what_has_several_chunks() {
        let chooser = chooser(&[Mover::MappedBoth]);
        let deliver = |size, waits| {
            let situation = Situation { size, ..shared(Stage::Published) };
            chooser.deliver(&situation, waits, CopyMode::ByDevice, || 0)
        };
        assert_eq!(deliver(LONG, true), Deliver::Joint { begins: true });
        assert_eq!(deliver(LONG, false), Deliver::Joint { begins: false });
        assert_eq!(deliver(*CHUNK.start(), true), Deliver::Joint { begins: false });
    }

    #[test]
    fn a_receiver_that_has_time_fetches_what_its_sender_does_not_wait_for() {
        let chooser = chooser(&[Mover::CmaBoth]);
        let deliver = |situation: &Situation, waits| chooser.deliver(situation, waits, CopyMode::ByDevice, || 0);
        let waits = private(Stage::Published);
        assert_eq!(deliver(&waits, false), Deliver::Stream);
        assert_eq!(deliver(&waits, true), Deliver::JointKernel);
        assert_eq!(deliver(&Situation { other_waits: false, ..waits }, false), Deliver::Kernel);
    }

    #[test]
    fn packets_are_for_a_receive_and_eager_ones_are_not() {
        let deliver = |quick, eager| {
            let situation = Situation { eager, ..private(Stage::Published) };
            chooser(&[quick]).deliver(&situation, true, CopyMode::ByDevice, || 0)
        };
        assert_eq!([deliver(Mover::Pipe, false), deliver(Mover::Eager, true)], [Deliver::Packets, Deliver::Stream]);
    }

    #[test]
    fn a_receiver_gets_a_message_alone_or_with_its_sender() {
        let get = |quick: &[Mover], situation: Situation| chooser(quick).get(&situation, || 0);
        let (shared, private) = (shared(Stage::Requested), private(Stage::Requested));
        assert_eq!(get(&[Mover::MappedBoth], shared), Get::Joint);
        assert_eq!(get(&[Mover::Mapped], shared), Get::Mapped);
        assert_eq!(get(&[Mover::CmaBoth], private), Get::JointKernel);
        assert_eq!(get(&[Mover::CmaBoth], Situation { other_waits: false, ..private }), Get::Kernel);
        assert_eq!(get(&[Mover::Pipe], private), Get::Packets);
        for situation in [shared, private] {
            let one = get(&[Mover::MappedBoth, Mover::CmaBoth], Situation { crowded: true, ..situation });
            assert!(!matches!(one, Get::Joint | Get::JointKernel), "two on one core do not help each other: {one:?}");
        }
    }

    #[test]
    fn a_thread_copies_what_is_long_enough_by_the_mechanism_that_is_possible() {
        let costs = Costs::default();
        let asked = |asked| Chooser::new(Rc::new(costs.clone()), asked, SingleCopy::default());
        let auto = asked(Mechanism::Auto);
        let with = |situation: Situation| Situation { has_copier: true, ..situation };
        let deliver = |chooser: &Chooser, situation, copy| chooser.deliver(&with(situation), false, copy, || 0);
        let over = Deliver::HandedOver;
        let published = Stage::Published;
        assert_eq!(deliver(&auto, shared(published), CopyMode::Packets), over(By::View));
        assert_eq!(deliver(&auto, private(published), CopyMode::ByDevice), over(By::Number));
        assert_eq!(auto.get(&with(private(Stage::Requested)), || 0), Get::HandedOver(By::Number));
        assert_eq!(auto.get(&with(shared(Stage::Requested)), || 0), Get::HandedOver(By::View));
        // The module copies declared memory quicker than CMA by these costs, and needs no thread.
        let declared = Situation { by_module: true, ..private(published) };
        assert_eq!(deliver(&auto, declared, CopyMode::ByDevice), over(By::Module));
        assert_eq!(deliver(&asked(Mechanism::Module), declared, CopyMode::ByDevice), over(By::Module));
        assert_eq!(deliver(&asked(Mechanism::Cma), declared, CopyMode::ByDevice), over(By::Number));
        let short = Situation { size: 4 << 10, ..private(published) };
        assert!(!matches!(deliver(&auto, short, CopyMode::ByDevice), Deliver::HandedOver(_)));
        let pieces = Situation { block: 8 << 10, ..private(published) };
        assert!(!matches!(deliver(&auto, pieces, CopyMode::ByDevice), Deliver::HandedOver(_)));
        let refused = Situation { push: false, ..private(published) };
        assert!(!matches!(deliver(&auto, refused, CopyMode::ByDevice), Deliver::HandedOver(_)));
        for (mechanism, wanted) in
            [(Mechanism::Cma, Some(By::Number)), (Mechanism::Mapped, Some(By::View)), (Mechanism::Pipe, None)]
        {
            let step = deliver(&asked(mechanism), Situation { push: true, ..shared(published) }, CopyMode::ByDevice);
            assert_eq!(wanted.is_some(), matches!(step, Deliver::HandedOver(by) if Some(by) == wanted));
        }
    }

    #[test]
    fn the_other_is_looked_at_where_two_may_copy() {
        let needs = |stage, source_shared, target_shared, size| {
            Situation { stage, source_shared, target_shared, size, ..Situation::default() }.needs_the_other()
        };
        for size in [*CHUNK.start(), LONG] {
            assert!(needs(Stage::Published, true, true, size) && needs(Stage::Published, true, false, size));
            assert!(needs(Stage::Requested, false, true, size) && needs(Stage::Requested, false, false, size));
            assert!(!needs(Stage::Requested, true, false, size));
        }
        assert!(!needs(Stage::Requested, true, true, *CHUNK.start()) && needs(Stage::Requested, true, true, LONG));
    }

    #[test]
    fn two_share_a_message_in_two_chunks_or_more() {
        assert_eq!(
            [1, 16 << 10, 64 << 10, LONG].map(|len| chunk(len, false)),
            [16 << 10, 16 << 10, 36 << 10, 32 << 10]
        );
        assert_eq!([32 << 10, 64 << 10, LONG].map(|len| chunk(len, true)), [16 << 10, 32 << 10, KERNEL_CHUNK]);
    }
}
