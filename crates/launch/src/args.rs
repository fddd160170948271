//! The command line.
//!
//! Parsed by hand: long options may have one dash (`-wdir`, as MPICH's users write) or two, options
//! end at the program's name, and `:` starts the next program with options of its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use crate::hosts::{self, Host};

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// Start a job.
    Run(Options),
    /// Print the version.
    Version,
    /// Print how to use this program.
    Help,
}

/// A job as asked for.
#[derive(Debug, Default, PartialEq)]
pub struct Options {
    /// The programs, in order of their ranks; at least one.
    pub programs: Vec<Program>,
    /// Environment for all programs (`-genv`).
    pub env: Vec<(OsString, OsString)>,
    /// Put the rank in front of each line of output.
    pub tag_output: bool,
    /// End the job after this time.
    pub timeout: Option<Duration>,
    /// How many processes the job may grow to, if not as many as there are cores (`--usize`); 0: the ranks are told nothing of that.
    pub universe: Option<u32>,
    /// What ranks are bound to.
    pub bind: Bind,
    /// Into how many simulated nodes the ranks are divided (`--nodes`).
    pub nodes: Option<u32>,
    /// The hosts to run on, if not this one (`--hosts`, `--hostfile`).
    pub hosts: Vec<Host>,
    /// Ranks for each host that does not say how much room it has (`--ppn`).
    pub per_host: Option<u32>,
    /// The command that runs another one on a host (`--remote-shell`).
    pub shell: Option<String>,
    /// Say which rank runs on which cores.
    pub report_bindings: bool,
    /// Say what is started and how it ends.
    pub verbose: bool,
    /// Leave `LD_LIBRARY_PATH` of the ranks alone (`--no-library-path`).
    pub no_library_path: bool,
    /// Options of other launchers that mean nothing here, as they were written; the user is told.
    pub left_out: Vec<String>,
}

/// One program of a job.
#[derive(Debug, Default, PartialEq)]
pub struct Program {
    /// How many processes run it.
    pub count: u32,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Environment for this program (`-env`, `-x`).
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory, if not that of mpiexec.
    pub wdir: Option<OsString>,
}

/// What ranks are bound to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bind {
    /// Cores, if there are not more ranks than cores.
    #[default]
    Auto,
    /// As `Auto`, asked for.
    Core,
    /// Nothing.
    None,
}

/// What an option means.
#[derive(Clone, Copy, PartialEq)]
enum Flag {
    Count,
    Export,
    Env,
    GlobalEnv,
    Wdir,
    Tag,
    Timeout,
    Universe,
    BindTo,
    Report,
    Verbose,
    NoLibraryPath,
    Version,
    Help,
    /// Taken, with so many values, for the sake of habits from other launchers; asks for what Tern does anyway.
    Ignore(usize),
    /// Taken, with so many values, but means nothing to Tern: scripts for other launchers go on, and say so.
    LeaveOut(usize),
    Nodes,
    Hosts,
    HostFile,
    PerHost,
    Shell,
}

/// The names of all options, without their dashes.
const NAMES: [(&str, Flag); 52] = [
    ("n", Flag::Count),
    ("np", Flag::Count),
    ("c", Flag::Count),
    ("x", Flag::Export),
    ("env", Flag::Env),
    ("genv", Flag::GlobalEnv),
    ("wdir", Flag::Wdir),
    ("wd", Flag::Wdir),
    ("tag-output", Flag::Tag),
    ("l", Flag::Tag),
    ("prepend-rank", Flag::Tag),
    ("timeout", Flag::Timeout),
    ("usize", Flag::Universe),
    ("bind-to", Flag::BindTo),
    ("report-bindings", Flag::Report),
    ("v", Flag::Verbose),
    ("verbose", Flag::Verbose),
    ("no-library-path", Flag::NoLibraryPath),
    ("V", Flag::Version),
    ("version", Flag::Version),
    ("h", Flag::Help),
    ("?", Flag::Help),
    ("help", Flag::Help),
    ("oversubscribe", Flag::Ignore(0)),
    ("allow-run-as-root", Flag::Ignore(0)),
    ("use-hwthread-cpus", Flag::Ignore(0)),
    ("genvall", Flag::Ignore(0)),
    ("envall", Flag::Ignore(0)),
    ("q", Flag::Ignore(0)),
    ("quiet", Flag::Ignore(0)),
    ("localonly", Flag::Ignore(0)),
    ("genvlist", Flag::Ignore(1)),
    ("envlist", Flag::Ignore(1)),
    ("mca", Flag::LeaveOut(2)),
    ("gmca", Flag::LeaveOut(2)),
    ("prtemca", Flag::LeaveOut(2)),
    ("map-by", Flag::LeaveOut(1)),
    ("rank-by", Flag::LeaveOut(1)),
    ("launcher", Flag::LeaveOut(1)),
    ("iface", Flag::LeaveOut(1)),
    ("nodes", Flag::Nodes),
    ("host", Flag::Hosts),
    ("hosts", Flag::Hosts),
    ("H", Flag::Hosts),
    ("hostfile", Flag::HostFile),
    ("machinefile", Flag::HostFile),
    ("f", Flag::HostFile),
    ("ppn", Flag::PerHost),
    ("perhost", Flag::PerHost),
    ("N", Flag::PerHost),
    ("npernode", Flag::PerHost),
    ("remote-shell", Flag::Shell),
];

