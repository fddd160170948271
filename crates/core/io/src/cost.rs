//! What accesses cost, and the choices that follow: pure functions of figures, one of which is measured.
//!
//! The figures are nanoseconds for a file in the page cache. Most of them differ by less than two between file
//! systems (tmpfs and ext4 were measured). A short call does not: 0.6 us on tmpfs, 0.15 to 8 us on ext4, where a write
//! looks at each block of the piece of the cache that it falls into, and such a piece may be of 2 MiB; and over a
//! network it takes far longer. So files measure it ([`Calls`]). Where the figures mislead, the hints say.

use crate::hints::{AccessKind, Choice};
use std::cell::Cell;
use std::time::Duration;

/// A call that moves little, before one was seen.
const CALL: f64 = 1000.0;
/// The same of a write to one of many runs. The page cache keeps what it gets in pieces as short as the first writes, and on
/// ext4 all later accesses and the way to the disk took twice as long for it: so windows are tried first.
const WRITE: f64 = 3000.0;
/// Copying a byte, by the kernel or by us.
const BYTE: f64 = 0.25;
/// Taking and giving up a lock.
const LOCK: f64 = 1000.0;
/// Going on to the next run in a buffer.
const STEP: f64 = 10.0;
/// A round of a collective access: everybody waits for everybody, and messages go to and fro.
const ROUND: f64 = 40_000.0;

/// What the short calls on a file cost, from some of them.
#[derive(Debug)]
pub(crate) struct Calls {
    read: Cell<f64>,
    write: Cell<f64>,
    seen: Cell<u32>,
}

/// A call of no more bytes is short.
const LITTLE: usize = 8192;
/// Of so many short calls one is timed.
const SOME: u32 = 8;

impl Default for Calls {
    fn default() -> Calls {
        Calls { read: Cell::new(CALL), write: Cell::new(WRITE), seen: Cell::new(0) }
    }
}

impl Calls {
    /// Whether to time the next call, which moves `len` bytes.
    #[inline]
    pub fn is_due(&self, len: usize) -> bool {
        if len > LITTLE {
            return false;
        }
        let seen = self.seen.get().wrapping_add(1);
        self.seen.set(seen);
        seen.is_multiple_of(SOME)
    }

    /// A short call has taken so long. What is far above the others was an interruption, or waited for a disk.
    pub fn note(&self, way: AccessKind, took: Duration) {
        let (cell, took) = (self.cell(way), took.as_nanos() as f64);
        let known = cell.get();
        let took = took.min(4.0 * known);
        let share = if took < known { 0.25 } else { 0.0625 };
        cell.set(known + (took - known) * share);
    }

    /// Nanoseconds of a short call.
    pub fn cost(&self, way: AccessKind) -> f64 {
        self.cell(way).get()
    }

    fn cell(&self, way: AccessKind) -> &Cell<f64> {
        match way {
            AccessKind::Read => &self.read,
            AccessKind::Write => &self.write,
        }
    }
}

/// What is known of the runs of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub bytes: u64,
    pub runs: u64,
    /// From the first byte to the last.
    pub span: u64,
}

impl Shape {
    /// One call for each run, which takes `call` nanoseconds.
    fn each(self, call: f64) -> f64 {
        self.runs as f64 * call + self.bytes as f64 * BYTE
    }

    /// Windows of `buffer` bytes with their holes.
    fn sieved(self, buffer: usize, way: AccessKind) -> f64 {
        let windows = (self.span / buffer.max(1) as u64 + 1) as f64;
        let (calls, passes) = match way {
            AccessKind::Write => (2.0 * CALL + LOCK, 2.0),
            AccessKind::Read => (CALL, 1.0),
        };
        windows * calls + (passes * self.span as f64 + self.bytes as f64) * BYTE + self.runs as f64 * STEP
    }

    /// Whether to access windows with their holes rather than run by run, by calls of `call` nanoseconds.
    pub fn sieve(self, choice: Choice, buffer: usize, way: AccessKind, call: f64) -> bool {
        match choice {
            Choice::Never => false,
            _ if self.runs < 2 || buffer == 0 => false,
            Choice::Always => true,
            Choice::Auto => self.sieved(buffer, way) < self.each(call),
        }
    }

    /// What it costs a process that does it by itself, the cheaper way.
    fn alone(self, buffer: usize, way: AccessKind, call: f64) -> f64 {
        self.each(call).min(self.sieved(buffer, way))
    }
}

