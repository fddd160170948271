//! The mpiexec of a job on several hosts: starts an agent on each and brings them together.

mod debugged;
mod further;
mod late;
mod lines;
mod listen;
mod lost;
mod root;
mod stall;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tern_pmi::{Nodes, addresses};

use super::tree::{Below, MORE};
use crate::descendants;
use crate::host_list::{self, Layout, Share};
use crate::losses::Losses;
use crate::mpir::{Process, Teller};
use crate::options::{Options, Stdin, TIMED_OUT, late};
use crate::say::say;
use crate::signals::{self, Signal};
use crate::uplink::{Down, Line, Up};
use further::{Further, Published};
use lines::Lines;
use stall::Gathering;

pub use root::run as root;

/// How long an agent that has ended is listened to, for what it has said before, if its connection does not end.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// What happens.
enum Event {
    Joined(usize, Arc<Line>),
    /// An agent has begun, with what it was told on that connection.
    Begun(usize, Arc<Line>),
    Told(usize, Up),
    /// The connection to an agent has ended.
    Lost(usize, Arc<Line>),
    /// The process that started an agent has ended.
    Ended(usize, ExitStatus),
    Signal(Signal),
    /// A debugger has seen all ranks.
    Seen,
    /// The process that the user started has died.
    Keeper,
}

/// One host.
struct Agent {
    name: String,
    /// What was run to start it, for messages.
    shown: String,
    /// The process that has started it, if that is a child of this one.
    pid: i32,
    /// The agents that it starts.
    below: Below,
    running: bool,
    /// When the process that started it ended.
    ended: Option<Instant>,
    lines: Lines,
    done: bool,
    /// It is gone, and the job goes on without its ranks.
    lost: bool,
    addresses: Option<Vec<Vec<u8>>>,
    /// The ranks that it has started.
    processes: Option<Vec<Process>>,
    /// Where its ranks run, in words.
    bindings: Option<Vec<String>>,
    waits: String,
    gone: String,
    /// Further processes that it was to start, and in how many orders.
    spawned: u32,
    orders: u32,
    /// After how many orders it has said that it has no ranks that run.
    idle_after: Option<u32>,
    /// Orders that it gets when it has come, and the worlds that they are for.
    waiting: Vec<(u32, Vec<u8>)>,
}

