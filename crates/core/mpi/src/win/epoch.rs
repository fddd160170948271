//! Which call is legal when: the epochs of one window at one process (MPI 5.0 section 12.5).
//!
//! A plain state machine: it is told what the program calls and says whether that is allowed. What
//! the call does is done elsewhere, after it was allowed.

use crate::win::ranks::Ranks;
use std::cell::Cell;
use std::fmt;

/// The access and exposure epochs that this process has open on a window.
#[derive(Debug)]
pub struct Epochs {
    /// This process's rank in the window.
    me: u32,
    /// Ranks below 64 that the window has, as bits.
    members: u64,
    access: Cell<Access>,
    /// Of [`Access::Started`] and [`Access::Locked`]; else empty.
    targets: Ranks,
    /// Between MPI_Win_post and MPI_Win_wait.
    exposed: Cell<bool>,
    /// What follows from these: members that may be accessed without anything being noted, and those that may be flushed,
    /// as bits. The calls that come most look at nothing else.
    open: Cell<u64>,
    passive: Cell<u64>,
}

/// The access epoch that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    None,
    /// A fence was called. It has begun an epoch if communication follows (section 12.5.1), so
    /// until then another kind of epoch may begin.
    Fence {
        used: bool,
    },
    /// Between MPI_Win_start with the targets and MPI_Win_complete.
    Started,
    /// At least one target is locked.
    Locked,
    LockedAll,
}

/// What kind of epoch an access belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Fence,
    /// Of MPI_Win_start.
    Started,
    /// Of a lock.
    Passive,
    None,
}

/// Why a call is refused: all of these are MPI_ERR_RMA_SYNC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Communication without an access epoch to that target.
    NoAccess { target: u32 },
    /// A flush or a request-based operation without a lock of that target.
    NotPassive { target: u32 },
    /// A flush of all targets, or MPI_Win_sync, without any lock.
    NothingLocked,
    /// The call begins an epoch, but this one is open.
    Open(Open),
    /// The target is locked already.
    LockedTwice { target: u32 },
    /// An unlock of a target that is not locked by MPI_Win_lock.
    NotLocked { target: u32 },
    /// MPI_Win_unlock_all without MPI_Win_lock_all.
    AllNotLocked,
    /// MPI_Win_complete without MPI_Win_start.
    NotStarted,
    /// MPI_Win_wait or MPI_Win_test without MPI_Win_post.
    NotExposed,
    /// MPI_MODE_NOPRECEDE after communication.
    Preceded,
}

/// An epoch that is in the way of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    Fence,
    Start,
    Lock,
    LockAll,
    Post,
}

type Verdict = Result<(), Violation>;

impl Epochs {
    /// Of process `me` in a window of `size` processes.
    pub fn new(me: u32, size: u32) -> Epochs {
        Epochs {
            me,
            members: if size < 64 { (1 << size) - 1 } else { u64::MAX },
            access: Cell::new(Access::None),
            targets: Ranks::default(),
            exposed: Cell::new(false),
            open: Cell::new(0),
            passive: Cell::new(0),
        }
    }

    /// The access epoch is `access` now; its targets have been set.
    #[inline]
    fn begin(&self, access: Access) {
        self.access.set(access);
        let (open, passive) = match access {
            Access::None | Access::Fence { used: false } => (0, 0),
            Access::Fence { used: true } => (self.members, 0),
            Access::Started => (self.targets.first(), 0),
            Access::Locked => (self.targets.first(), self.targets.first()),
            Access::LockedAll => (self.members, self.members),
        };
        self.open.set(open);
        self.passive.set(passive);
    }

    /// True when rank `target` is a member that may be accessed, of which nothing has to be noted. Otherwise
    /// [`Epochs::access`] knows.
    #[inline(always)]
    pub fn is_open(&self, target: i32) -> bool {
        (target as u32) < 64 && self.open.get() >> target & 1 == 1
    }

    /// True when rank `target` is a member that may be flushed. Otherwise [`Epochs::passive`] knows.
    #[inline(always)]
    pub fn is_passive(&self, target: i32) -> bool {
        (target as u32) < 64 && self.passive.get() >> target & 1 == 1
    }

    /// Communication with `target`.
    pub fn access(&self, target: u32) -> Verdict {
        let open = match self.access.get() {
            Access::Started | Access::Locked => self.targets.has(target),
            Access::LockedAll => true,
            Access::Fence { .. } => {
                self.begin(Access::Fence { used: true });
                true
            }
            Access::None => false,
        };
        if open { Ok(()) } else { Err(Violation::NoAccess { target }) }
    }

    /// The kind of the access epoch that is open.
    pub fn kind(&self) -> Kind {
        match self.access.get() {
            Access::None => Kind::None,
            Access::Fence { .. } => Kind::Fence,
            Access::Started => Kind::Started,
            Access::Locked | Access::LockedAll => Kind::Passive,
        }
    }

    /// A flush of `target`, or communication with it by a request (sections 12.5.4 and 12.3.5).
    pub fn passive(&self, target: u32) -> Verdict {
        let open = match self.access.get() {
            Access::Locked => self.targets.has(target),
            access => access == Access::LockedAll,
        };
        if open { Ok(()) } else { Err(Violation::NotPassive { target }) }
    }

    /// A flush of all targets, and MPI_Win_sync (section 12.5.4).
    #[inline]
    pub fn passive_all(&self) -> Verdict {
        match self.access.get() {
            Access::Locked | Access::LockedAll => Ok(()),
            _ => Err(Violation::NothingLocked),
        }
    }

