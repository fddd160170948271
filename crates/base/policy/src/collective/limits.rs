//! Up to which lengths control lines and what goes with them serve which collective.
//!
//! Each function has the limits by costs. Where the user asks for a way, only those limits count that its mechanism has.

use super::names::Collective;

/// Most bytes that one member reads in an operation in which all read from all.
const ALL_TO_ALL: usize = 128 << 10;
/// Longest block of an allgather, a gather or a reduction among three and more that goes through the lines, in parts: whoever
/// reads what all others have given copies as much as if each had sent it to him, and waits for all of them together.
const READ: usize = 256 << 10;
/// Shortest block that two leave to messages, which find out whether one copy or two are faster.
const LEFT_BY_TWO: usize = 8 << 10;
/// Longest block of an alltoall among three and more, which costs two copies instead of one.
const ALLTOALL: usize = 32 << 10;
/// Shortest part of these. Of an alltoall, one of this length pays for a block of twice that; what parts may do grows
/// with their square, since they are longer and fewer of them are needed.
const PART: usize = 1 << 10;
/// Parts are so many bytes, times a whole number.
const UNIT: usize = 64;
/// Longest reduction to all that goes through the lines, in parts.
const ALLREDUCE: usize = 4 << 20;
/// Longest vector that two reduce over the lines so that both get something of it: above, of a reduction to all, each sends the half that the
/// other adds up.
const ALLREDUCE_OF_TWO: usize = 8 << 10;
/// Longest broadcast that goes through the lines, in parts.
const BCAST: usize = 4 << 20;
/// Bytes of a long broadcast in one turn: the readers copy one part while the root writes the next.
const CHUNK: usize = 16 << 10;
/// The lines tell the lengths of different members apart up to there.
const TOLD_APART: usize = (16 << 20) - 1;

/// Children of a member of an agreement at most (MPIX_Comm_agree), where each member has a core.
const AGREEMENT_WIDTH: usize = 8;
/// The same where the members are more than cores: a level more costs a turn of all ranks on the core, which takes longer than many messages.
const CROWDED_AGREEMENT_WIDTH: usize = 64;

/// Shortest block that is read in place. Below, two copies take less time than the second turn, and asking where memory lies.
const IN_PLACE_BLOCK: usize = 8 << 10;
/// Shortest memory of one member that is: shorter memory seldom comes to be shared.
const IN_PLACE_MEMORY: usize = 16 << 10;
/// Shortest vector of a reduction to all among three and more that is, which takes three turns.
const IN_PLACE_ALLREDUCE: usize = 32 << 10;
/// Shortest vector that is split among all: of a shorter one, a share is combined in less time than the turns take.
const SHARES: usize = 32 << 10;

/// Shortest broadcast for which the root tells of a region first.
const REGION_BCAST: usize = 32 << 10;
/// Shortest block of a gather or a scatter for which it does so.
const REGION_BLOCK: usize = 16 << 10;

/// Bytes that go along a tree at a time: while one part goes up or down, the next one follows it, and a member's two buffers of 32 KiB have room for eight.
const TREE_PART: usize = 8 << 10;

/// Longest data that goes in two levels: for the rest the copies inside the nodes cost more than the messages that they save.
const LEVELS: usize = 4 << 20;

/// Members with control lines.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub members: usize,
    pub capacity: usize,
}

/// Bytes of a broadcast of `len` that one turn takes, over lines of that capacity.
#[inline]
pub fn chunk(capacity: usize, len: usize) -> usize {
    capacity.min(if len > 2 * CHUNK { CHUNK } else { len.max(1) })
}

/// Most bytes that each of so many members gives in a turn of which one or all read everything, over lines of that capacity.
#[inline]
pub fn longest_part(members: usize, capacity: usize) -> usize {
    capacity.min(ALL_TO_ALL / members / UNIT * UNIT)
}

/// Whether each of so many members of a reduction to all that is read in place combines a share only, and reads the others' from their results. Two of
/// them read as much if each combines everything, and need a turn less.
#[inline]
pub fn has_shares(members: usize) -> bool {
    members > 2
}

