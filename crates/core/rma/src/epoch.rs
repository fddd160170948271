//! Synchronisation: flushes, locks, post and start, fences (MPI 5.0, section 12.5). The words lie in
//! shared memory, so that none of it needs another process to be in the library. Where the members share none, see `apart`.

use crate::Error;
use crate::create::barrier;
use crate::remote::Held;
use crate::window::Window;
use crate::words::Try;
use std::sync::atomic::{Ordering, fence};
use tern_adi::Awaited;

impl Window {
    // ---- completion

    /// Waits until all accesses to `rank` are complete at both sides.
    #[inline]
    pub fn flush(&self, rank: u32) -> Result<(), Error> {
        self.flush_local(rank)?;
        self.order();
        Ok(())
    }

    /// What was written by plain stores is seen by all before anything that follows. Instructions that combine
    /// have that effect by themselves.
    #[inline]
    pub(crate) fn order(&self) {
        if self.stored.replace(false) {
            fence(Ordering::SeqCst);
        }
    }

    /// [`Window::flush`] for all ranks.
    pub fn flush_all(&self) -> Result<(), Error> {
        self.flush_local_all()?;
        self.order();
        Ok(())
    }

    /// Waits until all accesses to `rank` are complete at the origin.
    ///
    /// Errors: `rank` is lost. Memory that this process has mapped takes accesses all the same, but who flushes until another has written there would
    /// do so without end.
    #[inline]
    pub fn flush_local(&self, rank: u32) -> Result<(), Error> {
        self.send_puts(rank)?;
        if !self.messages.is_flushed(rank) {
            self.await_member(rank, &|| self.messages.is_flushed(rank))?;
        }
        self.flush_card(rank)?;
        if self.survives { self.check_member(rank) } else { Ok(()) }
    }

    /// [`Window::flush_local`] for all ranks.
    ///
    /// Errors: one of them is lost.
    pub fn flush_local_all(&self) -> Result<(), Error> {
        let flushed = self.flush_each();
        if self.survives { flushed.and_then(|()| self.check_members()) } else { flushed }
    }

    fn flush_each(&self) -> Result<(), Error> {
        self.send_all_puts()?;
        if !self.messages.is_all_flushed() {
            self.await_flushed()?;
        }
        if self.card.is_some() {
            (0..self.peers.size()).try_for_each(|rank| self.flush_card(rank))?;
        }
        Ok(())
    }

    /// Orders loads and stores of the window's memory with those of others (MPI_Win_sync).
    pub fn sync(&self) {
        fence(Ordering::SeqCst);
    }

    // ---- locks. That calls come in an order that the standard allows is the caller's to check.

    /// Orders what follows as a lock would, but takes none (MPI_MODE_NOCHECK): the program excludes others by other means.
    /// [`Window::unlock`] and [`Window::unlock_all`] end such an epoch as they end a lock, and give nothing up.
    #[inline]
    pub fn assume_lock(&self) {
        // Acquire: pairs with the release in `give_nothing_up`, by whatever the program tells others that they may go on.
        fence(Ordering::Acquire);
    }

    /// What the end of a lock orders, where there was no lock.
    #[inline]
    pub(crate) fn give_nothing_up(&self) {
        self.order();
        // Release: pairs with the acquire in `assume_lock`.
        fence(Ordering::Release);
    }

    /// Locks the memory of `rank`, alone or with others that do not want it alone.
    ///
    /// Errors: `rank` is lost; where the job ends then and the members lie apart, any. Whatever a lost one had of a lock is taken from it.
    #[inline]
    pub fn lock(&self, rank: u32, exclusive: bool) -> Result<(), Error> {
        if self.apart {
            return self.lock_apart(rank, exclusive);
        }
        if self.survives {
            self.check_member(rank)?;
        }
        if exclusive {
            self.exclude(rank);
        } else if self.notes {
            self.share_noting(rank);
        } else {
            self.take(Some(rank), || self.shared.member(rank).lock.try_share());
        }
        self.remote(rank).held.set(if exclusive { Held::Alone } else { Held::Shared });
        Ok(())
    }

    /// Flushes `rank` and gives up the lock that this process has there, if it has one.
    #[inline]
    pub fn unlock(&self, rank: u32) -> Result<(), Error> {
        let flushed = self.flush_local(rank);
        // Others wait for it all the same.
        if self.apart {
            self.unlock_apart(rank);
        } else {
            self.give_up(rank);
        }
        flushed
    }

