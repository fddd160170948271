//! The mpiexec of a job on several hosts: starts an agent on each and brings them together.

mod root;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tern_pmi::{Nodes, addresses};

use super::agent::AGENT;
use super::part::Part;
use super::relay::relay;
use super::stall::Gathering;
use super::wire::{Down, Up};
use super::{Share, command, is_own};
use crate::args::{Options, Program, Stdin};
use crate::job::{TIMED_OUT, late};
use crate::signals::{self, Signal};
use crate::{descendants, input, say};

pub use root::run as root;

/// How long an agent may take to say who it is, once it has connected.
const JOIN: Duration = Duration::from_secs(10);
/// Callers beside the agents that may be about to say who they are at one time; more are turned away.
const STRANGERS: usize = 64;
/// How much longer than their ranks agents may take to end.
const MORE: Duration = Duration::from_secs(3);
/// How long an agent that has ended is listened to, for what it has said before, if its connection does not end.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// What happens.
enum Event {
    Joined(usize, TcpStream),
    Told(usize, Up),
    /// The connection to an agent has ended.
    Lost(usize),
    /// The process that started an agent has ended.
    Ended(usize, ExitStatus),
    Signal(Signal),
    /// The process that the user started has died.
    Keeper,
}

/// One host.
pub(super) struct Agent {
    name: String,
    /// What was run to start it, for messages.
    shown: String,
    pid: i32,
    running: bool,
    /// When the process that started it ended.
    ended: Option<Instant>,
    /// The connection, until its end has been heard.
    socket: Option<TcpStream>,
    joined: bool,
    done: bool,
    addresses: Option<Vec<Vec<u8>>>,
    waits: String,
    gone: String,
}

impl Agent {
    /// Nothing comes from it any more: its end is told by one thread, and what it says, as how its ranks have ended, by another.
    fn is_over(&self, now: Instant) -> bool {
        let silent = || self.ended.is_none_or(|ended| now.saturating_duration_since(ended) >= LAST_WORDS);
        !self.running && (self.socket.is_none() || silent())
    }
}

pub(super) struct Server<'a> {
    options: &'a Options,
    job_id: u64,
    pub(super) shares: Vec<Share>,
    nodes: Nodes,
    pub(super) agents: Vec<Agent>,
    code: Option<i32>,
    /// When agents are killed that have been told to end.
    kill_at: Option<Instant>,
    deadline: Option<Instant>,
    /// What passes the output and the error output of agents on, if that is not theirs to write.
    relays: [Vec<JoinHandle<Option<std::io::Error>>>; 2],
    /// What the ranks say they wait for, while a picture is made of it.
    pub(super) stall: Option<Gathering>,
    /// Agents come by themselves: they are keepers of nodes, and no children of this process.
    awaited: bool,
}

/// Runs a job on the hosts of `shares`; gives its exit code. `mask` is the signal mask for what is started.
pub fn run(options: &Options, shares: Vec<Share>, mask: libc::sigset_t, keeper: OwnedFd) -> i32 {
    descendants::adopt();
    tern_settings::load();
    let nodes = Nodes::of_sizes(shares.iter().map(|share| share.ranks)).expect("every host has ranks");
    let deadline = options.timeout.map(|timeout| Instant::now() + timeout);
    let job_id = tern_pmi::new_job_id();
    let agents = Vec::new();
    let mut server = Server {
        options,
        job_id,
        shares,
        nodes,
        agents,
        code: None,
        kill_at: None,
        deadline,
        relays: Default::default(),
        stall: None,
        awaited: false,
    };
    let (tell, events) = channel();
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
    server.code.unwrap_or(0)
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

/// The addresses of this machine, those that others may reach first.
fn own_addresses(port: u16) -> String {
    let mut found = Vec::new();
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the call fills the list, which is read while it lives and freed once; addresses are of the kind that
    // their family says.
    unsafe {
        if libc::getifaddrs(&mut list) == 0 {
            let mut at = list;
            while let Some(entry) = at.as_ref() {
                if let Some(address) = entry.ifa_addr.as_ref()
                    && i32::from(address.sa_family) == libc::AF_INET
                {
                    let address = &*entry.ifa_addr.cast::<libc::sockaddr_in>();
                    found.push(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)));
                }
                at = entry.ifa_next;
            }
            libc::freeifaddrs(list);
        }
    }
    found.sort_by_key(Ipv4Addr::is_loopback);
    let shown = found.into_iter().map(|address| SocketAddr::new(IpAddr::V4(address), port).to_string());
    shown.collect::<Vec<_>>().join(",")
}

