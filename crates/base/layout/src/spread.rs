//! In which order the bytes of a program lie, and in how many runs: what file views are checked for.

/// How the runs of one element lie. They are taken in the order of the type map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// How many there are; runs that meet where two parts of the type meet count as two.
    pub runs: u64,
    /// Where the first one begins.
    pub first: i64,
    /// Where the last one begins.
    pub last: i64,
    /// Where the last one ends.
    pub end: i64,
    /// Each begins at or after the beginning of the one before.
    pub ascending: bool,
    /// Each begins at or after the end of the one before.
    pub disjoint: bool,
}

impl Spread {
    pub(crate) const EMPTY: Spread = Spread { runs: 0, first: 0, last: 0, end: 0, ascending: true, disjoint: true };

    pub(crate) fn run(at: i64, len: u64) -> Spread {
        Spread { runs: 1, last: at, first: at, end: at.wrapping_add_unsigned(len), ascending: true, disjoint: true }
    }

    pub(crate) fn shifted(self, by: i64) -> Spread {
        Spread {
            first: self.first.wrapping_add(by),
            last: self.last.wrapping_add(by),
            end: self.end.wrapping_add(by),
            ..self
        }
    }

    /// First this, then `next`.
    fn then(self, next: Spread) -> Spread {
        match (self.runs, next.runs) {
            (0, _) => return next,
            (_, 0) => return self,
            _ => {}
        }
        Spread {
            runs: self.runs.saturating_add(next.runs),
            first: self.first,
            last: next.last,
            end: next.end,
            ascending: self.ascending && next.ascending && next.first >= self.last,
            disjoint: self.disjoint && next.disjoint && next.first >= self.end,
        }
    }

    /// `count` times (at least once), `stride` bytes apart.
    pub fn repeated(self, count: u64, stride: i64) -> Spread {
        if count < 2 || self.runs == 0 {
            return self;
        }
        let two = self.then(self.shifted(stride));
        let way = stride.wrapping_mul((count - 1) as i64);
        Spread {
            runs: self.runs.saturating_mul(count),
            last: self.last.wrapping_add(way),
            end: self.end.wrapping_add(way),
            ..two
        }
    }

    /// One after the other.
    pub(crate) fn of(parts: impl Iterator<Item = Spread>) -> Spread {
        parts.fold(Spread::EMPTY, Spread::then)
    }
}
