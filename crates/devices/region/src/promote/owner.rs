//! Which memory glibc's malloc owns.
//!
//! Two kinds are recognised: the main heap, between the start of the data segment's extension and
//! its break, and a chunk that has a mapping of its own. The header of such a chunk (two words
//! before the pointer that malloc returns) holds the bytes that were skipped for alignment, and
//! the size with the bit IS_MMAPPED. That this is so is not taken from the version but tried once.

use super::refusal::Refusal;
use crate::host::symbol;
use std::ffi::c_void;
use std::ops::Range;
use tern_node::maps::{FileId, Maps, Vma};

const WORD: usize = size_of::<usize>();
/// malloc aligns to two words.
const ALIGN: usize = 2 * WORD;
const IS_MMAPPED: usize = 2;
const FLAGS: usize = 7;

/// Beyond malloc's largest threshold (32 MiB), so that it takes a mapping and learns nothing.
const PROBE: usize = 40 << 20;
/// How far before a buffer the start of its chunk is looked for. (A buffer deep within a larger
/// one is not promoted.)
const REACH: usize = 64 << 20;

/// Memory of malloc's: a range of whole pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Owned {
    /// In the main heap, which begins at that address.
    Heap { start: usize },
    /// All of a chunk that has a mapping of its own.
    Chunk(Range<usize>),
}

/// glibc's malloc, proven.
pub struct Malloc {
    /// Where the main heap starts, a multiple of the page; `None` if malloc does not use it.
    heap: Option<usize>,
    /// Large chunks have mappings of their own, with the headers that we know. (A program can tell
    /// malloc to take all from the heap.)
    has_chunks: bool,
}

impl Malloc {
    /// Proves that malloc and its fellows are glibc's, and lay out memory as we know it.
    pub fn prove() -> Result<Malloc, Refusal> {
        is_glibc()?;
        let malloc = Malloc { heap: probe_heap(), has_chunks: probe_mapped_chunk() };
        if malloc.heap.is_none() && !malloc.has_chunks {
            return Err(Refusal::Malloc("unknown layout"));
        }
        Ok(malloc)
    }

    /// What of malloc's the pages belong to. `file` is the node's: pages that are promoted already
    /// count as the private ones that they were.
    pub fn find(&self, maps: &Maps, pages: &Range<usize>, file: FileId) -> Result<Owned, Refusal> {
        if let Some(start) = self.heap
            && pages.start >= start
            && pages.end <= kernel_break().ok_or(Refusal::NotMallocs)?
        {
            return Ok(Owned::Heap { start });
        }
        if !self.has_chunks {
            return Err(Refusal::NotMallocs);
        }
        let around = surroundings(maps, pages, file).ok_or(Refusal::NotMallocs)?;
        mapped_chunk(&around, pages).map(Owned::Chunk).ok_or(Refusal::NotMallocs)
    }
}

/// The functions that hand out and take memory must be those of the object that has glibc's
/// version: a preloaded or linked allocator would have replaced them.
fn is_glibc() -> Result<(), Refusal> {
    let home = object_of(symbol(c"gnu_get_libc_version")).ok_or(Refusal::Malloc("no glibc"))?;
    let names = [c"malloc", c"calloc", c"realloc", c"free", c"memalign", c"posix_memalign", c"aligned_alloc"];
    for name in names {
        if object_of(symbol(name)) != Some(home) {
            return Err(Refusal::Malloc("another object provides it"));
        }
    }
    Ok(())
}

/// The address at which the object that holds `address` was loaded.
pub fn object_of(address: *const c_void) -> Option<usize> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: `info` is there to be written; it is read only where dladdr says that it wrote.
    let base = unsafe {
        if address.is_null() || libc::dladdr(address, info.as_mut_ptr()) == 0 {
            return None;
        }
        info.assume_init().dli_fbase
    };
    Some(base.addr())
}

/// Calls `look` with what malloc returns for `len` bytes, and frees that; `None` if there is none.
///
/// The functions are looked up by name, for a compiler that sees calls of malloc and free may leave
/// both out.
fn with_memory<T>(len: usize, look: impl FnOnce(*mut c_void) -> T) -> Option<T> {
    type Malloc = unsafe extern "C" fn(usize) -> *mut c_void;
    type Free = unsafe extern "C" fn(*mut c_void);
    // SAFETY: the addresses of malloc and free, or null, which is `None`.
    let (malloc, free) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Option<Malloc>>(symbol(c"malloc"))?,
            std::mem::transmute::<*mut c_void, Option<Free>>(symbol(c"free"))?,
        )
    };
    // SAFETY: malloc and free in their plain use.
    unsafe {
        let memory = malloc(len);
        if memory.is_null() {
            return None;
        }
        let seen = look(memory);
        free(memory);
        Some(seen)
    }
}

/// Whether a large allocation has a mapping and a header as we expect.
fn probe_mapped_chunk() -> bool {
    let page = rustix::param::page_size();
    let expected = (PROBE + ALIGN).next_multiple_of(page);
    let good = with_memory(PROBE, |memory| {
        let header = memory.wrapping_byte_sub(ALIGN).cast::<usize>();
        // Another malloc, or a checker of memory in its place, may have nothing there.
        if !header.addr().is_multiple_of(page) {
            return false;
        }
        // SAFETY: two words before what it returns are malloc's and can be read: they are on its page.
        let (skipped, size) = unsafe { (header.read_volatile(), header.add(1).read_volatile()) };
        skipped == 0 && size == expected | IS_MMAPPED
    });
    good.unwrap_or(false)
}

