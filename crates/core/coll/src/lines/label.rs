//! What an operation is, so that members which call different ones notice.

use std::cell::Cell;
use tern_mcm::DEPTH;
use tern_memory::Lack;
use tern_policy::collective::Collective;

/// What an operation is, as every member sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Barrier = 1,
    Bcast,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    Reduce,
    Allreduce,
    Scan,
    ReduceScatter,
    /// The members tell each other something of the library's own.
    Tell,
    /// None: what the others wait for will not come, for a process of another node is lost.
    Lost,
    /// A collective that goes by messages; see [`super::refusal`].
    Messages,
    /// None: this member's call was refused.
    Refused,
    /// What it was is not told any more: this member waits to learn what the others call ([`waiting`]).
    Waits,
}

impl Kind {
    /// What the user may force an algorithm for.
    pub(crate) fn collective(self) -> Option<Collective> {
        Some(match self {
            Kind::Barrier => Collective::Barrier,
            Kind::Bcast => Collective::Bcast,
            Kind::Gather => Collective::Gather,
            Kind::Scatter => Collective::Scatter,
            Kind::Allgather => Collective::Allgather,
            Kind::Alltoall => Collective::Alltoall,
            Kind::Reduce => Collective::Reduce,
            Kind::Allreduce => Collective::Allreduce,
            Kind::Scan => Collective::Scan,
            Kind::ReduceScatter => Collective::ReduceScatter,
            Kind::Tell | Kind::Lost | Kind::Messages | Kind::Refused | Kind::Waits => return None,
        })
    }
}

/// The members do not call the same operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Rank `rank` calls another collective.
    Operation { rank: usize },
    /// Rank `rank` is in MPI_Finalize.
    Ended { rank: usize },
    /// Rank `rank` names another root.
    Root { rank: usize, own: u32, theirs: u32 },
    /// Rank `rank` takes part with another number of bytes.
    Bytes { rank: usize, own: u32, theirs: u32 },
    /// This process of another node cannot be reached any more.
    Lost { process: u32 },
    /// Rank `rank` has refused the call, for its arguments there or for want of memory.
    Refused { rank: usize },
    /// This process has no memory for its part.
    Lack(Lack),
}

pub type Done = Result<(), Mismatch>;

/// Bits 0 to 3 the kind, to 7 a stamp, to 21 the root, 22 [`DISSENT`], 23 [`MORE`], to 47 the bytes, above them what was before ([`History`]).
#[inline(always)]
pub fn label(kind: Kind, root: u32, bytes: usize) -> u64 {
    kind as u64 | (root as u64 & ROOT) << 8 | (bytes.min(BYTES) as u64) << 24
}

/// Lengths are told apart up to there, in bytes.
pub const BYTES: usize = 0xff_ffff;

/// Roots are told apart up to there.
pub const ROOT: u64 = 0x3fff;

/// In a label along a tree: somebody from whom this member has heard calls something else ([`super::tree`]).
pub const DISSENT: u64 = 1 << 22;

/// So many bytes are told in MPI_Finalize; members that make something tell more.
pub const END: usize = 1;

/// Whether a label is of MPI_Finalize.
pub fn is_end(label: u64) -> bool {
    parts(label) == (Kind::Tell as u64, 0, END as u32)
}

/// In a label: a further turn of the same call follows.
pub const MORE: u64 = 1 << 23;

/// What a label says of itself, for all members and turns.
pub fn plain(label: u64) -> u64 {
    label & ((1 << HISTORY) - 1) & !(STAMP | DISSENT)
}

/// The kind, the root and the bytes of a label.
pub fn parts(label: u64) -> (u64, u32, u32) {
    (label & 0xf, (label >> 8) as u32 & ROOT as u32, (label >> 24) as u32 & 0xff_ffff)
}

