//! All interleavings of a few processes that take and give up locks of two members.

use super::*;
use std::collections::HashSet;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Doing {
    Trying(Taking, u64),
    Holding,
    /// So many changes were made.
    Leaving(usize),
    Over,
}

/// One process: which lock of which member it wants, and how far it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Process {
    kind: Kind,
    member: usize,
    doing: Doing,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    home: u64,
    locks: [u64; 2],
    processes: Vec<Process>,
}

impl World {
    fn change(&mut self, member: usize, which: Which, change: Change) -> u64 {
        let word = match which {
            Which::Lock => &mut self.locks[member],
            Which::Home => &mut self.home,
            Which::Guard => panic!("it is for accumulates"),
        };
        let was = *word;
        match change {
            Change::Add(add) => *word = word.wrapping_add(add),
            Change::Swap { compare, swap } => *word = if was == compare { swap } else { was },
        }
        was
    }

    /// What follows when this process makes its next step.
    fn step(&self, who: usize) -> Option<World> {
        let mut next = self.clone();
        let Process { kind, member, doing } = self.processes[who].clone();
        next.processes[who].doing = match doing {
            Doing::Over => return None,
            Doing::Trying(mut taking, was) => match taking.next(was) {
                Step::Change(which, change) => Doing::Trying(taking, next.change(member, which, change)),
                Step::Taken => Doing::Holding,
                Step::Busy => Doing::Trying(Taking::new(kind), 0),
            },
            Doing::Holding => Doing::Leaving(0),
            Doing::Leaving(done) => match give_up(kind).get(done) {
                Some(&(which, change)) => {
                    next.change(member, which, change);
                    Doing::Leaving(done + 1)
                }
                None => Doing::Over,
            },
        };
        Some(next)
    }

    fn check(&self) {
        let holders: Vec<&Process> = self.processes.iter().filter(|one| one.doing == Doing::Holding).collect();
        for one in holders.iter().filter(|one| one.kind == Kind::Alone) {
            let meets = |other: &&&Process| other.kind == Kind::All || other.member == one.member;
            assert_eq!(holders.iter().filter(meets).count(), 1, "{self:?}");
        }
        if self.processes.iter().all(|one| one.doing == Doing::Over) {
            assert_eq!((self.home, self.locks), (0, [0, 0]), "something is left");
        }
    }
}

/// Every state that can be reached.
fn explore(wants: &[(Kind, usize)]) -> HashSet<World> {
    let fresh = |&(kind, member): &(Kind, usize)| Process { kind, member, doing: Doing::Trying(Taking::new(kind), 0) };
    let start = World { home: 0, locks: [0; 2], processes: wants.iter().map(fresh).collect() };
    let (mut seen, mut open) = (HashSet::from([start.clone()]), vec![start]);
    while let Some(world) = open.pop() {
        world.check();
        for next in (0..wants.len()).filter_map(|who| world.step(who)) {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}

/// Nobody meets one who has a lock alone; and from everywhere all come to their end when they go on one after the other, as
/// they do sooner or later where pauses differ.
#[test]
fn nobody_meets_an_exclusive_holder() {
    let locks = [(Kind::Shared, 0), (Kind::Alone, 0), (Kind::Alone, 1), (Kind::All, 0)];
    let mut states = 0;
    for one in locks {
        for other in locks {
            for third in locks {
                let all = explore(&[one, other, third]);
                states += all.len();
                assert!(all.iter().all(ends), "{one:?}, {other:?}, {third:?}");
            }
        }
    }
    assert!(states > 1000, "{states}");
}

/// Each in turn makes as many steps as an attempt has at most, so that nothing is left half done, until all are over.
fn ends(world: &World) -> bool {
    let mut world = world.clone();
    for _ in 0..12 {
        for who in 0..world.processes.len() {
            for _ in 0..9 {
                match world.step(who) {
                    // An attempt that has failed leaves the turn to others.
                    Some(next) => {
                        let again = matches!(&next.processes[who].doing, Doing::Trying(taking, _) if *taking == Taking::new(next.processes[who].kind));
                        world = next;
                        if again {
                            break;
                        }
                    }
                    None => break,
                }
            }
        }
    }
    world.processes.iter().all(|one| one.doing == Doing::Over)
}
