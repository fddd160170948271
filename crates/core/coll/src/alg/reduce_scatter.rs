//! MPI_Reduce_scatter and MPI_Reduce_scatter_block (MPI 5.0, section 6.10).

use super::halving::{Fold, Part, Vector, take_folded};
use super::{reduce, scatter};
use crate::buffers::{Buffer, BufferV, Operator};
use crate::group::Group;
use crate::memory::Blocks;
use crate::schedule::{Builder, Schedule};
use std::rc::Rc;
use tern_policy::collective::{Algorithm, Collective};

/// Vectors under reduction, cut into one block for each process.
struct Vectors {
    /// The whole input, in the user's memory. In place, the same address as `output`.
    input: *mut u8,
    output: *mut u8,
    /// Where each block starts, in elements; one entry more than there are blocks.
    starts: Vec<i64>,
}

impl Vectors {
    fn count(&self) -> i64 {
        self.starts[self.starts.len() - 1]
    }

    /// Elements of the blocks `first` to `end` (excluded).
    fn blocks(&self, first: usize, end: usize) -> (i64, i64) {
        (self.starts[first], self.starts[end])
    }

    fn block(&self, rank: usize) -> (i64, i64) {
        self.blocks(rank, rank + 1)
    }
}

/// The reduction of all vectors, of which process r keeps the r-th block, `counts[r]` elements.
/// `input` is None for MPI_IN_PLACE: `output` then holds the whole input. On an
/// intercommunicator each group gets the reduction of the other's vectors. Only `base` and `ty`
/// of `output` are used.
pub fn reduce_scatter(
    peers: &Group, input: Option<&Buffer>, output: &Buffer, counts: &[i64], op: &Operator,
) -> Schedule {
    let mut b = Builder::reducing(peers, op, &output.ty);
    let mut starts = vec![0; counts.len() + 1];
    for (i, count) in counts.iter().enumerate() {
        starts[i + 1] = starts[i] + count;
    }
    let from = input.map_or(output.base, |i| i.base);
    let vectors = Vectors { input: from, output: output.base, starts };
    if vectors.count() == 0 {
        return b.finish();
    }
    if b.remote_size().is_some() {
        across(&mut b, &vectors, output, counts);
    } else if b.size == 1 {
        b.copy_elements(vectors.input, vectors.output, 0, vectors.count());
    } else {
        let bytes = vectors.count() as usize * b.element_size();
        match b.pick(Collective::ReduceScatter, bytes) {
            Algorithm::RecursiveHalving => recursive_halving(&mut b, &vectors),
            Algorithm::Pairwise => pairwise(&mut b, &vectors),
            _ => linear(&mut b, &vectors),
        }
    }
    b.finish()
}

/// As [`reduce_scatter`] with `output.count` elements for each process.
pub fn reduce_scatter_block(peers: &Group, input: Option<&Buffer>, output: &Buffer, op: &Operator) -> Schedule {
    let counts = vec![output.count; peers.procs.len()];
    reduce_scatter(peers, input, output, &counts, op)
}

/// Each group reduces to its first process; these exchange, and each deals out to its group.
fn across(b: &mut Builder, v: &Vectors, output: &Buffer, counts: &[i64]) {
    let count = v.count();
    let head = (b.rank == 0).then(|| (b.temp_elements(count), b.temp_elements(count)));
    reduce::group(b, 0, Some(v.input), head.map(|h| h.0), count);
    let mut blocks = None;
    if let Some((ours, theirs)) = head {
        b.fence();
        b.recv_remote(0, b.elements(theirs, 0, count));
        b.send_remote(0, b.elements(ours, 0, count));
        b.fence();
        let displs = Rc::from(&v.starts[..counts.len()]);
        let (counts, ty) = (Rc::from(counts), output.ty.clone());
        blocks = Some(BufferV { base: theirs, counts, displs, ty });
    }
    let recv = Buffer { base: output.base, count: counts[b.rank], ty: output.ty.clone() };
    scatter::linear(b, blocks.as_ref().map(Blocks::V), Some(&recv), 0);
}

/// Every process gets its block from all others and reduces them in the order of ranks.
fn linear(b: &mut Builder, v: &Vectors) {
    let (rank, size) = (b.rank, b.size);
    let (first, end) = v.block(rank);
    let length = end - first;
    // Operands start at element 0 of their temporaries.
    let rooms: Vec<*mut u8> = (0..size).map(|_| b.temp_elements(length)).collect();
    for step in 1..size {
        let other = (rank + step) % size;
        b.recv(other, b.elements(rooms[other], 0, length));
    }
    for step in 1..size {
        let other = (rank + size - step) % size;
        let (first, end) = v.block(other);
        b.send(other, b.elements(v.input, first, end));
    }
    b.copy(b.elements(v.input, first, end), b.elements(rooms[rank], 0, length));
    b.fence();
    let result = rooms[size - 1];
    for &room in rooms[..size - 1].iter().rev() {
        b.reduce(room, result, 0, length);
    }
    b.copy_elements(result, v.output, 0, length);
}

/// As `linear`, one partner after another, with two temporaries. Commutative only.
fn pairwise(b: &mut Builder, v: &Vectors) {
    let (rank, size) = (b.rank, b.size);
    let (first, end) = v.block(rank);
    let length = end - first;
    let room = b.temp_elements(length);
    // In place, the output lies on blocks that are still to be sent.
    let in_place = v.input == v.output;
    let sum = if in_place { b.temp_elements(length) } else { v.output };
    b.copy(b.elements(v.input, first, end), b.elements(sum, 0, length));
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        let (give, give_end) = v.block(to);
        b.recv(from, b.elements(room, 0, length));
        b.send(to, b.elements(v.input, give, give_end));
        b.fence();
        b.reduce(room, sum, 0, length);
    }
    b.copy_elements(sum, v.output, 0, length);
}

/// Members at distance p/2, p/4 … exchange the halves that the other works on. Groups that meet
/// are not neighbours: commutative only.
fn recursive_halving(b: &mut Builder, v: &Vectors) {
    let rank = b.rank;
    let count = v.count();
    let fold = Fold::new(b.size, None);
    let (number, folded) = match fold.part(rank) {
        Part::Member { number, folded } => (number, folded),
        Part::Folded(member) => {
            b.send(member, b.elements(v.input, 0, count));
            b.fence();
            let (first, end) = v.block(rank);
            return b.recv(member, b.elements(v.output, 0, end - first));
        }
    };
    let mut vector = Vector::apart(b, v.input, count);
    take_folded(b, folded, &mut vector, false);
    let elements = |low: usize, high: usize| v.blocks(fold.first(low), fold.first(high));
    let (mut low, mut high) = (0, fold.members);
    while high - low > 1 {
        let middle = (low + high) / 2;
        let distance = middle - low;
        let partner = fold.rank(number ^ distance);
        let ((keep_low, keep_high), give) = match number < middle {
            true => ((low, middle), elements(middle, high)),
            false => ((middle, high), elements(low, middle)),
        };
        let keep = elements(keep_low, keep_high);
        b.recv(partner, b.elements(vector.room, keep.0, keep.1));
        b.send(partner, b.elements(vector.value, give.0, give.1));
        b.fence();
        vector.merge(b, true, keep.0, keep.1);
        (low, high) = (keep_low, keep_high);
    }
    let (first, end) = v.block(rank);
    b.copy(b.elements(vector.value, first, end), b.elements(v.output, 0, end - first));
    if let Some(folded) = folded {
        let (first, end) = v.block(folded);
        b.send(folded, b.elements(vector.value, first, end));
    }
}
