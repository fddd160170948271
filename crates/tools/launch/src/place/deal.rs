//! Which rank is on which host.

use tern_node::Unit;

use super::{Map, Policy, RankBy, named};

/// How many ranks a host has room for, if that is said.
pub type Room = Option<u32>;

/// The host of each of `size` ranks, by its place in `hosts`. `count` tells how many parts of a kind a host has: those
/// of this machine, for hosts of a job are alike.
///
/// Errors: a line for the user: there is no room.
pub fn deal(policy: &Policy, hosts: &[Room], size: u32, count: impl Fn(Unit) -> u32) -> Result<Vec<u32>, String> {
    let all: Option<u64> = hosts.iter().map(|room| room.map(u64::from)).sum();
    if policy.no_oversubscribe
        && let Some(all) = all.filter(|all| *all < size.into())
    {
        return Err(format!("{size} ranks are more than the {all} slots of the hosts; --oversubscribe allows that"));
    }
    // How many of a host come before some of the next, where hosts take turns.
    let parts = match policy.map {
        Map::Unit(unit) | Map::Each(_, unit) => count(unit),
        _ => 1,
    };
    let turn = match policy.rank {
        Some(RankBy::Node) => Some(1),
        Some(RankBy::Span) => Some(parts),
        Some(_) => None,
        None if policy.map == Map::Node => Some(1),
        None if policy.span && matches!(policy.map, Map::Unit(_)) => Some(parts),
        None => None,
    };
    let shares = match policy.map {
        Map::Each(each, unit) => by_parts(hosts.len(), size, each, unit, count(unit))?,
        Map::Node => in_turns(hosts, size, 1),
        Map::Unit(_) if policy.span => in_turns(hosts, size, parts),
        _ => blocks(hosts, size),
    };
    Ok(match turn {
        None => (0..).zip(&shares).flat_map(|(host, share)| (0..*share).map(move |_| host)).collect(),
        Some(turn) => numbered_in_turns(shares, turn),
    })
}

/// So many on each part of each host, host by host.
fn by_parts(hosts: usize, size: u32, each: u32, unit: Unit, count: u32) -> Result<Vec<u32>, String> {
    let room = u64::from(each) * u64::from(count);
    if room * (hosts as u64) < size.into() {
        let most = room * hosts as u64;
        let on = if hosts == 1 { "one host" } else { &format!("{hosts} hosts") };
        return Err(format!("ppr:{each}:{} places {most} ranks on {on}, not {size} (-n)", named(unit)));
    }
    let mut left = size;
    Ok((0..hosts).map(|_| take(&mut left, u32::try_from(room).unwrap_or(u32::MAX))).collect())
}

fn take(left: &mut u32, most: u32) -> u32 {
    let taken = most.min(*left);
    *left -= taken;
    taken
}

/// Hosts are filled in order if all say how much room they have, and share what is left over; else blocks are as even
/// as possible.
fn blocks(hosts: &[Room], size: u32) -> Vec<u32> {
    let rooms: Option<Vec<u32>> = hosts.iter().copied().collect();
    let mut left = size;
    let mut shares = vec![0; hosts.len()];
    for (share, room) in shares.iter_mut().zip(rooms.unwrap_or_default()) {
        *share = take(&mut left, room);
    }
    let count = hosts.len() as u32;
    for (at, share) in (0..).zip(&mut shares) {
        *share += left / count + u32::from(at < left % count);
    }
    shares
}

/// `turn` ranks to each host in turns, as long as some have room; then to all again.
fn in_turns(hosts: &[Room], size: u32, turn: u32) -> Vec<u32> {
    let mut shares = vec![0u32; hosts.len()];
    let mut left = size;
    while left > 0 {
        let full = |share: u32, room: Room| room.is_some_and(|room| share >= room);
        let all_full = shares.iter().zip(hosts).all(|(share, room)| full(*share, *room));
        for (share, room) in shares.iter_mut().zip(hosts) {
            let free = room.filter(|_| !all_full).map_or(turn, |room| room.saturating_sub(*share));
            *share += take(&mut left, turn.min(free));
        }
    }
    shares
}

