//! Atomics: the machine's, or loom's when its model checker runs the tests.

#[cfg(loom)]
pub use loom::hint::spin_loop;
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, Ordering};
#[cfg(not(loom))]
pub use std::hint::spin_loop;
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, Ordering};
