//! The end of a process that can have no more memory: with a line that says so, and what to try, where Rust would only abort.
//!
//! Calls that need memory of a length that the program chooses fail with MPI_ERR_NO_MEM where they can ([`tern_node::memory`]). In the middle
//! of a collective, or for the library's own tables, no call can fail alone, since other processes count on this one: the job ends.

use crate::abort::abort_inside;
use crate::constants::MPI_ERR_NO_MEM;
use crate::runtime::installed;
use rustix::process::{Resource, getrlimit};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// The system's allocator; where it has nothing, the process ends.
struct Checked;

#[global_allocator]
static CHECKED: Checked = Checked;

// SAFETY: all is handed on to the system's allocator.
unsafe impl GlobalAlloc for Checked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: contract.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: contract.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, len: usize) -> *mut u8 {
        // SAFETY: contract.
        checked(unsafe { System.realloc(at, layout, len) }, len)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[inline]
fn checked(at: *mut u8, len: usize) -> *mut u8 {
    if at.is_null() {
        lack(len);
    }
    at
}

/// What the last words need.
const RESERVE: Layout = match Layout::from_size_align(1 << 20, 4096) {
    Ok(layout) => layout,
    Err(_) => panic!("a layout"),
};
static RESERVED: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
/// The thread that ends the process; 0 for none.
static ENDING: AtomicI32 = AtomicI32::new(0);

/// Sets address space aside for the last words. It takes no memory until then.
pub fn prepare() {
    if RESERVED.load(Ordering::Relaxed).is_null() {
        // SAFETY: the layout is not empty.
        RESERVED.store(unsafe { System.alloc(RESERVE) }, Ordering::Relaxed);
    }
}

/// Ends the job, for want of `len` bytes.
#[cold]
fn lack(len: usize) -> ! {
    let me = rustix::thread::gettid().as_raw_nonzero().get();
    // Relaxed: one thread's words are enough.
    match ENDING.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {}
        Err(ending) if ending == me => {
            // The last words found no memory either.
            let _ = rustix::io::write(rustix::stdio::stderr(), b"tern: out of memory\n");
            tern_node::end_process(MPI_ERR_NO_MEM)
        }
        // Another thread speaks, and ends this one with the process.
        Err(_) => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
    }
    let reserved = RESERVED.swap(std::ptr::null_mut(), Ordering::Relaxed);
    if !reserved.is_null() {
        // SAFETY: allocated in `prepare`, and nobody else has it now.
        unsafe { System.dealloc(reserved, RESERVE) };
    }
    let rank = installed().map_or_else(|| "this process".to_owned(), |runtime| format!("rank {}", runtime.me));
    abort_inside(MPI_ERR_NO_MEM, &words(&rank, len))
}

fn words(rank: &str, len: usize) -> String {
    format!(
        "MPI_ERR_NO_MEM: {rank} cannot have {len} bytes of memory for the library, and ends the job{}\n  \
         What to try: free memory, send shorter messages, use fewer processes on this machine, or raise the limit",
        limits()
    )
}

/// The limits of this process that may be the cause.
fn limits() -> String {
    let limits =
        [(Resource::As, "address space (RLIMIT_AS, ulimit -v)"), (Resource::Data, "data (RLIMIT_DATA, ulimit -d)")];
    let said = limits.iter().filter_map(|&(resource, name)| {
        getrlimit(resource).current.map(|limit| format!("; its {name} may be {} MiB", limit >> 20))
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_say_what_to_try() {
        let text = words("rank 3", 4096);
        assert!(text.starts_with("MPI_ERR_NO_MEM: rank 3 cannot have 4096 bytes"));
        assert!(text.contains("What to try"));
        prepare();
        assert!(!RESERVED.load(Ordering::Relaxed).is_null());
    }
}
