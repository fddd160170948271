//! MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw (MPI 5.0, section 6.8).

use crate::buffers::{Buffer, BufferV, BufferW};
use crate::group::Group;
use crate::memory::Blocks;
use crate::schedule::{Builder, Schedule};
use tern_adi::Data;
use tern_policy::collective::{Algorithm, Collective};

/// A block of its own from every process to every process. `send` is None for MPI_IN_PLACE.
pub fn alltoall(peers: &Group, send: Option<&Buffer>, recv: &Buffer) -> Schedule {
    let mut b = Builder::new(peers);
    let algorithm = b.pick(Collective::Alltoall, recv.bytes());
    if algorithm == Algorithm::Bruck && b.remote_size().is_none() && b.size > 1 {
        bruck(&mut b, Blocks::Even(send.unwrap_or(recv)), Blocks::Even(recv), recv.bytes());
    } else {
        any(&mut b, send.map(Blocks::Even), Blocks::Even(recv), algorithm);
    }
    b.finish()
}

/// As [`alltoall`], with blocks of different sizes.
pub fn alltoallv(peers: &Group, send: Option<&BufferV>, recv: &BufferV) -> Schedule {
    let mut b = Builder::new(peers);
    let algorithm = b.pick(Collective::Alltoallv, 0);
    any(&mut b, send.map(Blocks::V), Blocks::V(recv), algorithm);
    b.finish()
}

/// As [`alltoallv`], with types of their own and displacements in bytes.
pub fn alltoallw(peers: &Group, send: Option<&BufferW>, recv: &BufferW) -> Schedule {
    let mut b = Builder::new(peers);
    let algorithm = b.pick(Collective::Alltoallv, 0);
    any(&mut b, send.map(Blocks::W), Blocks::W(recv), algorithm);
    b.finish()
}

fn any(b: &mut Builder, send: Option<Blocks>, recv: Blocks, algorithm: Algorithm) {
    match (b.remote_size(), send) {
        (Some(remote), Some(send)) => across(b, send, recv, remote),
        (Some(_), None) => {}
        (None, Some(send)) => {
            let own = (send.data(b.rank), recv.data(b.rank));
            match algorithm {
                Algorithm::Pairwise => {
                    b.copy(own.0, own.1);
                    pairwise(b, send, recv);
                }
                _ => {
                    linear(b, send, recv, algorithm == Algorithm::Region);
                    // While messages are on their way.
                    b.copy(own.0, own.1);
                }
            }
        }
        (None, None) => match algorithm {
            Algorithm::Pairwise => pairwise_in_place(b, recv),
            _ => linear_in_place(b, recv, algorithm == Algorithm::Region),
        },
    }
}

fn across(b: &mut Builder, send: Blocks, recv: Blocks, remote: usize) {
    for step in 0..remote {
        let rank = (b.rank + step) % remote;
        b.recv_remote(rank, recv.data(rank));
    }
    for step in 0..remote {
        let rank = (b.rank + step) % remote;
        b.send_remote(rank, send.data(rank));
    }
}

/// Everything at once; each process begins with another partner.
fn linear(b: &mut Builder, send: Blocks, recv: Blocks, by_region: bool) {
    let (rank, size) = (b.rank, b.size);
    for other in (1..size).map(|step| (rank + size - step) % size) {
        b.take(other, recv.data(other), by_region);
    }
    for other in (1..size).map(|step| (rank + step) % size) {
        b.give(other, send.data(other), by_region);
    }
}

/// What goes out is packed first, since what comes in takes its place.
fn linear_in_place(b: &mut Builder, blocks: Blocks, by_region: bool) {
    let (rank, size) = (b.rank, b.size);
    let bytes: usize = (0..size).filter(|&r| r != rank).map(|r| blocks.bytes(r)).sum();
    let mut next = b.temp(bytes);
    let mut packed = Vec::with_capacity(size);
    for other in (1..size).map(|step| (rank + step) % size) {
        let data = Data::Bytes(next, blocks.bytes(other));
        next = next.wrapping_add(data.len());
        b.copy(blocks.data(other), data.clone());
        packed.push((other, data));
    }
    for &(other, _) in packed.iter().rev() {
        b.take(other, blocks.data(other), by_region);
    }
    for (other, data) in packed {
        b.give(other, data, by_region);
    }
}

/// The partners of `rank`, one for each round; both have each other in the same round.
fn partners(rank: usize, size: usize) -> impl Iterator<Item = usize> {
    (0..size)
        .map(move |round| match size.is_power_of_two() {
            true => rank ^ round,
            false => (round + size - rank) % size,
        })
        .filter(move |&partner| partner != rank)
}

fn pairwise(b: &mut Builder, send: Blocks, recv: Blocks) {
    for partner in partners(b.rank, b.size) {
        b.recv(partner, recv.data(partner));
        b.send(partner, send.data(partner));
        b.fence();
    }
}

/// A block is packed when its turn comes, so that one temporary does for all.
fn pairwise_in_place(b: &mut Builder, blocks: Blocks) {
    let (rank, size) = (b.rank, b.size);
    let most = partners(rank, size).map(|r| blocks.bytes(r)).max().unwrap_or(0);
    let packed = b.temp(most);
    for partner in partners(rank, size) {
        let data = Data::Bytes(packed, blocks.bytes(partner));
        b.copy(blocks.data(partner), data.clone());
        b.recv(partner, blocks.data(partner));
        b.send(partner, data);
        b.fence();
    }
}

/// Block j is for the j-th process from here. Round k passes on, in one message, the blocks
/// whose distance j has bit k, so that in the end block j has come from j processes before.
fn bruck(b: &mut Builder, send: Blocks, recv: Blocks, bytes: usize) {
    let (rank, size) = (b.rank, b.size);
    let blocks = b.temp(size * bytes);
    let (out, into) = (b.temp(size.div_ceil(2) * bytes), b.temp(size.div_ceil(2) * bytes));
    let piece = |base: *mut u8, j: usize, n: usize| Data::Bytes(base.wrapping_add(j * bytes), n * bytes);
    for j in 0..size {
        b.copy(send.data((rank + j) % size), piece(blocks, j, 1));
    }
    let mut distance = 1;
    while distance < size {
        let moved: Vec<usize> = (0..size).filter(|j| j & distance != 0).collect();
        for (i, &j) in moved.iter().enumerate() {
            b.copy(piece(blocks, j, 1), piece(out, i, 1));
        }
        b.recv((rank + size - distance) % size, piece(into, 0, moved.len()));
        b.send((rank + distance) % size, piece(out, 0, moved.len()));
        b.fence();
        for (i, &j) in moved.iter().enumerate() {
            b.copy(piece(into, i, 1), piece(blocks, j, 1));
        }
        distance *= 2;
    }
    for j in 0..size {
        b.copy(piece(blocks, j, 1), recv.data((rank + size - j) % size));
    }
}
