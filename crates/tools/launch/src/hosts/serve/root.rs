//! What the keepers of several nodes have in common, where another launcher has started the ranks. It is on rank 0's
//! node, started by rank 0. It starts nothing: keepers come to it.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};

use rustix::net::RecvFlags;
use tern_pmi::foreign::Begin;

use super::{Agent, Down, Event, Options, Server, Share};
use crate::{descendants, signals};

/// Serves the keepers of a job until all have gone; `leader` is the socket to the process that has started this one.
pub fn run(begin: &Begin, leader: OwnedFd) -> i32 {
    descendants::adopt();
    tern_settings::load();
    signals::block();
    let options = Options { goes_on: tern_settings::FT.get(), ..Options::default() };
    let (tell, events) = channel();
    let shares = begin.nodes.sizes().map(|ranks| Share { name: String::new(), ranks }).collect();
    let agent = |node| Agent::expected(format!("of rank {}", begin.nodes.members(node)[0]));
    let agents = (0..begin.nodes.count()).map(agent).collect();
    let server = Server::new(&options, begin.job_id, shares, begin.nodes.clone(), agents);
    let mut server = Server { awaited: true, ..server };
    match server.listen(begin.secret, &tell) {
        Ok(callers) => Begin::answer(&leader, Ok(&callers)),
        Err(text) => {
            Begin::answer(&leader, Err(&text));
            return 1;
        }
    }
    watch(tell, leader);
    server.serve(events);
    server.losses.code(server.code)
}

/// Begins to listen to signals, and to the process that has started this one.
fn watch(tell: Sender<Event>, leader: OwnedFd) {
    super::take_signals(tell.clone());
    std::thread::spawn(move || {
        let flags = RecvFlags::empty();
        let settled = rustix::io::retry_on_intr(|| rustix::net::recv(&leader, &mut [0u8; 16], flags));
        if !matches!(settled, Ok((len, _)) if len > 0) {
            // Before rank 0 has its place, nothing has begun.
            let _ = tell.send(Event::Keeper);
        }
    });
}

impl Server<'_> {
    /// A keeper's connection has ended. Once one that had come has gone, those that have not will not be waited for.
    pub(super) fn keeper_gone(&mut self, number: usize) {
        self.agents[number].running = false;
        if self.is_ending() {
            self.tell_all(&Down::End);
        }
        if self.agents.iter().all(|agent| !agent.lines.have_called() || !agent.running) {
            self.give_up_all();
        }
    }

    /// Nobody is waited for any more.
    pub(super) fn give_up_all(&mut self) {
        for agent in &mut self.agents {
            agent.running = false;
            agent.lines.clear();
        }
    }
}
