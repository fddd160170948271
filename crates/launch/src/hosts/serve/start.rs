//! Starts the agents, and tells each what it has to do.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Sender;

use super::super::agent::AGENT;
use super::super::part::Part;
use super::super::relay::relay;
use super::super::{command, is_own};
use super::{Agent, Event, Server};
use crate::args::{Options, Program, Stdin};
use crate::place::Policy;
use crate::{input, say};

impl Server<'_> {
    /// Starts the agents and the threads that listen to them.
    pub(super) fn begin(&mut self, tell: &Sender<Event>, mask: libc::sigset_t) -> Result<(), String> {
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
            bindings: None,
            waits: String::new(),
            gone: String::new(),
        });
        let ended = tell.clone();
        std::thread::spawn(move || await_end(child, number, &ended));
        Ok(())
    }

    /// What the agent of host `number` has to do.
    pub(super) fn part(&self, number: usize) -> Part {
        let here = self.nodes.members(number as u32);
        let directory = std::env::current_dir().ok().map(|directory| directory.into_os_string());
        let mut first = 0;
        let mut counts = Vec::new();
        let programs = self.options.programs.iter().map(|program| {
            let all = first..first + program.count;
            first = all.end;
            counts.push(program.count);
            let count = here.iter().filter(|rank| all.contains(rank)).count() as u32;
            Program { count, wdir: program.wdir.clone().or(directory.clone()), ..program.clone() }
        });
        let programs = programs.collect();
        let own = std::env::vars_os().filter(|(name, _)| !is_own(name));
        let env = own.chain(self.options.env.iter().cloned()).collect();
        let Options { universe, report_bindings, exit_codes, verbose, no_library_path, .. } = *self.options;
        let streams = self.options.streams.clone();
        let options = Options {
            programs,
            env,
            streams,
            universe,
            // Whether there is room for all has been seen to.
            policy: Policy { no_oversubscribe: false, ..self.options.policy.clone() },
            report_bindings,
            exit_codes,
            verbose,
            no_library_path,
            ..Options::default()
        };
        let host = self.agents[number].name.clone();
        Part { job_id: self.job_id, host, node: number as u32, nodes: self.nodes.clone(), options, counts }
    }
}

fn await_end(mut child: Child, number: usize, tell: &Sender<Event>) {
    if let Ok(status) = child.wait() {
        let _ = tell.send(Event::Ended(number, status));
    }
}
