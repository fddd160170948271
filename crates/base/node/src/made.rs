//! Machines made of files, in the layout of /sys/devices/system: what TERN_TOPOLOGY names, and what tests look at.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use crate::system_files::parse_list;
use crate::{list, shown};

/// What a machine consists of, as it is written: `2x1x6x8x2` are 2 packages, 1 NUMA node in each, 6 third-level caches in each node, 8 cores at
/// each cache, 2 hardware threads in each core.
///
/// Packages that differ are joined by `+`: `1x1x1x8x2+1x1x1x4x1`. Behind that may stand, each after a colon: `l2=N`, so many cores share a
/// second-level cache; `no-l3` and `no-caches`, nothing is told of these; `no-numa`, nothing is told of NUMA nodes; `offline=LIST`.
///
/// Threads are numbered as Linux often does it: the first ones of all cores in order, then the second ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Packages, NUMA nodes, third-level caches, cores, threads of each part of the text.
    parts: Vec<[usize; 5]>,
    l2: usize,
    levels: u32,
    numa: bool,
    offline: Vec<usize>,
}

/// More than the largest machine has: hardware threads of a [`Made`].
const MOST: usize = 1 << 13;

impl FromStr for Made {
    type Err = String;

    fn from_str(text: &str) -> Result<Made, String> {
        let wrong = |why: &str| format!("{text} describes no machine: {why}");
        let mut words = text.split(':');
        let part = |part: &str| -> Option<[usize; 5]> {
            let numbers: Vec<usize> = part.split('x').map(|number| number.parse().ok()).collect::<Option<_>>()?;
            numbers.try_into().ok()
        };
        let parts: Option<Vec<[usize; 5]>> = words.next().unwrap_or_default().split('+').map(part).collect();
        let parts = parts.ok_or_else(|| wrong("five numbers are needed, as 2x1x6x8x2"))?;
        let threads = |part: &[usize; 5]| part.iter().try_fold(1usize, |all, count| all.checked_mul(*count));
        let all = parts.iter().try_fold(0usize, |all, part| all.checked_add(threads(part).filter(|count| *count > 0)?));
        if all.is_none_or(|all| all > MOST) {
            return Err(wrong(&format!("it has none or more than {MOST} hardware threads")));
        }
        let mut made = Made { parts, l2: 1, levels: 3, numa: true, offline: Vec::new() };
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("no-l3", "") => made.levels = 2,
                ("no-caches", "") => made.levels = 0,
                ("no-numa", "") => made.numa = false,
                ("offline", numbers) => made.offline = parse_list(numbers),
                ("l2", count) if count.parse().is_ok_and(|count: usize| count > 0) => {
                    made.l2 = count.parse().unwrap_or(1);
                }
                _ => return Err(wrong(&format!("{word} is none of l2=N, no-l3, no-caches, no-numa, offline=LIST"))),
            }
        }
        Ok(made)
    }
}

/// A hardware thread and the number of each part that it is in, counted through the machine.
struct Thread {
    number: usize,
    package: usize,
    node: usize,
    l3: usize,
    l2: usize,
    core: usize,
}

impl Made {
    /// Those that are online, by core.
    fn threads(&self) -> Vec<Thread> {
        let mut cores = Vec::new();
        let (mut package, mut node, mut l3, mut l2) = (0, 0, 0, 0);
        let many = |count: usize| Range { start: 0, end: count };
        for &[packages, nodes, caches, of, threads] in &self.parts {
            for _ in many(packages) {
                for _ in many(nodes) {
                    for _ in many(caches) {
                        for at in many(of) {
                            cores.push((package, node, l3, l2 + at / self.l2, threads));
                        }
                        l2 += of.div_ceil(self.l2);
                        l3 += 1;
                    }
                    node += 1;
                }
                package += 1;
            }
        }
        let mut threads = Vec::new();
        for turn in 0..cores.iter().map(|core| core.4).max().unwrap_or(0) {
            for (core, &(package, node, l3, l2, of)) in cores.iter().enumerate() {
                if turn < of {
                    threads.push(Thread { number: threads.len(), package, node, l3, l2, core });
                }
            }
        }
        threads.retain(|thread| !self.offline.contains(&thread.number));
        threads
    }

    /// Writes the machine into that folder, which may be there if it is empty.
    ///
    /// Errors: of the file system; the folder holds something.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        is_empty(folder)?;
        let write = |path: String, text: &str| put(&folder.join(path), text);
        let threads = self.threads();
        let of = |part: &dyn Fn(&Thread) -> bool| -> String {
            list(&threads.iter().filter(|thread| part(thread)).map(|thread| thread.number).collect::<Vec<_>>())
        };
        write("cpu/online".into(), &of(&|_| true))?;
        let smt =
            threads.iter().any(|one| threads.iter().any(|other| one.core == other.core && one.number < other.number));
        write("cpu/smt/active".into(), if smt { "1" } else { "0" })?;
        for thread in &threads {
            let cpu = format!("cpu/cpu{}", thread.number);
            let topology = |name: &str, text: String| write(format!("{cpu}/topology/{name}"), &text);
            topology("physical_package_id", thread.package.to_string())?;
            topology("core_id", thread.core.to_string())?;
            topology("thread_siblings_list", of(&|other| other.core == thread.core))?;
            topology("core_siblings_list", of(&|other| other.package == thread.package))?;
            let core = of(&|other| other.core == thread.core);
            let caches = [
                (1, "Data", "32K", core.clone()),
                (1, "Instruction", "32K", core),
                (2, "Unified", "1024K", of(&|other| other.l2 == thread.l2)),
                (3, "Unified", "32768K", of(&|other| other.l3 == thread.l3)),
            ];
            let told = caches.into_iter().filter(|(level, ..)| *level <= self.levels);
            for (index, (level, kind, size, shared)) in told.enumerate() {
                let file = |name: &str, text: &str| write(format!("{cpu}/cache/index{index}/{name}"), text);
                file("level", &level.to_string())?;
                file("type", kind)?;
                file("size", size)?;
                file("shared_cpu_list", &shared)?;
            }
        }
        if !self.numa {
            return Ok(());
        }
        let mut nodes: Vec<usize> = threads.iter().map(|thread| thread.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        write("node/online".into(), &list(&nodes))?;
        nodes.into_iter().try_for_each(|node| {
            write(format!("node/node{node}/cpulist"), &of(&|thread| thread.node == node))?;
            write(format!("node/node{node}/meminfo"), &format!("Node {node} MemTotal:    67108864 kB"))
        })
    }
}

