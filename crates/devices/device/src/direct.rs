//! Tuple queues and single copies: the optional part of the contract (docs/adding-a-device.md#what-comes-after-packets), of several traits.

use crate::{PairFacts, SharedMemory, SingleCopy, TupleQueue};

/// A device that publishes receives and copies each byte once. Whoever implements the traits implements this.
pub trait Direct: PairFacts + TupleQueue + SingleCopy + SharedMemory {}

impl<D: PairFacts + TupleQueue + SingleCopy + SharedMemory> Direct for D {}
