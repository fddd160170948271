//! Ranks of all hosts, as debuggers see them ([`crate::mpir`]).

use std::sync::mpsc::Sender;

use super::{Event, Server};
use crate::mpir::{Process, Teller};

impl Server<'_> {
    /// An agent tells which processes it has started. Debuggers are told once all have.
    pub(super) fn processes(&mut self, number: usize, processes: Vec<Process>) {
        self.agents[number].processes = Some(processes);
        // Agents that come for spawned processes are told of after that.
        let all: Option<Vec<&Vec<Process>>> = self.agents.iter().map(|agent| agent.processes.as_ref()).collect();
        let Some(all) = all.filter(|_| self.debugger.is_some()) else { return };
        let all = self.by_rank(all.into_iter().flatten().cloned().collect());
        if let Some((debugger, tell)) = self.debugger.take() {
            // The process that the user started may stand still, and need not read.
            std::thread::spawn(move || show(&debugger, &all, &tell));
        }
    }
}

fn show(debugger: &Teller, all: &[Process], tell: &Sender<Event>) {
    debugger.tell(all);
    if debugger.is_shown() {
        // If the server has ended, so has the job.
        let _ = tell.send(Event::Seen);
    }
}
