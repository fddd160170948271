//! What a fork needs to know of promotion ([`crate::fork`]), and the freezing of promoted memory where other threads may store to it.

use super::huge::HugePages;
use super::pins::Pins;
use super::{pages, process};
use crate::fork::{self, NodeFile, Promoted, Reserves};
use crate::host::Single;
use crate::quiet::Quiet;
use rustix::fd::RawFd;
use std::ops::Range;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering, fence};
use tern_node::maps::{Maps, Vma};

/// Called before promoted memory at these addresses is frozen, by any thread: no peer writes to it from its return until what it
/// has returned is called.
pub type Quiesce = fn(pages: &[Range<usize>]) -> Box<dyn FnOnce()>;

/// The part of promotion that a fork handler may use. Lives as long as the process.
pub struct Ground {
    pub maps: Maps,
    pub huge: HugePages,
    /// The node's file, a descriptor of our own.
    pub file: NodeFile,
    /// The offsets that hold promoted memory and nothing else.
    pub area: Range<u64>,
    pub quiesce: Option<Quiesce>,
    /// What is never frozen, since peers are at it at any time.
    pub pins: Pins,
    /// Nothing is frozen.
    keeps_all: AtomicBool,
    single: Single,
    /// A descriptor of ours that devices' would be taken for; -1: none.
    watch: AtomicI32,
    /// How often memory has begun to be frozen.
    demotions: AtomicU32,
    over: AtomicBool,
}

impl Ground {
    pub fn new(maps: Maps, huge: HugePages, file: NodeFile, area: Range<u64>, quiesce: Option<Quiesce>) -> Ground {
        Ground {
            maps,
            huge,
            file,
            area,
            quiesce,
            pins: Pins::default(),
            keeps_all: AtomicBool::new(false),
            single: Single::find(),
            watch: AtomicI32::new(-1),
            demotions: AtomicU32::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// From now on forks look after what is promoted. `None` if they cannot.
    pub fn install(self) -> Option<&'static Ground> {
        let _quiet = Quiet::new();
        if !fork::begin() {
            return None;
        }
        let ground: &'static Ground = Box::leak(Box::new(self));
        fork::lock().grounds.push(ground);
        Some(ground)
    }

    /// Nothing can be promoted any more: memory was frozen, the kernel has stopped to answer, or this
    /// is a child.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// What is promoted now, in order of address. `Err`: the kernel does not say.
    pub fn promoted(&self) -> rustix::io::Result<Vec<Vma>> {
        pages::promoted(&self.maps, self.file.id, &self.area)
    }

    /// Promotes nothing any more; what is promoted stays so.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Nothing is frozen from now on: peers may be at what is promoted by the kernel, whenever they like.
    pub fn keep_all(&self) {
        self.keeps_all.store(true, Ordering::Relaxed);
        // A full fence: pairs with the one in `freeze`.
        fence(Ordering::SeqCst);
    }

    /// A userfaultfd of ours, which is no device's.
    pub fn knows_watch(&self, watch: Option<RawFd>) {
        self.watch.store(watch.unwrap_or(-1), Ordering::Relaxed);
    }

    /// No memory is frozen while the result lives. `None`: there is no other thread that could fork.
    pub fn keep_forks_out(&self) -> Option<MutexGuard<'static, ()>> {
        if self.single.is_set() { None } else { Some(fork::keep_out()) }
    }

    /// Changes when memory begins to be frozen.
    pub fn demotions(&self) -> u32 {
        // A full fence: pairs with the one in `freeze`. What this process has stored to memory before, while it had not begun,
        // is in the pages that peers see.
        fence(Ordering::SeqCst);
        self.demotions.load(Ordering::Relaxed)
    }

    /// False, and nothing done, if the kernel refuses.
    fn freeze_one(&self, vma: &Vma, reserves: &mut Reserves) -> bool {
        let Some(file) = self.file.open() else { return false };
        // SAFETY: a promoted mapping, as the kernel says, which no other thread replaces (the lock); `quiesce` keeps peers away.
        let freeze = || unsafe { pages::freeze(vma, file) };
        let offsets = vma.offset..vma.offset + (vma.end - vma.start) as u64;
        if freeze() {
            reserves.end(self.file.id, offsets);
            return true;
        }
        // What was set aside for it may be what is too much. Where it is not, the child's copy needs it.
        if !process::is_within_limits() {
            return false;
        }
        reserves.end(self.file.id, offsets);
        freeze()
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
}

impl Promoted for Ground {
    fn file(&self) -> &NodeFile {
        &self.file
    }

    fn promoted_now(&self) -> rustix::io::Result<Vec<Vma>> {
        // What is open already the program may have closed; and it may have used all descriptors, or have no /proc.
        match Maps::open() {
            Ok(maps) => pages::promoted(&maps, self.file.id, &self.area),
            Err(_) if self.maps.is_open() => self.promoted(),
            Err(error) => Err(error),
        }
    }

    fn freeze(&self, promoted: Vec<Vma>, reserves: &mut Reserves) -> Vec<Vma> {
        if promoted.is_empty() {
            return promoted;
        }
        // Before it is looked what is pinned: who has pinned something has either done so before, or finds that promotion is over.
        let was_over = self.over.swap(true, Ordering::Relaxed);
        // Relaxed: changed under the lock alone.
        self.demotions.store(self.demotions.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        // A full fence: pairs with those in `demotions`, `keep_all` and `pin`.
        fence(Ordering::SeqCst);
        let watch = self.watch.load(Ordering::Relaxed);
        let keeps_all = self.keeps_all.load(Ordering::Relaxed)
            || process::check_holds((watch >= 0).then_some(watch)).is_err()
            || self.file.open().is_none();
        let (mut pinned, others) = if keeps_all { (promoted, Vec::new()) } else { self.divide(promoted.into_iter()) };
        if others.is_empty() {
            // Nothing has changed.
            self.over.store(was_over, Ordering::Relaxed);
            return pinned;
        }
        let pages: Vec<Range<usize>> = others.iter().map(|vma| vma.start..vma.end).collect();
        let go_on = self.quiesce.map(|quiesce| quiesce(&pages));
        for vma in others {
            if self.freeze_one(&vma, reserves) {
                tern_counters::DEMOTED.add(1);
            } else {
                pinned.push(vma);
            }
        }
        if let Some(go_on) = go_on {
            go_on();
        }
        pinned
    }

    fn leave(&self) {
        self.end();
    }
}