/// The environment variable that other launchers take for `--timeout`.
pub const TIMEOUT: &str = "MPIEXEC_TIMEOUT";

/// Largest number of ranks; a bound on slips, far above what a machine can hold.
const MAX_RANKS: u32 = 1 << 16;

/// Parses the arguments after the program's own name. The error is a line for the user.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let args: Vec<OsString> = args.into_iter().collect();
    if args.is_empty() {
        return Err("no program given; mpiexec --help tells how to use it".into());
    }
    let mut options = Options::default();
    for section in args.split(|arg| arg == ":") {
        if let Some(command) = parse_section(section, &mut options)? {
            return Ok(command);
        }
    }
    let total: u64 = options.programs.iter().map(|program| u64::from(program.count)).sum();
    if total > u64::from(MAX_RANKS) {
        return Err(format!("{total} processes are more than the {MAX_RANKS} that are possible"));
    }
    if options.nodes.is_some() && !options.hosts.is_empty() {
        return Err("--nodes simulates nodes on one machine; leave it out, or --hosts".into());
    }
    if let Some(nodes) = options.nodes
        && u64::from(nodes) > total
    {
        return Err(format!(
            "--nodes {nodes}: each node needs a process, but there {} only {total}; give -n {nodes} or more, or fewer nodes",
            if total == 1 { "is" } else { "are" }
        ));
    }
    Ok(Command::Run(options))
}

/// Parses one program with its options. Gives a command that ends parsing (help, version), if any.
fn parse_section(args: &[OsString], options: &mut Options) -> Result<Option<Command>, String> {
    let mut program = Program { count: 1, ..Program::default() };
    let mut rest = args.iter();
    while let Some(arg) = rest.as_slice().first() {
        let bytes = arg.as_bytes();
        if bytes == b"--" {
            rest.next();
            break;
        }
        if bytes.len() < 2 || bytes[0] != b'-' {
            break;
        }
        rest.next();
        let (name, inline) = split_value(arg);
        let mut value = |what: &str| -> Result<OsString, String> {
            inline
                .clone()
                .or_else(|| rest.next().cloned())
                .ok_or_else(|| format!("{} needs {what} after it", shown(arg)))
        };
        match flag(&name).ok_or_else(|| unknown(arg, &name))? {
            Flag::Count => program.count = count(&value("a number")?)?,
            Flag::Export => program.env.extend(export(&value("NAME or NAME=VALUE")?)?),
            Flag::Env => {
                let name = value("NAME and VALUE")?;
                program.env.push((checked_name(name)?, value("NAME and VALUE")?));
            }
            Flag::GlobalEnv => {
                let name = value("NAME and VALUE")?;
                options.env.push((checked_name(name)?, value("NAME and VALUE")?));
            }
            Flag::Wdir => program.wdir = Some(value("a directory")?),
            Flag::Timeout => options.timeout = Some(seconds("--timeout", &value("a number of seconds")?)?),
            Flag::Universe => options.universe = universe(&value("a number, infinite or system")?)?,
            Flag::BindTo => {
                let part = value("core or none")?;
                match bind(&part)? {
                    Some(bind) => options.bind = bind,
                    None => options.left_out.push(format!("--bind-to {}", shown(&part))),
                }
            }
            Flag::Tag => options.tag_output = true,
            Flag::Report => options.report_bindings = true,
            Flag::Verbose => options.verbose = true,
            Flag::NoLibraryPath => options.no_library_path = true,
            Flag::Version => return Ok(Some(Command::Version)),
            Flag::Help => return Ok(Some(Command::Help)),
            Flag::Ignore(values) => {
                for _ in 0..values {
                    value("a value")?;
                }
            }
            Flag::LeaveOut(values) => {
                let mut written = format!("--{name}");
                for _ in 0..values {
                    written = format!("{written} {}", shown(&value("a value")?));
                }
                options.left_out.push(written);
            }
            Flag::Nodes => options.nodes = Some(nodes(&value("a number")?)?),
            Flag::Hosts => options.hosts = hosts::list(&value("the names of hosts")?)?,
            Flag::HostFile => options.hosts = hosts::file(&value("the name of a file")?)?,
            Flag::PerHost => options.per_host = Some(count(&value("a number")?)?),
            Flag::Shell => options.shell = Some(value("a command")?.to_string_lossy().into_owned()),
        }
    }
    program.command = rest.cloned().collect();
    if program.command.is_empty() {
        return Err(match args.last() {
            Some(last) => format!("no program given after {}", shown(last)),
            None => "no program given on one side of ':'".into(),
        });
    }
    options.programs.push(program);
    Ok(None)
}

