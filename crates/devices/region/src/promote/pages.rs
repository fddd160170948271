//! Changing what is behind an address: private memory becomes a range of a file.
//!
//! That is one write to the file, and one mmap at the addresses from which the private memory has been moved away. The file's pages
//! are there before they are mapped, so a lack of memory is an error of the write, and never a
//! SIGBUS; until then nothing of the program has changed.

use super::refusal::Refusal;
use crate::fork::pointer;
use rustix::fd::BorrowedFd;
use rustix::io::{self, Errno};
use rustix::mm::{self, Advice, MapFlags, MremapFlags, ProtFlags};
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};
use tern_node::maps::{FileId, Maps, Vma};

const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// Copies private pages to `file` at `offset` and maps the file there instead. The contents stay. The mapping that was there is
/// returned: it is somewhere else now, without pages, as the child of a fork will need it.
/// On an error the memory is as it was; the file may have pages at the offset.
///
/// # Safety
/// The pages are plain memory, in one mapping; this thread is the only one; no signal handler runs in it; nobody else stores to them by
/// other ways, and neither does this function's caller keep anything in them that changes meanwhile. The
/// offsets are mapped nowhere.
pub unsafe fn share(pages: &Range<usize>, file: BorrowedFd<'_>, offset: u64) -> Result<usize, Refusal> {
    // SAFETY: mapped and readable; nobody stores to it (contract).
    let bytes = unsafe { std::slice::from_raw_parts(pointer(pages.start).cast::<u8>(), pages.len()) };
    let mut done = 0;
    while done < bytes.len() {
        match io::pwrite(file, &bytes[done..], offset + done as u64) {
            Ok(0) => return Err(Refusal::File),
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(_) => return Err(Refusal::File),
        }
    }
    let (at, len) = (pointer(pages.start), pages.len());
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: fresh memory; the pages move there and a copy of them takes their place; nothing was stored to them since, for
    // the system calls between the copy and here keep nothing in memory. On an error they move back.
    unsafe {
        let kept =
            mm::mmap_anonymous(std::ptr::null_mut(), len, ProtFlags::empty(), flags).map_err(|_| Refusal::File)?;
        if mm::mremap_fixed(at, len, len, MremapFlags::MAYMOVE, kept).is_err() {
            let _ = mm::munmap(kept, len);
            return Err(Refusal::File);
        }
        let flags = MapFlags::SHARED | MapFlags::FIXED | MapFlags::POPULATE;
        if mm::mmap(at, len, READ_WRITE, flags, file, offset).is_err() {
            if mm::mremap_fixed(kept, len, len, MremapFlags::MAYMOVE, at).is_err() {
                lost();
            }
            return Err(Refusal::File);
        }
        tern_atomics::mapped(at.cast(), len, file, offset);
        let _ = mm::madvise(kept, len, Advice::LinuxDontNeed);
        Ok(kept.addr())
    }
}

/// Pages have been moved and cannot be moved back. Nothing can go on.
#[cold]
fn lost() -> ! {
    eprintln!("tern: the kernel has moved memory that was to be promoted and cannot move it back: out of memory");
    std::process::abort()
}

/// Makes a promoted mapping a private mapping of the same pages of the file: a store from now on
/// copies the page, in the parent and in the child of a fork alike. Takes no memory and no time, and
/// other threads may go on. The pages of the file must never be changed or freed afterwards. False, and nothing done, where the kernel
/// refuses.
///
/// # Safety
/// `vma` is, or was just before, a promoted mapping of `file`. Stores of peers arrive only in
/// pages that this process does not store to.
pub unsafe fn freeze(vma: &Vma, file: BorrowedFd<'_>) -> bool {
    let len = vma.end - vma.start;
    let locked = is_anything_locked() && super::flags::is_locked(vma.start);
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    let rights = ProtFlags::from_bits_retain(vma.rights());
    // SAFETY: the same pages of the same file at the same addresses; what threads store before
    // goes to the page, and what they store later to a copy of it.
    let frozen = unsafe { mm::mmap(pointer(vma.start), len, rights, flags, file, vma.offset) }.is_ok();
    if frozen {
        if rights.contains(READ_WRITE) {
            count_as_anonymous(vma.start);
        }
        lock_if(locked, vma.start, len);
    }
    frozen
}

/// Stores a byte's own value to it, so that the mapping holds memory of no file and goes into a
/// core dump as a whole (core(5)), as it did before.
fn count_as_anonymous(address: usize) {
    // SAFETY: mapped and writable; other threads may store there too, so this is one atomic
    // exchange of the value for itself. (Relaxed: it orders nothing.)
    let byte = unsafe { AtomicU8::from_ptr(pointer(address).cast()) };
    let mut value = byte.load(Ordering::Relaxed);
    while let Err(other) = byte.compare_exchange(value, value, Ordering::Relaxed, Ordering::Relaxed) {
        value = other;
    }
}

/// Whether this process has locked memory at all (`VmLck` of /proc/self/status).
fn is_anything_locked() -> bool {
    let status = crate::host::text("/proc/self/status").unwrap_or_default();
    !status.lines().any(|line| line.strip_prefix("VmLck:").is_some_and(|rest| rest.trim() == "0 kB"))
}

fn lock_if(locked: bool, start: usize, len: usize) {
    if locked {
        // SAFETY: changes no contents. A limit that has shrunk since is the program's.
        let _ = unsafe { mm::mlock(pointer(start), len) };
    }
}

/// The promoted mappings: of `file`, shared, at offsets in `area`; in order of address.
pub fn promoted(maps: &Maps, file: FileId, area: &Range<u64>) -> io::Result<Vec<Vma>> {
    let mut all = maps.shared()?;
    all.retain(|vma| vma.file == file && area.contains(&vma.offset));
    Ok(all)
}
