//! Registered memory: keys, checks, and copies that cannot crash.
//!
//! Memory that is registered may be unmapped all the same: that is the program's error, or a race at its end, and
//! must not take the process down from inside a thread of ours. So nothing here touches such memory by a
//! processor's load or store, but for atomics: the kernel copies, and says EFAULT.

use crate::{Access, Segment};
use libc::{c_void, iovec};
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use tern_threads::{Mutex, RwLock, RwLockReadGuard};

/// Segments of one request at most.
pub const SEGMENTS: usize = 32;

/// In place of a protection domain: all of the process. XRC targets have none of their own.
pub const ANY_DOMAIN: u32 = 0;

/// What a request needs of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    LocalRead,
    LocalWrite,
    RemoteRead,
    RemoteWrite,
    RemoteAtomic,
}

#[derive(Clone, Copy)]
struct Region {
    address: u64,
    len: u64,
    access: Access,
    domain: u32,
}

impl Region {
    fn allows(&self, domain: u32, address: u64, len: u64, need: Need) -> bool {
        let access = match need {
            Need::LocalRead => true,
            Need::LocalWrite => self.access.local_write,
            Need::RemoteRead => self.access.remote_read,
            Need::RemoteWrite => self.access.remote_write,
            Need::RemoteAtomic => self.access.remote_atomic,
        };
        let inside = address >= self.address && len <= self.len && address - self.address <= self.len - len;
        access && (self.domain == domain || domain == ANY_DOMAIN) && inside
    }
}

/// A key is the index of a slot, and 8 bits that change whenever the slot is given to somebody else.
#[derive(Default)]
struct Slots {
    slots: Vec<(u8, Option<Region>)>,
    free: Vec<u32>,
}

/// All regions of the process.
#[derive(Default)]
pub struct Regions(RwLock<Slots>);

/// While it lives no region goes away.
pub struct Held<'a>(RwLockReadGuard<'a, Slots>);

impl Regions {
    pub fn add(&self, address: u64, len: u64, access: Access, domain: u32) -> u32 {
        let mut slots = self.0.write();
        let index = slots.free.pop().unwrap_or_else(|| {
            slots.slots.push((0, None));
            slots.slots.len() as u32 - 1
        });
        let slot = &mut slots.slots[index as usize];
        // Never 0, so that no key is 0.
        slot.0 = slot.0.wrapping_add(1).max(1);
        slot.1 = Some(Region { address, len, access, domain });
        index << 8 | u32::from(slot.0)
    }

    /// When it returns, nobody uses the region any more.
    pub fn remove(&self, key: u32) {
        let mut slots = self.0.write();
        slots.slots[(key >> 8) as usize].1 = None;
        slots.free.push(key >> 8);
    }

    /// May be called by who holds already.
    pub fn hold(&self) -> Held<'_> {
        Held(self.0.read_recursive())
    }
}

/// The access is not allowed, or nothing is mapped there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

impl Held<'_> {
    pub fn check(&self, key: u32, domain: u32, address: u64, len: u64, need: Need) -> Result<(), Fault> {
        match self.0.slots.get((key >> 8) as usize) {
            Some((generation, Some(region)))
                if u32::from(*generation) == key & 0xff && region.allows(domain, address, len, need) =>
            {
                Ok(())
            }
            _ => Err(Fault),
        }
    }

    /// The `len` bytes from byte `offset` of the list on.
    pub fn runs(
        &self, segments: &[Segment], domain: u32, need: Need, mut offset: u64, mut len: u64,
    ) -> Result<Runs, Fault> {
        let mut runs = Runs::new();
        for segment in segments {
            if len == 0 {
                break;
            }
            let size = u64::from(segment.len);
            if offset >= size {
                offset -= size;
                continue;
            }
            let take = len.min(size - offset);
            self.check(segment.key, domain, segment.address + offset, take, need)?;
            runs.push(segment.address + offset, take as usize);
            len -= take;
            offset = 0;
        }
        if len == 0 { Ok(runs) } else { Err(Fault) }
    }
}

/// Memory as the kernel takes it.
pub struct Runs {
    list: [iovec; SEGMENTS + 2],
    count: usize,
}

impl Runs {
    pub fn new() -> Runs {
        let none = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Runs { list: [none; SEGMENTS + 2], count: 0 }
    }

    /// There is room for a header, [`SEGMENTS`] segments and one more.
    pub fn push(&mut self, address: u64, len: usize) {
        self.list[self.count] = iovec { iov_base: address as *mut c_void, iov_len: len };
        self.count += 1;
    }

    pub fn extend(&mut self, other: &Runs) {
        for run in other.as_slice() {
            self.push(run.iov_base as u64, run.iov_len);
        }
    }

    pub fn as_slice(&self) -> &[iovec] {
        &self.list[..self.count]
    }