    /// [`Window::unlock`] after [`Window::flush_now`]: gives up the lock at `rank`, where the members share their words.
    #[inline]
    pub fn give_up(&self, rank: u32) {
        let (lock, common) = (&self.shared.member(rank).lock, self.shared.common());
        // What gives up a lock is a full fence too.
        let awaited = match self.remote(rank).held.replace(Held::Not) {
            Held::Not => return self.give_nothing_up(),
            Held::Shared if self.notes => self.unshare_noting(rank),
            Held::Shared => lock.unshare(common),
            Held::Alone => lock.include(common),
        };
        if awaited {
            self.rouse();
        }
    }

    /// Locks the memory of all ranks, not alone.
    ///
    /// Errors: as for [`Window::lock`].
    #[inline]
    pub fn lock_all(&self) -> Result<(), Error> {
        if self.apart {
            return self.lock_all_apart();
        }
        if self.notes {
            self.share_all_noting();
        } else {
            self.take(None, || self.shared.common().try_lock_all(self.locks()));
        }
        self.all.set(true);
        Ok(())
    }

    /// Flushes all ranks and ends [`Window::lock_all`].
    #[inline]
    pub fn unlock_all(&self) -> Result<(), Error> {
        let flushed = self.flush_local_all();
        // Others wait for it all the same.
        if self.apart {
            self.unlock_all_apart();
        } else {
            self.give_all_up();
        }
        flushed
    }

    /// [`Window::unlock_all`] after [`Window::flush_now`], where the members share their words.
    #[inline]
    pub fn give_all_up(&self) {
        if !self.all.replace(false) {
            self.give_nothing_up();
        } else if if self.notes { self.unshare_all_noting() } else { self.shared.common().unlock_all() } {
            self.rouse();
        }
    }

    /// The lock words of all members.
    #[inline]
    pub(crate) fn locks(&self) -> impl Iterator<Item = &crate::words::Lock> + Clone {
        (0..self.peers.size()).map(|rank| &self.shared.member(rank).lock)
    }

    #[inline]
    pub(crate) fn take(&self, rank: Option<u32>, attempt: impl Fn() -> Try) {
        match attempt() {
            Try::Taken => {}
            Try::Busy => self.take_waiting(rank, &attempt),
            Try::Disturbed => {
                self.rouse();
                self.take_waiting(rank, &attempt)
            }
        }
    }

