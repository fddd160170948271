//! Arguments of collectives as the algorithms take them (MPI 5.0 section 6.2).
//!
//! The entry points have checked counts, datatypes, roots and where MPI_IN_PLACE may stand. What
//! is not significant at this process arrives as nothing: count 0, a null pointer.

use crate::advice::HUGE;
use crate::args::{Counts, Handles};
use crate::buffer::{check, check_count};
use crate::constants::*;
use crate::datatype::lookup;
use crate::error::Result;
use crate::objects::{Comm, Datatype};
use std::rc::Rc;
use tern_coll::{Buffer, BufferV, BufferW, Root};
use tern_layout::Type;

/// The address that stands for "the data is in the other buffer".
const IN_PLACE: usize = 1;

pub(crate) fn is_in_place(base: *const u8) -> bool {
    base as usize == IN_PLACE
}

/// A buffer of `count` elements, or of so many for each rank.
pub(crate) fn buffer(base: *const u8, count: i64, datatype: &Datatype) -> Result<Buffer> {
    check(base, count, datatype)?;
    Ok(Buffer { base: base.cast_mut(), count, ty: datatype.layout.clone() })
}

/// A buffer that may be MPI_IN_PLACE; then `None`.
pub(crate) fn input(base: *const u8, count: i64, datatype: &Datatype) -> Result<Option<Buffer>> {
    if is_in_place(base) { Ok(None) } else { buffer(base, count, datatype).map(Some) }
}

/// Buffers of `counts[r]` elements at `displs[r]` extents, for each rank of the other side.
pub(crate) fn buffer_v(
    base: *const u8, counts: Counts, displs: Counts, datatype: &Datatype, ranks: usize,
) -> Result<BufferV> {
    let (counts, displs) = (read("counts", counts, ranks)?, read("displs", displs, ranks)?);
    let extent = datatype.layout.extent();
    for (&count, &displ) in counts.iter().zip(&displs) {
        check(base.wrapping_offset(displ.wrapping_mul(extent) as isize), count, datatype)?;
    }
    Ok(BufferV { base: base.cast_mut(), counts: counts.into(), displs: displs.into(), ty: datatype.layout.clone() })
}

/// Buffers of `counts[r]` elements of `types[r]` at byte `displs[r]`, for each rank of the other
/// side.
pub(crate) fn buffer_w(
    base: *const u8, counts: Counts, displs: Counts, types: Handles, ranks: usize,
) -> Result<BufferW> {
    let (counts, displs) = (read("counts", counts, ranks)?, read("displs", displs, ranks)?);
    if ranks > 0 && types.is_null() {
        return err!(MPI_ERR_ARG, "the array of datatypes is a null pointer");
    }
    let mut layouts: Vec<Rc<Type>> = Vec::with_capacity(ranks);
    for rank in 0..ranks {
        // What is empty needs no type.
        let handle = match types.get(rank) {
            MPI_DATATYPE_NULL if counts[rank] == 0 => MPI_BYTE,
            handle => handle,
        };
        let datatype = lookup(handle)?;
        check(base.wrapping_offset(displs[rank] as isize), counts[rank], &datatype)?;
        layouts.push(datatype.layout.clone());
    }
    Ok(BufferW { base: base.cast_mut(), counts: counts.into(), displs: displs.into(), types: layouts.into() })
}

fn read(name: &str, values: Counts, len: usize) -> Result<Vec<i64>> {
    if len > 0 && values.is_null() {
        return err!(MPI_ERR_ARG, "the array of {name} is a null pointer");
    }
    values.list(len)
}

/// Counts of the blocks of MPI_Reduce_scatter, one for each rank of the local group.
pub(crate) fn block_counts(counts: Counts, comm: &Comm) -> Result<Vec<i64>> {
    let counts = read("counts", counts, comm.size() as usize)?;
    counts.iter().try_for_each(|&count| check_count(count))?;
    if counts.iter().try_fold(0i64, |sum, &count| sum.checked_add(count)).is_none() {
        return err!(MPI_ERR_COUNT, try HUGE, "the counts add up to more than 63 bits hold");
    }
    Ok(counts)
}