    /// MPI_Win_fence; `precedes` and `succeeds` as the assertions leave them.
    pub fn fence(&self, precedes: bool, succeeds: bool) -> Verdict {
        self.no_exposure()?;
        match self.access.get() {
            Access::None => {}
            Access::Fence { used: true } if !precedes => return Err(Violation::Preceded),
            Access::Fence { .. } => {}
            _ => self.no_access()?,
        }
        self.begin(if succeeds { Access::Fence { used: false } } else { Access::None });
        Ok(())
    }

    /// MPI_Win_start with access to `targets`.
    pub fn start(&self, targets: Ranks) -> Verdict {
        self.no_access()?;
        self.targets.set(targets);
        self.begin(Access::Started);
        Ok(())
    }

    /// MPI_Win_complete
    pub fn complete(&self) -> Verdict {
        if self.access.get() != Access::Started {
            return Err(Violation::NotStarted);
        }
        self.targets.set(Ranks::default());
        self.begin(Access::None);
        Ok(())
    }

    /// MPI_Win_post. A process must not expose memory that it has locked (section 12.5.3).
    pub fn post(&self) -> Verdict {
        self.no_exposure()?;
        match self.access.get() {
            Access::Locked if self.targets.has(self.me) => return Err(Violation::Open(Open::Lock)),
            Access::LockedAll => return Err(Violation::Open(Open::LockAll)),
            _ => {}
        }
        self.exposed.set(true);
        Ok(())
    }

    /// MPI_Win_wait and MPI_Win_test, before they look.
    pub fn awaits(&self) -> Verdict {
        if self.exposed.get() { Ok(()) } else { Err(Violation::NotExposed) }
    }

    /// MPI_Win_wait has returned, or MPI_Win_test was successful.
    pub fn waited(&self) {
        self.exposed.set(false);
    }

    /// MPI_Win_lock, before it waits.
    #[inline]
    pub fn locks(&self, target: u32) -> Verdict {
        match self.access.get() {
            Access::None => {}
            Access::Locked if self.targets.has(target) => return Err(Violation::LockedTwice { target }),
            Access::Locked => {}
            _ => self.no_access()?,
        }
        if target == self.me { self.no_exposure() } else { Ok(()) }
    }

    /// MPI_Win_lock was allowed.
    #[inline]
    pub fn locked(&self, target: u32) {
        self.targets.add(target);
        self.begin(Access::Locked);
    }

    /// MPI_Win_unlock
    #[inline]
    pub fn unlock(&self, target: u32) -> Verdict {
        let targets = &self.targets;
        if self.access.get() != Access::Locked || !targets.has(target) {
            return Err(Violation::NotLocked { target });
        }
        targets.remove(target);
        self.begin(if targets.is_empty() { Access::None } else { Access::Locked });
        Ok(())
    }

    /// Whether [`Epochs::lock_all`] would be allowed.
    #[inline]
    pub fn may_lock_all(&self) -> Verdict {
        self.no_access()?;
        self.no_exposure()
    }

    /// MPI_Win_lock_all
    pub fn lock_all(&self) -> Verdict {
        self.may_lock_all()?;
        self.begin(Access::LockedAll);
        Ok(())
    }

    /// MPI_Win_unlock_all
    pub fn unlock_all(&self) -> Verdict {
        if self.access.get() != Access::LockedAll {
            return Err(Violation::AllNotLocked);
        }
        self.begin(Access::None);
        Ok(())
    }

    /// MPI_Win_free: only a fence that began nothing may be open.
    pub fn free(&self) -> Verdict {
        self.no_access()?;
        self.no_exposure()
    }

    #[inline]
    fn no_access(&self) -> Verdict {
        Err(Violation::Open(match self.access.get() {
            Access::None | Access::Fence { used: false } => return Ok(()),
            Access::Fence { used: true } => Open::Fence,
            Access::Started => Open::Start,
            Access::Locked => Open::Lock,
            Access::LockedAll => Open::LockAll,
        }))
    }

    #[inline]
    fn no_exposure(&self) -> Verdict {
        if self.exposed.get() { Err(Violation::Open(Open::Post)) } else { Ok(()) }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::NoAccess { target } => write!(
                f,
                "no access epoch to rank {target} is open: begin one with MPI_Win_lock, MPI_Win_lock_all, \
                 MPI_Win_fence, or MPI_Win_start with that rank in the group"
            ),
            Violation::NotPassive { target } => write!(
                f,
                "rank {target} is not locked, as this call needs: call MPI_Win_lock or MPI_Win_lock_all first"
            ),
            Violation::NothingLocked => {
                f.write_str("no rank is locked, as this call needs: call MPI_Win_lock or MPI_Win_lock_all first")
            }
            Violation::Open(open) => write!(f, "{open}"),
            Violation::LockedTwice { target } => {
                write!(f, "rank {target} is locked already: call MPI_Win_unlock before it is locked again")
            }
            Violation::NotLocked { target } => write!(f, "rank {target} was not locked by MPI_Win_lock"),
            Violation::AllNotLocked => f.write_str("there was no MPI_Win_lock_all"),
            Violation::NotStarted => f.write_str("there was no MPI_Win_start"),
            Violation::NotExposed => f.write_str("there was no MPI_Win_post"),
            Violation::Preceded => {
                f.write_str("MPI_MODE_NOPRECEDE was given, but the epoch that this fence ends has communication")
            }
        }
    }
}

impl fmt::Display for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Open::Fence => "an epoch of MPI_Win_fence is open and has communication: end it with MPI_Win_fence first",
            Open::Start => "an epoch of MPI_Win_start is open: end it with MPI_Win_complete first",
            Open::Lock => "a rank is locked: end that epoch with MPI_Win_unlock first",
            Open::LockAll => "all ranks are locked: end that epoch with MPI_Win_unlock_all first",
            Open::Post => "an epoch of MPI_Win_post is open: end it with MPI_Win_wait first",
        })
    }
}

#[cfg(test)]
mod tests;