impl Lines {
    /// Whether blocks of `len` bytes are left to messages.
    pub fn are_left(&self, len: usize) -> bool {
        self.members == 2 && len >= LEFT_BY_TWO
    }

    fn longest_part(&self) -> usize {
        longest_part(self.members, self.capacity)
    }

    /// Whether an operation in which one or all read `len` bytes of each takes one turn.
    fn gathers(&self, len: usize) -> bool {
        len <= self.longest_part() && !self.are_left(len)
    }

    /// Bytes of the parts of an operation whose readers, one or all, read `len` bytes from each member.
    fn in_parts(&self, len: usize, asked: bool) -> Option<usize> {
        let part = self.longest_part();
        let by_costs = self.gathers(len) || self.members > 2 && len <= READ && part >= PART;
        let can = len <= part || part > 0 && len <= TOLD_APART;
        (if asked { can } else { by_costs }).then_some(part)
    }

    /// The same of an alltoall.
    fn alltoall(&self, len: usize, asked: bool) -> Option<usize> {
        let part = self.capacity / self.members / UNIT * UNIT;
        let by_costs = !self.are_left(len) && len <= part.max(ALLTOALL.min(2 * part * part / PART));
        let can = part > 0 && len <= TOLD_APART;
        (if asked { can } else { by_costs }).then_some(part)
    }

    /// What one turn takes, if a member gives `bytes` for all in it, and that serves by costs.
    fn at_once(&self, bytes: usize, by_costs: bool, asked: bool) -> Option<usize> {
        let serves = if asked { bytes <= self.capacity } else { by_costs };
        serves.then_some(self.capacity)
    }

    /// Whether a vector of `bytes` is reduced in one turn.
    fn reduces(&self, bytes: usize) -> bool {
        let all = bytes.saturating_mul(self.members);
        bytes <= self.capacity && all <= ALL_TO_ALL && !(self.members == 2 && bytes > ALLREDUCE_OF_TWO)
    }

    /// Bytes of a vector that all combine in one turn. Of a longer one each combines a share, and tells it in another turn.
    fn allreduce(&self, len: usize, asked: bool) -> Option<usize> {
        let by_costs = len <= if self.members == 2 { ALLREDUCE_OF_TWO } else { ALLREDUCE };
        let serves = if asked { len <= TOLD_APART } else { by_costs };
        serves.then(|| self.capacity.min(ALL_TO_ALL / self.members))
    }

    /// Bytes of the parts of a blocking call; `None`: the lines do not serve it.
    pub fn part(&self, what: Collective, len: usize, asked: bool) -> Option<usize> {
        let all = len.saturating_mul(self.members);
        match what {
            Collective::Barrier => Some(self.capacity),
            Collective::Bcast => {
                let by_costs = len <= BCAST && !self.are_left(len);
                (if asked { len <= TOLD_APART } else { by_costs }).then(|| chunk(self.capacity, len))
            }
            Collective::Gather | Collective::Allgather | Collective::Reduce => self.in_parts(len, asked),
            Collective::Scatter => self.at_once(all, all <= self.capacity && !self.are_left(len), asked),
            Collective::Alltoall => self.alltoall(len, asked),
            Collective::Alltoallv => None,
            Collective::Allreduce => self.allreduce(len, asked),
            Collective::Scan => self.at_once(len, self.reduces(len), asked),
            Collective::ReduceScatter => self.at_once(all, self.reduces(all), asked),
        }
    }

    /// The same of a round of a persistent collective, which takes one turn.
    pub fn turn(&self, what: Collective, len: usize, asked: bool) -> Option<usize> {
        let all = len.saturating_mul(self.members);
        match what {
            Collective::Barrier => Some(self.capacity),
            Collective::Allgather => self.at_once(len, self.gathers(len), asked),
            Collective::Alltoall => self.at_once(all - len, self.gathers(all - len), asked),
            Collective::Allreduce => self.at_once(len, self.reduces(len), asked),
            Collective::ReduceScatter => self.at_once(all, self.reduces(all), asked),
            _ => None,
        }
    }

