//! One program with its options.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::Command;
use super::table::{self, Flag};
use super::values::{
    checked_name, count, error_handler, export, launcher, manager, names, nodes, output_file, recovery, seconds, shown,
    stdin, universe, with_ft,
};
use crate::host_list::{self, Host};
use crate::options::{Inherit, Options, Program};
use crate::place;
use crate::windows::Windows;
use tern_settings::Entry;

/// The variable that tells the library which kinds of memory are asked for (MPI 5.0, section 11.4.3).
const ALLOC_KINDS: &str = "TERN_MEMORY_ALLOC_KINDS";

/// What is to be done with words of the command line.
pub(super) enum Parsed {
    Section(Section),
    /// What ends parsing: help, version.
    Command(Command),
    /// `-configfile`, and the options before it.
    File {
        before: Vec<OsString>,
        path: OsString,
    },
}

/// A program, with what cannot be worked out before all is read.
#[derive(Default)]
pub(super) struct Section {
    pub program: Program,
    pub hosts: Option<Vec<Host>>,
    /// Whether the number of its processes was given.
    pub counted: bool,
    /// How many of them on each node, if that was given.
    pub per_node: Option<u32>,
    pub soft: Option<OsString>,
    pub inherit: Option<Inherit>,
}

/// The values that follow an option.
struct Values<'a, 'b> {
    option: &'b OsStr,
    inline: Option<OsString>,
    rest: &'b mut std::slice::Iter<'a, OsString>,
}

impl Values<'_, '_> {
    fn next(&mut self, what: &str) -> Result<OsString, String> {
        let next = self.inline.take().or_else(|| self.rest.next().cloned());
        next.ok_or_else(|| format!("{} needs {what} after it", shown(self.option)))
    }

    /// A variable of the environment.
    fn variable(&mut self) -> Result<(OsString, OsString), String> {
        let name = checked_name(self.next("NAME and VALUE")?)?;
        Ok((name, self.next("NAME and VALUE")?))
    }

    /// A value that may be missing: the next word, if `known` takes it for one.
    fn optional<T>(&mut self, what: &str, known: impl Fn(&OsStr) -> Option<T>) -> Result<Option<T>, String> {
        if let Some(inline) = self.inline.take() {
            let wrong = || format!("{} needs {what}, if something stands behind it", shown(self.option));
            return known(&inline).map(Some).ok_or_else(wrong);
        }
        let value = self.rest.as_slice().first().and_then(|word| known(word));
        if value.is_some() {
            self.rest.next();
        }
        Ok(value)
    }

    fn text(&mut self, what: &str) -> Result<String, String> {
        Ok(self.next(what)?.to_string_lossy().into_owned())
    }
}

/// Parses the words of one program. What is said of the whole job goes into `options`.
pub(super) fn parse(args: &[OsString], options: &mut Options) -> Result<Parsed, String> {
    let mut section = Section { program: Program { count: 1, ..Program::default() }, ..Section::default() };
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
        let before = args.len() - rest.len();
        rest.next();
        let (name, inline) = split_value(arg);
        let mut values = Values { option: arg, inline, rest: &mut rest };
        match table::flag(&name).ok_or_else(|| table::unknown(arg, &name))? {
            Flag::Version => return Ok(Parsed::Command(Command::Version)),
            Flag::Help => return Ok(Parsed::Command(Command::Help)),
            Flag::ConfigFile => {
                let path = values.next("the name of a file")?;
                return match rest.next() {
                    Some(more) => {
                        Err(format!("-configfile stands for programs and options; {} is too much", shown(more)))
                    }
                    None => Ok(Parsed::File { before: args[..before].to_vec(), path }),
                };
            }
            flag => {
                if let Some(flag) = of_program(flag, &mut values, &mut section)? {
                    of_job(flag, &name, &mut values, options)?;
                }
            }
        }
    }
    section.program.command = rest.cloned().collect();
    if section.program.command.is_empty() {
        return Err(match args.last() {
            Some(last) => format!("no program given after {}", shown(last)),
            None => "no program given on one side of ':'".into(),
        });
    }
    Ok(Parsed::Section(section))
}

