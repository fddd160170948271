//! A job whose ranks another launcher has started: this process is the keeper of their node.
//!
//! Ranks come to it by connecting. When all of the node have come, they get the node's shared memory and what is
//! known of the node. From then on it does for them what it does for ranks of its own, but that it is no parent of
//! theirs: their ends are seen by pidfd, and by their sockets. How they ended, only the launcher knows.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::RecvFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tern_pmi::control::{self, Message};
use tern_pmi::foreign::{Begin, welcome};

use super::start::{listener, raise_file_limit};
use super::{Job, Rank};
use crate::plan::{self, Plan};
use crate::rank::State;
use crate::uplink::Uplink;
use crate::{descendants, guard, output};

/// How long a launcher may take to read what the user is told. Less than the rank waits that has called MPI_Abort.
const TAKEN: Duration = Duration::from_secs(1);

/// What a keeper knows besides.
pub(super) struct Kept {
    /// The socket to the rank that has started it, until that has its place.
    leader: Option<OwnedFd>,
    /// Whether all ranks of the node have come.
    complete: bool,
    /// The process that all ranks here descend from: its number, its name, and what becomes readable when it ends.
    launcher: Option<(libc::pid_t, String, OwnedFd)>,
    /// The rank that has called MPI_Abort, until it has ended: it tells the launcher first, whose exit code it is.
    aborting: Option<usize>,
    /// Cores that the ranks of the node share.
    pub(super) cores: usize,
}

impl Kept {
    pub(super) fn leader(&self) -> Option<BorrowedFd<'_>> {
        self.leader.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn launcher(&self) -> Option<BorrowedFd<'_>> {
        self.launcher.as_ref().map(|(_, _, watch)| watch.as_fd())
    }
}

/// Serves the ranks of a node; gives the exit code of the job as far as it is known here.
pub fn keep(begin: &Begin, node: u32, mask: libc::sigset_t, guard: OwnedFd, leader: OwnedFd) -> i32 {
    descendants::adopt();
    let fail = |text: &str| {
        Begin::answer(&leader, Err(text));
        1
    };
    let uplink = match begin.callers.as_str() {
        "" => None,
        callers => match Uplink::join(callers, begin.secret, node) {
            Ok(uplink) => Some(uplink),
            Err(text) => return fail(&text),
        },
    };
    let above = uplink.as_ref().map(Uplink::copy);
    let here = begin.nodes.members(node);
    raise_file_limit(here.len() + begin.nodes.count() as usize);
    let plan = Plan { nodes: begin.nodes.clone(), numbers: here.clone(), job_id: begin.job_id, ..Plan::empty() };
    let listener = listener(&control::node_address(begin.job_id, node));
    let (mut job, listener) = match (Job::new(&plan, mask, Some(guard), uplink), listener) {
        (Ok(job), Ok(listener)) => (job, listener),
        (Err(errno), _) => return fail(&format!("no memory or descriptors: {errno}")),
        (_, Err(errno)) => return fail(&format!("cannot listen: {errno}")),
    };
    if let Some(world) = job.worlds[0].as_mut() {
        world.listener = Some(listener);
    }
    job.ranks.extend(here.into_iter().map(|number| Rank {
        world: 0,
        job: begin.job_id,
        number,
        program: "".into(),
        state: State::Started,
        pid: 0,
        alive: true,
        control: None,
        theirs: None,
        attended: true,
        recalled: false,
        mpi: None,
        owner: None,
        placed: false,
        told: 0,
        activity: None,
    }));
    Begin::answer(&leader, Ok(""));
    let cores = plan.usable;
    job.kept = Some(Kept { leader: Some(leader), complete: false, launcher: None, aborting: None, cores });
    job.serve();
    job.clean_up();
    let code = job.losses.code(job.code);
    if let Some(above) = above {
        above.done(code);
    }
    code
}

