//! MPI_Gather and MPI_Gatherv (MPI 5.0, section 6.5).

use super::bcast::{children, parent};
use crate::buffers::{Buffer, BufferV, Root};
use crate::group::Group;
use crate::memory::Blocks;
use crate::schedule::{Builder, Schedule};
use tern_adi::Data;
use tern_policy::collective::{Algorithm, Collective};

/// A block from every process to the root. `send` is None for MPI_IN_PLACE at the root and where
/// this process sends nothing; `recv` is needed at the root only.
pub fn gather(peers: &Group, send: Option<&Buffer>, recv: Option<&Buffer>, root: Root) -> Schedule {
    let mut b = Builder::new(peers);
    let blocks = recv.map(Blocks::Even);
    match (b.remote_size(), root) {
        (None, Root::Rank(root)) => {
            let root = root as usize;
            let block = if b.rank == root { recv.or(send) } else { send };
            let bytes = block.map_or(0, Buffer::bytes);
            if b.size > 1 && b.pick(Collective::Gather, bytes) == Algorithm::Binomial {
                binomial(&mut b, send, recv, bytes, root);
            } else {
                linear(&mut b, send, blocks, root);
            }
        }
        _ => across(&mut b, send, blocks, root),
    }
    b.finish()
}

/// As [`gather`], with blocks of different sizes. Only the root knows them all, so it takes each
/// from its sender.
pub fn gatherv(peers: &Group, send: Option<&Buffer>, recv: Option<&BufferV>, root: Root) -> Schedule {
    let mut b = Builder::new(peers);
    let blocks = recv.map(Blocks::V);
    match (b.remote_size(), root) {
        (None, Root::Rank(root)) => linear(&mut b, send, blocks, root as usize),
        _ => across(&mut b, send, blocks, root),
    }
    b.finish()
}

fn linear(b: &mut Builder, send: Option<&Buffer>, recv: Option<Blocks>, root: usize) {
    let by_region = b.has_regions(Collective::Gather);
    if b.rank != root {
        if let Some(send) = send {
            b.put(root, send.data(), by_region);
        }
    } else if let Some(recv) = recv {
        for rank in (0..b.size).filter(|&r| r != root) {
            b.accept(rank, recv.data(rank), by_region);
        }
        if let Some(send) = send {
            b.copy(send.data(), recv.data(root));
        }
    }
}

fn across(b: &mut Builder, send: Option<&Buffer>, recv: Option<Blocks>, root: Root) {
    match (root, send, recv) {
        (Root::Rank(root), Some(send), _) => b.send_remote(root as usize, send.data()),
        (Root::Root, _, Some(recv)) => {
            for rank in 0..b.remote_size().unwrap_or(0) {
                b.recv_remote(rank, recv.data(rank));
            }
        }
        _ => {}
    }
}

/// Each process passes the blocks of its subtree to its parent, packed one after another.
fn binomial(b: &mut Builder, send: Option<&Buffer>, recv: Option<&Buffer>, bytes: usize, root: usize) {
    let size = b.size;
    let v = (b.rank + size - root) % size;
    let span = if v == 0 { size } else { (1 << v.trailing_zeros()).min(size - v) };
    let up = parent(v).map(|p| (p + root) % size);
    if let (Some(up), 1, Some(send)) = (up, span, send) {
        return b.send(up, send.data());
    }
    // Blocks that come in the order in which the root wants them need no temporary.
    let direct = recv.filter(|r| v == 0 && root == 0 && r.ty.is_contiguous());
    let packed = direct.map_or_else(|| b.temp(span * bytes), |r| r.base);
    for child in children(v, size) {
        let end = (2 * child - v).min(v + span);
        let data = Data::Bytes(packed.wrapping_add((child - v) * bytes), (end - child) * bytes);
        b.recv((child + root) % size, data);
    }
    if let Some(up) = up {
        if let Some(send) = send {
            b.copy(send.data(), Data::Bytes(packed, bytes));
        }
        b.fence();
        b.send(up, Data::Bytes(packed, span * bytes));
        return;
    }
    let Some(recv) = recv.map(Blocks::Even) else { return };
    if let Some(send) = send {
        b.copy(send.data(), recv.data(root));
    }
    b.fence();
    if direct.is_none() {
        for v in 1..size {
            let from = Data::Bytes(packed.wrapping_add(v * bytes), bytes);
            b.copy(from, recv.data((v + root) % size));
        }
    }
}
