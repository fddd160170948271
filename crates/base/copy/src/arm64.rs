//! Loops for arm64.

use super::kernel::Kernel;
use super::{Loops, ptr_copy};
use std::arch::asm;

/// Bytes that are read before the first of them is stored. Also where stores begin: a cache line, or a part of it.
const BLOCK: usize = 128;

/// The loops for this processor. Which copies stream is measured while the program runs.
pub(super) fn choose() -> Loops {
    Loops { stream, stream_fresh: stream, take_and_stream: stream, ..Loops::PORTABLE }
}

/// Adds all loops of this architecture.
pub(super) fn list(all: &mut Vec<Kernel>) {
    all.push(Kernel { name: "stream", run: stream });
}

/// See [`super::keeps_lines_loaded_once`].
pub(super) fn keeps_lines_loaded_once() -> bool {
    true
}

/// Hints the processor to fetch a line and own it.
#[inline]
pub(super) fn prefetch_for_writing(line: *mut u8) {
    // SAFETY: a hint, which cannot fault.
    unsafe { asm!("prfm pstl1keep, [{}]", in(reg) line, options(nostack, preserves_flags)) };
}

/// Copies by stores that say that nobody reads the target soon (STNP). They are ordered as other stores are, by a release that follows; the loads
/// are plain ones, because those of this kind (LDNP) may pass what they depend on.
///
/// # Safety
/// As for `copy_nonoverlapping`.
unsafe fn stream(to: *mut u8, from: *const u8, len: usize) {
    let head = to.align_offset(BLOCK).min(len);
    let end = head + (len - head) / BLOCK * BLOCK;
    // SAFETY: head, blocks and tail make up the whole.
    unsafe {
        ptr_copy(to, from, head);
        for at in (head..end).step_by(BLOCK) {
            asm!(
                "ldp {0:q}, {1:q}, [{from}]",
                "ldp {2:q}, {3:q}, [{from}, 32]",
                "ldp {4:q}, {5:q}, [{from}, 64]",
                "ldp {6:q}, {7:q}, [{from}, 96]",
                "stnp {0:q}, {1:q}, [{to}]",
                "stnp {2:q}, {3:q}, [{to}, 32]",
                "stnp {4:q}, {5:q}, [{to}, 64]",
                "stnp {6:q}, {7:q}, [{to}, 96]",
                out(vreg) _, out(vreg) _, out(vreg) _, out(vreg) _, out(vreg) _, out(vreg) _, out(vreg) _, out(vreg) _,
                from = in(reg) from.add(at), to = in(reg) to.add(at),
                options(nostack, preserves_flags),
            );
        }
        ptr_copy(to.add(end), from.add(end), len - end);
    }
}
