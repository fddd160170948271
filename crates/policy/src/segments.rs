//! Whether a message of an irregular datatype goes by a region of segments: the rule `segments`.
//!
//! In packets both processes copy, the sender into cells and the receiver out of them. Out of a region the receiver copies once, from segment to
//! segment, while the sender does nothing. Each segment costs some time, so blocks have to be long. Which way is sooner is tried on the program's own
//! messages (`copies`).

use crate::copies::Copied;
use crate::facts::Facts;
use crate::pair::Pair;
use crate::questions::tried;
use crate::rules;
use crate::step::{Known, Outcome, Step};
use tern_settings::Mechanism;

/// Shortest message, in bytes.
const FROM: usize = 64 << 10;
/// Fewest bytes of a block, on average.
const BLOCK: u64 = 1 << 10;
/// Most blocks: as many segments as a region has room for.
pub const MOST: u64 = 4096;

/// Whether data of `bytes` bytes in so many blocks is copied segment by segment without losing the time that one copy saves.
pub fn is_coarse(bytes: usize, blocks: u64) -> bool {
    blocks <= MOST && bytes as u64 >= blocks.saturating_mul(BLOCK)
}

impl Pair {
    /// How one of the two copies a region of the other's segments, which it may see. By the kernel it takes four times as long as packets on one
    /// machine (Zen 3, blocks of 4 KiB), and so is not presumed to be better.
    pub fn in_segments(&self, shared: bool) -> Copied {
        match shared || self.asked != Mechanism::Auto {
            true => Copied::InSegments,
            false => Copied::InSegmentsByKernel,
        }
    }
}

/// Whether a message goes so. A shorter one that may be buffered never does: a program may count on that.
pub(crate) fn asks(facts: &Facts, known: &Known) -> Outcome<bool> {
    let may = facts.size >= FROM
        && !facts.is_short()
        && facts.irregular_blocks.is_some_and(|blocks| is_coarse(facts.size, blocks))
        && rules::SEGMENTS.is_on();
    if !may {
        return Ok(false);
    }
    let Some(copied) = known.segments.ok_or(Step::LocateSegments)? else { return Ok(false) };
    tried(facts.along(), copied, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_presumed_for_private_segments_alone() {
        let pair = Pair::default();
        assert_eq!(
            [true, false].map(|shared| pair.in_segments(shared)),
            [Copied::InSegments, Copied::InSegmentsByKernel]
        );
        let asked = Pair { asked: Mechanism::Cma, ..pair };
        assert_eq!(asked.in_segments(false), Copied::InSegments);
    }

    #[test]
    fn blocks_are_long_and_not_too_many() {
        assert!(is_coarse(64 << 10, 64) && !is_coarse(64 << 10, 65));
        assert!(is_coarse(16 << 20, MOST) && !is_coarse(16 << 20, MOST + 1));
        assert!(!is_coarse(usize::MAX, u64::MAX));
    }
}
