//! A process's membership in a space: every operation.

use super::flight::Arm;
use super::layout::{Shape, Tables};
use super::member::{self, Seat};
use super::offload::{self, Status};
use super::regions::Regions;
use super::shared::{Engine, Shared, lock};
use super::side::{Held, Side};
use super::transfer::{Step, Transfer, local_pieces};
use super::{Cookie, Direction, Error, Flags, Mechanism, Offload, Options, Protection, Spot, Standing};
use crate::cma::Run;
use crate::dma::Dma;
use rustix::fd::{AsFd, OwnedFd};
use std::io;
use std::sync::{Arc, Mutex};
use tern_threads::Thread;

/// Bytes of a step of a copy that its caller waits for.
const STEP: u64 = 8 << 20;

/// A process's membership in a space. It may be used by many threads.
///
/// Dropping it destroys the regions of this process, for which it waits until nobody uses them any
/// more. A process that ends without that is noticed by the others. After a fork, the space belongs
/// to the parent; the child must not use it.
pub struct Space {
    shared: Arc<Shared>,
    regions: Mutex<Regions>,
    thread: Mutex<Option<Thread>>,
    /// The process that has joined.
    process: u32,
}

impl Space {
    /// Joins as member `me`. `file` is memory that all members have (a memfd, inherited or sent over a
    /// socket); the space uses [`Shape::len`] bytes of it from `base` on, which were zeros when the
    /// first member joined. Members join in any order, and need not wait for each other. All say the
    /// same base, a multiple of 64 KiB, and the same shape. A place whose process has ended may be
    /// taken by another one.
    ///
    /// Errors: `Shape`, `Taken`, `System` (the file cannot be made long enough or mapped, or there
    /// is no /proc).
    pub fn join(file: OwnedFd, base: u64, shape: Shape, me: u32, options: Options) -> Result<Space, Error> {
        if !shape.fits(base) || me >= shape.members {
            return Err(Error::Shape);
        }
        let tables = Tables::map(file.as_fd(), base, shape)?;
        let seat = Seat::take(file.as_fd(), base, me)?;
        let shared = Arc::new(Shared::new((file, base, me), options, tables, seat)?);
        let space = Space { shared, regions: Mutex::default(), thread: Mutex::default(), process: std::process::id() };
        if options.server {
            space.start_thread()?;
        }
        Ok(space)
    }

    /// The number of this member.
    pub fn me(&self) -> u32 {
        self.shared.me
    }

    /// `len` bytes of zeroed memory, in whole pages, that other members can map: copies from and into
    /// regions in it need no system call.
    ///
    /// Errors: as for [`Heap::allocate`](crate::Heap::allocate). Private memory does as well, more slowly.
    pub fn allocate(&self, len: usize) -> io::Result<*mut u8> {
        lock(&self.shared.heap).allocate(len)
    }

    /// Frees memory from [`Space::allocate`]; false if `at` is something else.
    ///
    /// # Safety
    /// Nobody uses the memory, and no region lies in it any more.
    pub unsafe fn free(&self, at: *mut u8) -> bool {
        // SAFETY: contract of this function.
        unsafe { lock(&self.shared.heap).free(at) }
    }

    /// Declares memory: the bytes of `segments` in order are one region. Returns its name.
    ///
    /// Errors: `Full` when there are 4,096 regions or 65,536 segments already; `Bounds` when the
    /// segments have more than 2^64 bytes.
    ///
    /// # Safety
    /// The memory is there, and allows what `protection` says, until [`Space::destroy_region`] has
    /// returned, or the region's single use has ended and the program knows it. Others may change it
    /// at any time, so nothing may refer to it that Rust takes for unchanging.
    pub unsafe fn create_region(
        &self, segments: &[Run], protection: Protection, flags: Flags,
    ) -> Result<Cookie, Error> {
        lock(&self.regions).create(&self.shared, segments, protection, flags)
    }

