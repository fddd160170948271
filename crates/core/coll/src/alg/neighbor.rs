//! Neighbourhood collectives (MPI 5.0, section 8.6): the caller gives the neighbours.
//!
//! An edge from this process to itself is a copy. Neighbours that are MPI_PROC_NULL send
//! nothing, and blocks from them stay as they are.

use crate::buffers::{Buffer, BufferV, BufferW, Neighbours};
use crate::group::Group;
use crate::memory::Blocks;
use crate::schedule::{Builder, Schedule};
use tern_adi::Data;

/// One block to all destinations, a block from each source.
pub fn neighbor_allgather(peers: &Group, n: Neighbours, send: &Buffer, recv: &Buffer) -> Schedule {
    build(peers, n, |_| send.data(), Blocks::Even(recv))
}

pub fn neighbor_allgatherv(peers: &Group, n: Neighbours, send: &Buffer, recv: &BufferV) -> Schedule {
    build(peers, n, |_| send.data(), Blocks::V(recv))
}

/// A block to each destination, a block from each source.
pub fn neighbor_alltoall(peers: &Group, n: Neighbours, send: &Buffer, recv: &Buffer) -> Schedule {
    build(peers, n, |i| Blocks::Even(send).data(i), Blocks::Even(recv))
}

pub fn neighbor_alltoallv(peers: &Group, n: Neighbours, send: &BufferV, recv: &BufferV) -> Schedule {
    build(peers, n, |i| Blocks::V(send).data(i), Blocks::V(recv))
}

pub fn neighbor_alltoallw(peers: &Group, n: Neighbours, send: &BufferW, recv: &BufferW) -> Schedule {
    build(peers, n, |i| Blocks::W(send).data(i), Blocks::W(recv))
}

/// Messages between two processes are matched in order, so sends are listed in the order of the
/// blocks, and receives in the order in which their partners send.
fn build(peers: &Group, n: Neighbours, send: impl Fn(usize) -> Data, recv: Blocks) -> Schedule {
    let mut b = Builder::new(peers);
    let me = b.rank as i32;
    let mut own = (0..n.destinations.len()).filter(|&i| n.destinations[i] == me);
    for i in arrivals(n.sources.len(), n.cartesian) {
        match n.sources[i] {
            rank if rank < 0 => {}
            rank if rank == me => {
                if let Some(from) = own.next() {
                    b.copy(send(from), recv.data(i));
                }
            }
            rank => b.recv(rank as usize, recv.data(i)),
        }
    }
    for (i, &rank) in n.destinations.iter().enumerate() {
        if rank >= 0 && rank != me {
            b.send(rank as usize, send(i));
        }
    }
    b.finish()
}

/// The order in which blocks arrive: on a Cartesian topology, what a partner sends first, in the
/// negative direction, comes here from the positive one.
fn arrivals(sources: usize, cartesian: bool) -> impl Iterator<Item = usize> {
    (0..sources).map(move |i| match cartesian && i ^ 1 < sources {
        true => i ^ 1,
        false => i,
    })
}
