//! The kernel module `/dev/tern`: memory is pinned when it is declared, and copied by its cookie; peers reach what was declared and
//! nothing else. `docs/kernel-module.md` describes the module.

use crate::cma::{Failed, Run};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::mm::{self, MapFlags, ProtFlags};
use std::ffi::{c_int, c_ulong};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The device.
const DEVICE: &str = "/dev/tern";
/// The version of the interface, `TERN_VERSION` of `tern_ioctl.h`.
const VERSION: u32 = 1;
/// Words of generation.
const WORDS: usize = 4096;

/// Copies may come from a region.
pub const READ: u32 = 1;
/// Copies may go into a region.
pub const WRITE: u32 = 2;

#[repr(C)]
#[derive(Default)]
struct About {
    version: u32,
    features: u32,
}

#[repr(C)]
#[derive(Default)]
struct Create {
    segments: u64,
    count: u32,
    protection: u32,
    flags: u32,
    word: u32,
    generation: u32,
    reserved: u32,
    cookie: u64,
}

#[repr(C)]
#[derive(Default)]
struct Inline {
    segments: u64,
    count: u32,
    direction: u32,
    cookie: u64,
    offset: u64,
    len: u64,
    flags: u32,
    reserved: u32,
    status: u64,
    moved: u64,
}

#[repr(C)]
#[derive(Default)]
struct Between {
    from: u64,
    from_offset: u64,
    to: u64,
    to_offset: u64,
    len: u64,
    flags: u32,
    reserved: u32,
    status: u64,
    moved: u64,
}

#[repr(C)]
#[derive(Default)]
struct Attach {
    cookie: u64,
    offset: u64,
    len: u64,
    protection: u32,
    reserved: u32,
    address: u64,
}

/// Number of a call, as `_IOC` of the kernel's headers makes it. `way`: 1 for what the kernel reads, 2 for what it writes.
const fn number(way: c_ulong, call: c_ulong, len: usize) -> c_ulong {
    way << 30 | (len as c_ulong) << 16 | 0xe5 << 8 | call
}

const ABOUT: c_ulong = number(2, 0, size_of::<About>());
const CREATE: c_ulong = number(3, 1, size_of::<Create>());
const DESTROY: c_ulong = number(1, 2, 8);
const INLINE: c_ulong = number(3, 3, size_of::<Inline>());
const COPY: c_ulong = number(3, 4, size_of::<Between>());
const ATTACH: c_ulong = number(3, 5, size_of::<Attach>());

/// Pages of this process that are pinned by its regions, as far as it knows: a region that has ended by itself counts until it is destroyed.
static PINNED: AtomicU64 = AtomicU64::new(0);

/// Bytes of this process that its regions have pinned, as the kernel counts them: whole pages, once for each region.
pub fn pinned() -> u64 {
    PINNED.load(Ordering::Relaxed) * rustix::param::page_size() as u64
}

/// Pages that a region of these segments pins.
fn pages(segments: &[Run]) -> u64 {
    let page = rustix::param::page_size();
    let of = |run: &Run| (run.at.addr() + run.len - 1) / page - run.at.addr() / page + 1;
    segments.iter().filter(|run| run.len > 0).map(|run| of(run) as u64).sum()
}

/// Who makes a copy that nobody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// A thread of the kernel.
    Thread = 1,
    /// A DMA engine, or where none can, a thread.
    Engine = 2,
}

/// Values of a status word: the copy is under way, and it is done. An error is a negative number of the kernel's.
pub const RUNNING: u32 = 1;
/// See [`RUNNING`].
pub const DONE: u32 = 0;

/// Memory that this process has declared to the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// What peers name it by.
    pub cookie: u64,
    /// Number of the word that says whether the memory is still the same.
    pub word: u32,
    /// The value of that word while it is.
    pub generation: u32,
    /// Pages that it pins.
    pub pages: u64,
}

