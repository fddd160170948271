//! Which private memory is declared to the kernel module, and when the module copies: the rule `declare`.
//!
//! To declare memory pins its pages, at a cost R that is paid once. From then on the module copies it without a walk through its owner's page
//! tables, which saves C at each use, for a look-up of V. Memory is therefore declared from its n-th use on when n > R / (C - V), as buffers
//! are that are [promoted](crate::promote). C is what the module saves of CMA; where the kernel refuses that, of packets. A copy that finds no
//! declared region goes as if there were no module.

use crate::costs::{Costs, Mover, Placement, Warmth};
use crate::offload;
use crate::promote::usage::Usage;
use crate::rules;
use alloc::rc::Rc;
use tern_settings::Mechanism;

/// Shorter memory is never declared: a packet takes it.
pub const SHORTEST: usize = 4 << 10;
/// V: nanoseconds to find the region of memory that is declared, and to see that it still is the same.
const LOOK_UP: f64 = 100.0;
/// A window is expected to be accessed so many times, each time as a whole.
const WINDOW_USES: u32 = 16;

/// What memory is to be declared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredFor {
    /// One message, collective or step of a schedule: what the next ones use is known from the last ones.
    Transfer,
    /// A window: its members are told once of the memory, for as long as it lives.
    Window,
}

/// One use of private memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Its lowest address.
    pub start: usize,
    /// Bytes from there on.
    pub len: usize,
    /// Where the process is that copies.
    pub placement: Placement,
    /// The kernel copies for that process by the number of this one (CMA) too.
    pub by_number: bool,
    /// For what.
    pub purpose: DeclaredFor,
}

/// The uses of a process's memory that the module could copy.
pub struct Declaration {
    asked: Mechanism,
    costs: Rc<Costs>,
    usage: Usage,
}

impl Declaration {
    /// By these costs. What the user has asked for goes before them.
    pub fn new(asked: Mechanism, costs: Rc<Costs>) -> Declaration {
        Declaration { asked, costs, usage: Usage::new() }
    }

    /// Whether each copy by the kernel goes by the module, because the user has asked for it.
    pub fn is_asked(&self) -> bool {
        self.asked == Mechanism::Module
    }

    /// Counts a use of memory that is not declared; true when it is to be declared now.
    pub fn is_due(&mut self, of: &Use) -> bool {
        if self.is_asked() || offload::declares(tern_settings::OFFLOAD.get(), of.len) {
            return true;
        }
        let Some(needed) = self.break_even(of).filter(|_| rules::DECLARE.is_on()) else { return false };
        let due = match of.purpose {
            DeclaredFor::Window => needed <= WINDOW_USES,
            DeclaredFor::Transfer => self.usage.used(of.start, of.len, of.len, needed),
        };
        if due {
            rules::DECLARE.count_one();
        }
        due
    }

    /// The module has refused memory that was due: the next attempt waits twice as long.
    pub fn refused(&mut self, start: usize, len: usize) {
        self.usage.failed(start, len);
    }

    /// Whether a copy of `len` bytes of declared memory goes by the module. `by_number`: CMA would copy it too. Both are the kernel's, and
    /// stand to each other between all cores as between those that share a cache.
    #[inline]
    pub fn takes(&self, len: usize, by_number: bool) -> bool {
        let at = |mover| self.costs.pace(Placement::L3).at(mover, Warmth::Warm, len as u64);
        self.is_asked() || !by_number || at(Mover::Module) <= at(Mover::Cma)
    }

