//! What members know of where each other is bound.

use crate::asked;
use crate::group::Group;
use tern_adi::{Adi, Awaited, Proc};
use tern_mcm::Bound;
use tern_node::Locality;
use tern_policy::collective::{ANYWHERE, Parts, has_tree, may_grow};

// What is not bound is told alike by the machine and by the policy.
const _: () = assert!(Locality::ANYWHERE == ANYWHERE);

/// Tells the peers where this process is bound, if so many processes of its node may need to know. Called once, before any collective.
pub fn tell(adi: &Adi, here: usize) {
    if may_grow(here, false, &asked::selection()) {
        let Locality { l3, numa, package } = Locality::of(&tern_node::affinity());
        adi.mcm().tell_bound([package, numa, l3]);
    }
}

/// Where the members of a node are bound, if a tree serves them better than flat lines, or one is asked for. Waits until each of them has told.
/// All come to the same.
pub(super) fn parts(adi: &Adi, peers: &Group) -> Option<Vec<Parts>> {
    let procs = &peers.procs;
    if !may_grow(procs.len(), peers.crowded, &peers.selection) {
        return None;
    }
    let bound = |proc: &Proc| adi.mcm().bound(*proc);
    let missing = || procs.iter().copied().filter(|proc| bound(proc) == Bound::NotYet);
    let awaited = || Awaited::Members { context: peers.context, procs: missing().collect() };
    adi.wait_until_telling(&mut || missing().next().is_none(), &awaited);
    let parts: Option<Vec<Parts>> = procs
        .iter()
        .map(|proc| match bound(proc) {
            Bound::To(parts) => Some(parts),
            Bound::Nowhere | Bound::NotYet => None,
        })
        .collect();
    parts.filter(|parts| has_tree(parts, &peers.selection))
}