/// What it costs if each process does its own, all at the same time, by calls of `call` nanoseconds and with windows
/// of `buffer` bytes. Writers of one file wait for each other, in the kernel or for windows; readers do not.
pub(crate) fn apart(shapes: impl Iterator<Item = Shape>, buffer: usize, way: AccessKind, call: f64) -> f64 {
    let each = shapes.map(|shape| shape.alone(buffer, way, call));
    match way {
        AccessKind::Read => each.fold(0.0, f64::max),
        AccessKind::Write => each.sum(),
    }
}

/// A collective access of `bytes` by `aggregators` in `rounds`: gathered, sent, put in its place, and
/// written or read. `runs` in all.
pub(crate) fn together(bytes: u64, runs: u64, aggregators: u64, rounds: u64, way: AccessKind) -> f64 {
    let aggregators = aggregators.max(1) as f64;
    let moved = bytes as f64 * BYTE * 3.0 / aggregators;
    let accessed = bytes as f64 * BYTE / if way == AccessKind::Write { 1.0 } else { aggregators };
    // The runs are listed, sorted, and gone through by a layout.
    let listed = runs as f64 * STEP * 4.0 / aggregators;
    rounds as f64 * (ROUND + 2.0 * CALL) + moved + accessed + listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_with_small_holes_are_sieved() {
        let near = Shape { bytes: 64 << 10, runs: 1 << 13, span: 128 << 10 };
        assert!(
            near.sieve(Choice::Auto, 4 << 20, AccessKind::Read, CALL)
                && near.sieve(Choice::Auto, 512 << 10, AccessKind::Write, CALL)
        );
        let far = Shape { bytes: 64 << 10, runs: 1 << 13, span: 1 << 33 };
        assert!(
            !far.sieve(Choice::Auto, 4 << 20, AccessKind::Read, CALL)
                && !far.sieve(Choice::Auto, 512 << 10, AccessKind::Write, CALL)
        );
        let large = Shape { bytes: 64 << 20, runs: 64, span: 128 << 20 };
        assert!(
            !large.sieve(Choice::Auto, 4 << 20, AccessKind::Read, CALL)
                && large.sieve(Choice::Always, 4 << 20, AccessKind::Read, CALL)
        );
        assert!(!near.sieve(Choice::Never, 4 << 20, AccessKind::Read, CALL));
    }

    #[test]
    fn one_run_has_no_holes() {
        let one = Shape { bytes: 10, runs: 1, span: 10 };
        assert!(!one.sieve(Choice::Always, 4096, AccessKind::Write, CALL));
    }

    /// Four processes in turns, by blocks of so many bytes: measured on ext4 and tmpfs.
    #[test]
    fn short_blocks_are_written_by_windows_at_first() {
        let turns = |block: u64| Shape { bytes: 4 << 20, runs: (4 << 20) / block, span: 16 << 20 };
        let windows = |block| {
            turns(block).sieve(Choice::Auto, 512 << 10, AccessKind::Write, Calls::default().cost(AccessKind::Write))
        };
        assert!(windows(512) && windows(1024) && !windows(4096));
    }

    #[test]
    fn dear_calls_are_learnt_and_lead_to_windows() {
        let calls = Calls::default();
        let pages = Shape { bytes: 4 << 20, runs: 1 << 10, span: 16 << 20 };
        assert!(!pages.sieve(Choice::Auto, 512 << 10, AccessKind::Write, calls.cost(AccessKind::Write)));
        (0..100).for_each(|_| calls.note(AccessKind::Write, Duration::from_micros(20)));
        assert!(pages.sieve(Choice::Auto, 512 << 10, AccessKind::Write, calls.cost(AccessKind::Write)));
        assert_eq!(calls.cost(AccessKind::Read), CALL);
        // One that waits for a disk says little.
        let known = calls.cost(AccessKind::Write);
        calls.note(AccessKind::Write, Duration::from_secs(1));
        assert!(calls.cost(AccessKind::Write) < 1.2 * known);
        (0..100).for_each(|_| calls.note(AccessKind::Write, Duration::from_nanos(600)));
        assert!(calls.cost(AccessKind::Write) < 700.0);
    }

    #[test]
    fn small_pieces_of_many_writers_go_together() {
        let own = Shape { bytes: 4 << 20, runs: 4 << 14, span: 16 << 20 };
        let apart = apart([own; 4].into_iter(), 512 << 10, AccessKind::Write, CALL);
        assert!(together(16 << 20, 4 << 16, 4, 1, AccessKind::Write) < apart / 2.0);
    }
}
