//! The way down of short data: as many members as possible pass it on, each to few.
//!
//! Readers of one line wait for each other, those of the same cache in one queue and all others in a second one. So each member that has the data tells
//! the next one of its cache, and leaders of other groups hear from different members of a leader's cache. That trees of this kind are the
//! best ones follows from the model of Ramos and Hoefler (HPDC 2013).

use super::{Edges, Parts, groups, led_by};
use alloc::vec;
use alloc::vec::Vec;

/// Relative times of a line's transfer: inside a cache, between caches of a package, and between packages. They are rounded medians of
/// nviennot/core-to-core-latency for an EPYC 7R13, in nanoseconds; only their order counts.
const NEAR: u32 = 25;
const FAR: u32 = 105;
const ACROSS: u32 = 195;
/// The same of taking a line and publishing the next.
const PASS: u32 = 10;

/// A member that passes data on: when it can, when the last of its own cache has read its line, and when the last other one has.
#[derive(Clone, Copy)]
struct Giver {
    member: u32,
    near: u32,
    far: u32,
}

/// Puts `members` under `leader`, which leads the groups that it is in.
pub(super) fn spread(edges: &mut Edges, members: &[u32], parts: &[Parts], leader: u32) {
    let part = |member: u32, level: usize| parts[member as usize][level];
    let is_own = |group: &Vec<u32>, level: usize| part(group[0], level) == part(leader, level);
    let packages = groups(members, parts, 0);
    let own = packages.iter().find(|group| is_own(group, 0)).expect("the leader's");
    let others = packages.iter().filter(|group| !is_own(group, 0));
    let caches = groups(own, parts, 2);
    let mut givers = inside(edges, caches.iter().find(|group| is_own(group, 2)).expect("the leader's"), leader);
    // The longest way first.
    for package in others {
        hear(edges, &mut givers, package[0], ACROSS);
        spread(edges, package, parts, package[0]);
    }
    for cache in caches.iter().filter(|group| !is_own(group, 2)) {
        let giver = hear(edges, &mut givers, cache[0], FAR);
        givers.push(giver);
        inside(edges, cache, cache[0]);
    }
}

/// Those of one cache: who can tell the next one first does. Gives them with their times.
fn inside(edges: &mut Edges, members: &[u32], leader: u32) -> Vec<Giver> {
    let mut givers = vec![Giver { member: leader, near: 0, far: 0 }];
    for &member in &led_by(leader, members)[1..] {
        let giver = givers.iter_mut().min_by_key(|giver| giver.near).expect("the leader");
        giver.near += NEAR;
        let ready = giver.near + PASS;
        edges.add(giver.member, member);
        givers.push(Giver { member, near: ready, far: ready });
    }
    givers
}

/// `member` hears from the giver whose line has it first over that distance.
fn hear(edges: &mut Edges, givers: &mut [Giver], member: u32, distance: u32) -> Giver {
    let giver = givers.iter_mut().min_by_key(|giver| giver.far).expect("the leader");
    giver.far += distance;
    let ready = giver.far + PASS;
    edges.add(giver.member, member);
    Giver { member, near: ready, far: ready }
}
