//! The hardware threads that a job may use, with what they share: what ranks are placed by.

use std::path::Path;

use crate::shown::system;
use crate::system_files::{parse_list, read};
use crate::topology::numa_nodes;

/// A kind of part of a machine, from the smallest to the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// A hardware thread.
    Thread,
    /// A processor core, with one hardware thread or several.
    Core,
    /// What shares a first-level cache.
    L1,
    /// What shares a second-level cache.
    L2,
    /// What shares a third-level cache.
    L3,
    /// A NUMA node.
    Numa,
    /// A package, also called socket.
    Package,
    /// The whole machine.
    Machine,
}

/// A hardware thread and the parts of the machine that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its number, as Linux counts.
    pub number: usize,
    /// The part of each kind, in the order of [`Unit`] without the thread and the machine. Equal numbers are equal
    /// parts; the numbers mean nothing else.
    within: [usize; 6],
}

impl Thread {
    /// A thread that is in these parts: core, L1, L2, L3, NUMA node, package.
    pub fn new(number: usize, within: [usize; 6]) -> Thread {
        Thread { number, within }
    }

    /// The part of that kind.
    pub fn part(&self, unit: Unit) -> usize {
        match unit {
            Unit::Thread => self.number,
            Unit::Machine => 0,
            _ => self.within[unit as usize - 1],
        }
    }
}

/// Hardware threads, neighbours side by side: by package, NUMA node, caches, core, number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(Vec<Thread>);

impl Shape {
    /// These threads, in that order.
    pub fn new(mut threads: Vec<Thread>) -> Shape {
        threads.sort_by_key(|thread| (thread.within.iter().rev().copied().collect::<Vec<_>>(), thread.number));
        Shape(threads)
    }

    /// Those of this machine that are among `allowed`. Reads about ten small files for each. What the kernel does not
    /// tell is taken for one part.
    pub fn read(allowed: &[usize]) -> Shape {
        Shape::read_from(system(), allowed)
    }

    /// The same without the caches of the first and second level, which are taken for those of one core. Reads a file for each core, none for each
    /// where cores have one thread, and a few for the machine.
    pub fn outline(allowed: &[usize]) -> Shape {
        Shape::outline_of(system(), allowed)
    }

    fn outline_of(system: &Path, allowed: &[usize]) -> Shape {
        let nodes = numa_nodes(system);
        let file = |number: usize, name: &str| system.join(format!("cpu/cpu{number}/{name}"));
        let smt = read(&system.join("cpu/smt/active")).is_none_or(|active| active != "0");
        let first = allowed.first().copied().unwrap_or(0);
        let is_l3 =
            |index: &usize| read(&file(first, &format!("cache/index{index}/level"))).is_some_and(|level| level == "3");
        let l3 = (0..8).find(is_l3).map(|index| format!("cache/index{index}/shared_cpu_list"));
        let (mut cores, mut caches, mut packages) = (Vec::new(), Vec::new(), Vec::new());
        // The first thread of the set that a thread is in; each set is read once.
        let part = |known: &mut Vec<Vec<usize>>, number: usize, name: &str| -> Option<usize> {
            if let Some(set) = known.iter().find(|set| set.contains(&number)) {
                return set.first().copied();
            }
            let set = parse_list(&read(&file(number, name))?);
            let first = set.first().copied();
            known.push(set);
            first
        };
        let thread = |&number: &usize| {
            let core = if smt { part(&mut cores, number, "topology/thread_siblings_list") } else { None };
            let core = core.unwrap_or(number);
            let package = part(&mut packages, number, "topology/core_siblings_list").unwrap_or(0);
            let cache = l3.as_ref().and_then(|l3| part(&mut caches, number, l3));
            let node = nodes.iter().position(|node| node.cores.contains(&number));
            Thread::new(number, [core, core, core, cache.unwrap_or(package), node.unwrap_or(package), package])
        };
        Shape::new(allowed.iter().map(thread).collect())
    }

