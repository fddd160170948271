//! Peers that have ended without a word: those of other jobs, and where the job survives them those of the own one.
//!
//! Nothing here is shared. A process takes what the lost one has left in the structures between the two, each of which has its rules for that.

use crate::link::Link;
use crate::liveness::Stage;
use crate::state::Shm;
use tern_device::Sink;

impl Shm {
    /// Looks for processes of other jobs that have gone without a word, if it is time; true when there are any.
    pub(crate) fn look_for_lost(&self) -> bool {
        self.links.borrow_mut().iter_mut().fold(false, |found, link| link.look() | found)
    }

    /// The same for processes of this job.
    pub(crate) fn look_at_home(&self) -> bool {
        self.vigil.as_ref().is_some_and(|vigil| vigil.is_due(&self.segment) && vigil.look(&self.segment, self.me))
    }

    /// Whether `peer`, of this job, was there and has gone without a word: by any thread. Costs a system call where somebody looks for that.
    pub(crate) fn has_gone(&self, peer: u32) -> bool {
        self.is_home(peer) && self.vigil.as_ref().is_some_and(|vigil| vigil.misses(&self.segment, peer))
    }

    /// Whether `peer`, of this job, has left, where peers look for that ([`Shm::ended`]): all that it has sent was sent before.
    pub(crate) fn has_left(&self, peer: u32) -> bool {
        self.vigil.is_some() && self.is_home(peer) && Stage::of(&self.segment, peer) == Stage::Left
    }

    /// Tells of the processes that are lost and were not told of, when all that they have sent was taken.
    #[cold]
    pub(crate) fn tell_lost<S: Sink>(&self, sink: &mut S) {
        let number = |link: &Link| -> Vec<u32> {
            let lost = link.liveness.iter().flat_map(|liveness| &liveness.lost);
            lost.map(|&place| link.number[place as usize]).collect()
        };
        let home = self.vigil.iter().flat_map(|vigil| vigil.lost());
        let lost: Vec<u32> = home.chain(self.links.borrow().iter().flat_map(number)).collect();
        for peer in lost {
            if !self.told.borrow_mut().insert(peer) {
                continue;
            }
            self.take_all(peer, sink);
            if self.is_home(peer) {
                self.take_last(peer, sink);
            }
            sink.lost(peer, "it has ended, or was ended, without MPI_Finalize");
        }
    }

    /// Takes what `peer`, which is lost, has left beside its packets: receives that it has filled, and messages that it has copied. From now on
    /// nothing is looked for there, and the kernel is not asked for its memory.
    fn take_last<S: Sink>(&self, peer: u32, sink: &mut S) {
        self.direct.access.has_ended(peer);
        self.finish_shares();
        self.poll_direct(sink);
        self.active.borrow_mut().retain(|&other| other != peer);
        self.unread.set(self.unread.get().filter(|&other| other != peer));
    }

    /// Says how far this process is, where peers of the job look for that.
    pub(crate) fn say_at_home(&self, stage: Stage) {
        if self.vigil.is_some() {
            stage.set(&self.segment, self.me);
        }
    }

    /// Says that this process takes part again, after [`Shm::ended`]: a session after the last one.
    pub fn returns(&self) {
        self.say_at_home(Stage::Here);
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod victim;
