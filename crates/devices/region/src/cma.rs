//! Cross memory attach: reading and writing another process's memory by system call
//! (process_vm_readv and process_vm_writev), without that process taking part.

use std::ffi::c_int;
use std::fmt;
use std::ptr;

/// Process number, as the calling process sees it.
pub type Pid = libc::pid_t;

/// The kernel moves at most this much in a call.
const MOST: usize = 0x7fff_f000;
/// The kernel takes at most this many runs in a call (UIO_MAXIOV).
const MOST_RUNS: usize = 1024;

/// Contiguous bytes of memory, in this process or another; laid out as the kernel's `iovec`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Address of the first byte, in the process that the run belongs to.
    pub at: *mut u8,
    /// Bytes.
    pub len: usize,
}

// SAFETY: an address that means something in some process; only unsafe functions use it.
unsafe impl Send for Run {}
// SAFETY: as above.
unsafe impl Sync for Run {}

impl Run {
    /// `len` bytes at `at`.
    #[inline]
    pub fn new(at: *const u8, len: usize) -> Run {
        Run { at: at.cast_mut(), len }
    }
}

/// Why a transfer stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// This kernel, container or user may not do it: EPERM, EACCES, ENOSYS.
    Refused,
    /// There is no such process: ESRCH.
    Gone,
    /// Some of the memory is not there, or not for reading or writing: EFAULT.
    BadAddress,
    /// The process is not the one that was meant (see [`probe`]).
    Stranger,
    /// Anything else, such as ENOMEM.
    Other,
}

/// A transfer that did not move all its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The kind of failure.
    pub why: Why,
    /// What the kernel has said; 0 for [`Why::Stranger`].
    pub errno: i32,
    /// Bytes that were moved before, from the start of the runs.
    pub moved: usize,
}

impl Failed {
    pub(crate) fn new(errno: i32, moved: usize) -> Failed {
        let why = match errno {
            libc::EPERM | libc::EACCES | libc::ENOSYS => Why::Refused,
            libc::ESRCH => Why::Gone,
            libc::EFAULT => Why::BadAddress,
            _ => Why::Other,
        };
        Failed { why, errno, moved }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.why {
            Why::Refused => "reading another process's memory is refused, as containers and ptrace rules do",
            Why::Gone => "no process has that number here: it has ended, or runs in another pid namespace",
            Why::BadAddress => "its memory is not there, or not for this access",
            Why::Stranger => {
                return f.write_str("the process of that number is another one (pid namespace)");
            }
            Why::Other => "the kernel cannot do it now",
        };
        write!(f, "{what}: {}", std::io::Error::from_raw_os_error(self.errno))
    }
}

impl std::error::Error for Failed {}

#[derive(Clone, Copy)]
enum Direction {
    Read,
    Write,
}

/// Copies from `remote`, memory of process `pid`, to `local`. Both lists are taken as one sequence of
/// bytes; the shorter one says how many are moved. Returns that number.
///
/// Errors: see [`Why`]. The bytes that [`Failed::moved`] counts have been moved; some beyond them may
/// have been, too.
///
/// # Safety
/// The local runs are this process's own to write; nobody refers to them meanwhile.
#[inline]
pub unsafe fn read(pid: Pid, local: &[Run], remote: &[Run]) -> Result<usize, Failed> {
    // SAFETY: contract of this function.
    unsafe { transfer(pid, local, remote, Direction::Read) }
}

/// Copies from `local` to `remote`, memory of process `pid`; otherwise as [`read`].
///
/// # Safety
/// The local runs can be read; the remote ones are for us to write, as that process has told.
#[inline]
pub unsafe fn write(pid: Pid, local: &[Run], remote: &[Run]) -> Result<usize, Failed> {
    // SAFETY: contract of this function.
    unsafe { transfer(pid, local, remote, Direction::Write) }
}

/// # Safety
/// As for [`read`] or [`write()`], by the direction.
unsafe fn transfer(pid: Pid, local: &[Run], remote: &[Run], direction: Direction) -> Result<usize, Failed> {
    if let ([local], [remote]) = (local, remote) {
        // SAFETY: contract of this function.
        return unsafe { dense(pid, *local, *remote, direction) };
    }
    let (mut local, mut remote) = (Batches::new(local), Batches::new(remote));
    let mut moved = 0;
    loop {
        let len = local.fill(MOST).min(remote.fill(MOST));
        if len == 0 {
            return Ok(moved);
        }
        // SAFETY: contract of this function; the batches are parts of the runs.
        let got = unsafe { call(pid, local.first(len), remote.first(len), direction) };
        let got = got.map_err(|errno| Failed::new(errno, moved))?;
        local.skip(got);
        remote.skip(got);
        moved += got;
    }
}

/// One run on each side.
///
/// # Safety
/// As for [`transfer`].
unsafe fn dense(pid: Pid, local: Run, remote: Run, direction: Direction) -> Result<usize, Failed> {
    let len = local.len.min(remote.len);
    let mut moved = 0;
    while moved < len {
        let rest = (len - moved).min(MOST);
        let part = |run: Run| [Run { at: run.at.wrapping_add(moved), len: rest }];
        // SAFETY: contract of this function.
        let got = unsafe { call(pid, &part(local), &part(remote), direction) };
        moved += got.map_err(|errno| Failed::new(errno, moved))?;
    }
    Ok(moved)
}