/// Takes an option of one program; gives back what is none.
fn of_program(flag: Flag, values: &mut Values<'_, '_>, section: &mut Section) -> Result<Option<Flag>, String> {
    let program = &mut section.program;
    match flag {
        Flag::Count => {
            program.count = count("-n", &values.next("a number")?)?;
            section.counted = true;
        }
        Flag::Export => program.env.extend(export(&values.next("NAME or NAME=VALUE")?)?),
        Flag::Env => program.env.push(values.variable()?),
        Flag::NoEnv => section.inherit = Some(Inherit::Only(Vec::new())),
        Flag::OnlyEnv => section.inherit = Some(Inherit::Only(names(&values.next("NAME,NAME...")?))),
        Flag::AllEnv => section.inherit = Some(Inherit::All),
        Flag::Wdir => program.wdir = Some(values.next("a directory")?),
        Flag::Path => program.path = Some(values.next("directories with colons between")?),
        Flag::Arch => program.arch = Some(values.next("the name of an architecture")?),
        Flag::Soft => section.soft = Some(values.next("numbers or ranges")?),
        Flag::File => with_file(section, &values.next("the name of a file")?)?,
        Flag::ErrorHandler => {
            let handler = error_handler(values.next("the name of an error handler")?)?;
            program.env.push((tern_settings::INITIAL_ERRHANDLER.name().into(), handler));
        }
        Flag::AllocKinds => program.env.push((ALLOC_KINDS.into(), values.next("kinds of memory")?)),
        Flag::Hosts => section.hosts = Some(host_list::list(&values.next("the names of hosts")?)?),
        Flag::HostFile => section.hosts = Some(host_list::file(&values.next("the name of a file")?)?),
        Flag::PerNode => section.per_node = Some(count("--npernode", &values.next("a number")?)?),
        Flag::OnePerNode => section.per_node = Some(1),
        other => return Ok(Some(other)),
    }
    Ok(None)
}

/// Takes an option of the job, which was written with `name`.
fn of_job(flag: Flag, name: &str, values: &mut Values<'_, '_>, options: &mut Options) -> Result<(), String> {
    let streams = &mut options.streams;
    match flag {
        Flag::GlobalEnv => options.env.push(values.variable()?),
        Flag::NoGlobalEnv => options.inherit = Inherit::Only(Vec::new()),
        Flag::OnlyGlobalEnv => options.inherit = Inherit::Only(names(&values.next("NAME,NAME...")?)),
        Flag::AllGlobalEnv => options.inherit = Inherit::All,
        Flag::Stdin => streams.stdin = stdin(&values.next("the number of a rank, all or none")?)?,
        Flag::Tag => streams.tag = true,
        Flag::Timestamp => streams.timestamp = true,
        Flag::Merge => streams.merge = true,
        Flag::OutputFile => output_files(&values.next("the name of files")?, options),
        Flag::OutPattern => streams.out = Some(values.next("the name of files, as out.%r")?.into_vec()),
        Flag::ErrPattern => streams.err = Some(values.next("the name of files, as err.%r")?.into_vec()),
        Flag::Output => output(&values.text("tag, timestamp, merge or file=NAME")?, options),
        Flag::Timeout => options.timeout = Some(seconds("--timeout", &values.next("a number of seconds")?)?),
        Flag::Universe => options.universe = universe(&values.next("a number, infinite or system")?)?,
        Flag::BindTo => place::bind_by(&values.text("a part of the machine, or none")?, &mut options.policy)?,
        Flag::MapBy => place::map_by(&values.text("a part of the machine, slot or node")?, &mut options.policy)?,
        Flag::ByNode => place::map_by("node", &mut options.policy)?,
        Flag::BySlot => place::map_by("slot", &mut options.policy)?,
        Flag::ByCore => place::map_by("core", &mut options.policy)?,
        Flag::BySocket => place::map_by("package", &mut options.policy)?,
        Flag::RankBy => {
            options.policy.rank = Some(place::rank_by(&values.text("a part of the machine, slot or node")?)?)
        }
        Flag::CpuSet => options.policy.cpus = Some(place::cpus("--cpu-set", &values.text("hardware threads")?)?),
        Flag::CpuList => {
            options.policy.cpus = Some(place::cpus("--cpu-list", &values.text("hardware threads")?)?);
            options.policy.ordered = true;
        }
        Flag::CoresEach => options.policy.each = Some(count("--cpus-per-proc", &values.next("a number")?)?),
        Flag::HardwareThreads => options.policy.threads = true,
        Flag::Oversubscribe => options.policy.no_oversubscribe = false,
        Flag::NoOversubscribe => options.policy.no_oversubscribe = true,
        Flag::Report => options.report_bindings = true,
        Flag::ExitCodes => options.exit_codes = true,
        Flag::WithFt => {
            let asked = values.optional("ulfm, mpi, on or off", recovery)?;
            options.env.push(with_ft(asked.unwrap_or(true)));
        }
        Flag::Recovery(on) => options.env.push(with_ft(on)),
        Flag::Verbose => options.verbose = true,
        Flag::Gdb => options.gdb = true,
        Flag::Xterm => {
            let ranks = |word: &OsStr| word.to_str().and_then(Windows::parse);
            options.windows = Some(values.optional("ranks (0,2-3) or all", ranks)?.unwrap_or_default());
        }
        Flag::NoLibraryPath => options.no_library_path = true,
        Flag::Ignore(count) => {
            for _ in 0..count {
                values.next("a value")?;
            }
        }
        Flag::LeaveOut(count) => {
            let mut written = format!("--{name}");
            for _ in 0..count {
                written = format!("{written} {}", shown(&values.next("a value")?));
            }
            options.left_out.push(written);
        }
        Flag::Nodes => options.nodes = Some(nodes(&values.next("a number")?)?),
        Flag::NoLocal => options.no_local = true,
        Flag::PerHost => options.per_host = Some(count("--ppn", &values.next("a number")?)?),
        Flag::Shell => options.shell = Some(values.text("a command")?),
        Flag::Launcher => {
            let word = values.text("ssh, srun, blaunch, qrsh or fork")?;
            match launcher(&word) {
                Some(starter) => options.starter = Some(starter),
                None => options.left_out.push(format!("--{name} {word}")),
            }
        }
        Flag::Manager => {
            let word = values.text("slurm, pbs, lsf, sge or none")?;
            options.manager = Some(manager(&word)?);
        }
        _ => unreachable!("it is an option of the program, or ends parsing"),
    }
    Ok(())
}

