//! The ways of a collective, and the reasons for them.

use super::names::Algorithm;
use super::offer::NoRegion;
use super::shape::Without;
use crate::{Maker, Why, rules};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// How a collective goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollWay {
    /// By messages.
    Schedule(Algorithm),
    /// Over control lines.
    Lines {
        /// Bytes that one member gives at a time, at most. What is longer goes in parts of so many.
        part: usize,
    },
    /// Over control lines, along a tree of caches, NUMA nodes and packages: for members of a large node.
    Tree {
        /// Bytes that one member gives at a time, at most. What is longer goes in parts of so many.
        part: usize,
    },
    /// Members read each other's memory where it lies. One whose memory the others do not reach refuses.
    InPlace,
    /// By one region of the root's memory. The root refuses where its memory or the costs speak against it.
    Region,
    /// Each member combines its share of the vectors. One whose memory the others do not reach refuses.
    Shares,
    /// In two levels: control lines inside each node, messages among the nodes' leaders.
    Levels {
        /// Bytes of a vector that a node combines in one turn. What is longer takes several turns.
        part: usize,
    },
}

impl CollWay {
    /// For the user.
    pub fn text(self) -> String {
        match self {
            CollWay::Schedule(algorithm) => format!("messages, {algorithm}"),
            CollWay::Lines { .. } => "control lines in shared memory".into(),
            CollWay::Tree { .. } => "control lines along a tree of caches, NUMA nodes and packages".into(),
            CollWay::InPlace => "members read each other's memory in place".into(),
            CollWay::Region => "one region of the root's memory".into(),
            CollWay::Shares => "each member combines a share, in place".into(),
            CollWay::Levels { .. } => "two levels: one leader for each node".into(),
        }
    }

    /// The name by which TERN_COLL asks for it.
    pub const fn name(self) -> &'static str {
        match self {
            CollWay::Schedule(algorithm) => algorithm.name(),
            CollWay::Lines { .. } => "lines",
            CollWay::Tree { .. } => "tree",
            CollWay::InPlace => "in_place",
            CollWay::Region => "region",
            CollWay::Shares => "shares",
            CollWay::Levels { .. } => "levels",
        }
    }
}

/// Why a collective goes so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollReason {
    /// TERN_COLL asks for that.
    Asked,
    /// Size and members.
    Size,
    /// All memory is shared, or the kernel copies: the rule `read-in-place` tells.
    Read,
    /// The other way is tried, or has proved quicker: the rule `read-in-place`.
    Tried,
    /// Some memory was not shared lately: the rule `read-in-place`.
    NotAsked,
    /// A member's memory was not within reach of the others.
    NotReached,
    /// The root has told of no region, and why, once it has.
    NoRegion(Option<NoRegion>),
    /// Between two processes: the rule `copies`.
    LeftByTwo,
    /// Operation or type are none that lines combine.
    Operands,
    /// There is nothing beside messages.
    Without(Without),
    /// It is nonblocking.
    Nonblocking,
    /// It is persistent.
    Persistent,
    /// Members do not know each other's counts, or each has neighbours of its own.
    Unequal,
}

impl CollReason {
    /// For the user: the words behind "since", and who has decided.
    pub fn why(self) -> Why {
        Why::new(self.text(), self.maker())
    }

    fn text(self) -> &'static str {
        match self {
            CollReason::Asked => "it is asked for",
            CollReason::Size => "it is the way by size and members",
            CollReason::Read => "all memory is within reach, and that was not slower",
            CollReason::Tried => "reading in place has proved slower, or this way is on trial",
            CollReason::NotAsked => "some memory was not within reach lately",
            CollReason::NotReached => "some memory was not within reach, and it is the next way by size and members",
            CollReason::NoRegion(None) => "its root told of no region, and it is the next way by size and members",
            CollReason::NoRegion(Some(NoRegion::OutOfReach)) => {
                "the others do not reach its root's memory as one region"
            }
            CollReason::NoRegion(Some(NoRegion::ByMessages)) => {
                "the memory of its root is shared with those who send, and a region would need the kernel"
            }
            CollReason::NoRegion(Some(NoRegion::Costs)) => "a region of its root's memory would be slower",
            CollReason::NoRegion(Some(NoRegion::Shorter)) => "it is shorter than what is copied once",
            CollReason::NoRegion(Some(NoRegion::Unmeasured)) => {
                "costs were not measured, and it is shorter than what is copied once then"
            }
            CollReason::NoRegion(Some(NoRegion::Asked)) => "a region of its root's memory goes by another mechanism",
            CollReason::LeftByTwo => "two processes find out whether one copy or two are sooner",
            CollReason::Operands => "only messages combine such operands",
            CollReason::Without(Without::TwoGroups) => "it has two groups",
            CollReason::Without(Without::Alone) => "there is one process",
            CollReason::Without(Without::SwitchedOff) => "control lines are off",
            CollReason::Without(Without::Survives) => {
                "the job goes on without processes that are lost, which takes messages"
            }
            CollReason::Without(Without::Checked) => "calls are checked, which takes messages",
            CollReason::Without(Without::Apart) => "its members have no shared memory for control lines",
            CollReason::Nonblocking => "it is nonblocking, and nobody waits for the others meanwhile",
            CollReason::Persistent => "it is persistent, and it is the way by size and members",
            CollReason::Unequal => "its members do not know each other's lengths",
        }
    }

    fn maker(self) -> Maker {
        match self {
            CollReason::Asked => Maker::Setting("TERN_COLL"),
            CollReason::Read | CollReason::Tried | CollReason::NotAsked => Maker::Rule(&rules::READ_IN_PLACE),
            CollReason::LeftByTwo => Maker::Rule(&rules::COPIES),
            CollReason::NoRegion(Some(NoRegion::Costs)) => Maker::Costs("lines"),
            CollReason::NoRegion(Some(NoRegion::Asked)) => Maker::Setting("TERN_MECHANISM"),
            CollReason::NoRegion(Some(NoRegion::Shorter)) => Maker::Setting("TERN_COLL_SINGLE_COPY_FROM"),
            CollReason::Without(Without::SwitchedOff) => Maker::Setting("TERN_COLL_LINES"),
            CollReason::Without(Without::Survives) => Maker::Setting("TERN_FT"),
            CollReason::Without(Without::Checked) => Maker::Setting("TERN_CHECK"),
            _ => Maker::Default,
        }
    }
}

/// A way, and why it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollStep {
    /// The way.
    pub way: CollWay,
    /// Why it is taken.
    pub reason: CollReason,
}

/// What a collective does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollPlan {
    /// Taken first, where there is one; a member may refuse it. All of them learn that, and go on with the other one.
    pub first: Option<CollStep>,
    /// Always possible.
    pub last: CollStep,
    /// Members do not read in place this time. Each looks all the same where its memory lies: that counts as a use of it, by which it may come to
    /// be shared.
    pub uses_memory: bool,
}

impl CollPlan {
    /// The steps, in their order.
    pub fn steps(&self) -> impl Iterator<Item = CollStep> {
        self.first.into_iter().chain([self.last])
    }

    /// The way that is taken first.
    pub fn way(&self) -> CollWay {
        self.first.unwrap_or(self.last).way
    }

    /// Its ways by their names: "region or lines".
    pub fn names(&self) -> String {
        self.steps().map(|step| step.way.name()).collect::<Vec<_>>().join(" or ")
    }
}
