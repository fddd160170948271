//! The layout of the machine: packages, cores, SMT siblings, caches, NUMA nodes.
//!
//! Read from the files that Linux keeps in /sys/devices/system, or from those in the folder that TERN_TOPOLOGY names. Nothing here is for
//! MPI_Init.

use std::path::{Path, PathBuf};

use crate::shown::system;
use crate::system_files::{online_in, parse_list, read};

/// The hardware threads around one, itself among them where the kernel tells; empty where not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Those of the same processor core.
    pub siblings: Vec<usize>,
    /// Those that share its cache of level 2.
    pub l2: Vec<usize>,
    /// Those that share its last cache.
    pub cache: Vec<usize>,
    /// Those of the same NUMA node.
    pub node: Vec<usize>,
    /// Those of the same package.
    pub package: Vec<usize>,
}

impl Neighbours {
    /// Those around this hardware thread. Reads about ten small files, fewer on small machines.
    pub fn of(core: usize) -> Neighbours {
        Neighbours::read(system(), core)
    }

    pub(crate) fn read(system: &Path, core: usize) -> Neighbours {
        let file = |index: usize, name: &str| cpu(system, core).join(format!("cache/index{index}/{name}"));
        let list = |index: usize| Some(parse_list(&read(&file(index, "shared_cpu_list"))?));
        let is_l2 = |index: usize| read(&file(index, "level")).is_some_and(|level| level == "2");
        let online = read(&system.join("node/online")).unwrap_or_default();
        let mut nodes = parse_list(&online).into_iter().map(|number| {
            let file = system.join(format!("node/node{number}/cpulist"));
            read(&file).map_or(Vec::new(), |text| parse_list(&text))
        });
        Neighbours {
            siblings: siblings(system, core),
            l2: (0..)
                .take_while(|&index| file(index, "level").exists())
                .find(|&index| is_l2(index))
                .and_then(list)
                .unwrap_or_default(),
            cache: (0..).map_while(list).last().unwrap_or_default(),
            node: nodes.find(|node| node.contains(&core)).unwrap_or_default(),
            package: read(&cpu(system, core).join("topology/core_siblings_list"))
                .map_or(Vec::new(), |text| parse_list(&text)),
        }
    }
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumaNode {
    /// Its number.
    pub number: usize,
    /// Its hardware threads.
    pub cores: Vec<usize>,
    /// Bytes of its memory, if known.
    pub memory: Option<u64>,
}

/// A cache, with the hardware threads that share it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cache {
    /// 1, 2, 3 …
    pub level: u32,
    /// Data, Instruction or Unified.
    pub kind: String,
    /// Bytes.
    pub size: u64,
    /// The hardware threads that share it.
    pub shared_by: Vec<usize>,
}

/// The whole machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The processor's name, if known.
    pub model: Option<String>,
    /// Hardware threads that are online.
    pub threads: Vec<usize>,
    /// Processor cores: groups of hardware threads.
    pub cores: Vec<Vec<usize>>,
    /// Packages (sockets).
    pub packages: usize,
    /// Caches, each once, in order of level.
    pub caches: Vec<Cache>,
    /// NUMA nodes; empty if the kernel does not tell.
    pub nodes: Vec<NumaNode>,
}

impl Cache {
    /// Those of a hardware thread, from the first level on. Reads some twenty small files.
    pub fn around(thread: usize) -> Vec<Cache> {
        caches(system(), thread)
    }
}

/// Hardware threads that are online; 0 if the kernel does not tell.
pub fn online() -> usize {
    online_in(system()).len()
}

/// The first line of one of the files that describe the machine, such as `node/online`; `None` if there is no such file.
pub fn first_line(file: &str) -> Option<String> {
    read(&system().join(file))?.lines().next().map(str::to_owned)
}

impl Machine {
    /// Reads the layout of this machine; what cannot be read is left out.
    pub fn read() -> Machine {
        let mut machine = Machine::read_from(system());
        if !crate::is_shown() {
            machine.model = model(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default());
        }
        machine
    }

    pub(crate) fn read_from(system: &Path) -> Machine {
        let threads = online_in(system);
        let mut machine = Machine { threads, nodes: numa_nodes(system), ..Machine::default() };
        let mut packages = Vec::new();
        for &thread in &machine.threads {
            let topology = cpu(system, thread).join("topology");
            packages.extend(read(&topology.join("physical_package_id")));
            let core = match siblings(system, thread) {
                siblings if siblings.is_empty() => vec![thread],
                siblings => siblings,
            };
            if !machine.cores.contains(&core) {
                machine.cores.push(core);
            }
            for cache in caches(system, thread) {
                if !machine.caches.contains(&cache) {
                    machine.caches.push(cache);
                }
            }
        }
        packages.sort_unstable();
        packages.dedup();
        machine.packages = packages.len().max(1);
        machine.caches.sort();
        machine
    }
}

fn cpu(system: &Path, thread: usize) -> PathBuf {
    system.join(format!("cpu/cpu{thread}"))
}

/// The hardware threads of the same processor core, this one included.
fn siblings(system: &Path, thread: usize) -> Vec<usize> {
    read(&cpu(system, thread).join("topology/thread_siblings_list")).map_or(Vec::new(), |text| parse_list(&text))
}

