//! Work queues of Intel DSA that the idxd driver gives to users.

#[cfg(not(target_arch = "x86_64"))]
use super::{Descriptor, Portal};
#[cfg(not(target_arch = "x86_64"))]
pub fn open() -> std::io::Result<Hardware> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_arch = "x86_64"))]
impl Portal for Hardware {
    unsafe fn submit(&self, _: &Descriptor) -> bool {
        false
    }

    fn landed(&self) {}

    fn longest(&self) -> usize {
        0
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86::open;

/// A work queue.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub struct Hardware {
    portal: *mut u8,
    longest: usize,
    /// Of a queue that is this process's alone, how many descriptors it takes; the engine loses those beyond. A shared queue
    /// refuses them.
    room: Option<usize>,
    /// Copies under way.
    flying: std::sync::atomic::AtomicUsize,
}

// SAFETY: the portal is a page that stays mapped; stores to it are whole descriptors from any thread.
unsafe impl Send for Hardware {}
// SAFETY: as above.
unsafe impl Sync for Hardware {}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Hardware;
    use crate::dma::{Descriptor, Portal};
    use rustix::fs::{self, Mode, OFlags};
    use rustix::mm::{self, MapFlags, ProtFlags};
    use std::arch::asm;
    use std::io;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PAGE: usize = 4096;
    /// Where the driver tells what a queue is like.
    const ABOUT: &str = "/sys/bus/dsa/devices";

    /// Whether the processor stores a descriptor by one instruction: for a queue of one process, for a shared one.
    #[allow(unused_unsafe)]
    fn instructions() -> (bool, bool) {
        // SAFETY: every processor of this architecture has the instruction; leaf 0 says whether leaf 7 is there.
        let leaf = unsafe { (std::arch::x86_64::__cpuid(0).eax >= 7).then(|| std::arch::x86_64::__cpuid_count(7, 0)) };
        leaf.map_or((false, false), |leaf| (leaf.ecx & 1 << 28 != 0, leaf.ecx & 1 << 29 != 0))
    }

    pub fn open() -> io::Result<Hardware> {
        let (alone, shared) = instructions();
        if !alone && !shared {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut last = io::ErrorKind::NotFound.into();
        let mut names: Vec<_> = std::fs::read_dir("/dev/dsa")?.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names.iter().filter_map(|name| name.to_str()).filter(|name| name.starts_with("wq")) {
            match open_queue(name, alone, shared) {
                Ok(queue) => return Ok(queue),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn open_queue(name: &str, alone: bool, shared: bool) -> io::Result<Hardware> {
        let about = |what: &str| {
            std::fs::read_to_string(Path::new(ABOUT).join(name).join(what)).map(|text| text.trim().to_owned())
        };
        let number =
            |what: &str| about(what)?.parse::<usize>().map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
        let is_shared = about("mode")? == "shared";
        if !(if is_shared { shared } else { alone }) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let longest = number("max_transfer_size")?;
        let room = if is_shared { None } else { Some(number("size")?) };
        let file = fs::open(Path::new("/dev/dsa").join(name), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice, which stays.
        let portal = unsafe { mm::mmap(std::ptr::null_mut(), PAGE, ProtFlags::WRITE, flags, &file, 0)? };
        Ok(Hardware { portal: portal.cast(), longest, room, flying: AtomicUsize::new(0) })
    }

    impl Portal for Hardware {
        unsafe fn submit(&self, descriptor: &Descriptor) -> bool {
            // Relaxed: a number of places, nothing else.
            let place = |flying: usize| (flying < self.room.unwrap_or(usize::MAX)).then_some(flying + 1);
            if self.flying.fetch_update(Ordering::Relaxed, Ordering::Relaxed, place).is_err() {
                return false;
            }
            if self.room.is_some() {
                // SAFETY: the portal of a queue of this process's, and a descriptor that the caller answers for.
                unsafe { store(self.portal, descriptor) };
                return true;
            }
            // SAFETY: the portal of a shared queue, and a descriptor that the caller answers for.
            let taken = unsafe { enqueue(self.portal, descriptor) };
            if !taken {
                self.landed();
            }
            taken
        }

        fn landed(&self) {
            // Relaxed: as above.
            self.flying.fetch_sub(1, Ordering::Relaxed);
        }

        fn longest(&self) -> usize {
            self.longest
        }
    }

    /// MOVDIR64B.
    ///
    /// # Safety
    /// `portal` can be written, and the processor has the instruction.
    unsafe fn store(portal: *mut u8, descriptor: &Descriptor) {
        // SAFETY: contract of this function. What the program has written must be there before the engine looks.
        unsafe {
            asm!("sfence", ".byte 0x66, 0x0f, 0x38, 0xf8, 0x02", in("rax") portal, in("rdx") descriptor, options(nostack));
        }
    }

    /// ENQCMD; false when the queue does not take it now.
    ///
    /// # Safety
    /// As for [`store`].
    unsafe fn enqueue(portal: *mut u8, descriptor: &Descriptor) -> bool {
        let full: u8;
        // SAFETY: as in `store`.
        unsafe {
            asm!("sfence", ".byte 0xf2, 0x0f, 0x38, 0xf8, 0x02", "setz {full}", full = out(reg_byte) full,
                in("rax") portal, in("rdx") descriptor, options(nostack));
        }
        full == 0
    }
}
