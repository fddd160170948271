//! Tuple queues and single copies: the optional part of the contract (design, sections 4 and 5), of several traits.

use crate::{PairFacts, SharedMemory, SingleCopy, TupleQueue};

/// A device that publishes receives and copies each byte once. Whoever implements the traits implements this.
pub trait Direct: PairFacts + TupleQueue + SingleCopy + SharedMemory {}

impl<D: PairFacts + TupleQueue + SingleCopy + SharedMemory> Direct for D {}
