//! MPI_Bcast (MPI 5.0, section 6.4).

use crate::buffers::{Buffer, Root};
use crate::group::Group;
use crate::schedule::{Builder, Schedule};
use tern_adi::Data;
use tern_policy::collective::{Algorithm, CHAIN_SEGMENT, Collective};

/// The root's data to all of its group, or to all of the other group.
pub fn bcast(peers: &Group, buffer: &Buffer, root: Root) -> Schedule {
    let mut b = Builder::new(peers);
    match (b.remote_size(), root) {
        (None, Root::Rank(root)) => group(&mut b, root as usize, buffer),
        (None, _) => {}
        (Some(_), Root::None) => {}
        (Some(_), Root::Root) => b.send_remote(0, buffer.data()),
        (Some(_), Root::Rank(root)) => {
            if b.rank == 0 {
                b.recv_remote(root as usize, buffer.data());
                b.fence();
            }
            group(&mut b, 0, buffer);
        }
    }
    b.finish()
}

/// Inside the local group.
pub(crate) fn group(b: &mut Builder, root: usize, buffer: &Buffer) {
    let bytes = buffer.bytes();
    if b.size == 1 || bytes == 0 {
        return;
    }
    match b.pick(Collective::Bcast, bytes) {
        Algorithm::ScatterAllgather => through_bytes(b, root, buffer, scatter_allgather),
        Algorithm::Chain => through_bytes(b, root, buffer, chain),
        Algorithm::Region => by_region(b, root, buffer.data()),
        _ => binomial(b, root, buffer.data()),
    }
}

/// All others get the data from where it lies in the root.
fn by_region(b: &mut Builder, root: usize, data: Data) {
    if b.rank != root {
        return b.take(root, data, true);
    }
    (0..b.size).filter(|&rank| rank != root).for_each(|rank| b.give(rank, data.clone(), true));
}

/// The parent in a binomial tree with root 0: the lowest bit that is set is taken away.
pub(crate) fn parent(v: usize) -> Option<usize> {
    (v != 0).then(|| v & (v - 1))
}

/// The children of `v`, smallest subtree first. The child v + 2^k heads 2^k processes, as far
/// as there are so many.
pub(crate) fn children(v: usize, size: usize) -> impl DoubleEndedIterator<Item = usize> {
    let limit = if v == 0 { usize::BITS } else { v.trailing_zeros() };
    let bits = (0..limit).take_while(move |&k| v + (1 << k) < size).count();
    (0..bits).map(move |k| v + (1 << k))
}

pub(crate) fn binomial(b: &mut Builder, root: usize, data: Data) {
    let size = b.size;
    let v = (b.rank + size - root) % size;
    if let Some(parent) = parent(v) {
        b.recv((parent + root) % size, data.clone());
        b.fence();
    }
    // The largest subtree has the longest way to go.
    for child in children(v, size).rev() {
        b.send((child + root) % size, data.clone());
    }
    b.fence();
}

/// Runs an algorithm that cuts the data at any byte: on the buffer itself if it is dense, else
/// on a packed copy. Members may describe the same data by different types.
fn through_bytes(b: &mut Builder, root: usize, buffer: &Buffer, algorithm: fn(&mut Builder, usize, *mut u8, usize)) {
    let bytes = buffer.bytes();
    if buffer.ty.is_contiguous() {
        return algorithm(b, root, buffer.base, bytes);
    }
    let packed = b.temp(bytes);
    if b.rank == root {
        b.copy(buffer.data(), Data::Bytes(packed, bytes));
    }
    algorithm(b, root, packed, bytes);
    if b.rank != root {
        b.copy(Data::Bytes(packed, bytes), buffer.data());
    }
}

/// Piece i goes to the i-th process after the root, down a binomial tree; then pieces go round.
fn scatter_allgather(b: &mut Builder, root: usize, base: *mut u8, bytes: usize) {
    let size = b.size;
    let v = (b.rank + size - root) % size;
    let piece = bytes.div_ceil(size);
    let range = |first: usize, end: usize| {
        let (from, to) = ((first * piece).min(bytes), (end * piece).min(bytes));
        Data::Bytes(base.wrapping_add(from), to - from)
    };
    let rank = |v: usize| (v + root) % size;
    if let Some(parent) = parent(v) {
        b.recv(rank(parent), range(v, (v + (1 << v.trailing_zeros())).min(size)));
        b.fence();
    }
    for child in children(v, size).rev() {
        b.send(rank(child), range(child, (2 * child - v).min(size)));
    }
    b.fence();
    // The root has every piece, so nothing goes to it.
    for step in 0..size - 1 {
        let (have, want) = ((v + size - step) % size, (v + 2 * size - step - 1) % size);
        if v != 0 {
            b.recv(rank(v - 1), range(want, want + 1));
        }
        if v + 1 < size {
            b.send(rank(v + 1), range(have, have + 1));
        }
        b.fence();
    }
}

/// Segments go from process to process, each sent on while the next comes in.
fn chain(b: &mut Builder, root: usize, base: *mut u8, bytes: usize) {
    let size = b.size;
    let v = (b.rank + size - root) % size;
    let segments = bytes.div_ceil(CHAIN_SEGMENT);
    let segment =
        |k: usize| Data::Bytes(base.wrapping_add(k * CHAIN_SEGMENT), CHAIN_SEGMENT.min(bytes - k * CHAIN_SEGMENT));
    for k in 0..=segments {
        if v > 0 && k < segments {
            b.recv((v - 1 + root) % size, segment(k));
        }
        if v + 1 < size && k > 0 {
            b.send((v + 1 + root) % size, segment(k - 1));
        }
        b.fence();
    }
}
