//! MPI_Allgather and MPI_Allgatherv (MPI 5.0, section 6.7).

use crate::buffers::{Buffer, BufferV};
use crate::group::Group;
use crate::memory::Blocks;
use crate::schedule::{Builder, Schedule};
use tern_adi::Data;
use tern_policy::collective::{Algorithm, Collective};

/// A block from every process to every process. `send` is None for MPI_IN_PLACE.
pub fn allgather(peers: &Group, send: Option<&Buffer>, recv: &Buffer) -> Schedule {
    build(peers, send, Blocks::Even(recv))
}

/// As [`allgather`], with blocks of different sizes, which all members know.
pub fn allgatherv(peers: &Group, send: Option<&Buffer>, recv: &BufferV) -> Schedule {
    build(peers, send, Blocks::V(recv))
}

fn build(peers: &Group, send: Option<&Buffer>, recv: Blocks) -> Schedule {
    let mut b = Builder::new(peers);
    if let Some(remote) = b.remote_size() {
        across(&mut b, send, recv, remote);
        return b.finish();
    }
    if b.has_regions(Collective::Allgather) {
        by_regions(&mut b, send, recv);
        return b.finish();
    }
    let bytes = (0..b.size).map(|r| recv.bytes(r)).sum();
    let algorithm = (b.size > 1 && bytes > 0).then(|| b.pick(Collective::Allgather, bytes));
    if let Some(Algorithm::Ring) = algorithm {
        ring(&mut b, send, recv);
        return b.finish();
    }
    if let Some(send) = send {
        b.copy(send.data(), recv.data(b.rank));
    }
    match algorithm {
        Some(Algorithm::RecursiveDoubling) => recursive_doubling(&mut b, recv),
        Some(_) => bruck(&mut b, recv),
        None => {}
    }
    b.finish()
}

/// All of one group to all of the other. No member of the sending group knows the sizes of its
/// fellows' blocks (allgatherv), so blocks are not collected on the way.
fn across(b: &mut Builder, send: Option<&Buffer>, recv: Blocks, remote: usize) {
    for step in 0..remote {
        let rank = (b.rank + step) % remote;
        b.recv_remote(rank, recv.data(rank));
    }
    if let Some(send) = send {
        for step in 0..remote {
            b.send_remote((b.rank + step) % remote, send.data());
        }
    }
}

/// Each member gets the block of each other from where it lies there.
fn by_regions(b: &mut Builder, send: Option<&Buffer>, recv: Blocks) {
    let (rank, size) = (b.rank, b.size);
    for other in (1..size).map(|step| (rank + size - step) % size) {
        b.take(other, recv.data(other), true);
    }
    for other in (1..size).map(|step| (rank + step) % size) {
        b.give(other, send.map_or_else(|| recv.data(rank), Buffer::data), true);
    }
    if let Some(send) = send {
        b.copy(send.data(), recv.data(rank));
    }
}

/// Blocks go round, each straight to its place; the own one is put there while it is on its way.
fn ring(b: &mut Builder, send: Option<&Buffer>, recv: Blocks) {
    let (rank, size) = (b.rank, b.size);
    let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
    for step in 0..size - 1 {
        let (have, want) = ((rank + size - step) % size, (rank + 2 * size - step - 1) % size);
        b.recv(last, recv.data(want));
        match send.filter(|_| step == 0) {
            Some(send) => {
                b.send(next, send.data());
                b.copy(send.data(), recv.data(rank));
            }
            None => b.send(next, recv.data(have)),
        }
        b.fence();
    }
}

/// Packed blocks one after another: where each starts.
struct Packed {
    base: *mut u8,
    /// One entry more than there are blocks.
    starts: Vec<usize>,
}

impl Packed {
    /// Blocks of the ranks that `order` yields.
    fn starts(recv: &Blocks, order: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut total = 0;
        let mut starts = vec![0];
        starts.extend(order.map(|rank| {
            total += recv.bytes(rank);
            total
        }));
        starts
    }

    /// Blocks `first` to `end` (excluded).
    fn range(&self, first: usize, end: usize) -> Data {
        let (from, to) = (self.starts[first], self.starts[end]);
        Data::Bytes(self.base.wrapping_add(from), to - from)
    }
}

/// Groups of 2^k processes exchange all they have. For a power of two of processes.
fn recursive_doubling(b: &mut Builder, recv: Blocks) {
    let (rank, size) = (b.rank, b.size);
    let starts = Packed::starts(&recv, 0..size);
    let direct = recv.dense(size);
    let base = direct.unwrap_or_else(|| b.temp(starts[size]));
    let packed = Packed { base, starts };
    if direct.is_none() {
        b.copy(recv.data(rank), packed.range(rank, rank + 1));
    }
    let mut distance = 1;
    while distance < size {
        let partner = rank ^ distance;
        let group = |r: usize| r & !(distance - 1);
        b.recv(partner, packed.range(group(partner), group(partner) + distance));
        b.send(partner, packed.range(group(rank), group(rank) + distance));
        b.fence();
        distance *= 2;
    }
    if direct.is_none() {
        for other in (0..size).filter(|&r| r != rank) {
            b.copy(packed.range(other, other + 1), recv.data(other));
        }
    }
}

/// Block j of the temporary is that of the j-th process from here; round k fetches up to 2^k
/// blocks from the process 2^k further on.
fn bruck(b: &mut Builder, recv: Blocks) {
    let (rank, size) = (b.rank, b.size);
    let starts = Packed::starts(&recv, (0..size).map(|j| (rank + j) % size));
    let base = b.temp(starts[size]);
    let packed = Packed { base, starts };
    b.copy(recv.data(rank), packed.range(0, 1));
    let mut distance = 1;
    while distance < size {
        let count = distance.min(size - distance);
        b.recv((rank + distance) % size, packed.range(distance, distance + count));
        b.send((rank + size - distance) % size, packed.range(0, count));
        b.fence();
        distance *= 2;
    }
    for j in 1..size {
        b.copy(packed.range(j, j + 1), recv.data((rank + j) % size));
    }
}
