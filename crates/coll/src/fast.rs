//! The fast path of blocking collectives: over shared control lines, when the communicator has
//! them and the data is small, or in two levels ([`crate::hierarchical`]) when it spans several nodes. Each function returns `None` when the schedules must do it; the
//! answer depends only on what all members know, so all of them take the same path.

// Addresses are those of the program, which MPI trusts as C does.
#![allow(clippy::not_unsafe_ptr_arg_deref, clippy::too_many_arguments)]

use crate::blocks::{
    bcast_over, block_data, blocks_data, get, get_part, give_part, own, put, put_part, read_in_allgather,
    read_in_alltoall,
};
use crate::buffers::{Buffer, Operator, any_vector};
use crate::choose::Collective;
pub use crate::lines::Fast;
use crate::lines::limits::*;
use crate::lines::region::Part;
use crate::lines::{Kind, Lines, MORE, Mismatch, shared, shares};
use crate::ops::Vector;
use crate::peers::Peers;
use std::rc::Rc;
use tern_adi::Adi;
use tern_layout::Type;

/// Does `each` with the first byte and the length of every part of `len` bytes, until one fails. Of nothing there is one part.
fn in_parts(
    len: usize, part: usize, mut each: impl FnMut(usize, usize) -> Result<(), Mismatch>,
) -> Result<(), Mismatch> {
    (0..len.max(1)).step_by(part.max(1)).try_for_each(|from| each(from, part.min(len - from)))
}

/// [`in_parts`] of what only the root looks at: where a member has refused its call, the others go on to the last part, since some of
/// them do not notice.
fn in_all_parts(
    len: usize, part: usize, mut each: impl FnMut(usize, usize) -> Result<(), Mismatch>,
) -> Result<(), Mismatch> {
    let mut refused = Ok(());
    in_parts(len, part, |from, some| {
        each(from, some).or_else(|wrong| match wrong {
            Mismatch::Refused { .. } => {
                refused = Err(wrong);
                Ok(())
            }
            _ => Err(wrong),
        })
    })?;
    refused
}

pub fn barrier(adi: &Adi, peers: &Peers) -> Fast {
    match peers.lines_for(adi, Collective::Barrier) {
        Some(lines) => Some(lines.barrier(adi)),
        None => Some(peers.levels_for(adi, Collective::Barrier)?.barrier(adi)),
    }
}

pub fn bcast(adi: &Adi, peers: &Peers, buffer: &Buffer, root: u32) -> Fast {
    let Some(lines) = peers.lines_for(adi, Collective::Bcast) else {
        return peers.levels_for(adi, Collective::Bcast)?.bcast(adi, buffer, root);
    };
    let len = buffer.bytes();
    if let Some(task) = lines.task(Kind::Bcast, root, len) {
        let all = |_| buffer.data();
        let part = match task.root == lines.rank() {
            true => Part::Root { memory: buffer.data(), data: &all, meanwhile: &|| () },
            false => Part::Other(buffer.data(), 0),
        };
        if let Some(done) = lines.by_region(adi, &task, part) {
            return Some(done);
        }
    }
    broadcasts(lines, len).then(|| bcast_over(lines, adi, root as usize, buffer))
}

/// A gather or a scatter of `len` bytes for each, by a region of the root's: `all` are its blocks, there alone, and `block` is that of
/// another member.
fn by_region(
    lines: &Lines, adi: &Adi, (kind, root, len): (Kind, u32, usize), all: Option<&Buffer>, block: Option<&Buffer>,
    meanwhile: &dyn Fn(),
) -> Fast {
    let task = lines.task(kind, root, len)?;
    let Some(all) = all else {
        return lines.by_region(adi, &task, Part::Other(block?.data(), lines.rank() * len));
    };
    let data = |rank| block_data(all, rank);
    lines.by_region(adi, &task, Part::Root { memory: blocks_data(all, lines.size()), data: &data, meanwhile })
}

/// `send` is `None` for MPI_IN_PLACE at the root; `recv` is there at the root.
pub fn gather(adi: &Adi, peers: &Peers, send: Option<&Buffer>, recv: Option<&Buffer>, root: u32) -> Fast {
    let lines = peers.lines_for(adi, Collective::Gather)?;
    let len = send.or(recv)?.bytes();
    let all = recv.filter(|_| root as usize == lines.rank());
    let meanwhile = || send.into_iter().zip(all).for_each(|(send, all)| own(send, 0, all, root as usize));
    let done = by_region(lines, adi, (Kind::Gather, root, len), all, send, &meanwhile);
    if done.is_some() {
        return done;
    }
    let part = part(lines, len)?;
    let root = root as usize;
    if let (Some(send), Some(recv), true) = (send, recv, peers.rank as usize == root) {
        own(send, 0, recv, root);
    }
    Some(in_all_parts(len, part, |from, some| {
        let give = |out: &mut [u8]| send.into_iter().for_each(|send| get_part(send, 0, from, out));
        let take = |rank: usize, bytes: &[u8]| recv.into_iter().for_each(|recv| put_part(recv, rank, from, bytes));
        lines.gather_part(adi, root, some, from + some < len, give, take)
    }))
}