    fn read_from(system: &Path, allowed: &[usize]) -> Shape {
        let nodes = numa_nodes(system);
        let thread = |&number: &usize| {
            let dir = system.join(format!("cpu/cpu{number}"));
            // A part is named by the first thread in it, allowed or not.
            let first = |file: &str| read(&dir.join(file)).and_then(|text| parse_list(&text).first().copied());
            let package = read(&dir.join("topology/physical_package_id")).and_then(|text| text.parse().ok());
            let package: usize = package.unwrap_or(0);
            let node = nodes.iter().position(|node| node.cores.contains(&number));
            let core = first("topology/thread_siblings_list").unwrap_or(number);
            let mut caches = [None; 4];
            for index in 0.. {
                let dir = dir.join(format!("cache/index{index}"));
                let Some(level) = read(&dir.join("level")) else { break };
                let instructions = read(&dir.join("type")).is_some_and(|kind| kind == "Instruction");
                let Some(level) = level.parse().ok().filter(|level: &usize| *level < 4 && !instructions) else {
                    continue;
                };
                caches[level] = read(&dir.join("shared_cpu_list")).and_then(|text| parse_list(&text).first().copied());
            }
            let [_, l1, l2, l3] = caches;
            let (l1, l2) = (l1.unwrap_or(core), l2.or(l1).unwrap_or(core));
            Thread::new(number, [core, l1, l2, l3.unwrap_or(package), node.unwrap_or(package), package])
        };
        Shape::new(allowed.iter().map(thread).collect())
    }

    /// All threads, in order.
    pub fn threads(&self) -> &[Thread] {
        &self.0
    }

    /// The threads of each part of that kind, in order.
    pub fn parts(&self, unit: Unit) -> Vec<Vec<Thread>> {
        let mut parts: Vec<Vec<Thread>> = Vec::new();
        for thread in &self.0 {
            match parts.iter_mut().find(|part| part[0].part(unit) == thread.part(unit)) {
                Some(part) => part.push(*thread),
                None => parts.push(vec![*thread]),
            }
        }
        parts
    }

    /// Only the threads whose numbers are among these.
    pub fn only(&self, numbers: &[usize]) -> Shape {
        Shape(self.0.iter().filter(|thread| numbers.contains(&thread.number)).copied().collect())
    }

    /// Which of the threads are set, as a picture: `[BB/..|../..][../..|../..]` are two packages of two NUMA nodes of two cores with two threads
    /// each; `B` is a thread that is set. Third-level caches of a NUMA node are set apart by blanks.
    ///
    /// With more than [`LARGE`] cores a letter is a core, `b` one of which some threads are set; what shares a third-level cache is `-` if
    /// nothing of it is set, `=` if all is.
    pub fn picture(&self, set: &[usize]) -> String {
        let large = self.parts(Unit::Core).len() > LARGE;
        let joined = |parts: Vec<Vec<Thread>>, with: &str, picture: &dyn Fn(Shape) -> String| -> String {
            parts.into_iter().map(|part| picture(Shape(part))).collect::<Vec<_>>().join(with)
        };
        let core = |core: Shape| -> String {
            let letters = core.0.iter().map(|thread| if set.contains(&thread.number) { 'B' } else { '.' });
            let letters: String = letters.collect();
            match (large, letters.contains('B'), letters.contains('.')) {
                (false, ..) => letters,
                (true, true, some) => if some { "b" } else { "B" }.into(),
                (true, false, _) => ".".into(),
            }
        };
        let cache = |cache: Shape| {
            let letters = joined(cache.parts(Unit::Core), if large { "" } else { "/" }, &core);
            match large {
                true if letters.bytes().all(|letter| letter == b'.') => "-".into(),
                true if letters.bytes().all(|letter| letter == b'B') => "=".into(),
                _ => letters,
            }
        };
        let node = |node: Shape| joined(node.parts(Unit::L3), " ", &cache);
        let package = |package: Shape| format!("[{}]", joined(package.parts(Unit::Numa), "|", &node));
        joined(self.parts(Unit::Package), "", &package)
    }
}

