//! Ranks that are lost while the job goes on (`--with-ft`). The others hear of it by their devices, or from here where no device looks.

use super::Job;
use crate::rank::State;
use tern_pmi::control::{self, Message};

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
        if !self.can_lose(rank) {
            return self.fail(code, text);
        }
        self.ranks[rank].state = State::Lost;
        if self.ending.is_some() {
            return;
        }
        self.withdraw(rank);
        let (world, number) = (self.ranks[rank].world, self.ranks[rank].number);
        self.tell_lost_ranks(world, &[number]);
        if let Some(uplink) = &self.uplink {
            return uplink.lost(world as u32, number, code, text);
        }
        self.losses.lost(code);
        let others = self.ranks.iter().any(|rank| rank.alive && rank.state != State::Lost);
        self.say(&format!("{text}{}", if others { "; the job goes on without it" } else { "" }));
    }

    /// Tells the ranks of a world which others of it are lost.
    pub(super) fn tell_lost_ranks(&self, world: usize, lost: &[u32]) {
        let living = self.ranks.iter().filter(|rank| rank.alive && rank.world == world && rank.state != State::Lost);
        for control in living.filter_map(|rank| rank.control.as_ref()) {
            // One that cannot be told is about to end.
            lost.iter().for_each(|&rank| _ = control::send(control, &Message::Lost { rank }));
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
