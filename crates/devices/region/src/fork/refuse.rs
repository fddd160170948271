//! A fork that cannot have what it needs: it fails with ENOMEM, as the kernel's would.
//!
//! A handler of a fork has no way to say so. But the kernel counts the memory of each private mapping again for the child, and refuses
//! more in one piece than the machine has (vm.overcommit_memory = 0, the default). So such a mapping is there while the process forks.
//! Where the kernel does not count, the child ends before it runs a line of the program, with a message.

use super::pointer;
use rustix::mm::{self, MapFlags, ProtFlags};

/// In the way of a fork while it lives.
pub struct Obstacle {
    why: &'static str,
    /// Address and length.
    mapping: Option<(usize, usize)>,
}

impl Obstacle {
    pub fn new(why: &'static str) -> Obstacle {
        Obstacle { why, mapping: map() }
    }

    /// The kernel has forked all the same.
    pub fn end_child(&self) -> ! {
        end_child(self.why)
    }
}

impl Drop for Obstacle {
    fn drop(&mut self) {
        if let Some((at, len)) = self.mapping {
            // SAFETY: our own, and nobody uses it.
            let _ = unsafe { mm::munmap(pointer(at), len) };
        }
    }
}

/// Two mappings of more than half of the machine's memory each, side by side, of which the kernel makes one.
fn map() -> Option<(usize, usize)> {
    let page = rustix::param::page_size();
    let system = rustix::system::sysinfo();
    let memory =
        (system.totalram as u64).checked_add(system.totalswap as u64)?.checked_mul(u64::from(system.mem_unit))?;
    let half = usize::try_from(memory / 2).ok()?.checked_next_multiple_of(page)? + page;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: fresh memory, and then parts of that, which nobody else knows.
    unsafe {
        let at = mm::mmap_anonymous(std::ptr::null_mut(), 2 * half, ProtFlags::empty(), flags).ok()?.addr();
        for start in [at, at + half] {
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            if mm::mmap_anonymous(pointer(start), half, rights, MapFlags::PRIVATE | MapFlags::FIXED).is_err() {
                let _ = mm::munmap(pointer(at), 2 * half);
                return None;
            }
        }
        Some((at, 2 * half))
    }
}

/// Ends a child that would share memory with its parent. Allocates nothing.
pub fn end_child(why: &str) -> ! {
    for text in [
        "tern: the child of a fork cannot have its own copy of memory that this process shares with other ranks: ",
        why,
        "; it \
         ends. TERN_PROMOTE=off avoids this for memory of malloc's\n",
    ] {
        let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
    }
    // SAFETY: ends this process.
    unsafe { libc::_exit(127) }
}
