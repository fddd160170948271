//! Where measured costs are kept: one file per machine in the user's cache directory.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use tern_files::Private;

use tern_policy::costs::{Costs, Mover, Placement, Warmth};

use crate::{Calibration, Disturbance, Machine, calibrate, text};

/// The variable in which mpiexec tells the ranks where the costs are.
pub const COSTS_FILE: &str = "TERN_COSTS_FILE";
/// How long mpiexec measures on a machine that it does not know.
pub const BUDGET: Duration = Duration::from_millis(70);
/// What was measured beside other load, or could not be trusted, is measured again after this time.
const SECOND_TRY: Duration = Duration::from_secs(60);
/// The file that one process locks while it measures.
const LOCK: &str = "lock";
/// In the origin of the default costs that stand meanwhile.
const DOUBTFUL: &str = "default ones";
/// In the origin of costs that hold for [`SECOND_TRY`] only.
const AGAIN: &str = "so it is measured again after a minute";

/// The directory in the user's cache directory.
const NAME: &str = "tern";
/// Larger than any file of costs, in bytes.
const LARGEST: u64 = 1 << 20;

/// The user's cache directory: $XDG_CACHE_HOME, else ~/.cache. `None` if neither is known.
fn base_in(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(variable(name)?);
        path.is_absolute().then_some(path)
    };
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

fn base() -> Option<PathBuf> {
    base_in(|name| std::env::var_os(name))
}

/// The directory of Tern's cache: in $XDG_CACHE_HOME, else in ~/.cache. `None` if neither is
/// known.
pub fn directory() -> Option<PathBuf> {
    Some(base()?.join(NAME))
}

/// The costs in a file that the user names. The error is one line that names it.
pub fn read(file: &Path) -> Result<Costs, String> {
    let name = file.display();
    let text = tern_files::read(file).map_err(|error| format!("{name}: {error}"))?;
    text::decode(&text).map_err(|why| format!("{name}: {why}"))
}

/// Writes the costs to a file that the user names. Who reads meanwhile sees all of the old or all of the new.
pub fn write(file: &Path, costs: &Costs) -> io::Result<()> {
    tern_files::replace(file, text::encode(costs).as_bytes())
}

/// Writes the costs of a machine to Tern's cache; gives the name of the file.
///
/// Errors: a line for the user.
pub fn keep_for(machine: &Machine, costs: &Costs) -> Result<PathBuf, String> {
    let base = base().ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
    let file = base.join(NAME).join(machine.file());
    let written =
        Private::open(&base, NAME).and_then(|cache| cache.write(&machine.file(), text::encode(costs).as_bytes()));
    written.map(|()| file.clone()).map_err(|error| format!("{}: {error}", file.display()))
}

/// Whether the costs in that file of the cache can be used: they are sound, and were measured, or could not be a moment
/// ago.
fn is_good(cache: &Private, name: &str) -> bool {
    let Ok(file) = cache.read(name) else {
        return false;
    };
    let known = file.metadata();
    let age = || known.as_ref().ok()?.modified().ok()?.elapsed().ok();
    let age = age();
    // With room to spare: one call reads all.
    let mut text = String::with_capacity(known.map_or(0, |known| known.len().min(LARGEST)) as usize + 64);
    let read = file.take(LARGEST).read_to_string(&mut text);
    let Some(costs) = read.ok().and_then(|_| text::decode(&text).ok()) else {
        return false;
    };
    is_lasting(&costs) || age.is_none_or(|age| age < SECOND_TRY)
}

/// Measures as [`calibrate()`] does, and says in the origin of the costs what was measured. Where the figures say nothing, the costs
/// are the default ones.
pub fn measure(
    machine: &Machine, cores: &[usize], budget: Duration, rounds: u32, measured: impl FnMut(),
) -> Result<Calibration, String> {
    let mut calibration = calibrate(cores, budget, rounds, measured)?;
    judge(&mut calibration, &machine.to_string());
    Ok(calibration)
}

/// Says in the origin of what was measured how far it can be trusted.
fn judge(calibration: &mut Calibration, machine: &str) {
    let Calibration { costs, signs, .. } = calibration;
    let doubt = match signs.judge() {
        Disturbance::Much => Some(format!("the machine was busy when it was measured ({signs})")),
        _ if !is_plausible(costs) => Some("the cores were further apart than it says when it was measured".to_owned()),
        Disturbance::Some => {
            let measured = Costs::MEASURED;
            costs.origin = format!("{measured}{machine}; other programs were in the way ({signs}), {AGAIN}");
            return;
        }
        Disturbance::None => None,
    };
    costs.origin = match doubt {
        None => format!("{}{machine}", Costs::MEASURED),
        Some(doubt) => {
            *costs = Costs::default();
            format!("{DOUBTFUL}, since {doubt}, {AGAIN}: {machine}")
        }
    };
}

