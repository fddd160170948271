//! Numbers of ranks as users write them.

use std::ops::RangeInclusive;

/// `0,2-3`. A range whose last rank is below its first one is empty. None for other texts.
pub fn ranges(text: &str) -> Option<Vec<RangeInclusive<u32>>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.split(',').map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        assert_eq!(ranges("0,2-3"), Some(vec![0..=0, 2..=3]));
        assert!(ranges("5-4").is_some_and(|ranges| ranges[0].is_empty()));
        assert!(["", "a", "1-", "1,,2", "-1"].iter().all(|text| ranges(text).is_none()));
    }
}
