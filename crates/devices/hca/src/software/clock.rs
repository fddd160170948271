//! The clock that processes of a machine share.

pub use tern_node::clock::nanoseconds as now;

/// No time at all: later than any.
pub const NEVER: u64 = u64::MAX;
