//! Serves a job: starts its ranks, listens to them, ends them.

mod addresses;
mod attended;
mod claims;
mod debugged;
mod ended;
mod further;
mod kept;
mod libraries;
mod linked;
mod lost;
mod signalled;
mod stall;
mod start;

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use tern_pmi::Nodes;
use tern_pmi::control::{self, Attached, Message, Received};
use tern_pmi::names::Name;

use crate::history::History;
use crate::losses::Losses;
use crate::mpir::Teller;
use crate::options::{TIMED_OUT, late};
use crate::output::{Output, Wish};
use crate::plan::Plan;
use crate::rank::{self, State};
use crate::signals::Signals;
use crate::uplink::Uplink;
use crate::{descendants, say::say};

pub use attended::attend;
pub use kept::keep;

/// The processes of one MPI_COMM_WORLD: those that the user started, or that a process spawned.
struct World {
    job_id: u64,
    /// Which of them are on which node.
    nodes: Nodes,
    /// The nodes are this machine, whose processes are to believe in several.
    simulated: bool,
    /// The shared memory of each node.
    segments: Vec<OwnedFd>,
    /// The addresses that ranks have told so far.
    addresses: Vec<Option<Vec<u8>>>,
    /// What they share with those that spawned them.
    parents: Option<OwnedFd>,
    listener: Option<OwnedFd>,
}

/// One rank.
struct Rank {
    /// Its world, the random number of that, and its rank there.
    world: usize,
    job: u64,
    number: u32,
    /// Its program, as the user gave it: one text for all ranks in a row that have the same one. It is told of ranks that have ended, too.
    program: Rc<str>,
    state: State,
    /// The process that was started.
    pid: libc::pid_t,
    /// Whether it has not ended.
    alive: bool,
    /// The socket to it; none once its end is closed.
    control: Option<OwnedFd>,
    /// The end of the socket that it inherits. Kept, for a process that comes without it is given
    /// the rank only if the welcome can be taken back out of it.
    theirs: Option<OwnedFd>,
    /// It was there before this launcher, which is no parent of it.
    attended: bool,
    /// It is ended because others of its world could not be started: no matter how.
    recalled: bool,
    /// The process that initialised MPI, if that is another one than was started, to see it end.
    mpi: Option<(libc::pid_t, Option<OwnedFd>)>,
    /// The process that has initialised MPI first, if one has.
    owner: Option<libc::pid_t>,
    /// It has told the others where they find it.
    placed: bool,
    /// Of how many lost ranks it has been told.
    told: usize,
    /// Where it shows what it does, in the memory of its process, if it can be asked what it waits for.
    activity: Option<u64>,
}

// What is kept of every process that a job has ever spawned: this, and a word for its world.
const _: () = assert!(size_of::<Rank>() <= 104 && size_of::<Option<Box<World>>>() <= 8);

impl Rank {
    /// The process that takes part in MPI for this rank.
    fn mpi_process(&self) -> libc::pid_t {
        self.mpi.as_ref().map_or(self.pid, |(pid, _)| *pid)
    }
}

/// A job that has been told to end.
struct Ending {
    since: Instant,
    kill_at: Instant,
}

/// A job that runs.
struct Job<'a> {
    plan: &'a Plan,
    /// The signal mask of the ranks.
    mask: libc::sigset_t,
    /// The limit of descriptors that ranks get back, if it had to be raised for the launcher.
    files: Option<libc::rlimit>,
    /// The one that the user started, and those that were spawned since; what is gone is none.
    worlds: Vec<Option<Box<World>>>,
    /// What ranks have published, and which ones.
    names: Vec<(usize, Name)>,
    /// Connections that have not yet said which rank they want.
    joining: Vec<Option<OwnedFd>>,
    ranks: Vec<Rank>,
    output: Output,
    /// What ranks read from that get the standard input together, until it is copied to them.
    inputs: Vec<(u32, OwnedFd)>,
    signals: Signals,
    /// The mpiexec of all hosts, if this job is the part of one host.
    uplink: Option<Uplink>,
    /// How many orders of further processes it has given; after how many it was told that no rank runs; it needs this part no more.
    orders: u32,
    idle_after: Option<u32>,
    dismissed: bool,
    /// Ranks that wait for its answer about a name that they publish.
    naming: Vec<(usize, String)>,
    /// Closes when the process that the user started dies, or the guard of a keeper.
    keeper: Option<OwnedFd>,
    /// Where debuggers are told of the ranks, in the process that the user started.
    debugger: Option<Teller>,
    /// While a debugger holds the job: ranks that wait in MPI_Init, and the sockets over which they have asked for their places.
    held: Option<Vec<(usize, OwnedFd)>>,
    /// Set if another launcher has started the ranks.
    kept: Option<kept::Kept>,
    /// What the job returns: the code of the first failure.
    code: Option<i32>,
    /// What it returns where ranks are lost.
    losses: Losses,
    /// The ranks that are lost, here and elsewhere, while the job goes on.
    history: History,
    ending: Option<Ending>,
    deadline: Option<Instant>,
    /// When the job ends because a rank has failed after its MPI_Finalize, and which one.
    linger: Option<(Instant, String)>,
    grace: Duration,
    /// What the ranks say they wait for.
    stall: stall::Gathering,
}

