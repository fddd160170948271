//! The machine that this process takes for its own: the real one, or the one that TERN_TOPOLOGY shows in its place.
//!
//! Two questions are kept apart. *Where is a process placed, and what does it share with whom?* is answered by the machine that is shown.
//! *On how many cores does it run, and who waits for a core?* is answered by the kernel alone: see [`kernel_affinity`] and [`usable_cores`].
//! Nobody can be bound to cores that do not exist, so a launcher tells a process by [`BOUND`] to which of them it counts as bound.
//!
//! [`kernel_affinity`]: crate::kernel_affinity
//! [`usable_cores`]: crate::usable_cores

use std::path::Path;

use rustix::process::Pid;

use crate::system_files::{online_in, parse_list};

/// Where Linux describes processors and NUMA nodes.
const SYSTEM: &str = "/sys/devices/system";

/// The variable with the hardware threads, such as `0-3,8`, to which a process counts as bound on a machine that TERN_TOPOLOGY shows.
pub const BOUND: &str = "TERN_BOUND";

/// Whether TERN_TOPOLOGY shows another machine than the real one.
pub fn is_shown() -> bool {
    !tern_settings::TOPOLOGY.get().is_empty()
}

/// The folder that describes the machine, in the layout of /sys/devices/system.
pub(crate) fn system() -> &'static Path {
    Path::new(match tern_settings::TOPOLOGY.get() {
        "" => SYSTEM,
        shown => shown,
    })
}

/// Fails with a line for the user if TERN_TOPOLOGY names a folder that describes no machine.
pub fn check() -> Result<(), String> {
    match is_shown() && online_in(system()).is_empty() {
        false => Ok(()),
        true => {
            Err(format!("TERN_TOPOLOGY={}: there is no list of hardware threads in cpu/online", system().display()))
        }
    }
}

/// The hardware threads of this process on the machine that is shown; `None` if that is the real one.
pub(crate) fn own() -> Option<Vec<usize>> {
    is_shown().then(|| on(system(), std::env::var(BOUND).ok().as_deref()))
}

/// The hardware threads of another process on the machine that is shown. `None` if there is no such process, or its environment may not be
/// read.
pub(crate) fn of(process: Pid) -> Option<Vec<usize>> {
    let environment = std::fs::read(format!("/proc/{}/environ", process.as_raw_nonzero())).ok()?;
    Some(on(system(), bound_in(&environment)))
}

/// The list of [`BOUND`] in an environment as /proc has it: entries that end with a zero.
fn bound_in(environment: &[u8]) -> Option<&str> {
    let mut entries = environment.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    entries.find_map(|entry| entry.strip_prefix(BOUND)?.strip_prefix('='))
}

/// The threads of the list that are online; all that are online for a process that is bound to none of them.
fn on(system: &Path, bound: Option<&str>) -> Vec<usize> {
    let online = online_in(system);
    let bound = bound.map_or(Vec::new(), parse_list);
    let kept: Vec<usize> = online.iter().copied().filter(|thread| bound.contains(thread)).collect();
    match (kept.is_empty(), online.is_empty()) {
        (false, _) => kept,
        (true, false) => online,
        (true, true) => vec![0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::tests::Folder;

    #[test]
    fn a_process_is_where_its_environment_says() {
        assert_eq!(bound_in(b"A=1\0TERN_BOUND=0-3,8\0B=2\0"), Some("0-3,8"));
        assert_eq!(bound_in(b"TERN_BOUNDS=7\0X=TERN_BOUND=7\0\xff=\0"), None);
    }

    #[test]
    fn who_is_bound_nowhere_is_on_all_that_is_online() {
        let machine = Folder::made("1x1x1x4x1:offline=2");
        assert_eq!(on(&machine, None), [0, 1, 3]);
        assert_eq!(on(&machine, Some("3,1")), [1, 3]);
        assert_eq!(on(&machine, Some("2")), [0, 1, 3], "it is offline");
        assert_eq!(on(Path::new("/dev/null/none"), Some("3")), [0]);
    }

    #[test]
    fn the_real_machine_is_shown_by_default() {
        if is_shown() {
            eprintln!("skipped: TERN_TOPOLOGY is set");
            return;
        }
        assert_eq!((own(), check()), (None, Ok(())));
        assert_eq!(crate::affinity(), crate::kernel_affinity());
    }
}