/// Number of processes that a process exchanges blocks with: the remote or only group.
pub(crate) fn ranks(comm: &Comm) -> usize {
    comm.target().size() as usize
}

/// The root of a rooted collective (MPI 5.0 section 6.2.3).
pub(crate) fn root(root: i32, comm: &Comm) -> Result<Root> {
    match root {
        MPI_ROOT if comm.is_inter() => Ok(Root::Root),
        MPI_PROC_NULL if comm.is_inter() => Ok(Root::None),
        rank if (0..comm.target().size()).contains(&rank) => Ok(Root::Rank(rank as u32)),
        rank => err!(MPI_ERR_ROOT, "the root is {rank}, but the group has ranks 0 to {}", comm.target().size() - 1),
    }
}

/// Where this process stands in a rooted collective.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// It has the root's buffer.
    pub root: bool,
    /// It has a block of its own: all but the root's group of an intercommunicator.
    pub leaf: bool,
}

pub(crate) fn part(root: Root, comm: &Comm) -> Part {
    match root {
        Root::Rank(rank) => Part { root: !comm.is_inter() && rank as i32 == comm.rank, leaf: true },
        Root::Root => Part { root: true, leaf: false },
        Root::None => Part { root: false, leaf: false },
    }
}

/// The lowest byte of data of the first of `count` elements of `ty`; null if there is none.
fn first(base: *const u8, count: i64, ty: &Type) -> *const u8 {
    if count == 0 || ty.size() == 0 { std::ptr::null() } else { base.wrapping_offset(ty.true_lb() as isize) }
}

/// The same of a buffer.
pub(crate) fn first_of(buffer: &Buffer) -> *const u8 {
    first(buffer.base, buffer.count, &buffer.ty)
}

/// The same of the block of `rank` in a buffer that has as much for each.
pub(crate) fn first_for(buffer: &Buffer, rank: i32) -> *const u8 {
    let before = (buffer.count * i64::from(rank)).wrapping_mul(buffer.ty.extent());
    first(buffer.base.wrapping_offset(before as isize), buffer.count, &buffer.ty)
}

/// The same in one that has its own count for each.
pub(crate) fn first_for_v(buffer: &BufferV, rank: usize) -> *const u8 {
    let before = buffer.displs[rank].wrapping_mul(buffer.ty.extent());
    first(buffer.base.wrapping_offset(before as isize), buffer.counts[rank], &buffer.ty)
}

/// The same in one that has its own count and datatype for each.
pub(crate) fn first_for_w(buffer: &BufferW, rank: usize) -> *const u8 {
    first(buffer.base.wrapping_offset(buffer.displs[rank] as isize), buffer.counts[rank], &buffer.types[rank])
}

/// Refuses data that is sent and data that is received of which the same byte is the [`first`]: MPI forbids that they have any byte in common, and
/// MPI_IN_PLACE says what is meant (section 6.2.3).
pub(crate) fn check_apart(send: *const u8, recv: *const u8) -> Result<()> {
    if send == recv && !recv.is_null() {
        return err!(
            MPI_ERR_BUFFER,
            try "",
            "both buffers are at {recv:p}: give MPI_IN_PLACE for the one that is in place"
        );
    }
    Ok(())
}

/// The same of a buffer that may be in place.
pub(crate) fn check_input_apart(input: Option<&Buffer>, other: *const u8) -> Result<()> {
    input.map_or(Ok(()), |input| check_apart(first_of(input), other))
}

/// Refuses MPI_IN_PLACE where only the root may give it (sections 6.5, 6.6 and 6.9.1).
pub(crate) fn check_in_place(base: *const u8, part: Part) -> Result<()> {
    match is_in_place(base) && !part.root {
        true => err!(MPI_ERR_BUFFER, try "", "only the root may give MPI_IN_PLACE here"),
        false => Ok(()),
    }
}

/// A collective that intercommunicators do not have.
pub(crate) fn check_intra(comm: &Comm, what: &str) -> Result<()> {
    if comm.is_inter() {
        return err!(MPI_ERR_COMM, "{what} is not defined on intercommunicators");
    }
    Ok(())
}
