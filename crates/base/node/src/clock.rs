//! The clock that does not go back.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since some moment before the process began.
#[inline]
pub fn nanoseconds() -> u64 {
    if let Some(now) = tern_atomics::now() {
        return now;
    }
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_go_back() {
        let mut last = nanoseconds();
        for _ in 0..1000 {
            let now = nanoseconds();
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
        assert!(last > 0);
    }
}
