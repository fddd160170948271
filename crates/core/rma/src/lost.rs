//! Windows that have lost members, where the job goes on without them (TERN_FT).
//!
//! A call fails that needs a lost member; all others work. What a lost member holds the living take from it: a lock that it had alone or shared, the
//! guard that it was inside of, its turn for a lock. So that this can be done whatever the member was at, each writes what it does in words and notes
//! of its own, of which one says all: no two of them have to change together.
//!
//! Elsewhere the job ends when a member is lost, and a call that waits fails for whichever it is.

use crate::Error;
use crate::attached::Table;
use crate::window::Window;
use crate::words::Try;
use std::sync::atomic::{Ordering, fence};
use tern_adi::{Awaited, Proc, UNKNOWN};
use tern_mcm::PeerState;

/// Looks at a table that changes, until its owner is asked for.
const LOOKS: u32 = 64;

impl Window {
    /// Whether `rank` is lost and the job goes on.
    pub(crate) fn is_lost(&self, rank: u32) -> bool {
        let process = self.peers.procs.get(rank as usize);
        self.survives && process.is_some_and(|&process| self.adi.why_lost(process).is_some())
    }

    /// Whether the process of `rank` has died, as its node knows it.
    #[cold]
    pub(crate) fn has_died(&self, rank: u32) -> bool {
        self.survives && !self.direct().peer_is(self.peers.procs[rank as usize], PeerState::Alive)
    }

    /// The members that are lost.
    fn losses(&self) -> Vec<u32> {
        let rank_of = |process: Proc| self.peers.procs.iter().position(|&member| member == process);
        self.adi.lost().into_iter().filter_map(rank_of).map(|rank| rank as u32).collect()
    }

    /// Errors: a member is lost.
    pub(crate) fn check_lost(&self) -> Result<(), Error> {
        if !self.apart || self.adi.lost_for(UNKNOWN, self.peers.context).is_none() {
            return Ok(());
        }
        let is_lost = |&(_, &proc): &(usize, &Proc)| self.adi.why_lost(proc).is_some();
        match self.peers.procs.iter().enumerate().find(is_lost) {
            Some((rank, _)) => Err(self.lost(rank as u32)),
            None => Ok(()),
        }
    }

    /// Errors: `rank` is lost; where the job ends then, any member.
    pub(crate) fn check_member(&self, rank: u32) -> Result<(), Error> {
        match self.survives {
            false => self.check_lost(),
            true if self.is_lost(rank) => Err(self.lost(rank)),
            true => Ok(()),
        }
    }

    /// Before an access that ends with its request: no flush tells later that its target was lost.
    ///
    /// Errors: `rank` is lost, and the job goes on.
    #[inline]
    pub fn check_requested(&self, rank: u32) -> Result<(), Error> {
        if self.survives { self.check_member(rank) } else { Ok(()) }
    }

    /// Whether the window has lost a member, where the job goes on.
    pub fn misses_members(&self) -> bool {
        self.survives && !self.losses().is_empty()
    }

    /// Errors: a member is lost, where the job goes on.
    #[cold]
    pub(crate) fn check_members(&self) -> Result<(), Error> {
        self.losses().first().map_or(Ok(()), |&rank| Err(self.lost(rank)))
    }

    /// Waits for something that `rank` has to do.
    ///
    /// Errors: as of [`Window::check_member`].
    pub(crate) fn await_member(&self, rank: u32, holds: &dyn Fn() -> bool) -> Result<(), Error> {
        self.await_member_telling(rank, holds, &|| Awaited::Own)
    }

    /// As [`Window::await_member`]; `awaited` says what is waited for, if the user asks.
    pub(crate) fn await_member_telling(
        &self, rank: u32, holds: &dyn Fn() -> bool, awaited: &dyn Fn() -> Awaited,
    ) -> Result<(), Error> {
        if !holds() {
            self.adi.wait_until_telling(&mut || holds() || self.check_member(rank).is_err(), awaited);
        }
        if holds() { Ok(()) } else { self.check_member(rank) }
    }

    /// Waits until nothing is under way by messages.
    ///
    /// Errors: a member is lost that has not answered. All others have.
    #[cold]
    pub(crate) fn await_flushed(&self) -> Result<(), Error> {
        if self.survives {
            let unflushed = |&rank: &u32| !self.messages.is_flushed(rank);
            let ranks = || (0..self.peers.size()).filter(unflushed);
            let outcomes: Vec<_> =
                ranks().map(|rank| self.await_member(rank, &|| self.messages.is_flushed(rank))).collect();
            return outcomes.into_iter().collect();
        }
        let holds = || self.messages.is_all_flushed();
        self.adi.wait_until(&mut || holds() || self.check_lost().is_err());
        if holds() { Ok(()) } else { self.check_lost() }
    }

    // ---- locks

    /// Takes from lost members what they have of the locks in shared memory, and tries once more. True when the lock is taken.
    #[cold]
    pub(crate) fn take_from_lost(&self, attempt: &dyn Fn() -> Try) -> bool {
        if !self.survives {
            return false;
        }
        let losses = self.losses();
        if losses.is_empty() {
            return false;
        }
        losses.iter().for_each(|&lost| self.take_locks_of(lost));
        let tried = attempt();
        if tried == Try::Disturbed {
            self.rouse();
        }
        tried == Try::Taken
    }

    /// Any of the living may do it, and several at once.
    fn take_locks_of(&self, lost: u32) {
        let common = self.shared.common();
        let mut awaited = self.shared.note(lost, None).take(common);
        for rank in 0..self.peers.size() {
            awaited |= self.shared.member(rank).lock.include_lost(common, lost);
            awaited |= self.shared.note(lost, Some(rank)).take(common);
        }
        if awaited {
            self.rouse();
        }
    }

