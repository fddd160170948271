//! Lines of the standard input that say for whom the next ones are.

use crate::ranges::ranges;

/// What one rank gets of the lines.
pub struct Addressed {
    rank: u32,
    chosen: bool,
    /// A line without its end yet.
    begun: Vec<u8>,
}

impl Addressed {
    /// All lines are for this rank, until one says something else.
    pub fn new(rank: u32) -> Addressed {
        Addressed { rank, chosen: true, begun: Vec::new() }
    }

    /// The lines of `piece` for this rank, without those that choose; an empty piece is the end of the input.
    pub fn take(&mut self, piece: &[u8]) -> Vec<u8> {
        if piece.is_empty() {
            let rest = std::mem::take(&mut self.begun);
            return self.own(rest);
        }
        let mut own = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                own.extend(self.own(line));
            }
        }
        own
    }

    /// The line, if it is for this rank.
    fn own(&mut self, line: Vec<u8>) -> Vec<u8> {
        if let Some(chosen) = chosen(&line, self.rank) {
            self.chosen = chosen;
            return Vec::new();
        }
        if self.chosen { line } else { Vec::new() }
    }
}

/// Whether `rank` is one of those that a line `z 0,2-3` names; `z` alone names all. `None`: it is a line of another kind.
fn chosen(line: &[u8], rank: u32) -> Option<bool> {
    let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
    if words.next() != Some("z") {
        return None;
    }
    let Some(list) = words.next() else { return Some(true) };
    let is_named = ranges(list)?.iter().any(|range| range.contains(&rank));
    words.next().is_none().then_some(is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_to_those_that_are_chosen() {
        let lines = "a\nz 0,2-3\nb\nz 1\nc\nz x\nz\nd";
        let of = |rank| {
            let mut own = Addressed::new(rank);
            // In pieces that end within lines.
            let mut got: Vec<u8> = lines.as_bytes().chunks(3).flat_map(|piece| own.take(piece)).collect();
            got.extend(own.take(&[]));
            String::from_utf8(got).unwrap()
        };
        assert_eq!(of(0), "a\nb\nd");
        assert_eq!(of(3), "a\nb\nd");
        assert_eq!(of(1), "a\nc\nz x\nd");
    }
}