/// An open of the device.
#[derive(Debug)]
pub struct Module {
    device: OwnedFd,
    words: *const AtomicU32,
    /// Pages that its regions pin: a part of [`PINNED`].
    pinned: AtomicU64,
    /// The device is of no use to a child.
    process: u32,
}

// SAFETY: the words are shared memory that stays mapped, read as atomics; the calls may come from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// Whether this process may open the device, as far as its file tells.
pub fn is_there() -> bool {
    use rustix::fs::{Access, access};
    access(DEVICE, Access::READ_OK | Access::WRITE_OK).is_ok()
}

impl Module {
    /// Opens `/dev/tern`.
    ///
    /// Errors: NotFound without the module; Unsupported when its interface is of another version; what the kernel says
    /// otherwise, such as PermissionDenied.
    pub fn open() -> io::Result<Module> {
        use rustix::fs::{Mode, OFlags};
        let device = rustix::fs::open(DEVICE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let mut about = About::default();
        call(&device, ABOUT, &mut about).map_err(io::Error::from_raw_os_error)?;
        if about.version != VERSION {
            let text = format!("the module has version {} of the interface, this library {VERSION}", about.version);
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        // SAFETY: a new mapping at an address of the kernel's choice.
        let words =
            unsafe { mm::mmap(ptr::null_mut(), 4 * WORDS, ProtFlags::READ, MapFlags::SHARED, &device, 0)? }.cast();
        Ok(Module { device, words, pinned: AtomicU64::new(0), process: std::process::id() })
    }

    /// Declares memory, which is pinned until [`Module::destroy`], or until some of it is unmapped. `protection`: [`READ`],
    /// [`WRITE`] or both.
    ///
    /// Errors: the kernel's numbers, ENOMEM when RLIMIT_MEMLOCK does not allow so much, EFAULT for memory that is not there or
    /// not for this access.
    pub fn create(&self, segments: &[Run], protection: u32) -> Result<Declared, c_int> {
        let mut arg = Create {
            segments: segments.as_ptr() as u64,
            count: segments.len() as u32,
            protection,
            ..Create::default()
        };
        call(&self.device, CREATE, &mut arg)?;
        let pages = pages(segments);
        self.count_pages(|pinned| pinned.fetch_add(pages, Ordering::Relaxed));
        Ok(Declared { cookie: arg.cookie, word: arg.word, generation: arg.generation, pages })
    }

    /// Whether declared memory is still what was declared: false after some of it was unmapped, moved, or replaced. A load.
    #[inline]
    pub fn is_current(&self, declared: &Declared) -> bool {
        // SAFETY: mapped while self lives; the module gives numbers below WORDS.
        let word = unsafe { &*self.words.add(declared.word as usize % WORDS) };
        // Relaxed: the kernel changes it before the call that unmaps returns, and that is this process's own.
        word.load(Ordering::Relaxed) == declared.generation
    }

    /// Ends what [`Module::create`] began, after copies under way have stopped. What has ended by itself is no error.
    pub fn destroy(&self, declared: Declared) {
        let _ = call(&self.device, DESTROY, &mut { declared.cookie });
        self.count_pages(|pinned| pinned.fetch_sub(declared.pages, Ordering::Relaxed));
    }

    fn count_pages(&self, count: impl Fn(&AtomicU64) -> u64) {
        [&self.pinned, &PINNED].iter().for_each(|pinned| _ = count(pinned));
    }

    /// Maps whole pages of a region, from byte `offset` on, for reading, and for writing too where that is asked for. [`mm::munmap`] ends it.
    ///
    /// Errors: the kernel's numbers, EINVAL where the range does not begin and end with pages that are wholly in the region.
    pub fn attach(&self, cookie: u64, offset: u64, len: u64, writes: bool) -> Result<*mut u8, c_int> {
        let protection = if writes { READ | WRITE } else { READ };
        let mut arg = Attach { cookie, offset, len, protection, ..Attach::default() };
        call(&self.device, ATTACH, &mut arg)?;
        Ok(std::ptr::with_exposed_provenance_mut(arg.address as usize))
    }

    /// Copies from byte `offset` of a region on to `local`, which it fills. Returns how many bytes that were.
    ///
    /// Errors: [`Failed::errno`] is ENOENT when there is no such region, EACCES by its protection, ERANGE by its length.
    ///
    /// # Safety
    /// The local runs are this process's own to write; nobody refers to them meanwhile.
    pub unsafe fn read(&self, cookie: u64, offset: u64, local: &[Run]) -> Result<usize, Failed> {
        self.inline(cookie, offset, local, READ)
    }

    /// Copies `local` into a region; otherwise as [`Module::read`].
    ///
    /// # Safety
    /// The local runs can be read.
    pub unsafe fn write(&self, cookie: u64, offset: u64, local: &[Run]) -> Result<usize, Failed> {
        self.inline(cookie, offset, local, WRITE)
    }

    fn inline(&self, cookie: u64, offset: u64, local: &[Run], direction: u32) -> Result<usize, Failed> {
        let len = local.iter().map(|run| run.len as u64).sum();
        let (segments, count) = (local.as_ptr() as u64, local.len() as u32);
        let mut arg = Inline { segments, count, direction, cookie, offset, len, ..Inline::default() };
        match call(&self.device, INLINE, &mut arg) {
            Ok(()) => Ok(arg.moved as usize),
            Err(errno) => Err(Failed::new(errno, arg.moved as usize)),
        }
    }

    /// Starts a copy between all of `local` and a region from byte `offset` on, into the region where `writes` says so, and returns. The end is
    /// told in `status`: [`RUNNING`], then [`DONE`] or a negative number. Who has read that with acquire sees the bytes.
    ///
    /// Errors: as for [`Module::read`]; EAGAIN when too many are under way.
    ///
    /// # Safety
    /// The local runs stay, and are left alone, until the end is told, or the region of the other process is gone and the word says so. `status`
    /// stays until then.
    pub unsafe fn start(
        &self, (cookie, offset): (u64, u64), local: &[Run], writes: bool, beside: Beside, status: *const AtomicU32,
    ) -> Result<(), c_int> {
        let len = local.iter().map(|run| run.len as u64).sum();
        let (segments, count) = (local.as_ptr() as u64, local.len() as u32);
        let direction = if writes { WRITE } else { READ };
        let (flags, status) = (beside as u32, status as u64);
        let mut arg = Inline { segments, count, direction, cookie, offset, len, flags, status, ..Inline::default() };
        call(&self.device, INLINE, &mut arg)
    }

    /// Copies `len` bytes between two regions, given as cookie and offset, which may be of other processes both. Errors as for
    /// [`Module::read`].
    pub fn copy(&self, from: (u64, u64), to: (u64, u64), len: u64) -> Result<usize, Failed> {
        let mut arg =
            Between { from: from.0, from_offset: from.1, to: to.0, to_offset: to.1, len, ..Between::default() };
        match call(&self.device, COPY, &mut arg) {
            Ok(()) => Ok(arg.moved as usize),
            Err(errno) => Err(Failed::new(errno, arg.moved as usize)),
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // Its regions end with it.
        PINNED.fetch_sub(*self.pinned.get_mut(), Ordering::Relaxed);
        // A child has no part in the mapping.
        if std::process::id() == self.process {
            // SAFETY: our own mapping, which nothing refers to any more.
            let _ = unsafe { mm::munmap(self.words.cast_mut().cast(), 4 * WORDS) };
        }
    }
}

fn call<T>(device: &OwnedFd, number: c_ulong, arg: &mut T) -> Result<(), c_int> {
    // SAFETY: `number` has the length of T in it, which is all that the kernel reads and writes there.
    match unsafe { libc::ioctl(device.as_raw_fd(), number, ptr::from_mut(arg)) } {
        // SAFETY: the calling thread's errno.
        -1 => Err(unsafe { *libc::__errno_location() }),
        _ => Ok(()),
    }
}
