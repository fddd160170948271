//! Collective algorithms as schedules over adi.

pub mod ops;
mod peers;
pub use peers::*;
