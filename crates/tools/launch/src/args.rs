//! The command line.
//!
//! Parsed by hand: long options may have one dash (`-wdir`, as MPICH's users write) or two, options
//! end at the program's name, and `:` starts the next program with options of its own.

mod config;
mod section;
mod table;
mod values;

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use tern_settings::{Entry, Kind, Manager, Source};

use crate::allocation::{self, Allocation, Environment, foreign};
use crate::host_list::{self, Block, Host};
use crate::library;
use crate::options::{Inherit, Options, Program, Stdin, Streams, TIMEOUT};
use crate::place::{self, Map};
use section::{Parsed, Section};
use values::{seconds, shown, with_ft};

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// Start a job.
    Run(Box<Options>),
    /// Print the version.
    Version,
    /// Print how to use this program.
    Help,
}

/// Largest number of ranks; a bound on slips, far above what a machine can hold.
const MAX_RANKS: u32 = 1 << 16;

/// Parses the arguments after the program's own name. The error is a line for the user.
pub fn parse(args: impl IntoIterator<Item = OsString>, env: Environment<'_>) -> Result<Command, String> {
    let args: Vec<OsString> = args.into_iter().collect();
    if args.is_empty() {
        return Err("no program given; mpiexec --help tells how to use it".into());
    }
    let mut options = Options::default();
    let mut sections = Vec::new();
    for words in args.split(|arg| arg == ":") {
        match section::parse(words, &mut options)? {
            Parsed::Command(command) => return Ok(command),
            Parsed::Section(section) => sections.push(section),
            Parsed::File { before, path } => {
                for words in config::sections(&path)? {
                    let words = [before.clone(), words].concat();
                    match section::parse(&words, &mut options)? {
                        Parsed::Command(command) => return Ok(command),
                        Parsed::Section(section) => sections.push(section),
                        Parsed::File { .. } => {
                            return Err(format!("the configuration file {} names a further one", shown(&path)));
                        }
                    }
                }
            }
        }
    }
    finish(&mut options, sections, env)?;
    Ok(Command::Run(Box::new(options)))
}

/// What can only be told when all is read.
fn finish(options: &mut Options, mut sections: Vec<Section>, env: Environment<'_>) -> Result<(), String> {
    let slots = allocate(options, &mut sections, env)?;
    if options.allocation.is_none() && tern_settings::REMOTE_SHELL.source() == Source::Default {
        options.shell = options.shell.take().or_else(|| foreign::remote_shell(env, tern_settings::REMOTE_SHELL.get()));
    }
    let alone = sections.len() == 1;
    agree_with_ranks(options);
    let mut blocks: Vec<Block> = Vec::new();
    for section in sections {
        let Section { mut program, hosts, counted, per_node, soft, inherit } = section;
        match (hosts, blocks.is_empty()) {
            (Some(hosts), _) => blocks.push(Block { hosts: chosen(hosts, options.no_local)?, ranks: 0 }),
            (None, true) => blocks.push(Block { hosts: Vec::new(), ranks: 0 }),
            (None, false) => {}
        }
        let block = blocks.last_mut().expect("there is one");
        if let Some(each) = per_node {
            options.per_host = Some(each);
        }
        if let Some(each) = per_node.filter(|_| !counted) {
            let nodes = options.nodes.unwrap_or(block.hosts.len().max(1) as u32);
            program.count = each.saturating_mul(nodes);
        }
        if let Some(soft) = soft {
            program.count = allowed(&soft, program.count)?;
        }
        if let (false, None, Map::Each(each, unit)) = (counted, per_node, options.policy.map) {
            let nodes = options.nodes.unwrap_or(block.hosts.len().max(1) as u32);
            program.count = each.saturating_mul(place::count_here(unit)).saturating_mul(nodes);
        } else if let (false, None, Some((_, slots))) = (counted, per_node, slots.as_ref().filter(|_| alone)) {
            program.count = *slots;
        }
        block.ranks = block.ranks.saturating_add(program.count);
        inherit.unwrap_or_else(|| options.inherit.clone()).apply(&mut program, &options.env);
        options.programs.push(program);
    }
    options.left_out.dedup();
    if options.gdb {
        under_debuggers(options);
    }
    if let Some(windows) = options.windows.clone() {
        let before = |program: &mut Program| drop(program.command.splice(0..0, windows.prefix()));
        options.programs.iter_mut().for_each(before);
    }
    let total: u64 = options.programs.iter().map(|program| u64::from(program.count)).sum();
    if total > u64::from(MAX_RANKS) {
        return Err(format!("{total} processes are more than the {MAX_RANKS} that are possible"));
    }
    if let Some((name, slots)) = slots.filter(|(_, slots)| total > u64::from(*slots)) {
        if options.policy.no_oversubscribe {
            return Err(format!(
                "{total} ranks are more than the {slots} slots of {name}; --oversubscribe allows that"
            ));
        }
        options.notes.push(format!("{total} ranks share the {slots} slots of {name}; --nooversubscribe refuses that"));
    }
    if let Stdin::Rank(rank) = options.streams.stdin
        && u64::from(rank) >= total
    {
        return Err(format!("--stdin {rank}: the last rank is {}", total - 1));
    }
    options.blocks = host_list::beyond_this_machine(blocks);
    if options.nodes.is_some() && !options.blocks.is_empty() {
        return Err("--nodes simulates nodes on one machine; leave it out, or --hosts".into());
    }
    if let Some(nodes) = options.nodes.filter(|nodes| u64::from(*nodes) > total) {
        let ranks = if total == 1 { "there is one rank" } else { &format!("there are {total} ranks") };
        options.notes.push(format!("--nodes {nodes}: {ranks}, so that there are as many nodes"));
        options.nodes = Some(total as u32);
    }
    Ok(())
}