impl Agent {
    /// One that will come by itself, or is about to be started. It counts as running until its connection ends.
    fn expected(name: String) -> Agent {
        Agent {
            name,
            shown: String::new(),
            pid: 0,
            below: Below::default(),
            running: true,
            ended: None,
            lines: Lines::default(),
            done: false,
            lost: false,
            addresses: None,
            processes: None,
            bindings: None,
            waits: String::new(),
            gone: String::new(),
            spawned: 0,
            orders: 0,
            idle_after: None,
            waiting: Vec::new(),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// Nothing comes from it any more: its end is told by one thread, and what it says, as how its ranks have ended, by another.
    fn is_over(&self, now: Instant) -> bool {
        let silent = || self.ended.is_none_or(|ended| now.saturating_duration_since(ended) >= LAST_WORDS);
        !self.running && (self.lines.all().is_empty() || silent())
    }
}

struct Server<'a> {
    options: &'a Options,
    job_id: u64,
    shares: Vec<Share>,
    /// Processes that each host has room for, where that is said.
    slots: Vec<Option<u32>>,
    /// Worlds that were spawned.
    further: Vec<Further>,
    /// Services that ranks have published.
    names: Vec<Published>,
    nodes: Nodes,
    agents: Vec<Agent>,
    code: Option<i32>,
    /// What it returns where ranks are lost.
    losses: Losses,
    /// The ranks that agents were told are lost, by world.
    told_lost: BTreeMap<u64, BTreeSet<u32>>,
    /// When agents are killed that have been told to end.
    kill_at: Option<Instant>,
    deadline: Option<Instant>,
    /// What passes the output and the error output of agents on, if that is not theirs to write.
    relays: [Vec<JoinHandle<Option<std::io::Error>>>; 2],
    /// What the ranks say they wait for, while a picture is made of it.
    stall: Option<Gathering>,
    /// Agents come by themselves: they are keepers of nodes, and no children of this process.
    awaited: bool,
    /// What starts further agents.
    starting: Option<late::Starting>,
    /// Where debuggers are told of the ranks, until they are.
    debugger: Option<(Teller, Sender<Event>)>,
}

/// Runs a job on the hosts of `layout`; gives its exit code. `mask` is the signal mask for what is started.
pub fn run(options: &Options, layout: Layout, mask: libc::sigset_t, keeper: OwnedFd, debugger: Teller) -> i32 {
    descendants::adopt();
    tern_settings::load();
    let Layout { mut shares, nodes } = layout;
    shares.extend(host_list::without_ranks(&options.blocks, &shares));
    let deadline = options.timeout.map(|timeout| Instant::now() + timeout);
    let job_id = tern_pmi::new_job_id();
    let (tell, events) = channel();
    let slots = host_list::slots(&options.blocks, &shares, options.per_host);
    let server = Server::new(options, job_id, shares, nodes, Vec::new());
    let mut server = Server { slots, deadline, debugger: Some((debugger, tell.clone())), ..server };
    match server.begin(&tell, mask) {
        Ok(()) => {
            watch(tell, keeper);
            server.serve(events);
        }
        Err(text) => {
            say(&text);
            server.code = Some(1);
        }
    }
    descendants::end_all(if server.code.is_some() { MORE } else { Duration::ZERO });
    // Whoever reads the output may never do so; signals end this process from here on.
    let [lost, _] = std::mem::take(&mut server.relays)
        .map(|relays| relays.into_iter().map(|relay| relay.join().ok().flatten()).fold(None, Option::or));
    if let Some(error) = lost {
        say(&format!("output of the ranks is lost: write to the standard output: {error}"));
        server.code.get_or_insert(1);
    }
    server.losses.code(server.code)
}

/// Begins to listen to signals, and to the process that the user started.
fn watch(tell: Sender<Event>, keeper: OwnedFd) {
    take_signals(tell.clone());
    std::thread::spawn(move || {
        let _ = rustix::io::retry_on_intr(|| rustix::io::read(&keeper, &mut [0u8; 1]));
        let _ = tell.send(Event::Keeper);
    });
}

fn take_signals(tell: Sender<Event>) {
    std::thread::spawn(move || {
        loop {
            let signal = signals::wait();
            if tell.send(Event::Signal(signal)).is_err() && signal.number != libc::SIGCHLD {
                std::process::exit(128 + signal.number);
            }
        }
    });
}

impl<'a> Server<'a> {
    /// Of these agents, of which none has come yet.
    fn new(options: &'a Options, job_id: u64, shares: Vec<Share>, nodes: Nodes, agents: Vec<Agent>) -> Server<'a> {
        Server {
            options,
            job_id,
            shares,
            slots: Vec::new(),
            further: Vec::new(),
            names: Vec::new(),
            nodes,
            agents,
            code: None,
            losses: Losses::default(),
            told_lost: BTreeMap::new(),
            kill_at: None,
            deadline: None,
            relays: Default::default(),
            stall: None,
            awaited: false,
            starting: None,
            debugger: None,
        }
    }
}

impl Server<'_> {
    /// Until all agents have ended, and all that they have said is heard.
    fn serve(&mut self, events: Receiver<Event>) {
        while self.agents.iter().any(|agent| !agent.is_over(Instant::now())) {
            let last_words = self.agents.iter().filter_map(|agent| agent.ended).max().map(|ended| ended + LAST_WORDS);
            let last_words = last_words.filter(|_| !self.agents.iter().any(|agent| agent.running));
            let next = [self.kill_at, self.deadline, self.picture_due(), self.calls_due(), last_words]
                .into_iter()
                .flatten()
                .min();
            let left = next.map_or(Duration::from_secs(3600), |at| at.saturating_duration_since(Instant::now()));
            match events.recv_timeout(left) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.check_time();
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Joined(number, line) => self.joined(number, line),
            Event::Begun(number, line) => self.begun(number, line),
            Event::Told(number, told) => self.told(number, told),
            Event::Lost(number, line) => self.lost(number, &line),
            Event::Ended(number, status) => self.ended(number, status),
            Event::Signal(signal) => self.signal(signal),
            Event::Seen => self.tell_all(&Down::Release),
            Event::Keeper => {
                descendants::end_all(Duration::ZERO);
                std::process::exit(137);
            }
        }
    }

