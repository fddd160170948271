//! How two cores stand to each other, and what is known by that.

use core::cell::OnceCell;

/// Classes of placement.
pub const PLACEMENTS: usize = 5;

/// How two cores stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placement {
    /// They are threads of one processor core, or one such thread.
    Smt,
    /// They share a cache of level 2.
    L2,
    /// They share the cache of the last level only. So are taken those of which nothing is known.
    L3,
    /// They share a NUMA node, but no cache.
    Numa,
    /// They are on different NUMA nodes.
    Machine,
}

impl Placement {
    /// All, nearest first.
    pub const ALL: [Placement; PLACEMENTS] =
        [Placement::Smt, Placement::L2, Placement::L3, Placement::Numa, Placement::Machine];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Placement::Smt => "smt",
            Placement::L2 => "l2",
            Placement::L3 => "l3",
            Placement::Numa => "numa",
            Placement::Machine => "machine",
        }
    }

    /// What two cores that stand so have in common, for the user.
    pub fn describe(self) -> &'static str {
        match self {
            Placement::Smt => "are threads of one processor core",
            Placement::L2 => "share a cache of level 2",
            Placement::L3 => "share a cache",
            Placement::Numa => "share a NUMA node",
            Placement::Machine => "are on different NUMA nodes",
        }
    }

    /// Between which processes, for the user. `crowded`: there are more of them than cores.
    pub fn between(self, crowded: bool) -> &'static str {
        match (self, crowded) {
            (Placement::Smt, false) => "between threads of one core",
            (Placement::L2, false) => "between cores with one cache of level 2",
            (Placement::L3, false) => "between cores with one cache of level 3",
            (Placement::Numa, false) => "between cores of one NUMA node",
            (Placement::Machine, false) => "between NUMA nodes",
            (Placement::Machine, true) => "between NUMA nodes, more ranks than cores",
            (_, true) => "inside a NUMA node, more ranks than cores",
        }
    }
}

/// What is known by class of placement, one value for each, made at the first question.
#[derive(Debug, Default)]
pub struct ByPlacement<T>([OnceCell<T>; PLACEMENTS]);

impl<T: Copy> ByPlacement<T> {
    /// The value of this class.
    #[inline]
    pub fn of(&self, placement: Placement, find: impl FnOnce() -> T) -> T {
        *self.0[placement as usize].get_or_init(find)
    }
}