/// What another machine had there would be taken for a part of this one.
fn is_empty(folder: &Path) -> io::Result<()> {
    match std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        true => Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty")),
        false => Ok(()),
    }
}

fn put(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, format!("{text}\n"))
}

/// Copies what Tern reads of this machine into that folder, for TERN_TOPOLOGY on another one.
///
/// Errors: of the file system, where the copy is written; the folder holds something. What cannot be read is left out.
pub fn save(folder: &Path) -> io::Result<()> {
    is_empty(folder)?;
    let system = shown::system();
    let copy = |path: &str| match std::fs::read_to_string(system.join(path)) {
        Ok(text) => put(&folder.join(path), text.trim_end()),
        Err(_) => Ok(()),
    };
    for path in ["cpu/online", "cpu/smt/active", "node/online"] {
        copy(path)?;
    }
    for node in crate::topology::numa_nodes(system) {
        for name in ["cpulist", "meminfo", "distance"] {
            copy(&format!("node/node{}/{name}", node.number))?;
        }
    }
    for thread in crate::system_files::online_in(system) {
        for name in ["physical_package_id", "core_id", "thread_siblings_list", "core_siblings_list"] {
            copy(&format!("cpu/cpu{thread}/topology/{name}"))?;
        }
        let caches = (0..).map(|index| format!("cpu/cpu{thread}/cache/index{index}"));
        for cache in caches.take_while(|cache| system.join(cache).exists()) {
            for name in ["level", "type", "size", "shared_cpu_list"] {
                copy(&format!("{cache}/{name}"))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::topology::{Machine, Neighbours};

    /// A folder with a machine, which goes with the value.
    pub(crate) struct Folder(PathBuf);

    impl Folder {
        pub(crate) fn made(text: &str) -> Folder {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let folder = std::env::temp_dir().join(format!("tern-made-{}-{number}", std::process::id()));
            text.parse::<Made>().expect(text).write(&folder).expect("written");
            Folder(folder)
        }
    }

    impl std::ops::Deref for Folder {
        type Target = Path;

        fn deref(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn two_packages_of_six_caches_of_eight_cores() {
        let folder = Folder::made("2x1x6x8x2");
        let machine = Machine::read_from(&folder);
        assert_eq!((machine.threads.len(), machine.cores.len(), machine.packages), (192, 96, 2));
        assert_eq!(machine.nodes.len(), 2);
        let third = machine.caches.iter().filter(|cache| cache.level == 3);
        assert_eq!(third.map(|cache| cache.shared_by.len()).collect::<Vec<_>>(), [16; 12]);
        let around = Neighbours::read(&folder, 49);
        assert_eq!(around.siblings, [49, 145]);
        assert_eq!(list(&around.cache), "48-55,144-151");
        assert_eq!(list(&around.package), "48-95,144-191");
        assert_eq!(around.node, around.package);
    }

    #[test]
    fn packages_may_differ_and_threads_be_offline() {
        let folder = Folder::made("1x2x1x4x2+1x1x1x3x1:l2=2:offline=1,6");
        let machine = Machine::read_from(&folder);
        assert_eq!(list(&machine.threads), "0,2-5,7-18");
        assert_eq!((machine.cores.len(), machine.packages, machine.nodes.len()), (11, 2, 3));
        // Threads 0 to 10 are the first ones; 11 to 18 the second ones of the first package.
        let around = Neighbours::read(&folder, 0);
        assert_eq!((around.siblings, around.l2), (vec![0, 11], vec![0, 11, 12]));
        let alone = Neighbours::read(&folder, 10);
        assert_eq!((alone.siblings, alone.l2, alone.cache), (vec![10], vec![10], vec![8, 9, 10]));
    }

    #[test]
    fn what_is_not_told_is_not_written() {
        let caches = |text| Machine::read_from(&Folder::made(text)).caches.len();
        assert_eq!(["1x1x1x2x1", "1x1x1x2x1:no-l3", "1x1x1x2x1:no-caches"].map(caches), [7, 6, 0]);
        assert!(Machine::read_from(&Folder::made("2x1x1x2x1:no-numa")).nodes.is_empty());
    }

    #[test]
    fn wrong_descriptions_are_refused() {
        for wrong in
            ["", "2", "2x1x1x1", "0x1x1x1x1", "1x1x1x9999x1", "1x1x1x1x1:fast", "1x1x1x1x1:l2=0", "1x1x1x1x1:no-l3=2"]
        {
            assert!(wrong.parse::<Made>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn this_machine_is_copied() {
        let folder = std::env::temp_dir().join(format!("tern-saved-{}", std::process::id()));
        save(&folder).expect("written");
        let saved = Machine::read_from(&folder);
        std::fs::remove_dir_all(folder).expect("removed");
        assert_eq!(saved, Machine { model: None, ..Machine::read() });
    }
}
