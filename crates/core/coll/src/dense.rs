//! Operations of [`crate::fast`] for memory that is one run of bytes: with nothing around it that a
//! short one need not have. They serve what goes in one turn of the lines and with no other way before it
//! ([`Short`](tern_policy::collective::Short)), and take the same turns as those, so that members may mix the two. Where TERN_COLL asks for an
//! algorithm of messages ([`crate::Selection::forces_any_messages`]) nobody calls them.

use crate::copies::{copy, give};
use crate::lines::{Fast, Lines};
use crate::ops::{Op, Vector};
use crate::peers::Peers;
use tern_adi::Adi;
use tern_layout::Basic;

/// One side of a collective at this process: where its memory begins. Null where it has none, or has it in the other
/// one (MPI_IN_PLACE).
pub type Base = *mut u8;

/// The lines of `peers` and this process's rank there.
#[inline(always)]
fn place<'a>(adi: &Adi, peers: &'a Peers) -> Option<(&'a Lines, usize)> {
    peers.lines(adi).map(|lines| (lines, lines.rank()))
}

/// The root's `len` bytes for everybody.
///
/// # Safety
/// The memory is there.
#[inline]
pub unsafe fn bcast(adi: &Adi, peers: &Peers, buffer: Base, len: usize, root: u32) -> Fast {
    let (lines, _) = place(adi, peers).filter(|(lines, _)| len < lines.short().bcast)?;
    // SAFETY: the caller's promise, for both; shared memory never overlaps the program's.
    let given = |at: usize, out: &mut [u8]| unsafe { give(buffer.add(at), out, true) };
    // SAFETY: as above.
    let take = |at: usize, bytes: &[u8]| unsafe { copy(bytes.as_ptr(), buffer.add(at), bytes.len()) };
    Some(lines.bcast(adi, root as usize, len, given, take))
}

/// Every member gives `len` bytes at `send`; the root gets them one behind the other at `recv`.
///
/// # Safety
/// The memory is there.
#[inline]
pub unsafe fn gather(adi: &Adi, peers: &Peers, send: Base, recv: Base, len: usize, root: u32) -> Fast {
    let (lines, me) = place(adi, peers).filter(|(lines, _)| len < lines.short().gather)?;
    let root = root as usize;
    if me == root && !send.is_null() {
        // SAFETY: the caller's promise; MPI forbids that they overlap.
        unsafe { copy(send, recv.add(me * len), len) };
    }
    // SAFETY: the caller's promise; shared memory never overlaps the program's.
    let given = |out: &mut [u8]| unsafe { give(send, out, true) };
    // SAFETY: as above.
    let take = |rank: usize, bytes: &[u8]| unsafe { copy(bytes.as_ptr(), recv.add(rank * len), len) };
    Some(lines.gather(adi, root, len, given, take))
}

/// The root gives a block of `len` bytes for each member at `send`; each gets its own at `recv`.
///
/// # Safety
/// The memory is there.
#[inline]
pub unsafe fn scatter(adi: &Adi, peers: &Peers, send: Base, recv: Base, len: usize, root: u32) -> Fast {
    let (lines, me) = place(adi, peers).filter(|(lines, _)| len < lines.short().scatter)?;
    let root = root as usize;
    if me == root && !recv.is_null() {
        // SAFETY: the caller's promise; MPI forbids that they overlap.
        unsafe { copy(send.add(me * len), recv, len) };
    }
    let given = |out: &mut [u8]| {
        let (before, behind) = out.split_at_mut(root * len);
        // SAFETY: the caller's promise; shared memory never overlaps the program's.
        unsafe {
            give(send, before, true);
            give(send.add((root + 1) * len), behind, true);
        }
    };
    // SAFETY: as above.
    let take = |bytes: &[u8]| unsafe { copy(bytes.as_ptr(), recv, len) };
    Some(lines.scatter(adi, root, len, given, take))
}

/// The reduction of `count` elements at `send`, or for MPI_IN_PLACE at `recv`; the root, or everybody if there is none,
/// gets it at `recv`.
///
/// # Safety
/// The memory is there.
#[inline]
pub unsafe fn reduce(
    adi: &Adi, peers: &Peers, send: Base, recv: Base, count: usize, (op, basic): (Op, Basic), root: Option<u32>,
) -> Fast {
    let (lines, _) = place(adi, peers)?;
    let bytes = count * basic.size() as usize;
    let vector = Vector { kernel: lines.kernel(op, basic)?, elements: count, bytes, whole: bytes, more: 0 };
    // As the general way has it, which others may take.
    let end = if root.is_some() { lines.short().reduce } else { lines.short().allreduce };
    if bytes >= end {
        return None;
    }
    let input = if send.is_null() { recv } else { send };
    // SAFETY: the caller's promise.
    Some(unsafe { lines.reduce(adi, root.map(|root| root as usize), &vector, input, recv) })
}
