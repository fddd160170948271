//! MPI_Reduce (MPI 5.0, section 6.9.1).

use super::bcast::{children, parent};
use super::halving::{Fold, Part, Vector, halves, reduce_halves, take_folded};
use crate::buffers::{Buffer, Operator, Root};
use crate::group::Group;
use crate::schedule::{Builder, Schedule};
use tern_policy::collective::{Algorithm, Collective};

/// The reduction of all vectors, on the root. `input` is None for MPI_IN_PLACE at the root and
/// where this process gives nothing; `output` is needed at the root only.
pub fn reduce(peers: &Group, input: Option<&Buffer>, output: Option<&Buffer>, op: &Operator, root: Root) -> Schedule {
    let Some(buffer) = output.or(input) else {
        return Builder::new(peers).finish();
    };
    let count = buffer.count;
    let mut b = Builder::reducing(peers, op, &buffer.ty);
    let from = input.map(|i| i.base);
    match (b.remote_size(), root) {
        (None, Root::Rank(root)) => {
            let root = root as usize;
            let to = output.map(|o| o.base).filter(|_| b.rank == root);
            group(&mut b, root, from, to, count);
        }
        (Some(_), Root::Rank(root)) => {
            let result = (b.rank == 0).then(|| b.temp_elements(count));
            group(&mut b, 0, from, result, count);
            if let Some(result) = result {
                b.fence();
                b.send_remote(root as usize, b.elements(result, 0, count));
            }
        }
        (Some(_), Root::Root) => {
            if let Some(output) = output {
                b.recv_remote(0, output.data());
            }
        }
        _ => {}
    }
    b.finish()
}

/// Inside the local group. `output` is given at the root and nowhere else.
pub(crate) fn group(b: &mut Builder, root: usize, input: Option<*mut u8>, output: Option<*mut u8>, count: i64) {
    if count == 0 {
        return;
    }
    if b.size == 1 {
        if let (Some(input), Some(output)) = (input, output) {
            b.copy_elements(input, output, 0, count);
        }
        return;
    }
    let bytes = count as usize * b.element_size();
    match b.pick(Collective::Reduce, bytes) {
        Algorithm::Rabenseifner => rabenseifner(b, root, input, output, count),
        _ => binomial(b, root, input, output, count),
    }
}

/// Each process adds the results of its children, which stand to its right, and gives the sum
/// to its parent. Where the order matters the tree starts at rank 0, whoever the root is.
fn binomial(b: &mut Builder, root: usize, input: Option<*mut u8>, output: Option<*mut u8>, count: i64) {
    let size = b.size;
    let head = if b.commutative() { root } else { 0 };
    let v = (b.rank + size - head) % size;
    let rank = |v: usize| (v + head) % size;
    let Some(mine) = input.or(output) else { return };
    let mut value = mine;
    if children(v, size).next().is_some() {
        let mut vector = match output {
            Some(output) => Vector::new(b, input, output, count),
            None => Vector::apart(b, mine, count),
        };
        for child in children(v, size) {
            b.recv(rank(child), b.elements(vector.room, 0, count));
            b.fence();
            vector.merge(b, true, 0, count);
        }
        value = vector.value;
    }
    if let Some(parent) = parent(v) {
        b.send(rank(parent), b.elements(value, 0, count));
    } else if let Some(output) = output {
        b.copy_elements(value, output, 0, count);
    } else {
        b.send(root, b.elements(value, 0, count));
    }
    if let (true, Some(output)) = (b.rank == root && root != head, output) {
        b.fence();
        b.recv(head, b.elements(output, 0, count));
    }
}

/// Pieces are reduced by halving, then collected on the root by a tree.
fn rabenseifner(b: &mut Builder, root: usize, input: Option<*mut u8>, output: Option<*mut u8>, count: i64) {
    let Some(mine) = input.or(output) else { return };
    let fold = Fold::new(b.size, Some(root));
    let (number, folded) = match fold.part(b.rank) {
        Part::Member { number, folded } => (number, folded),
        Part::Folded(member) => return b.send(member, b.elements(mine, 0, count)),
    };
    let Part::Member { number: head, .. } = fold.part(root) else { return };
    let mut vector = match output {
        Some(output) => Vector::new(b, input, output, count),
        None => Vector::apart(b, mine, count),
    };
    take_folded(b, folded, &mut vector, false);
    let ranges = reduce_halves(b, &fold, number, &mut vector, count);
    let (first, end) = ranges[ranges.len() - 1];
    let result = output.unwrap_or(vector.value);
    b.copy_elements(vector.value, result, first, end);
    // The pair at each distance that is on the way to the root puts its two halves together.
    let mut distance = fold.members / 2;
    for range in ranges.iter().rev().skip(1) {
        let partner = fold.rank(number ^ distance);
        let (have, want) = halves(*range, number & distance == 0);
        if (number ^ head) & distance != 0 {
            b.send(partner, b.elements(result, have.0, have.1));
            return;
        }
        b.recv(partner, b.elements(result, want.0, want.1));
        b.fence();
        distance /= 2;
    }
}
