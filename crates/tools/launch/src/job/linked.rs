//! A job that is the part of one host, with an mpiexec above it that knows all hosts.

use std::time::Duration;

use super::{Job, Rank};
use crate::descendants;
use crate::rank::State;
use crate::signals::Signal;
use crate::uplink::Down;

impl Job<'_> {
    /// Does what the mpiexec of all hosts says; without it, this part ends.
    pub(super) fn hear(&mut self) {
        let Some(uplink) = &self.uplink else { return };
        match uplink.receive() {
            Ok(Down::Addresses(world, table)) => self.tell_addresses(world as usize, &table),
            Ok(Down::Spawn(order)) => self.spawn_share(&order),
            Ok(Down::Recall(world)) => self.recall_world(world as usize),
            Ok(Down::Answer(rank, value, text)) => self.answered(rank as usize, value, &text),
            Ok(Down::Unpublished(service)) => self.names.retain(|(_, name)| name.service() != service),
            Ok(Down::Lost(job, ranks)) => self.note_lost(job, &ranks),
            Ok(Down::Leave) => self.dismissed = true,
            Ok(Down::Release) => self.release(),
            Ok(Down::Ask) => self.ask_all(None),
            Ok(Down::End) if self.ending.is_none() => self.end(),
            Ok(Down::Signal(number)) => self.signal(Signal { number, from_kernel: false }),
            Ok(_) => {}
            Err(_) => {
                if self.kept.is_some() {
                    self.root_gone();
                }
                descendants::end_all(Duration::ZERO);
                std::process::exit(1);
            }
        }
    }

    /// True while this part goes on without ranks: it may have to start further ones, unless it is the keeper of ranks that
    /// another launcher has started, which waits for the end of all of a node.
    pub(super) fn stays(&mut self) -> bool {
        let Some(uplink) = self.uplink.as_ref().filter(|_| self.kept.is_none() && self.ending.is_none()) else {
            return false;
        };
        if self.idle_after != Some(self.orders) {
            self.idle_after = Some(self.orders);
            uplink.idle(self.orders);
        }
        !self.dismissed
    }

    /// Tells whether a rank here has initialised MPI, and whether one will never do so.
    pub(super) fn tell_standing(&mut self) {
        if self.uplink.is_none() || self.ending.is_some() {
            return;
        }
        let waits = self.ranks.iter().find(|rank| rank.state == State::Initialised);
        let waits = waits.map_or(String::new(), |rank| self.called(rank));
        let left = |rank: &Rank| !rank.alive && !rank.recalled && rank.state == State::Started;
        let gone = self.ranks.iter().position(left);
        let gone = gone.map_or(String::new(), |rank| self.named(rank, self.ranks[rank].pid));
        if let Some(uplink) = &mut self.uplink {
            uplink.standing(waits, gone);
        }
    }
}