impl Job<'_> {
    /// A process of the node asks for its rank.
    pub(super) fn come(&mut self, number: usize, socket: OwnedFd, pid: Option<u32>) {
        if self.ranks[number].control.is_some() || !self.ranks[number].alive || self.ending.is_some() {
            let by = self.ranks[number].pid;
            let _ = control::send(&socket, &Message::Refused { by: by as u32 });
            return;
        }
        let pid = pid.unwrap_or(0) as libc::pid_t;
        let rank = &mut self.ranks[number];
        rank.pid = pid;
        rank.program = descendants::name(pid).map_or_else(|| "in another container".into(), Rc::from);
        rank.control = Some(socket);
        if let Some(guard) = &self.keeper {
            guard::entrust(guard, pid);
        }
        if self.ranks.iter().all(|rank| rank.control.is_some()) {
            self.complete();
        }
    }

    /// All ranks of the node have come: they may begin.
    fn complete(&mut self) {
        let pids: Vec<libc::pid_t> = self.ranks.iter().map(|rank| rank.pid).collect();
        let of = |pid: &libc::pid_t| Pid::from_raw(*pid).and_then(tern_node::kernel_affinity_of);
        let mut cores: BTreeSet<usize> = pids.iter().filter_map(of).flatten().collect();
        if cores.is_empty() {
            cores.extend(tern_node::kernel_affinity());
        }
        let cores: Vec<usize> = cores.into_iter().collect();
        // What this process starts may run where the ranks may, and not only where the first one may.
        let mut set = rustix::thread::CpuSet::new();
        cores.iter().for_each(|core| set.set(*core));
        let _ = rustix::thread::sched_setaffinity(None, &set);
        let usable = tern_node::usable_cores();
        let costs = plan::costs(&cores, pids.len());
        let costs = costs.as_ref().and_then(|entry| entry.to_str().ok()?.split_once('=')).map(|(_, file)| file);
        let address = self.uplink.as_ref().and_then(|uplink| uplink.address);
        let message = welcome(usable as u32, address, costs);
        if let Some(world) = &self.worlds[0] {
            for rank in &self.ranks {
                if let Some(control) = &rank.control {
                    // The end of one that is gone is seen as any other.
                    let _ = control::send_with(control, &message, &[world.segment(rank.number).as_fd()]);
                }
            }
        }
        if let Some(kept) = &mut self.kept {
            kept.complete = true;
            kept.cores = usable;
            kept.launcher = common_ancestor(&pids).and_then(|pid| {
                let watch = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
                Some((pid, descendants::name(pid)?, watch))
            });
        }
    }

    /// The rank that has started this process has its place, or has gone.
    pub(super) fn leader(&mut self) {
        let Some(kept) = &mut self.kept else { return };
        let leader = kept.leader.take();
        let complete = kept.complete;
        let settled = leader.is_some_and(
            |leader| matches!(rustix::net::recv(&leader, &mut [0u8; 16], RecvFlags::DONTWAIT), Ok((len, _)) if len > 0),
        );
        if !settled && !complete {
            let number = self.plan.numbers[0];
            self.fail(
                1,
                &format!("rank {number}, which has started the keeper of this node, has not come to MPI_Init"),
            );
        }
    }

    /// The process that has started the ranks has ended before them.
    pub(super) fn launcher_gone(&mut self) {
        let Some((pid, name, _)) = self.kept.as_mut().and_then(|kept| kept.launcher.take()) else { return };
        if !self.ranks.iter().any(|rank| rank.alive && rank.state == State::Initialised) {
            return;
        }
        let text = format!("the launcher of the ranks here has ended (process {pid}, {name})");
        if self.plan.goes_on && self.uplink.is_some() {
            // Those of other nodes go on without them.
            self.say(&format!("{text}; the ranks of this node are ended"));
            return self.signal_attended(libc::SIGKILL);
        }
        self.fail(1, &text);
    }

    /// Ranks that have not come will not be waited for.
    pub(super) fn give_up_absent(&mut self) {
        for rank in self.ranks.iter_mut().filter(|rank| rank.attended && rank.control.is_none()) {
            rank.alive = false;
            rank.recalled = true;
        }
    }

    /// A rank calls MPI_Abort. The user is told; then the rank tells the launcher; when it has ended, so do the others.
    pub(super) fn abort_kept(&mut self, rank: usize, code: i32, text: &str) {
        if self.ending.is_none() {
            self.say(text);
            output::until_taken(rustix::stdio::stderr(), TAKEN);
            if let Some(kept) = &mut self.kept {
                kept.aborting = Some(rank);
            }
            if let Some(uplink) = &self.uplink {
                uplink.failed(code, "");
            }
            self.code.get_or_insert(code);
            self.end();
        }
        if let Some(control) = &self.ranks[rank].control {
            let _ = control::send(control, &Message::Answer { value: 0, text: String::new() });
        }
    }

    pub(super) fn waits_for_abort(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.aborting.is_some())
    }

    /// A rank has ended; if it had called MPI_Abort, the others follow.
    pub(super) fn abort_ended(&mut self, rank: usize) {
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.aborting == Some(rank)) {
            kept.aborting = None;
            self.signal_all(libc::SIGTERM);
        }
    }

    /// The name of a rank that has ended, and the numbers of others that have by now: which of them was the first, and
    /// how it ended, the launcher knows.
    pub(super) fn ended_together(&self, number: usize, name: String) -> String {
        let ended = |rank: &&Rank| {
            rank.alive
                && rank.state == State::Initialised
                && rank.mpi.as_ref().is_some_and(|(_, watch)| is_ready(watch))
        };
        let others: Vec<String> = (self.ranks.iter().enumerate())
            .filter(|(other, rank)| *other != number && ended(rank))
            .map(|(_, rank)| self.called(rank))
            .collect();
        match others.is_empty() {
            true => name,
            false => format!("{name} and {}", others.join(", ")),
        }
    }

    /// The mpiexec of all nodes has gone. Without ranks that need it, that is its normal end.
    pub(super) fn root_gone(&mut self) {
        if self.ending.is_none() && self.ranks.iter().any(|rank| rank.alive && rank.state != State::Finalized) {
            self.say("the connection to the keeper of rank 0's node is lost; the ranks of this node are ended");
        }
        self.signal_attended(libc::SIGKILL);
    }
}

