//! The names of all options.

use std::ffi::OsStr;

use super::values::shown;

/// What an option means.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Flag {
    Count,
    Export,
    Env,
    GlobalEnv,
    /// No variables are passed on.
    NoEnv,
    /// Only these variables are passed on.
    OnlyEnv,
    AllEnv,
    /// The same for all programs.
    NoGlobalEnv,
    OnlyGlobalEnv,
    AllGlobalEnv,
    Wdir,
    Path,
    Arch,
    Soft,
    /// A file with options of the program.
    File,
    ConfigFile,
    ErrorHandler,
    AllocKinds,
    Stdin,
    Tag,
    Timestamp,
    Merge,
    OutputFile,
    OutPattern,
    ErrPattern,
    /// Several of these, as the newest Open MPI has it.
    Output,
    Timeout,
    Universe,
    BindTo,
    MapBy,
    RankBy,
    ByNode,
    BySlot,
    ByCore,
    BySocket,
    CpuSet,
    CpuList,
    CoresEach,
    HardwareThreads,
    Oversubscribe,
    NoOversubscribe,
    Report,
    ExitCodes,
    /// The job goes on when it loses ranks, for the kind of recovery that may follow; or it does not.
    WithFt,
    /// The same, without a word behind it.
    Recovery(bool),
    Verbose,
    NoLibraryPath,
    /// A debugger for each rank.
    Gdb,
    Xterm,
    Version,
    Help,
    /// Taken, with so many values, for the sake of habits from other launchers; asks for what Tern does anyway.
    Ignore(usize),
    /// Taken, with so many values, but means nothing to Tern: scripts for other launchers go on, and say so.
    LeaveOut(usize),
    Nodes,
    Hosts,
    HostFile,
    NoLocal,
    PerHost,
    /// As `PerHost`; without a number of processes there are as many on each host.
    PerNode,
    /// One on each host.
    OnePerNode,
    Shell,
    Launcher,
    Manager,
}

/// The names, without their dashes.
const NAMES: &[(&str, Flag)] = &[
    ("n", Flag::Count),
    ("np", Flag::Count),
    ("c", Flag::Count),
    ("x", Flag::Export),
    ("env", Flag::Env),
    ("envnone", Flag::NoEnv),
    ("envlist", Flag::OnlyEnv),
    ("envall", Flag::AllEnv),
    ("genv", Flag::GlobalEnv),
    ("genvnone", Flag::NoGlobalEnv),
    ("genvlist", Flag::OnlyGlobalEnv),
    ("genvall", Flag::AllGlobalEnv),
    ("wdir", Flag::Wdir),
    ("wd", Flag::Wdir),
    ("path", Flag::Path),
    ("arch", Flag::Arch),
    ("soft", Flag::Soft),
    ("file", Flag::File),
    ("configfile", Flag::ConfigFile),
    ("initial-errhandler", Flag::ErrorHandler),
    ("memory-alloc-kinds", Flag::AllocKinds),
    ("stdin", Flag::Stdin),
    ("s", Flag::Stdin),
    ("tag-output", Flag::Tag),
    ("l", Flag::Tag),
    ("prepend-rank", Flag::Tag),
    ("timestamp-output", Flag::Timestamp),
    ("merge-stderr-to-stdout", Flag::Merge),
    ("output-filename", Flag::OutputFile),
    ("outfile-pattern", Flag::OutPattern),
    ("errfile-pattern", Flag::ErrPattern),
    ("output", Flag::Output),
    ("timeout", Flag::Timeout),
    ("usize", Flag::Universe),
    ("bind-to", Flag::BindTo),
    ("report-bindings", Flag::Report),
    ("print-all-exitcodes", Flag::ExitCodes),
    ("v", Flag::Verbose),
    ("verbose", Flag::Verbose),
    ("no-library-path", Flag::NoLibraryPath),
    ("V", Flag::Version),
    ("version", Flag::Version),
    ("h", Flag::Help),
    ("?", Flag::Help),
    ("help", Flag::Help),
    ("oversubscribe", Flag::Oversubscribe),
    ("allow-run-as-root", Flag::Ignore(0)),
    ("use-hwthread-cpus", Flag::HardwareThreads),
    ("q", Flag::Ignore(0)),
    ("quiet", Flag::Ignore(0)),
    ("localonly", Flag::Ignore(0)),
    ("mca", Flag::LeaveOut(2)),
    ("gmca", Flag::LeaveOut(2)),
    ("prtemca", Flag::LeaveOut(2)),
    ("map-by", Flag::MapBy),
    ("rank-by", Flag::RankBy),
    ("rankfile", Flag::LeaveOut(1)),
    ("rf", Flag::LeaveOut(1)),
    ("bynode", Flag::ByNode),
    ("byslot", Flag::BySlot),
    ("bycore", Flag::ByCore),
    ("bysocket", Flag::BySocket),
    ("nooversubscribe", Flag::NoOversubscribe),
    ("cpu-set", Flag::CpuSet),
    ("cpu-list", Flag::CpuList),
    ("cpus-per-proc", Flag::CoresEach),
    ("cpus-per-rank", Flag::CoresEach),
    ("display-map", Flag::LeaveOut(0)),
    ("display-allocation", Flag::LeaveOut(0)),
    ("prefix", Flag::LeaveOut(1)),
    ("noprefix", Flag::LeaveOut(0)),
    ("launcher", Flag::Launcher),
    ("bootstrap", Flag::Launcher),
    ("rmk", Flag::Manager),
    ("iface", Flag::LeaveOut(1)),
    ("with-ft", Flag::WithFt),
    ("disable-auto-cleanup", Flag::Recovery(true)),
    ("enable-recovery", Flag::Recovery(true)),
    ("continuous", Flag::Recovery(true)),
    ("disable-recovery", Flag::Recovery(false)),
    ("gdb", Flag::Gdb),
    ("xterm", Flag::Xterm),
    ("debug", Flag::LeaveOut(0)),
    ("tv", Flag::LeaveOut(0)),
    ("nodes", Flag::Nodes),
    ("host", Flag::Hosts),
    ("hosts", Flag::Hosts),
    ("H", Flag::Hosts),
    ("hostfile", Flag::HostFile),
    ("machinefile", Flag::HostFile),
    ("f", Flag::HostFile),
    ("nolocal", Flag::NoLocal),
    ("ppn", Flag::PerHost),
    ("perhost", Flag::PerHost),
    ("N", Flag::PerNode),
    ("npernode", Flag::PerNode),
    ("pernode", Flag::OnePerNode),
    ("remote-shell", Flag::Shell),
    ("launcher-exec", Flag::Shell),
    ("bootstrap-exec", Flag::Shell),
];

