//! Hosts that the user has named and that have no ranks at the start. Their agents are started when ranks spawn processes
//! that go there.

use std::ffi::OsString;
use std::sync::mpsc::Sender;

use tern_pmi::Secret;

use super::super::starter::Method;
use super::{Agent, Down, Event, Server};

/// What starts agents.
#[derive(Clone)]
pub(super) struct Starting {
    pub secret: Secret,
    pub method: Method,
    pub mpiexec: OsString,
    /// Where agents call.
    pub callers: String,
    pub tell: Sender<Event>,
    pub mask: libc::sigset_t,
}

impl Agent {
    /// One that may be started later. Nothing is expected of it until then.
    pub(super) fn dormant(name: String) -> Agent {
        let (addresses, bindings) = (Some(Vec::new()), Some(Vec::new()));
        Agent { running: false, addresses, bindings, idle_after: Some(0), ..Agent::expected(name) }
    }
}

impl Server<'_> {
    /// Whether that host has no ranks of the first world.
    pub(super) fn is_late(&self, number: usize) -> bool {
        self.shares[number].ranks == 0
    }

    /// How many processes all hosts have room for, if that is said of all; the ranks, if those are more.
    pub(super) fn room_of_all(&self) -> Option<u32> {
        let room: Option<u32> = self.slots.iter().copied().sum();
        room.map(|room| room.max(self.nodes.size()))
    }

    /// Whether processes can be started on that host: by its agent, or by one that is started for that.
    pub(super) fn can_start_on(&self, number: usize) -> bool {
        let agent = &self.agents[number];
        agent.lines.last().is_some() || self.is_late(number) && !agent.lines.have_called()
    }

    /// Starts the agent of a host that has none yet.
    pub(super) fn wake(&mut self, number: usize) -> Result<(), String> {
        if self.agents[number].running {
            return Ok(());
        }
        let Some(starting) = self.starting.clone() else { return Ok(()) };
        let Starting { secret, method, mpiexec, callers, tell, mask } = starting;
        let host = [(number as u32, self.agents[number].name.clone())];
        let near = method != Method::Fork && tern_node::is_this_machine(&host[0].1);
        let starts = if near { Method::Fork } else { method }.starts(&mpiexec, &callers, &host);
        self.agents[number].running = true;
        for start in starts {
            // What it could read is the ranks' of the first world.
            let started = self.start(start, &secret, &tell, mask, &mut Vec::new());
            started.inspect_err(|_| self.agents[number].running = false)?;
        }
        Ok(())
    }

    /// Gives an agent its share of a further world, at once or when it has come.
    pub(super) fn give(&mut self, number: usize, world: u32, order: Vec<u8>) {
        let agent = &mut self.agents[number];
        agent.orders += 1;
        match agent.lines.last().filter(|_| agent.lines.have_begun()) {
            // What goes wrong is seen where the connection is read.
            Some(socket) => _ = Down::Spawn(order).send(socket),
            None => agent.waiting.push((world, order)),
        }
    }

    /// An agent has begun: it gets what waits for it.
    pub(super) fn give_waiting(&mut self, number: usize) {
        let agent = &mut self.agents[number];
        let waiting = std::mem::take(&mut agent.waiting);
        if let Some(socket) = agent.lines.last() {
            waiting.into_iter().for_each(|(_, order)| _ = Down::Spawn(order).send(socket));
        }
    }

    /// The agent of such a host could not be started. The job goes on without the processes that were to be there.
    pub(super) fn not_woken(&mut self, number: usize, why: &str) {
        let name = self.agents[number].name.clone();
        let agent = std::mem::replace(&mut self.agents[number], Agent::dormant(name));
        for (world, _) in agent.waiting {
            self.started(number, world, Some((0, why.to_owned())));
        }
    }
}
