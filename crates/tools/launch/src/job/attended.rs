//! A launcher that a process has started for itself, because it was started without one: see
//! [`tern_pmi::attend`]. The process is rank 0 of the job, though no child of the launcher.

use std::ffi::OsString;
use std::os::fd::{BorrowedFd, OwnedFd};

use tern_pmi::control;

use super::{Job, Rank};
use crate::plan::Plan;
use crate::rank::State;
use crate::{descendants, keeper, signals};

/// Serves the process that `args` name: the number of the socket to it, and of the process. Returns at
/// once in the process that it has started; what serves goes on in the background.
pub fn attend(args: &[OsString]) -> i32 {
    let number = |at: usize| args.get(at)?.to_str()?.parse::<i32>().ok();
    let socket = number(0).and_then(inherited);
    let (Some(socket), Some(pid)) = (socket, number(1)) else {
        crate::say::say("--attend is for Tern's own use");
        return crate::program::USAGE;
    };
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => return 1,
        0 => {}
        _ => return 0,
    }
    let plan = Plan::empty();
    let mask = signals::block();
    // What it attends to was started by others, which debuggers ask.
    let serve = |keeper, _| serve(&plan, mask, keeper, socket, pid);
    keeper::run(serve).unwrap_or(1)
}

/// Takes over the descriptor of that number, if it is a socket.
fn inherited(number: i32) -> Option<OwnedFd> {
    if number < 3 {
        return None;
    }
    // SAFETY: the number may be closed, which the call answers with EBADF.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    let copy = rustix::io::fcntl_dupfd_cloexec(borrowed, 3).ok()?;
    control::ask_for_sender(&copy).ok()?;
    // SAFETY: it was inherited for this call to take, and nothing else uses it.
    drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(number) });
    Some(copy)
}

fn serve(plan: &Plan, mask: libc::sigset_t, keeper: OwnedFd, socket: OwnedFd, pid: i32) -> i32 {
    descendants::adopt();
    let Ok(mut job) = Job::new(plan, mask, Some(keeper), None) else {
        return 1;
    };
    let program = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    job.ranks.push(Rank {
        world: 0,
        job: plan.job_id,
        number: 0,
        program: program.trim_end().into(),
        state: State::Initialised,
        pid,
        alive: true,
        control: Some(socket),
        theirs: None,
        attended: true,
        recalled: false,
        mpi: None,
        owner: None,
        placed: false,
        told: 0,
        activity: None,
    });
    job.serve();
    job.clean_up();
    job.losses.code(job.code)
}

impl Job<'_> {
    /// The socket to a rank is closed: that is the end of one that is attended.
    pub(super) fn closed(&mut self, number: usize) {
        let rank = &mut self.ranks[number];
        if !rank.attended && rank.state == State::Initialised && descendants::is_running(rank.mpi_process()) {
            rank.state = State::Replaced;
            let pid = rank.mpi_process();
            rank.mpi = None;
            if self.plan.verbose {
                let name = self.named(number, pid);
                self.say(&format!("{name} has executed another program after MPI_Init, or closed its descriptors"));
            }
        }
        let rank = &mut self.ranks[number];
        if !rank.attended || !rank.alive {
            return;
        }
        rank.alive = false;
        rank.control = None;
        rank.mpi = None;
        if rank.state == State::Initialised {
            let name = self.named(number, self.ranks[number].pid);
            self.missed(number, name);
        }
        self.abort_ended(number);
    }

    /// Sends a signal to the process that is attended, which is no descendant.
    pub(super) fn signal_attended(&self, signal: libc::c_int) {
        for rank in self.ranks.iter().filter(|rank| rank.attended && rank.alive) {
            signals::send(rank.pid, signal);
        }
    }
}
