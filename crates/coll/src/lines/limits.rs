//! Up to which lengths the lines serve which collective: the same on all members.

use super::Lines;

/// Most bytes that one member reads in an operation in which all read from all.
pub(crate) const ALL_TO_ALL: usize = 128 << 10;
/// Longest block of an allgather, a gather or a reduction among three and more that goes through the lines, in parts: whoever
/// reads what all others have given copies as much as if each had sent it to him, and waits for all of them together.
pub(crate) const READ: usize = 256 << 10;
/// Shortest block that two leave to messages, which find out whether one copy or two are faster.
pub(crate) const LEFT_BY_TWO: usize = 8 << 10;
/// Longest block of an alltoall among three and more, which costs two copies instead of one.
pub(crate) const ALLTOALL: usize = 32 << 10;
/// Shortest part of these. Of an alltoall, one of this length pays for a block of twice that; what parts may do grows
/// with their square, since they are longer and fewer of them are needed.
pub(crate) const PART: usize = 1 << 10;
/// Parts are so many bytes, times a whole number.
pub(crate) const UNIT: usize = 64;
/// Longest reduction to all that goes through the lines, in parts.
pub(crate) const ALLREDUCE: usize = 4 << 20;
/// Longest vector that two reduce over the lines so that both get something of it: above, of a reduction to all, each sends the half that the
/// other adds up.
pub(crate) const ALLREDUCE_OF_TWO: usize = 8 << 10;
/// Longest broadcast that goes through the lines, in parts.
pub(crate) const BCAST: usize = 4 << 20;

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
pub(crate) fn part(lines: &Lines, len: usize) -> Option<usize> {
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
