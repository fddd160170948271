//! The fast path of blocking collectives: over shared control lines, when the communicator has
//! them and the data is small, or in two levels ([`crate::hierarchical`]) when it spans several nodes. Each function returns `None` when the schedules must do it; the
//! answer depends only on what all members know, so all of them take the same path.

// Addresses are those of the program, which MPI trusts as C does.
#![allow(clippy::not_unsafe_ptr_arg_deref, clippy::too_many_arguments)]

use crate::dense::give;
use crate::lines::region::Part;
use crate::lines::shared::{self, Own};
use crate::lines::shares;
use crate::lines::{Kind, Lines, MORE, Mismatch, Vector};
use crate::peers::{Buffer, Operator, Peers};
use std::rc::Rc;
use tern_adi::{Adi, Data};
use tern_layout::Type;

/// Done, or what the members disagree about.
pub type Fast = Option<Result<(), Mismatch>>;

/// Most bytes that one member reads in an operation in which all read from all.
pub(crate) const ALL_TO_ALL: usize = 128 << 10;
/// Longest block of an allgather, a gather or a reduction among three and more that goes through the lines, in parts: whoever
/// reads what all others have given copies as much as if each had sent it to him, and waits for all of them together.
const READ: usize = 256 << 10;
/// Shortest block that two leave to messages, which find out whether one copy or two are faster.
const LEFT_BY_TWO: usize = 8 << 10;
/// Longest block of an alltoall among three and more, which costs two copies instead of one.
const ALLTOALL: usize = 32 << 10;
/// Shortest part of these. Of an alltoall, one of this length pays for a block of twice that; what parts may do grows
/// with their square, since they are longer and fewer of them are needed.
const PART: usize = 1 << 10;
/// Parts are so many bytes, times a whole number.
const UNIT: usize = 64;
/// Longest reduction to all that goes through the lines, in parts.
const ALLREDUCE: usize = 4 << 20;
/// Longest vector that two reduce over the lines so that both get something of it: above, of a reduction to all, each sends the half that the
/// other adds up.
const ALLREDUCE_OF_TWO: usize = 8 << 10;
/// Longest broadcast that goes through the lines, in parts.
const BCAST: usize = 4 << 20;

/// Packs the elements at `base` into `out`.
fn pack(base: *const u8, count: i64, ty: &Type, from: usize, out: &mut [u8]) {
    // SAFETY: the program's buffer holds `count` elements of `ty` (MPI's own rule), which are at
    // least `from + out.len()` bytes.
    unsafe { ty.pack(base, count, from as u64, out) };
}

/// Unpacks into the elements at `base`.
fn unpack(base: *mut u8, count: i64, ty: &Type, from: usize, bytes: &[u8]) {
    // SAFETY: as in `pack`.
    unsafe { ty.unpack(base, count, from as u64, bytes) };
}

/// Where block `rank` of a buffer begins: blocks follow each other by extent.
fn block(buffer: &Buffer, rank: usize) -> *mut u8 {
    let step = buffer.count * buffer.ty.extent();
    buffer.base.wrapping_offset((rank as i64 * step) as isize)
}

/// Block `rank` of a buffer.
pub(crate) fn block_data(buffer: &Buffer, rank: usize) -> Data {
    Data::new(block(buffer, rank), buffer.count, &buffer.ty)
}

/// All blocks of a buffer.
fn blocks_data(buffer: &Buffer, blocks: usize) -> Data {
    Data::new(buffer.base, buffer.count * blocks as i64, &buffer.ty)
}

/// Where `blocks` blocks from `rank` on begin, if they are one run of bytes; else null.
fn dense(buffer: &Buffer, rank: usize, blocks: i64) -> *const u8 {
    match Data::new(buffer.base, buffer.count * blocks, &buffer.ty) {
        Data::Bytes(..) => block(buffer, rank),
        _ => std::ptr::null(),
    }
}

/// Puts the packed `bytes` into block `rank`.
pub(crate) fn put(buffer: &Buffer, rank: usize, bytes: &[u8]) {
    put_part(buffer, rank, 0, bytes);
}

