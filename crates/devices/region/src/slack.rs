//! Address space that may be taken for what the library can do without: views of peers' memory, and promotion.
//!
//! Where the address space is limited (RLIMIT_AS), the program and the library need some to allocate memory. What only makes messages faster
//! stops well before there is none.

use rustix::process::{Resource, getrlimit};

/// Address space that stays free, and at the most which part of the limit.
const MARGIN: u64 = 64 << 20;
const PART: u64 = 8;

/// Whether `len` bytes more may be mapped.
pub fn is_to_spare(len: u64) -> bool {
    let Some(limit) = getrlimit(Resource::As).current else { return true };
    used().is_some_and(|used| fits(used, len, limit))
}

fn fits(used: u64, len: u64, limit: u64) -> bool {
    let margin = MARGIN.min(limit / PART);
    used.saturating_add(len).saturating_add(margin) <= limit
}

/// Address space of this process.
fn used() -> Option<u64> {
    // proc(5): the first number is of pages.
    let text = crate::host::text("/proc/self/statm")?;
    let pages: u64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_stays_free() {
        assert!(fits(1 << 30, 1 << 20, 2 << 30));
        assert!(fits((2 << 30) - (65 << 20), 1 << 20, 2 << 30) && !fits((2 << 30) - (65 << 20), 2 << 20, 2 << 30));
        assert!(fits(7 << 20, 0, 8 << 20) && !fits(7 << 20, 1, 8 << 20), "an eighth of a low limit");
        assert!(!fits(3 << 30, 0, 2 << 30), "lowered below what there is");
        assert!(used().is_some_and(|used| used > 1 << 20));
    }
}
