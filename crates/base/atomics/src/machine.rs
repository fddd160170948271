//! The atomics of this machine.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub use std::thread::yield_now;