fn caches(system: &Path, thread: usize) -> Vec<Cache> {
    let cache = |index: usize| {
        let dir = cpu(system, thread).join(format!("cache/index{index}"));
        Some(Cache {
            level: read(&dir.join("level"))?.parse().ok()?,
            kind: read(&dir.join("type"))?,
            size: bytes(&read(&dir.join("size"))?)?,
            shared_by: parse_list(&read(&dir.join("shared_cpu_list"))?),
        })
    };
    (0..).map_while(cache).collect()
}

pub(crate) fn numa_nodes(system: &Path) -> Vec<NumaNode> {
    let online = read(&system.join("node/online")).unwrap_or_default();
    let node = |number: usize| {
        let dir = system.join(format!("node/node{number}"));
        NumaNode {
            number,
            cores: read(&dir.join("cpulist")).map_or(Vec::new(), |text| parse_list(&text)),
            memory: read(&dir.join("meminfo")).and_then(|text| node_memory(&text)),
        }
    };
    parse_list(&online).into_iter().map(node).collect()
}

/// The line `Node 0 MemTotal: 123 kB`.
fn node_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.contains("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().nth_back(1)?.parse().ok()?;
    Some(kilobytes << 10)
}

fn model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// `32K`, `1M`.
fn bytes(text: &str) -> Option<u64> {
    let shift = match text.as_bytes().last()? {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        _ => return text.parse().ok(),
    };
    Some(text[..text.len() - 1].parse::<u64>().ok()? << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine made of files: two NUMA nodes, two cores each, two threads each, numbered as
    /// Linux does it: first threads 0 to 3, second ones 4 to 7.
    fn machine(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("tern-topo-{}-{name}", std::process::id()));
        let write = |path: &str, text: &str| {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, format!("{text}\n")).unwrap();
        };
        write("cpu/online", "0-7");
        write("cpu/smt/active", "1");
        write("node/online", "0-1");
        for node in 0..2 {
            let (a, b) = (node, node + 2);
            write(&format!("node/node{node}/cpulist"), &format!("{a},{b},{},{}", a + 4, b + 4));
            write(&format!("node/node{node}/meminfo"), &format!("Node {node} MemTotal:    1024 kB"));
        }
        for thread in 0..8 {
            let core = thread % 4;
            let dir = format!("cpu/cpu{thread}");
            write(&format!("{dir}/topology/thread_siblings_list"), &format!("{core},{}", core + 4));
            write(&format!("{dir}/topology/physical_package_id"), &format!("{}", core % 2));
            write(&format!("{dir}/cache/index0/level"), "1");
            write(&format!("{dir}/cache/index0/type"), "Data");
            write(&format!("{dir}/cache/index0/size"), "32K");
            write(&format!("{dir}/cache/index0/shared_cpu_list"), &format!("{core},{}", core + 4));
        }
        root
    }

    #[test]
    fn the_machine_is_read_whole() {
        let root = machine("whole");
        let machine = Machine::read_from(&root);
        assert_eq!(machine.threads.len(), 8);
        assert_eq!(machine.cores, [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(machine.packages, 2);
        assert_eq!(machine.caches.len(), 4);
        assert_eq!(machine.caches[0].size, 32 << 10);
        assert_eq!(machine.nodes[1].cores, [1, 3, 5, 7]);
        assert_eq!(machine.nodes[1].memory, Some(1 << 20));
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn neighbours_are_those_who_share() {
        let root = machine("neighbours");
        for thread in 0..8 {
            let node = thread % 2;
            let dir = root.join(format!("cpu/cpu{thread}/cache/index1"));
            std::fs::create_dir_all(&dir).unwrap();
            let list = format!("{node},{},{},{}\n", node + 2, node + 4, node + 6);
            std::fs::write(dir.join("shared_cpu_list"), list).unwrap();
        }
        let around = Neighbours::read(&root, 3);
        assert_eq!(around.siblings, [3, 7]);
        assert_eq!(around.l2, [0; 0], "no cache is said to be of level 2");
        assert_eq!(around.cache, [1, 3, 5, 7]);
        assert_eq!(around.node, [1, 3, 5, 7]);
        std::fs::write(root.join("cpu/cpu3/cache/index1/level"), "2\n").unwrap();
        assert_eq!(Neighbours::read(&root, 3).l2, [1, 3, 5, 7]);
        std::fs::remove_dir_all(root).unwrap();
        let nowhere = Neighbours::read(Path::new("/dev/null/none"), 0);
        assert_eq!(nowhere, Neighbours::default());
    }

    #[test]
    fn a_machine_of_which_nothing_is_told_has_one_package() {
        assert_eq!(Machine::read_from(Path::new("/dev/null/none")).packages, 1);
    }

    #[test]
    fn this_machine_has_the_cores_of_the_affinity_mask() {
        let machine = Machine::read();
        if machine.threads.is_empty() {
            eprintln!("skipped: no /sys/devices/system/cpu here");
            return;
        }
        assert!(crate::affinity().iter().all(|core| machine.threads.contains(core)));
    }
}