/// Names in other launchers, and what does the same here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("nprocs", "-n"),
    ("procs", "-n"),
    ("processes", "-n"),
    ("ntasks", "-n"),
    ("tasks", "-n"),
    ("hostlist", "--hosts"),
    ("nodelist", "--hosts"),
    ("nodefile", "--hostfile"),
    ("ntasks-per-node", "--ppn"),
    ("tasks-per-node", "--ppn"),
    ("ranks-per-node", "--ppn"),
    ("workdir", "-wdir"),
    ("cwd", "-wdir"),
    ("chdir", "-wdir"),
    ("dir", "-wdir"),
    ("export", "-x"),
    ("setenv", "-env"),
    ("label", "-l"),
    ("input", "--stdin"),
    ("time", "--timeout"),
    ("time-limit", "--timeout"),
    ("walltime", "--timeout"),
    ("cpu-bind", "--bind-to"),
    ("cpu_bind", "--bind-to"),
    ("bind", "--bind-to"),
    ("binding", "--bind-to"),
    ("universe-size", "--usize"),
    ("ssh", "--remote-shell"),
    ("rsh", "--remote-shell"),
    ("stdout", "-outfile-pattern"),
    ("stderr", "-errfile-pattern"),
    ("config", "-configfile"),
];

pub(super) fn flag(name: &str) -> Option<Flag> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, flag)| *flag)
}

/// The line about an option that is not known: what was meant, if that can be told.
pub(super) fn unknown(arg: &OsStr, name: &str) -> String {
    match meant(name) {
        Some(meant) => format!("unknown option {}; did you mean {meant}?", shown(arg)),
        None => format!("unknown option {}; mpiexec --help lists the options", shown(arg)),
    }
}

fn meant(name: &str) -> Option<String> {
    // -n4, as other programs take it.
    if let Some(number) = name.strip_prefix("np").or_else(|| name.strip_prefix('n'))
        && number.parse::<u32>().is_ok()
    {
        return Some(format!("-n {number}"));
    }
    if let Some((_, here)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        return Some((*here).into());
    }
    // A slip of the hand: the words begin alike, and of six letters five are right.
    let slips = NAMES.iter().filter(|(known, _)| known.len() > 3 && known.as_bytes()[0] == name.as_bytes()[0]);
    let near = slips.map(|(known, _)| (tern_settings::distance(name, known), known)).min()?;
    let (distance, known) = near;
    (distance == 1 || distance * 6 <= known.len()).then(|| format!("--{known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_near_in_meaning_or_not_told() {
        assert_eq!(meant("tag-ouput").as_deref(), Some("--tag-output"));
        assert_eq!(meant("tagoutptu"), None);
        assert_eq!(meant("n4").as_deref(), Some("-n 4"));
        assert_eq!(meant("ntasks").as_deref(), Some("-n"));
        assert_eq!(meant("nodelist").as_deref(), Some("--hosts"));
        for strange in ["report-uri", "tune", "am", "membind", "ckpoint", "p"] {
            assert_eq!(meant(strange), None, "{strange}");
        }
    }

    #[test]
    fn every_name_stands_once() {
        for (at, (name, _)) in NAMES.iter().enumerate() {
            assert!(NAMES[at + 1..].iter().all(|(other, _)| other != name), "{name}");
            assert!(ELSEWHERE.iter().all(|(other, _)| other != name), "{name}");
        }
        for (_, here) in ELSEWHERE {
            assert!(flag(here.trim_start_matches('-')).is_some(), "{here}");
        }
    }
}