/// One system call; returns how many bytes it moved, at least one.
///
/// # Safety
/// As for [`transfer`].
unsafe fn call(pid: Pid, local: &[Run], remote: &[Run], direction: Direction) -> Result<usize, c_int> {
    let (local_runs, remote_runs) = (local.as_ptr().cast(), remote.as_ptr().cast());
    let (locals, remotes) = (local.len() as libc::c_ulong, remote.len() as libc::c_ulong);
    loop {
        // SAFETY: `Run` is laid out as `iovec`; local memory is valid (contract), remote memory the
        // kernel checks.
        let got = unsafe {
            match direction {
                Direction::Read => libc::process_vm_readv(pid, local_runs, locals, remote_runs, remotes, 0),
                Direction::Write => libc::process_vm_writev(pid, local_runs, locals, remote_runs, remotes, 0),
            }
        };
        if got > 0 {
            tern_atomics::copied_by_kernel(pid, got as usize);
            return Ok(got as usize);
        }
        // SAFETY: the calling thread's errno.
        match if got == 0 { libc::EFAULT } else { unsafe { *libc::__errno_location() } } {
            libc::EINTR => {}
            errno => return Err(errno),
        }
    }
}

/// Cuts a list of runs into what one call may have.
struct Batches<'a> {
    runs: &'a [Run],
    /// Bytes of the first run that are done.
    done: usize,
    batch: Vec<Run>,
}

impl<'a> Batches<'a> {
    fn new(runs: &'a [Run]) -> Batches<'a> {
        Batches { runs, done: 0, batch: Vec::with_capacity(runs.len().min(MOST_RUNS)) }
    }

    /// Takes the next runs up to `most` bytes; returns their length.
    fn fill(&mut self, most: usize) -> usize {
        self.batch.clear();
        let (mut len, mut done) = (0, self.done);
        for run in self.runs {
            let part = (run.len - done).min(most - len);
            if part > 0 {
                self.batch.push(Run { at: run.at.wrapping_add(done), len: part });
            }
            len += part;
            done = 0;
            if len == most || self.batch.len() == MOST_RUNS {
                break;
            }
        }
        len
    }

    /// The first `len` bytes of what was filled.
    fn first(&mut self, len: usize) -> &[Run] {
        let (mut count, mut rest) = (0, len);
        while rest > 0 {
            let run = &mut self.batch[count];
            run.len = run.len.min(rest);
            rest -= run.len;
            count += 1;
        }
        &self.batch[..count]
    }

    /// Goes on behind the next `len` bytes.
    fn skip(&mut self, len: usize) {
        self.done += len;
        while let Some(run) = self.runs.first().filter(|run| run.len <= self.done) {
            self.done -= run.len;
            self.runs = &self.runs[1..];
        }
    }
}

/// Memory by which a process is known to peers that try to reach it: see [`probe`]. It stays where
/// it is while they may.
#[repr(C)]
#[derive(Debug)]
pub struct Beacon {
    nonce: u64,
    /// Peers write the nonce here.
    echo: std::sync::atomic::AtomicU64,
}

impl Beacon {
    /// With a number that no other process has but by chance.
    pub fn new() -> Box<Beacon> {
        let mut nonce = [0u8; 8];
        // SAFETY: writes at most 8 bytes into the array.
        let got = unsafe { libc::getrandom(nonce.as_mut_ptr().cast(), 8, libc::GRND_NONBLOCK) };
        let own = (u64::from(std::process::id()) << 32) ^ (&raw const nonce as u64);
        let nonce = if got == 8 { u64::from_ne_bytes(nonce) } else { own };
        Box::new(Beacon { nonce: nonce.max(1), echo: 0.into() })
    }

    /// The number to tell peers.
    pub fn nonce(&self) -> u64 {
        self.nonce
    }

    /// The address to tell peers.
    pub fn address(&self) -> u64 {
        ptr::from_ref(self) as u64
    }
}

/// Proves by transfers that memory of process `pid` can be read and written, and that it is the
/// process whose [`Beacon`] lies at `address` and has `nonce`: in another pid namespace the number may
/// be somebody else's. A stranger is read, never written.
pub fn probe(pid: Pid, address: u64, nonce: u64) -> Result<(), Failed> {
    // SAFETY: `probe_by` gives words of its own and those of a beacon.
    probe_by(
        address,
        nonce,
        |own, theirs| unsafe { read(pid, own, theirs) },
        |own, theirs| unsafe { write(pid, own, theirs) },
    )
}

/// As [`probe`], by any means to read and write that process's memory: each is given a word of this process and one of a beacon.
pub fn probe_by(
    address: u64, nonce: u64, read: impl Fn(&[Run], &[Run]) -> Result<usize, Failed>,
    write: impl Fn(&[Run], &[Run]) -> Result<usize, Failed>,
) -> Result<(), Failed> {
    let stranger = Failed { why: Why::Stranger, errno: 0, moved: 0 };
    let at = address as *const u8;
    let word = |word: &mut u64| [Run::new(ptr::from_mut(word).cast(), 8)];
    let echo = [Run::new(at.wrapping_add(std::mem::offset_of!(Beacon, echo)), 8)];
    let mut seen = 0;
    match read(&word(&mut seen), &[Run::new(at, 8)]) {
        // What is not mapped there is not the beacon.
        Err(Failed { why: Why::BadAddress, .. }) => return Err(stranger),
        result => result?,
    };
    if seen != nonce {
        return Err(stranger);
    }
    // The second word of a beacon is for every peer to write.
    write(&word(&mut seen), &echo)?;
    let mut back = 0;
    read(&word(&mut back), &echo)?;
    if back == nonce { Ok(()) } else { Err(stranger) }
}

#[cfg(test)]
mod tests;
