//! The two measuring processes: their start and end, and what both need.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};
use rustix::thread::CpuSet;
use tern_copy::{Source, Target};
use tern_region::Run;
use tern_region::module::{Declared, Module, READ};

use super::arena::Arena;
use super::{LARGEST, MOVERS, SIZES};
use tern_policy::costs::{Mover, Warmth};

/// How often each experiment is made; the first two are not counted.
const WARM_TIMES: usize = 10;
const COLD_TIMES: usize = 6;
/// The largest size that is measured cold: beyond it, all of it passes through memory anyway.
const LARGEST_COLD: usize = 1 << 20;
/// Time after which what is measured last is given up; it takes some 15 ms.
pub(super) const EXTRA: Duration = Duration::from_millis(80);
/// A part of a message that both copy.
const CHUNK: usize = 16 << 10;

/// A process that ends by itself soon after its time.
pub(super) struct Child(Pid);

/// Starts one of the processes on a core.
pub(super) fn start(arena: &Arena, core: usize, budget: Duration, role: fn(&mut Process<'_>)) -> Result<Child, String> {
    let parent = rustix::process::getpid();
    // SAFETY: the child calls nothing but system calls and the code below, which takes no lock;
    // it may allocate, which glibc allows after a fork.
    match unsafe { libc::fork() } {
        -1 => Err(format!("fork: {}", std::io::Error::last_os_error())),
        0 => {
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            let orphan = rustix::process::getppid() != Some(parent);
            let code = match !orphan && pin(core) {
                true => {
                    let mut process = Process::new(arena, budget);
                    role(&mut process);
                    0
                }
                false => 1,
            };
            // SAFETY: ends this process without the parent's exit handlers.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(Child(Pid::from_raw(pid).expect("a child has a number"))),
    }
}

/// Waits for the end of a process. The error says how it ended.
pub(super) fn wait(child: Child) -> Result<(), String> {
    let ended = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child.0), WaitOptions::empty()));
    match ended {
        Ok(Some((_, status))) => match (status.exit_status(), status.terminating_signal()) {
            (Some(0), _) => Ok(()),
            (Some(LATE), _) => Err("the processes did not get their cores".into()),
            (_, Some(signal)) => Err(format!("a process was ended by signal {signal}")),
            _ => Err("a process may not choose its core".into()),
        },
        // Somebody else collects the children of this process.
        Ok(None) | Err(_) => Err("a process was lost".into()),
    }
}

/// Exit code of one that waited for the other in vain.
const LATE: i32 = 2;

/// Binds this process to a core.
pub(super) fn pin(core: usize) -> bool {
    let mut set = CpuSet::new();
    if core >= CpuSet::MAX_CPU {
        return false;
    }
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set).is_ok()
}

/// What each of the two has.
pub(super) struct Process<'a> {
    pub arena: &'a Arena,
    /// Memory of its own.
    pub private: *mut u8,
    /// The kernel module, if it is there.
    pub module: Option<Module>,
    pub begin: Instant,
    pub budget: Duration,
    /// When this process gives up, from the beginning.
    limit: Duration,
    /// Steps taken so far.
    pub step: u64,
}

/// An experiment: which mover, how warm, which size; numbers in the lists.
pub(super) struct Experiment {
    pub number: usize,
    pub mover: Mover,
    pub warmth: Warmth,
    pub size_number: usize,
    pub size: usize,
}

/// All experiments, what matters most first.
/// `module`: the kernel module can copy.
pub(super) fn experiments(module: bool) -> impl Iterator<Item = Experiment> {
    let sizes = SIZES.into_iter().enumerate();
    let sized = sizes.flat_map(|(size_number, size)| {
        let warm = Warmth::ALL
            .into_iter()
            .filter(move |warmth| *warmth == Warmth::Warm || (size <= LARGEST_COLD && CAN_FLUSH));
        warm.map(move |warmth| (size_number, size, warmth))
    });
    sized.flat_map(move |(size_number, size, warmth)| {
        let movers = MOVERS.into_iter().enumerate().filter(move |(_, mover)| module || *mover != Mover::Module);
        movers.map(move |(number, mover)| Experiment { number, mover, warmth, size_number, size })
    })
}

/// [`super::arena::Words::vectors`], when it is so.
pub(super) const VECTORS: u64 = 2;

/// Who copies in turn, the C library or vectors, to tell who does it best.
pub(super) const TURNS: [bool; 4] = [false, true, false, true];
/// Experiments of each turn.
pub(super) const COPIES: usize = 2;

/// These experiments.
pub(super) fn copies() -> impl Iterator<Item = Experiment> {
    let both: [_; COPIES] = [(Mover::Pipe, 16 << 10), (Mover::MappedBoth, 64 << 10)];
    let warmth = Warmth::Warm;
    both.into_iter().map(move |(mover, size)| Experiment { number: 0, mover, warmth, size_number: 0, size })
}

