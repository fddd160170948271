//! Ranks and hosts that are lost while the job goes on (`--with-ft`).

use super::{Down, Server};
use crate::picture::{Told, ranges};
use crate::say::say;

impl Server<'_> {
    /// An agent has lost a rank, which would have given the job that exit code.
    pub(super) fn rank_lost(&mut self, code: i32, text: &str) {
        self.losses.lost(code);
        if !self.is_ending() {
            say(&format!("{text}; the job goes on without it"));
        }
    }

    /// Whether the job can go on without the ranks of a host: those of other hosts do not wait for them in MPI_Init.
    pub(super) fn can_lose(&self, number: usize) -> bool {
        let begun = self.agents.iter().all(|agent| agent.addresses.is_some());
        self.options.goes_on && begun && self.further.iter().all(|world| world.can_lose(number))
    }

    /// An agent, its host or the way to it is gone, as `text` says, and the job goes on.
    pub(super) fn host_lost(&mut self, number: usize, text: &str) {
        if self.is_ending() {
            return;
        }
        let agent = &mut self.agents[number];
        // Its ranks had ended, if it has said so.
        let empty = agent.idle_after == Some(agent.orders);
        agent.idle_after = Some(agent.orders);
        (agent.lost, agent.running) = (true, false);
        (agent.waits, agent.gone) = Default::default();
        let name = agent.name.clone();
        if empty {
            say(&format!("{text}; no rank ran there any more"));
        } else {
            self.losses.lost(1);
            say(&format!("{text}; the job goes on without {}", self.ranks_on(number)));
        }
        if let Some(gathering) = &mut self.stall {
            gathering.tell(number, vec![Told::Ended; self.shares[number].ranks as usize]);
        }
        self.withdraw_names(number);
        for world in 1..=self.further.len() as u32 {
            self.start_lost(world, number, &format!("host {name} is lost"));
        }
        self.leave_if_idle();
    }

    /// The ranks that were started on a host, in words.
    fn ranks_on(&self, number: usize) -> String {
        let late = self.is_late(number);
        let own = if late { Vec::new() } else { self.nodes.members(number as u32) };
        let spawned =
            (1..).zip(&self.further).map(|(world, further)| (format!(" of spawn {world}"), further.members(number)));
        let groups = std::iter::once((String::new(), own)).chain(spawned).filter(|(_, ranks)| !ranks.is_empty());
        let named = |(of, ranks): (String, Vec<u32>)| {
            let word = if ranks.len() == 1 { "rank" } else { "ranks" };
            format!("{word} {}{of}", ranges(&ranks))
        };
        groups.map(named).collect::<Vec<_>>().join(" and ")
    }

    /// Takes back what ranks of a lost host have published.
    fn withdraw_names(&mut self, number: usize) {
        let (gone, kept) = std::mem::take(&mut self.names).into_iter().partition(|name| name.agent == number);
        self.names = kept;
        let gone: Vec<super::further::Published> = gone;
        gone.into_iter().for_each(|name| self.tell_all(&Down::Unpublished(name.service)));
    }
}

#[cfg(test)]
mod tests;
