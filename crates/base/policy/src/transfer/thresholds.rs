//! Lengths from which a way pays between two processes, by what their cores share.

use core::ops::RangeInclusive;

use tern_settings::Mechanism;

use super::sizes::rounded;
use super::{Choice, FETCHED_BY_KERNEL_FROM, Situation, Stage, choose, may_fetch_by_kernel};
use crate::costs::{Costs, Placement, Promotion};
use crate::pair::{FETCHED, FETCHED_FROM, FETCHED_SURELY};
use alloc::rc::Rc;

/// The smallest message that could go otherwise than in packets, and one from which on nothing changes.
pub const SMALLEST: u64 = 4 << 10;
const LARGEST: u64 = 16 << 20;

/// What the thresholds of one class of placement follow from.
#[derive(Clone, Copy)]
pub struct Thresholds<'a> {
    /// What things cost.
    pub costs: &'a Costs,
    /// The mechanism that was asked for.
    pub asked: Mechanism,
    /// Where the two processes are.
    pub placement: Placement,
}

impl Thresholds<'_> {
    /// Messages of fewer bytes go sooner in packets, at once, than into a receive that is published for them while its owner
    /// waits; `shared`: both buffers are; `kernel`: it copies between the two. `u64::MAX`: all that go at once, up to `eager`.
    pub fn packets_below(&self, shared: bool, kernel: bool, eager: u64) -> u64 {
        let situation = |size| Situation {
            size,
            stage: Stage::Published,
            source_shared: shared,
            target_shared: shared,
            push: kernel,
            by_module: self.costs.module,
            placement: self.placement,
            ..Situation::default()
        };
        let sizes = core::iter::successors(Some(SMALLEST), |size| Some(2 * size)).take_while(|&size| size <= eager);
        let pays = |size: u64, choice: Choice| match self.asked {
            Mechanism::Auto => choice.pays_to_publish(size, self.costs.publishing(self.placement)),
            _ => choice.transfer.by().is_some(),
        };
        let choice = |size| choose(self.costs, self.asked, &rounded(&situation(size)));
        sizes.into_iter().find(|&size| pays(size, choice(size))).unwrap_or(u64::MAX)
    }

    /// From so many bytes on a message between private memories may be there sooner if a receiver that waits has the kernel copy it
    /// alone than in packets: both ways should be tried. `u64::MAX`: never.
    pub fn kernel_fetches_from(&self) -> u64 {
        let longer = core::iter::successors(Some(SMALLEST), |size| Some(2 * size)).take_while(|&size| size <= LARGEST);
        let longer = longer.skip_while(|&size| size < FETCHED_BY_KERNEL_FROM);
        let mut sizes = core::iter::once(FETCHED_BY_KERNEL_FROM).chain(longer);
        let pays = |&size: &u64| match self.asked {
            Mechanism::Auto => may_fetch_by_kernel(self.costs, self.placement, size),
            asked => matches!(asked, Mechanism::Cma | Mechanism::Module),
        };
        sizes.find(pays).unwrap_or(u64::MAX)
    }

    /// Lengths of messages that a receiver which waits fetches alone out of memory that it sees. `sure`: the kernel need not be asked
    /// where its own memory lies. Empty: none.
    pub fn fetched(&self, sure: bool) -> RangeInclusive<usize> {
        let most = if sure { FETCHED_SURELY } else { FETCHED };
        let least = self.packets_below(true, false, most as u64);
        usize::try_from(least).unwrap_or(usize::MAX).max(FETCHED_FROM)..=most
    }
}

/// What promotion costs and saves by what memory is used for, in the order of [`Purpose`](crate::Purpose). `told`: the kernel tells where memory lies.
pub fn promotions(costs: &Rc<Costs>, asked: Mechanism, placement: Placement, told: bool) -> [Promotion; 4] {
    let fetched = Thresholds { costs, asked, placement }.fetched(told);
    [
        Promotion::for_messages(costs, placement, true),
        Promotion::for_awaited(costs, placement, fetched),
        Promotion::for_exchanges(costs, placement),
        Promotion::for_collectives(costs, placement),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::{Curve, Mover};

    #[test]
    fn packets_end_where_a_published_receive_is_sooner() {
        let costs = Costs::default();
        let below = |asked, shared, kernel| {
            Thresholds { costs: &costs, asked, placement: Placement::L3 }.packets_below(shared, kernel, 64 << 10)
        };
        let shared = below(Mechanism::Auto, true, false);
        assert!((8 << 10..=64 << 10).contains(&shared), "{shared}");
        assert_eq!(below(Mechanism::Auto, false, false), u64::MAX, "there is no other way");
        assert_eq!(below(Mechanism::Mapped, true, true), 4 << 10, "what was asked for is possible");
        assert_eq!(below(Mechanism::Cma, false, true), 4 << 10);
        assert_eq!(below(Mechanism::Pipe, true, true), u64::MAX);
    }

    /// Two copies take 2 ns a byte, one takes 1 ns, and a packet takes as long as told between cores of each class: on a machine of two
    /// sockets, where it takes longer the less two cores share.
    fn two_sockets(packets: [f64; 5]) -> Costs {
        let mut costs = Costs::default();
        let line = |slope: f64| Curve::new(vec![(0, 0.0), (1 << 30, slope * f64::from(1 << 30))]).expect("a curve");
        for (pace, packet) in costs.paces.iter_mut().zip(packets) {
            pace.packet = packet;
            for mover in Mover::ALL {
                let slope = if matches!(mover, Mover::Eager | Mover::Pipe) { 2.0 } else { 1.0 };
                pace.movers[mover as usize] = std::array::from_fn(|_| line(slope));
            }
        }
        costs
    }

    #[test]
    fn each_class_has_thresholds_of_its_own() {
        // Published, a message saves one copy, and costs a packet more, and 60 ns.
        let costs = two_sockets([4000.0, 8000.0, 16_000.0, 30_000.0, 60_000.0]);
        let of = |placement| Thresholds { costs: &costs, asked: Mechanism::Auto, placement };
        let below = Placement::ALL.map(|placement| of(placement).packets_below(true, false, 1 << 20));
        assert_eq!(below, [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10]);
        let fetched = Placement::ALL.map(|placement| of(placement).fetched(false));
        assert_eq!(fetched.map(|lengths| *lengths.start()), [8 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10]);
    }

    #[test]
    fn the_kernel_is_tried_by_class() {
        let mut costs = two_sockets([100.0; 5]);
        let slow = Curve::new(vec![(0, 0.0), (1 << 30, 100.0 * f64::from(1 << 30))]).expect("a curve");
        for placement in [Placement::Smt, Placement::L2] {
            costs.paces[placement as usize].movers[Mover::Cma as usize] = [slow.clone(), slow.clone()];
        }
        let from = |placement| Thresholds { costs: &costs, asked: Mechanism::Auto, placement }.kernel_fetches_from();
        let tried = FETCHED_BY_KERNEL_FROM;
        assert_eq!(Placement::ALL.map(from), [u64::MAX, u64::MAX, tried, tried, tried]);
    }
}
