//! What a fork needs to know: promoted memory is made private before it. What is pinned stays shared in the parent, since
//! peers are at it at any time; the child makes it private for itself, and the parent waits for that.
//!
//! The handler asks the kernel what is mapped and trusts no table, so it is right whatever the
//! program has unmapped or moved, and whatever this library was doing when the fork came.

use super::huge::HugePages;
use super::pins::Pins;
use super::{pages, process};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::pipe::{PipeFlags, pipe_with};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, fence};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use tern_maps::{FileId, Maps, Vma};

/// Called before promoted memory at these addresses is made private, perhaps by another thread than the promoter's: no peer writes
/// to it from its return until what it has returned is called. `alone`: there is no other thread.
pub type Quiesce = fn(pages: &[Range<usize>], alone: bool) -> Box<dyn FnOnce()>;

/// The part of promotion that a fork handler may use. Lives as long as the process.
pub struct Ground {
    pub maps: Maps,
    pub huge: HugePages,
    /// The node's file, a descriptor of our own.
    pub file: OwnedFd,
    pub id: FileId,
    /// The offsets that hold promoted memory and nothing else.
    pub area: Range<u64>,
    pub quiesce: Option<Quiesce>,
    /// What stays shared across a fork.
    pub pins: Pins,
    single: process::Single,
    /// Held while memory is made private, and by who is not to be disturbed by that ([`Ground::keep_forks_out`]).
    gate: Mutex<()>,
    /// How often memory has begun to be made private.
    demotions: AtomicU32,
    over: AtomicBool,
    gone: AtomicBool,
}

/// The ground of the process's promoter. Release where it is stored, acquire in the handlers.
static GROUND: AtomicPtr<Ground> = AtomicPtr::new(std::ptr::null_mut());

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>, parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> libc::c_int;
}

impl Ground {
    pub fn new(
        maps: Maps, huge: HugePages, file: OwnedFd, id: FileId, area: Range<u64>, quiesce: Option<Quiesce>,
    ) -> Ground {
        Ground {
            maps,
            huge,
            file,
            id,
            area,
            quiesce,
            pins: Pins::default(),
            single: process::Single::find(),
            gate: Mutex::new(()),
            demotions: AtomicU32::new(0),
            over: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        }
    }

    /// Registers the handlers, if that was not done, and says that this is what they are about.
    /// `None` if they cannot be registered.
    pub fn install(self) -> Option<&'static Ground> {
        static REGISTER: Once = Once::new();
        static REGISTERED: AtomicBool = AtomicBool::new(false);
        REGISTER.call_once(|| {
            // SAFETY: functions that may be called at any fork. glibc forgets them when this object is
            // unloaded.
            let result = unsafe { pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
            REGISTERED.store(result == 0, Ordering::Relaxed);
        });
        if !REGISTERED.load(Ordering::Relaxed) {
            return None;
        }
        let ground: &'static Ground = Box::leak(Box::new(self));
        GROUND.store(std::ptr::from_ref(ground).cast_mut(), Ordering::Release);
        Some(ground)
    }

    /// Nothing can be promoted any more: memory was frozen, the kernel has stopped to answer, or this
    /// is a child.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// This is a child, which has nothing promoted and knows nothing of its own memory.
    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// What is promoted now, in order of address. `Err`: the kernel does not say.
    pub fn promoted(&self) -> rustix::io::Result<Vec<Vma>> {
        pages::promoted(&self.maps, self.id, &self.area)
    }