/// Splits `--name=value`. Dashes and value are removed from the name.
fn split_value(arg: &OsStr) -> (String, Option<OsString>) {
    let text = arg.as_bytes();
    let text = text.strip_prefix(b"--").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    match text.iter().position(|byte| *byte == b'=') {
        Some(at) => {
            (String::from_utf8_lossy(&text[..at]).into_owned(), Some(OsStr::from_bytes(&text[at + 1..]).to_owned()))
        }
        None => (String::from_utf8_lossy(text).into_owned(), None),
    }
}

fn flag(name: &str) -> Option<Flag> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, flag)| *flag)
}

fn unknown(arg: &OsStr, name: &str) -> String {
    // -n4, as other programs take it.
    if let Some(number) = name.strip_prefix("np").or_else(|| name.strip_prefix('n'))
        && number.parse::<u32>().is_ok()
    {
        return format!("unknown option {}; did you mean -n {number}?", shown(arg));
    }
    let nearest = NAMES
        .iter()
        .filter(|(known, _)| known.len() > 1)
        .map(|(known, _)| (tern_settings::distance(name, known), known))
        .min()
        .filter(|(distance, known)| *distance <= 3 && *distance < known.len());
    match nearest {
        Some((_, known)) => format!("unknown option {}; did you mean --{known}?", shown(arg)),
        None => format!("unknown option {}; mpiexec --help lists the options", shown(arg)),
    }
}

fn count(value: &OsStr) -> Result<u32, String> {
    match value.to_str().and_then(|text| text.parse().ok()) {
        Some(count) if count > 0 => Ok(count),
        _ => Err(format!("-n needs a number of processes, 1 or more, not {}", shown(value))),
    }
}

fn nodes(value: &OsStr) -> Result<u32, String> {
    match value.to_str().and_then(|text| text.parse().ok()) {
        Some(nodes) if nodes > 0 => Ok(nodes),
        _ => Err(format!("--nodes needs a number of nodes, 1 or more, not {}", shown(value))),
    }
}

fn seconds(name: &str, value: &OsStr) -> Result<Duration, String> {
    let text = value.to_str().unwrap_or_default();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match text.parse::<f64>() {
        Ok(seconds) if plain && seconds > 0.0 && seconds < 1e9 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("{name} needs a number of seconds above 0, not {}", shown(value))),
    }
}

fn universe(value: &OsStr) -> Result<Option<u32>, String> {
    match value.to_str().map(str::to_lowercase).as_deref() {
        Some("system") => Ok(None),
        Some("infinite") => Ok(Some(0)),
        text => match text.and_then(|text| text.parse().ok()) {
            Some(size) if (1..=i32::MAX as u32).contains(&size) => Ok(Some(size)),
            _ => Err(format!("--usize needs a number of processes, infinite or system, not {}", shown(value))),
        },
    }
}

/// The time limit of [`TIMEOUT`], whose `value` is none, or one of those by which other launchers have no limit.
pub fn time_limit(value: Option<OsString>) -> Result<Option<Duration>, String> {
    let value = value.filter(|value| !value.is_empty() && value != "0" && value != "-1");
    value.map(|value| seconds(TIMEOUT, &value)).transpose()
}

/// Nothing for a part of the machine that only other launchers bind to. What follows a colon is theirs too.
fn bind(value: &OsStr) -> Result<Option<Bind>, String> {
    let part = value.as_bytes().split(|byte| *byte == b':').next().unwrap_or_default();
    match part {
        b"core" | b"hwthread" => Ok(Some(Bind::Core)),
        b"none" => Ok(Some(Bind::None)),
        b"socket" | b"package" | b"numa" | b"l1cache" | b"l2cache" | b"l3cache" | b"board" => Ok(None),
        _ => Err(format!("--bind-to needs core or none, not {}", shown(value))),
    }
}

/// `NAME=VALUE`; or `NAME`, which all programs inherit anyway if it is set.
fn export(value: &OsStr) -> Result<Option<(OsString, OsString)>, String> {
    let (name, value) = split_assignment(value);
    let name = checked_name(name)?;
    Ok(value.map(|value| (name, value)))
}

fn split_assignment(text: &OsStr) -> (OsString, Option<OsString>) {
    let bytes = text.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => (OsStr::from_bytes(&bytes[..at]).to_owned(), Some(OsStr::from_bytes(&bytes[at + 1..]).to_owned())),
        None => (text.to_owned(), None),
    }
}

fn checked_name(name: OsString) -> Result<OsString, String> {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        return Err(format!("{} is no name of an environment variable", shown(&name)));
    }
    Ok(name)
}

/// An argument for a message.
fn shown(arg: &OsStr) -> String {
    let text = arg.to_string_lossy();
    if text.is_empty() { "an empty argument".into() } else { text.into_owned() }
}

#[cfg(test)]
mod tests;
