//! Groups of processes (MPI 5.0 section 7.3).

use crate::args::{Counts, Out, OutArray};
use crate::constants::*;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::objects::{Comm, Group, objects};
use crate::runtime::{installed, runtime};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;
use tern_adi::Proc;

/// The group that `handle` names, or MPI_ERR_GROUP.
pub fn lookup(handle: usize) -> Result<Rc<Group>> {
    if handle == MPI_GROUP_EMPTY {
        return Ok(empty());
    }
    if let Some(group) = objects().groups.borrow().get(handle) {
        return Ok(group.clone());
    }
    if handle == MPI_GROUP_NULL {
        return err!(MPI_ERR_GROUP, "the group is MPI_GROUP_NULL");
    }
    err!(MPI_ERR_GROUP, "{handle:#x} is not a group: it was freed, or never made")
}

/// MPI_GROUP_EMPTY.
pub fn empty() -> Rc<Group> {
    static EMPTY: Guarded<OnceCell<Rc<Group>>> = Guarded::new(OnceCell::new());
    EMPTY.get().get_or_init(|| Group::new(Vec::new())).clone()
}

/// A handle for `group`; the empty group is always MPI_GROUP_EMPTY.
pub fn hand_out(group: Rc<Group>) -> usize {
    if group.procs.is_empty() { MPI_GROUP_EMPTY } else { objects().groups.borrow_mut().insert(group) }
}

/// Names of the process sets (section 11.3.2).
pub const PSET_WORLD: &str = "mpi://WORLD";
pub const PSET_SELF: &str = "mpi://SELF";
/// The processes of the world that this one has not lost, when it is asked for.
pub const PSET_LIVING: &str = "tern://LIVING";

/// The names that programs are shown: the living are of use where a job goes on when it loses some.
pub fn psets() -> &'static [&'static str] {
    const ALL: [&str; 3] = [PSET_WORLD, PSET_SELF, PSET_LIVING];
    &ALL[..if crate::lost::is_survived() { 3 } else { 2 }]
}

/// The processes of a set, or MPI_ERR_ARG. Names are compared as URIs: the scheme and the words
/// of the standard in any case.
pub fn of_set(name: &str) -> Result<Rc<Group>> {
    if name.eq_ignore_ascii_case(PSET_WORLD) {
        return Ok(Group::new((0..runtime().world_size).collect()));
    }
    if name.eq_ignore_ascii_case(PSET_SELF) {
        return Ok(Group::new(vec![runtime().me]));
    }
    if name.eq_ignore_ascii_case(PSET_LIVING) {
        return Ok(Group::new(crate::lost::living_of_world()));
    }
    err!(MPI_ERR_ARG, "there is no process set {name:?}; there are {}", psets().join(" and "))
}

/// Rank of each process of a group, for many questions at once.
struct Ranks(HashMap<Proc, i32>);

impl Ranks {
    fn of(group: &Group) -> Ranks {
        Ranks(group.procs.iter().zip(0..).map(|(&proc, rank)| (proc, rank)).collect())
    }
    fn has(&self, proc: Proc) -> bool {
        self.0.contains_key(&proc)
    }
}

impl Group {
    /// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
    pub fn compare(&self, other: &Group) -> i32 {
        if self.procs == other.procs {
            return MPI_IDENT;
        }
        let ranks = Ranks::of(other);
        let same = self.size() == other.size() && self.procs.iter().all(|&p| ranks.has(p));
        if same { MPI_SIMILAR } else { MPI_UNEQUAL }
    }

    /// This group's processes, then those of `other` that are not among them.
    pub fn union(&self, other: &Group) -> Rc<Group> {
        let ranks = Ranks::of(self);
        let more = other.procs.iter().filter(|&&p| !ranks.has(p));
        self.derive(self.procs.iter().chain(more).copied().collect())
    }

    /// This group's processes that `other` has too.
    pub fn intersection(&self, other: &Group) -> Rc<Group> {
        let ranks = Ranks::of(other);
        self.derive(self.procs.iter().copied().filter(|&p| ranks.has(p)).collect())
    }

    /// This group's processes that `other` does not have.
    pub fn difference(&self, other: &Group) -> Rc<Group> {
        let ranks = Ranks::of(other);
        self.derive(self.procs.iter().copied().filter(|&p| !ranks.has(p)).collect())
    }

    /// The processes of `ranks`, in that order. Ranks must be valid and distinct.
    pub fn include(&self, ranks: &[i32]) -> Result<Rc<Group>> {
        self.check_distinct(ranks)?;
        Ok(self.derive(ranks.iter().map(|&r| self.procs[r as usize]).collect()))
    }

    /// All processes but those of `ranks`, in this group's order.
    pub fn exclude(&self, ranks: &[i32]) -> Result<Rc<Group>> {
        let gone = self.check_distinct(ranks)?;
        Ok(self.derive(self.procs.iter().zip(gone).filter(|(_, gone)| !gone).map(|(&p, _)| p).collect()))
    }

