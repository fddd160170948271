//! The range of ports of `TERN_PORT_RANGE`.

use crate::PORT_RANGE;
use std::ops::RangeInclusive;

/// The ports on which a process may listen; any, if none are set.
///
/// Errors: the setting is no range; the text says so.
pub fn port_range() -> Result<Option<RangeInclusive<u16>>, String> {
    let text = PORT_RANGE.get();
    parse(text).ok_or_else(|| format!("{}={text} is no range of ports, as 20000-20100", PORT_RANGE.name))
}

fn parse(text: &str) -> Option<Option<RangeInclusive<u16>>> {
    if text == "auto" {
        return Some(None);
    }
    let (first, last) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (0 < first && first <= last).then_some(Some(first..=last))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn ranges_of_ports() {
        assert_eq!(parse("auto"), Some(None));
        assert_eq!(parse("20000-20100"), Some(Some(20000..=20100)));
        assert_eq!(parse("20000:20100"), Some(Some(20000..=20100)));
        assert_eq!(parse("80"), Some(Some(80..=80)));
        for wrong in ["", "a-b", "2-1", "0-10", "70000", "1-2-3"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