/// Whether these costs can be kept: no other program was in the way when they were measured.
pub fn is_lasting(costs: &Costs) -> bool {
    !costs.origin.contains(AGAIN)
}

/// The longest time, in nanoseconds, that a packet takes between two cores of one cache. A line takes 30 to 110 ns from core to core in the
/// processors of today, and a packet 40 ns more, to make it and to take it apart. It takes 240 ns and more between caches of one processor.
const FARTHEST: f64 = 190.0;

/// Whether two cores that are said to share a cache did. The cores of a virtual machine move. While they are far apart, a packet takes two to
/// four times as long, and two that pass on lines take many times as long as one that only reads.
fn is_plausible(costs: &Costs) -> bool {
    let near = costs.pace(Placement::L3);
    let at = |mover| near.at(mover, Warmth::Warm, 256 << 10);
    near.packet < FARTHEST && at(Mover::Pipe) < 5.0 * at(Mover::Mapped)
}

/// For mpiexec: the file with the costs for a job on these cores, measured now if that was not
/// done before. `None` if there is nothing to tell the ranks: then they use the defaults.
///
/// On a known machine this reads a few small files. Else it measures for [`BUDGET`], unless
/// another process does so at this moment. A cache directory that somebody else owns is not used; a line says so.
pub fn provide(cores: &[usize]) -> Option<PathBuf> {
    let cache = base().and_then(|base| match Private::open(&base, NAME) {
        Ok(cache) => Some(cache),
        Err(error) => {
            let text = format!("costs are not kept in {}: {error}", base.join(NAME).display());
            match error.kind() {
                io::ErrorKind::PermissionDenied => tern_settings::warn!("{text}; XDG_CACHE_HOME names another place"),
                _ => tern_settings::info!("{text}"),
            }
            None
        }
    });
    match cache {
        Some(cache) => provide_in(&cache, cores, BUDGET),
        None => keep(&measured(&Machine::new(cores), cores, BUDGET)?),
    }
}

fn provide_in(cache: &Private, cores: &[usize], budget: Duration) -> Option<PathBuf> {
    let machine = Machine::new(cores);
    let name = machine.file();
    if is_good(cache, &name) {
        return Some(cache.path().join(name));
    }
    // One that is locked is being measured; two at once would measure each other.
    let lock = match cache.lock(LOCK) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
        lock => lock.inspect_err(|error| tern_settings::info!("costs are not kept: {error}")).ok(),
    };
    let costs = measured(&machine, cores, budget)?;
    let stored = lock.is_some() && cache.write(&name, text::encode(&costs).as_bytes()).is_ok();
    if stored { Some(cache.path().join(name)) } else { keep(&costs) }
}

fn measured(machine: &Machine, cores: &[usize], budget: Duration) -> Option<Costs> {
    let measured = measure(machine, cores, budget, 1, || {});
    Some(measured.map_err(|why| tern_settings::info!("costs are the default ones: {why}")).ok()?.costs)
}

/// A file in memory for this run alone, which lives as long as this process.
fn keep(costs: &Costs) -> Option<PathBuf> {
    let memory = rustix::fs::memfd_create("tern-costs", rustix::fs::MemfdFlags::CLOEXEC).ok()?;
    let mut file = std::fs::File::from(memory);
    file.write_all(text::encode(costs).as_bytes()).ok()?;
    let number = std::os::fd::IntoRawFd::into_raw_fd(file);
    Some(format!("/proc/{}/fd/{number}", std::process::id()).into())
}

/// The file of [`tell`].
static TOLD: OnceLock<PathBuf> = OnceLock::new();

/// Names the file for [`load`], where no variable does. The first call counts.
pub fn tell(file: PathBuf) {
    let _ = TOLD.set(file);
}

/// For the ranks: the costs that TERN_COSTS asks for. What is wrong with a file that the user has
/// named is told in one line; then, and where nothing was measured, they are the defaults.
pub fn load() -> Costs {
    let told = std::env::var_os(COSTS_FILE).map(PathBuf::from).or_else(|| TOLD.get().cloned());
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
        "auto" | "" => {
            let text = told.and_then(|file| tern_files::read_own(file).ok());
            Ok(text.and_then(|text| text::decode(&text).ok()).unwrap_or_default())
        }
        file => read(Path::new(file)),
    }
}

#[cfg(test)]
mod tests;
