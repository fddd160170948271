//! What ranks ask for: further processes, and names for ports.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use tern_pmi::control::{self, Message};
use tern_pmi::names::Name;
use tern_pmi::{Nodes, Orders, parcel};

use super::start::{Start, raise_file_limit};
use super::{Job, World};
use crate::plan::{Planned, further};
use crate::signals;

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
        if self.uplink.is_some() {
            return Err(refuse("a job on several hosts cannot start further processes"));
        }
        let mut fds = fds.into_iter();
        let (Some(orders), Some(parents)) = (fds.next(), fds.next()) else {
            return Err(refuse("the request is not complete"));
        };
        let orders = parcel::unpack(orders).ok().and_then(|bytes| Orders::decode(&bytes));
        let orders = orders.ok_or_else(|| refuse("the request is damaged"))?;
        let programs: Vec<Planned> = (orders.commands.iter().enumerate())
            .map(|(at, order)| further(order, &orders).map_err(|unusable| (at, unusable.text)))
            .collect::<Result<_, _>>()?;
        let size: u32 = programs.iter().map(|program| program.count).sum();
        let alive = self.ranks.iter().filter(|rank| rank.alive).count();
        self.files = self.files.or(raise_file_limit(alive + size as usize));
        let world = World::new(orders.job_id, Nodes::one(size), Some(parents)).map_err(|text| refuse(&text))?;
        self.worlds.push(Some(world));
        self.start_world(&programs)
    }

    /// Starts the ranks of the newest world.
    fn start_world(&mut self, programs: &[Planned]) -> Result<u32, (usize, String)> {
        let world = self.worlds.len() - 1;
        let first = self.ranks.len();
        let each = programs.iter().enumerate();
        let ranks = each.flat_map(|(appnum, program)| (0..program.count).map(move |_| (appnum, program)));
        for (number, (appnum, program)) in (0..).zip(ranks) {
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
        if self.names.iter().any(|name| name.service() == service) {
            return self.answer(rank, -1, "it is published already");
        }
        match Name::publish(service, port) {
            Ok(name) => {
                self.names.push(name);
                self.answer(rank, 0, "");
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
        match self.names.iter().find(|name| name.service() == service) {
            Some(name) => self.answer(rank, 0, name.port()),
            None => self.answer(rank, -1, ""),
        }
    }

    /// Ends that.
    pub(super) fn unpublish(&mut self, rank: usize, service: &str, port: &str) {
        let published = self.names.iter().position(|name| name.service() == service);
        match published.map(|at| (at, self.names[at].port())) {
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
        if let Some(name) = self.names.get(at) {
            name.answer();
        }
    }
}
