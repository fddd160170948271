//! MPI_Allreduce (MPI 5.0, section 6.9.6). All processes get the same bits: either each element
//! is computed by one process only, or all compute it from the same operands in the same order.

use super::halving::{Fold, Part, Vector, halves, reduce_halves, take_folded};
use super::{bcast, reduce};
use crate::buffers::{Buffer, Operator};
use crate::group::Group;
use crate::schedule::{Builder, Schedule};
use tern_policy::collective::{Algorithm, Collective};

/// The reduction of all vectors, on all processes; on an intercommunicator, that of the other
/// group's. `input` is None for MPI_IN_PLACE.
pub fn allreduce(peers: &Group, input: Option<&Buffer>, output: &Buffer, op: &Operator) -> Schedule {
    let mut b = Builder::reducing(peers, op, &output.ty);
    let (count, to) = (output.count, output.base);
    if b.remote_size().is_some() {
        if let Some(input) = input {
            across(&mut b, input, output);
        }
        return b.finish();
    }
    let input = input.map(|i| i.base);
    if b.size == 1 {
        if let Some(input) = input {
            b.copy_elements(input, to, 0, count);
        }
    } else if count > 0 {
        match b.pick(Collective::Allreduce, output.bytes()) {
            Algorithm::Ring => ring(&mut b, input, to, count),
            Algorithm::Rabenseifner => rabenseifner(&mut b, input, to, count),
            _ => recursive_doubling(&mut b, input, to, count),
        }
    }
    b.finish()
}

/// Each group reduces to its first process; these exchange, and each tells its group.
fn across(b: &mut Builder, input: &Buffer, output: &Buffer) {
    let count = output.count;
    let result = (b.rank == 0).then(|| b.temp_elements(count));
    reduce::group(b, 0, Some(input.base), result, count);
    if let Some(result) = result {
        b.fence();
        b.recv_remote(0, output.data());
        b.send_remote(0, b.elements(result, 0, count));
        b.fence();
    }
    bcast::group(b, 0, output);
}

/// Members exchange whole vectors at distance 1, 2, 4 …
fn recursive_doubling(b: &mut Builder, input: Option<*mut u8>, output: *mut u8, count: i64) {
    let fold = Fold::new(b.size, None);
    let (number, folded) = match fold.part(b.rank) {
        Part::Member { number, folded } => (number, folded),
        Part::Folded(member) => return fold_in(b, member, input, output, count),
    };
    let mut vector = Vector::owned(b, input, output, count);
    take_folded(b, folded, &mut vector, true);
    let mut distance = 1;
    while distance < fold.members {
        let partner = fold.rank(number ^ distance);
        b.recv(partner, b.elements(vector.room, 0, count));
        b.send(partner, b.elements(vector.value, 0, count));
        b.fence();
        vector.merge_exactly(b, number & distance == 0, 0, count);
        distance *= 2;
    }
    b.copy_elements(vector.value, output, 0, count);
    if let Some(folded) = folded {
        b.send(folded, b.elements(output, 0, count));
    }
}

/// The part of a process that is folded in: gives its vector, gets the result.
fn fold_in(b: &mut Builder, member: usize, input: Option<*mut u8>, output: *mut u8, count: i64) {
    b.send(member, b.elements(input.unwrap_or(output), 0, count));
    b.fence();
    b.recv(member, b.elements(output, 0, count));
}

/// Pieces are reduced by halving, then collected by doubling.
fn rabenseifner(b: &mut Builder, input: Option<*mut u8>, output: *mut u8, count: i64) {
    let fold = Fold::new(b.size, None);
    let (number, folded) = match fold.part(b.rank) {
        Part::Member { number, folded } => (number, folded),
        Part::Folded(member) => return fold_in(b, member, input, output, count),
    };
    let mut vector = Vector::new(b, input, output, count);
    take_folded(b, folded, &mut vector, false);
    let ranges = reduce_halves(b, &fold, number, &mut vector, count);
    let (first, end) = ranges[ranges.len() - 1];
    b.copy_elements(vector.value, output, first, end);
    let mut distance = fold.members / 2;
    for range in ranges.iter().rev().skip(1) {
        let partner = fold.rank(number ^ distance);
        let (have, want) = halves(*range, number & distance == 0);
        b.recv(partner, b.elements(output, want.0, want.1));
        b.send(partner, b.elements(output, have.0, have.1));
        b.fence();
        distance /= 2;
    }
    if let Some(folded) = folded {
        b.send(folded, b.elements(output, 0, count));
    }
}

/// Each of the p pieces goes round once to be reduced and once to be known. The order in which
/// a piece is reduced starts with its own process, so the operation must be commutative.
fn ring(b: &mut Builder, input: Option<*mut u8>, output: *mut u8, count: i64) {
    let (rank, size) = (b.rank, b.size);
    let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
    // Cut so that no product overflows, whatever the count.
    let (each, more) = (count / size as i64, count % size as i64);
    let start = |i: usize| i as i64 * each + (i as i64).min(more);
    let piece = |step: usize| {
        let i = (rank + 2 * size - step) % size;
        (start(i), start(i + 1))
    };
    // In place, what comes in may not lie on what is still to be added.
    let room = if input.is_some() { output } else { b.temp_elements(count) };
    for step in 0..size - 1 {
        let (have, want) = (piece(step), piece(step + 1));
        let from = if step == 0 { input.unwrap_or(output) } else { output };
        b.recv(last, b.elements(room, want.0, want.1));
        b.send(next, b.elements(from, have.0, have.1));
        b.fence();
        b.reduce(input.unwrap_or(room), output, want.0, want.1);
    }
    for step in 0..size - 1 {
        let (have, want) = (piece(step + size - 1), piece(step + size));
        b.recv(last, b.elements(output, want.0, want.1));
        b.send(next, b.elements(output, have.0, have.1));
        b.fence();
    }
}
