//! Who waits for whom: one picture from what the ranks of a job say of themselves.

use std::time::Duration;
use tern_pmi::report::{Item, Report, Seen, What, list, seconds};

/// What is known of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It waits inside MPI, and says for what.
    Report(Report),
    /// It does not answer; this is what its memory shows.
    Seen(Seen),
    /// It does not answer, and nothing else is known.
    Silent,
    NotInitialised,
    Finalized,
    Ended,
}

/// What stands above the picture. `first`: the rank that has said by itself that nothing moves.
pub fn headline(first: Option<u32>, ranks: &[Told]) -> String {
    let report = first.and_then(|rank| match ranks.get(rank as usize) {
        Some(Told::Report(report)) => Some((rank, report)),
        _ => None,
    });
    match report {
        Some((rank, report)) => {
            format!("nothing has moved for {} at rank {rank} (TERN_STALL)", seconds(report.idle))
        }
        None => "what the ranks wait for (SIGUSR1)".into(),
    }
}

/// The lines of the picture: each rank (ranks that say the same together), and who waits in a circle.
pub fn picture(ranks: &[Told]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut said: Vec<(Vec<String>, Vec<u32>)> = Vec::new();
    for (rank, told) in ranks.iter().enumerate() {
        let text = describe(told);
        match said.iter_mut().find(|(known, _)| *known == text) {
            Some((_, same)) => same.push(rank as u32),
            None => said.push((text, vec![rank as u32])),
        }
    }
    for (text, same) in said {
        let who = if same.len() == 1 { "rank" } else { "ranks" };
        lines.push(format!("{who} {}: {}", ranges(&same), text[0]));
        lines.extend(text[1..].iter().cloned());
    }
    lines.extend(circle(ranks));
    lines
}

fn describe(told: &Told) -> Vec<String> {
    let line = match told {
        Told::Report(report) => return report.lines(),
        Told::Seen(Seen { inside: false, age, function }) if function.is_empty() => {
            format!("not in MPI for {}", seconds(*age))
        }
        Told::Seen(Seen { inside: false, age, function }) => {
            format!("not in MPI for {}, last in {function}", seconds(*age))
        }
        Told::Seen(Seen { inside: true, age, function }) => {
            format!("in {function} for {}, and does not answer: it works, or has no core", seconds(*age))
        }
        Told::Silent => "does not answer: not in MPI, it seems".into(),
        Told::NotInitialised => "has not initialised MPI".into(),
        Told::Finalized => "has finalized MPI".into(),
        Told::Ended => "has ended".into(),
    };
    vec![line]
}