/// Whether a label is of the turn that `own` is of, not of a later one in the same cell.
pub fn is_of_turn(theirs: u64, own: u64) -> bool {
    (theirs ^ own) & STAMP == 0
}

/// What a member publishes in place of `published`, its label of its last turn, when it waits to learn what the others call: how
/// many calls it has refused, and the number of the call that it makes next, which is not 0.
pub fn waiting(published: u64, refused: usize, call: u8) -> u64 {
    let kept = STAMP | MORE | DISSENT | u64::MAX << HISTORY;
    // Who has not looked yet must still see that this turn was refused.
    let kind = if published & 0xf == Kind::Refused as u64 { Kind::Refused } else { Kind::Waits };
    label(kind, refused.min(ROOT as usize) as u32, call.into()) | published & kept
}

/// What a member that waits has said by [`waiting`]; `None` if it does not wait.
pub fn waits(label: u64) -> Option<(usize, u8)> {
    let (kind, refused, call) = parts(label);
    let waits = kind == Kind::Waits as u64 || kind == Kind::Refused as u64 && call != 0;
    waits.then_some((refused as usize, call as u8))
}

/// What a member publishes in place of `published`, its label of its last turn, when it waits long inside a call: which call it makes, and
/// what all that make it take the same way have in common (a number of 15 bits, not 0).
pub fn waiting_inside(published: u64, call: u8, way: u16) -> u64 {
    waiting(published, 0, call) | (way as u64 & 0x7fff) << WAY
}

/// Where the way begins, behind a call's number in the place of the bytes.
const WAY: u32 = 24 + 8;

/// The call and the way of a member that waits inside a call; `None` if it does not.
pub fn waits_inside(label: u64) -> Option<(u8, u16)> {
    let way = (label >> WAY) as u16 & 0x7fff;
    waits(label).filter(|&(refused, _)| refused == 0 && way != 0).map(|(_, call)| (call, way))
}

/// What is published in place of `stamped` by a member that has refused the call.
pub fn refused(stamped: u64) -> u64 {
    label(Kind::Refused, 0, 0) | stamped & (STAMP | MORE | u64::MAX << HISTORY)
}

/// Where the history begins in a label.
pub const HISTORY: u32 = 48;

/// Turns after which histories begin anew: a mismatch that has been told is not told for ever.
pub const BLOCK: u64 = DEPTH / 2;

/// True for the last turn of a block.
#[inline]
pub fn ends_block(turn: u64) -> bool {
    turn % BLOCK == BLOCK - 1
}

/// The labels of a block so far, mixed into 16 bits. Each label is published with them, so that one look tells
/// whether two members have agreed since the block began; only if they have not, label after label is compared.
#[derive(Debug, Default)]
pub struct History(Cell<u64>);

impl History {
    /// `label` as it is published in `turn`, the one after the last.
    #[inline(always)]
    pub fn stamp(&self, label: u64, turn: u64) -> u64 {
        let before = if turn.is_multiple_of(BLOCK) { 0 } else { self.0.get() };
        // Odd, so that no bit is lost; the upper half depends on all bits below.
        let mixed = (before ^ label).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = mixed ^ mixed >> 32;
        self.0.set(mixed);
        stamped(label, turn) | mixed << HISTORY
    }
}

/// Bits of a label that tell its turn from the later ones in the same cell. A member that only
/// publishes does not wait for slow readers, so they may find a later label in its cell; it is
/// never so far ahead that the bits come round.
const STAMP: u64 = 0xf0;

/// `label` as it is published in `turn`.
#[inline(always)]
pub fn stamped(label: u64, turn: u64) -> u64 {
    label | (turn / DEPTH) << 4 & STAMP
}

/// What is published in place of `stamped`, by a member whose part will not come without that process.
pub fn lost(process: u32, stamped: u64) -> u64 {
    let kept = STAMP | u64::MAX << HISTORY;
    label(Kind::Lost, 0, process as usize) | stamped & kept
}

