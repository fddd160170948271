//! A job, worked out before anything is started: files, environments, cores, warnings.

use std::ffi::{CString, OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use tern_node::Shape;
use tern_pmi::{Nodes, Order, Orders};
use tern_tune::store::{self, COSTS_FILE};

use crate::library;
use crate::options::{Options, Program, Streams};
use crate::place::{self, Bind, Map, Places, Policy};
use crate::planned::{Planned, c_string, entry};
use crate::program::{self, Unusable};

/// Variables that each rank gets anew.
const OWN: [&str; 5] = [tern_pmi::TICKET, "TERN_RANK", "TERN_SIZE", COSTS_FILE, tern_node::BOUND];

/// A job to start.
pub struct Plan {
    /// The programs.
    pub programs: Vec<Planned>,
    /// The program of each rank.
    pub ranks: Vec<usize>,
    /// Random number of the job.
    pub job_id: u64,
    /// The number of each rank that is started here, where others are started elsewhere.
    pub numbers: Vec<u32>,
    /// Which ranks are on which node.
    pub nodes: Nodes,
    /// The nodes are this machine, whose processes are to believe in several.
    pub simulated: bool,
    /// The cores that the job may use, neighbours side by side: of the machine that TERN_TOPOLOGY shows, as [`Plan::bound`].
    pub cores: Vec<usize>,
    /// How many cores of the real machine it can keep busy.
    pub usable: usize,
    /// The cores of each rank, if bound.
    pub bound: Option<Vec<Vec<usize>>>,
    /// What the machine consists of, if that is to be told.
    pub shape: Option<Shape>,
    /// The variable that names the file with this machine's costs.
    pub costs: Option<CString>,
    /// Settings that were warned of.
    pub warned: Vec<String>,
    /// See [`Options`].
    pub streams: Streams,
    /// See [`Options`].
    pub timeout: Option<Duration>,
    /// See [`Options`].
    pub universe: Option<u32>,
    /// See [`Options`].
    pub report_bindings: bool,
    /// See [`Options`].
    pub exit_codes: bool,
    /// See [`Options`].
    pub goes_on: bool,
    /// See [`Options`].
    pub verbose: bool,
    /// See [`Options`].
    pub held: bool,
    /// Tern's folder is not put into `LD_LIBRARY_PATH`.
    pub leaves_path: bool,
}

impl Plan {
    /// Of a launcher that starts nothing yet.
    pub fn empty() -> Plan {
        tern_settings::load();
        Plan {
            programs: Vec::new(),
            ranks: Vec::new(),
            job_id: tern_pmi::new_job_id(),
            numbers: Vec::new(),
            nodes: Nodes::one(0),
            simulated: false,
            cores: tern_node::affinity(),
            usable: tern_node::usable_cores(),
            bound: None,
            shape: None,
            costs: None,
            warned: Vec::new(),
            streams: Streams::default(),
            timeout: None,
            universe: None,
            report_bindings: false,
            exit_codes: false,
            goes_on: tern_settings::FT.get(),
            verbose: false,
            held: false,
            leaves_path: false,
        }
    }

    /// Works out the job. Warnings about settings are printed; the error ends mpiexec.
    pub fn new(options: &Options) -> Result<Plan, Unusable> {
        let folder = if options.no_library_path { None } else { library::folder() };
        let programs: Vec<Planned> = (options.programs.iter())
            .map(|program| planned(program, &options.env, folder.as_deref()))
            .collect::<Result<_, _>>()?;
        let ranks: Vec<usize> =
            programs.iter().enumerate().flat_map(|(number, program)| (0..program.count).map(move |_| number)).collect();
        let size = ranks.len() as u32;
        tern_node::check().map_err(unusable)?;
        let cores = tern_node::affinity();
        let costs = costs(&cores, ranks.len());
        let (cores, bound) = bound(&options.policy, cores, ranks.len()).map_err(unusable)?;
        let nodes = nodes(options, size, cores.len()).map_err(unusable)?;
        Ok(Plan {
            shape: options.report_bindings.then(|| Shape::read(&tern_node::affinity())),
            bound,
            costs,
            programs,
            ranks,
            job_id: tern_pmi::new_job_id(),
            numbers: (0..size).collect(),
            nodes,
            simulated: options.nodes.is_some(),
            cores,
            usable: tern_node::usable_cores(),
            warned: warn(options),
            streams: options.streams.clone(),
            timeout: options.timeout,
            universe: options.universe,
            report_bindings: options.report_bindings,
            exit_codes: options.exit_codes,
            goes_on: options.goes_on,
            verbose: options.verbose,
            held: options.held,
            leaves_path: options.no_library_path,
        })
    }
}

fn unusable(text: String) -> Unusable {
    Unusable { text, code: program::USAGE }
}

/// The nodes of the ranks on this machine, which has that many cores.
fn nodes(options: &Options, size: u32, cores: usize) -> Result<Nodes, String> {
    let policy = &options.policy;
    let rooms = match options.nodes {
        Some(nodes) => vec![None; nodes as usize],
        None if policy.no_oversubscribe => vec![Some(cores as u32)],
        None if size > 0 && matches!(policy.map, Map::Each(..)) => vec![None],
        None => return Ok(Nodes::one(size)),
    };
    let dealt = place::deal(policy, &rooms, size, place::count_here)?;
    Ok(Nodes::of_numbers(&dealt).unwrap_or(Nodes::one(size)))
}

type Bound = Option<Vec<Vec<usize>>>;

/// The cores that the ranks may use, and those of each, if ranks are bound.
fn bound(policy: &Policy, cores: Vec<usize>, ranks: usize) -> Result<(Vec<usize>, Bound), String> {
    if !policy.is_special() {
        let bound = match ranks {
            0 => Some(Vec::new()),
            1 => Some(vec![cores.clone()]),
            _ if ranks > cores.len() => None,
            _ => place::shares(&Shape::outline(&cores), ranks),
        };
        return Ok((cores, bound));
    }
    if policy.bind == Bind::None && policy.cpus.is_none() {
        return Ok((cores, None));
    }
    let cores = match &policy.cpus {
        Some(cpus) => cores.into_iter().filter(|core| cpus.contains(core)).collect(),
        None => cores,
    };
    match place::places(policy, &Shape::read(&tern_node::affinity()), ranks)? {
        Places::Bound(bound) => Ok((cores, Some(bound))),
        Places::Free(why) => {
            why.iter().for_each(|why| crate::say::say(why));
            // What the user has named is not left, though it is shared.
            let all = policy.cpus.is_some().then(|| vec![cores.clone(); ranks]);
            Ok((cores, all))
        }
    }
}

/// A program that a process asks for, looked for as from that process's directory.
pub fn further(order: &Order, orders: &Orders) -> Result<Planned, Unusable> {
    let name = &order.command[0];
    check_arch(name, order.arch.as_deref(), "the info key arch")?;
    let directory = Path::new(&orders.directory);
    let wdir = order.wdir.as_ref().map_or(directory.into(), |wdir| directory.join(wdir));
    let env = || orders.env.iter().filter(|(name, _)| OWN.iter().all(|own| name != own));
    let path = env().find(|(name, _)| name == "PATH").map(|(_, path)| path);
    let path = order.path.as_ref().or(path);
    let file = program::find(name, Some(wdir.as_os_str()), path.map(OsString::as_os_str))?;
    Ok(Planned {
        file: c_string(file),
        args: order.command.iter().cloned().map(c_string).collect(),
        env: env().map(|(name, value)| entry(name, value)).collect(),
        wdir: Some(c_string(wdir.into_os_string())),
        count: order.count,
        name: name.to_string_lossy().into_owned(),
    })
}

/// The variable for the ranks, if there are several and the user wants measured costs. On a
/// machine that is not known yet, they are measured now; on one that only TERN_TOPOLOGY shows they cannot be.
pub fn costs(cores: &[usize], ranks: usize) -> Option<CString> {
    if tern_node::is_shown() || ranks < 2 || tern_settings::COSTS.get() != "auto" || tern_node::usable_cores() < 2 {
        return None;
    }
    let file = store::provide(cores)?;
    Some(entry(OsStr::new(COSTS_FILE), file.as_os_str()))
}

/// Fails for a program that is for another kind of machine, as `said` says.
fn check_arch(name: &OsStr, arch: Option<&OsStr>, said: &str) -> Result<(), Unusable> {
    let machine = rustix::system::uname();
    let machine = machine.machine().to_string_lossy();
    match arch.map(OsStr::to_string_lossy).filter(|arch| *arch != machine) {
        None => Ok(()),
        Some(arch) => {
            let text = format!("{} is for {arch} ({said}); this machine is {machine}", name.to_string_lossy());
            Err(Unusable { text, code: program::NOT_EXECUTABLE })
        }
    }
}

fn planned(program: &Program, global: &[(OsString, OsString)], folder: Option<&Path>) -> Result<Planned, Unusable> {
    let name = &program.command[0];
    check_arch(name, program.arch.as_deref(), "-arch")?;
    let mut env = environment(global, program);
    if let Some(folder) = folder {
        let own = env.iter().position(|(name, _)| name == library::PATH).map(|at| env.swap_remove(at).1);
        env.push((library::PATH.into(), library::in_front(folder, own.as_deref())));
    }
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    // Where nothing is inherited, the program is still the one that the user means.
    let path = program.path.clone().or(path).or_else(|| std::env::var_os("PATH").filter(|_| program.clean));
    let file = program::find(name, program.wdir.as_deref(), path.as_deref())?;
    Ok(Planned {
        file: c_string(file),
        args: program.command.iter().cloned().map(c_string).collect(),
        env: env.into_iter().map(|(name, value)| entry(&name, &value)).collect(),
        wdir: program.wdir.clone().map(c_string),
        count: program.count,
        name: name.to_string_lossy().into_owned(),
    })
}

/// The environment of mpiexec with what the options add and replace; or only what they add.
fn environment(global: &[(OsString, OsString)], program: &Program) -> Vec<(OsString, OsString)> {
    let set = || global.iter().filter(|_| !program.clean).chain(&program.env);
    let inherited = std::env::vars_os().filter(|_| !program.clean);
    let mut env: Vec<(OsString, OsString)> = inherited
        .filter(|(name, _)| OWN.iter().all(|own| name != own) && set().all(|(replaced, _)| replaced != name))
        .collect();
    for (at, (name, value)) in set().enumerate() {
        // The last one counts.
        if set().skip(at + 1).all(|(later, _)| later != name) {
            env.push((name.clone(), value.clone()));
        }
    }
    env
}

/// Warns of wrong settings, in the environment and in options. Gives their names, for the ranks
/// are not to repeat it.
fn warn(options: &Options) -> Vec<String> {
    tern_settings::load();
    let text = |(name, value): (&OsString, &OsString)| {
        (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
    };
    let set = options.env.iter().chain(options.programs.iter().flat_map(|program| &program.env));
    let mut warned = Vec::new();
    for (name, problem) in tern_settings::problems(set.map(|(name, value)| text((name, value)))) {
        if tern_settings::log::enabled(tern_settings::Level::Warn) {
            crate::say::say(&format!("warning: {problem}"));
        }
        warned.push(name);
    }
    let inherited = std::env::vars_os().map(|(name, value)| text((&name, &value)));
    warned.extend(tern_settings::problems(inherited).into_iter().map(|(name, _)| name));
    // The names travel in one variable, separated by commas and ended by a blank.
    warned.retain(|name| !name.contains([' ', ',']));
    warned
}