    fn joined(&mut self, number: usize, line: Arc<Line>) {
        if self.kill_at.is_some() {
            // Too late: it ends with its connection.
            return;
        }
        if !self.agents[number].lines.add(line.clone()) {
            return;
        }
        // A keeper knows its part.
        let part = if self.awaited { Vec::new() } else { self.part(number).encode() };
        // What goes wrong is seen where the connection is read.
        let _ = Down::Begin(part).send(&line);
    }

    fn begun(&mut self, number: usize, line: Arc<Line>) {
        self.agents[number].lines.begin(line);
        self.tell_lost_before(number);
        self.give_waiting(number);
    }

    fn told(&mut self, number: usize, told: Up) {
        match told {
            Up::Ended { number, text } => self.not_started(number as usize, &text),
            // Heard where it is read.
            Up::Begun => {}
            Up::Addresses(world, table) if world > 0 => self.further_addresses(world, number, &table),
            Up::Spawn { rank, orders } => self.further(number, rank, orders),
            Up::Started { world, failed } => self.started(number, world, failed),
            Up::Name { rank, what, service, port } => self.name(number, rank, what, &service, &port),
            Up::Idle(orders) => self.idle(number, orders),
            Up::Addresses(_, table) => {
                self.agents[number].addresses = addresses::decode(&table);
                self.tell_addresses();
            }
            Up::Failed(code, text) => self.fail(code, &text),
            Up::Lost { world, rank, code, text } => self.rank_lost(world, rank, code, &text),
            Up::WorldLost { world, code, text } => self.world_lost(world, code, &text),
            Up::Finalized => _ = self.losses.finalized(),
            Up::Bindings(lines) => self.bindings(number, lines),
            Up::Processes(processes) => self.processes(number, processes),
            Up::Waits { first, ranks } => self.host_waits(number, first, &ranks),
            Up::Standing { waits, gone } => {
                (self.agents[number].waits, self.agents[number].gone) = (waits, gone);
                self.check_left();
            }
            Up::Done(code) => {
                self.agents[number].done = true;
                if code != 0 && self.kill_at.is_none() {
                    self.code.get_or_insert(code);
                }
            }
        }
    }

    /// Tells the user where ranks run, once that is known of all, in the order of ranks.
    fn bindings(&mut self, number: usize, lines: Vec<String>) {
        self.agents[number].bindings = Some(lines);
        if self.agents.iter().all(|agent| agent.bindings.is_some()) {
            let all: Vec<String> = self.agents.iter_mut().filter_map(|agent| agent.bindings.take()).flatten().collect();
            self.by_rank(all).iter().for_each(|line| say(line));
        }
    }

    /// What comes in the order of nodes, in that of ranks.
    fn by_rank<T>(&self, all: Vec<T>) -> Vec<T> {
        let ranks = (0..self.nodes.count()).flat_map(|node| self.nodes.members(node));
        let mut numbered: Vec<(u32, T)> = ranks.zip(all).collect();
        numbered.sort_by_key(|(rank, _)| *rank);
        numbered.into_iter().map(|(_, one)| one).collect()
    }

    /// Tells all ranks where all are, once that is known.
    fn tell_addresses(&self) {
        let all: Option<Vec<&Vec<Vec<u8>>>> = self.agents.iter().map(|agent| agent.addresses.as_ref()).collect();
        let Some(all) = all else { return };
        let all: Vec<&[u8]> = all.into_iter().flatten().map(Vec::as_slice).collect();
        let all = self.by_rank(all);
        self.tell_all(&Down::Addresses(0, addresses::encode(all.into_iter())));
    }

    /// Who has ended without initialising MPI will never do it, but who has initialised it waits for all.
    fn check_left(&mut self) {
        let gone = self.agents.iter().map(|agent| &agent.gone).find(|gone| !gone.is_empty());
        let waits = self.agents.iter().map(|agent| &agent.waits).find(|waits| !waits.is_empty());
        if let (Some(gone), Some(waits)) = (gone, waits) {
            let text = format!("{gone} ended without calling MPI_Init, which {waits} has called");
            self.fail(1, &text);
        }
    }