    /// Takes a region back. Nobody can begin to use it from now on; uses that have begun end
    /// before this returns, unless by processes that have ended. Afterwards the memory is the program's
    /// own again.
    ///
    /// Errors: `NotOwner`; `NoRegion` when it was destroyed or used up before.
    pub fn destroy_region(&self, cookie: Cookie) -> Result<(), Error> {
        if cookie.member() != self.shared.me {
            return Err(Error::NotOwner);
        }
        let slot = self.shared.tables.slot(cookie.member(), cookie.slot()).ok_or(Error::NoRegion)?;
        if !slot.close(cookie) {
            return Err(Error::NoRegion);
        }
        self.until(|| (!self.shared.is_held(cookie)).then_some(()))?;
        lock(&self.regions).forget(&self.shared, cookie);
        Ok(())
    }

    /// Copies `len` bytes from a place in one region to a place in another, of whichever members:
    /// neither needs to be the caller's. If the two overlap in memory, what is in the target afterwards
    /// is not defined.
    ///
    /// Errors: `NoRegion`, `Bounds`, `Protection`, `Busy` before anything is moved; `PeerGone`, `Fault`.
    pub fn copy(&self, from: Spot, to: Spot, len: u64) -> Result<(), Error> {
        self.run(self.between(from, to, len)?)
    }

    /// As [`Space::copy`], but returns at once; ask [`Space::poll`] how it stands.
    pub fn start_copy(&self, from: Spot, to: Spot, len: u64, offload: Offload) -> Result<Status, Error> {
        self.start(self.between(from, to, len)?, offload)
    }

    /// Copies `len` bytes between a place in a region and the bytes of the segments `local`, memory of
    /// this process that needs no declaration.
    ///
    /// Errors: as for [`Space::copy`]; `Bounds` also when the segments have fewer bytes.
    ///
    /// # Safety
    /// The local memory is there, and for this copy alone to write, or to read while nobody writes.
    pub unsafe fn inline_copy(&self, local: &[Run], spot: Spot, len: u64, direction: Direction) -> Result<(), Error> {
        self.run(self.inline(local, spot, len, direction)?)
    }

    /// As [`Space::inline_copy`], but returns at once; ask [`Space::poll`] how it stands.
    ///
    /// # Safety
    /// As for [`Space::inline_copy`], until the copy is over or its status was dropped.
    pub unsafe fn start_inline_copy(
        &self, local: &[Run], spot: Spot, len: u64, direction: Direction, offload: Offload,
    ) -> Result<Status, Error> {
        self.start(self.inline(local, spot, len, direction)?, offload)
    }

    /// How an asynchronous copy stands: `None` while it is under way. Goes on with it, unless the copy
    /// thread does, and answers peers. Never waits.
    pub fn poll(&self, status: &Status) -> Option<Result<(), Error>> {
        if let Some(result) = status.result() {
            return Some(result);
        }
        if let Err(error) = self.progress() {
            return Some(Err(error));
        }
        status.result()
    }

    /// Waits until an asynchronous copy is over.
    pub fn wait(&self, status: &Status) -> Result<(), Error> {
        self.until(|| status.result())?
    }

    /// Goes on with asynchronous copies, and answers peers that cannot reach this process's memory
    /// themselves; true when there was something to do. Never waits. A process whose private memory
    /// others use and which has no copy thread calls this now and then.
    pub fn progress(&self) -> Result<bool, Error> {
        let mut engine = self.shared.engine()?;
        let moved = self.turn(&mut engine);
        self.shared.give_back(engine);
        Ok(moved)
    }

    /// How a mechanism stands between this process and a member.
    pub fn standing(&self, member: u32, mechanism: Mechanism) -> Standing {
        match self.shared.peers.len() > member as usize {
            true => self.shared.standing(member, mechanism),
            false => Standing::Absent,
        }
    }

    /// Whether the process in that place lives. A place that nobody has taken yet counts as dead.
    pub fn is_alive(&self, member: u32) -> bool {
        member == self.shared.me || self.shared.seat.is_alive(member)
    }

    /// Whether somebody uses the region.
    #[cfg(test)]
    pub(super) fn is_held(&self, cookie: Cookie) -> bool {
        self.shared.is_held(cookie)
    }

    fn turn(&self, engine: &mut Engine) -> bool {
        let moved = self.shared.step_jobs(engine, false);
        self.shared.serve() || moved
    }