/// `send` is there at the root; `recv` is `None` for MPI_IN_PLACE there.
pub fn scatter(adi: &Adi, peers: &Peers, send: Option<&Buffer>, recv: Option<&Buffer>, root: u32) -> Fast {
    let lines = peers.lines_for(adi, Collective::Scatter)?;
    let len = recv.or(send)?.bytes();
    let all = send.filter(|_| root as usize == lines.rank());
    let meanwhile = || recv.into_iter().zip(all).for_each(|(recv, all)| own(all, root as usize, recv, 0));
    let done = by_region(lines, adi, (Kind::Scatter, root, len), all, recv, &meanwhile);
    if done.is_some() {
        return done;
    }
    if !scatters(lines, len) {
        return None;
    }
    let (root, me) = (root as usize, peers.rank as usize);
    if let (Some(send), Some(recv), true) = (send, recv, me == root) {
        own(send, root, recv, 0);
    }
    let give = |out: &mut [u8]| {
        let send = send.expect("the root has data to send");
        others(lines, root).zip(out.chunks_exact_mut(len.max(1))).for_each(|(rank, out)| get(send, rank, out));
    };
    let take = |bytes: &[u8]| recv.into_iter().for_each(|recv| put(recv, 0, bytes));
    Some(lines.scatter(adi, root, len, give, take))
}

/// `send` is `None` for MPI_IN_PLACE: the own block is in `recv` already.
pub fn allgather(adi: &Adi, peers: &Peers, send: Option<&Buffer>, recv: &Buffer) -> Fast {
    let Some(lines) = peers.lines_for(adi, Collective::Allgather) else {
        return peers.levels_for(adi, Collective::Allgather)?.allgather(adi, peers.rank, send, recv);
    };
    let len = recv.bytes();
    let me = peers.rank as usize;
    if let Some(source) = read_in_allgather(lines, send, recv) {
        let target = |rank: usize| block_data(recv, rank);
        if let Some(done) = shared::done(lines.exchange_shared(adi, Kind::Allgather, len, source, 0, target)) {
            if let Some(send) = send {
                own(send, 0, recv, me);
            }
            return Some(done);
        }
    }
    let part = part(lines, len)?;
    if let Some(send) = send {
        own(send, 0, recv, me);
    }
    Some(in_parts(len, part, |from, some| {
        let give = |out: &mut [u8]| give_part(recv, me, from, out);
        lines.allgather(adi, len, some, give, |rank, bytes| put_part(recv, rank, from, bytes))
    }))
}

/// `send` is `None` for MPI_IN_PLACE.
pub fn alltoall(adi: &Adi, peers: &Peers, send: Option<&Buffer>, recv: &Buffer) -> Fast {
    let lines = peers.lines_for(adi, Collective::Alltoall)?;
    let (len, size) = (recv.bytes(), lines.size());
    let me = peers.rank as usize;
    if let Some(source) = read_in_alltoall(lines, send, recv) {
        let target = |rank: usize| block_data(recv, rank);
        if let Some(done) = shared::done(lines.exchange_shared(adi, Kind::Alltoall, len, source, me * len, target)) {
            send.into_iter().for_each(|send| own(send, me, recv, me));
            return Some(done);
        }
    }
    let part = lines.capacity() / size / UNIT * UNIT;
    if are_left(lines, len) || len > part.max(ALLTOALL.min(2 * part * part / PART)) {
        return None;
    }
    if let Some(send) = send {
        own(send, me, recv, me);
    }
    let source = send.unwrap_or(recv);
    Some(in_parts(len, part, |from, some| {
        let give = |out: &mut [u8]| {
            others(lines, me)
                .zip(out.chunks_exact_mut(some.max(1)))
                .for_each(|(rank, out)| give_part(source, rank, from, out));
        };
        lines.alltoall(adi, len, some, give, |rank, bytes| put_part(recv, rank, from, bytes))
    }))
}

/// The vector of a reduction by a predefined operation, if the lines serve it.
fn vector(lines: &Lines, op: &Operator, ty: &Type, count: i64, blocks: usize) -> Option<Vector> {
    let vector = any_vector(op, ty, count)?;
    reduces(lines, vector.bytes * blocks).then_some(vector)
}