    fn ended(&mut self, number: usize, status: ExitStatus) {
        let agent = &mut self.agents[number];
        agent.running = false;
        agent.ended = Some(Instant::now());
        if agent.lines.have_called() {
            return self.calls_no_more(number);
        }
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or(0)),
        };
        let text = format!("the agent on host {} did not start: '{}' ended with {how}", agent.name, agent.shown);
        match self.is_late(number) {
            true => self.not_woken(number, &text),
            false => self.fail(1, &text),
        }
    }

    /// What another agent has run to start that one has ended.
    fn not_started(&mut self, number: usize, text: &str) {
        let Some(agent) = self.agents.get_mut(number).filter(|agent| agent.pid == 0) else { return };
        agent.ended = Some(Instant::now());
        if agent.lines.have_called() {
            self.calls_no_more(number);
        } else {
            let text = format!("the agent on host {} did not start: {text}", agent.name);
            self.fail(1, &text);
        }
    }

    fn signal(&mut self, signal: Signal) {
        match signal.number {
            libc::SIGCHLD => {}
            // It is for the debuggers of the ranks.
            libc::SIGINT if self.options.streams.stdin == Stdin::Addressed => {
                self.tell_all(&Down::Signal(signal.number))
            }
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => match self.kill_at {
                Some(_) => self.kill_at = Some(Instant::now()),
                None => {
                    self.code.get_or_insert(128 + signal.number);
                    self.tell_all(&Down::Signal(signal.number));
                    self.end();
                }
            },
            libc::SIGUSR1 if !self.is_ending() => self.ask_hosts(None),
            other => self.tell_all(&Down::Signal(other)),
        }
    }

    fn is_ending(&self) -> bool {
        self.kill_at.is_some()
    }

    fn tell_all(&self, message: &Down) {
        for socket in self.agents.iter().flat_map(|agent| agent.lines.all()) {
            let _ = message.send(socket);
        }
    }

    /// Ends the job because of an error, of which the first one counts.
    fn fail(&mut self, code: i32, text: &str) {
        if self.kill_at.is_some() {
            return;
        }
        self.code.get_or_insert(code);
        if text.is_empty() {
            // A rank of another launcher's has called MPI_Abort, and told the user. The others are ended when it has
            // told that launcher, and its keeper goes.
            return self.end();
        }
        say(text);
        self.tell_all(&Down::End);
        self.end();
    }

    fn end(&mut self) {
        self.kill_at = Some(Instant::now() + tern_settings::GRACE.get() + MORE);
        self.deadline = None;
        if self.awaited {
            return;
        }
        // Who has not joined has nothing to end.
        for agent in self.agents.iter_mut().filter(|agent| agent.running && !agent.lines.have_called()) {
            kill(agent.pid, libc::SIGTERM);
            // Those that others start are turned away when they come.
            agent.running = agent.pid != 0;
        }
    }

    fn check_time(&mut self) {
        let now = Instant::now();
        self.check_picture(now);
        self.check_calls(now);
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.fail(TIMED_OUT, &late(self.options.timeout));
        }
        if self.kill_at.is_some_and(|kill_at| now >= kill_at) {
            self.kill_at = Some(now + Duration::from_millis(200));
            if self.awaited {
                // Their connections end with this process, and so do they.
                return self.give_up_all();
            }
            for agent in self.agents.iter_mut().filter(|agent| agent.running) {
                kill(agent.pid, libc::SIGKILL);
                if agent.pid == 0 {
                    // Its connection ends, and so does it.
                    agent.running = false;
                    agent.lines.clear();
                }
            }
        }
    }
}

/// Signals the group of a process that was started as the first of one.
fn kill(pid: i32, signal: i32) {
    if pid > 0 {
        // SAFETY: a system call on numbers; the group is that of a child that has not been reaped yet, or nobody's.
        unsafe { libc::kill(-pid, signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_listened_to_until_its_connection_ends_or_for_a_while() {
        let (line, _) = crate::uplink::pair();
        let mut agent = Agent::expected(String::new());
        let line = Arc::new(line);
        agent.lines.begin(line.clone());
        let now = Instant::now();
        assert!(!agent.is_over(now));
        (agent.running, agent.ended) = (false, Some(now));
        assert!(!agent.is_over(now), "it may have said how its ranks have ended");
        assert!(agent.is_over(now + LAST_WORDS));
        assert_eq!(agent.lines.end(&line, false), lines::End::Gone);
        assert!(agent.is_over(now));
    }
}
