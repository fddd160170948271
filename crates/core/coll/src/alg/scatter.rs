//! MPI_Scatter and MPI_Scatterv (MPI 5.0, section 6.6).

use super::bcast::{children, parent};
use crate::buffers::{Buffer, BufferV, Root};
use crate::group::Group;
use crate::memory::Blocks;
use crate::schedule::{Builder, Schedule};
use tern_adi::Data;
use tern_policy::collective::{Algorithm, Collective};

/// A block from the root to every process. `recv` is None for MPI_IN_PLACE at the root and where
/// this process receives nothing; `send` is needed at the root only.
pub fn scatter(peers: &Group, send: Option<&Buffer>, recv: Option<&Buffer>, root: Root) -> Schedule {
    let mut b = Builder::new(peers);
    let blocks = send.map(Blocks::Even);
    match (b.remote_size(), root) {
        (None, Root::Rank(root)) => {
            let root = root as usize;
            let block = if b.rank == root { send.or(recv) } else { recv };
            let bytes = block.map_or(0, Buffer::bytes);
            if b.size > 1 && b.pick(Collective::Scatter, bytes) == Algorithm::Binomial {
                binomial(&mut b, send, recv, bytes, root);
            } else {
                linear(&mut b, blocks, recv, root);
            }
        }
        _ => across(&mut b, blocks, recv, root),
    }
    b.finish()
}

/// As [`scatter`], with blocks of different sizes, which only the root knows.
pub fn scatterv(peers: &Group, send: Option<&BufferV>, recv: Option<&Buffer>, root: Root) -> Schedule {
    let mut b = Builder::new(peers);
    let blocks = send.map(Blocks::V);
    match (b.remote_size(), root) {
        (None, Root::Rank(root)) => linear(&mut b, blocks, recv, root as usize),
        _ => across(&mut b, blocks, recv, root),
    }
    b.finish()
}

pub(crate) fn linear(b: &mut Builder, send: Option<Blocks>, recv: Option<&Buffer>, root: usize) {
    let by_region = b.has_regions(Collective::Scatter);
    if b.rank != root {
        if let Some(recv) = recv {
            b.take(root, recv.data(), by_region);
        }
    } else if let Some(send) = send {
        for rank in (0..b.size).filter(|&r| r != root) {
            b.give(rank, send.data(rank), by_region);
        }
        if let Some(recv) = recv {
            b.copy(send.data(root), recv.data());
        }
    }
}

fn across(b: &mut Builder, send: Option<Blocks>, recv: Option<&Buffer>, root: Root) {
    match (root, send, recv) {
        (Root::Rank(root), _, Some(recv)) => b.recv_remote(root as usize, recv.data()),
        (Root::Root, Some(send), _) => {
            for rank in 0..b.remote_size().unwrap_or(0) {
                b.send_remote(rank, send.data(rank));
            }
        }
        _ => {}
    }
}

/// Each process gets the blocks of its subtree from its parent, packed one after another.
fn binomial(b: &mut Builder, send: Option<&Buffer>, recv: Option<&Buffer>, bytes: usize, root: usize) {
    let size = b.size;
    let v = (b.rank + size - root) % size;
    let span = if v == 0 { size } else { (1 << v.trailing_zeros()).min(size - v) };
    let up = parent(v).map(|p| (p + root) % size);
    if let (Some(up), 1, Some(recv)) = (up, span, recv) {
        return b.recv(up, recv.data());
    }
    let direct = send.filter(|s| v == 0 && root == 0 && s.ty.is_contiguous());
    let packed = direct.map_or_else(|| b.temp(span * bytes), |s| s.base);
    if let Some(up) = up {
        b.recv(up, Data::Bytes(packed, span * bytes));
        b.fence();
    } else if let (None, Some(send)) = (direct, send.map(Blocks::Even)) {
        for v in 1..size {
            let to = Data::Bytes(packed.wrapping_add(v * bytes), bytes);
            b.copy(send.data((v + root) % size), to);
        }
    }
    for child in children(v, size).rev() {
        let end = (2 * child - v).min(v + span);
        let data = Data::Bytes(packed.wrapping_add((child - v) * bytes), (end - child) * bytes);
        b.send((child + root) % size, data);
    }
    match (send.map(Blocks::Even), recv) {
        (Some(send), Some(recv)) if v == 0 => b.copy(send.data(root), recv.data()),
        (_, Some(recv)) => b.copy(Data::Bytes(packed, bytes), recv.data()),
        _ => {}
    }
}
