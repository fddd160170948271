//! Runs of memory, cut to the lengths that requests need, and which lengths those are.

use crate::Run;

/// Fewest bytes of a request of a long message or of an access, on average: below that a request costs more than a copy.
pub const FEWEST: u64 = 512;
/// Most bytes of a request.
pub const LONGEST: u64 = 1 << 30;
/// Fewest bytes of an access whose own memory is registered; of shorter ones the bytes are copied.
const REGISTERED: u64 = 16 << 10;
/// A registration may be so many times longer than the bytes that are moved.
const LOOSE: u64 = 4;

/// A place in a list of runs.
pub struct Cursor<'a> {
    runs: &'a [Run],
    /// Bytes of the first run that were taken.
    taken: u64,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a list.
    pub fn new(runs: &'a [Run]) -> Cursor<'a> {
        let mut cursor = Cursor { runs, taken: 0 };
        cursor.skip();
        cursor
    }

    fn skip(&mut self) {
        while let [first, rest @ ..] = self.runs
            && self.taken == first.len
        {
            (self.runs, self.taken) = (rest, 0);
        }
    }

    /// What is left of the run that comes next.
    pub fn peek(&self) -> Option<Run> {
        let first = self.runs.first()?;
        Some(Run { address: first.address + self.taken, len: first.len - self.taken })
    }

    /// The next bytes that lie in one run, at most so many.
    pub fn take(&mut self, most: u64) -> Option<Run> {
        let next = self.peek()?;
        let run = Run { len: next.len.min(most), ..next };
        self.taken += run.len;
        self.skip();
        Some(run)
    }

    /// The next bytes, at most so many.
    pub fn part(&mut self, mut most: u64) -> Vec<Run> {
        let mut part = Vec::new();
        while most > 0
            && let Some(run) = self.take(most)
        {
            most -= run.len;
            part.push(run);
        }
        part
    }
}

/// The lowest address, and the bytes from there to the end of the highest run.
pub fn span(runs: &[Run]) -> (u64, u64) {
    let filled = runs.iter().filter(|run| run.len > 0);
    let low = filled.clone().map(|run| run.address).min().unwrap_or(0);
    let high = filled.map(|run| run.address + run.len).max().unwrap_or(0);
    (low, high - low)
}

/// What is registered for an access to own memory in these runs, of `total` bytes: the address and the bytes from there on.
/// `None`: copies cost less, since there is little, or it lies far apart.
pub fn registered(runs: &[Run], total: u64) -> Option<(u64, u64)> {
    let (low, len) = span(runs);
    (total >= REGISTERED && len / LOOSE <= total).then_some((low, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_taken_once() {
        let runs: Vec<Run> =
            [5, 0, 1, 7, 0].iter().enumerate().map(|(at, &len)| Run { address: 100 * at as u64, len }).collect();
        for step in 1..15 {
            let mut cursor = Cursor::new(&runs);
            let mut taken = Vec::new();
            while let Some(next) = cursor.peek() {
                let part = cursor.part(step);
                assert_eq!(part[0].address, next.address);
                assert!(part.iter().map(|run| run.len).sum::<u64>() <= step);
                taken.extend(part.iter().flat_map(|run| run.address..run.address + run.len));
            }
            let all: Vec<u64> = runs.iter().flat_map(|run| run.address..run.address + run.len).collect();
            assert_eq!(taken, all, "in parts of {step}");
        }
        assert_eq!(span(&runs), (0, 307));
    }

    #[test]
    fn much_that_lies_together_is_registered() {
        let runs = |second: u64| [Run { address: 4096, len: 8 << 10 }, Run { address: second, len: 8 << 10 }];
        assert_eq!(registered(&runs(16 << 10), 16 << 10), Some((4096, 20 << 10)));
        assert_eq!(registered(&runs(1 << 20), 16 << 10), None, "far apart");
        assert_eq!(registered(&runs(16 << 10), (16 << 10) - 1), None, "little");
    }
}
