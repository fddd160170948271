//! Ranks and hosts that are lost while the job goes on (`--with-ft`).

use super::{Down, Server};
use crate::picture::{Told, ranges};
use crate::say::say;

impl Server<'_> {
    /// An agent has lost a rank of a world, which would have given the job that exit code.
    pub(super) fn rank_lost(&mut self, world: u32, rank: u32, code: i32, text: &str) {
        self.losses.lost(code);
        self.tell_all(&Down::Lost(world, vec![rank]));
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
        for (world, ranks) in (0..).zip(self.started_on(number)) {
            if !ranks.is_empty() {
                self.tell_all(&Down::Lost(world, ranks));
            }
        }
        self.withdraw_names(number);
        for world in 1..=self.further.len() as u32 {
            self.start_lost(world, number, &format!("host {name} is lost"));
        }
        self.leave_if_idle();
    }

    /// The ranks that were started on a host, by world.
    fn started_on(&self, number: usize) -> Vec<Vec<u32>> {
        let late = self.is_late(number);
        let own = if late { Vec::new() } else { self.nodes.members(number as u32) };
        std::iter::once(own).chain(self.further.iter().map(|further| further.members(number))).collect()
    }

    /// The same in words.
    fn ranks_on(&self, number: usize) -> String {
        let of = |world: u32| if world == 0 { String::new() } else { format!(" of spawn {world}") };
        let groups = (0..).zip(self.started_on(number)).filter(|(_, ranks)| !ranks.is_empty());
        let groups = groups.map(|(world, ranks)| (of(world), ranks));
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
