//! Memory that the processes of a world share. Each maps it at an address of its own.

use super::network::Port;
use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};
use std::cell::RefCell;
use std::ptr::null_mut;
use tern_device::{AfterFork, Lease, Memory, SharedMemory};

thread_local! {
    /// What is allocated: address and bytes.
    static ALLOCATED: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

const PAGE: usize = 4096;

/// A world is over: what the dead had allocated is not needed any more.
pub fn clear() {
    // SAFETY: nobody is left who could use it.
    ALLOCATED.take().into_iter().for_each(|(start, len)| unsafe { munmap(start as *mut _, len) }.expect("mapped"));
}

fn has(at: usize, len: usize) -> bool {
    let is_in = |&(start, all): &(usize, usize)| start <= at && at + len <= start + all;
    ALLOCATED.with_borrow(|allocated| allocated.iter().any(is_in))
}

impl SharedMemory for Port {
    fn allocate(&self, len: usize, _: AfterFork) -> Option<*mut u8> {
        let len = len.max(1).next_multiple_of(PAGE);
        // SAFETY: the kernel chooses addresses that nothing uses.
        let at = unsafe { mmap_anonymous(null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED) };
        let at: *mut u8 = at.ok()?.cast();
        ALLOCATED.with_borrow_mut(|allocated| allocated.push((at as usize, len)));
        Some(at)
    }

    unsafe fn free(&self, memory: *mut u8) -> bool {
        let found = ALLOCATED.with_borrow_mut(|allocated| {
            let at = allocated.iter().position(|(start, _)| *start == memory as usize)?;
            Some(allocated.swap_remove(at))
        });
        // SAFETY: nobody uses it at this address any more (contract).
        found.is_some_and(|(start, len)| unsafe { munmap(start as *mut _, len) }.is_ok())
    }

    fn place(&self, memory: *const u8, len: usize) -> Option<u64> {
        has(memory as usize, len).then_some(memory as u64)
    }

    fn map(&self, memory: &Memory, _: Lease) -> Option<*mut u8> {
        let (at, len) = (memory.place as usize, memory.len as usize);
        if !has(at, len) {
            return None;
        }
        let start = at / PAGE * PAGE;
        let whole = (at + len).next_multiple_of(PAGE) - start;
        // SAFETY: of a shared mapping, of which nothing is moved, another one is made.
        let mapped = unsafe { mremap(start as *mut _, 0, whole, MremapFlags::MAYMOVE) };
        Some(mapped.ok()?.cast::<u8>().wrapping_add(at - start))
    }
}
