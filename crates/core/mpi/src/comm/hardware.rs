//! Kinds of hardware that processes are told apart by (MPI 5.0 sections 7.4.2 and 9.1.2).
//!
//! What the operating system does not tell of is taken for one part, as large as the next larger kind: see [`Shape::read`].

use tern_node::{Shape, Unit};

/// A kind of resource.
pub struct Kind {
    /// As Tern writes it: a URI with hwloc's name of the kind, but for what the standard names.
    pub name: &'static str,
    unit: Unit,
    /// What else it is called, in small letters.
    others: &'static [&'static str],
}

const fn kind(name: &'static str, unit: Unit, others: &'static [&'static str]) -> Kind {
    Kind { name, unit, others }
}

/// From the outside in.
pub const KINDS: [Kind; 8] = [
    kind("mpi_shared_memory", Unit::Machine, &["machine", "node"]),
    kind("hwloc://Package", Unit::Package, &["package", "socket"]),
    kind("hwloc://NUMANode", Unit::Numa, &["numanode", "numa"]),
    kind("hwloc://L3Cache", Unit::L3, &["l3cache", "l3"]),
    kind("hwloc://L2Cache", Unit::L2, &["l2cache", "l2"]),
    kind("hwloc://L1Cache", Unit::L1, &["l1cache", "l1", "l1dcache"]),
    kind("hwloc://Core", Unit::Core, &["core"]),
    kind("hwloc://PU", Unit::Thread, &["pu", "hwthread"]),
];

/// The number of the part of each kind that a process is restricted to; [`ANYWHERE`] where it may be in several.
pub type Parts = [i32; KINDS.len()];

const ANYWHERE: i32 = -1;

/// A process of which nothing is known.
pub const NOWHERE: Parts = [ANYWHERE; KINDS.len()];

/// The place in [`KINDS`] of what a program calls so. Large and small letters are the same, and the scheme `hwloc://` may be left out.
pub fn named(text: &str) -> Option<usize> {
    let text = text.to_ascii_lowercase();
    let word = text.strip_prefix("hwloc://").unwrap_or(&text);
    KINDS.iter().position(|kind| kind.name == text || kind.others.contains(&word))
}

/// Those that this process is restricted to now. Reads some files of the machine for each core that it may use.
pub fn own() -> Parts {
    parts(&Shape::read(&tern_node::affinity()))
}

/// Of each kind, whether this process is restricted to one part of it.
pub fn restricted() -> [bool; KINDS.len()] {
    own().map(|part| part != ANYWHERE)
}

fn parts(shape: &Shape) -> Parts {
    std::array::from_fn(|kind| {
        let mut parts = shape.threads().iter().map(|thread| thread.part(KINDS[kind].unit));
        match parts.next() {
            Some(first) if parts.all(|part| part == first) => first as i32,
            _ => ANYWHERE,
        }
    })
}

/// Whether two processes of one node are restricted to the same part of that kind.
pub fn together(kind: usize, one: &Parts, other: &Parts) -> bool {
    one[kind] != ANYWHERE && one[kind] == other[kind]
}

/// The outermost kind of which not all these processes are restricted to the same part, if any is restricted to one; the same at all of them.
/// `near` tells which of them are on the node of the process numbered `me`.
pub fn difference(all: &[Parts], me: usize, near: impl Fn(usize) -> bool) -> Option<usize> {
    (0..KINDS.len()).find(|&kind| {
        let told = all.iter().any(|parts| parts[kind] != ANYWHERE);
        told && !(0..all.len()).all(|at| near(at) && all[at][kind] == all[me][kind])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_node::Thread;

    /// A core with two threads in each of two third-level caches of each of two packages.
    fn machine() -> Shape {
        let thread = |number: usize| {
            let core = number / 2;
            Thread::new(number, [core, core, core, core, core / 2, core / 2])
        };
        Shape::new((0..8).map(thread).collect())
    }

    fn on(threads: &[usize]) -> Parts {
        parts(&machine().only(threads))
    }

    #[test]
    fn kinds_have_the_names_of_hwloc_and_of_others() {
        let kinds = ["mpi_shared_memory", "hwloc://NUMANode", "HWLOC://l3cache", "socket", "Core"].map(named);
        assert_eq!(kinds, [Some(0), Some(2), Some(3), Some(1), Some(6)]);
        assert_eq!(["", "hwloc://", "gpu", "hwloc://mpi_shared_memory"].map(named), [None; 4]);
        for (at, kind) in KINDS.iter().enumerate() {
            assert_eq!(named(kind.name), Some(at), "{}", kind.name);
        }
    }

    #[test]
    fn a_process_is_restricted_to_what_holds_all_its_threads() {
        assert_eq!(on(&[5]), [0, 1, 1, 2, 2, 2, 2, 5]);
        assert_eq!(on(&[4, 5]), [0, 1, 1, 2, 2, 2, 2, ANYWHERE]);
        assert_eq!(on(&[1, 2]), [0, 0, 0, ANYWHERE, ANYWHERE, ANYWHERE, ANYWHERE, ANYWHERE]);
        assert_eq!(on(&[1, 7])[..3], [0, ANYWHERE, ANYWHERE]);
    }

    #[test]
    fn the_outermost_difference_counts() {
        let kind = |all: &[Parts]| difference(all, 0, |_| true).map(|kind| KINDS[kind].name);
        assert_eq!(kind(&[on(&[0]), on(&[2]), on(&[4])]), Some("hwloc://Package"));
        assert_eq!(kind(&[on(&[0]), on(&[2])]), Some("hwloc://L3Cache"));
        assert_eq!(kind(&[on(&[0]), on(&[1])]), Some("hwloc://PU"));
        assert_eq!(kind(&[on(&[0]), on(&[0])]), None);
        // One that may be anywhere in the package differs from one in a cache of it.
        assert_eq!(kind(&[on(&[0, 2]), on(&[0])]), Some("hwloc://L3Cache"));
        let anywhere = on(&[0, 4]);
        assert_eq!(kind(&[anywhere, anywhere]), None);
        assert_eq!(difference(&[anywhere, anywhere], 0, |at| at == 0), Some(0), "they are on two nodes");
    }
}