    /// Promotes nothing any more; what is promoted stays so.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// No memory is made private while the result lives. `None`: there is no other thread that could fork.
    pub fn keep_forks_out(&self) -> Option<MutexGuard<'_, ()>> {
        if self.single.is_set() { None } else { self.close() }
    }

    /// Changes when memory begins to be made private.
    pub fn demotions(&self) -> u32 {
        // A full fence: pairs with the one in `begin_demotion`. What this process has stored to memory before, while it had not begun,
        // is in the pages that peers see.
        fence(Ordering::SeqCst);
        self.demotions.load(Ordering::Relaxed)
    }

    /// Makes all promoted memory private, with the same contents.
    pub fn demote(&self) {
        let Some(_gate) = self.close() else { return };
        let alone = self.begin_demotion();
        self.replace(&self.promoted_now(), alone);
    }

    /// The same of some pages, but for what is pinned. False when there was nothing to do.
    pub fn demote_part(&self, pages: &Range<usize>) -> bool {
        let Some(_gate) = self.close() else { return false };
        let (mut promoted, mut at) = (Vec::new(), pages.start);
        while let Some(vma) = self.maps.at(at).filter(|_| at < pages.end) {
            let here = at..vma.end.min(pages.end);
            at = here.end;
            if vma.is_shared(self.id) && self.area.contains(&vma.offset) {
                promoted.push(vma.part(here));
            }
        }
        let (_, others) = self.divide(promoted.into_iter());
        if others.is_empty() {
            return false;
        }
        let alone = self.begin_demotion();
        self.replace(&others, alone);
        true
    }

    /// [`Ground::demote`] for a fork: but for what is pinned, which is returned.
    fn demote_for_fork(&self) -> Vec<Vma> {
        let Some(_gate) = self.close() else { return Vec::new() };
        let alone = self.begin_demotion();
        let (pinned, others) = self.divide(self.promoted_now().into_iter());
        self.replace(&others, alone);
        pinned
    }

    /// `None`: this is a child, which has nothing to make private, and where a thread that is not there may have held the gate.
    fn close(&self) -> Option<MutexGuard<'_, ()>> {
        // It protects no data of its own.
        (!self.is_gone()).then(|| self.gate.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// To be called before it is looked what is promoted and pinned. With several threads promotion is over, which is told first:
    /// who has looked whether it is, and finds that it was not, has done so before. True when there is no other thread.
    fn begin_demotion(&self) -> bool {
        let alone = process::has_one_thread();
        if !alone {
            self.end();
        }
        // Relaxed: changed under the gate alone.
        self.demotions.store(self.demotions.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        // A full fence: pairs with those in `demotions` and `pin`.
        fence(Ordering::SeqCst);
        alone
    }

    /// What of some mappings is pinned, and what not.
    fn divide(&self, all: impl Iterator<Item = Vma>) -> (Vec<Vma>, Vec<Vma>) {
        let (mut pinned, mut others) = (Vec::new(), Vec::new());
        for vma in all {
            for (range, is_pinned) in self.pins.divide(vma.start..vma.end) {
                let piece = vma.part(range);
                if is_pinned { pinned.push(piece) } else { others.push(piece) }
            }
        }
        (pinned, others)
    }

    /// What is promoted in this process.
    fn promoted_now(&self) -> Vec<Vma> {
        self.promoted().unwrap_or_else(|error| {
            eprintln!("tern: a child may share memory with its parent: cannot read /proc/self/maps: {error}");
            Vec::new()
        })
    }

    /// In a child: makes pinned memory private, of which the parent keeps the shared pages.
    fn part_from_parent(&self, pinned: &[Vma]) {
        for vma in pinned {
            // SAFETY: a promoted mapping, which the child has inherited; its only thread. The parent waits meanwhile;
            // what peers store to the pages now is as if it had come before the fork, or after it.
            unsafe { pages::thaw(vma, self.file.as_fd()) };
        }
    }

    /// Makes promoted mappings private, while no peer writes to them.
    fn replace(&self, promoted: &[Vma], alone: bool) {
        if promoted.is_empty() {
            return;
        }
        let pages: Vec<Range<usize>> = promoted.iter().map(|vma| vma.start..vma.end).collect();
        let go_on = self.quiesce.map(|quiesce| quiesce(&pages, alone));
        tern_counters::DEMOTED.add(promoted.len() as u64);
        for vma in promoted {
            // SAFETY: a promoted mapping, as the kernel says, which no other thread replaces meanwhile (`gate`); one thread for
            // the one, any number for the other; `quiesce` keeps peers away.
            let plain = unsafe {
                if alone {
                    pages::thaw(vma, self.file.as_fd())
                } else {
                    pages::freeze(vma, self.file.as_fd());
                    false
                }
            };
            if !plain {
                self.end();
            }
        }
        if let Some(go_on) = go_on {
            go_on();
        }
    }
}

fn ground() -> Option<&'static Ground> {
    // SAFETY: null, or a `Ground` that was leaked.
    unsafe { GROUND.load(Ordering::Acquire).as_ref() }
}

/// A fork that leaves something pinned behind.
struct Fork {
    pinned: Vec<Vma>,
    /// Closed by the child when it has its own copy, or by its end.
    done: Option<(OwnedFd, OwnedFd)>,
}

thread_local! {
    /// The fork that this thread is in.
    static FORK: RefCell<Option<Fork>> = const { RefCell::new(None) };
}

/// How long a parent waits for its child's copy: another child of the same moment may keep the pipe open.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

unsafe extern "C" fn before_fork() {
    let Some(ground) = ground() else { return };
    let pinned = ground.demote_for_fork();
    if !pinned.is_empty() {
        let fork = Fork { pinned, done: pipe_with(PipeFlags::CLOEXEC).ok() };
        // A thread that is ending forks no more.
        let _ = FORK.try_with(|this| this.replace(Some(fork)));
    }
}

unsafe extern "C" fn in_parent() {
    let fork = FORK.try_with(RefCell::take).ok().flatten();
    if let Some((reader, writer)) = fork.and_then(|fork| fork.done) {
        drop(writer);
        // Also when there is no child, because fork has failed.
        while poll(&mut [PollFd::new(&reader, PollFlags::IN)], Some(&PATIENCE)) == Err(rustix::io::Errno::INTR) {}
    }
}

unsafe extern "C" fn in_child() {
    if let Some(ground) = ground() {
        // Its view of /proc/self is the parent's.
        ground.gone.store(true, Ordering::Relaxed);
        ground.end();
        if let Some(Fork { pinned, done }) = FORK.try_with(RefCell::take).ok().flatten() {
            ground.part_from_parent(&pinned);
            drop(done);
        }
    }
}