/// What `poll` may find ready.
#[derive(Clone, Copy)]
enum Ready {
    Signals,
    Keeper,
    Uplink,
    Leader,
    Launcher,
    Debugger,
    Listener(usize),
    Name(usize),
    Joining(usize),
    Control(usize),
    Mpi(usize),
    Read(usize),
    Write(usize),
}

/// Runs a job; gives its exit code. `mask` is the signal mask for the ranks.
pub fn run(plan: &Plan, mask: libc::sigset_t, keeper: OwnedFd, debugger: Teller) -> i32 {
    serve(plan, mask, Some(keeper), None, Some(debugger))
}

/// Runs the part of a job that one host has.
pub fn run_part(plan: &Plan, mask: libc::sigset_t, uplink: Uplink) -> i32 {
    serve(plan, mask, None, Some(uplink), None)
}

fn serve(
    plan: &Plan, mask: libc::sigset_t, keeper: Option<OwnedFd>, uplink: Option<Uplink>, debugger: Option<Teller>,
) -> i32 {
    descendants::adopt();
    let mut job = match Job::new(plan, mask, keeper, uplink) {
        Ok(job) => job,
        Err(why) => {
            say(&format!("cannot set up the job: {why}"));
            return 1;
        }
    };
    job.debugger = debugger;
    job.tell_libraries();
    job.start();
    job.serve();
    job.tell_foreign();
    job.clean_up();
    job.losses.code(job.code)
}

