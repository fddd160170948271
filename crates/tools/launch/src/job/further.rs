//! What ranks ask for: further processes, and names for ports.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use tern_pmi::control::{self, Message};
use tern_pmi::names::Name;
use tern_pmi::{Nodes, Order, Orders, parcel};

use super::start::{Start, raise_file_limit};
use super::{Job, World};
use crate::planned::Planned;
use crate::uplink::{self, About};
use crate::{host_list, plan, signals};

/// Fails for processes that are to be on other machines.
fn only_here(order: &Order) -> Result<(), String> {
    let Some(hosts) = &order.host else { return Ok(()) };
    match host_list::list(hosts)?.into_iter().find(|host| !tern_node::is_this_machine(&host.name)) {
        None => Ok(()),
        Some(host) => {
            let host = host.name;
            Err(format!("host {host} is not one of this job, which runs on this machine only (mpiexec --hosts)"))
        }
    }
}

impl Job<'_> {
    fn answer(&self, rank: usize, value: i32, text: &str) {
        if let Some(control) = &self.ranks[rank].control {
            // If it is gone by now, nobody waits.
            let text = text.to_owned();
            let _ = control::send(control, &Message::Answer { value, text });
        }
    }

    /// Starts the processes that a rank asks for, all of them or none.
    pub(super) fn spawn(&mut self, rank: usize, fds: Vec<OwnedFd>) {
        if let (Some(uplink), None) = (&self.uplink, &self.ending) {
            let orders = fds.into_iter().next().and_then(|orders| parcel::unpack(orders).ok());
            return uplink.spawn(rank as u32, orders.unwrap_or_default());
        }
        match self.try_spawn(fds) {
            Ok(count) => self.answer(rank, count as i32, ""),
            Err((command, text)) => self.answer(rank, -1 - command as i32, &text),
        }
    }

    /// How many were started; or the number of the command that could not be, and why.
    fn try_spawn(&mut self, fds: Vec<OwnedFd>) -> Result<u32, (usize, String)> {
        let refuse = |text: &str| (0, text.to_owned());
        if self.ending.is_some() {
            return Err(refuse("the job is about to end"));
        }
        let mut fds = fds.into_iter();
        let Some(orders) = fds.next() else {
            return Err(refuse("the request is not complete"));
        };
        let orders = parcel::unpack(orders).ok().and_then(|bytes| Orders::decode(&bytes));
        let orders = orders.ok_or_else(|| refuse("the request is damaged"))?;
        for (at, order) in orders.commands.iter().enumerate() {
            only_here(order).map_err(|why| (at, why))?;
        }
        let size: u32 = orders.commands.iter().map(|order| order.count).sum();
        let nodes = match self.plan.simulated {
            true => Nodes::even(size, self.plan.nodes.count().min(size)),
            false => Nodes::one(size),
        };
        self.start_share(self.worlds.len(), &orders, nodes, None, fds.next())
    }

    /// The mpiexec of all hosts has this part start a share of a further world.
    pub(super) fn spawn_share(&mut self, order: &[u8]) {
        self.orders += 1;
        let Some(order) = uplink::Order::decode(order) else { return };
        let world = order.world as usize;
        let outcome = match Orders::decode(&order.orders) {
            Some(orders) => self.start_share(world, &orders, order.nodes, Some(order.node), None),
            None => Err((0, "the request is damaged".to_owned())),
        };
        let on_host = |(command, text): (usize, String)| {
            let host = self.uplink.as_ref().map_or("", |uplink| &uplink.host);
            (command as u32, format!("{text} (host {host})"))
        };
        let failed = outcome.err().map(on_host);
        if let Some(uplink) = &self.uplink {
            uplink.started(order.world, failed);
        }
    }

    /// Starts the ranks of a further world that are on `node`, or all. They share `memory` with those that spawned them, or
    /// find them at the port that the orders name.
    fn start_share(
        &mut self, number: usize, orders: &Orders, nodes: Nodes, node: Option<u32>, memory: Option<OwnedFd>,
    ) -> Result<u32, (usize, String)> {
        let refuse = |text: &str| (0, text.to_owned());
        let programs: Vec<Planned> = (orders.commands.iter().enumerate())
            .map(|(at, order)| plan::further(order, orders).map_err(|unusable| (at, unusable.text)))
            .collect::<Result<_, _>>()?;
        let here = node.map_or_else(|| (0..nodes.size()).collect(), |node| nodes.members(node));
        let alive = self.ranks.iter().filter(|rank| rank.alive).count();
        self.files = self.files.or(raise_file_limit(alive + here.len() + nodes.count() as usize));
        let parents = match &orders.port {
            Some(port) => parcel::pack(port.as_encoded_bytes()).map_err(|errno| refuse(&errno.to_string()))?,
            None => memory.ok_or_else(|| refuse("the request is not complete"))?,
        };
        let mut world = World::new(orders.job_id, nodes, Some(parents)).map_err(|text| refuse(&text))?;
        world.simulated = self.plan.simulated;
        // Those between have no ranks here.
        self.worlds.resize_with(number, || None);
        self.worlds.push(Some(Box::new(world)));
        self.start_world(&programs, &here)
    }

    /// Starts those ranks of the newest world.
    fn start_world(&mut self, programs: &[Planned], here: &[u32]) -> Result<u32, (usize, String)> {
        let world = self.worlds.len() - 1;
        let first = self.ranks.len();
        let each = programs.iter().enumerate();
        let ranks = each.flat_map(|(appnum, program)| (0..program.count).map(move |_| (appnum, program)));
        for (number, (appnum, program)) in (0..).zip(ranks).filter(|(number, _)| here.contains(number)) {
            let start = Start { world, number, program, appnum, cores: None };
            if let Err((errno, step)) = self.start_rank(&start) {
                self.recall(first);
                let name = &program.name;
                return Err((appnum, format!("{name} cannot be started: {step}{errno}")));
            }
            self.report(self.ranks.len() - 1);
        }
        Ok((self.ranks.len() - first) as u32)
    }

    /// Ends the ranks from `first` on, whose world cannot be completed.
    fn recall(&mut self, first: usize) {
        for rank in &mut self.ranks[first..] {
            rank.recalled = true;
            signals::send(rank.pid, libc::SIGKILL);
        }
        if self.ranks.len() == first {
            self.worlds.pop();
            self.worlds.push(None);
        }
    }

    /// Ends the ranks of a further world that could not be completed elsewhere.
    pub(super) fn recall_world(&mut self, world: usize) {
        for rank in self.ranks.iter_mut().filter(|rank| rank.world == world && rank.alive) {
            rank.recalled = true;
            signals::send(rank.pid, libc::SIGKILL);
        }
    }

    /// The mpiexec of all hosts answers a rank.
    pub(super) fn answered(&mut self, rank: usize, value: i32, text: &str) {
        if let Some(at) = self.naming.iter().position(|(other, _)| *other == rank) {
            let (_, service) = self.naming.swap_remove(at);
            if value != 0 {
                self.names.retain(|(_, name)| name.service() != service);
            }
        }
        if rank < self.ranks.len() {
            self.answer(rank, value, text);
        }
    }

    /// Gives up the descriptors of a rank that has ended, and those of its world with the last one.
    pub(super) fn forget(&mut self, rank: usize) {
        self.listen(rank);
        let rank = &mut self.ranks[rank];
        let world = rank.world;
        if world == 0 || rank.mpi.is_some() {
            return;
        }
        rank.theirs = None;
        rank.control = None;
        if !self.ranks.iter().any(|rank| rank.world == world && rank.alive) {
            self.worlds[world] = None;
        }
    }

    /// Makes a port known.
    pub(super) fn publish(&mut self, rank: usize, service: &str, port: &str) {
        if self.names.iter().any(|(_, name)| name.service() == service) {
            return self.answer(rank, -1, "it is published already");
        }
        match Name::publish(service, port) {
            Ok(name) => {
                self.names.push((rank, name));
                match &self.uplink {
                    Some(uplink) => {
                        // Another rank may have it on another host.
                        uplink.name(rank as u32, About::Publish, service, port);
                        self.naming.push((rank, service.to_owned()));
                    }
                    None => self.answer(rank, 0, ""),
                }
            }
            Err(Errno::PERM) => {
                let text = "a process of another user, or one that answers nobody, holds its address on this machine; \
                    take another name";
                self.answer(rank, -1, text);
            }
            Err(errno) => self.answer(rank, -1, &format!("socket: {errno}")),
        }
    }

    /// Tells a port that a rank of this job has published.
    pub(super) fn look_up(&self, rank: usize, service: &str) {
        if let Some(uplink) = &self.uplink {
            return uplink.name(rank as u32, About::LookUp, service, "");
        }
        match self.names.iter().find(|(_, name)| name.service() == service) {
            Some((_, name)) => self.answer(rank, 0, name.port()),
            None => self.answer(rank, -1, ""),
        }
    }

    /// Ends that.
    pub(super) fn unpublish(&mut self, rank: usize, service: &str, port: &str) {
        if let Some(uplink) = &self.uplink {
            return uplink.name(rank as u32, About::Unpublish, service, port);
        }
        let published = self.names.iter().position(|(_, name)| name.service() == service);
        match published.map(|at| (at, self.names[at].1.port())) {
            Some((at, known)) if known == port => {
                self.names.swap_remove(at);
                self.answer(rank, 0, "");
            }
            Some((_, other)) => {
                let text = format!("it stands for another port, {other}");
                self.answer(rank, -1, &text);
            }
            None => self.answer(rank, -1, "no process of this job has published it"),
        }
    }

    /// A process of another job asks for a name.
    pub(super) fn answer_name(&self, at: usize) {
        if let Some((_, name)) = self.names.get(at) {
            name.answer();
        }
    }
}
