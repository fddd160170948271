//! Runs of memory, cut to the lengths that requests need.

use crate::Run;

/// A place in a list of runs.
pub struct Cursor<'a> {
    runs: &'a [Run],
    /// Bytes of the first run that were taken.
    taken: u64,
}

impl<'a> Cursor<'a> {
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
}