impl Job<'_> {
    /// Until every rank has ended.
    fn serve(&mut self) {
        while self.ranks.iter().any(|rank| rank.alive) || self.stays() {
            for ready in self.wait() {
                match ready {
                    Ready::Signals => self.take_signals(),
                    Ready::Keeper => self.keeper_died(),
                    Ready::Uplink => self.hear(),
                    Ready::Leader => self.leader(),
                    Ready::Launcher => self.launcher_gone(),
                    Ready::Debugger => self.seen_by_debugger(),
                    Ready::Listener(world) => self.accept(world),
                    Ready::Name(at) => self.answer_name(at),
                    Ready::Joining(at) => self.join(at),
                    Ready::Control(rank) => {
                        self.listen(rank);
                        self.tell_lost_to(rank);
                    }
                    Ready::Mpi(rank) => self.mpi_ended(rank),
                    Ready::Read(source) => self.output.read(&[source]),
                    Ready::Write(sink) => {
                        self.output.write(sink);
                        self.tell_lost();
                    }
                }
            }
            self.joining.retain(Option::is_some);
            self.check_left();
            self.tell_standing();
            self.check_time();
        }
    }

    /// Waits for something to do. Sources of output come in falling order, so that the end of one
    /// does not renumber those that follow.
    fn wait(&self) -> Vec<Ready> {
        let mut fds = Vec::with_capacity(self.ranks.len() * 2 + 8);
        let mut what = Vec::with_capacity(fds.capacity());
        {
            let mut add = |ready, fd, flags| {
                fds.push(PollFd::from_borrowed_fd(fd, flags));
                what.push(ready);
            };
            add(Ready::Signals, self.signals.as_fd(), PollFlags::IN);
            if let Some(keeper) = &self.keeper {
                add(Ready::Keeper, keeper.as_fd(), PollFlags::IN);
            }
            if let Some(uplink) = &self.uplink {
                add(Ready::Uplink, uplink.as_fd(), PollFlags::IN);
            }
            if let Some(debugger) = &self.debugger {
                add(Ready::Debugger, debugger.as_fd(), PollFlags::IN);
            }
            let kept = self.kept.as_ref();
            if let Some(leader) = kept.and_then(|kept| kept.leader()) {
                add(Ready::Leader, leader, PollFlags::IN);
            }
            if let Some(launcher) = kept.and_then(|kept| kept.launcher()) {
                add(Ready::Launcher, launcher, PollFlags::IN);
            }
            for (number, rank) in self.ranks.iter().enumerate() {
                if let Some(control) = &rank.control {
                    let out = if self.is_behind(rank) { PollFlags::OUT } else { PollFlags::empty() };
                    add(Ready::Control(number), control.as_fd(), PollFlags::IN | out);
                }
                if let Some((_, Some(pidfd))) = &rank.mpi {
                    add(Ready::Mpi(number), pidfd.as_fd(), PollFlags::IN);
                }
            }
            for (at, socket) in self.joining.iter().flatten().enumerate() {
                add(Ready::Joining(at), socket.as_fd(), PollFlags::IN);
            }
            for (number, world) in self.worlds.iter().enumerate() {
                if let Some(listener) = world.as_ref().and_then(|world| world.listener.as_ref()) {
                    add(Ready::Listener(number), listener.as_fd(), PollFlags::IN);
                }
            }
            for (at, (_, name)) in self.names.iter().enumerate() {
                if let Some(listener) = name.listener() {
                    add(Ready::Name(at), listener, PollFlags::IN);
                }
            }
            let wishes: Vec<Wish<'_>> = self.output.wishes().collect();
            for wish in wishes.into_iter().rev() {
                match wish {
                    Wish::Read(number, fd) => add(Ready::Read(number), fd, PollFlags::IN),
                    Wish::Write(number, fd) => add(Ready::Write(number), fd, PollFlags::OUT),
                }
            }
        }
        let timeout = self.next_time().map(|left| rustix::event::Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        if rustix::event::poll(&mut fds, timeout.as_ref()).is_err() {
            return Vec::new();
        }
        let ready = fds.iter().zip(what).filter(|(fd, _)| !fd.revents().is_empty());
        ready.map(|(_, what)| what).collect()
    }

    /// How long until something is to be done though nothing happens.
    fn next_time(&self) -> Option<Duration> {
        let kill = self.ending.as_ref().map(|ending| ending.kill_at);
        let linger = self.linger.as_ref().map(|(until, _)| *until);
        let next = [kill, self.deadline, linger, self.stall.until()].into_iter().flatten().min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn check_time(&mut self) {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.deadline = None;
            self.fail(TIMED_OUT, &late(self.plan.timeout));
        }
        if let Some((_, name)) = self.linger.take_if(|(until, _)| now >= *until) {
            let code = self.code.unwrap_or(1);
            self.fail(
                code,
                &format!("the other ranks have not ended in the time that they had since {name} failed (TERN_LINGER)"),
            );
        }
        self.check_picture(now);
        if let Some(ending) = &mut self.ending
            && now >= ending.kill_at
        {
            // Again a little later, for processes that were started meanwhile.
            ending.kill_at = now + Duration::from_millis(50);
            descendants::signal(libc::SIGKILL);
            self.signal_attended(libc::SIGKILL);
        }
    }

    fn set_ending(&mut self) {
        let now = Instant::now();
        self.ending = Some(Ending { since: now, kill_at: now + self.grace });
        self.deadline = None;
        self.linger = None;
    }

    /// The process that the user started was killed: nobody waits for this job any more.
    fn keeper_died(&mut self) {
        if self.kept.is_some() {
            self.signal_attended(libc::SIGKILL);
        }
        descendants::end_all(Duration::ZERO);
        std::process::exit(137);
    }

    /// Ends the job because of an error. Only the first one is told and decides the exit code; what
    /// follows are its consequences.
    fn fail(&mut self, code: i32, text: &str) {
        if self.ending.is_some() {
            return;
        }
        match &self.uplink {
            Some(uplink) => uplink.failed(code, text),
            None => self.say(text),
        }
        self.code.get_or_insert(code);
        self.end();
    }

    /// Ends all processes.
    fn end(&mut self) {
        self.give_up_absent();
        if !self.waits_for_abort() {
            self.signal_all(libc::SIGTERM);
        }
        self.set_ending();
    }

    fn signal_all(&self, signal: libc::c_int) {
        descendants::signal(signal);
        descendants::signal(libc::SIGCONT);
        self.signal_attended(signal);
    }

    /// One line for the user, not into the middle of a line of some rank.
    fn say(&mut self, text: &str) {
        match self.plan.streams.marks() {
            true => self.output.say(text),
            false => say(text),
        }
    }

    /// "rank 3 (process 77, ./a.out)".
    fn named(&self, rank: usize, pid: libc::pid_t) -> String {
        let rank = &self.ranks[rank];
        let host = self.uplink.as_ref().map_or(String::new(), |uplink| format!(" on {}", uplink.host));
        format!("{} (process {pid}{host}, {})", self.called(rank), rank.program)
    }

    /// "rank 3", "rank 0 of spawn 1".
    fn called(&self, rank: &Rank) -> String {
        match rank.world {
            0 => format!("rank {}", rank.number),
            world => format!("rank {} of spawn {world}", rank.number),
        }
    }

    /// Takes the messages of a rank.
    fn listen(&mut self, rank: usize) {
        while let Some(control) = &self.ranks[rank].control {
            match control::receive(control, false) {
                Ok(Received::Message(message, attached)) => {
                    self.told(rank, message, attached);
                }
                Ok(Received::Unknown) => {}
                Ok(Received::Nothing) => return,
                Ok(Received::Closed) | Err(_) => {
                    self.ranks[rank].control = None;
                    self.closed(rank);
                }
            }
        }
    }

    /// A message of a rank.
    fn told(&mut self, rank: usize, message: Message, attached: Attached) {
        match message {
            Message::Hello => self.hello(rank, attached.pid.map(|pid| pid as libc::pid_t)),
            Message::Finalized => {
                self.ranks[rank].state = State::Finalized;
                self.ranks[rank].mpi = None;
                self.note_finalized();
            }
            Message::Abort { code, text } => self.abort(rank, code, &text),
            Message::Observed { address } => self.ranks[rank].activity = Some(address),
            Message::Stalled { text } => self.stalled(rank, &text),
            Message::Spawn { .. } => self.spawn(rank, attached.fds),
            Message::Publish { service, port } => self.publish(rank, &service, &port),
            Message::Lookup { service } => self.look_up(rank, &service),
            Message::Unpublish { service, port } => self.unpublish(rank, &service, &port),
            Message::Address => self.address(rank, attached.fds),
            Message::Welcome { .. }
            | Message::Refused { .. }
            | Message::Join { .. }
            | Message::Answer { .. }
            | Message::Lost(_)
            | Message::Ask => {}
        }
    }

    fn abort(&mut self, rank: usize, code: i32, text: &str) {
        // Who has lost another rank is not the cause of what has happened, which that one may have told.
        if code == control::PROC_ABORTED && self.ending.is_none() {
            (0..self.ranks.len()).filter(|&other| other != rank).for_each(|other| self.listen(other));
        }
        let name = self.named(rank, self.ranks[rank].mpi_process());
        let text = match text {
            "" => format!("{name} called MPI_Abort with code {code}"),
            text => format!("{name}: {}", text.trim_end()),
        };
        if self.kept.is_some() {
            return self.abort_kept(rank, rank::abort_code(code), &text);
        }
        self.fail(rank::abort_code(code), &text);
    }

    /// Ends everything that is left, and passes the last output on.
    fn clean_up(&mut self) {
        self.worlds.clear();
        let grace = match &self.ending {
            // They have been told already.
            Some(ending) => ending.kill_at.saturating_duration_since(Instant::now()),
            None => self.grace,
        };
        let left = descendants::end_all(grace);
        if !left.is_empty() {
            self.say(&format!("these processes do not end, even after SIGKILL: {left:?}"));
        }
        // From here on there is nothing to clean up, and whoever reads the output may never do so:
        // signals may end this process.
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        crate::signals::unblock();
        self.output.finish();
        self.tell_lost();
    }

    /// Tells of output that could not be written. That is a failure of the job, though its ranks may go on.
    fn tell_lost(&mut self) {
        if let Some(lost) = self.output.lost() {
            say(&lost);
            self.code.get_or_insert(1);
        }
    }
}