    /// Takes from lost members their turns for the lock of this one, where the members lie apart. True if they had some.
    pub(crate) fn take_turns_of_lost(&self) -> bool {
        let losses = self.losses();
        let mut had = false;
        losses.into_iter().for_each(|lost| had |= self.turns.borrow_mut().lose(lost));
        if had {
            self.pass_on_turns();
        }
        had
    }

    // ---- attached memory

    /// What `read` finds in the table of what `rank` has attached. It finds nothing while the table changes, which takes a moment.
    ///
    /// Errors: `rank` is lost in the midst of a change.
    pub(crate) fn await_table<T>(&self, rank: u32, read: impl Fn(&Table) -> Option<T>) -> Result<T, Error> {
        let table = self.shared.table(rank);
        let mut looks = 0u32;
        loop {
            if let Some(found) = read(table) {
                return Ok(found);
            }
            tern_atomics::yield_now();
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS) && self.has_died(rank) {
                // It may have come to the end of the change before.
                return read(table).ok_or_else(|| self.lost(rank));
            }
        }
    }

    // ---- post, start, complete, wait

    /// As [`Window::post`], where each member's part is counted.
    #[cold]
    pub(crate) fn post_aside(&self, group: &[u32], told: bool) {
        for &origin in group {
            let posted = &self.remote(origin).posted;
            posted.set(posted.get().wrapping_add(1));
        }
        match told {
            // Release: pairs with the acquire in `start`, by whatever the program tells the others.
            false => fence(Ordering::Release),
            true if self.apart => self.post_apart(group),
            true => self.post_shared(group),
        }
    }

    /// As [`Window::complete`], where each member's part is counted. Those that live learn of it whoever is lost.
    #[cold]
    pub(crate) fn complete_aside(&self, started: &[u32]) -> Result<(), Error> {
        let flushed: Vec<_> = started.iter().map(|&target| self.flush_local(target)).collect();
        let flushed: Result<(), Error> = flushed.into_iter().collect();
        if flushed.is_err() && !self.survives {
            return flushed;
        }
        if self.apart {
            self.complete_apart(started);
            return flushed;
        }
        for &target in started {
            // SeqCst, which is a release too: pairs with the acquire in `has_completed`; what was put comes before.
            self.shared.completes(self.rank(), target).fetch_add(1, Ordering::SeqCst);
            self.ring(target);
        }
        flushed
    }

    /// Waits for the post of one of `group`.
    ///
    /// Errors: one of `group` has not posted and is lost; where the job ends then, any member. Another one that lives is not waited for,
    /// since it may have been told of the loss before its own post.
    #[cold]
    pub(crate) fn await_post(
        &self, group: &[u32], has_posted: &dyn Fn() -> bool, awaited: &dyn Fn() -> Awaited,
    ) -> Result<(), Error> {
        let check = || match self.survives {
            false => self.check_lost(),
            true => group.iter().try_for_each(|&target| self.check_member(target)),
        };
        self.adi.wait_until_telling(&mut || has_posted() || check().is_err(), awaited);
        if has_posted() { Ok(()) } else { check() }
    }

    /// A target of the group that [`Window::start`] was called for is lost, and those from `from` on have not been waited for: there is no epoch.
    /// Where the job goes on, those that live find it completed when they have posted.
    #[cold]
    pub(crate) fn start_without(&self, group: &[u32], from: usize, lost: Error) -> Error {
        if !self.survives {
            return lost;
        }
        for &target in &group[from..] {
            let taken = &self.remote(target).taken;
            taken.set(taken.get().wrapping_add(1));
        }
        _ = self.complete_aside(group);
        lost
    }

    /// Whether `origin` has completed all epochs that this process has posted to it, and perhaps one that it is still to post to. A count of all
    /// origins would not do where one of them may be lost between its own count and that one.
    fn has_completed(&self, origin: u32) -> bool {
        // Acquire: pairs with the release in `complete_aside`, and in `serve_apart`.
        let completed = self.shared.completes(origin, self.rank()).load(Ordering::Acquire);
        completed.wrapping_sub(self.remote(origin).posted.get()).cast_signed() >= 0
    }

    /// Whether all have completed that were posted to.
    #[cold]
    pub(crate) fn have_all_completed(&self) -> bool {
        (0..self.peers.size()).all(|origin| self.has_completed(origin))
    }

    /// Errors: of those that were posted to only lost ones have not completed; where the job ends when a member is lost, any is lost.
    #[cold]
    pub(crate) fn check_origins(&self) -> Result<(), Error> {
        if !self.survives {
            return self.check_lost();
        }
        let mut open = (0..self.peers.size()).filter(|&origin| !self.has_completed(origin)).peekable();
        match open.peek().copied() {
            Some(first) if open.all(|origin| self.is_lost(origin)) => Err(self.lost(first)),
            _ => Ok(()),
        }
    }

    /// The exposure epoch ends without those that have not completed, all of which are lost.
    #[cold]
    pub(crate) fn wait_without(&self) {
        for origin in (0..self.peers.size()).filter(|&origin| self.survives && !self.has_completed(origin)) {
            self.remote(origin).posted.set(self.shared.completes(origin, self.rank()).load(Ordering::Acquire));
        }
    }

    /// Ends all accesses of this process, as far as their targets live.
    pub fn flush_living(&self) {
        (0..self.peers.size()).for_each(|rank| _ = self.flush(rank));
    }
}
