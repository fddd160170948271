//! Ranks and hosts that are lost while the job goes on (`--with-ft`).

use super::{Down, Server};
use crate::picture::{Told, ranges};
use crate::say::say;

impl Server<'_> {
    /// An agent has lost a rank of a world, which would have given the job that exit code.
    pub(super) fn rank_lost(&mut self, world: u32, rank: u32, code: i32, text: &str) {
        self.losses.lost(code);
        self.tell_lost(world, vec![rank]);
        if !self.is_ending() {
            say(&format!("{text}; the job goes on without it"));
        }
    }

    /// An agent has lost a rank of a further world, before those that spawned it could meet that.
    pub(super) fn world_lost(&mut self, world: u32, code: i32, text: &str) {
        if self.is_ending() || self.further_world(world).is_none_or(|further| further.given_up) {
            return;
        }
        self.losses.lost(code);
        say(&format!("{text}; the others of the same spawn are ended, and the job goes on"));
        self.give_up_world(world, text);
    }

    /// Ends the ranks of a further world that cannot meet those that spawned it. `why` is for those, if they wait for the start of it yet.
    fn give_up_world(&mut self, world: u32, why: &str) {
        let Some(further) = self.further_world(world) else { return };
        further.given_up = true;
        if !further.left.is_empty() {
            // The last agent's answer ends it.
            further.failed.get_or_insert((0, why.to_owned()));
            return;
        }
        let (agents, all) = (further.agents.clone(), (0..further.nodes.size()).collect());
        agents.iter().for_each(|&agent| self.tell_agent(agent, &Down::Recall(world)));
        self.tell_lost(world, all);
    }

    /// Tells all agents, and those that will come, which ranks of a world are lost.
    fn tell_lost(&mut self, world: u32, ranks: Vec<u32>) {
        let job = match self.further_world(world) {
            Some(further) => further.job_id,
            None => self.job_id,
        };
        self.told_lost.entry(job).or_default().extend(&ranks);
        self.tell_all(&Down::Lost(job, ranks));
    }

    /// An agent that has come late learns who was lost before.
    pub(super) fn tell_lost_before(&self, number: usize) {
        let told = self.told_lost.iter().map(|(job, ranks)| Down::Lost(*job, ranks.iter().copied().collect()));
        told.for_each(|message| self.tell_agent(number, &message));
    }

    /// Whether the job can go on without the ranks of a host: those of the first world do not wait for each other in MPI_Init.
    pub(super) fn can_lose_hosts(&self) -> bool {
        self.options.goes_on && self.agents.iter().all(|agent| agent.addresses.is_some())
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
                self.tell_lost(world, ranks);
            }
        }
        self.withdraw_names(number);
        let why = format!("host {name} is lost");
        for world in 1..=self.further.len() as u32 {
            self.start_lost(world, number, &why);
            if self.further_world(world).is_some_and(|further| !further.can_lose(number)) {
                self.give_up_world(world, &why);
            }
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