/// `send` is null for MPI_IN_PLACE (at the root); `recv` matters at the root.
pub fn reduce(
    adi: &Adi, peers: &Peers, send: *const u8, recv: *mut u8, count: i64, ty: &Rc<Type>, op: &Operator, root: u32,
) -> Fast {
    let Some(lines) = peers.lines_for(adi, Collective::Reduce) else {
        return peers.levels_for(adi, Collective::Reduce)?.reduce(adi, peers.rank, send, recv, count, ty, op, root);
    };
    let vector = any_vector(op, ty, count)?;
    if shares::serves(vector.bytes) {
        // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
        if let Some(done) = shared::done(unsafe { lines.reduce_by_shares(adi, root, &vector, send, recv) }) {
            return Some(done);
        }
    }
    let part = part(lines, vector.bytes)?;
    let input = if send.is_null() { recv.cast_const() } else { send };
    let size = (vector.bytes / vector.elements.max(1)).max(1);
    let whole = vector.bytes;
    Some(in_all_parts(whole, part - part % size, |from, some| {
        let more = if from + some < whole { MORE } else { 0 };
        let vector = Vector { elements: some / size, bytes: some, more, ..vector };
        let (input, out) = (input.wrapping_add(from), if recv.is_null() { recv } else { recv.wrapping_add(from) });
        // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
        unsafe { lines.reduce(adi, Some(root as usize), &vector, input, out) }
    }))
}

/// `send` is null for MPI_IN_PLACE.
pub fn allreduce(adi: &Adi, peers: &Peers, send: *const u8, recv: &Buffer, op: &Operator) -> Fast {
    let Some(lines) = peers.lines_for(adi, Collective::Allreduce) else {
        return peers.levels_for(adi, Collective::Allreduce)?.allreduce(adi, send, recv, op);
    };
    let Buffer { base: recv, count, ref ty } = *recv;
    let input = if send.is_null() { recv.cast_const() } else { send };
    if let Some(vector) = any_vector(op, ty, count).filter(|vector| shared::serves_allreduce(lines, vector.bytes)) {
        // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
        if let Some(done) = shared::done(unsafe { lines.allreduce_shared(adi, &vector, send, recv) }) {
            return Some(done);
        }
    }
    if let Some(vector) = vector(lines, op, ty, count, 1) {
        // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
        return Some(unsafe { lines.reduce(adi, None, &vector, input, recv) });
    }
    let Operator::Predefined(op) = op else { return None };
    let vector = Vector::new(*op, ty, count).filter(|vector| lines.size() > 2 && vector.bytes <= ALLREDUCE)?;
    // SAFETY: as above.
    Some(unsafe { lines.allreduce_long(adi, &vector, input, recv) })
}

/// MPI_Scan, or MPI_Exscan if `exclusive`. `send` is null for MPI_IN_PLACE.
pub fn scan(
    adi: &Adi, peers: &Peers, exclusive: bool, send: *const u8, recv: *mut u8, count: i64, ty: &Type, op: &Operator,
) -> Fast {
    let lines = peers.lines_for(adi, Collective::Scan)?;
    if let Some(vector) = any_vector(op, ty, count).filter(|vector| shares::serves(vector.bytes)) {
        // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
        if let Some(done) = shared::done(unsafe { lines.scan_by_shares(adi, exclusive, &vector, send, recv) }) {
            return Some(done);
        }
    }
    let vector = vector(lines, op, ty, count, 1)?;
    let input = if send.is_null() { recv.cast_const() } else { send };
    // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
    Some(unsafe { lines.scan(adi, exclusive, &vector, input, recv) })
}

/// `count` elements for each rank; `send` is null for MPI_IN_PLACE.
pub fn reduce_scatter_block(
    adi: &Adi, peers: &Peers, send: *const u8, recv: *mut u8, count: i64, ty: &Type, op: &Operator,
) -> Fast {
    let lines = peers.lines_for(adi, Collective::ReduceScatter)?;
    let serves = |vector: &Vector| shared::serves_reduce_scatter(lines, vector.bytes);
    if let Some(vector) = any_vector(op, ty, count).filter(serves) {
        // SAFETY: the program's buffers hold a block for each rank, and one (MPI's own rule).
        if let Some(done) = shared::done(unsafe { lines.reduce_scatter_shared(adi, &vector, send, recv) }) {
            return Some(done);
        }
    }
    let vector = vector(lines, op, ty, count, lines.size())?;
    let input = if send.is_null() { recv.cast_const() } else { send };
    // SAFETY: the program's buffers hold a block for each rank, and one (MPI's own rule).
    Some(unsafe { lines.reduce_scatter(adi, &vector, input, recv) })
}