/// Whether the job goes on when it loses ranks: as the variables say that the ranks get. All ranks get what mpiexec goes by.
fn agree_with_ranks(options: &mut Options) {
    let set = options.env.iter().rev().find(|(name, _)| name == tern_settings::FT.name());
    options.goes_on = match set {
        Some((_, value)) => value.to_str().is_some_and(|value| bool::parse(value, (0, 0)) == Ok(1)),
        None => tern_settings::FT.get(),
    };
    if set.is_none() && options.goes_on {
        options.env.push(with_ft(true));
    }
}

/// Puts gdb in front of each program, with the command that shows message queues. If the ranks have no windows of their own, one terminal
/// shows what all of them say, and lines that are typed go to those that are chosen.
fn under_debuggers(options: &mut Options) {
    if options.windows.is_none() {
        options.streams =
            Streams { tag: true, merge: true, stdin: Stdin::Addressed, ..std::mem::take(&mut options.streams) };
    }
    let mut before: Vec<OsString> = vec!["gdb".into(), "-q".into()];
    if let Some(commands) = library::shared("gdb.py") {
        before.extend(["-x".into(), commands.into_os_string()]);
    }
    before.push("--args".into());
    for program in &mut options.programs {
        program.command.splice(0..0, before.iter().cloned());
    }
}

/// Gives the first program the hosts that the environment names for other launchers, or else those of the resource manager, if the command
/// line names none. Their name for the user, and all their slots.
fn allocate(
    options: &mut Options, sections: &mut [Section], env: Environment<'_>,
) -> Result<Option<(String, u32)>, String> {
    let named = options.nodes.is_some() || sections.iter().any(|section| section.hosts.is_some());
    let manager = options.manager.unwrap_or_else(|| tern_settings::MANAGER.get());
    if manager == Manager::None {
        return Ok(None);
    }
    if manager == Manager::Auto
        && !named
        && let Some((name, hosts)) = foreign::host_file(env)?
    {
        return Ok(Some((name, give(options, sections, hosts))));
    }
    let found = match allocation::find(manager, env) {
        // What is damaged does not matter where hosts are named.
        found if named => found.unwrap_or_default(),
        found => found?,
    };
    let Some(Allocation { name, manager, hosts }) = found else { return Ok(None) };
    options.allocation = Some(manager);
    if named {
        return Ok(None);
    }
    Ok(Some((name, give(options, sections, hosts))))
}

/// Gives the first program these hosts, each with its slots. All their slots.
fn give(options: &Options, sections: &mut [Section], mut hosts: Vec<Host>) -> u32 {
    if let Some(each) = options.per_host {
        hosts.iter_mut().for_each(|host| host.slots = Some(each));
    }
    let slots = hosts.iter().filter_map(|host| host.slots).fold(0, u32::saturating_add);
    sections[0].hosts = Some(hosts);
    slots
}

/// Without this machine, if it is not wanted.
fn chosen(hosts: Vec<Host>, no_local: bool) -> Result<Vec<Host>, String> {
    let kept: Vec<Host> =
        hosts.into_iter().filter(|host| !no_local || !tern_node::is_this_machine(&host.name)).collect();
    match kept.is_empty() {
        true => Err("--nolocal leaves no host: all that are named are this machine".into()),
        false => Ok(kept),
    }
}

/// The largest number that `-soft` allows.
fn allowed(soft: &OsStr, most: u32) -> Result<u32, String> {
    let text = soft.to_string_lossy();
    let counts = tern_pmi::hints::soft(&text, most);
    let counts = counts
        .ok_or_else(|| format!("-soft needs numbers or ranges first:last:step with commas between, not {text}"))?;
    counts.first().copied().ok_or_else(|| format!("-soft {text} allows no number of processes from 1 to {most} (-n)"))
}

impl Inherit {
    /// Gives the program its environment: what is inherited beside it goes by `clean`. `global` is that of all.
    fn apply(self, program: &mut Program, global: &[(OsString, OsString)]) {
        let listed = match self {
            Inherit::All => return,
            Inherit::Only(names) => names,
        };
        let listed = listed.into_iter().filter_map(|name| Some((name.clone(), std::env::var_os(name)?)));
        program.env = listed.chain(global.iter().cloned()).chain(program.env.drain(..)).collect();
        program.clean = true;
    }
}

/// The time limit of [`TIMEOUT`], whose `value` is none, or one of those by which other launchers have no limit.
pub fn time_limit(value: Option<OsString>) -> Result<Option<Duration>, String> {
    let value = value.filter(|value| !value.is_empty() && value != "0" && value != "-1");
    value.map(|value| seconds(TIMEOUT, &value)).transpose()
}

#[cfg(test)]
mod tests;
