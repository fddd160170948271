//! Declared memory, and how bytes move between two processes of a node.

pub mod cma;
pub mod copy;
mod file;
pub mod heap;
mod offsets;
pub mod view;

pub use file::extend;
pub use heap::{Heap, Place};
pub use view::Views;