impl Server<'_> {
    /// Starts the agents and the threads that listen to them.
    fn begin(&mut self, tell: &Sender<Event>, mask: libc::sigset_t) -> Result<(), String> {
        let secret = tern_pmi::new_job_id();
        let callers = self.listen(secret, tell)?;
        let mut inputs = Vec::new();
        for number in 0..self.shares.len() {
            self.start(number, &callers, secret, tell, mask, &mut inputs)?;
        }
        if !inputs.is_empty() {
            input::copy(std::io::stdin(), inputs);
        }
        Ok(())
    }

    /// Begins to listen for agents; gives the addresses where.
    fn listen(&self, secret: u64, tell: &Sender<Event>) -> Result<String, String> {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0));
        let listener = listener.map_err(|error| format!("cannot listen for the agents of the hosts: {error}"))?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let accepted = tell.clone();
        let hosts = self.shares.len();
        std::thread::spawn(move || accept(&listener, secret, hosts, &accepted));
        Ok(own_addresses(port))
    }

    /// Starts one agent.
    fn start(
        &mut self, number: usize, callers: &str, secret: u64, tell: &Sender<Event>, mask: libc::sigset_t,
        inputs: &mut Vec<ChildStdin>,
    ) -> Result<(), String> {
        let name = self.shares[number].name.clone();
        let shell = self.options.shell.clone().unwrap_or_else(|| tern_settings::REMOTE_SHELL.get().to_owned());
        let mpiexec = std::env::current_exe().map_err(|error| format!("where mpiexec is: {error}"))?;
        let mut words = if tern_node::is_this_machine(&name) { Vec::new() } else { command(&shell, &name) };
        words.extend([mpiexec.into_os_string(), AGENT.into(), callers.into(), number.to_string().into()]);
        let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let shown = shown.join(" ");
        let mut start = Command::new(&words[0]);
        // A key on the terminal is for mpiexec, which tells the agents.
        start.args(&words[1..]).stdin(Stdio::piped()).process_group(0);
        if self.options.streams.marks() {
            start.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        // SAFETY: one system call, with a set of signals of its own.
        unsafe {
            start.pre_exec(move || {
                libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
                Ok(())
            });
        }
        let cannot = |error| format!("cannot start the agent on host {name} by '{shown}': {error}");
        let mut child = start.spawn().map_err(cannot)?;
        if let Some(mut input) = child.stdin.take() {
            // What it does not read, its end tells.
            let _ = input.write_all(format!("{secret:x}\n").as_bytes());
            let reads = match self.options.streams.stdin {
                Stdin::All => true,
                Stdin::Nobody => false,
                Stdin::Rank(rank) => self.nodes.of(rank) as usize == number,
            };
            if reads {
                inputs.push(input);
            }
        }
        self.relays[0].extend(child.stdout.take().map(|from| relay(from, std::io::stdout())));
        self.relays[1].extend(child.stderr.take().map(|from| relay(from, std::io::stderr())));
        if self.options.verbose {
            say(&format!("host {name}: {shown}"));
        }
        let pid = child.id() as i32;
        self.agents.push(Agent {
            name,
            shown,
            pid,
            running: true,
            ended: None,
            socket: None,
            joined: false,
            done: false,
            addresses: None,
            waits: String::new(),
            gone: String::new(),
        });
        let ended = tell.clone();
        std::thread::spawn(move || await_end(child, number, &ended));
        Ok(())
    }

    /// Until all agents have ended, and all that they have said is heard.
    fn serve(&mut self, events: Receiver<Event>) {
        while self.agents.iter().any(|agent| !agent.is_over(Instant::now())) {
            let last_words = self.agents.iter().filter_map(|agent| agent.ended).max().map(|ended| ended + LAST_WORDS);
            let last_words = last_words.filter(|_| !self.agents.iter().any(|agent| agent.running));
            let next = [self.kill_at, self.deadline, self.picture_due(), last_words].into_iter().flatten().min();
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
            Event::Joined(number, socket) => self.joined(number, socket),
            Event::Told(number, told) => self.told(number, told),
            Event::Lost(number) => self.lost(number),
            Event::Ended(number, status) => self.ended(number, status),
            Event::Signal(signal) => self.signal(signal),
            Event::Keeper => {
                descendants::end_all(Duration::ZERO);
                std::process::exit(137);
            }
        }
    }

    fn joined(&mut self, number: usize, socket: TcpStream) {
        if self.kill_at.is_some() {
            // Too late: it ends with its connection.
            return;
        }
        // A keeper knows its part.
        let part = if self.awaited { Vec::new() } else { self.part(number).encode() };
        // What goes wrong is seen where the connection is read.
        let _ = Down::Begin(part).send(&socket);
        self.agents[number].socket = Some(socket);
        self.agents[number].joined = true;
    }

    /// What the agent of host `number` has to do.
    fn part(&self, number: usize) -> Part {
        let here = self.nodes.ranks(number as u32);
        let directory = std::env::current_dir().ok().map(|directory| directory.into_os_string());
        let mut first = 0;
        let mut counts = Vec::new();
        let programs = self.options.programs.iter().map(|program| {
            let all = first..first + program.count;
            first = all.end;
            counts.push(program.count);
            let count = all.end.min(here.end).saturating_sub(all.start.max(here.start));
            Program { count, wdir: program.wdir.clone().or(directory.clone()), ..program.clone() }
        });
        let programs = programs.collect();
        let own = std::env::vars_os().filter(|(name, _)| !is_own(name));
        let env = own.chain(self.options.env.iter().cloned()).collect();
        let Options { universe, bind, report_bindings, exit_codes, verbose, no_library_path, .. } = *self.options;
        let streams = self.options.streams.clone();
        let options = Options {
            programs,
            env,
            streams,
            universe,
            bind,
            report_bindings,
            exit_codes,
            verbose,
            no_library_path,
            ..Options::default()
        };
        let host = self.agents[number].name.clone();
        Part { job_id: self.job_id, host, node: number as u32, nodes: self.nodes.clone(), options, counts }
    }

    fn told(&mut self, number: usize, told: Up) {
        match told {
            Up::Join { .. } => {}
            Up::Addresses(table) => {
                self.agents[number].addresses = addresses::decode(&table);
                self.tell_addresses();
            }
            Up::Failed(code, text) => self.fail(code, &text),
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

    /// What comes in the order of nodes, in that of ranks.
    pub(super) fn by_rank<T>(&self, all: Vec<T>) -> Vec<T> {
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
        self.tell_all(&Down::Addresses(addresses::encode(all.into_iter())));
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

    fn lost(&mut self, number: usize) {
        let agent = &mut self.agents[number];
        agent.socket = None;
        if !agent.done {
            let text = format!("the connection to host {} is lost: its agent or the host is gone", agent.name);
            self.fail(1, &text);
        }
        if self.awaited {
            self.keeper_gone(number);
        }
    }

    fn ended(&mut self, number: usize, status: ExitStatus) {
        let agent = &mut self.agents[number];
        agent.running = false;
        agent.ended = Some(Instant::now());
        if agent.joined {
            return;
        }
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or(0)),
        };
        let text = format!("the agent on host {} did not start: '{}' ended with {how}", agent.name, agent.shown);
        self.fail(1, &text);
    }

    fn signal(&mut self, signal: Signal) {
        match signal.number {
            libc::SIGCHLD => {}
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

    pub(super) fn is_ending(&self) -> bool {
        self.kill_at.is_some()
    }

    pub(super) fn tell_all(&self, message: &Down) {
        for socket in self.agents.iter().filter_map(|agent| agent.socket.as_ref()) {
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
        for agent in self.agents.iter().filter(|agent| agent.running && !agent.joined) {
            kill(agent.pid, libc::SIGTERM);
        }
    }

    fn check_time(&mut self) {
        let now = Instant::now();
        self.check_picture(now);
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.fail(TIMED_OUT, &late(self.options.timeout));
        }
        if self.kill_at.is_some_and(|kill_at| now >= kill_at) {
            self.kill_at = Some(now + Duration::from_millis(200));
            if self.awaited {
                // Their connections end with this process, and so do they.
                return self.give_up_all();
            }
            for agent in self.agents.iter().filter(|agent| agent.running) {
                kill(agent.pid, libc::SIGKILL);
            }
        }
    }
}

/// Signals the group of a process that was started as the first of one.
fn kill(pid: i32, signal: i32) {
    // SAFETY: a system call on numbers; the group is that of a child that has not been reaped yet, or nobody's.
    unsafe { libc::kill(-pid, signal) };
}

fn await_end(mut child: Child, number: usize, tell: &Sender<Event>) {
    if let Ok(status) = child.wait() {
        let _ = tell.send(Event::Ended(number, status));
    }
}

/// Takes the calls of agents. Who does not know the secret is not listened to.
fn accept(listener: &TcpListener, secret: u64, hosts: usize, tell: &Sender<Event>) {
    let strangers = Arc::new(AtomicUsize::new(0));
    for socket in listener.incoming().flatten() {
        // Relaxed: a count. One more is let in only here.
        if strangers.load(Ordering::Relaxed) >= hosts + STRANGERS {
            continue;
        }
        strangers.fetch_add(1, Ordering::Relaxed);
        let (tell, strangers) = (tell.clone(), strangers.clone());
        std::thread::spawn(move || {
            let number = introduced(&socket, secret, hosts);
            strangers.fetch_sub(1, Ordering::Relaxed);
            if let Some(number) = number {
                listen_to(number, &socket, &tell);
            }
        });
    }
}

/// The number of the agent that has called; `None` for others.
fn introduced(socket: &TcpStream, secret: u64, hosts: usize) -> Option<usize> {
    let _ = socket.set_nodelay(true);
    let _ = socket.set_read_timeout(Some(JOIN));
    let Ok(Up::Join { secret: known, number }) = Up::receive_first(socket) else { return None };
    let is_agent = known == secret && (number as usize) < hosts && socket.set_read_timeout(None).is_ok();
    is_agent.then_some(number as usize)
}

/// Passes on what an agent tells, until its connection ends.
fn listen_to(number: usize, socket: &TcpStream, tell: &Sender<Event>) {
    let Ok(other) = socket.try_clone() else { return };
    let _ = tell.send(Event::Joined(number, other));
    while let Ok(told) = Up::receive(socket) {
        if tell.send(Event::Told(number, told)).is_err() {
            return;
        }
    }
    let _ = tell.send(Event::Lost(number));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_listened_to_until_its_connection_ends_or_for_a_while() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
        let mut agent = Agent {
            name: String::new(),
            shown: String::new(),
            pid: 0,
            running: true,
            ended: None,
            socket: Some(socket),
            joined: true,
            done: false,
            addresses: None,
            waits: String::new(),
            gone: String::new(),
        };
        let now = Instant::now();
        assert!(!agent.is_over(now));
        (agent.running, agent.ended) = (false, Some(now));
        assert!(!agent.is_over(now), "it may have said how its ranks have ended");
        assert!(agent.is_over(now + LAST_WORDS));
        agent.socket = None;
        assert!(agent.is_over(now));
    }
}