    pub fn len(&self) -> usize {
        self.as_slice().iter().map(|run| run.iov_len).sum()
    }
}

/// The kernel does not let this process copy within itself by process_vm_writev: a filter of system calls.
static NO_VM_COPY: AtomicBool = AtomicBool::new(false);

/// Writes bytes of ours to memory of the program.
pub fn store(bytes: &[u8], to: &Runs) -> Result<(), Fault> {
    debug_assert_eq!(bytes.len(), to.len());
    if bytes.is_empty() {
        return Ok(());
    }
    if !NO_VM_COPY.load(Ordering::Relaxed) {
        let local = iovec { iov_base: bytes.as_ptr() as *mut c_void, iov_len: bytes.len() };
        let runs = to.as_slice();
        // SAFETY: the kernel reads `bytes`, which are ours, and checks the program's addresses itself.
        let wrote =
            unsafe { libc::process_vm_writev(super::fork::process(), &local, 1, runs.as_ptr(), runs.len() as u64, 0) };
        if wrote == bytes.len() as isize {
            return Ok(());
        }
        let refused = [libc::EPERM, libc::ENOSYS, libc::EACCES];
        if wrote >= 0 || !refused.contains(&errno()) {
            return Err(Fault);
        }
        NO_VM_COPY.store(true, Ordering::Relaxed);
    }
    store_by_pipe(bytes, to)
}

/// The same by two copies through a pipe, which no filter forbids.
fn store_by_pipe(bytes: &[u8], to: &Runs) -> Result<(), Fault> {
    // Its ends, and whose they are: a child must not use its parent's.
    static PIPE: Mutex<Option<(u32, OwnedFd, OwnedFd)>> = Mutex::new(None);
    let new = || {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        Some((super::fork::generation(), reader, writer))
    };
    let mut ends = PIPE.lock();
    if ends.as_ref().is_none_or(|(owner, ..)| *owner != super::fork::generation()) {
        *ends = new();
    }
    let (_, reader, writer) = ends.as_ref().ok_or(Fault)?;
    let mut done = 0;
    for run in to.as_slice() {
        let mut at = 0;
        while at < run.iov_len {
            let part = (run.iov_len - at).min(4096);
            let copied = rustix::io::write(writer, &bytes[done..done + part]) == Ok(part)
                // SAFETY: the kernel checks the program's address itself.
                && unsafe {
                    libc::read(reader.as_raw_fd(), run.iov_base.byte_add(at), part)
                } == part as isize;
            if !copied {
                // What is left in it must not come out next time.
                *ends = new();
                return Err(Fault);
            }
            at += part;
            done += part;
        }
    }
    Ok(())
}

/// Runs `change` on 8 aligned bytes of the program, which are mapped and may be written to a moment before. Only
/// a program that unmaps them in just this moment, while a peer has its atomic under way, is still hurt.
pub fn atomic(address: u64, change: impl FnOnce(&AtomicU64) -> u64) -> Result<u64, Fault> {
    if address == 0 || !address.is_multiple_of(8) || !writable(address) {
        return Err(Fault);
    }
    // SAFETY: aligned and mapped; the program has registered it for atomics, and so uses it atomically or not at all.
    Ok(change(unsafe { AtomicU64::from_ptr(address as *mut u64) }))
}

/// Whether the word with that byte is mapped for writing. The kernel is asked for an atomic "or" with nothing, which
/// is a store for it and none for others; the only such question that every kernel answers.
pub fn writable(address: u64) -> bool {
    static WORD: AtomicU32 = AtomicU32::new(0);
    let or_nothing = libc::FUTEX_OP(libc::FUTEX_OP_OR, 0, libc::FUTEX_OP_CMP_EQ, 0);
    // SAFETY: the kernel checks the address; nobody waits for these words, and none is changed.
    let done = unsafe {
        libc::syscall(
            libc::SYS_futex,
            WORD.as_ptr(),
            libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG,
            0,
            0,
            (address & !3) as *mut u32,
            or_nothing,
        )
    };
    done >= 0 || errno() == libc::ENOSYS && mapped(address, 1)
}

/// Whether something is mapped at all of it.
pub fn mapped(address: u64, len: u64) -> bool {
    const PAGES: usize = 4096;
    let page = rustix::param::page_size() as u64;
    let Some(end) = address.checked_add(len) else {
        return false;
    };
    let mut flags = [0u8; PAGES];
    let mut at = address & !(page - 1);
    while at < end {
        let part = (end - at).min(PAGES as u64 * page);
        // SAFETY: it writes a byte for each of at most PAGES pages.
        let done = unsafe { libc::mincore(at as *mut c_void, part as usize, flags.as_mut_ptr()) };
        if done != 0 && errno() != libc::EAGAIN {
            return false;
        }
        at += PAGES as u64 * page;
    }
    true
}

pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cfg(test)]
mod tests;
