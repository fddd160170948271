//! Where measured costs are kept: one file per machine in the user's cache directory.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::{Calibration, Costs, Machine, Mover, Placement, Warmth, calibrate};

/// The variable in which mpiexec tells the ranks where the costs are.
pub const COSTS_FILE: &str = "TERN_COSTS_FILE";
/// How long mpiexec measures on a machine that it does not know.
pub const BUDGET: Duration = Duration::from_millis(70);
/// Where nothing could be trusted, it is measured again after this time.
const SECOND_TRY: Duration = Duration::from_secs(60);
/// In the origin of the default costs that stand meanwhile.
const DOUBTFUL: &str = "default ones";

/// The directory of Tern's cache: in $XDG_CACHE_HOME, else in ~/.cache. `None` if neither is
/// known.
pub fn directory() -> Option<PathBuf> {
    directory_in(|name| std::env::var_os(name))
}

fn directory_in(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(variable(name)?);
        path.is_absolute().then_some(path)
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    Some(cache?.join("tern"))
}

/// The costs in a file. The error is one line that names it.
pub fn read(file: &Path) -> Result<Costs, String> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    text.parse().map_err(|why| format!("{name}: {why}"))
}

/// Writes the costs to a file. Who reads meanwhile sees all of the old or all of the new.
pub fn write(file: &Path, costs: &Costs) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = PathBuf::from(name);
    let written = std::fs::write(&new, costs.to_string()).and_then(|()| std::fs::rename(&new, file));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

/// Whether the file's costs can be used: they are sound, and were measured, or could not be a moment
/// ago.
fn is_good(file: &Path) -> bool {
    let Ok(costs) = read(file) else {
        return false;
    };
    let age = || file.metadata().ok()?.modified().ok()?.elapsed().ok();
    !costs.origin.contains(DOUBTFUL) || age().is_none_or(|age| age < SECOND_TRY)
}

/// Measures as [`calibrate`] does, and says in the result what was measured.
pub fn measure(machine: &Machine, cores: &[usize], budget: Duration, rounds: u32) -> Result<Calibration, String> {
    let mut calibration = calibrate(cores, budget, rounds)?;
    let doubt = match calibration.busy {
        true => Some("the machine was busy"),
        false if !is_plausible(&calibration.costs) => Some("the cores were further apart than it says"),
        false => None,
    };
    calibration.costs.origin = format!("measured: {machine}");
    if let Some(doubt) = doubt {
        calibration.costs = Costs::default();
        calibration.costs.origin = format!("{DOUBTFUL}, since {doubt} when it was measured: {machine}");
    }
    Ok(calibration)
}

/// Whether two cores that are said to share a cache did. The cores of a virtual machine move; while
/// they are far apart, two that pass on lines take many times as long as one that only reads.
fn is_plausible(costs: &Costs) -> bool {
    let at = |mover| costs.pace(Placement::Cache).at(mover, Warmth::Warm, 256 << 10);
    at(Mover::Pipe) < 5.0 * at(Mover::Mapped)
}

/// For mpiexec: the file with the costs for a job on these cores, measured now if that was not
/// done before. `None` if there is nothing to tell the ranks: then they use the defaults.
///
/// On a known machine this reads a few small files. Else it measures for [`BUDGET`], unless
/// another process does so at this moment.
pub fn provide(cores: &[usize]) -> Option<PathBuf> {
    match directory() {
        Some(directory) => provide_in(&directory, cores, BUDGET),
        None => keep(&measure(&Machine::new(cores), cores, BUDGET, 1).ok()?.costs),
    }
}

fn provide_in(directory: &Path, cores: &[usize], budget: Duration) -> Option<PathBuf> {
    let machine = Machine::new(cores);
    let file = directory.join(machine.file());
    if is_good(&file) {
        return Some(file);
    }
    // One that is locked is being measured; two at once would measure each other.
    let lock = match lock(directory) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
        Err(_) => None,
    };
    let costs = measure(&machine, cores, budget, 1)
        .map_err(|why| tern_settings::info!("costs are the default ones: {why}"))
        .ok()?
        .costs;
    let stored = lock.is_some() && write(&file, &costs).is_ok();
    if stored { Some(file) } else { keep(&costs) }
}

/// The lock that one process holds while it measures, until the file is closed. `None` where
/// locks are not known; an error where the directory cannot be written to.
fn lock(directory: &Path) -> io::Result<Option<std::fs::File>> {
    std::fs::create_dir_all(directory)?;
    let file = std::fs::File::create(directory.join("lock"))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(io::ErrorKind::WouldBlock.into()),
        Err(errno) => Err(errno.into()),
    }
}

/// A file in memory for this run alone, which lives as long as this process.
fn keep(costs: &Costs) -> Option<PathBuf> {
    let memory = rustix::fs::memfd_create("tern-costs", rustix::fs::MemfdFlags::CLOEXEC).ok()?;
    let mut file = std::fs::File::from(memory);
    file.write_all(costs.to_string().as_bytes()).ok()?;
    let number = std::os::fd::IntoRawFd::into_raw_fd(file);
    Some(format!("/proc/{}/fd/{number}", std::process::id()).into())
}

/// For the ranks: the costs that TERN_COSTS asks for. What is wrong with a file that the user has
/// named is told in one line; then, and where nothing was measured, they are the defaults.
pub fn load() -> Costs {
    let told = std::env::var_os(COSTS_FILE).map(PathBuf::from);
    load_from(tern_settings::COSTS.get(), told.as_deref()).unwrap_or_else(|why| {
        if tern_settings::log::speaks_for_all() {
            tern_settings::warn!("TERN_COSTS: {why}; using default");
        }
        Costs::default()
    })
}

fn load_from(setting: &str, told: Option<&Path>) -> Result<Costs, String> {
    match setting {
        "default" => Ok(Costs::default()),
        // Nobody asked for that file, so nobody wants to hear that it is gone.
        "auto" | "" => Ok(told.and_then(|file| read(file).ok()).unwrap_or_default()),
        file => read(Path::new(file)),
    }
}

#[cfg(test)]
mod tests;
