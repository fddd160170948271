//! A job as the user asks for it.

use std::ffi::OsString;
use std::time::Duration;

use tern_settings::{Manager, Starter};

use crate::host_list::Block;
use crate::place::Policy;
use crate::windows::Windows;

/// A job as asked for.
#[derive(Debug, Default, PartialEq)]
pub struct Options {
    /// The programs, in order of their ranks; at least one.
    pub programs: Vec<Program>,
    /// Environment for all programs (`-genv`).
    pub env: Vec<(OsString, OsString)>,
    /// Where ranks read and write.
    pub streams: Streams,
    /// End the job after this time.
    pub timeout: Option<Duration>,
    /// How many processes the job may grow to, if not as many as there are cores (`--usize`); 0: the ranks are told nothing of that.
    pub universe: Option<u32>,
    /// Where ranks run.
    pub policy: Policy,
    /// Into how many simulated nodes the ranks are divided (`--nodes`).
    pub nodes: Option<u32>,
    /// The hosts to run on, if not this one alone (`--hosts`, `--hostfile`), for one block of ranks after the other.
    pub blocks: Vec<Block>,
    /// Hosts are not to be this machine (`--nolocal`).
    pub no_local: bool,
    /// Ranks for each host that does not say how much room it has (`--ppn`).
    pub per_host: Option<u32>,
    /// The command that runs another one on a host (`--remote-shell`).
    pub shell: Option<String>,
    /// What starts agents on hosts (`--launcher`).
    pub starter: Option<Starter>,
    /// The resource manager that is asked for hosts (`-rmk`), if the setting does not count.
    pub manager: Option<Manager>,
    /// The resource manager whose hosts these are.
    pub allocation: Option<Manager>,
    /// Say which rank runs on which cores.
    pub report_bindings: bool,
    /// Say what is started and how it ends.
    pub verbose: bool,
    /// A debugger has started mpiexec: ranks are held in MPI_Init until it has seen them.
    pub held: bool,
    /// Each rank runs under a debugger of its own (`--gdb`).
    pub gdb: bool,
    /// Ranks that run in windows of their own (`--xterm`).
    pub windows: Option<Windows>,
    /// Leave `LD_LIBRARY_PATH` of the ranks alone (`--no-library-path`).
    pub no_library_path: bool,
    /// Say how each rank ends.
    pub exit_codes: bool,
    /// The job goes on when it loses ranks (`--with-ft`).
    pub goes_on: bool,
    /// What programs that do not say it themselves inherit of mpiexec's environment.
    pub inherit: Inherit,
    /// Lines for the user.
    pub notes: Vec<String>,
    /// Options of other launchers that mean nothing here, as they were written; the user is told.
    pub left_out: Vec<String>,
}

/// One program of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// How many processes run it.
    pub count: u32,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Environment for this program (`-env`, `-x`).
    pub env: Vec<(OsString, OsString)>,
    /// It inherits nothing of mpiexec's environment: all that it gets stands in `env`.
    pub clean: bool,
    /// Its working directory, if not that of mpiexec.
    pub wdir: Option<OsString>,
    /// Where its file is looked for, if not in PATH.
    pub path: Option<OsString>,
    /// The architecture that it is for, as uname(1) tells it.
    pub arch: Option<OsString>,
}

/// What a program inherits of mpiexec's environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Inherit {
    #[default]
    All,
    /// These variables.
    Only(Vec<OsString>),
}

/// Who reads the standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// That rank of the world that mpiexec starts.
    Rank(u32),
    /// Each rank of that world gets all of it.
    All,
    /// Each rank gets the lines that are for it: lines `z RANKS` say so for what follows them (`--gdb`).
    Addressed,
    Nobody,
}

impl Stdin {
    /// Whether all ranks of that world may read something.
    pub fn is_shared(self) -> bool {
        matches!(self, Stdin::All | Stdin::Addressed)
    }
}

impl Default for Stdin {
    fn default() -> Stdin {
        Stdin::Rank(0)
    }
}

/// Where ranks read and write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Streams {
    pub stdin: Stdin,
    /// Put the rank in front of each line of output.
    pub tag: bool,
    /// Put the time in front of each line.
    pub timestamp: bool,
    /// The standard error goes where the output goes.
    pub merge: bool,
    /// The file for the standard output of a rank: see `output::name`.
    pub out: Option<Vec<u8>>,
    /// The same for the standard error.
    pub err: Option<Vec<u8>>,
}

impl Streams {
    /// Whether something stands in front of each line.
    pub fn marks(&self) -> bool {
        self.tag || self.timestamp
    }
}

/// The environment variable that other launchers take for `--timeout`.
pub const TIMEOUT: &str = "MPIEXEC_TIMEOUT";
/// Exit code after `--timeout`, as that of timeout(1).
pub const TIMED_OUT: i32 = 124;

/// What is said then.
pub fn late(limit: Option<Duration>) -> String {
    let seconds = limit.unwrap_or_default().as_secs_f64();
    format!("the job has not ended after {seconds} s (--timeout or {})", TIMEOUT)
}