    /// The use from which on it pays to declare memory: the least n > R / (C - V). `None`: it never does.
    pub fn break_even(&self, of: &Use) -> Option<u32> {
        let size = of.len as u64;
        let at = |mover| self.costs.pace(of.placement).at(mover, Warmth::Warm, size);
        // Whether the kernel or packets move the next ones is not known: what is told to nobody cannot be copied by the module at all.
        let otherwise = at(if of.by_number { Mover::Cma } else { Mover::Pipe });
        let once = self.costs.pin.at(size) + self.costs.unpin.at(size);
        let pays = || crate::break_even(once, otherwise - at(Mover::Module), LOOK_UP);
        if of.len < SHORTEST { None } else { pays() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Curve;

    const LEN: usize = 64 << 10;
    const USE: Use =
        Use { start: 1 << 20, len: LEN, placement: Placement::L3, by_number: true, purpose: DeclaredFor::Transfer };

    /// To declare takes 8 us and to give up 2; a copy by the pipe, by CMA and by the module takes so many nanoseconds.
    fn declaration(asked: Mechanism, pipe: f64, cma: f64, module: f64) -> Declaration {
        let curve = |ns: f64| Curve::new(vec![(0, ns), (1 << 30, ns)]).expect("a curve");
        let mut costs = Costs { pin: curve(8_000.0), unpin: curve(2_000.0), module: true, ..Costs::default() };
        for pace in &mut costs.paces {
            for (mover, ns) in [(Mover::Pipe, pipe), (Mover::Cma, cma), (Mover::Module, module)] {
                pace.movers[mover as usize] = [curve(ns), curve(ns)];
            }
        }
        Declaration::new(asked, Rc::new(costs))
    }

    /// The use at which memory is declared, of a hundred.
    fn declared_at(declaration: &mut Declaration, of: &Use) -> Option<usize> {
        (1..=100).find(|_| declaration.is_due(of))
    }

    #[test]
    fn memory_is_declared_when_what_it_saves_has_paid_for_its_pins() {
        // R / (C - V) = 10,000 / (6,000 - 4,900 - 100).
        let mut auto = declaration(Mechanism::Auto, 9_000.0, 6_000.0, 4_900.0);
        assert_eq!(auto.break_even(&USE), Some(11));
        assert_eq!(declared_at(&mut auto, &USE), Some(11));
        assert!(!auto.is_due(&Use { len: SHORTEST - 1, ..USE }), "a packet takes it");
        // Without CMA each use saves more: R / (9,000 - 4,900 - 100).
        assert_eq!(declared_at(&mut auto, &Use { by_number: false, start: 2 << 20, ..USE }), Some(3));
        let mut slow = declaration(Mechanism::Auto, 9_000.0, 5_000.0, 4_900.0);
        assert_eq!(declared_at(&mut slow, &USE), None, "the look-up takes what a copy saves");
        let mut pipe = declaration(Mechanism::Auto, 3_000.0, 6_000.0, 4_900.0);
        let alone = Use { by_number: false, ..USE };
        assert_eq!(declared_at(&mut pipe, &alone), None, "there are packets, which are quicker");
    }

    #[test]
    fn a_window_is_declared_where_a_few_accesses_pay() {
        let window = Use { purpose: DeclaredFor::Window, ..USE };
        assert!(declaration(Mechanism::Auto, 9_000.0, 6_000.0, 4_900.0).is_due(&window));
        assert!(!declaration(Mechanism::Auto, 9_000.0, 6_000.0, 5_500.0).is_due(&window));
    }

    #[test]
    fn what_the_user_asks_for_goes_before_costs() {
        let mut asked = declaration(Mechanism::Module, 1.0, 1.0, 1e9);
        assert!(asked.is_due(&USE) && asked.is_due(&Use { len: 1, ..USE }));
        assert!(asked.takes(1, true));
    }

    #[test]
    fn the_module_copies_what_it_copies_quicker_and_what_nothing_else_can() {
        let auto = declaration(Mechanism::Auto, 1.0, 100.0, 200.0);
        assert!(!auto.takes(LEN, true) && auto.takes(LEN, false));
        assert!(declaration(Mechanism::Auto, 1.0, 200.0, 100.0).takes(LEN, true));
    }

    #[test]
    fn a_refusal_makes_the_next_attempt_wait() {
        let mut auto = declaration(Mechanism::Auto, 9_000.0, 6_000.0, 4_900.0);
        assert_eq!(declared_at(&mut auto, &USE), Some(11));
        auto.refused(USE.start, USE.len);
        assert!(declared_at(&mut auto, &USE).is_some_and(|at| at > 20));
    }
}