/// Packs block `rank` into `out`.
pub(crate) fn get(buffer: &Buffer, rank: usize, out: &mut [u8]) {
    get_part(buffer, rank, 0, out);
}

fn put_part(buffer: &Buffer, rank: usize, from: usize, bytes: &[u8]) {
    unpack(block(buffer, rank), buffer.count, &buffer.ty, from, bytes);
}

fn get_part(buffer: &Buffer, rank: usize, from: usize, out: &mut [u8]) {
    pack(block(buffer, rank), buffer.count, &buffer.ty, from, out);
}

/// [`get_part`] for a turn in which all wait for all.
fn give_part(buffer: &Buffer, rank: usize, from: usize, out: &mut [u8]) {
    match Data::new(block(buffer, rank), buffer.count, &buffer.ty) {
        // SAFETY: as in `pack`; shared memory never overlaps the program's.
        Data::Bytes(base, _) => unsafe { give(base.add(from), out, false) },
        _ => get_part(buffer, rank, from, out),
    }
}

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

/// Copies one block of `from` to block `rank` of `to` within the process.
pub(crate) fn own(from: &Buffer, at: usize, to: &Buffer, rank: usize) {
    // SAFETY: both are the program's buffers, of the same signature (MPI's own rule).
    unsafe {
        Type::copy(&from.ty, block(from, at), from.count, &to.ty, block(to, rank), to.count);
    }
}

fn lines<'a>(adi: &Adi, peers: &'a Peers) -> Option<&'a Lines> {
    peers.lines(adi)
}

/// All ranks but `rank`, in order.
pub(crate) fn others(lines: &Lines, rank: usize) -> impl Iterator<Item = usize> {
    (0..lines.size()).filter(move |&other| other != rank)
}

/// Whether the lines serve a broadcast of `len` bytes.
#[inline(always)]
pub(crate) fn broadcasts(lines: &Lines, len: usize) -> bool {
    len <= BCAST && !are_left(lines, len)
}

/// Whether the lines serve an operation in which one or all read `len` bytes of each, in one turn.
#[inline(always)]
pub(crate) fn gathers(lines: &Lines, len: usize) -> bool {
    len <= longest_part(lines) && !are_left(lines, len)
}

/// Whether blocks of `len` bytes are left to messages.
#[inline(always)]
pub(crate) fn are_left(lines: &Lines, len: usize) -> bool {
    lines.size() == 2 && len >= LEFT_BY_TWO
}

/// Most bytes that each member gives in a turn of which one or all read everything.
#[inline(always)]
pub(crate) fn longest_part(lines: &Lines) -> usize {
    lines.capacity().min(ALL_TO_ALL / lines.size() / UNIT * UNIT)
}

/// Bytes of the parts in which they serve an operation whose readers, one or all, read `len` bytes from each member; `None`
/// if they do not.
fn part(lines: &Lines, len: usize) -> Option<usize> {
    let part = longest_part(lines);
    (gathers(lines, len) || lines.size() > 2 && len <= READ && part >= PART).then_some(part)
}

/// Whether they serve a scatter of `len` bytes to each.
#[inline(always)]
pub(crate) fn scatters(lines: &Lines, len: usize) -> bool {
    len * lines.size() <= lines.capacity() && !are_left(lines, len)
}

/// Whether they serve a reduction of a vector of `bytes` in one turn.
#[inline(always)]
pub(crate) fn reduces(lines: &Lines, bytes: usize) -> bool {
    bytes <= lines.capacity() && bytes * lines.size() <= ALL_TO_ALL && !(lines.size() == 2 && bytes > ALLREDUCE_OF_TWO)
}

/// What the others read of this member in an allgather, if that is long enough to be read where it lies. `send` is `None`
/// for MPI_IN_PLACE.
pub(crate) fn read_in_allgather(lines: &Lines, send: Option<&Buffer>, recv: &Buffer) -> Option<Own> {
    let len = recv.bytes();
    let memory = || send.map_or_else(|| dense(recv, lines.rank(), 1), |send| dense(send, 0, 1));
    shared::serves(len, len).then(|| (memory(), len))
}

