//! In which parts of the machine a process is bound to stay: what collectives on large nodes go by.

use std::path::Path;

use crate::shown;
use crate::system_files::{parse_list, read};

/// The part of each kind that a process is bound to: a number that stands for it on this machine, or [`Locality::ANYWHERE`]
/// where the process may run in several parts of that kind, or the kernel does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Locality {
    /// What shares a third-level cache.
    pub l3: u32,
    /// The NUMA node.
    pub numa: u32,
    /// The package, also called socket.
    pub package: u32,
}

impl Locality {
    /// A part that is not known.
    pub const ANYWHERE: u32 = u32::MAX;

    /// A process that may run everywhere.
    pub const UNBOUND: Locality = Locality { l3: Self::ANYWHERE, numa: Self::ANYWHERE, package: Self::ANYWHERE };

    /// That of a process which may run on these hardware threads. Reads about ten small files, and those of NUMA nodes.
    pub fn of(cores: &[usize]) -> Locality {
        Locality::read(shown::system(), cores)
    }

    fn read(system: &Path, cores: &[usize]) -> Locality {
        let Some(first) = cores.first() else { return Locality::UNBOUND };
        let dir = system.join(format!("cpu/cpu{first}"));
        let list = |file: &str| read(&dir.join(file)).map_or(Vec::new(), |text| parse_list(&text));
        let is_l3 =
            |index: usize| read(&dir.join(format!("cache/index{index}/level"))).is_some_and(|level| level == "3");
        let l3 = (0..8).find(|&index| is_l3(index));
        let threads_of = |file: String| read(&system.join(file)).map_or(Vec::new(), |text| parse_list(&text));
        let nodes = threads_of("node/online".into()).into_iter();
        let numa =
            nodes.map(|node| threads_of(format!("node/node{node}/cpulist"))).find(|threads| threads.contains(first));
        // A part is named by the first thread in it.
        let part = |threads: &[usize]| match cores.iter().all(|core| threads.contains(core)) {
            true => threads.iter().min().map_or(Self::ANYWHERE, |&thread| thread as u32),
            false => Self::ANYWHERE,
        };
        Locality {
            l3: l3.map_or(Self::ANYWHERE, |index| part(&list(&format!("cache/index{index}/shared_cpu_list")))),
            numa: numa.map_or(Self::ANYWHERE, |threads| part(&threads)),
            package: part(&list("topology/core_siblings_list")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_in_the_parts_that_hold_all_its_threads() {
        let root = std::env::temp_dir().join(format!("tern-locality-{}", std::process::id()));
        // Two packages of two NUMA nodes, of two caches each, of two hardware threads each.
        "2x2x2x2x1"
            .parse::<crate::Made>()
            .and_then(|made| made.write(&root).map_err(|error| error.to_string()))
            .expect("made");
        let at = |cores: &[usize]| {
            let Locality { l3, numa, package } = Locality::read(&root, cores);
            [l3, numa, package]
        };
        let anywhere = Locality::ANYWHERE;
        assert_eq!(at(&[13]), [12, 12, 8]);
        assert_eq!(at(&[14, 15]), [14, 12, 8]);
        assert_eq!(at(&[13, 14]), [anywhere, 12, 8]);
        assert_eq!(at(&[8, 15]), [anywhere, anywhere, 8]);
        assert_eq!(at(&[0, 15]), [anywhere; 3]);
        assert_eq!(Locality::read(&root, &[]), Locality::UNBOUND);
        std::fs::remove_dir_all(&root).expect("removed");
        assert_eq!(Locality::read(Path::new("/dev/null/none"), &[1]), Locality::UNBOUND);
    }
}
