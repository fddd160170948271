//! Ranks that are lost while the job goes on (`--with-ft`). The others hear of it by their devices, or from here where no device looks.

use super::{Job, Rank};
use crate::rank::State;

impl Job<'_> {
    /// Whether the job can go on without a rank: between MPI_Init, which waits for the places of all where there are several nodes, and
    /// MPI_Finalize.
    pub(super) fn can_lose(&self, rank: usize) -> bool {
        let known = &self.ranks[rank];
        let alone = || self.worlds[known.world].as_ref().is_none_or(|world| world.nodes.count() == 1);
        self.plan.goes_on && matches!(known.state, State::Initialised | State::Replaced) && (known.placed || alone())
    }

    /// A rank has ended before MPI_Finalize: the job goes on without it, if it may, or ends with this code. `text` says what has happened.
    pub(super) fn lose(&mut self, rank: usize, code: i32, text: &str) {
        if self.ranks[rank].recalled {
            return;
        }
        if !self.can_lose(rank) {
            return match self.plan.goes_on && self.ranks[rank].world > 0 {
                true => self.lose_world(rank, code, text),
                false => self.fail(code, text),
            };
        }
        self.ranks[rank].state = State::Lost;
        if self.ending.is_some() {
            return;
        }
        self.withdraw(rank);
        let (world, job, number) = (self.ranks[rank].world, self.ranks[rank].job, self.ranks[rank].number);
        self.note_lost(job, &[number]);
        if let Some(uplink) = &self.uplink {
            return uplink.lost(world as u32, number, code, text);
        }
        self.losses.lost(code);
        let others = self.ranks.iter().any(|rank| rank.alive && rank.state != State::Lost);
        self.say(&format!("{text}{}", if others { "; the job goes on without it" } else { "" }));
    }

    /// A rank that was spawned has ended before it has met those that spawned it. The others of its world, which cannot do that without it, are
    /// ended, and the job goes on.
    pub(super) fn lose_world(&mut self, rank: usize, code: i32, text: &str) {
        self.ranks[rank].state = State::Lost;
        if self.ending.is_some() {
            return;
        }
        let world = self.ranks[rank].world;
        if let Some(uplink) = &self.uplink {
            return uplink.world_lost(world as u32, code, text);
        }
        self.losses.lost(code);
        let others = self.ranks.iter().any(|rank| rank.alive && rank.world == world);
        let rest =
            if others { "; the others of the same spawn are ended, and the job goes on" } else { "; the job goes on" };
        self.say(&format!("{text}{rest}"));
        self.recall_world(world);
        let all: Vec<u32> = self.ranks.iter().filter(|rank| rank.world == world).map(|rank| rank.number).collect();
        self.note_lost(self.ranks[rank].job, &all);
    }

    /// Notes and tells all ranks which ones of a world are lost: those of the same, and of worlds that know it or are about to meet it.
    pub(super) fn note_lost(&mut self, job_id: u64, lost: &[u32]) {
        self.history.note(job_id, lost);
        (0..self.ranks.len()).for_each(|rank| self.tell_lost_to(rank));
    }

    /// Whether a rank has yet to hear of lost ones.
    pub(super) fn is_behind(&self, rank: &Rank) -> bool {
        rank.alive && rank.state != State::Lost && self.history.goes_beyond(rank.told)
    }

    /// Tells a rank of the lost ones that it has not heard of, as far as its socket has room. The rest follows when the rank has taken these.
    pub(super) fn tell_lost_to(&mut self, number: usize) {
        if !self.is_behind(&self.ranks[number]) {
            return;
        }
        let rank = &mut self.ranks[number];
        if let Some(control) = &rank.control {
            self.history.tell(control, &mut rank.told);
        }
    }

    /// The process that initialised MPI for a rank has ended, though this process is not told how, as its parent is.
    pub(super) fn missed(&mut self, rank: usize, name: String) {
        // The launcher knows which of several was the first, and that is told where it ends the job.
        let together = self.kept.is_some() && !self.can_lose(rank);
        let names = if together { self.ended_together(rank, name) } else { name };
        self.lose(rank, 1, &format!("{names} ended without calling MPI_Finalize"));
    }

    /// Takes back the names that a rank has published: nobody answers at its ports, and its successor may want them.
    fn withdraw(&mut self, rank: usize) {
        match &self.uplink {
            Some(uplink) => {
                let own = self.names.iter().filter(|(owner, _)| *owner == rank);
                own.for_each(|(_, name)| uplink.withdraw(rank as u32, name.service(), name.port()));
            }
            None => self.names.retain(|(owner, _)| *owner != rank),
        }
    }

    /// A rank has ended MPI, which the exit code of the job depends on.
    pub(super) fn note_finalized(&mut self) {
        if self.losses.finalized()
            && self.plan.goes_on
            && let Some(uplink) = &self.uplink
        {
            uplink.finalized();
        }
    }
}