/// The same in an alltoall. What comes in would take the place of what the others still read, if that lay there too.
pub(crate) fn read_in_alltoall(lines: &Lines, send: Option<&Buffer>, recv: &Buffer) -> Option<Own> {
    let (len, size) = (recv.bytes(), lines.size());
    let own = || send.map_or((std::ptr::null(), 0), |send| (dense(send, 0, size as i64), len * size));
    shared::serves(len, len * size).then(own)
}

pub fn barrier(adi: &Adi, peers: &Peers) -> Fast {
    match lines(adi, peers) {
        Some(lines) => Some(lines.barrier(adi)),
        None => Some(peers.levels(adi)?.barrier(adi)),
    }
}

pub fn bcast(adi: &Adi, peers: &Peers, buffer: &Buffer, root: u32) -> Fast {
    let Some(lines) = lines(adi, peers) else { return peers.levels(adi)?.bcast(adi, buffer, root) };
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

/// Over `lines`, on which the root has the rank `root`.
pub(crate) fn bcast_over(lines: &Lines, adi: &Adi, root: usize, buffer: &Buffer) -> Result<(), Mismatch> {
    let send = |at: usize, out: &mut [u8]| pack(buffer.base, buffer.count, &buffer.ty, at, out);
    let take = |at: usize, bytes: &[u8]| unpack(buffer.base, buffer.count, &buffer.ty, at, bytes);
    lines.bcast(adi, root, buffer.bytes(), send, take)
}

/// `send` is `None` for MPI_IN_PLACE at the root; `recv` is there at the root.
pub fn gather(adi: &Adi, peers: &Peers, send: Option<&Buffer>, recv: Option<&Buffer>, root: u32) -> Fast {
    let lines = lines(adi, peers)?;
    let len = send.or(recv)?.bytes();
    if let Some(task) = lines.task(Kind::Gather, root, len) {
        let done = match recv.filter(|_| task.root == lines.rank()) {
            Some(recv) => {
                let meanwhile = || send.into_iter().for_each(|send| own(send, 0, recv, task.root));
                let memory = blocks_data(recv, lines.size());
                let data = |rank| block_data(recv, rank);
                lines.by_region(adi, &task, Part::Root { memory, data: &data, meanwhile: &meanwhile })
            }
            None => lines.by_region(adi, &task, Part::Other(send?.data(), lines.rank() * len)),
        };
        if done.is_some() {
            return done;
        }
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
    let lines = lines(adi, peers)?;
    let len = recv.or(send)?.bytes();
    if let Some(task) = lines.task(Kind::Scatter, root, len) {
        let done = match send.filter(|_| task.root == lines.rank()) {
            Some(send) => {
                let meanwhile = || recv.into_iter().for_each(|recv| own(send, task.root, recv, 0));
                let memory = blocks_data(send, lines.size());
                let data = |rank| block_data(send, rank);
                lines.by_region(adi, &task, Part::Root { memory, data: &data, meanwhile: &meanwhile })
            }
            None => lines.by_region(adi, &task, Part::Other(recv?.data(), lines.rank() * len)),
        };
        if done.is_some() {
            return done;
        }
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
    let Some(lines) = lines(adi, peers) else {
        return peers.levels(adi)?.allgather(adi, peers.rank, send, recv);
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
    let lines = lines(adi, peers)?;
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

/// The vector of a reduction by a predefined operation.
pub(crate) fn any_vector(op: &Operator, ty: &Type, count: i64) -> Option<Vector> {
    let Operator::Predefined(op) = op else { return None };
    Vector::new(*op, ty, count)
}

/// `send` is null for MPI_IN_PLACE (at the root); `recv` matters at the root.
pub fn reduce(
    adi: &Adi, peers: &Peers, send: *const u8, recv: *mut u8, count: i64, ty: &Rc<Type>, op: &Operator, root: u32,
) -> Fast {
    let Some(lines) = lines(adi, peers) else {
        return peers.levels(adi)?.reduce(adi, peers.rank, send, recv, count, ty, op, root);
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
    let Some(lines) = lines(adi, peers) else { return peers.levels(adi)?.allreduce(adi, send, recv, op) };
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
    let lines = lines(adi, peers)?;
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
    let lines = lines(adi, peers)?;
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
