//! Copy routines: contiguous memory, with what is known of its source and its target.
//!
//! [`copy`] differs from the C library's routine in a few cases only:
//!
//! - **The source is shared memory that another core fills again and again** ([`Source::Peer`]): to
//!   write to a line that one has written before and another core has read since is slow, on AMD's
//!   Zen some 8 ns a line however many are under way, and neither prefetching for writing nor wider
//!   stores help. A line that its reader has written back to memory (CLWB) is free of that. Two
//!   copies through the same few cells: 25 GB/s instead of 8, or 15 where source and target lie
//!   differently in their cache lines. It costs memory bandwidth; where there is room for more
//!   cells, or where they go to and fro, it is better left out.
//! - **The target is not used soon** ([`Target::Later`]): streaming stores do not read the target's
//!   lines first, and leave the caches to others. Off cache one copy reaches 18 GB/s instead of 11;
//!   in cache it is the other way round by two to one.
//! - **The target is shared memory that another core has read since it was last written** ([`Target::Peer`]): to write to its lines, this
//!   core has to get them for itself. On Intel's processors, where many such requests may be under way, asking for lines 1 KiB ahead takes
//!   two thirds of the time (a Xeon of today: 12 GB/s instead of 8).
//! - **The source is a part of a longer run** ([`Source::Run`]): Intel's processors begin anew to fetch ahead on each page. If what
//!   follows is asked for 2 KiB ahead, memory that is in no cache takes a tenth less; from 8 KiB ahead, where much
//!   follows, 256 KiB to 4 MiB take another 3 to 9 % less ([`Source::LongRun`]).
//! - **The source is in another core's cache** ([`Source::Fresh`]): as these processors fetch ahead within a page only, two pages that are copied
//!   at the same time keep more lines under way. Packets of long messages take a twentieth less.
//! - **The C library leaves copies of some KiB to the processor** (`rep movsb`), and that is slow where lines lie in another
//!   core's cache. Whether it is, is measured ([`use_vectors`]): on a Zen 3 vectors take up to a fifth less time, from 4 KiB on.
//!
//! Other figures here are from two cores of a Zen 4 that share an L3 cache, by the example
//! `copy-speed`. The loops are chosen once, by what the processor offers.

#![warn(missing_docs)]

mod kernel;
#[cfg(test)]
mod tests;
// What an architecture has of its own. Miri has no assembler; under it the loops are those of a processor without any.
#[cfg_attr(all(target_arch = "x86_64", not(miri)), path = "x86.rs")]
#[cfg_attr(all(target_arch = "aarch64", not(miri)), path = "arm64.rs")]
#[cfg_attr(any(not(any(target_arch = "x86_64", target_arch = "aarch64")), miri), path = "portable.rs")]
mod own;

pub use kernel::Kernel;

use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The loops that this processor has the instructions for; the first is the C library's.
pub fn kernels() -> Vec<Kernel> {
    let mut all = vec![Kernel { name: "libc", run: ptr_copy }];
    own::list(&mut all);
    all
}

/// What is known of the memory that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nothing.
    Any,
    /// What lies behind it is read next.
    Run,
    /// The same, and it is much longer than 8 KiB.
    LongRun,
    /// It has just come: most likely another core has it in its cache, which has written it.
    Fresh,
    /// Another core has written it, will write it again before anybody reads it, and this is the
    /// only time it is read in between.
    Peer,
}

/// What is known of the memory that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// It is in a cache, or somebody reads it soon. Say this when in doubt.
    Soon,
    /// It is in no cache, and nobody reads it before as much has been moved as the caches hold.
    Later,
    /// This core has written it before, another has read it since, and will read it again.
    Peer,
}

impl Target {
    /// Of memory that streaming stores are found to write best, or not.
    #[inline]
    pub fn streamed(streams: bool) -> Target {
        if streams { Target::Later } else { Target::Soon }
    }
}

/// Bytes of a cache line, or a part of it.
const LINE: usize = 64;

/// Copies shorter than this are left to the C library, whatever is known.
pub const SHORT: usize = 1 << 10;

/// From so many bytes on the halves of what is [`Source::Fresh`] are copied together: those of less lie in one page, mostly.
const HALVED: usize = 6 << 10;