impl<'a> Process<'a> {
    fn new(arena: &'a Arena, budget: Duration) -> Process<'a> {
        let layout = std::alloc::Layout::from_size_align(LARGEST, 4096).expect("a sound layout");
        // SAFETY: the layout is not empty.
        let private = unsafe { std::alloc::alloc(layout) };
        if private.is_null() {
            std::process::abort();
        }
        // SAFETY: all of what was allocated; its pages are there from here on.
        unsafe { private.write_bytes(1, LARGEST) };
        arena.touch();
        let module = Module::open().ok();
        Process { arena, private, module, begin: Instant::now(), budget, limit: budget * 3, step: 0 }
    }

    /// Declares the private memory to the kernel module, for as long as this process lives. `None`: the module is not there, or has refused it.
    pub fn declare(&self) -> Option<Declared> {
        self.module.as_ref()?.create(&[Run::new(self.private, LARGEST)], READ).ok()
    }

    /// Whether the kernel module copies the sender's private memory for the receiver, as both have said before they last came together.
    pub fn has_module(&self) -> bool {
        self.arena.words().module.iter().all(|word| word.load(Relaxed) != 0)
    }

    /// Waits until the condition holds; ends this process when the other seems to be gone.
    pub fn until(&self, condition: impl Fn() -> bool) {
        self.until_every(4096, condition);
    }

    /// The same for a condition that takes long to look at: looks at the clock every so many times.
    pub fn until_every(&self, often: u32, condition: impl Fn() -> bool) {
        let mut looks = 0u32;
        while !condition() {
            std::hint::spin_loop();
            looks += 1;
            if looks.is_multiple_of(often) && self.begin.elapsed() > self.limit {
                // SAFETY: ends this process without the parent's exit handlers.
                unsafe { libc::_exit(LATE) };
            }
        }
    }

    /// What follows must not take longer than this, or both give up with what they have.
    pub fn allow(&mut self, time: Duration) {
        self.limit = self.begin.elapsed() + time;
    }

    /// Both come here, and go on together; `own` is 0 for the sender, 1 for the receiver.
    pub fn together(&mut self, own: usize) {
        self.step += 1;
        let words = self.arena.words();
        // Release: pairs with the acquire of the other's look, for what was prepared before.
        words.steps[own].0.store(self.step, Release);
        let other = &words.steps[1 - own].0;
        self.until(|| other.load(Acquire) >= self.step);
    }

    /// A number for a part of this step's message, above those of all earlier steps.
    pub fn turn(&self, part: usize) -> u64 {
        self.step << 16 | part as u64
    }

    /// Notes which part of the time this process, which always had something to do, was off its core; `own` is 0 for the sender, 1 for
    /// the receiver.
    pub fn note_losses(&self, own: usize) {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let used = Duration::new(used.tv_sec as u64, used.tv_nsec as u32);
        let elapsed = self.begin.elapsed();
        let lost = elapsed.saturating_sub(used).as_secs_f64() / elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        self.arena.words().set_lost(own, lost);
    }

    /// The buffers that a mover works on: from the sender's, and to the receiver's.
    pub fn is_shared(mover: Mover) -> bool {
        matches!(mover, Mover::Mapped | Mover::MappedPush | Mover::MappedBoth)
    }

    /// Bytes of a chunk of a message of so many bytes: all of it where one process copies alone.
    pub fn chunk(mover: Mover, size: usize) -> usize {
        match mover {
            Mover::MappedBoth => CHUNK,
            Mover::CmaBoth => tern_policy::transfer::chunk(size as u64, true) as usize,
            _ => size,
        }
    }

    /// Copies chunks until none is left.
    pub fn share(&self, size: usize, chunk: usize, mut copy: impl FnMut(usize, usize) -> bool) {
        let claim = &self.arena.words().claim.0;
        loop {
            // Relaxed: it only deals out chunks.
            let at = claim.fetch_add(chunk as u64, Relaxed) as usize;
            if at >= size || !copy(at, chunk.min(size - at)) {
                return;
            }
        }
    }
}

pub(super) fn times(experiment: &Experiment) -> usize {
    match experiment.warmth {
        Warmth::Warm => WARM_TIMES,
        Warmth::Cold => COLD_TIMES,
    }
}

/// Nanoseconds of the quickest of a few runs.
pub(super) fn quickest(mut run: impl FnMut()) -> f64 {
    let times = (0..8).map(|_| {
        let begin = Instant::now();
        run();
        begin.elapsed().as_nanos() as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Nanoseconds to look at the clock.
pub(super) fn clock_cost() -> f64 {
    quickest(|| {})
}

pub(super) fn io(at: *mut u8, len: usize) -> libc::iovec {
    libc::iovec { iov_base: at.cast(), iov_len: len }
}

/// # Safety
/// Both runs are mapped and do not overlap.
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: by contract.
    unsafe { tern_copy::plain(to, from, len) };
}

/// Copies out of a block.
///
/// # Safety
/// As for [`copy`].
pub(super) unsafe fn take(from: *const u8, to: *mut u8, len: usize, streams: bool) {
    let target = if streams { Target::Later } else { Target::Soon };
    // SAFETY: by contract.
    unsafe { tern_copy::copy(to, from, len, Source::Any, target) };
}

/// Whether [`flush`] does anything.
const CAN_FLUSH: bool = cfg!(target_arch = "x86_64");

/// Takes a buffer out of all caches.
pub(super) fn flush(at: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..len).step_by(super::arena::LINE) {
        // SAFETY: an address inside the buffer; its content stays as it is.
        unsafe { std::arch::x86_64::_mm_clflush(at.add(offset)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (at, len);
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}
