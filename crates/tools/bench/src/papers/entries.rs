//! The five papers, figure by figure and table by table.

mod frequent_buffers;
mod kernel_assistance;
mod knem;
mod mvapich2;
mod tupleq;

use super::registry::Paper;

pub const PAPERS: &[Paper] =
    &[kernel_assistance::PAPER, knem::PAPER, frequent_buffers::PAPER, tupleq::PAPER, mvapich2::PAPER];