/// `--output-filename`: a file for the output of each rank, and one for its errors.
fn output_files(name: &OsStr, options: &mut Options) {
    let name = output_file(name);
    // A `%` of the name stands for itself.
    let name = name.split(|byte| *byte == b'%').collect::<Vec<_>>().join(&b"%%"[..]);
    options.streams.out = Some([&name[..], b".%r.out"].concat());
    options.streams.err = Some([&name[..], b".%r.err"].concat());
}

/// `--output`: several words with commas between.
fn output(words: &str, options: &mut Options) {
    for word in words.split(',') {
        match word.split_once('=') {
            Some(("file" | "dir", name)) => output_files(OsStr::new(name), options),
            _ => match word {
                "tag" | "rank" | "tag-detailed" => options.streams.tag = true,
                "timestamp" => options.streams.timestamp = true,
                "merge" => options.streams.merge = true,
                other => options.left_out.push(format!("--output {other}")),
            },
        }
    }
}

/// The options in a file of keys and values, as MPI_Comm_spawn has them; those on the command line go first.
fn with_file(section: &mut Section, path: &OsStr) -> Result<(), String> {
    let wrong = |why: &str| format!("-file {}: {why}", shown(path));
    let text = tern_files::read(path.as_ref()).map_err(|error| wrong(&error.to_string()))?;
    let program = &mut section.program;
    for (key, value) in tern_pmi::hints::file(&text).map_err(|why| wrong(&why))? {
        match key {
            "wdir" => _ = program.wdir.get_or_insert_with(|| value.into()),
            "path" => _ = program.path.get_or_insert_with(|| value.into()),
            "arch" => _ = program.arch.get_or_insert_with(|| value.into()),
            "soft" => _ = section.soft.get_or_insert_with(|| value.into()),
            "host" if section.hosts.is_none() => section.hosts = Some(host_list::list(OsStr::new(value))?),
            // Other keys are for other launchers.
            _ => {}
        }
    }
    Ok(())
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