/// The start of the main heap, if a small allocation comes from there.
fn probe_heap() -> Option<usize> {
    let start = start_of_heap()?;
    let small = with_memory(ALIGN, |memory| memory.addr())?;
    let page = rustix::param::page_size();
    (start <= small && small < kernel_break()?).then(|| start.next_multiple_of(page))
}

/// `start_brk`, field 47 of /proc/self/stat.
fn start_of_heap() -> Option<usize> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, field 2, may hold anything; field 3 follows its last parenthesis.
    let start: usize = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(47 - 3)?.parse().ok()?;
    (start != 0).then_some(start)
}

/// The end of the main heap, if the kernel and glibc agree where it is.
fn kernel_break() -> Option<usize> {
    // SAFETY: brk(0) changes nothing; sbrk(0) neither.
    let (kernel, glibc) = unsafe { (libc::syscall(libc::SYS_brk, 0) as usize, libc::sbrk(0).addr()) };
    (kernel == glibc).then_some(kernel)
}

/// The pages around `pages` that could be of one chunk: neighbouring mappings that are plain or
/// promoted, not further than [`REACH`] before.
fn surroundings(maps: &Maps, pages: &Range<usize>, file: FileId) -> Option<Range<usize>> {
    let fits = |vma: &Vma| vma.is_plain() || vma.is_shared(file);
    let first = maps.at(pages.start).filter(fits)?;
    let (mut start, mut end) = (first.start, first.end);
    let lowest = pages.start.saturating_sub(REACH);
    while start > lowest
        && let Some(before) = maps.at(start - 1).filter(fits)
    {
        start = before.start;
    }
    while let Some(after) = maps.at(end).filter(fits) {
        end = after.end;
    }
    (pages.end <= end).then_some(start.max(lowest)..end)
}

/// The chunk with a mapping of its own that holds `pages`, within readable pages `around`.
///
/// malloc's chunk begins at the start of a page; where more than the usual alignment was asked for,
/// it begins later by the bytes skipped, which its first word tells: less than a page for
/// alignments up to a page, and two words before a page for larger ones. The nearest header before
/// the buffer that fits is taken.
fn mapped_chunk(around: &Range<usize>, pages: &Range<usize>) -> Option<Range<usize>> {
    let page = rustix::param::page_size();
    let mut first = pages.start;
    while first >= around.start {
        for skip in std::iter::successors(Some(ALIGN), |align| Some(align * 2)).take_while(|&align| align <= page) {
            let chunk = first + skip - ALIGN;
            // SAFETY: two aligned words of a page that is mapped and readable, for it lies in
            // `around`; there is one thread, so nobody writes.
            let (skipped, size) = unsafe {
                let header = std::ptr::with_exposed_provenance::<usize>(chunk);
                (header.read_volatile(), header.add(1).read_volatile())
            };
            if let Some(range) = chunk_range(chunk, skipped, size)
                && around.start <= range.start
                && range.start <= pages.start
                && pages.end <= range.end
                && range.end <= around.end
            {
                return Some(range);
            }
        }
        first = first.checked_sub(page)?;
    }
    None
}

/// The mapping that a chunk's header speaks of, if that makes sense.
fn chunk_range(chunk: usize, skipped: usize, size: usize) -> Option<Range<usize>> {
    let page = rustix::param::page_size();
    let length = size & !FLAGS;
    if size & FLAGS != IS_MMAPPED || length < ALIGN {
        return None;
    }
    let start = chunk.checked_sub(skipped)?;
    let end = chunk.checked_add(length)?;
    // For alignments up to a page the chunk begins in the first page.
    let usual = skipped < page || (skipped + ALIGN).is_multiple_of(page);
    (usual && start.is_multiple_of(page) && end.is_multiple_of(page)).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let page = rustix::param::page_size();
        let at = 100 * page;
        let range = Some(at..at + 10 * page);
        assert_eq!(chunk_range(at, 0, (10 * page) | 2), range, "malloc");
        assert_eq!(chunk_range(at + 48, 48, (10 * page - 48) | 2), range, "aligned to 64");
        assert_eq!(chunk_range(at + 3 * page - 16, 3 * page - 16, (7 * page + 16) | 2), range, "aligned to more");
        assert_eq!(chunk_range(at, 0, (10 * page) | 3), None, "in use before: of an arena");
        assert_eq!(chunk_range(at, 0, (10 * page) | 6), None, "not the main arena's");
        assert_eq!(chunk_range(at, 0, 10 * page), None);
        assert_eq!(chunk_range(at, 0, (10 * page + 16) | 2), None, "not whole pages");
        assert_eq!(chunk_range(at, 16, (10 * page) | 2), None);
        assert_eq!(chunk_range(at + 2 * page, 2 * page, (8 * page) | 2), None, "cannot be so");
        assert_eq!(chunk_range(at, at + page, (10 * page) | 2), None);
        assert_eq!(chunk_range(at, 0, (usize::MAX & !page) | 2), None);
        assert_eq!(chunk_range(at, 0, 2), None);
    }
}