    #[cold]
    fn take_waiting(&self, rank: Option<u32>, attempt: &dyn Fn() -> Try) {
        let waiting = &self.shared.member(self.rank()).signals.waiting;
        // SeqCst: before the next attempt, in the order that `words` speaks of.
        waiting.fetch_add(1, Ordering::SeqCst);
        self.shared.common().begin_waiting();
        let mut take = || match attempt() {
            Try::Taken => true,
            Try::Busy => self.take_from_lost(attempt),
            Try::Disturbed => {
                self.rouse();
                self.take_from_lost(attempt)
            }
        };
        self.adi.wait_until_telling(&mut take, &|| self.awaited_lock(rank));
        self.shared.common().end_waiting();
        waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes those that wait for a lock, to try again.
    #[cold]
    pub(crate) fn rouse(&self) {
        for rank in 0..self.peers.size() {
            if self.shared.member(rank).signals.waiting.load(Ordering::SeqCst) > 0 {
                self.ring(rank);
            }
        }
    }

    // ---- post, start, complete, wait

    /// Opens an exposure epoch for the ranks of `group` (MPI_Win_post). `told`: they are told, and wait for that. Otherwise
    /// the program lets none of them start before this returns, and all of them know it (MPI_MODE_NOCHECK at both sides).
    pub fn post(&self, group: &[u32], told: bool) {
        self.awaited.set(self.awaited.get().wrapping_add(group.len() as u32));
        if self.aside {
            return self.post_aside(group, told);
        }
        if !told {
            // Release: pairs with the acquire in `start`, by whatever the program tells the others.
            return fence(Ordering::Release);
        }
        self.post_shared(group);
    }

    pub(crate) fn post_shared(&self, group: &[u32]) {
        for &origin in group {
            // Release: pairs with the acquire in `start`. What this process has stored comes before.
            self.shared.posts(origin, self.rank()).fetch_add(1, Ordering::SeqCst);
            self.ring(origin);
        }
    }

    /// Opens an access epoch to the ranks of `group`: waits until all of them have posted
    /// (MPI_Win_start). `told` as for [`Window::post`]: otherwise they have, and nothing says so.
    ///
    /// Errors: a member is lost. Where the job goes on it is one of `group`, and the posts of the others are not waited for.
    pub fn start(&self, group: &[u32], told: bool) -> Result<(), Error> {
        // Acquire: pairs with the release in `post`, where that has told nobody.
        fence(Ordering::Acquire);
        if told {
            self.await_posts(group)?;
        }
        self.started.borrow_mut().extend_from_slice(group);
        Ok(())
    }

    /// Waits until all of `group` have posted.
    #[inline(always)]
    fn await_posts(&self, group: &[u32]) -> Result<(), Error> {
        for (at, &target) in group.iter().enumerate() {
            let posts = self.shared.posts(self.rank(), target);
            let taken = &self.remote(target).taken;
            let procs = || vec![self.peers.procs[target as usize]];
            let awaited = || Awaited::Members { context: self.peers.context, procs: procs() };
            // Acquire: pairs with the release in `post`. An epoch that has failed may have taken posts that are still to come.
            let has_posted = || posts.load(Ordering::Acquire).wrapping_sub(taken.get()).cast_signed() > 0;
            if !has_posted()
                && let Err(lost) = self.await_post(group, &has_posted, &awaited)
            {
                return Err(self.start_without(group, at, lost));
            }
            taken.set(taken.get().wrapping_add(1));
        }
        Ok(())
    }

    /// Flushes the ranks of the last [`Window::start`] and ends the epoch (MPI_Win_complete).
    pub fn complete(&self) -> Result<(), Error> {
        let started = std::mem::take(&mut *self.started.borrow_mut());
        if self.aside {
            return self.complete_aside(&started);
        }
        for &target in &started {
            self.flush_local(target)?;
        }
        self.complete_shared(&started);
        Ok(())
    }

    pub(crate) fn complete_shared(&self, started: &[u32]) {
        for &target in started {
            // Release: pairs with the acquire in `is_over`; what was put comes before.
            self.shared.member(target).signals.completed.fetch_add(1, Ordering::SeqCst);
            self.ring(target);
        }
    }

    /// All that were posted to have completed.
    fn is_exposure_over(&self) -> bool {
        if self.survives {
            return self.have_all_completed();
        }
        // Acquire: pairs with the release in `complete`.
        let completed = self.shared.member(self.rank()).signals.completed.load(Ordering::Acquire);
        completed == self.awaited.get()
    }

    /// Waits until all of the last [`Window::post`] have completed (MPI_Win_wait).
    ///
    /// Errors: a member is lost.
    pub fn wait(&self) -> Result<(), Error> {
        if !self.is_exposure_over() {
            self.adi.wait_until(&mut || self.is_exposure_over() || self.check_origins().is_err());
        }
        if self.is_exposure_over() { Ok(()) } else { self.check_origins().inspect_err(|_| self.wait_without()) }
    }

    /// As [`Window::wait`], without waiting: true when the epoch has ended (MPI_Win_test).
    ///
    /// Errors: a member is lost.
    pub fn test(&self) -> Result<bool, Error> {
        if self.is_exposure_over() {
            return Ok(true);
        }
        self.adi.look();
        let over = self.is_exposure_over();
        if over { Ok(true) } else { self.check_origins().inspect_err(|_| self.wait_without()).map(|()| false) }
    }

    // ---- fence

    /// Flushes all ranks and waits for all members to have done so (MPI_Win_fence). `ends`: accesses of some member may come
    /// before it; `begins`: some may follow. All members say the same of both, and where neither is so nobody is waited for.
    ///
    /// Errors: a member is lost. Who has lost one meets the others all the same, since these may have lost nobody, and
    /// flushes those that it can reach: so all has come to a member that gets no error.
    pub fn fence(&self, ends: bool, begins: bool) -> Result<(), Error> {
        let flushed = if ends { self.flush_all().inspect_err(|_| self.flush_reachable()) } else { Ok(()) };
        if ends || begins {
            barrier(self.adi, &self.peers)?;
        }
        fence(Ordering::SeqCst);
        flushed?;
        self.check_lost()
    }

    /// Flushes all that are not lost.
    #[cold]
    fn flush_reachable(&self) {
        for (rank, &process) in (0..).zip(self.peers.procs.iter()) {
            let over = || self.messages.is_flushed(rank) || self.adi.why_lost(process).is_some();
            // Whoever is lost has failed the fence already.
            _ = self.send_puts(rank);
            self.adi.wait_until(&mut || over());
            _ = self.flush_card(rank);
        }
    }
}
