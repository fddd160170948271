//! Windows that have lost members, where the job goes on without them (TERN_FT).
//!
//! A call fails that needs a lost member; all others work. What a lost member holds the living take from it: a lock that it had alone or shared, the
//! guard that it was inside of, its turn for a lock. Who finds a lock that a lost member was about to take or to give up fails as well, for nobody
//! knows whether it has it; whoever wants to share it may have it.
//!
//! Elsewhere the job ends when a member is lost, and a call that waits fails for whichever it is.

use crate::Error;
use crate::holders::{ALL, NONE, ONE, PASSING};
use crate::window::Window;
use crate::words::Try;
use std::sync::atomic::{Ordering, fence};
use tern_adi::{Awaited, Proc, UNKNOWN};
use tern_mcm::PeerState;

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

    /// Takes from lost members what they have of the locks in shared memory, and tries once more. True where that is the end of it: the lock is taken,
    /// or `doubt` is a lost member that may have it.
    #[cold]
    pub(crate) fn take_from_lost(&self, rank: Option<u32>, attempt: &dyn Fn() -> Try, doubt: &mut Option<u32>) -> bool {
        if !self.survives {
            return false;
        }
        let losses = self.losses();
        if losses.is_empty() {
            return false;
        }
        losses.iter().for_each(|&lost| self.take_locks_of(lost));
        match attempt() {
            Try::Taken => return true,
            Try::Disturbed => self.rouse(),
            Try::Busy => {}
        }
        let passing = |lost: u32, at: u32| self.shared.shares(lost, at).load(Ordering::Acquire) == PASSING;
        let doubtful = |&lost: &u32| match rank {
            Some(rank) => passing(lost, rank),
            None => false,
        };
        *doubt = losses.into_iter().find(doubtful);
        doubt.is_some()
    }

    /// Whoever changes the note of the lost one first takes the lock from it.
    fn take_locks_of(&self, lost: u32) {
        let common = self.shared.common();
        // Acquire: pairs with the release of the note.
        let takes = |at: u32, note: u8| {
            let noted = self.shared.shares(lost, at);
            noted.compare_exchange(note, NONE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        // What it notes at the first member counts for all.
        let mut awaited = takes(0, ALL) && common.unlock_all();
        for rank in 0..self.peers.size() {
            let lock = &self.shared.member(rank).lock;
            awaited |= lock.include_lost(common, lost);
            awaited |= takes(rank, ONE) && lock.unshare(common);
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
            // Relaxed: the counter of all completions releases it.
            self.shared.completes(self.rank(), target).fetch_add(1, Ordering::Relaxed);
        }
        self.complete_shared(started);
        flushed
    }

    /// A target of the group that [`Window::start`] was called for is lost, at `from`:
    /// there is no epoch, and where the job goes on those that live do not wait for its end.
    #[cold]
    pub(crate) fn start_without(&self, group: &[u32], from: usize, lost: Error) -> Error {
        if !self.survives {
            return lost;
        }
        for &target in &group[from..] {
            let (posts, taken) = (self.shared.posts(self.rank(), target), &self.remote(target).taken);
            // Acquire: pairs with the release in `post`.
            let has_posted = || posts.load(Ordering::Acquire) != taken.get();
            if self.await_member(target, &has_posted).is_ok() {
                taken.set(taken.get().wrapping_add(1));
            }
        }
        _ = self.complete_aside(group);
        lost
    }

    /// Whether `origin` has completed all epochs that this process has posted to it.
    fn has_completed(&self, origin: u32) -> bool {
        self.shared.completes(origin, self.rank()).load(Ordering::Acquire) == self.remote(origin).posted.get()
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
            let (posted, completes) = (&self.remote(origin).posted, self.shared.completes(origin, self.rank()));
            let missing = posted.get().wrapping_sub(completes.load(Ordering::Acquire));
            posted.set(posted.get().wrapping_sub(missing));
            self.awaited.set(self.awaited.get().wrapping_sub(missing));
        }
    }

    /// Ends all accesses of this process, as far as their targets live.
    pub fn flush_living(&self) {
        (0..self.peers.size()).for_each(|rank| _ = self.flush(rank));
    }
}
