//! Further processes of a job on several hosts: the agent of the rank that asks passes the orders on to the mpiexec of all
//! hosts, which divides them; all agents that get a share start it, and tell. A host of the user's list that has no agent yet
//! gets one for that.

use tern_pmi::{Nodes, Orders, addresses};

use super::Server;
use crate::host_list::{list, same_host};
use crate::uplink::{About, Down, Order};

/// A further world, as the mpiexec of all hosts knows it.
pub struct Further {
    /// Its random number.
    pub(super) job_id: u64,
    /// By node: the agent.
    pub(super) agents: Vec<usize>,
    pub(super) nodes: Nodes,
    /// By node: the addresses that were told.
    addresses: Vec<Option<Vec<Vec<u8>>>>,
    /// The agent whose rank has asked, and its number there.
    asked: (usize, u32),
    /// The agents that have not answered.
    pub(super) left: Vec<usize>,
    pub(super) failed: Option<(u32, String)>,
    /// Its ranks are ended, since one was lost before it could meet those that spawned it.
    pub(super) given_up: bool,
}

impl Further {
    /// Its ranks on the host of an agent.
    pub(super) fn members(&self, agent: usize) -> Vec<u32> {
        let node = (0..).zip(&self.agents).find(|(_, other)| **other == agent);
        node.map_or_else(Vec::new, |(node, _)| self.nodes.members(node))
    }

    /// Whether the others of it can do without that agent: they do not wait in MPI_Init for the places of all.
    pub(super) fn can_lose(&self, agent: usize) -> bool {
        let unsettled = !self.left.is_empty() || self.failed.is_some() || self.given_up;
        let met = self.nodes.count() == 1 || self.addresses.iter().all(Option::is_some);
        unsettled || met || !self.agents.contains(&agent)
    }
}

/// A service that a rank has published.
pub struct Published {
    pub service: String,
    port: String,
    /// The agent of that rank.
    pub agent: usize,
}

/// A host that processes may go to.
struct Room {
    agent: usize,
    /// Processes that it has room for, less those that it has.
    free: i64,
}

/// Divides so many processes: each goes where most room is, to the first one of several.
fn divide(rooms: &mut [Room], count: u32) {
    for _ in 0..count {
        let most = rooms.iter().map(|room| room.free).max();
        if let Some(room) = rooms.iter_mut().find(|room| Some(room.free) == most) {
            room.free -= 1;
        }
    }
}

