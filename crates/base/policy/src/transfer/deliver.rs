//! Who copies the bytes of a message, and by which mechanism, once its receive is known.
//!
//! The device states the facts of the message as a [`Situation`], and does what it is told by the plan. Where that turns out to be impossible, the
//! message goes in packets.

use core::ops::RangeInclusive;

use super::{By, Chooser, Chosen, ChosenBy, Situation, Stage, Transfer};
use crate::offload::{self, is_worth_a_thread};
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

/// What a sender knows of the copy into a published receive, before it is known where that lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMode {
    /// One copy has proved quicker, or the program computes meanwhile. It holds between shared memories.
    Single,
    /// Packets have proved quicker. It holds between shared memories.
    Packets,
    /// Nothing: the costs tell.
    ByCosts,
}

/// How the sender of a message gets it into a published receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deliver {
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
    /// A network card writes it there. Its device knows no other way.
    Card,
}

impl Deliver {
    /// For the user.
    pub fn text(self) -> &'static str {
        match self {
            Deliver::Packets => "packets into the published receive",
            Deliver::Mapped | Deliver::Kernel | Deliver::Card => "one copy into the published receive",
            Deliver::Joint { .. } | Deliver::JointKernel => {
                "one copy into the published receive, by both processes or by the receiver"
            }
            Deliver::HandedOver(offload::By::Module) => {
                "one copy into the published receive, by the kernel module beside the program"
            }
            Deliver::HandedOver(_) => "one copy into the published receive, by a thread beside the program",
        }
    }
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
    /// A network card reads it. Its device knows no other way.
    Card,
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

    /// How a message gets into the published receive that its sender sees. `None`: the sender leaves that receive alone, and the message goes on the
    /// stream, at once or after a request. `waits`: its program waits for the message. `copy`: what trials have found.
    #[inline]
    pub fn deliver(
        &self, situation: &Situation, waits: bool, copy: CopyMode, now: impl FnOnce() -> u64,
    ) -> Option<Chosen<Deliver>> {
        let chosen = |way, by| Some(Chosen { way, by });
        if let Some(by) = self.hands_over(situation) {
            return chosen(Deliver::HandedOver(by), ChosenBy::Offload);
        }
        let both = situation.allows(Transfer::Mapped { by: By::Both }) && !situation.crowded;
        // One chunk is copied faster by who reads from the other's cache than by who writes to what the other has. A sender that could
        // compute leaves all of it.
        let joint = || Deliver::Joint { begins: waits && situation.size > chunk(situation.size, false) };
        if situation.source_shared && situation.target_shared {
            match copy {
                CopyMode::Packets => return chosen(Deliver::Packets, ChosenBy::Plan),
                CopyMode::Single if both => return chosen(joint(), ChosenBy::Plan),
                CopyMode::Single => return chosen(Deliver::Mapped, ChosenBy::Plan),
                CopyMode::ByCosts => {}
            }
        }
        let private = !situation.source_shared && !situation.target_shared;
        if (!situation.eager || private) && !waits && !both && situation.other_waits {
            // The receiver has time to fetch it, or to take packets if the sender soon waits too.
            return None;
        }
        let way = match self.pick(situation, now) {
            Transfer::Pipe => Deliver::Packets,
            Transfer::Mapped { .. } if both => joint(),
            Transfer::Mapped { by: By::Both | By::Sender } => Deliver::Mapped,
            Transfer::Cma { by: By::Both } if waits => Deliver::JointKernel,
            Transfer::Cma { by: By::Sender | By::Both } => Deliver::Kernel,
            // The sender asks to send, and the receiver fetches.
            Transfer::Eager | Transfer::Mapped { by: By::Receiver } | Transfer::Cma { by: By::Receiver } => {
                return None;
            }
        };
        chosen(way, self.picked_by(situation))
    }

    /// What the receiver does that may get a message from where it lies.
    #[inline]
    pub fn get(&self, situation: &Situation, now: impl FnOnce() -> u64) -> Chosen<Get> {
        if let Some(by) = self.hands_over(situation) {
            return Chosen { way: Get::HandedOver(by), by: ChosenBy::Offload };
        }
        let shares =
            |by, by_kernel| by == By::Both && !situation.crowded && situation.size > chunk(situation.size, by_kernel);
        let way = match self.pick(situation, now) {
            Transfer::Mapped { by } if shares(by, false) => Get::Joint,
            Transfer::Mapped { .. } => Get::Mapped,
            Transfer::Cma { by } if shares(by, true) => Get::JointKernel,
            Transfer::Cma { .. } => Get::Kernel,
            Transfer::Eager | Transfer::Pipe => Get::Packets,
        };
        Chosen { way, by: self.picked_by(situation) }
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
        let deliver =
            |situation: &Situation, copy| chooser.deliver(situation, true, copy, || 0).expect("not on the stream");
        let told = |way| Chosen { way, by: ChosenBy::Plan };
        let waits = shared(Stage::Published);
        assert_eq!(deliver(&waits, CopyMode::Packets), told(Deliver::Packets));
        assert_eq!(deliver(&waits, CopyMode::Single), told(Deliver::Joint { begins: true }));
        let computes = Situation { other_waits: false, ..waits };
        assert_eq!(deliver(&computes, CopyMode::Single), told(Deliver::Mapped));
        let crowded = Situation { crowded: true, ..waits };
        assert_eq!(deliver(&crowded, CopyMode::Single), told(Deliver::Mapped));
        let from_private = Situation { source_shared: false, other_waits: false, ..waits };
        let mapped = Chosen { way: Deliver::Mapped, by: ChosenBy::Costs };
        assert_eq!(deliver(&from_private, CopyMode::Packets), mapped, "the trial was of other memory");
    }

    #[test]
    fn a_sender_begins_what_it_waits_for_and_what_has_several_chunks() {
        let chooser = chooser(&[Mover::MappedBoth]);
        let deliver = |size, waits| {
            let situation = Situation { size, ..shared(Stage::Published) };
            chooser.deliver(&situation, waits, CopyMode::ByCosts, || 0).expect("not on the stream").way
        };
        assert_eq!(deliver(LONG, true), Deliver::Joint { begins: true });
        assert_eq!(deliver(LONG, false), Deliver::Joint { begins: false });
        assert_eq!(deliver(*CHUNK.start(), true), Deliver::Joint { begins: false });
    }

    #[test]
    fn a_receiver_that_has_time_fetches_what_its_sender_does_not_wait_for() {
        let chooser = chooser(&[Mover::CmaBoth]);
        let deliver = |situation: &Situation, waits| {
            chooser.deliver(situation, waits, CopyMode::ByCosts, || 0).map(|chosen| chosen.way)
        };
        let waits = private(Stage::Published);
        assert_eq!(deliver(&waits, false), None);
        assert_eq!(deliver(&waits, true), Some(Deliver::JointKernel));
        assert_eq!(deliver(&Situation { other_waits: false, ..waits }, false), Some(Deliver::Kernel));
    }

    #[test]
    fn packets_are_for_a_receive_and_eager_ones_are_not() {
        let deliver = |quick, eager| {
            let situation = Situation { eager, ..private(Stage::Published) };
            chooser(&[quick]).deliver(&situation, true, CopyMode::ByCosts, || 0).map(|chosen| chosen.way)
        };
        assert_eq!([deliver(Mover::Pipe, false), deliver(Mover::Eager, true)], [Some(Deliver::Packets), None]);
    }

    #[test]
    fn a_receiver_gets_a_message_alone_or_with_its_sender() {
        let get = |quick: &[Mover], situation: Situation| chooser(quick).get(&situation, || 0).way;
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
        let over = |by| Some(Chosen { way: Deliver::HandedOver(by), by: ChosenBy::Offload });
        let get = |by| Chosen { way: Get::HandedOver(by), by: ChosenBy::Offload };
        let handed = |chosen: Option<Chosen<Deliver>>| match chosen?.way {
            Deliver::HandedOver(by) => Some(by),
            _ => None,
        };
        let published = Stage::Published;
        assert_eq!(deliver(&auto, shared(published), CopyMode::Packets), over(By::View));
        assert_eq!(deliver(&auto, private(published), CopyMode::ByCosts), over(By::Number));
        assert_eq!(auto.get(&with(private(Stage::Requested)), || 0), get(By::Number));
        assert_eq!(auto.get(&with(shared(Stage::Requested)), || 0), get(By::View));
        // The module copies declared memory quicker than CMA by these costs, and needs no thread.
        let declared = Situation { by_module: true, ..private(published) };
        assert_eq!(deliver(&auto, declared, CopyMode::ByCosts), over(By::Module));
        assert_eq!(deliver(&asked(Mechanism::Module), declared, CopyMode::ByCosts), over(By::Module));
        assert_eq!(deliver(&asked(Mechanism::Cma), declared, CopyMode::ByCosts), over(By::Number));
        let short = Situation { size: 4 << 10, ..private(published) };
        assert_eq!(handed(deliver(&auto, short, CopyMode::ByCosts)), None);
        let pieces = Situation { block: 8 << 10, ..private(published) };
        assert_eq!(handed(deliver(&auto, pieces, CopyMode::ByCosts)), None);
        let refused = Situation { push: false, ..private(published) };
        assert_eq!(handed(deliver(&auto, refused, CopyMode::ByCosts)), None);
        for (mechanism, wanted) in
            [(Mechanism::Cma, Some(By::Number)), (Mechanism::Mapped, Some(By::View)), (Mechanism::Pipe, None)]
        {
            let step = deliver(&asked(mechanism), Situation { push: true, ..shared(published) }, CopyMode::ByCosts);
            assert_eq!(handed(step), wanted);
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
