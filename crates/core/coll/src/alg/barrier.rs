//! MPI_Barrier (MPI 5.0, section 6.3).

use super::bcast::{children, parent};
use crate::group::Group;
use crate::schedule::{Builder, Schedule};
use tern_policy::collective::{Algorithm, Collective};

/// Nobody leaves before everybody has entered; on an intercommunicator, nobody of one group
/// before everybody of the other.
pub fn barrier(peers: &Group) -> Schedule {
    let mut b = Builder::new(peers);
    if b.remote_size().is_some() {
        // Heads of both groups tell each other when their group is there.
        collect(&mut b);
        if b.rank == 0 {
            b.signal(0, true);
            b.await_signal(0, true);
            b.fence();
        }
        release(&mut b);
    } else if b.pick(Collective::Barrier, 0) == Algorithm::Binomial {
        collect(&mut b);
        release(&mut b);
    } else {
        dissemination(&mut b);
    }
    b.finish()
}

/// After round k, each process knows of the 2^(k+1) processes up to itself.
fn dissemination(b: &mut Builder) {
    let (rank, size) = (b.rank, b.size);
    let mut distance = 1;
    while distance < size {
        b.await_signal((rank + size - distance) % size, false);
        b.signal((rank + distance) % size, false);
        b.fence();
        distance *= 2;
    }
}

/// Rank 0 learns that all of the group have come.
fn collect(b: &mut Builder) {
    for child in children(b.rank, b.size) {
        b.await_signal(child, false);
    }
    b.fence();
    if let Some(parent) = parent(b.rank) {
        b.signal(parent, false);
        b.fence();
    }
}

/// Rank 0 lets the group go.
fn release(b: &mut Builder) {
    if let Some(parent) = parent(b.rank) {
        b.await_signal(parent, false);
        b.fence();
    }
    for child in children(b.rank, b.size) {
        b.signal(child, false);
    }
    b.fence();
}
