//! Whether a message of an irregular datatype goes by a region of segments: the rule `segments`.
//!
//! In packets both processes copy, the sender into cells and the receiver out of them. Out of a region the receiver copies once, from segment to
//! segment, while the sender does nothing. Each segment costs some time, so blocks have to be long. Which way is sooner is tried on the program's own
//! messages (`copies`).

use crate::copies::Copied;
use crate::facts::Facts;
use crate::pair::Pair;
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
    /// How one of the two copies a region of the other's segments, which lies in shared memory or does not; `None`: it cannot, or not by the
    /// mechanism that the user asks for. By the kernel it takes four times as long as packets on one machine (Zen 3, blocks of 4 KiB), and so is
    /// not presumed to be better.
    pub fn in_segments(&self, shared: bool) -> Option<Copied> {
        match self.asked {
            Mechanism::Auto if shared => Some(Copied::InSegments),
            Mechanism::Auto if self.kernel => Some(Copied::InSegmentsByKernel),
            Mechanism::Mapped if shared => Some(Copied::InSegments),
            Mechanism::Cma | Mechanism::Module if self.kernel => Some(Copied::InSegments),
            _ => None,
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
    let asks = known.tried(facts.along(), copied)?;
    if asks {
        rules::SEGMENTS.count_one();
    }
    Ok(asks)
}

/// How a region of segments, or other memory in pieces, is copied out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentsBy {
    /// Through a view: all of it is shared.
    View,
    /// By the kernel, which was seen to copy between the two processes.
    Kernel,
}

/// How memory in pieces goes from one process to another, as the user has `asked` for; it is `shared` as a whole or not. `copies`: whether the kernel
/// copies between the two, which takes time to find out. `None`: not in one copy.
pub fn segments_by(asked: Mechanism, shared: bool, copies: impl FnOnce() -> bool) -> Option<SegmentsBy> {
    if shared && matches!(asked, Mechanism::Auto | Mechanism::Mapped) {
        return Some(SegmentsBy::View);
    }
    let kernel = matches!(asked, Mechanism::Auto | Mechanism::Cma | Mechanism::Module) && copies();
    kernel.then_some(SegmentsBy::Kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_presumed_for_private_segments_alone() {
        let pair = Pair { kernel: true, ..Pair::default() };
        assert_eq!(
            [true, false].map(|shared| pair.in_segments(shared)),
            [Some(Copied::InSegments), Some(Copied::InSegmentsByKernel)]
        );
        let asked = Pair { asked: Mechanism::Cma, ..pair };
        assert_eq!(asked.in_segments(false), Some(Copied::InSegments));
    }

    #[test]
    fn segments_are_copied_by_what_the_user_asks_for_alone() {
        let asked = |asked, kernel| Pair { asked, kernel, ..Pair::default() };
        assert_eq!(asked(Mechanism::Auto, false).in_segments(false), None, "nobody can");
        assert_eq!(asked(Mechanism::Cma, false).in_segments(true), None, "the kernel does not copy");
        assert_eq!(asked(Mechanism::Mapped, true).in_segments(false), None, "nothing is mapped");
        assert_eq!(asked(Mechanism::Pipe, true).in_segments(true), None);
        assert_eq!(asked(Mechanism::Mapped, false).in_segments(true), Some(Copied::InSegments));
    }

    #[test]
    fn blocks_are_long_and_not_too_many() {
        assert!(is_coarse(64 << 10, 64) && !is_coarse(64 << 10, 65));
        assert!(is_coarse(16 << 20, MOST) && !is_coarse(16 << 20, MOST + 1));
        assert!(!is_coarse(usize::MAX, u64::MAX));
    }
}
