//! What accesses cost, roughly, and the choices that follow. Pure functions.
//!
//! The figures are those of a file in the page cache, in nanoseconds. Where a call goes over a network
//! it costs more, and who knows that says so by the hints.

use crate::Choice;

/// A system call that reads or writes, without its bytes.
const CALL: f64 = 1000.0;
/// Copying a byte, by the kernel or by us.
const BYTE: f64 = 0.2;
/// Taking and giving up a lock.
const LOCK: f64 = 1500.0;
/// Going on to the next run in a buffer.
const STEP: f64 = 8.0;
/// A round of a collective access: everybody waits for everybody, and messages go to and fro.
const ROUND: f64 = 40_000.0;

/// What is known of the runs of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub bytes: u64,
    pub runs: u64,
    /// From the first byte to the last.
    pub span: u64,
}

impl Shape {
    /// One call for each run.
    fn each(self) -> f64 {
        self.runs as f64 * CALL + self.bytes as f64 * BYTE
    }

    /// Windows of `buffer` bytes with their holes.
    fn sieved(self, buffer: usize, writing: bool) -> f64 {
        let windows = (self.span / buffer.max(1) as u64 + 1) as f64;
        let (calls, passes) = if writing { (2.0 * CALL + LOCK, 2.0) } else { (CALL, 1.0) };
        windows * calls + (passes * self.span as f64 + self.bytes as f64) * BYTE + self.runs as f64 * STEP
    }

    /// Whether to access windows with their holes rather than run by run.
    pub fn sieve(self, choice: Choice, buffer: usize, writing: bool) -> bool {
        match choice {
            Choice::Never => false,
            _ if self.runs < 2 || buffer == 0 => false,
            Choice::Always => true,
            Choice::Auto => self.sieved(buffer, writing) < self.each(),
        }
    }

    /// What it costs a process that does it by itself, the cheaper way. As for reading: writers of one
    /// file wait for each other in the kernel, but so do aggregators.
    pub fn alone(self, buffer: usize) -> f64 {
        self.each().min(self.sieved(buffer, false))
    }
}

/// A collective access of `bytes` by `aggregators` in `rounds`: gathered, sent, put in its place, and
/// written or read.
pub(crate) fn together(bytes: u64, aggregators: u64, rounds: u64) -> f64 {
    let moved = bytes as f64 * BYTE * 4.0 / aggregators.max(1) as f64;
    rounds as f64 * (ROUND + 2.0 * CALL) + moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_with_small_holes_are_sieved() {
        let near = Shape { bytes: 64 << 10, runs: 1 << 13, span: 128 << 10 };
        assert!(near.sieve(Choice::Auto, 4 << 20, false) && near.sieve(Choice::Auto, 512 << 10, true));
        let far = Shape { bytes: 64 << 10, runs: 1 << 13, span: 1 << 33 };
        assert!(!far.sieve(Choice::Auto, 4 << 20, false) && !far.sieve(Choice::Auto, 512 << 10, true));
        let large = Shape { bytes: 64 << 20, runs: 64, span: 128 << 20 };
        assert!(!large.sieve(Choice::Auto, 4 << 20, false) && large.sieve(Choice::Always, 4 << 20, false));
        assert!(!near.sieve(Choice::Never, 4 << 20, false));
    }

    #[test]
    fn one_run_has_no_holes() {
        let one = Shape { bytes: 10, runs: 1, span: 10 };
        assert!(!one.sieve(Choice::Always, 4096, true));
    }
}
