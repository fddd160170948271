//! Declared memory, and how bytes move between two processes of a node.

// The model checker builds the structures in shared memory without what is around them.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

pub mod cma;
pub mod copy;
mod file;
pub mod heap;
mod offsets;
pub mod space;
mod sync;
pub mod view;

pub use cma::Run;
pub use file::extend;
pub use heap::{Heap, Place};
#[cfg(not(loom))]
pub use space::Space;
pub use view::Views;