/// Whether a descriptor is readable, as that of a process that has ended.
fn is_ready(watch: &Option<OwnedFd>) -> bool {
    let Some(watch) = watch else { return false };
    let none = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&none)), Ok(1))
}

/// The process nearest to these that all of them descend from, if it is not the first process of the machine or
/// container.
fn common_ancestor(pids: &[libc::pid_t]) -> Option<libc::pid_t> {
    let ancestors = |pid: libc::pid_t| std::iter::successors(descendants::parent(pid), |pid| descendants::parent(*pid));
    let others: Vec<BTreeSet<libc::pid_t>> = pids.iter().skip(1).map(|pid| ancestors(*pid).collect()).collect();
    let nearest = ancestors(*pids.first()?).find(|pid| others.iter().all(|other| other.contains(pid)))?;
    (nearest > 1).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals;

    #[test]
    fn processes_have_an_ancestor_in_common() {
        let mut one = std::process::Command::new("sleep").arg("1000").spawn().expect("a process");
        let mut two = std::process::Command::new("sleep").arg("1000").spawn().expect("a process");
        let (a, b) = (one.id() as libc::pid_t, two.id() as libc::pid_t);
        let own = std::process::id() as libc::pid_t;
        assert_eq!(common_ancestor(&[a]), Some(own));
        assert_eq!(common_ancestor(&[a, b]), Some(own));
        assert_eq!(common_ancestor(&[b, a, own]), descendants::parent(own).filter(|pid| *pid > 1));
        assert_eq!(common_ancestor(&[]), None);
        for child in [&mut one, &mut two] {
            signals::send(child.id() as libc::pid_t, libc::SIGKILL);
            child.wait().expect("its end");
        }
    }
}
