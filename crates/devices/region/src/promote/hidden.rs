//! Holds on memory that show neither as a descriptor nor as a mapping.
//!
//! An io_uring may be made without a mapping of its own and be registered with its task instead of having a descriptor
//! (IORING_SETUP_NO_MMAP, IORING_SETUP_REGISTERED_FD_ONLY, Linux 6.5). The descriptor of a ring or of a device may also be with another
//! process alone, or on its way in a socket. Memory that such a holder has registered goes on with the old pages when others come in their
//! place. But the kernel counts pinned pages for each process, and a task can ask whether it has registered a ring.

use super::refusal::Refusal;
use crate::host;
use crate::module;

/// Whether no page of this process is pinned for long but by its regions of the kernel module, and this thread has registered no io_uring.
pub fn check() -> Result<(), Refusal> {
    if has_registered_ring() {
        return Err(Refusal::Descriptor("a registered io_uring".to_owned()));
    }
    match host::text("/proc/self/status").and_then(|text| host::field(&text, "VmPin:")) {
        // What this process has declared to Tern's kernel module is no hold: such a region ends when other pages come in place of its own.
        Some(kib) if kib == module::pinned() >> 10 => Ok(()),
        Some(kib) => Err(Refusal::Descriptor(format!("who has pinned {kib} KiB of this process"))),
        None => Err(Refusal::Descriptor("/proc/self/status".to_owned())),
    }
}

/// From <linux/io_uring.h>: what a ring can do is asked for, and the ring is a registered one.
const PROBE: libc::c_uint = 8;
const USE_REGISTERED_RING: libc::c_uint = 1 << 31;
/// Rings that a task can register.
const RINGS: libc::c_int = 16;

/// Whether this task has registered a ring. Where the kernel does not know of the question, each ring has a mapping.
fn has_registered_ring() -> bool {
    for index in 0..RINGS {
        // The answer has four words, and no operations are asked for.
        let mut answer = [0u32; 4];
        let question = PROBE | USE_REGISTERED_RING;
        // SAFETY: writes what there is room for at the most.
        let result = unsafe { libc::syscall(libc::SYS_io_uring_register, index, question, answer.as_mut_ptr(), 0) };
        let error = std::io::Error::last_os_error().raw_os_error();
        match (result, error) {
            // None with this number.
            (-1, Some(libc::EBADF)) => {}
            // The task has never used a ring, or the kernel has none, or forbids them.
            (-1, Some(libc::EINVAL | libc::ENOSYS | libc::EPERM)) => return false,
            // Its answer, or what a restricted ring says.
            _ => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

    /// A ring without descriptor or mapping of its own (IORING_SETUP_NO_MMAP, IORING_SETUP_REGISTERED_FD_ONLY). Errors: of io_uring_setup.
    fn register_ring() -> std::io::Result<()> {
        let area = || {
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: fresh memory.
            unsafe { mmap_anonymous(std::ptr::null_mut(), 4096, rights, MapFlags::SHARED) }.map(|at| at.addr() as u64)
        };
        // struct io_uring_params: the flags, and the last words of the offsets of both queues.
        let mut parameters = [0u64; 15];
        parameters[1] = 1 << 14 | 1 << 15;
        (parameters[9], parameters[14]) = (area()?, area()?);
        // SAFETY: reads and writes the parameters; both areas stay.
        let result = unsafe { libc::syscall(libc::SYS_io_uring_setup, 8, parameters.as_mut_ptr()) };
        if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }

    #[test]
    fn a_registered_ring_is_found_in_its_thread() {
        let other = std::thread::spawn(|| {
            assert!(!has_registered_ring());
            match register_ring() {
                Ok(()) => {
                    assert!(has_registered_ring());
                    assert!(check().is_err_and(|why| why.to_string().contains("io_uring")));
                }
                Err(error) => eprintln!("SKIP a registered io_uring: {error}"),
            }
        });
        other.join().unwrap();
        assert!(!has_registered_ring());
    }
}
