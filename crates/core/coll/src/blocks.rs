//! Blocks of the program's buffers, as the lines take and give them.

// Addresses are those of the program, which MPI trusts as C does.
#![allow(clippy::not_unsafe_ptr_arg_deref)]

use crate::buffers::Buffer;
use crate::copies::give;
use crate::lines::declared::Own;
use crate::lines::{Lines, Mismatch};
use tern_adi::{Adi, Data};
use tern_layout::Type;

/// Packs the elements at `base` into `out`.
pub(crate) fn pack(base: *const u8, count: i64, ty: &Type, from: usize, out: &mut [u8]) {
    // SAFETY: the program's buffer holds `count` elements of `ty` (MPI's own rule), which are at
    // least `from + out.len()` bytes.
    unsafe { ty.pack(base, count, from as u64, out) };
}

/// Unpacks into the elements at `base`.
pub(crate) fn unpack(base: *mut u8, count: i64, ty: &Type, from: usize, bytes: &[u8]) {
    // SAFETY: as in `pack`.
    unsafe { ty.unpack(base, count, from as u64, bytes) };
}

/// Where block `rank` of a buffer begins: blocks follow each other by extent.
pub(crate) fn block(buffer: &Buffer, rank: usize) -> *mut u8 {
    let step = buffer.count * buffer.ty.extent();
    buffer.base.wrapping_offset((rank as i64 * step) as isize)
}

/// Block `rank` of a buffer.
pub(crate) fn block_data(buffer: &Buffer, rank: usize) -> Data {
    Data::new(block(buffer, rank), buffer.count, &buffer.ty)
}

/// All blocks of a buffer.
pub(crate) fn blocks_data(buffer: &Buffer, blocks: usize) -> Data {
    Data::new(buffer.base, buffer.count * blocks as i64, &buffer.ty)
}

/// Where `blocks` blocks from `rank` on begin, if they are one run of bytes; else null.
pub(crate) fn dense(buffer: &Buffer, rank: usize, blocks: i64) -> *const u8 {
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

pub(crate) fn put_part(buffer: &Buffer, rank: usize, from: usize, bytes: &[u8]) {
    unpack(block(buffer, rank), buffer.count, &buffer.ty, from, bytes);
}

pub(crate) fn get_part(buffer: &Buffer, rank: usize, from: usize, out: &mut [u8]) {
    pack(block(buffer, rank), buffer.count, &buffer.ty, from, out);
}

/// [`get_part`] for a turn in which all wait for all.
pub(crate) fn give_part(buffer: &Buffer, rank: usize, from: usize, out: &mut [u8]) {
    match Data::new(block(buffer, rank), buffer.count, &buffer.ty) {
        // SAFETY: as in `pack`; shared memory never overlaps the program's.
        Data::Bytes(base, _) => unsafe { give(base.add(from), out, false) },
        _ => get_part(buffer, rank, from, out),
    }
}

/// Copies one block of `from` to block `rank` of `to` within the process.
pub(crate) fn own(from: &Buffer, at: usize, to: &Buffer, rank: usize) {
    // SAFETY: both are the program's buffers, of the same signature (MPI's own rule).
    unsafe {
        Type::copy(&from.ty, block(from, at), from.count, &to.ty, block(to, rank), to.count);
    }
}

/// What the others read of this member in an allgather that is read in place. `send` is `None` for MPI_IN_PLACE.
pub(crate) fn read_in_allgather(lines: &Lines, send: Option<&Buffer>, recv: &Buffer) -> Own {
    let memory = send.map_or_else(|| dense(recv, lines.rank(), 1), |send| dense(send, 0, 1));
    (memory, recv.bytes())
}

/// The same in an alltoall. What comes in would take the place of what the others still read, if that lay there too.
pub(crate) fn read_in_alltoall(lines: &Lines, send: Option<&Buffer>, recv: &Buffer) -> Own {
    let size = lines.size();
    send.map_or((std::ptr::null(), 0), |send| (dense(send, 0, size as i64), recv.bytes() * size))
}

/// Over `lines`, on which the root has the rank `root`; along a tree in parts of so many bytes, if there are any.
pub(crate) fn bcast_over(
    lines: &Lines, adi: &Adi, root: usize, buffer: &Buffer, tree: Option<usize>,
) -> Result<(), Mismatch> {
    let send = |at: usize, out: &mut [u8]| pack(buffer.base, buffer.count, &buffer.ty, at, out);
    let take = |at: usize, bytes: &[u8]| unpack(buffer.base, buffer.count, &buffer.ty, at, bytes);
    match tree {
        Some(part) => lines.bcast_by_tree(adi, (root, buffer.bytes(), part), send, take),
        None => lines.bcast(adi, root, buffer.bytes(), send, take),
    }
}
