//! The end of a process that can have no more memory: with a line that says so, and what to try, where Rust would only abort.
//!
//! Calls that need memory of a length that the program chooses fail with MPI_ERR_NO_MEM ([`tern_memory`]). For the library's own
//! books, and where other processes count on what this one has begun, no call can fail alone: the job ends.

use crate::abort::abort_inside;
use crate::constants::MPI_ERR_NO_MEM;
use crate::runtime::installed;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use tern_memory::{Checked, Names};

#[global_allocator]
static MEMORY: Checked = Checked::ending(lack);

/// What the last words need.
const RESERVE: Layout = match Layout::from_size_align(1 << 20, 4096) {
    Ok(layout) => layout,
    Err(_) => panic!("a layout"),
};
static RESERVED: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
/// The thread that ends the process; 0 for none.
static ENDING: AtomicI32 = AtomicI32::new(0);

/// What the functions are that programs call, for the last words.
static NAMES: OnceLock<Names> = OnceLock::new();

/// The library of the functions tells which they are.
pub fn name_calls(names: Names) {
    let _ = NAMES.set(names);
}

/// Sets address space aside for the last words. It takes no memory until then.
pub fn prepare() {
    if RESERVED.load(Ordering::Relaxed).is_null() {
        // SAFETY: the layout is not empty.
        RESERVED.store(unsafe { System.alloc(RESERVE) }, Ordering::Relaxed);
    }
}

/// Ends the job, for want of `len` bytes.
#[cold]
pub fn lack(len: usize) -> ! {
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
    abort_inside(MPI_ERR_NO_MEM, &words(installed().map(|runtime| runtime.me), len))
}

fn words(rank: Option<u32>, len: usize) -> String {
    let mut text = "MPI_ERR_NO_MEM: ".to_owned();
    let names = NAMES.get().copied();
    // A text that grows has room.
    let _ = match rank {
        Some(rank) => tern_memory::write(&mut text, format_args!("rank {rank}"), len, "the job", names),
        None => tern_memory::write(&mut text, format_args!("this process"), len, "the job", names),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_say_who_and_what_to_try() {
        let text = words(Some(3), 4096);
        assert!(text.starts_with("MPI_ERR_NO_MEM: rank 3 cannot have 4096 bytes"), "{text}");
        assert!(text.contains("What to try"));
        assert!(words(None, 1).contains("this process cannot"));
        prepare();
        assert!(!RESERVED.load(Ordering::Relaxed).is_null());
    }
}
