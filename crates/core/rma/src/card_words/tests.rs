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

    /// What follows when this process makes its next step; `announces` if it begins another attempt.
    fn step(&self, who: usize, announces: bool) -> Option<World> {
        let mut next = self.clone();
        let Process { kind, member, doing } = self.processes[who].clone();
        next.processes[who].doing = match doing {
            Doing::Over => return None,
            Doing::Trying(mut taking, was) => match taking.next(was) {
                Step::Change(which, change) => Doing::Trying(taking, next.change(member, which, change)),
                Step::Taken => Doing::Holding,
                Step::Busy => {
                    taking.again(announces);
                    Doing::Trying(taking, 0)
                }
            },
            Doing::Holding => Doing::Leaving(0),
            Doing::Leaving(done) => match give_up(kind, who as u32).nth(done) {
                Some((which, change)) => {
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
        for (me, one) in (0..).zip(&self.processes) {
            let alone = one.doing == Doing::Holding && one.kind == Kind::Alone;
            assert!(!alone || owner(self.locks[one.member]) == Some(me), "{self:?}");
        }
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
    let fresh = |(me, &(kind, member)): (usize, &(Kind, usize))| Process {
        kind,
        member,
        doing: Doing::Trying(Taking::new(kind, me as u32), 0),
    };
    let start = World { home: 0, locks: [0; 2], processes: wants.iter().enumerate().map(fresh).collect() };
    let (mut seen, mut open) = (HashSet::from([start.clone()]), vec![start]);
    while let Some(world) = open.pop() {
        world.check();
        let steps = (0..wants.len()).flat_map(|who| [false, true].map(|announces| world.step(who, announces)));
        for next in steps.flatten() {
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
    // Whoever comes first: each set of three once.
    let sets = (0..4).flat_map(|a| (a..4).flat_map(move |b| (b..4).map(move |c| (a, b, c))));
    for (one, other, third) in sets {
        let all = explore(&[locks[one], locks[other], locks[third]]);
        states += all.len();
        // A part of the states: of each it takes as long as to find them all.
        assert!(all.iter().step_by(8).all(ends), "{:?}, {:?}, {:?}", locks[one], locks[other], locks[third]);
    }
    assert!(states > 1000, "{states}");
}

/// Each in turn makes as many steps as an attempt has at most, so that nothing is left half done, until all are over.
fn ends(world: &World) -> bool {
    let mut world = world.clone();
    for round in 0..12 {
        for who in 0..world.processes.len() {
            for _ in 0..11 {
                match world.step(who, round % 2 == 0) {
                    // An attempt that has failed leaves the turn to others.
                    Some(next) => {
                        let again = matches!(&next.processes[who].doing, Doing::Trying(taking, _) if taking.done == 0 && !taking.fails);
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

/// Who shares a lock does not pass one that has announced itself, and does so again when that is taken back.
#[test]
fn an_announcement_holds_back_those_who_share() {
    for shared in [Kind::Shared, Kind::All] {
        let process = |kind, me| Process { kind, member: 0, doing: Doing::Trying(Taking::new(kind, me), 0) };
        let mut world = World {
            home: 0,
            locks: [0; 2],
            processes: vec![process(shared, 0), process(Kind::Alone, 1), process(shared, 2)],
        };
        let go = |world: &mut World, who: usize, announces: bool, until: &dyn Fn(&Doing) -> bool| {
            (0..20).any(|_| {
                *world = world.step(who, announces).expect("it is not over");
                until(&world.processes[who].doing)
            })
        };
        let holds = |doing: &Doing| *doing == Doing::Holding;
        let announced = |doing: &Doing| matches!(doing, Doing::Trying(taking, _) if taking.announced);
        let not = |doing: &Doing| matches!(doing, Doing::Trying(taking, _) if !taking.announced && taking.done == 0);
        assert!(go(&mut world, 0, false, &holds));
        assert!(go(&mut world, 1, true, &announced), "{shared:?}");
        assert!(!go(&mut world, 2, false, &holds), "{shared:?}: it passes");
        assert!(go(&mut world, 1, false, &not), "{shared:?}");
        assert!(go(&mut world, 2, false, &holds), "{shared:?}: it is held back for ever");
    }
}

/// Who finds a lock taken knows who has it alone, or that others share it, and by which word.
#[test]
fn an_attempt_that_fails_tells_who_has_the_lock() {
    let cases = [
        ((Kind::Alone, 1), (Kind::Shared, 1), Found::Owner(0)),
        ((Kind::Alone, 1), (Kind::Alone, 1), Found::Owner(0)),
        ((Kind::Alone, 1), (Kind::All, 0), Found::SomeOwner),
        ((Kind::Shared, 1), (Kind::Alone, 1), Found::Shared(Which::Lock)),
        ((Kind::All, 0), (Kind::Alone, 1), Found::Shared(Which::Home)),
    ];
    for (has, wants, found) in cases {
        let fresh = |(me, (kind, member)): (u32, (Kind, usize))| Process {
            kind,
            member,
            doing: Doing::Trying(Taking::new(kind, me), 0),
        };
        let mut world = World { home: 0, locks: [0; 2], processes: [(0, has), (1, wants)].map(fresh).to_vec() };
        while world.processes[0].doing != Doing::Holding {
            world = world.step(0, false).expect("it takes the lock");
        }
        // The same attempt as in the world, of which that does not keep the end.
        let (mut taking, mut was) = (Taking::new(wants.0, 1), 0);
        while let Step::Change(which, change) = taking.next(was) {
            was = world.change(wants.1, which, change);
        }
        assert_eq!(taking.found(), found, "{has:?}, {wants:?}");
    }
}
