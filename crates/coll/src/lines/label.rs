//! What an operation is, so that members which call different ones notice.

use tern_mcm::DEPTH;

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
}

/// The members do not call the same operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Rank `rank` calls another collective.
    Operation { rank: usize },
    /// Rank `rank` names another root.
    Root { rank: usize, own: u32, theirs: u32 },
    /// Rank `rank` takes part with another number of bytes.
    Bytes { rank: usize, own: u32, theirs: u32 },
    /// This process of another node cannot be reached any more.
    Lost { process: u32 },
}

pub type Done = Result<(), Mismatch>;

pub fn label(kind: Kind, root: u32, bytes: usize) -> u64 {
    kind as u64 | (root as u64 & 0xff_ffff) << 8 | (bytes as u64) << 32
}

/// Bits of a label that tell its turn from the later ones in the same cell. A member that only
/// publishes does not wait for slow readers, so they may find a later label in its cell; it is
/// never so far ahead that the bits come round.
pub const STAMP: u64 = 0xf0;

/// `label` as it is published in `turn`.
pub fn stamped(label: u64, turn: u64) -> u64 {
    label | (turn / DEPTH) << 4 & STAMP
}

pub fn compare(rank: usize, own: u64, theirs: u64) -> Done {
    if own == theirs {
        return Ok(());
    }
    let root = |label: u64| (label >> 8) as u32 & 0xff_ffff;
    let bytes = |label: u64| (label >> 32) as u32;
    Err(if own as u8 != theirs as u8 {
        Mismatch::Operation { rank }
    } else if root(own) != root(theirs) {
        Mismatch::Root { rank, own: root(own), theirs: root(theirs) }
    } else {
        Mismatch::Bytes { rank, own: bytes(own), theirs: bytes(theirs) }
    })
}