    /// Makes progress until `done` has a value.
    fn until<T>(&self, mut done: impl FnMut() -> Option<T>) -> Result<T, Error> {
        let mut engine = self.shared.engine()?;
        let mut looks = 0;
        let value = loop {
            let token = member::listen(self.shared.member());
            if let Some(value) = done() {
                break value;
            }
            if !self.turn(&mut engine) {
                self.shared.pause(token, &mut looks);
            }
        };
        self.shared.give_back(engine);
        Ok(value)
    }

    fn run(&self, mut transfer: Transfer) -> Result<(), Error> {
        let mut engine = self.shared.engine()?;
        let mut looks = 0;
        let result = loop {
            let token = member::listen(self.shared.member());
            // SAFETY: the callers' contract: local memory is there for this copy; a region's memory
            // while it is held.
            match unsafe { transfer.step(&self.shared, &mut engine, STEP) } {
                Ok(Step::Moved) => looks = 0,
                Ok(Step::Done) => break Ok(()),
                Ok(Step::Waiting) if self.turn(&mut engine) => {}
                Ok(Step::Waiting) => self.shared.pause(token, &mut looks),
                Err(error) => break Err(error),
            }
        };
        self.shared.give_back(engine);
        result
    }

    /// Uses this DMA engine, in place of one of the machine's.
    pub fn use_engine(&self, dma: Dma) -> Result<(), Error> {
        self.shared.use_arm(Arm::new(&self.shared, dma)?);
        Ok(())
    }

    fn start(&self, mut transfer: Transfer, offload: Offload) -> Result<Status, Error> {
        transfer.by_engine = match offload {
            Offload::Never | Offload::Always => false,
            Offload::WhenIdle => self.shared.engine_pays(transfer.rest),
            Offload::Engine => self.shared.find_arm().is_some(),
        };
        let threaded = match offload {
            Offload::Never => false,
            Offload::Always => true,
            Offload::WhenIdle | Offload::Engine => {
                !transfer.by_engine && transfer.rest > offload::STEP && offload::is_core_idle()
            }
        };
        if threaded {
            self.start_thread()?;
        }
        Ok(self.shared.start(transfer, threaded))
    }

    fn start_thread(&self) -> Result<(), Error> {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let shared = self.shared.clone();
            let run = move || shared.run_thread();
            *thread = Some(Thread::start("tern-copy", 256 << 10, run)?);
        }
        Ok(())
    }

    fn between(&self, from: Spot, to: Spot, len: u64) -> Result<Transfer, Error> {
        let source = Held::enter(&self.shared, from, len, Protection::Read)?;
        let target = Held::enter(&self.shared, to, len, Protection::Write)?;
        if !source.claim() {
            return Err(Error::NoRegion);
        }
        // Both may be parts of one region.
        if from.cookie != to.cookie && !target.claim() {
            source.unclaim();
            return Err(Error::NoRegion);
        }
        Ok(Transfer::new(Side::region(source, from.offset), Side::region(target, to.offset), len))
    }

    fn inline(&self, local: &[Run], spot: Spot, len: u64, direction: Direction) -> Result<Transfer, Error> {
        let bounds = |room| Error::Bounds { offset: 0, bytes: len, len: room };
        let (pieces, room) = local_pieces(local).ok_or(bounds(u64::MAX))?;
        if len > room {
            return Err(bounds(room));
        }
        let access = if direction == Direction::Read { Protection::Read } else { Protection::Write };
        let held = Held::enter(&self.shared, spot, len, access)?;
        if !held.claim() {
            return Err(Error::NoRegion);
        }
        let region = Side::region(held, spot.offset);
        let local = Side::local(self.shared.me, pieces);
        Ok(match direction {
            Direction::Read => Transfer::new(region, local, len),
            Direction::Write => Transfer::new(local, region, len),
        })
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            return;
        }
        let all = lock(&self.regions).all();
        for cookie in all {
            let _ = self.destroy_region(cookie);
        }
        // Release: pairs with the acquire in `run_thread`.
        self.shared.stop.store(true, std::sync::atomic::Ordering::Release);
        member::ring(self.shared.member());
        if let Some(thread) = lock(&self.thread).take() {
            thread.join();
        }
    }
}
