//! What a fork needs to know: promoted memory is made private before it.
//!
//! The handler asks the kernel what is mapped and trusts no table, so it is right whatever the
//! program has unmapped or moved, and whatever this library was doing when the fork came.

use super::maps::{FileId, Maps, Vma};
use super::{pages, process};
use rustix::fd::{AsFd, OwnedFd};
use std::ops::Range;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The part of promotion that a fork handler may use. Lives as long as the process.
pub struct Ground {
    pub maps: Maps,
    /// The node's file, a descriptor of our own.
    pub file: OwnedFd,
    pub id: FileId,
    /// The offsets that hold promoted memory and nothing else.
    pub area: Range<u64>,
    /// Called before promoted memory is made private.
    pub quiesce: Option<fn()>,
    over: AtomicBool,
    gone: AtomicBool,
}

/// The ground of the process's promoter. Release where it is stored, acquire in the handlers.
static GROUND: AtomicPtr<Ground> = AtomicPtr::new(std::ptr::null_mut());

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> libc::c_int;
}

impl Ground {
    pub fn new(
        maps: Maps,
        file: OwnedFd,
        id: FileId,
        area: Range<u64>,
        quiesce: Option<fn()>,
    ) -> Ground {
        Ground {
            maps,
            file,
            id,
            area,
            quiesce,
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
            let result = unsafe { pthread_atfork(Some(before_fork), None, Some(in_child)) };
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

    /// Makes all promoted memory private, with the same contents.
    pub fn demote(&self) {
        if self.is_gone() {
            return;
        }
        match self.promoted() {
            Ok(promoted) if promoted.is_empty() => {}
            Ok(promoted) => {
                if let Some(quiesce) = self.quiesce {
                    quiesce();
                }
                self.privatise(&promoted);
            }
            Err(error) => {
                eprintln!(
                    "tern: a child may share memory with its parent: cannot read /proc/self/maps: {error}"
                );
            }
        }
    }

    fn privatise(&self, promoted: &[Vma]) {
        let alone = process::has_one_thread();
        tern_counters::DEMOTED.add(promoted.len() as u64);
        for vma in promoted {
            // SAFETY: a promoted mapping, as the kernel says; one thread for the one, any number
            // for the other; `quiesce` has kept peers away.
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
    }
}

fn ground() -> Option<&'static Ground> {
    // SAFETY: null, or a `Ground` that was leaked.
    unsafe { GROUND.load(Ordering::Acquire).as_ref() }
}

unsafe extern "C" fn before_fork() {
    if let Some(ground) = ground() {
        ground.demote();
    }
}

unsafe extern "C" fn in_child() {
    if let Some(ground) = ground() {
        // Its view of /proc/self is the parent's.
        ground.gone.store(true, Ordering::Relaxed);
        ground.end();
    }
}
