//! A job of `mpiexec` in virtual time: where its library is, what its processes see of the made-up machine, and its end.

use crate::machine::Machine;
use crate::server::{Memory, Run, Server};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::cell::RefCell;
use std::io::Error;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use tern_atomics::wire::SETTING;
use tern_node::Made;

/// Where the library that has a model lies in an installed Tern.
const FOLDER: &str = "lib/tern-model";

/// A program on a made-up machine.
#[derive(Debug)]
pub struct Job<'a> {
    pub machine: &'a Machine,
    /// How many processes; at most as many as the machine has cores.
    pub ranks: usize,
    /// An installed Tern.
    pub tern: &'a Path,
    /// A folder for the files of runs.
    pub folder: &'a Path,
    /// Variables beside those of this process.
    pub variables: &'a [(String, String)],
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    pub run: Run,
    /// The standard output of all processes.
    pub output: String,
}

/// The folder with the library that has a model; the error says how it is built.
pub fn library(tern: &Path) -> Result<PathBuf, String> {
    let folder = tern.join(FOLDER);
    match folder.join("libmpi_abi.so.1").exists() {
        true => Ok(folder),
        false => {
            let name = folder.display();
            Err(format!("{name} has no libmpi_abi.so.1: `make model` builds the library that runs in virtual time"))
        }
    }
}

impl Job<'_> {
    /// Runs the program with its arguments.
    ///
    /// # Errors
    /// There is no such library or program; the machine has too few cores; the program fails; what [`Server::serve`] says.
    pub fn run(&self, program: &[String]) -> Result<Outcome, String> {
        if self.ranks > self.machine.size() {
            return Err(format!("{} ranks are more than the machine's {} cores", self.ranks, self.machine.size()));
        }
        // Of this process alone, for there may be several runs at a time.
        let place = self.folder.join(format!("run-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        let before = sched_getaffinity(None);
        let outcome = self.run_in(&place, program);
        // What follows has all cores again.
        let _ = before.map(|before| sched_setaffinity(None, &before));
        let _ = std::fs::remove_dir_all(&place);
        outcome
    }

    /// The same, with this folder for the files of the run.
    fn run_in(&self, place: &Path, program: &[String]) -> Result<Outcome, String> {
        let said = |error: Error| error.to_string();
        let memory = Memory::new(self.ranks).map_err(said)?;
        let server = Server::new(&memory, self.machine);
        let output = place.join("output");
        let child = RefCell::new(self.start(&memory, program, place)?);
        let status = RefCell::new(None::<ExitStatus>);
        let has_ended = || {
            *status.borrow_mut() = child.borrow_mut().try_wait().ok().flatten();
            status.borrow().is_some()
        };
        let run = server.serve(has_ended);
        if run.is_err() {
            end(&mut child.borrow_mut());
        }
        let status = child.borrow_mut().wait().map_err(said)?;
        let output = std::fs::read_to_string(&output).unwrap_or_default();
        match run {
            Ok(run) if status.success() => Ok(Outcome { run, output }),
            Ok(_) => Err(format!("{output}the program failed: {status}")),
            Err(why) => Err(format!("{output}{why}")),
        }
    }

    /// Starts mpiexec. All run on one core, since one at a time goes on, and at equal addresses each time.
    fn start(&self, memory: &Memory, program: &[String], place: &Path) -> Result<Child, String> {
        let (topology, output) = (place.join("machine"), place.join("output"));
        let made: Made = self.machine.topology().parse()?;
        made.write(&topology).map_err(|error| format!("{}: {error}", topology.display()))?;
        let library = library(self.tern)?;
        let mut command = Command::new(self.tern.join("bin/mpiexec"));
        command.args(["--no-library-path", "-n", &self.ranks.to_string()]).args(program);
        command.env("LD_LIBRARY_PATH", library).env("TERN_TOPOLOGY", topology).env(SETTING, memory.name());
        command.env_remove("TERN_BOUND").envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = std::fs::File::create(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        command.stdin(Stdio::null()).stdout(output);
        let core = one_core();
        // SAFETY: two system calls, which allocate nothing. Where they are refused, the run is slower, or differs from the next.
        unsafe {
            command.pre_exec(move || {
                libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                let _ = core.as_ref().map(|core| sched_setaffinity(None, core));
                Ok(())
            });
        }
        let child = command.spawn().map_err(|error| format!("mpiexec: {error}"))?;
        let _ = core.as_ref().map(|core| sched_setaffinity(None, core));
        Ok(child)
    }
}

/// The last core that this process may run on.
fn one_core() -> Option<CpuSet> {
    let allowed = sched_getaffinity(None).ok()?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&core| allowed.is_set(core))?;
    let mut only = CpuSet::new();
    only.set(last);
    Some(only)
}

/// Ends mpiexec, which ends its ranks.
fn end(child: &mut Child) {
    if let Some(process) = rustix::process::Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    }
}