    /// Marks the ranks that are named. MPI_ERR_RANK for one that does not exist or comes twice.
    fn check_distinct(&self, ranks: &[i32]) -> Result<Vec<bool>> {
        let mut named = vec![false; self.procs.len()];
        for &rank in ranks {
            let Some(mark) = usize::try_from(rank).ok().and_then(|r| named.get_mut(r)) else {
                return err!(MPI_ERR_RANK, "rank {rank} is not in the group, whose size is {}", self.size());
            };
            if std::mem::replace(mark, true) {
                return err!(MPI_ERR_RANK, try "name each rank once", "rank {rank} is named twice");
            }
        }
        Ok(named)
    }
}

/// The ranks of (first, last, stride) triples (MPI 5.0 section 7.3.2). MPI_ERR_RANK for a range
/// outside of the group of `size`, MPI_ERR_ARG for a stride of 0, or one that leads away from the last rank.
fn expand(ranges: &[[i32; 3]], size: i32) -> Result<Vec<i32>> {
    let mut ranks = Vec::new();
    for &[first, last, stride] in ranges {
        if stride == 0 {
            return err!(MPI_ERR_ARG, "the stride of range ({first}, {last}, 0) is 0");
        }
        if first != last && (last > first) != (stride > 0) {
            return err!(
                MPI_ERR_ARG,
                "the stride of range ({first}, {last}, {stride}) leads away from its last rank: change its sign"
            );
        }
        let count = (last as i64 - first as i64) / stride as i64 + 1;
        let end = first as i64 + (count - 1) * stride as i64;
        if !(0..size).contains(&first) || !(0..size as i64).contains(&end) {
            return err!(MPI_ERR_RANK, "range ({first}, {last}, {stride}) leaves the group, whose size is {size}");
        }
        ranks.extend((0..count).map(|i| (first as i64 + i * stride as i64) as i32));
    }
    Ok(ranks)
}

fn ranks(n: i32, ranks: &Counts) -> Result<Vec<i32>> {
    if n < 0 {
        return err!(MPI_ERR_ARG, "the number of ranks is {n}");
    }
    Ok((0..n as usize).map(|i| ranks.get(i) as i32).collect())
}

fn ranges(n: i32, ranges: &Counts) -> Result<Vec<[i32; 3]>> {
    if n < 0 {
        return err!(MPI_ERR_ARG, "the number of ranges is {n}");
    }
    Ok((0..n as usize).map(|i| [0, 1, 2].map(|k| ranges.get(3 * i + k) as i32)).collect())
}

/// MPI_Group_size
pub fn group_size(group: Rc<Group>, size: Out<i32>) -> Result<()> {
    size.set(group.size());
    Ok(())
}

/// MPI_Group_rank: MPI_UNDEFINED for a process that is not in the group.
pub fn group_rank(group: Rc<Group>, rank: Out<i32>) -> Result<()> {
    let own = installed().and_then(|runtime| group.rank_of(runtime.me));
    rank.set(own.unwrap_or(MPI_UNDEFINED));
    Ok(())
}

/// MPI_Group_translate_ranks
pub fn group_translate_ranks(
    group1: Rc<Group>, n: i32, ranks1: Counts, group2: Rc<Group>, ranks2: OutArray<i32>,
) -> Result<()> {
    let from = ranks(n, &ranks1)?;
    for &rank in &from {
        if rank != MPI_PROC_NULL && !(0..group1.size()).contains(&rank) {
            return err!(MPI_ERR_RANK, "rank {rank} is not in the group, whose size is {}", group1.size());
        }
    }
    // One rank is the common question; more of them pay for the table.
    let table = (from.len() > 1).then(|| Ranks::of(&group2));
    for (i, &rank) in from.iter().enumerate() {
        let there = match rank {
            MPI_PROC_NULL => Some(MPI_PROC_NULL),
            _ => {
                let proc = group1.procs[rank as usize];
                table.as_ref().map_or_else(|| group2.rank_of(proc), |t| t.0.get(&proc).copied())
            }
        };
        ranks2.set(i, there.unwrap_or(MPI_UNDEFINED));
    }
    Ok(())
}

/// MPI_Group_compare
pub fn group_compare(group1: Rc<Group>, group2: Rc<Group>, result: Out<i32>) -> Result<()> {
    result.set(group1.compare(&group2));
    Ok(())
}

/// MPI_Group_union
pub fn group_union(group1: Rc<Group>, group2: Rc<Group>, newgroup: Out<usize>) -> Result<()> {
    newgroup.set(hand_out(group1.union(&group2)));
    Ok(())
}

/// MPI_Group_intersection
pub fn group_intersection(group1: Rc<Group>, group2: Rc<Group>, newgroup: Out<usize>) -> Result<()> {
    newgroup.set(hand_out(group1.intersection(&group2)));
    Ok(())
}

/// MPI_Group_difference
pub fn group_difference(group1: Rc<Group>, group2: Rc<Group>, newgroup: Out<usize>) -> Result<()> {
    newgroup.set(hand_out(group1.difference(&group2)));
    Ok(())
}