/// The most cores of which a picture shows every thread.
const LARGE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::tests::Folder;

    #[test]
    fn neighbours_stand_side_by_side() {
        // Two packages of two cores with two threads each, numbered as Linux often does it: packages in turns.
        let thread = |number: usize| {
            let core = number % 4;
            Thread::new(number, [core, core, core, core % 2, core % 2, core % 2])
        };
        let shape = Shape::new((0..8).map(thread).collect());
        let numbers: Vec<usize> = shape.threads().iter().map(|thread| thread.number).collect();
        assert_eq!(numbers, [0, 4, 2, 6, 1, 5, 3, 7]);
        let count = |unit| shape.parts(unit).len();
        assert_eq!([Unit::Thread, Unit::Core, Unit::L3, Unit::Package, Unit::Machine].map(count), [8, 4, 2, 2, 1]);
        assert_eq!(shape.picture(&[0, 4, 3]), "[BB/..][../B.]");
        assert_eq!(shape.only(&[2, 6, 3]).picture(&[2]), "[B.][.]");
    }

    #[test]
    fn files_tell_the_parts() {
        let root = std::env::temp_dir().join(format!("tern-shape-{}", std::process::id()));
        let write = |path: String, text: &str| {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, format!("{text}\n")).expect("written");
        };
        write("node/online".into(), "0-1");
        write("node/node0/cpulist".into(), "0-1");
        write("node/node1/cpulist".into(), "2-3");
        for number in 0..4 {
            let dir = format!("cpu/cpu{number}");
            write(format!("{dir}/topology/thread_siblings_list"), &number.to_string());
            write(format!("{dir}/topology/physical_package_id"), "0");
            let pair = ["0-1", "2-3"][number / 2];
            for (index, level, kind, shared) in [
                (0, "1", "Data", number.to_string()),
                (1, "1", "Instruction", "0-3".into()),
                (2, "2", "Unified", pair.into()),
            ] {
                write(format!("{dir}/cache/index{index}/level"), level);
                write(format!("{dir}/cache/index{index}/type"), kind);
                write(format!("{dir}/cache/index{index}/shared_cpu_list"), &shared);
            }
        }
        let shape = Shape::read_from(&root, &[1, 2, 3]);
        let parts = |unit| -> Vec<Vec<usize>> {
            shape.parts(unit).iter().map(|part| part.iter().map(|thread| thread.number).collect()).collect()
        };
        assert_eq!(parts(Unit::L1), [[1], [2], [3]]);
        assert_eq!(parts(Unit::L2), [vec![1], vec![2, 3]]);
        assert_eq!(parts(Unit::L3), [[1, 2, 3]]);
        assert_eq!(parts(Unit::Numa), [vec![1], vec![2, 3]]);
        assert_eq!(parts(Unit::Package), [[1, 2, 3]]);
        std::fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn large_machines_have_short_pictures() {
        let shape = |text: &str| {
            let folder = Folder::made(text);
            let all = crate::topology::Machine::read_from(&folder).threads;
            let shape = Shape::read_from(&folder, &all);
            let outline = Shape::outline_of(&folder, &all);
            let numbers =
                |shape: &Shape| -> Vec<usize> { shape.threads().iter().map(|thread| thread.number).collect() };
            assert_eq!(numbers(&outline), numbers(&shape), "{text}");
            for unit in [Unit::Core, Unit::L3, Unit::Numa, Unit::Package] {
                assert_eq!(outline.parts(unit).len(), shape.parts(unit).len(), "{text}: {unit:?}");
            }
            shape
        };
        let milan = shape("2x1x6x8x2");
        assert_eq!(milan.picture(&[1, 97, 48]), "[.B...... - - - - -][b....... - - - - -]");
        let second: Vec<usize> = (8..16).chain(104..112).collect();
        assert_eq!(milan.picture(&second), "[- = - - - -][- - - - - -]");
        let quarters = shape("1x4x3x8x1");
        assert_eq!(quarters.picture(&[24, 25]), "[- - -|BB...... - -|- - -|- - -]");
        assert_eq!(shape("2x2x2x2x1").picture(&[4]), "[./. ./.|B/. ./.][./. ./.|./. ./.]");
        assert_eq!(shape("2x1x2x2x2:no-l3:offline=1").picture(&[0, 9, 5]), "[B./../../B][../B./../..]");
        for odd in ["1x1x1x4x1:no-caches:no-numa", "1x1x2x8x2+1x1x1x4x1:offline=3,7-9", "2x4x2x4x2"] {
            shape(odd);
        }
    }

    #[test]
    fn this_machine_has_a_shape() {
        let allowed = crate::affinity();
        assert_eq!(Shape::read(&allowed).threads().len(), allowed.len());
        assert_eq!(Shape::read_from(Path::new("/dev/null/none"), &[3, 1]).picture(&[1]), "[B/.]");
    }
}