/// "0 to 3, 7"
pub fn ranges(ranks: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => parts.push((rank, rank)),
        }
    }
    let text = parts.iter().map(|&(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    text.collect::<Vec<_>>().join(", ")
}

/// Who has waited for less may have what it waits for already, and not have seen it. It tells of itself later, if it stays.
const SETTLED: Duration = Duration::from_millis(100);

/// Ways on for a rank: it goes on when, for every group, one of its members does what is waited for
/// (or, when one of the groups is enough, for some group).
struct Waits {
    groups: Vec<Vec<usize>>,
    any: bool,
}

fn waits(report: &Report, ranks: usize) -> Option<Waits> {
    let group = |item: &Item| match item.what {
        // Every member has to come, and everyone who has a lock has to give it up.
        What::Member | What::LockAlone | What::LockShared if !item.peers.is_empty() => {
            item.peers.iter().map(|&peer| vec![peer as usize]).collect()
        }
        What::Member | What::Message => Vec::new(),
        _ if item.peers.is_empty() => vec![(0..ranks).collect()],
        _ => vec![item.peers.iter().map(|&peer| peer as usize).collect()],
    };
    let groups: Vec<Vec<usize>> = report.waits.iter().flat_map(group).collect();
    let known = groups.iter().flatten().all(|&peer| peer < ranks);
    (known && !groups.is_empty()).then_some(Waits { groups, any: report.any })
}

/// Ranks that wait for each other in a circle, or for one that will never come.
fn circle(ranks: &[Told]) -> Option<String> {
    let all: Vec<Option<Waits>> = ranks
        .iter()
        .map(|told| match told {
            Told::Report(report) if report.idle >= SETTLED => waits(report, ranks.len()),
            _ => None,
        })
        .collect();
    // Those that nobody can free: who has ended, and, as long as that takes more away, those that
    // wait for such alone. What is unknown, and who computes, may free others.
    let gone = |rank: usize| matches!(ranks[rank], Told::Finalized | Told::Ended);
    let mut stuck: Vec<bool> = (0..ranks.len()).map(|rank| all[rank].is_some() || gone(rank)).collect();
    loop {
        let frees = |rank: usize| {
            all[rank].as_ref().is_some_and(|waits| {
                let comes = |group: &Vec<usize>| group.iter().any(|&peer| !stuck[peer]);
                if waits.any { waits.groups.iter().any(comes) } else { waits.groups.iter().all(comes) }
            })
        };
        let Some(free) = (0..ranks.len()).find(|&rank| stuck[rank] && !gone(rank) && frees(rank)) else { break };
        stuck[free] = false;
    }
    let start = (0..ranks.len()).find(|&rank| stuck[rank] && !gone(rank))?;
    let next = |rank: usize| {
        let groups = &all[rank].as_ref()?.groups;
        groups.iter().find(|group| group.iter().all(|&peer| stuck[peer]))?.first().copied()
    };
    let mut path = vec![start];
    loop {
        let last = path[path.len() - 1];
        match next(last) {
            Some(peer) if gone(peer) => {
                return Some(format!(
                    "deadlock: rank {last} waits for rank {peer}, which takes part in nothing any more"
                ));
            }
            Some(peer) => match path.iter().position(|&known| known == peer) {
                Some(at) => return Some(format!("deadlock: {}", in_words(&path[at..]))),
                None => path.push(peer),
            },
            None => return None,
        }
    }
}

/// A circle, in words.
fn in_words(members: &[usize]) -> String {
    match members {
        [one] => format!("rank {one} waits for itself"),
        [one, other] => format!("rank {one} and rank {other} wait for each other"),
        _ => {
            let members: Vec<u32> = members.iter().map(|&rank| rank as u32).collect();
            format!("ranks {} wait in a circle, each for the next and the last for the first", list(&members))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn waiting(what: What, peers: &[u32]) -> Told {
        let item = Item { what, peers: peers.to_vec(), tag: Some(5), bytes: Some(4), comm: "MPI_COMM_WORLD".into() };
        let idle = Duration::from_secs(30);
        Told::Report(Report { function: "MPI_Recv".into(), idle, waits: vec![item], ..Report::default() })
    }

    fn outside(seconds: u64) -> Told {
        Told::Seen(Seen { inside: false, age: Duration::from_secs(seconds), function: "MPI_Send".into() })
    }

    #[test]
    fn two_that_receive_first_wait_for_each_other() {
        let lines = picture(&[waiting(What::Receive, &[1]), waiting(What::Receive, &[0])]);
        assert_eq!(
            lines,
            [
                "rank 0: in MPI_Recv for 30.0 s: waits for a message from rank 1, tag 5, up to 4 bytes, MPI_COMM_WORLD",
                "rank 1: in MPI_Recv for 30.0 s: waits for a message from rank 0, tag 5, up to 4 bytes, MPI_COMM_WORLD",
                "deadlock: rank 0 and rank 1 wait for each other",
            ]
        );
    }

    #[test]
    fn a_longer_circle_is_found_behind_a_tail() {
        let ranks = [[1], [2], [3], [1]].map(|peers| waiting(What::Receive, &peers));
        let last = picture(&ranks).pop().expect("lines");
        assert_eq!(last, "deadlock: ranks 1, 2 and 3 wait in a circle, each for the next and the last for the first");
    }

    #[test]
    fn who_computes_is_told_apart_and_makes_no_deadlock() {
        let lines = picture(&[waiting(What::Receive, &[1]), outside(42)]);
        assert_eq!(lines[1], "rank 1: not in MPI for 42.0 s, last in MPI_Send");
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn ranks_that_say_the_same_are_told_together() {
        let mut ranks = vec![waiting(What::Member, &[3]); 3];
        ranks.push(outside(7));
        ranks.push(waiting(What::Member, &[3]));
        let lines = picture(&ranks);
        assert!(lines[0].starts_with("ranks 0 to 2, 4: in MPI_Recv"), "{}", lines[0]);
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn who_waits_for_one_that_has_finalized_waits_for_ever() {
        let last = picture(&[waiting(What::Send, &[1]), Told::Finalized]).pop().expect("lines");
        assert_eq!(last, "deadlock: rank 0 waits for rank 1, which takes part in nothing any more");
    }

    #[test]
    fn who_has_just_begun_to_wait_makes_no_deadlock() {
        let mut late = waiting(What::Receive, &[0]);
        if let Told::Report(report) = &mut late {
            report.idle = Duration::from_millis(20);
        }
        assert_eq!(picture(&[waiting(What::Receive, &[1]), late]).len(), 2);
    }

    #[test]
    fn any_of_several_is_enough() {
        // Rank 0 may hear from 1, which computes, or from 2, which waits for 0.
        let lines = picture(&[waiting(What::Receive, &[1, 2]), outside(1), waiting(What::Receive, &[0])]);
        assert_eq!(lines.len(), 3);
        let lines = picture(&[waiting(What::Receive, &[1, 2]), Told::Ended, waiting(What::Receive, &[0])]);
        assert!(lines[3].starts_with("deadlock"), "{lines:?}");
    }

    #[test]
    fn all_that_share_a_lock_have_to_give_it_up() {
        let lines = picture(&[waiting(What::LockShared, &[1, 2]), outside(1), waiting(What::LockAlone, &[0])]);
        assert!(lines[3].starts_with("deadlock: rank 0 and rank 2"), "{lines:?}");
        let lines = picture(&[waiting(What::LockShared, &[1]), outside(1), waiting(What::Lock, &[])]);
        assert_eq!(lines.len(), 3, "{lines:?}");
    }

    proptest! {
        /// By hand: a rank can go on if whom it waits for can, or computes; iterate from nothing.
        #[test]
        fn a_deadlock_is_told_when_there_is_one(
            targets in prop::collection::vec(prop::option::of((0usize..6, 0usize..6)), 6),
        ) {
            let told: Vec<Told> = targets
                .iter()
                .map(|target| match target {
                    Some((a, b)) if a == b => waiting(What::Receive, &[*a as u32]),
                    Some((a, b)) => waiting(What::Receive, &[*a as u32, *b as u32]),
                    None => outside(1),
                })
                .collect();
            let mut goes_on: Vec<bool> = targets.iter().map(Option::is_none).collect();
            for _ in 0..6 {
                for rank in 0..6 {
                    if let Some((a, b)) = targets[rank] {
                        goes_on[rank] |= goes_on[a] || goes_on[b];
                    }
                }
            }
            let found = picture(&told).iter().any(|line| line.starts_with("deadlock"));
            prop_assert_eq!(found, goes_on.contains(&false));
        }
    }
}
