//! The agent on one host: serves the ranks of that host as a job, and does what the mpiexec of all hosts says.
//!
//! It is started with where that mpiexec listens, and its own number. The secret by which both prove who they are comes in
//! the first line of its standard input; the rest of that is for rank 0. The secret is never sent. Whoever does not know it,
//! wherever the agent calls, is told nothing and not obeyed.

use std::ffi::OsString;

use tern_pmi::{Secret, secret_of};

use super::part::Part;
use super::{starter, tree};
use crate::options::{Options, Stdin};
use crate::plan::Plan;
use crate::uplink::{Down, Line, Up, Uplink, call};
use crate::{job, signals};

/// Runs an agent; gives its exit code.
pub fn run(args: &[OsString]) -> i32 {
    let text = |at: usize| args.get(at).and_then(|arg| arg.to_str());
    let (Some(callers), Some(number)) =
        (text(0), text(1).and_then(|which| starter::number(which, std::env::var("SLURMD_NODENAME").ok().as_deref())))
    else {
        crate::say::say("--agent is for Tern's own use");
        return crate::program::USAGE;
    };
    let Some(secret) = secret() else {
        crate::say::say("the agent was not told the secret of the job in its standard input");
        return 1;
    };
    let host = tern_node::hostname();
    let line = match call(callers, secret, number) {
        Ok(line) => line,
        Err(error) => {
            crate::say::say(&format!("the agent on {host} cannot reach mpiexec: {error}; is there a firewall?"));
            return 1;
        }
    };
    let part = match Down::receive_first(&line) {
        Ok(part) => part,
        Err(error) => {
            crate::say::say(&format!("the agent on {host} has lost the connection to mpiexec: {error}"));
            return 1;
        }
    };
    // If nobody hears it, that is seen where the connection is read.
    let _ = Up::Begun.send(&line);
    let Some(part) = Part::decode(&part) else {
        crate::say::say("the agent and mpiexec are not of the same version of Tern");
        return 1;
    };
    let line = match part.below.hosts.is_empty() {
        true => line,
        false => match tree::branch(&part.below, secret, number, line) {
            Ok(line) => line,
            Err(code) => return code,
        },
    };
    let reads = match part.options.streams.stdin {
        Stdin::All | Stdin::Addressed => true,
        Stdin::Nobody => false,
        Stdin::Rank(rank) => part.nodes.of(rank) == part.node,
    };
    if !reads {
        close_input();
    }
    serve(part, line)
}

/// The first line of the standard input, and no byte more.
fn secret() -> Option<Secret> {
    let mut line = Vec::new();
    let mut byte = [0u8; 1];
    while line.len() <= 64 {
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Ok(1) if byte[0] == b'\n' => break,
            Ok(1) => line.push(byte[0]),
            Err(rustix::io::Errno::INTR) => {}
            _ => return None,
        }
    }
    secret_of(std::str::from_utf8(&line).ok()?)
}

/// Nobody here reads what one command may give to all agents that it has started.
fn close_input() {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    if let Ok(null) = rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty()) {
        let _ = rustix::stdio::dup2_stdin(null);
    }
}

fn serve(part: Part, line: Line) -> i32 {
    let numbers = part.ranks();
    let Part { job_id, host, node: _, nodes, mut options, counts, below: _ } = part;
    for (name, value) in std::mem::take(&mut options.env) {
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var(name, value) };
    }
    // By the settings of mpiexec, which have come with its variables.
    line.prepare();
    let uplink = Uplink::new(line, host);
    let plan = match plan(&options, &counts) {
        Ok(plan) => Plan { numbers, nodes, simulated: false, job_id, ..plan },
        Err((code, text)) => {
            uplink.failed(code, &format!("{text} (host {})", uplink.host));
            uplink.done(code);
            return code;
        }
    };
    let mask = signals::block();
    let last = uplink.copy();
    let code = job::run_part(&plan, mask, uplink);
    last.done(code);
    code
}

fn plan(options: &Options, counts: &[u32]) -> Result<Plan, (i32, String)> {
    let mut plan = Plan::new(options).map_err(|unusable| (unusable.code, unusable.text))?;
    for (program, all) in plan.programs.iter_mut().zip(counts) {
        program.count = *all;
    }
    Ok(plan)
}
