//! What a choice looks at: the members of a communicator, and the call.

use super::algorithm::Messages;
use super::names::Collective;
use tern_settings::Mechanism;

/// The members of a communicator, as all of them know each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// Processes; of an intercommunicator, those of one group.
    pub size: usize,
    /// What they have beside messages.
    pub beside: Beside,
    /// All are on one node, and are more than it has cores.
    pub crowded: bool,
    /// The mechanism that the user asks for.
    pub asked: Mechanism,
}

/// What members have beside messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// They are on one node, with control lines.
    Lines {
        /// Bytes of the longest payload of one member.
        capacity: usize,
        /// They meet along a tree ([`super::grows`]).
        tree: bool,
    },
    /// They are on several nodes, each of which has control lines.
    Levels {
        /// Bytes of the longest payload of one member.
        capacity: usize,
        /// Members on the node that has most of them.
        widest: usize,
    },
    /// Nothing.
    Nothing(Without),
}

/// Why members have messages only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// They are two groups.
    TwoGroups,
    /// There is one process.
    Alone,
    /// The job goes on without processes that are lost (TERN_FT).
    Survives,
    /// TERN_COLL_LINES is off.
    SwitchedOff,
    /// TERN_CHECK is on.
    Checked,
    /// They share no memory for lines.
    Apart,
}

/// What a call reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Nothing.
    Nothing,
    /// Vectors that are one run of a basic type, by a predefined operation.
    Vectors {
        /// They may change places.
        commutative: bool,
    },
    /// Others, which only messages combine.
    Others {
        /// They may change places.
        commutative: bool,
    },
}

/// A call, as all members know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of one block, or of the vector. 0 where members do not know each other's counts.
    pub bytes: usize,
    /// What is reduced.
    pub operands: Operands,
    /// It is a round of a persistent collective: a member waits for nobody, and so takes one turn of the lines.
    pub persistent: bool,
}

impl Shape {
    /// A blocking call that reduces nothing.
    pub const fn of(bytes: usize) -> Shape {
        Shape { bytes, operands: Operands::Nothing, persistent: false }
    }

    /// A blocking call that reduces vectors which the lines combine.
    pub const fn of_vectors(bytes: usize, commutative: bool) -> Shape {
        Shape { bytes, operands: Operands::Vectors { commutative }, persistent: false }
    }

    /// What the choice of an algorithm looks at.
    pub(super) fn messages(&self, what: Collective, members: &Members) -> Messages {
        let bytes = match what {
            Collective::Allgather | Collective::ReduceScatter => self.bytes.saturating_mul(members.size),
            Collective::Barrier | Collective::Alltoallv => 0,
            _ => self.bytes,
        };
        let commutative = match self.operands {
            Operands::Nothing => true,
            Operands::Vectors { commutative } | Operands::Others { commutative } => commutative,
        };
        let two_groups = members.beside == Beside::Nothing(Without::TwoGroups);
        Messages { processes: members.size, bytes, commutative, crowded: members.crowded, two_groups }
    }
}