fn numbered_in_turns(mut shares: Vec<u32>, turn: u32) -> Vec<u32> {
    let mut dealt = Vec::new();
    while shares.iter().any(|share| *share > 0) {
        for (host, share) in (0..).zip(&mut shares) {
            let here = take(share, turn.max(1));
            dealt.extend((0..here).map(|_| host));
        }
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{map_by, rank_by};

    /// Hosts of two packages with four cores each.
    fn dealt(map: &str, rank: &str, hosts: &[Room], size: u32) -> Result<String, String> {
        let mut policy = Policy::default();
        map_by(map, &mut policy)?;
        policy.rank = (!rank.is_empty()).then(|| rank_by(rank).expect(rank));
        let count = |unit| match unit {
            Unit::Machine => 1,
            Unit::Package => 2,
            Unit::Thread => 16,
            _ => 8,
        };
        let dealt = deal(&policy, hosts, size, count)?;
        Ok(dealt.into_iter().map(|host| (b'a' + host as u8) as char).collect())
    }

    fn ok(map: &str, rank: &str, hosts: &[Room], size: u32) -> String {
        dealt(map, rank, hosts, size).expect(map)
    }

    #[test]
    fn ranks_go_in_blocks_or_in_turns() {
        let two = [Some(4), Some(2)];
        assert_eq!(ok("slot", "", &two, 6), "aaaabb");
        assert_eq!(ok("core", "", &two, 6), "aaaabb");
        assert_eq!(ok("socket", "", &two, 6), "aaaabb");
        assert_eq!(ok("node", "", &two, 6), "ababaa");
        assert_eq!(ok("node", "slot", &two, 6), "aaaabb");
        assert_eq!(ok("slot", "node", &two, 6), "ababaa");
        // More than there is room for: all share.
        assert_eq!(ok("slot", "", &two, 8), "aaaaabbb");
        assert_eq!(ok("node", "", &two, 8), "ababaaab".replace("aaab", "abaa"));
        assert_eq!(ok("slot", "", &[None, None], 5), "aaabb");
    }

    #[test]
    fn the_parts_of_all_hosts_are_one_row() {
        let two = [Some(8), Some(8)];
        assert_eq!(ok("socket:span", "", &two, 8), "aabbaabb");
        assert_eq!(ok("socket:span", "slot", &two, 8), "aaaabbbb");
        assert_eq!(ok("ppr:2:socket", "", &two, 8), "aaaabbbb");
        assert_eq!(ok("ppr:2:socket", "socket:span", &two, 8), "aabbaabb");
        assert_eq!(ok("ppr:2:socket", "node", &two, 8), "abababab");
        assert_eq!(ok("ppr:2:node", "", &two, 4), "aabb");
        assert_eq!(ok("ppr:2:node", "", &two, 3), "aab");
    }

    #[test]
    fn what_has_no_room_is_refused() {
        assert_eq!(
            dealt("ppr:2:node", "", &[None; 3], 7),
            Err("ppr:2:node places 6 ranks on 3 hosts, not 7 (-n)".into())
        );
        assert!(dealt("slot:nooversubscribe", "", &[Some(2), Some(1)], 4).is_err_and(|text| text.contains("3 slots")));
        assert_eq!(ok("slot:nooversubscribe", "", &[Some(2), Some(1)], 3), "aab");
    }

    proptest::proptest! {
        #[test]
        fn every_rank_has_a_host(
            map in "slot|node|core|socket|numa:span|ppr:3:socket|ppr:64:node", rank in "|slot|node|fill|span|core",
            rooms in proptest::collection::vec(proptest::option::of(1u32..6), 1..5), size in 1u32..40
        ) {
            if let Ok(dealt) = dealt(&map, &rank, &rooms, size) {
                proptest::prop_assert_eq!(dealt.len(), size as usize);
                proptest::prop_assert!(dealt.bytes().all(|host| usize::from(host - b'a') < rooms.len()));
            } else {
                proptest::prop_assert!(map.starts_with("ppr:3") && size > 6 * rooms.len() as u32);
            }
        }
    }
}