impl Server<'_> {
    /// A rank asks for further processes.
    pub(super) fn further(&mut self, agent: usize, rank: u32, orders: Vec<u8>) {
        match self.order(agent, rank, orders) {
            Ok(()) => {}
            Err((command, why)) => self.answer(agent, rank, -1 - command as i32, &why),
        }
    }

    /// Has the processes started. The error is the number of the command that cannot be, and why.
    fn order(&mut self, agent: usize, rank: u32, bytes: Vec<u8>) -> Result<(), (u32, String)> {
        let orders = Orders::decode(&bytes).ok_or((0, "the request is damaged".to_owned()))?;
        if self.is_ending() {
            return Err((0, "the job is about to end".to_owned()));
        }
        let mut agents: Vec<u32> = Vec::new();
        let mut commands: Vec<u32> = Vec::new();
        for (at, order) in (0..).zip(&orders.commands) {
            let mut rooms = self.rooms(order.host.as_deref()).map_err(|why| (at, why))?;
            let before: Vec<i64> = rooms.iter().map(|room| room.free).collect();
            divide(&mut rooms, order.count);
            for (room, before) in rooms.iter().zip(before) {
                let count = (before - room.free) as u32;
                self.agents[room.agent].spawned += count;
                agents.extend((0..count).map(|_| room.agent as u32));
            }
            commands.resize(agents.len(), at);
        }
        for (&agent, &command) in agents.iter().zip(&commands) {
            if self.agents[agent as usize].lines.last().is_none() {
                let woken = self.wake(agent as usize).map_err(|why| (command, why));
                woken.inspect_err(|_| self.give_room_back(&agents))?;
            }
        }
        let nodes = Nodes::of_numbers(&agents).ok_or((0, "no process is asked for".to_owned()))?;
        let mut by_node: Vec<usize> = Vec::new();
        for node in 0..nodes.count() {
            by_node.push(agents[nodes.members(node)[0] as usize] as usize);
        }
        let world = 1 + self.further.len() as u32;
        for (node, &number) in (0..).zip(&by_node) {
            let order = Order { world, node, nodes: nodes.clone(), orders: bytes.clone() };
            self.give(number, world, order.encode());
        }
        let left = by_node.clone();
        let addresses = by_node.iter().map(|_| None).collect();
        let (job_id, asked, failed, given_up) = (orders.job_id, (agent, rank), None, false);
        self.further.push(Further { job_id, agents: by_node, nodes, addresses, asked, left, failed, given_up });
        Ok(())
    }

    /// Processes on these hosts are not started after all.
    fn give_room_back(&mut self, agents: &[u32]) {
        for &agent in agents {
            let spawned = &mut self.agents[agent as usize].spawned;
            *spawned = spawned.saturating_sub(1);
        }
    }

    /// The hosts that `wanted` names (`a,b:2`), or all; those whose agent is there or can be started.
    fn rooms(&self, wanted: Option<&std::ffi::OsStr>) -> Result<Vec<Room>, String> {
        let there = |agent: usize| self.can_start_on(agent);
        let room = |agent: usize, slots: Option<u32>| {
            let own = self.slots.get(agent).copied().flatten().unwrap_or(self.shares[agent].ranks);
            let used = self.shares[agent].ranks + self.agents[agent].spawned;
            // What the program itself says of its room is for these processes.
            let free = slots.map_or(i64::from(own) - i64::from(used), i64::from);
            Room { agent, free }
        };
        let Some(wanted) = wanted else {
            return Ok((0..self.agents.len()).filter(|&agent| there(agent)).map(|agent| room(agent, None)).collect());
        };
        let hosts = list(wanted)?;
        let mut rooms = Vec::new();
        for host in hosts {
            let is = |&agent: &usize| same_host(self.agents[agent].name(), &host.name);
            let found = (0..self.agents.len()).find(is);
            if found.is_some_and(|agent| self.agents[agent].lost) {
                return Err(format!("host {} is lost", host.name));
            }
            let agent = found.filter(|&agent| there(agent)).ok_or_else(|| {
                let all: Vec<&str> = self.agents.iter().map(|agent| agent.name()).collect();
                format!("host {} is not one of this job, which has {}", host.name, all.join(", "))
            })?;
            rooms.push(room(agent, host.slots));
        }
        Ok(rooms)
    }

    /// A further world by its number; the first has 1.
    pub(super) fn further_world(&mut self, world: u32) -> Option<&mut Further> {
        self.further.get_mut((world as usize).checked_sub(1)?)
    }

    /// An agent has started its share, or has not. When all have answered, the rank that has asked is told.
    pub(super) fn started(&mut self, number: usize, world: u32, failed: Option<(u32, String)>) {
        let Some(further) = self.further_world(world) else { return };
        further.left.retain(|&agent| agent != number);
        further.failed = further.failed.take().or(failed);
        if !further.left.is_empty() {
            return;
        }
        let (agent, rank) = further.asked;
        let (nodes, agents) = (further.nodes.clone(), further.agents.clone());
        let size = nodes.size();
        match further.failed.clone() {
            None => self.answer(agent, rank, size as i32, ""),
            Some((command, why)) => {
                agents.iter().for_each(|&agent| self.tell_agent(agent, &Down::Recall(world)));
                let by_rank: Vec<u32> = (0..size).map(|rank| agents[nodes.of(rank) as usize] as u32).collect();
                self.give_room_back(&by_rank);
                self.answer(agent, rank, -1 - command as i32, &why);
            }
        }
    }

    /// The agent of a share is lost. Unless all shares have been started, the world cannot be.
    pub(super) fn start_lost(&mut self, world: u32, number: usize, why: &str) {
        let Some(further) = self.further_world(world).filter(|further| further.agents.contains(&number)) else {
            return;
        };
        if !further.left.is_empty() {
            self.started(number, world, Some((0, why.to_owned())));
        }
    }

    /// An agent tells the addresses of its ranks of a further world. With the last one all get the table.
    pub(super) fn further_addresses(&mut self, world: u32, number: usize, table: &[u8]) {
        let Some(further) = self.further_world(world) else { return };
        if let Some(node) = further.agents.iter().position(|&agent| agent == number) {
            further.addresses[node] = addresses::decode(table);
        }
        let Some(all) = further.addresses.iter().map(Option::as_ref).collect::<Option<Vec<_>>>() else { return };
        let mut by_rank = vec![&[][..]; further.nodes.size() as usize];
        for (node, addresses) in (0..).zip(all) {
            for (rank, address) in further.nodes.members(node).into_iter().zip(addresses) {
                by_rank[rank as usize] = address;
            }
        }
        let table = addresses::encode(by_rank.into_iter());
        let agents = further.agents.clone();
        agents.iter().for_each(|&agent| self.tell_agent(agent, &Down::Addresses(world, table.clone())));
    }

    pub(super) fn tell_agent(&self, agent: usize, message: &Down) {
        if let Some(socket) = self.agents[agent].lines.last() {
            // What goes wrong is seen where the connection is read.
            let _ = message.send(socket);
        }
    }

    pub(super) fn answer(&self, agent: usize, rank: u32, value: i32, text: &str) {
        self.tell_agent(agent, &Down::Answer(rank, value, text.to_owned()));
    }

    /// An agent has no ranks that run, after so many orders.
    pub(super) fn idle(&mut self, number: usize, orders: u32) {
        self.agents[number].idle_after = Some(orders);
        self.leave_if_idle();
    }

    /// When no agent has ranks that run, all may go.
    pub(super) fn leave_if_idle(&mut self) {
        let idle = self.agents.iter().all(|agent| agent.idle_after == Some(agent.orders));
        if idle && !self.is_ending() {
            self.tell_all(&Down::Leave);
        }
    }

    /// A rank publishes a name, takes one back or looks one up, which the job has wherever its ranks are.
    pub(super) fn name(&mut self, agent: usize, rank: u32, what: About, service: &str, port: &str) {
        let known = self.names.iter().position(|name| name.service == service);
        match (what, known) {
            (About::Publish, Some(_)) => self.answer(agent, rank, -1, "it is published already"),
            (About::Publish, None) => {
                self.names.push(Published { service: service.to_owned(), port: port.to_owned(), agent });
                self.answer(agent, rank, 0, "");
            }
            (About::Unpublish, Some(at)) if self.names[at].port == port => {
                self.names.swap_remove(at);
                self.tell_all(&Down::Unpublished(service.to_owned()));
                self.answer(agent, rank, 0, "");
            }
            (About::Unpublish, Some(at)) => {
                let text = format!("it stands for another port, {}", self.names[at].port);
                self.answer(agent, rank, -1, &text);
            }
            (About::Unpublish, None) => self.answer(agent, rank, -1, "no process of this job has published it"),
            (About::LookUp, Some(at)) => self.answer(agent, rank, 0, &self.names[at].port),
            (About::LookUp, None) => self.answer(agent, rank, -1, ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_go_where_most_room_is() {
        let shares = |free: &[i64], count| {
            let room = |(agent, &free)| Room { agent, free };
            let mut rooms: Vec<Room> = free.iter().enumerate().map(room).collect();
            divide(&mut rooms, count);
            rooms.iter().zip(free).map(|(room, before)| before - room.free).collect::<Vec<_>>()
        };
        assert_eq!(shares(&[0, 0, 0], 4), [2, 1, 1]);
        assert_eq!(shares(&[0, 3, 1], 3), [0, 3, 0]);
        assert_eq!(shares(&[-2, 0], 4), [1, 3]);
    }
}
