//! Ranks of the job that the user started, as debuggers see them ([`crate::mpir`]).

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::Job;
use crate::mpir::Process;

impl Job<'_> {
    /// Tells debuggers which processes have been started: those of this host, by rank.
    pub(super) fn tell_debugger(&self) {
        let file = |number: usize| {
            let program = &self.plan.programs[self.plan.ranks[number]];
            let path = |text: &CStr| PathBuf::from(OsStr::from_bytes(text.to_bytes()));
            let folder = program.wdir.as_deref().map_or_else(PathBuf::new, path);
            let file = folder.join(path(&program.file));
            std::path::absolute(&file).unwrap_or(file).to_string_lossy().into_owned()
        };
        let host = self.uplink.as_ref().map_or_else(tern_node::hostname, |uplink| uplink.host.clone());
        let process = |(number, rank): (usize, &super::Rank)| Process {
            host: host.clone(),
            executable: file(number),
            pid: rank.pid,
        };
        let processes: Vec<Process> = self.ranks.iter().enumerate().map(process).collect();
        match (&self.debugger, &self.uplink) {
            (Some(debugger), _) => debugger.tell(&processes),
            (None, Some(uplink)) => uplink.processes(&processes),
            (None, None) => {}
        }
    }

    /// A debugger has seen the ranks, or the process that would tell it has died.
    pub(super) fn seen_by_debugger(&mut self) {
        if self.debugger.take().is_some_and(|debugger| debugger.is_shown()) {
            self.release();
        }
    }

    /// Lets ranks go on that are held in MPI_Init.
    pub(super) fn release(&mut self) {
        for (rank, socket) in self.held.take().unwrap_or_default() {
            self.give(rank, socket);
        }
    }
}
