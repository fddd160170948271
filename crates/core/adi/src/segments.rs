//! Data as a list of segments, for regions: what a datatype is too irregular for other single copies.

use crate::Data;
use tern_mcm::{Memory, Run};

impl Data {
    /// Blocks of the data, or somewhat more where some meet.
    pub(crate) fn block_count(&self) -> u64 {
        match self {
            Data::Bytes(..) => 1,
            Data::Typed { count, ty, .. } => ty.spread().runs.saturating_mul(*count as u64),
        }
    }

    /// The same, if the data is too irregular to be told a peer of in a few words.
    pub(crate) fn irregular_blocks(&self) -> Option<u64> {
        match self {
            Data::Typed { count, ty, .. } if !self.is_empty() && ty.blocks(*count).is_none() => {
                Some(self.block_count())
            }
            _ => None,
        }
    }

    /// All memory from the lowest byte of the data to the highest. `None`: no memory is that long.
    pub(crate) fn span(&self) -> Option<Memory> {
        match self {
            Data::Bytes(base, len) => Some(Memory::dense(*base, *len)),
            Data::Typed { base, count, ty } => {
                let reach = ty.extent().checked_mul(count.checked_sub(1)?)?;
                let low = ty.true_lb().checked_add(reach.min(0))?;
                let len = ty.true_extent().checked_add(reach.checked_abs()?)?;
                Some(Memory::dense(base.wrapping_offset(low as isize), usize::try_from(len).ok()?))
            }
        }
    }

    /// Where the first `len` bytes of the data lie, none of the runs empty.
    pub(crate) fn runs(&self, len: u64) -> Vec<Run> {
        match self {
            Data::Bytes(base, all) => {
                let len = len.min(*all as u64);
                Vec::from_iter((len > 0).then_some(Run { address: *base as u64, len }))
            }
            Data::Typed { base, count, ty } => {
                let run = |(at, len): (i64, u64)| Run { address: at as u64, len };
                ty.segments(*base as i64, *count, 0, len).map(run).filter(|run| run.len > 0).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests;
