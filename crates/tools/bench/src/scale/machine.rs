//! The node that is measured: what its cores share, and what else decides how fast they talk.

use crate::cores;
use std::collections::BTreeSet;
use std::fs;
use tern_node::topology::{Cache, Machine};
use tern_node::{Shape, Thread, Unit};

/// What several cores share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    pub name: String,
    /// Cores of one of them; of the largest, where they differ.
    pub cores: usize,
    /// How many there are.
    pub parts: usize,
}

/// What a level may be, from the smallest to the largest.
const LEVELS: [(Unit, &str); 4] = [
    (Unit::L3, "third-level cache"),
    (Unit::Numa, "NUMA node"),
    (Unit::Package, "package"),
    (Unit::Machine, "whole node"),
];

/// How many cores these threads are of.
fn cores_of(part: &[Thread]) -> usize {
    part.iter().map(|thread| thread.part(Unit::Core)).collect::<BTreeSet<_>>().len()
}

/// The threads of the first so many cores.
pub fn first(shape: &Shape, cores: usize) -> Shape {
    let threads = shape.parts(Unit::Core).into_iter().take(cores).flatten();
    shape.only(&threads.map(|thread| thread.number).collect::<Vec<_>>())
}

/// The levels of a node. Those with equally many cores are one, with the names of all.
pub fn levels(shape: &Shape) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for (unit, name) in LEVELS {
        let parts = shape.parts(unit);
        let cores = parts.iter().map(|part| cores_of(part)).max().unwrap_or(0);
        match levels.last_mut() {
            Some(last) if last.cores == cores => last.name = format!("{}, {name}", last.name),
            _ => levels.push(Level { name: name.to_string(), cores, parts: parts.len() }),
        }
    }
    levels
}

/// Bytes of a cache or a memory.
fn bytes(bytes: u64) -> String {
    match bytes {
        all if all >= 1 << 30 => format!("{:.1} GiB", all as f64 / f64::from(1 << 30)),
        all if all >= 1 << 20 => format!("{} MiB", all >> 20),
        all => format!("{} KiB", all >> 10),
    }
}

/// The caches around a thread, such as `L1 Data 32 KiB; L3 32 MiB for 16 threads`.
fn caches(around: &[Cache]) -> String {
    let data = around.iter().filter(|cache| cache.kind != "Instruction");
    let one = |cache: &Cache| {
        let (level, size, threads) = (cache.level, bytes(cache.size), cache.shared_by.len());
        format!("L{level} {size} for {threads} thread{}", if threads == 1 { "" } else { "s" })
    };
    data.map(one).collect::<Vec<_>>().join("; ")
}

/// Of the words of a file the one in brackets, as in `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

/// What is told of the node that is measured: names and words. Nothing of it names the machine or its owner.
pub fn about(shape: &Shape) -> Vec<(String, String)> {
    let machine = Machine::read();
    let first = shape.threads().first().map_or(0, |thread| thread.number);
    let line = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_string());
    let levels =
        levels(shape).into_iter().map(|level| format!("{} x {}: {} cores", level.parts, level.name, level.cores));
    let memory: Vec<String> = machine.nodes.iter().filter_map(|node| node.memory).map(bytes).collect();
    let per_node = if memory.len() > 1 { format!(", by NUMA node {}", memory.join(", ")) } else { String::new() };
    let flags = line("/proc/cpuinfo").unwrap_or_default();
    let is_virtual = flags.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
    let told = [
        ("processor", Some(cores::model())),
        ("levels", Some(levels.collect::<Vec<_>>().join("; "))),
        ("cores in use", Some(format!("{} with {} threads", cores_of(shape.threads()), shape.threads().len()))),
        ("caches", Some(caches(&Cache::around(first)))),
        ("memory", Some(format!("{}{per_node}", bytes(tern_node::memory_total())))),
        ("kernel", Some(format!("Linux {} {}", cores::kernel(), std::env::consts::ARCH))),
        ("virtual machine", Some(if is_virtual { "yes" } else { "no" }.to_string())),
        (
            "huge pages",
            line("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|all| chosen(&all).map(String::from)),
        ),
        ("frequency governor", line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("yama ptrace_scope", line("/proc/sys/kernel/yama/ptrace_scope")),
    ];
    told.into_iter().filter_map(|(name, words)| Some((name.to_string(), words?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::tests::node;

    fn told(shape: &Shape) -> Vec<(String, usize, usize)> {
        levels(shape).into_iter().map(|level| (level.name, level.cores, level.parts)).collect()
    }

    #[test]
    fn a_large_node_has_its_levels() {
        let milan = told(&node([2, 1, 6, 8, 2]));
        let expected = [("third-level cache", 8, 12), ("NUMA node, package", 48, 2), ("whole node", 96, 1)];
        assert_eq!(milan, expected.map(|(name, cores, parts)| (name.to_string(), cores, parts)));
        let quarters: Vec<usize> = told(&node([2, 4, 3, 8, 1])).into_iter().map(|level| level.1).collect();
        assert_eq!(quarters, [8, 24, 96, 192]);
    }

    #[test]
    fn levels_with_equally_many_cores_are_one() {
        let small = told(&node([1, 1, 1, 2, 1]));
        assert_eq!(small, [("third-level cache, NUMA node, package, whole node".to_string(), 2, 1)]);
        let grace: Vec<usize> = told(&node([4, 1, 1, 72, 1])).into_iter().map(|level| level.1).collect();
        assert_eq!(grace, [72, 288]);
    }

    #[test]
    fn fewer_cores_have_fewer_levels() {
        let some = first(&node([2, 1, 6, 8, 2]), 12);
        assert_eq!(some.threads().len(), 24);
        assert_eq!(told(&some).into_iter().map(|level| level.1).collect::<Vec<_>>(), [8, 12]);
    }

    #[test]
    fn this_machine_is_described() {
        let about = about(&Shape::read(&tern_node::kernel_affinity()));
        let words = |name: &str| about.iter().find(|(known, _)| known == name).map(|(_, words)| words.as_str());
        assert!(words("memory").is_some_and(|memory| memory.contains("iB")), "{about:?}");
        assert!(words("kernel").is_some_and(|kernel| kernel.starts_with("Linux ")), "{about:?}");
        assert!(!about.iter().any(|(_, words)| words.contains(&tern_node::hostname())), "{about:?}");
    }

    #[test]
    fn the_word_in_brackets_is_chosen() {
        assert_eq!(chosen("always [madvise] never"), Some("madvise"));
        assert_eq!(chosen("never"), None);
    }
}
