//! How the files of /sys/devices/system are read.

use std::path::Path;

/// The hardware threads that are online in that folder; none if it does not tell.
pub(crate) fn online_in(system: &Path) -> Vec<usize> {
    read(&system.join("cpu/online")).map_or(Vec::new(), |text| parse_list(&text))
}

/// A small file without its last newline.
pub(crate) fn read(file: &Path) -> Option<String> {
    Some(std::fs::read_to_string(file).ok()?.trim_end().to_owned())
}

/// The numbers of a set as Linux writes it, `0-3,8`. What is no number is left out.
pub fn parse_list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}