    /// Whether it may pay to read blocks or vectors of `len` bytes in place.
    pub fn reads(&self, what: Collective, len: usize) -> bool {
        let serves = |all: usize| len >= IN_PLACE_BLOCK && all >= IN_PLACE_MEMORY;
        match what {
            Collective::Allgather => serves(len),
            Collective::Alltoall | Collective::ReduceScatter => serves(len.saturating_mul(self.members)),
            Collective::Allreduce => len >= if self.members == 2 { IN_PLACE_MEMORY } else { IN_PLACE_ALLREDUCE },
            _ => false,
        }
    }

    /// Whether it may pay to split vectors of `len` bytes among all.
    pub fn splits(&self, what: Collective, len: usize) -> bool {
        matches!(what, Collective::Reduce | Collective::Scan) && (SHARES..=TOLD_APART).contains(&len)
    }

    /// Whether the root tells of a region first, if such blocks have `len` bytes. Two leave that to messages, which find out whether the kernel is to
    /// copy, unless it is asked for.
    pub fn declares(&self, what: Collective, len: usize, asked: bool) -> bool {
        let lengths = match what {
            Collective::Bcast => len >= REGION_BCAST,
            Collective::Gather | Collective::Scatter => (REGION_BLOCK..TOLD_APART).contains(&len),
            _ => false,
        };
        lengths && (asked || self.members > 2)
    }

    /// The longest data below [`super::Short`]: what goes over the lines in one turn, with no other way before it.
    pub fn short(&self) -> [usize; 5] {
        let most = |len: usize| if self.members == 2 { len.min(LEFT_BY_TWO - 1) } else { len };
        let gathered = self.longest_part();
        let reduced = if self.members == 2 { ALLREDUCE_OF_TWO } else { IN_PLACE_ALLREDUCE - 1 };
        [
            most(REGION_BCAST - 1),
            most(gathered.min(REGION_BLOCK - 1)),
            most((self.capacity / self.members).min(REGION_BLOCK - 1)),
            most(gathered.min(SHARES - 1)),
            reduced.min(self.capacity).min(ALL_TO_ALL / self.members),
        ]
    }
}

/// Members with control lines that meet along a tree.
#[derive(Clone, Copy)]
pub(super) struct Tree {
    pub members: usize,
    pub capacity: usize,
}

impl Tree {
    /// Bytes of the parts in which data goes along the tree; `None`: it does not serve the call.
    pub fn part(&self, what: Collective, len: usize, asked: bool) -> Option<usize> {
        let longest = if asked { TOLD_APART } else { BCAST };
        let serves = match what {
            Collective::Barrier => true,
            Collective::Bcast => len <= longest,
            Collective::Reduce => asked && len <= longest || len < SHARES,
            Collective::Allreduce => asked && len <= longest || len < IN_PLACE_ALLREDUCE,
            // All blocks in one turn.
            Collective::Allgather => len.saturating_mul(self.members) <= self.capacity,
            _ => false,
        };
        serves.then_some(TREE_PART.min(self.capacity))
    }
}

/// Members on several nodes, each with control lines.
#[derive(Clone, Copy)]
pub(super) struct Levels {
    pub members: usize,
    pub capacity: usize,
    pub widest: usize,
}

impl Levels {
    /// Bytes of a vector that a node combines in one turn; `None`: two levels do not serve the call.
    pub fn part(&self, what: Collective, len: usize, asked: bool) -> Option<usize> {
        let part = self.capacity.min(ALL_TO_ALL / self.widest);
        let longest = if asked { TOLD_APART } else { LEVELS };
        let serves = match what {
            Collective::Barrier => true,
            Collective::Bcast | Collective::Reduce | Collective::Allreduce => len <= longest,
            Collective::Allgather => len <= part && len.saturating_mul(self.members) <= longest,
            _ => false,
        };
        serves.then_some(part)
    }
}

/// Children that a member of an agreement has at most. `crowded`: all members are on one node and more than it has cores.
pub fn agreement_width(crowded: bool) -> usize {
    if crowded { CROWDED_AGREEMENT_WIDTH } else { AGREEMENT_WIDTH }
}

/// Bytes of a segment of a pipelined broadcast: so small that it is still in the cache when it is sent on, so large that a message's own cost does
/// not show.
pub const CHAIN_SEGMENT: usize = 64 << 10;