/// Copies `len` bytes. Stores are visible to other cores in the usual order: a release that
/// follows publishes them.
///
/// # Safety
/// As for [`ptr::copy_nonoverlapping`].
#[inline]
pub unsafe fn copy(to: *mut u8, from: *const u8, len: usize, source: Source, target: Target) {
    tern_atomics::copied(to, from, len);
    let run = match (source, target) {
        _ if len < SHORT => ptr_copy,
        (Source::Run, Target::Soon) => LOOPS.follow.unwrap_or_else(|| soon(len)),
        (Source::LongRun, Target::Soon) => LOOPS.follow_far.unwrap_or_else(|| soon(len)),
        (Source::Fresh, Target::Soon) if len >= HALVED => LOOPS.fresh.unwrap_or_else(|| soon(len)),
        (Source::Any | Source::Fresh, Target::Soon) => soon(len),
        (Source::Peer, Target::Soon | Target::Peer) => LOOPS.take,
        (Source::Peer, Target::Later) => LOOPS.take_and_stream,
        (Source::Fresh, Target::Later) if len >= HALVED => LOOPS.stream_fresh,
        (_, Target::Later) => LOOPS.stream,
        (_, Target::Peer) => LOOPS.give.unwrap_or_else(|| soon(len)),
    };
    // SAFETY: the same contract; the loops are those of this processor.
    unsafe { run(to, from, len) };
}

/// [`copy`] of memory of which nothing is known.
///
/// # Safety
/// As for [`ptr::copy_nonoverlapping`].
#[inline]
pub unsafe fn plain(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the same contract.
    unsafe { copy(to, from, len, Source::Any, Target::Soon) };
}

/// Whether a copy to [`Target::Peer`] asks for lines ahead of writing.
pub fn asks() -> bool {
    LOOPS.give.is_some()
}

/// Whether lines stay in the caches that one load alone has touched. Intel's processors take them for lines that are not needed again:
/// a Xeon of today copies 1024 blocks of 64 bytes that lie 8 KiB apart in 16 us by loads of 64 bytes, and in 5.5 us by four of 16.
pub fn keeps_lines_loaded_once() -> bool {
    own::keeps_lines_loaded_once()
}

/// Lengths for which the C library may leave the copy to the processor (`rep movsb`), which one does well and another badly
/// where the lines lie in another core's cache.
const LEFT: std::ops::RangeInclusive<usize> = 2 << 10..=1 << 20;

/// The copies of [`LEFT`] are made by vectors.
static BY_VECTORS: AtomicBool = AtomicBool::new(false);

/// From now on copies of some KiB, in caches, are made by own loops, or not, in all of this process: what is faster between
/// two cores is measured (`tern-tune`).
pub fn use_vectors(yes: bool) {
    // Relaxed: any loop copies.
    BY_VECTORS.store(yes, Ordering::Relaxed);
}

#[inline]
fn soon(len: usize) -> Loop {
    // Relaxed: see `use_vectors`.
    if LEFT.contains(&len) && BY_VECTORS.load(Ordering::Relaxed) { LOOPS.plain } else { ptr_copy }
}

/// After `len` bytes at `from` have been read otherwise than by [`copy`]: what it does for this
/// source.
///
/// # Safety
/// The memory is mapped.
#[inline]
pub unsafe fn give_back(from: *const u8, len: usize, source: Source) {
    if source == Source::Peer && len >= SHORT {
        // SAFETY: the same contract.
        unsafe { (LOOPS.give_back)(from, len) };
    }
}

/// Says that `to` will be written soon, by somebody who now waits for the data: its lines are fetched meanwhile.
#[inline]
pub fn expect(to: *mut u8, len: usize) {
    for at in (0..len).step_by(LINE) {
        own::prefetch_for_writing(to.wrapping_add(at));
    }
}

type Loop = unsafe fn(to: *mut u8, from: *const u8, len: usize);

/// The loops of this processor.
struct Loops {
    plain: Loop,
    stream: Loop,
    /// The same of [`Source::Fresh`].
    stream_fresh: Loop,
    take: Loop,
    take_and_stream: Loop,
    /// For [`Target::Peer`], where that is not as any other.
    give: Option<Loop>,
    /// The same of [`Source::Run`].
    follow: Option<Loop>,
    /// And of [`Source::LongRun`].
    follow_far: Option<Loop>,
    /// And of [`Source::Fresh`].
    fresh: Option<Loop>,
    give_back: unsafe fn(from: *const u8, len: usize),
}

static LOOPS: LazyLock<Loops> = LazyLock::new(own::choose);

impl Loops {
    const PORTABLE: Loops = Loops {
        plain: ptr_copy,
        stream: ptr_copy,
        stream_fresh: ptr_copy,
        take: ptr_copy,
        take_and_stream: ptr_copy,
        give: None,
        follow: None,
        follow_far: None,
        fresh: None,
        give_back: |_, _| {},
    };
}

/// The C library's routine.
///
/// # Safety
/// As for [`ptr::copy_nonoverlapping`].
unsafe fn ptr_copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the same contract.
    unsafe { ptr::copy_nonoverlapping(from, to, len) };
}
