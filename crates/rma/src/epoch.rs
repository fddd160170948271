//! Synchronisation: flushes, locks, post and start, fences (MPI 5.0, section 12.5). The words lie in
//! shared memory, so that none of it needs another process to be in the library. Where the members share none, see `apart`.

use crate::create::barrier;
use crate::window::{Held, Window};
use crate::words::Try;
use crate::Error;
use std::sync::atomic::{Ordering, fence};

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
    #[inline]
    pub fn flush_local(&self, rank: u32) -> Result<(), Error> {
        self.send_puts(rank)?;
        if !self.messages.is_flushed(rank) {
            self.adi.wait_until(&mut || self.messages.is_flushed(rank));
        }
        Ok(())
    }

    pub fn flush_local_all(&self) -> Result<(), Error> {
        self.send_all_puts()?;
        if !self.messages.is_all_flushed() {
            self.adi.wait_until(&mut || self.messages.is_all_flushed());
        }
        Ok(())
    }

    /// Orders loads and stores of the window's memory with those of others (MPI_Win_sync).
    pub fn sync(&self) {
        fence(Ordering::SeqCst);
    }

    // ---- locks. That calls come in an order that the standard allows is the caller's to check.

    /// Locks the memory of `rank`, alone or with others that do not want it alone.
    #[inline]
    pub fn lock(&self, rank: u32, exclusive: bool) {
        if self.apart {
            return self.lock_apart(rank, exclusive);
        }
        let lock = &self.shared.member(rank).lock;
        if exclusive {
            self.take(|| lock.try_exclude(self.shared.common()));
        } else {
            self.take(|| lock.try_share());
        }
        self.remote(rank).held.set(if exclusive { Held::Alone } else { Held::Shared });
    }

    /// Flushes `rank` and gives up the lock that this process has there, if it has one.
    #[inline]
    pub fn unlock(&self, rank: u32) -> Result<(), Error> {
        self.flush_local(rank)?;
        if self.apart {
            self.unlock_apart(rank);
            return Ok(());
        }
        let (lock, common) = (&self.shared.member(rank).lock, self.shared.common());
        // What gives up a lock is a full fence too.
        let awaited = match self.remote(rank).held.replace(Held::Not) {
            Held::Not => false,
            Held::Shared => lock.unshare(common),
            Held::Alone => lock.include(common),
        };
        if awaited {
            self.rouse();
        }
        Ok(())
    }

    /// Locks the memory of all ranks, not alone.
    #[inline]
    pub fn lock_all(&self) {
        if self.apart {
            return self.lock_all_apart();
        }
        self.take(|| self.shared.common().try_lock_all());
        self.all.set(true);
    }

    /// Flushes all ranks and ends [`Window::lock_all`].
    #[inline]
    pub fn unlock_all(&self) -> Result<(), Error> {
        self.flush_local_all()?;
        if self.apart {
            self.unlock_all_apart();
            return Ok(());
        }
        if self.all.replace(false) && self.shared.common().unlock_all() {
            self.rouse();
        }
        Ok(())
    }

    #[inline]
    fn take(&self, attempt: impl Fn() -> Try) {
        match attempt() {
            Try::Taken => {}
            Try::Busy => self.take_waiting(&attempt),
            Try::Disturbed => {
                self.rouse();
                self.take_waiting(&attempt);
            }
        }
    }

    #[cold]
    fn take_waiting(&self, attempt: &dyn Fn() -> Try) {
        let waiting = &self.shared.member(self.rank()).signals.waiting;
        // SeqCst: before the next attempt, in the order that `words` speaks of.
        waiting.fetch_add(1, Ordering::SeqCst);
        self.shared.common().begin_waiting();
        self.adi.wait_until(&mut || match attempt() {
            Try::Taken => true,
            Try::Busy => false,
            Try::Disturbed => {
                self.rouse();
                false
            }
        });
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

    /// Opens an exposure epoch for the ranks of `group` (MPI_Win_post).
    pub fn post(&self, group: &[u32]) {
        self.awaited.set(self.awaited.get().wrapping_add(group.len() as u32));
        if self.apart {
            return self.post_apart(group);
        }
        for &origin in group {
            // Release: pairs with the acquire in `start`. What this process has stored comes before.
            self.shared.posts(origin, self.rank()).fetch_add(1, Ordering::SeqCst);
            self.ring(origin);
        }
    }

    /// Opens an access epoch to the ranks of `group`: waits until all of them have posted
    /// (MPI_Win_start).
    pub fn start(&self, group: &[u32]) {
        for &target in group {
            let posts = self.shared.posts(self.rank(), target);
            let taken = &self.remote(target).taken;
            // Acquire: pairs with the release in `post`.
            self.until(&|| posts.load(Ordering::Acquire) != taken.get());
            taken.set(taken.get().wrapping_add(1));
        }
        self.started.borrow_mut().extend_from_slice(group);
    }

    /// Waits, if it must.
    fn until(&self, holds: &dyn Fn() -> bool) {
        if !holds() {
            self.adi.wait_until(&mut || holds());
        }
    }

    /// Flushes the ranks of the last [`Window::start`] and ends the epoch (MPI_Win_complete).
    pub fn complete(&self) -> Result<(), Error> {
        let started = std::mem::take(&mut *self.started.borrow_mut());
        for &target in &started {
            self.flush_local(target)?;
        }
        if self.apart {
            self.complete_apart(&started);
            return Ok(());
        }
        for &target in &started {
            // Release: pairs with the acquire in `is_over`; what was put comes before.
            self.shared.member(target).signals.completed.fetch_add(1, Ordering::SeqCst);
            self.ring(target);
        }
        Ok(())
    }

    /// All that were posted to have completed.
    fn is_over(&self) -> bool {
        // Acquire: pairs with the release in `complete`.
        let completed = self.shared.member(self.rank()).signals.completed.load(Ordering::Acquire);
        completed == self.awaited.get()
    }

    /// Waits until all of the last [`Window::post`] have completed (MPI_Win_wait).
    pub fn wait(&self) {
        self.until(&|| self.is_over());
    }

    /// As [`Window::wait`], without waiting: true when the epoch has ended (MPI_Win_test).
    pub fn test(&self) -> bool {
        self.is_over() || {
            self.adi.look();
            self.is_over()
        }
    }

    // ---- fence

    /// Flushes all ranks and waits for all members to have done so (MPI_Win_fence).
    pub fn fence(&self) -> Result<(), Error> {
        self.flush_all()?;
        barrier(self.adi, &self.peers);
        fence(Ordering::SeqCst);
        Ok(())
    }
}
