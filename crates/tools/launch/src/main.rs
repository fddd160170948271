//! mpiexec: starts the ranks of a job, passes their output and signals on, cleans up.

mod allocation;
mod args;
mod by_name;
mod descendants;
mod elf;
mod guard;
mod help;
mod history;
mod host_list;
mod hosts;
mod input;
mod job;
mod keep;
mod keeper;
mod library;
mod losses;
mod mpir;
mod options;
mod output;
mod picture;
mod place;
mod plan;
mod planned;
mod pmix;
mod program;
mod ranges;
mod rank;
mod refused;
mod say;
mod signals;
mod spawn;
mod uplink;
mod windows;

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::OwnedFd;

use program::USAGE;
use say::say;

fn main() {
    std::process::exit(run());
}

/// Reads the settings. Ranks read no files, so what files say is in the environment from now on, which they get.
fn pass_settings_on() {
    tern_settings::load();
    for (name, value) in tern_settings::from_files() {
        // SAFETY: this process has one thread yet.
        unsafe { std::env::set_var(name, value) };
    }
}

fn run() -> i32 {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if args.first().is_some_and(|arg| arg == tern_pmi::ATTEND) {
        return job::attend(&args[1..]);
    }
    if args.first().is_some_and(|arg| arg == tern_pmi::foreign::KEEP) {
        return keep::run(&args[1..]);
    }
    if args.first().is_some_and(|arg| arg == tern_pmi::foreign::PMIX) {
        return pmix::run(&args[1..]);
    }
    if args.first().is_some_and(|arg| arg == hosts::AGENT) {
        pass_settings_on();
        return hosts::agent::run(&args[1..]);
    }
    pass_settings_on();
    let mut options = match args::parse(args, &|name| std::env::var_os(name)) {
        Ok(args::Command::Run(options)) => options,
        Ok(args::Command::Version) => return print(&help::version()),
        Ok(args::Command::Help) => return print(help::HELP),
        Err(wrong) => return refuse(&wrong),
    };
    if options.timeout.is_none() {
        options.timeout = match args::time_limit(std::env::var_os(options::TIMEOUT)) {
            Ok(limit) => limit,
            Err(wrong) => return refuse(&wrong),
        };
    }
    if !options.left_out.is_empty() {
        let list = options.left_out.join(", ");
        say(&format!("left out, since it is for another launcher: {list}; --help and tern-info tell what Tern has"));
    }
    options.held = mpir::is_debugged();
    options.notes.iter().for_each(|note| say(note));
    if !options.blocks.is_empty() {
        let layout = match host_list::layout(&options.blocks, options.per_host, &options.policy, place::count_here) {
            Ok(layout) => layout,
            Err(wrong) => return refuse(&wrong),
        };
        let mask = signals::block();
        return kept(|keeper, debugger| hosts::run(&options, layout, mask, keeper, debugger));
    }
    let plan = match plan::Plan::new(&options) {
        Ok(plan) => plan,
        Err(wrong) => {
            say(&wrong.text);
            return wrong.code;
        }
    };
    let mask = signals::block();
    kept(|keeper, debugger| job::run(&plan, mask, keeper, debugger))
}

/// Runs `serve` in a process of its own; see `keeper`.
fn kept(serve: impl FnOnce(OwnedFd, mpir::Teller) -> i32) -> i32 {
    keeper::run(serve).unwrap_or_else(|why| {
        say(&format!("cannot set up the job: {why}"));
        1
    })
}

/// Says what is wrong with the command line; its exit code.
fn refuse(wrong: &str) -> i32 {
    say(wrong);
    USAGE
}

/// Prints for the user who asked for it.
fn print(text: &str) -> i32 {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => 0,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => 1,
        Err(error) => {
            say(&format!("cannot write to the standard output: {error}"));
            1
        }
    }
}
