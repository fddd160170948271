//! Starts the agents, and tells each what it has to do.

use std::process::{Child, ChildStdin};
use std::sync::mpsc::Sender;

use tern_pmi::Secret;

use super::super::is_own;
use super::super::part::Part;
use super::super::relay::relay;
use super::super::starter::{Method, Numbered, Start};
use super::super::tree::{self, Below};
use super::late::Starting;
use super::{Agent, Event, Server, Share};
use crate::options::{Options, Program, Stdin};
use crate::place::Policy;
use crate::{input, say::say};

impl Server<'_> {
    /// Starts the agents and the threads that listen to them.
    pub(super) fn begin(&mut self, tell: &Sender<Event>, mask: libc::sigset_t) -> Result<(), String> {
        let secret = tern_pmi::new_secret().map_err(|error| format!("random numbers: {error}"))?;
        let callers = self.listen(secret, tell)?;
        let method = Method::of(self.options);
        let mpiexec = std::env::current_exe().map_err(|error| format!("where mpiexec is: {error}"))?.into_os_string();
        let agent = |share: &Share| match share.ranks {
            0 => Agent::dormant(share.name.clone()),
            _ => Agent::expected(share.name.clone()),
        };
        self.agents = self.shares.iter().map(agent).collect();
        let (here, elsewhere) = self.first_and_further(&method);
        let mut starts = Method::Fork.starts(&mpiexec, &callers, &here);
        let first = self.divide(elsewhere, &method, &callers);
        starts.extend(method.starts(&mpiexec, &callers, &first));
        let mut inputs = Vec::new();
        for start in starts {
            self.start(start, &secret, tell, mask, &mut inputs)?;
        }
        if !inputs.is_empty() {
            input::copy(std::io::stdin(), inputs.into_iter().map(|to| input::Reader::new(to, None)).collect());
        }
        self.starting = Some(Starting { secret, method, mpiexec, callers, tell: tell.clone(), mask });
        Ok(())
    }

    /// The agents on this machine, and the others; of hosts with ranks.
    fn first_and_further(&self, method: &Method) -> (Vec<Numbered>, Vec<Numbered>) {
        let with_ranks = (0..).zip(&self.shares).filter(|(_, share)| share.ranks > 0);
        let all = with_ranks.map(|(number, share)| (number, share.name.clone()));
        all.partition(|(_, name)| *method != Method::Fork && tern_node::is_this_machine(name))
    }

    /// Divides agents among the agents, if they are many. Gives those that this process starts.
    fn divide(&mut self, hosts: Vec<Numbered>, method: &Method, callers: &str) -> Vec<Numbered> {
        // One command of Slurm starts all, by a tree of Slurm's own. The standard input goes from here to its reader. Where hosts may
        // be lost, none passes on what others write.
        let flat = matches!(method, Method::Srun { .. }) || self.options.goes_on;
        if flat || self.options.streams.stdin.is_shared() {
            return hosts;
        }
        let (mut reader, others): (Vec<_>, Vec<_>) =
            hosts.into_iter().partition(|(number, _)| self.reads_input(*number));
        let numbers: Vec<u32> = others.iter().map(|(number, _)| *number).collect();
        let (first, mut below) = tree::divide(&numbers);
        let named = |number: &u32| (*number, self.shares[*number as usize].name.clone());
        reader.extend(first.iter().map(named));
        let piped = self.options.streams.marks();
        for (number, next) in below.drain() {
            let hosts = next.iter().map(named).collect();
            let below = Below { method: method.word(), hosts, callers: callers.to_owned(), piped };
            self.agents[number as usize].below = below;
        }
        reader
    }

    /// Whether ranks of that host read the standard input.
    fn reads_input(&self, number: u32) -> bool {
        match self.options.streams.stdin {
            Stdin::All | Stdin::Addressed => true,
            Stdin::Nobody => false,
            Stdin::Rank(rank) => self.nodes.of(rank) == number,
        }
    }

    /// Starts one agent, or several that one command starts.
    pub(super) fn start(
        &mut self, start: Start, secret: &Secret, tell: &Sender<Event>, mask: libc::sigset_t,
        inputs: &mut Vec<ChildStdin>,
    ) -> Result<(), String> {
        let shown = start.shown();
        let name = |number: &u32| self.shares[*number as usize].name.as_str();
        let names: Vec<&str> = start.numbers.iter().map(name).collect();
        let names = format!("{}{}", if names.len() == 1 { "host " } else { "hosts " }, names.join(", "));
        let cannot = |error| format!("cannot start the agent on {names} by '{shown}': {error}");
        let mut child = start.run(secret, self.options.streams.marks(), mask).map_err(cannot)?;
        if let Some(input) = child.stdin.take().filter(|_| start.numbers.iter().any(|number| self.reads_input(*number)))
        {
            inputs.push(input);
        }
        self.relays[0].extend(child.stdout.take().map(|from| relay(from, std::io::stdout())));
        self.relays[1].extend(child.stderr.take().map(|from| relay(from, std::io::stderr())));
        if self.options.verbose {
            say(&format!("{names}: {shown}"));
        }
        for number in &start.numbers {
            let agent = &mut self.agents[*number as usize];
            (agent.pid, agent.shown) = (child.id() as i32, shown.clone());
        }
        let ended = tell.clone();
        std::thread::spawn(move || await_end(child, &start.numbers, &ended));
        Ok(())
    }

    /// What the agent of host `number` has to do.
    pub(super) fn part(&self, number: usize) -> Part {
        let late = self.is_late(number);
        let here = if late { Vec::new() } else { self.nodes.members(number as u32) };
        let directory = std::env::current_dir().ok().map(|directory| directory.into_os_string());
        let mut first = 0;
        let mut counts = Vec::new();
        // Where none of them is to run they need not be there.
        let programs = self.options.programs.iter().filter(|_| !late).map(|program| {
            let all = first..first + program.count;
            first = all.end;
            counts.push(program.count);
            let count = here.iter().filter(|rank| all.contains(rank)).count() as u32;
            Program { count, wdir: program.wdir.clone().or(directory.clone()), ..program.clone() }
        });
        let programs = programs.collect();
        let own = std::env::vars_os().filter(|(name, _)| !is_own(name));
        let env = own.chain(self.options.env.iter().cloned()).collect();
        let Options { universe, report_bindings, exit_codes, goes_on, verbose, held, no_library_path, .. } =
            *self.options;
        let universe = universe.or_else(|| self.room_of_all());
        let streams = self.options.streams.clone();
        // Whether there is room for all has been seen to.
        let policy = Policy { no_oversubscribe: false, ..self.options.policy.clone() };
        let options = Options {
            programs,
            env,
            streams,
            universe,
            policy: if late { Policy::default() } else { policy },
            report_bindings,
            exit_codes,
            goes_on,
            verbose,
            // Spawned processes are not in the table of debuggers.
            held: held && !late,
            no_library_path,
            ..Options::default()
        };
        let host = self.agents[number].name.clone();
        let below = self.agents[number].below.clone();
        Part { below, job_id: self.job_id, host, node: number as u32, nodes: self.nodes.clone(), options, counts }
    }
}

fn await_end(mut child: Child, numbers: &[u32], tell: &Sender<Event>) {
    if let Ok(status) = child.wait() {
        for number in numbers {
            let _ = tell.send(Event::Ended(*number as usize, status));
        }
    }
}
