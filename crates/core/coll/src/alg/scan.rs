//! MPI_Scan and MPI_Exscan (MPI 5.0, section 6.11). Intracommunicators only.

use crate::buffers::{Buffer, Operator};
use crate::group::Group;
use crate::schedule::{Builder, Schedule};

/// The reduction of the vectors of all processes up to this one. `input` is None for
/// MPI_IN_PLACE.
pub fn scan(peers: &Group, input: Option<&Buffer>, output: &Buffer, op: &Operator) -> Schedule {
    let mut b = Builder::reducing(peers, op, &output.ty);
    let count = output.count;
    if count > 0 {
        if let Some(input) = input {
            b.copy_elements(input.base, output.base, 0, count);
        }
        doubling(&mut b, output.base, None, count);
    }
    b.finish()
}

/// The reduction of the vectors of all processes before this one. The output of rank 0 stays
/// as it is.
pub fn exscan(peers: &Group, input: Option<&Buffer>, output: &Buffer, op: &Operator) -> Schedule {
    let mut b = Builder::reducing(peers, op, &output.ty);
    let count = output.count;
    if count > 0 && b.size > 1 {
        let sum = b.temp_elements(count);
        b.copy_elements(input.unwrap_or(output).base, sum, 0, count);
        doubling(&mut b, sum, Some(output.base), count);
    }
    b.finish()
}

/// Before the round with distance d, `sum` covers this process and the d-1 before it, and
/// `before`, if asked for, those d-1. What comes in covers the d before them, so it is the left
/// operand and the order is kept.
fn doubling(b: &mut Builder, sum: *mut u8, before: Option<*mut u8>, count: i64) {
    let (rank, size) = (b.rank, b.size);
    let room = if rank > 0 { b.temp_elements(count) } else { sum };
    let mut distance = 1;
    while distance < size {
        if rank >= distance {
            b.recv(rank - distance, b.elements(room, 0, count));
        }
        if rank + distance < size {
            b.send(rank + distance, b.elements(sum, 0, count));
        }
        b.fence();
        if rank >= distance {
            match before {
                Some(before) if distance == 1 => b.copy_elements(room, before, 0, count),
                Some(before) => b.reduce(room, before, 0, count),
                None => {}
            }
            // An exclusive scan needs the sum only to pass it on.
            if before.is_none() || rank + 2 * distance < size {
                b.reduce(room, sum, 0, count);
            }
        }
        distance *= 2;
    }
}