/// MPI_Group_incl
pub fn group_incl(group: Rc<Group>, n: i32, list: Counts, newgroup: Out<usize>) -> Result<()> {
    newgroup.set(hand_out(group.include(&ranks(n, &list)?)?));
    Ok(())
}

/// MPI_Group_excl
pub fn group_excl(group: Rc<Group>, n: i32, list: Counts, newgroup: Out<usize>) -> Result<()> {
    newgroup.set(hand_out(group.exclude(&ranks(n, &list)?)?));
    Ok(())
}

/// MPI_Group_range_incl: `list` holds `n` triples of first, last, stride.
pub fn group_range_incl(group: Rc<Group>, n: i32, list: Counts, newgroup: Out<usize>) -> Result<()> {
    let ranks = expand(&ranges(n, &list)?, group.size())?;
    newgroup.set(hand_out(group.include(&ranks)?));
    Ok(())
}

/// MPI_Group_range_excl
pub fn group_range_excl(group: Rc<Group>, n: i32, list: Counts, newgroup: Out<usize>) -> Result<()> {
    let ranks = expand(&ranges(n, &list)?, group.size())?;
    newgroup.set(hand_out(group.exclude(&ranks)?));
    Ok(())
}

/// MPI_Group_free. MPI_GROUP_EMPTY may be given, as every call that finds no process hands it out.
pub fn group_free(group: Out<usize>) -> Result<()> {
    lookup(group.get())?;
    objects().groups.borrow_mut().remove(group.get());
    group.set(MPI_GROUP_NULL);
    Ok(())
}

/// MPI_Comm_group
pub fn comm_group(comm: Rc<Comm>, group: Out<usize>) -> Result<()> {
    group.set(hand_out(comm.local.clone()));
    Ok(())
}

/// MPI_Comm_remote_group
pub fn comm_remote_group(comm: Rc<Comm>, group: Out<usize>) -> Result<()> {
    let Some(remote) = &comm.remote else {
        return err!(MPI_ERR_COMM, "the communicator has no remote group: it is an intracommunicator");
    };
    group.set(hand_out(remote.clone()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(procs: &[Proc]) -> Rc<Group> {
        Group::new(procs.to_vec())
    }

    #[test]
    fn set_operations_keep_the_order_of_the_first_group() {
        let (a, b) = (group(&[5, 3, 1]), group(&[1, 2, 3]));
        assert_eq!(*a.union(&b).procs, [5, 3, 1, 2]);
        assert_eq!(*a.intersection(&b).procs, [3, 1]);
        assert_eq!(*b.intersection(&a).procs, [1, 3]);
        assert_eq!(*a.difference(&b).procs, [5]);
        assert!(a.difference(&a).procs.is_empty());
        assert_eq!(*group(&[]).union(&b).procs, *b.procs);
    }

    #[test]
    fn compare_tells_order_from_membership() {
        let a = group(&[1, 2, 3]);
        assert_eq!(a.compare(&group(&[1, 2, 3])), MPI_IDENT);
        assert_eq!(a.compare(&group(&[3, 2, 1])), MPI_SIMILAR);
        assert_eq!(a.compare(&group(&[1, 2])), MPI_UNEQUAL);
        assert_eq!(a.compare(&group(&[1, 2, 4])), MPI_UNEQUAL);
        assert_eq!(group(&[]).compare(&group(&[])), MPI_IDENT);
    }

    #[test]
    fn include_and_exclude_refuse_bad_ranks() {
        let a = group(&[10, 11, 12]);
        assert_eq!(*a.include(&[2, 0]).unwrap().procs, [12, 10]);
        assert_eq!(*a.exclude(&[2, 0]).unwrap().procs, [11]);
        for bad in [&[3][..], &[-1], &[1, 1]] {
            assert_eq!(a.include(bad).unwrap_err().code, MPI_ERR_RANK);
            assert_eq!(a.exclude(bad).unwrap_err().code, MPI_ERR_RANK);
        }
    }

    #[test]
    fn ranges_expand_both_ways() {
        assert_eq!(expand(&[[1, 6, 2], [9, 7, -2]], 10).unwrap(), [1, 3, 5, 9, 7]);
        assert_eq!(expand(&[[0, 10, 3]], 10).unwrap(), [0, 3, 6, 9]); // 10 itself is not reached
        assert_eq!(expand(&[[4, 4, -1]], 10).unwrap(), [4]);
        for wrong in [[5, 4, 1], [4, 5, -1], [9, 0, i32::MAX], [0, 9, i32::MIN]] {
            assert_eq!(expand(&[[1, 2, 1], wrong], 10).unwrap_err().code, MPI_ERR_ARG);
        }
        assert_eq!(expand(&[[0, 10, 1]], 10).unwrap_err().code, MPI_ERR_RANK);
        assert_eq!(expand(&[[-1, 2, 1]], 10).unwrap_err().code, MPI_ERR_RANK);
        assert_eq!(expand(&[[0, 2, 0]], 10).unwrap_err().code, MPI_ERR_ARG);
    }
}
