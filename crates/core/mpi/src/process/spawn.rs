//! Processes that start further ones (MPI 5.0 section 11.8): what they ask the launcher for.

use crate::args::{Counts, Handles, Out, OutArray};
use crate::bridge::{self, Roster};
use crate::comm::create::check_intra;
use crate::comm::hand_out;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::exchange::Circle;
use crate::fault::launcher;
use crate::identity::{self, Identity};
use crate::info;
use crate::info_map::InfoMap;
use crate::lost::{self, is_survived};
use crate::meeting::gate::Gate;
use crate::meeting::introduce::{introduce, join};
use crate::meeting::pass_on::{agree, find_all, pass_on, tell};
use crate::objects::{Comm, Group, Info};
use crate::process::hints::Hints;
use crate::runtime::runtime;
use crate::scope::Errhandler;
use std::cell::Cell;
use std::ffi::{CStr, OsStr, OsString, c_char, c_void};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;
use tern_pmi::parcel::{Reader, Writer};
use tern_pmi::{Order, Orders};

/// Processes of one command, as the program asks for them.
struct Wanted {
    order: Order,
    /// How many there may be, in falling order.
    counts: Vec<u32>,
    /// Settings of theirs.
    settings: Vec<(&'static str, OsString)>,
}

/// What the root has started.
struct Started {
    meeting: Meeting,
    /// The random number of their world.
    job: u64,
    /// How many there are of each command, and how many were asked for.
    counts: Vec<(u32, u32)>,
}

/// How the processes find those that spawn them.
enum Meeting {
    /// They share this memory.
    Bridge(OwnedFd),
    /// They connect to this port, since they may be on other machines.
    Port(Gate),
}

impl Meeting {
    /// Of a root that spawns `children` together with `parents`. All that is simulated is on this machine, and yet apart.
    fn prepare(parents: &[Identity], children: impl Iterator<Item = Identity>) -> Result<Meeting> {
        let job = &runtime().job;
        Ok(match job.nodes.count() > 1 || job.address.is_some() {
            true => Meeting::Port(Gate::open()?),
            false => Meeting::Bridge(Roster::new(parents.to_vec(), children.collect()).build()?),
        })
    }
}

// --- Arguments of the program ------------------------------------------------------------------

/// A C string of the program.
///
/// # Safety
/// `string` is null or a string that ends with a zero byte.
unsafe fn text(what: &str, string: *const c_char) -> Result<OsString> {
    if string.is_null() {
        return err!(MPI_ERR_ARG, "{what} is null");
    }
    // SAFETY: the caller's contract.
    Ok(OsStr::from_bytes(unsafe { CStr::from_ptr(string) }.to_bytes()).to_owned())
}

/// Arguments up to a null pointer; none for MPI_ARGV_NULL.
///
/// # Safety
/// `argv` is null or an array of strings that ends with a null pointer.
unsafe fn arguments(argv: *const *const c_char) -> Vec<OsString> {
    let mut arguments = Vec::new();
    if argv as usize == MPI_ARGV_NULL {
        return arguments;
    }
    loop {
        // SAFETY: the caller's contract.
        let argument = unsafe { argv.add(arguments.len()).read_unaligned() };
        // SAFETY: as above.
        match unsafe { text("", argument) } {
            Ok(argument) => arguments.push(argument),
            Err(_) => return arguments,
        }
    }
}

/// One command with its hints.
fn wanted(command: OsString, arguments: Vec<OsString>, maxprocs: i64, info: &InfoMap) -> Result<Wanted> {
    let name = command.to_string_lossy().into_owned();
    if name.is_empty() {
        return err!(MPI_ERR_SPAWN, "the command is an empty string");
    }
    let Some(most) = u32::try_from(maxprocs).ok().filter(|&most| most > 0) else {
        return err!(MPI_ERR_ARG, "{maxprocs} processes of {name} are asked for; it must be one or more");
    };
    let hints = Hints::of(info, most)?;
    let mut words = vec![command];
    words.extend(arguments);
    let Hints { wdir, path, host, arch, .. } = hints;
    let order = Order { count: most, command: words, wdir, path, host, arch };
    Ok(Wanted { order, counts: hints.counts, settings: hints.settings })
}

// --- The root ----------------------------------------------------------------------------------

/// The environment of the processes: that of this one, with each setting as the first command has it that has it at all.
/// They are of one world, in which all objects support the same.
fn environment(wanted: &[Wanted]) -> Vec<(OsString, OsString)> {
    let mut all: Vec<_> = std::env::vars_os().collect();
    // The first command comes last, for the last value stays.
    for (name, value) in wanted.iter().rev().flat_map(|wanted| &wanted.settings) {
        all.retain(|(known, _)| known != name);
        all.push((name.into(), value.clone()));
    }
    all
}

/// Starts the processes; those that are to have started are fewer where `soft` allows it.
fn start(mut wanted: Vec<Wanted>, parents: &[Identity]) -> Result<Started> {
    let launcher = runtime().launcher()?;
    let asked: Vec<u32> = wanted.iter().map(|wanted| wanted.order.count).collect();
    let directory = std::env::current_dir().map_or_else(|_| "/".into(), |directory| directory.into_os_string());
    loop {
        let counts: Vec<u32> = wanted.iter().map(|wanted| wanted.counts[0]).collect();
        let size = counts.iter().sum();
        let job_id = identity::new_job(parents, size);
        let children = (0..size).map(|rank| Identity { job: job_id, rank });
        let meeting = Meeting::prepare(parents, children)?;
        let (port, memory) = match &meeting {
            Meeting::Bridge(file) => (None, Some(file.as_fd())),
            Meeting::Port(gate) => (Some(gate.name.text().into()), None),
        };
        let order = |(wanted, &count): (&Wanted, &u32)| Order { count, ..wanted.order.clone() };
        let commands = wanted.iter().zip(&counts).map(order).collect();
        let orders = Orders { job_id, commands, env: environment(&wanted), directory: directory.clone(), port };
        let (started, why) = launcher
            .spawn(&orders, memory)
            .map_err(|errno| Error::new(MPI_ERR_SPAWN, format!("the launcher does not answer: {errno}")))?;
        if started >= 0 {
            return Ok(Started { meeting, job: job_id, counts: counts.into_iter().zip(asked).collect() });
        }
        // Fewer of those that failed, if that is allowed.
        let failed = (-1 - started) as usize;
        match wanted.get_mut(failed) {
            Some(wanted) if wanted.counts.len() > 1 => _ = wanted.counts.remove(0),
            _ => return err!(MPI_ERR_SPAWN, "processes cannot be started: {why}"),
        }
    }
}

// --- All parents -------------------------------------------------------------------------------

/// What the root tells the others: for each command how many there are and how many were asked for; and
/// the error, if there is one.
fn report(started: &Result<Started>, asked: &[u32]) -> Vec<u8> {
    let mut words = Writer::default();
    words.number(asked.len() as u64);
    for (at, &asked) in asked.iter().enumerate() {
        let count = started.as_ref().map_or(0, |started| started.counts[at].0);
        words.number(count as u64).number(asked as u64);
    }
    let (code, text) = started.as_ref().err().map_or((0, ""), |error| (error.code, &error.message));
    words.number(code as u64).bytes(text.as_bytes());
    words.0
}

thread_local! {
    /// How many error codes the last spawn of this thread has filled in.
    static CODES: Cell<usize> = const { Cell::new(0) };
}

/// How many error codes this thread's last call of MPI_Comm_spawn or MPI_Comm_spawn_multiple has filled in: another
/// binary interface has other codes.
pub fn codes_filled_in() -> usize {
    CODES.get()
}

/// Fills in the error codes, one for each process that was asked for.
fn heed(report: &[u8], codes: &OutArray<i32>) -> Result<()> {
    let mut report = Reader(report);
    let mut number = || report.number().expect("the report is complete");
    let mut at = 0;
    for _ in 0..number() {
        let (count, asked) = (number(), number());
        for process in 0..asked {
            if !codes.is_null() {
                codes.set(at, if process < count { MPI_SUCCESS } else { MPI_ERR_SPAWN });
            }
            at += 1;
        }
    }
    CODES.set(if codes.is_null() { 0 } else { at });
    match number() as i32 {
        MPI_SUCCESS => Ok(()),
        code => Err(Error::new(code, String::from_utf8_lossy(report.bytes().unwrap_or_default()))),
    }
}

/// Starts what the root asks for, makes the intercommunicator with it, and fills in the error codes.
fn spawn(
    comm: Rc<Comm>, root: i32, wanted: Option<Result<Vec<Wanted>>>, intercomm: Out<usize>, codes: OutArray<i32>,
) -> Result<()> {
    CODES.set(0);
    bridge::sweep();
    let circle = comm.circle();
    let root = root as usize;
    find_all(&circle)?;
    let (started, told) = match wanted {
        None => (None, None),
        Some(Err(error)) => (None, Some(Err(error))),
        Some(Ok(wanted)) => {
            let parents = identity::list(&identity::to_bytes(&comm.local.procs));
            let asked: Vec<u32> = wanted.iter().map(|wanted| wanted.order.count).collect();
            let started = start(wanted, &parents);
            let told = report(&started, &asked);
            (started.ok(), Some(Ok(told)))
        }
    };
    heed(&tell(&circle, root, told)?, &codes)?;
    let made = meet(&comm, &circle, root, started).map_err(unmet)?;
    intercomm.set(hand_out(made));
    Ok(())
}

/// Meets the children, which wait in their initialisation; `started` is at the root.
fn meet(comm: &Comm, circle: &Circle, root: usize, started: Option<Started>) -> Result<Comm> {
    let by_port = started.as_ref().is_some_and(|started| matches!(started.meeting, Meeting::Port(_)));
    let by_port = tell(circle, root, (circle.me == root).then_some(Ok(vec![by_port as u8])))? == [1];
    let (group, errhandler) = (comm.local.clone(), comm.errhandler.borrow().clone());
    if by_port {
        let line = started.map(|started| match started.meeting {
            Meeting::Port(gate) => gate.take_caller_while(None, || check_children(started.job)),
            Meeting::Bridge(_) => Err(Error::new(MPI_ERR_INTERN, "the processes do not know a port")),
        });
        return introduce(group, circle, root, line, errhandler);
    }
    let file = started.map(|started| match started.meeting {
        Meeting::Bridge(file) => Ok(file),
        Meeting::Port(_) => Err(Error::new(MPI_ERR_INTERN, "the processes share no memory")),
    });
    let file = pass_on(circle, root, file)?;
    let joined = Roster::read(&file).and_then(|roster| Ok((roster.join(&file)?, roster)));
    agree(circle, &joined.as_ref().map(|_| ()).map_err(Clone::clone))?;
    let (bridge, roster) = joined?;
    let made = family(&roster, comm.rank as usize, group, errhandler);
    drop(bridge); // the group of the children has it now
    made
}

/// Errors: the launcher has lost one of the children.
fn check_children(job: u64) -> Result<()> {
    match is_survived() && launcher::has_lost_of(job) {
        true => Err(Error::new(lost::class(), "one of the spawned processes has ended before it could be met")),
        false => Ok(()),
    }
}

/// The error of a meeting to which all were started. Where the job goes on, a port that fails means that a process is lost.
fn unmet(error: Box<Error>) -> Box<Error> {
    match error.code {
        MPI_ERR_PORT if is_survived() => Box::new(Error { code: lost::class(), ..*error }),
        _ => error,
    }
}

/// The intercommunicator of those on the bridge, of which this process is number `me`.
pub fn family(roster: &Roster, me: usize, local: Rc<Group>, errhandler: Rc<Errhandler>) -> Result<Comm> {
    let procs = roster.procs();
    let remote = if me < roster.first { &procs[roster.first..] } else { &procs[..roster.first] };
    let remote = local.derive(remote.to_vec());
    join(roster.id, me, procs.clone().into(), local, remote, errhandler)
}

/// MPI_Comm_spawn
#[allow(clippy::too_many_arguments)]
pub fn comm_spawn(
    command: &str, argv: *mut c_void, maxprocs: i32, info: Option<Rc<Info>>, root: i32, comm: Rc<Comm>,
    intercomm: Out<usize>, array_of_errcodes: OutArray<i32>,
) -> Result<()> {
    check_intra(&comm)?;
    let want = || {
        // SAFETY: MPI_ARGV_NULL or what MPI asks for.
        let arguments = unsafe { arguments(argv.cast()) };
        Ok(vec![wanted(command.into(), arguments, maxprocs as i64, &info::map_of(&info))?])
    };
    let wanted = (comm.rank == root).then(want);
    spawn(comm, root, wanted, intercomm, array_of_errcodes)
}

/// MPI_Comm_spawn_multiple
#[allow(clippy::too_many_arguments)]
pub fn comm_spawn_multiple(
    count: i32, array_of_commands: *mut c_void, array_of_argv: *mut c_void, array_of_maxprocs: Counts,
    array_of_info: Handles, root: i32, comm: Rc<Comm>, intercomm: Out<usize>, array_of_errcodes: OutArray<i32>,
) -> Result<()> {
    check_intra(&comm)?;
    let want = || {
        let many = match usize::try_from(count) {
            Ok(many) if many > 0 => many,
            _ => return err!(MPI_ERR_ARG, "{count} commands are given; it must be one or more"),
        };
        if array_of_commands.is_null() || array_of_maxprocs.is_null() || array_of_info.is_null() {
            return err!(MPI_ERR_ARG, "an array of commands, numbers of processes or info objects is null");
        }
        (0..many)
            .map(|at| {
                // SAFETY: arrays of `count` elements, as MPI asks for; argv may be MPI_ARGVS_NULL.
                let (command, argv) = unsafe {
                    let argv = array_of_argv.cast::<*const *const c_char>();
                    let argv = if argv.is_null() { std::ptr::null() } else { argv.add(at).read_unaligned() };
                    let command = array_of_commands.cast::<*const c_char>().add(at).read_unaligned();
                    (text(&format!("array_of_commands[{at}]"), command)?, arguments(argv))
                };
                let info = info::lookup_optional(array_of_info.get(at))?;
                wanted(command, argv, array_of_maxprocs.get(at), &info::map_of(&info))
            })
            .collect()
    };
    let wanted = (comm.rank == root).then(want);
    spawn(comm, root, wanted, intercomm, array_of_errcodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_gives_a_code_for_each_process() {
        let mut codes = [77; 4];
        // SAFETY: room for four codes.
        let out = unsafe { OutArray::new(codes.as_mut_ptr()) };
        let failed = Err(Error::new(MPI_ERR_SPAWN, "no"));
        let error = heed(&report(&failed, &[1, 3]), &out).unwrap_err();
        assert_eq!((error.code, &*error.message), (MPI_ERR_SPAWN, "no"));
        assert_eq!(codes, [MPI_ERR_SPAWN; 4]);
        let roster = Roster::new(Vec::new(), Vec::new());
        let file = roster.build().unwrap();
        let started = Ok(Started { meeting: Meeting::Bridge(file), job: 1, counts: vec![(1, 1), (2, 3)] });
        heed(&report(&started, &[1, 3]), &out).unwrap();
        assert_eq!(codes, [MPI_SUCCESS, MPI_SUCCESS, MPI_SUCCESS, MPI_ERR_SPAWN]);
    }
}
