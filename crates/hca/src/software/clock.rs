//! The clock that processes of a machine share.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since some time in the past.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// No time at all: later than any.
pub const NEVER: u64 = u64::MAX;
