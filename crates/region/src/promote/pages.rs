//! Changing what is behind an address: private memory becomes a range of a file, and private again.
//!
//! The way there is one write to the file and one mmap over the same addresses. The file's pages
//! are there before they are mapped, so a lack of memory is an error of the write, and never a
//! SIGBUS; until the mmap nothing of the program has changed.

use super::process;
use super::refusal::Refusal;
use rustix::fd::BorrowedFd;
use rustix::io::{self, Errno};
use rustix::mm::{self, Advice, MapFlags, MremapFlags, ProtFlags};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};
use tern_maps::{FileId, Maps, Vma};

/// No signal handler runs in this thread while this lives: it could store to what is being copied.
struct Quiet(libc::sigset_t);

impl Quiet {
    fn new() -> Quiet {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: sigfillset initialises `all`, and pthread_sigmask `before`; with these arguments
        // neither fails.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Quiet(before.assume_init())
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // SAFETY: a mask that pthread_sigmask gave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

fn pointer(address: usize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address)
}

const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// Copies private pages to `file` at `offset` and maps the file there instead. The contents stay.
/// On an error the memory is as it was; the file may have pages at the offset.
///
/// # Safety
/// The pages are plain memory; this thread is the only one; nobody else stores to them by other
/// ways, and neither does this function's caller keep anything in them that changes meanwhile. The
/// offsets are mapped nowhere.
pub unsafe fn share(maps: &Maps, pages: &Range<usize>, file: BorrowedFd<'_>, offset: u64) -> Result<(), Refusal> {
    let _quiet = Quiet::new();
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
    let flags = MapFlags::SHARED | MapFlags::FIXED | MapFlags::POPULATE;
    for _ in 0..8 {
        // SAFETY: replaces the pages by a copy of themselves; nothing was stored to them since, for
        // the system calls between the copy and here keep nothing in memory.
        if unsafe { mm::mmap(pointer(pages.start), pages.len(), READ_WRITE, flags, file, offset) }.is_ok() {
            return Ok(());
        }
        if maps.at(pages.start).is_some_and(|vma| vma.is_plain()) {
            return Err(Refusal::File);
        }
        // A kernel that unmaps first and fails then: the bytes are in the file, so try again.
    }
    lost()
}

/// The pages at an address were unmapped, and mapping them again fails for good. Nothing can go on.
#[cold]
fn lost() -> ! {
    eprintln!("tern: the kernel has unmapped promoted memory and cannot map it again: out of memory");
    std::process::abort()
}

/// Makes a promoted mapping ordinary private memory with the same contents. Where memory is short
/// it is frozen instead: false.
///
/// # Safety
/// `vma` is a promoted mapping of `file`; this thread is the only one; no peer stores to it.
pub unsafe fn thaw(vma: &Vma, file: BorrowedFd<'_>) -> bool {
    let len = vma.end - vma.start;
    let locked = is_anything_locked() && super::flags::is_locked(vma.start);
    if process::has_memory(len, 0) {
        let _quiet = Quiet::new();
        // SAFETY: `staging` is fresh memory of the same length; the mapping that is replaced has
        // the same contents, and nobody stores to it meanwhile (contract).
        unsafe {
            if let Ok(staging) = mm::mmap_anonymous(std::ptr::null_mut(), len, READ_WRITE, MapFlags::PRIVATE) {
                std::ptr::copy_nonoverlapping(pointer(vma.start).cast::<u8>(), staging.cast(), len);
                if mm::mremap_fixed(staging, len, len, MremapFlags::MAYMOVE, pointer(vma.start)).is_ok() {
                    lock_if(locked, vma.start, len);
                    return true;
                }
                let _ = mm::munmap(staging, len);
            }
        }
    }
    // If the attempt has unmapped the pages, this brings them back.
    // SAFETY: the contract is that of `freeze` and more.
    unsafe { freeze(vma, file) };
    false
}

/// Makes a promoted mapping a private mapping of the same pages of the file: a store from now on
/// copies the page, in the parent and in the child of a fork alike. Takes no memory and no time, and
/// other threads may go on. The pages of the file must never be changed or freed afterwards.
///
/// # Safety
/// `vma` is, or was just before, a promoted mapping of `file`. Stores of peers arrive only in
/// pages that this process does not store to.
pub unsafe fn freeze(vma: &Vma, file: BorrowedFd<'_>) {
    let len = vma.end - vma.start;
    let locked = is_anything_locked() && super::flags::is_locked(vma.start);
    let flags = MapFlags::PRIVATE | MapFlags::FIXED;
    for _ in 0..8 {
        // SAFETY: the same pages of the same file at the same addresses; what threads store before
        // goes to the page, and what they store later to a copy of it.
        if unsafe { mm::mmap(pointer(vma.start), len, READ_WRITE, flags, file, vma.offset) }.is_ok() {
            count_as_anonymous(vma.start);
            lock_if(locked, vma.start, len);
            return;
        }
    }
    // The child must not share with its parent: better it has no such memory at all.
    // SAFETY: changes nothing in this process.
    if unsafe { mm::madvise(pointer(vma.start), len, Advice::LinuxDontFork) }.is_err() {
        lost();
    }
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
    let status = process::text("/proc/self/status").unwrap_or_default();
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
