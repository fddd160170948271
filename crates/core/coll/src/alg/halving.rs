//! What the reductions share: folding to a power of two, the vector under work, and the
//! reduction of halves.

use crate::schedule::Builder;

/// The largest power of two of processes takes part; the rest are folded in first. When r too
/// many are there, processes 2i and 2i+1 with i < r make a pair of which one takes part for
/// both. Pairs are neighbours, so the order of operands is kept.
pub(crate) struct Fold {
    /// Processes that take part.
    pub members: usize,
    pairs: usize,
    /// The odd process of this pair takes part instead of the even one.
    odd: Option<usize>,
}

/// The part of one process in a [`Fold`].
pub(crate) enum Part {
    /// Takes part under this number; folded in: the other process of the pair, if there is one.
    Member { number: usize, folded: Option<usize> },
    /// Is folded into this process.
    Folded(usize),
}

impl Fold {
    /// `keep`: a process that must take part itself.
    pub fn new(size: usize, keep: Option<usize>) -> Fold {
        let members = 1 << size.ilog2();
        let pairs = size - members;
        let odd = keep.filter(|k| k % 2 == 1 && k / 2 < pairs).map(|k| k / 2);
        Fold { members, pairs, odd }
    }

    /// The process that takes part under `number`.
    pub fn rank(&self, number: usize) -> usize {
        if number >= self.pairs { number + self.pairs } else { 2 * number + usize::from(self.odd == Some(number)) }
    }

    pub fn part(&self, rank: usize) -> Part {
        if rank >= 2 * self.pairs {
            return Part::Member { number: rank - self.pairs, folded: None };
        }
        let number = rank / 2;
        match self.rank(number) == rank {
            true => Part::Member { number, folded: Some(rank ^ 1) },
            false => Part::Folded(rank ^ 1),
        }
    }

    /// The first process that member `number` speaks for; `members` gives the end of all.
    pub fn first(&self, number: usize) -> usize {
        if number < self.pairs { 2 * number } else { number + self.pairs }
    }
}

/// A vector that takes in others: where its value is now, and where the next may be received.
/// A reduction leaves its result in its right operand, so the two places may change.
pub(crate) struct Vector {
    /// The value.
    pub value: *mut u8,
    /// Whether `value` may be written; the user's input may not.
    owned: bool,
    /// Free room for a vector.
    pub room: *mut u8,
    count: i64,
}

impl Vector {
    /// Starts from `input` (None: what is in `output`). The result may come to lie anywhere but in
    /// `input`; for commutative operations that are done on one side only, no copy is made.
    pub fn new(b: &mut Builder, input: Option<*mut u8>, output: *mut u8, count: i64) -> Vector {
        match input {
            Some(input) => Vector { value: input, owned: false, room: output, count },
            None => Vector { value: output, owned: true, room: b.temp_elements(count), count },
        }
    }

    /// As `new`, with the value where it may be written.
    pub fn owned(b: &mut Builder, input: Option<*mut u8>, output: *mut u8, count: i64) -> Vector {
        if let Some(input) = input {
            b.copy_elements(input, output, 0, count);
        }
        Vector { value: output, owned: true, room: b.temp_elements(count), count }
    }

    /// As `new`, where `input` must stay as it is and only temporaries are written.
    pub fn apart(b: &mut Builder, input: *mut u8, count: i64) -> Vector {
        Vector { value: input, owned: false, room: b.temp_elements(count), count }
    }

    /// Combines elements `first` to `end` with those received in `room`, which are the right
    /// operand when `left` is true: this value is the left one. Other elements are lost when the
    /// value moves.
    pub fn merge(&mut self, b: &mut Builder, left: bool, first: i64, end: i64) {
        if !left && !self.owned && !b.commutative() {
            let copy = b.temp_elements(self.count);
            b.copy_elements(self.value, copy, first, end);
            (self.value, self.owned) = (copy, true);
        }
        if !self.owned || (left && !b.commutative()) {
            self.merge_into_room(b, first, end);
        } else {
            b.reduce(self.room, self.value, first, end);
        }
    }

    /// Combines as [`Vector::merge`], in the order of ranks even if the operation is commutative:
    /// where two processes compute the same, both must have the same bits.
    pub fn merge_exactly(&mut self, b: &mut Builder, left: bool, first: i64, end: i64) {
        if left {
            self.merge_into_room(b, first, end);
        } else {
            debug_assert!(self.owned);
            b.reduce(self.room, self.value, first, end);
        }
    }

    fn merge_into_room(&mut self, b: &mut Builder, first: i64, end: i64) {
        b.reduce(self.value, self.room, first, end);
        let free = if self.owned { self.value } else { b.temp_elements(self.count) };
        self.value = self.room;
        self.room = free;
        self.owned = true;
    }
}

/// Elements `first` to `end` (excluded).
pub(crate) type Range = (i64, i64);

/// Members at distance 1, 2, 4 … exchange halves of what they work on, so that each ends with
/// a piece of the result. Returns the ranges from the whole vector down to the piece: one more
/// than there are rounds. The groups that meet are neighbours, so the order is kept.
pub(crate) fn reduce_halves(
    b: &mut Builder, fold: &Fold, number: usize, vector: &mut Vector, count: i64,
) -> Vec<Range> {
    let mut ranges = vec![(0, count)];
    let mut range = (0, count);
    let mut distance = 1;
    while distance < fold.members {
        let left = number & distance == 0;
        let partner = fold.rank(number ^ distance);
        let (keep, give) = halves(range, left);
        let (room, value) = (vector.room, vector.value);
        b.recv(partner, b.elements(room, keep.0, keep.1));
        b.send(partner, b.elements(value, give.0, give.1));
        b.fence();
        vector.merge(b, left, keep.0, keep.1);
        range = keep;
        ranges.push(range);
        distance *= 2;
    }
    ranges
}

/// The half that stays and the half that goes; the left one keeps the first.
pub(crate) fn halves(range: Range, left: bool) -> (Range, Range) {
    let middle = range.0 + (range.1 - range.0) / 2;
    let (low, high) = ((range.0, middle), (middle, range.1));
    if left { (low, high) } else { (high, low) }
}

/// Takes in the vector of the process that is folded into this one.
pub(crate) fn take_folded(b: &mut Builder, folded: Option<usize>, vector: &mut Vector, exact: bool) {
    let Some(other) = folded else { return };
    let count = vector.count;
    b.recv(other, b.elements(vector.room, 0, count));
    b.fence();
    let left = b.rank < other;
    match exact {
        true => vector.merge_exactly(b, left, 0, count),
        false => vector.merge(b, left, 0, count),
    }
}