/// Whether both are of the same turn and of members that have agreed since its block began.
#[inline]
pub fn agree_since(own: u64, theirs: u64) -> bool {
    own == theirs
}

/// Compares two labels of one turn, if the peer has not gone on since.
#[inline(always)]
pub fn compare(rank: usize, own: u64, theirs: u64) -> Done {
    let alone = ((1 << HISTORY) - 1) & !DISSENT;
    match (own ^ theirs) & alone {
        0 => Ok(()),
        differing if differing & STAMP != 0 => Ok(()),
        _ if theirs & 0xf == Kind::Waits as u64 => Ok(()),
        _ => Err(mismatch(rank, own, theirs)),
    }
}

#[cold]
fn mismatch(rank: usize, own: u64, theirs: u64) -> Mismatch {
    let root = |label: u64| parts(label).1;
    let bytes = |label: u64| parts(label).2;
    if theirs & 0xf == Kind::Lost as u64 {
        Mismatch::Lost { process: bytes(theirs) }
    } else if theirs & 0xf == Kind::Refused as u64 {
        Mismatch::Refused { rank }
    } else if is_end(theirs) {
        Mismatch::Ended { rank }
    } else if own as u8 != theirs as u8 {
        Mismatch::Operation { rank }
    } else if root(own) != root(theirs) {
        Mismatch::Root { rank, own: root(own), theirs: root(theirs) }
    } else {
        Mismatch::Bytes { rank, own: bytes(own), theirs: bytes(theirs) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels of two blocks as they are published, with a broadcast by `root` in turn `odd`.
    fn published(odd: u64, root: u32) -> Vec<u64> {
        let history = History::default();
        let label = |turn| label(Kind::Bcast, if turn == odd { root } else { 0 }, 8);
        (1..2 * BLOCK).map(|turn| history.stamp(label(turn), turn)).collect()
    }

    #[test]
    fn the_end_of_a_block_tells_whether_all_its_turns_agreed() {
        let expected = published(0, 0);
        for odd in 1..BLOCK {
            let other = published(odd, 1);
            let agrees = |turn: u64| agree_since(expected[turn as usize - 1], other[turn as usize - 1]);
            assert!((1..odd).all(agrees), "turn {odd}");
            assert!((odd..BLOCK).all(|turn| !agrees(turn)), "turn {odd}");
            assert!((BLOCK..2 * BLOCK).all(agrees), "turn {odd}");
        }
    }

    #[test]
    fn who_waits_inside_a_call_tells_which() {
        let published = stamped(label(Kind::Bcast, 3, 100), 70) | 77 << HISTORY;
        let inside = waiting_inside(published, 13, 0x7abc);
        assert_eq!((waits_inside(inside), waits(inside)), (Some((13, 0x7abc)), Some((0, 13))));
        assert!(is_of_turn(inside, published) && inside >> HISTORY == 77);
        assert_eq!(waits_inside(waiting(published, 0, 13)), None, "before a call");
        assert_eq!(waits_inside(published), None);
        assert_eq!(compare(1, published, inside), Ok(()));
    }

    #[test]
    fn a_turn_is_compared_by_itself() {
        let (expected, other) = (published(0, 0), published(3, 1));
        let at = |turn: u64| compare(1, expected[turn as usize - 1], other[turn as usize - 1]);
        assert_eq!(at(2), Ok(()));
        assert_eq!(at(3), Err(Mismatch::Root { rank: 1, own: 0, theirs: 1 }));
        assert_eq!(at(4), Ok(()));
        let end = stamped(label(Kind::Tell, 0, END), 1);
        assert_eq!(compare(1, expected[0], end), Err(Mismatch::Ended { rank: 1 }));
        // A peer that has gone on has a label of another time round in the same cell.
        assert_eq!(compare(1, expected[0], stamped(label(Kind::Barrier, 0, 0), DEPTH + 1)), Ok(()));
    }
}
