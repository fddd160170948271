//! Tern's collectives on made-up machines: members of threads run the library's code, and the model replays what they did with their lines.

use rustix::fd::AsFd;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use tern_adi::Adi;
use tern_coll::lines::Fast;
use tern_coll::ops::Op;
use tern_coll::{Buffer, Operator, Peers, Selection, fast};
use tern_device::seen::{self, Act, Look};
use tern_layout::{Basic, Type};
use tern_mcm::{Mcm, Patience};
use tern_model::machine::Machine;
use tern_model::references::{Reference, best};
use tern_model::replay::{Cost, Step, replay};
use tern_policy::collective::Parts;
use tern_shm::Shm;

/// A member, in a thread of its own.
struct Member {
    adi: &'static Adi,
    peers: Rc<Peers>,
    size: usize,
}

/// Calls until all cells have been used, and as many again.
const CALLS: usize = 80;

/// Lines that cross the two packages in a short call: one up and one down, each with the request by which its owner gets it back.
const PACKAGE: usize = 4;
/// How far behind the best reference Tern may be and count as level with it.
const LEVEL: f64 = 0.7;
/// Operations with bytes of each member, for the figures.
const CELLS: [(&str, usize); 11] = [
    ("barrier", 0),
    ("bcast", 8),
    ("bcast", 1024),
    ("bcast", 32 << 10),
    ("reduce", 8),
    ("reduce", 1024),
    ("allreduce", 8),
    ("allreduce", 256),
    ("allreduce", 1024),
    ("allreduce", 16 << 10),
    ("allgather", 8),
];
/// How many times [`Machine::bound`] a short call may take.
const TIMES: f64 = 1.5;

/// What the first `size` cores of the machine do in one call of `body`, with ways that are forced.
fn steps(machine: &Machine, size: usize, forced: &str, body: impl Fn(&Member) + Sync) -> Vec<Vec<Step>> {
    let memory = rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::CLOEXEC).expect("a file of memory");
    let selection = Selection::parse(forced).expect("ways");
    let member = |rank: u32| {
        let bomb = Bomb;
        let shm = Shm::new(memory.as_fd(), rank, size as u32, 2, Some(64 << 10)).expect("shared memory");
        let mcm = Mcm::new(Box::new(shm), rank, size as u32, Patience::new(size as u32, 2));
        let place = machine.places(rank as usize);
        let parts: Parts = [place.package, place.node, place.cache].map(|part| part as u32);
        mcm.tell_bound(parts);
        let adi: *mut Adi = Box::into_raw(Box::new(Adi::new(Rc::new(mcm), None)));
        // SAFETY: it stays until nothing refers to it.
        let shared: &'static Adi = unsafe { &*adi };
        let peers = Rc::new(Peers::new(3, rank, (0..size as u32).collect(), None, 1).with_selection(selection));
        let member = Member { adi: shared, peers: peers.clone(), size };
        (0..3).for_each(|_| body(&member));
        seen::looks(true);
        body(&member);
        let looks = in_time(seen::looks(false));
        let area = |rank: usize| shared.mcm().control_slots(rank as u32, 1).expect("lines").memory() as usize;
        let owners: HashMap<usize, usize> = (0..size).map(|rank| (area(rank), rank)).collect();
        tern_coll::run(shared, &peers, tern_coll::barrier(&peers)).expect("a barrier by messages");
        drop((member, peers));
        // SAFETY: made above.
        drop(unsafe { Box::from_raw(adi) });
        std::mem::forget(bomb);
        let steps = in_order(once_each(&looks).map(|look| step(look, owners[&look.area])).collect(), rank as usize);
        // Along a tree, a member polls all that it waits for by turns. In flat forms it asks for the line of a later turn with each payload.
        if forced.contains("lines") {
            steps.into_iter().flat_map(fetched).collect()
        } else {
            steps.into_iter().map(polled).collect()
        }
    };
    std::thread::scope(|scope| {
        let member = &member;
        let members: Vec<_> = (0..size as u32).map(|rank| scope.spawn(move || member(rank))).collect();
        members.into_iter().map(|member| member.join().expect("no panic")).collect()
    })
}

/// A member that fails ends all of them: the others would wait for it.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// What a member looks at that waits for nobody long. Else it also looks in the line of the turn before whether its neighbour waits in another call.
fn in_time(looks: Vec<Look>) -> Vec<Look> {
    let all: HashSet<_> = looks.iter().map(|look| (look.area, look.turn, look.act)).collect();
    let has = |look: &Look, turn: u64, act: Act| all.contains(&(look.area, turn, act));
    let late =
        |look: &Look| look.act == Act::Look && !has(look, look.turn, Act::Read) && has(look, look.turn + 1, Act::Look);
    // It says so in place of its last turn.
    let begins = looks.iter().filter(|look| look.act == Act::Write).map(|look| look.turn).min().unwrap_or_default();
    let mut published = HashSet::new();
    let again = |look: &Look, published: &mut HashSet<u64>| {
        look.act == Act::Publish && (look.turn < begins || !published.insert(look.turn))
    };
    looks.iter().filter(|look| !late(look) && !again(look, &mut published)).copied().collect()
}

/// All that a member did, but of several equal looks the first: how often a member polls depends on the machine that the test runs on.
fn once_each(looks: &[Look]) -> impl Iterator<Item = &Look> {
    let mut before = HashSet::new();
    looks.iter().filter(move |look| look.act != Act::Look || before.insert(**look))
}

/// Between two turns of its own a member looks at those that it waits for, nearest first, and then reads: in which order its polls found them
/// depends on the machine that the test runs on.
fn in_order(mut steps: Vec<Step>, me: usize) -> Vec<Step> {
    let is_own = |step: &Step| !matches!(step, Step::Await { .. } | Step::Read { .. });
    for between in steps.split_mut(is_own) {
        between.sort_by_key(|step| match *step {
            Step::Await { owner, turn } => (0, turn, owner.abs_diff(me)),
            _ => (1, 0, 0),
        });
    }
    steps
}

fn polled(step: Step) -> Step {
    match step {
        Step::Await { owner, turn } => Step::Poll { owner, turn },
        other => other,
    }
}

/// Turns from the one that a member publishes with a payload to the one whose line it asks for then.
const AHEAD: u64 = 2;

fn fetched(step: Step) -> Vec<Step> {
    match step {
        Step::Write { turn, .. } => vec![Step::Fetch { turn: turn + AHEAD }, step],
        other => vec![other],
    }
}

fn step(look: &Look, owner: usize) -> Step {
    let (turn, bytes) = (look.turn, look.bytes);
    match look.act {
        Act::Look => Step::Await { owner, turn },
        Act::Read => Step::Read { owner, turn, bytes },
        Act::Write => Step::Write { turn, bytes },
        Act::Publish => Step::Publish { turn },
    }
}

fn is_right(done: Fast) {
    assert!(done == Some(Ok(())), "not along the lines: {done:?}");
}

fn buffer(memory: &mut [i64]) -> Buffer {
    Buffer { base: memory.as_mut_ptr().cast(), count: memory.len() as i64, ty: Type::basic(Basic::Int64) }
}

/// One call of that name, with `bytes` of each member.
fn call(member: &Member, name: &str, bytes: usize) {
    let Member { adi, ref peers, size } = *member;
    let (mut own, len) = (vec![1i64; bytes / 8], bytes / 8);
    let (sum, ty) = (Operator::Predefined(Op::Sum), Type::basic(Basic::Int64));
    let mut result = vec![0i64; len];
    is_right(match name {
        "barrier" => fast::barrier(adi, peers).done,
        "bcast" => fast::bcast(adi, peers, &buffer(&mut own), 0).done,
        "reduce" => {
            let base = result.as_mut_ptr().cast();
            fast::reduce(adi, peers, own.as_ptr().cast(), base, len as i64, &ty, &sum, 0).done
        }
        "allreduce" => {
            let done = fast::allreduce(adi, peers, own.as_ptr().cast(), &buffer(&mut result), &sum).done;
            assert!(result.iter().all(|&element| element == size as i64), "a sum of ones");
            done
        }
        "allgather" => {
            let mut all = vec![0; len * size];
            let recv = Buffer { count: len as i64, ..buffer(&mut all) };
            fast::allgather(adi, peers, Some(&buffer(&mut own)), &recv).done
        }
        other => panic!("no operation is called {other}"),
    });
}

fn cost(machine: &Machine, size: usize, forced: &str, name: &str, bytes: usize) -> Cost {
    let members = steps(machine, size, forced, |member| call(member, name, bytes));
    replay(machine, &members, CALLS)
}

fn milan() -> Machine {
    Machine::named("2x-epyc-7r13").expect("a machine")
}

#[test]
fn a_short_reduction_to_all_moves_few_lines() {
    let machine = milan();
    for (name, bytes) in [("allreduce", 8), ("barrier", 0)] {
        let cost = cost(&machine, 96, "", name, bytes);
        assert!(cost.crossings.package <= PACKAGE, "{name}: {cost:?}");
        assert!(cost.crossings.cache <= 4 * 12, "{name}: {cost:?}");
        let times = cost.nanoseconds / machine.bound();
        assert!(times <= TIMES, "{name}: {times} times the bound, {cost:?}");
    }
}

#[test]
fn a_shared_line_too_many_is_seen() {
    let machine = milan();
    let members = steps(&machine, 96, "", |member| {
        call(member, "allreduce", 8);
        member.adi.mcm().control_slots(1, 1).expect("lines").reached(1);
    });
    // The turn that the members look at is one of this call's in the replay, so that it is written each time.
    let turn = |steps: &[Step]| {
        steps.iter().find_map(|step| if let Step::Publish { turn } = step { Some(*turn) } else { None })
    };
    let first = turn(&members[0]).expect("a turn");
    let again = |step: Step| {
        if step == (Step::Poll { owner: 1, turn: 1 }) { Step::Poll { owner: 1, turn: first } } else { step }
    };
    let members: Vec<Vec<Step>> = members.into_iter().map(|steps| steps.into_iter().map(again).collect()).collect();
    let cost = replay(&machine, &members, CALLS);
    assert!(cost.crossings.package > PACKAGE, "{cost:?}");
}

#[test]
fn a_long_broadcast_crosses_the_packages_once() {
    let cost = cost(&milan(), 96, "", "bcast", 1 << 20);
    let lines = (1 << 20) / 64;
    // The payload's lines once there, and the requests for them once back; a sixteenth more for the turns' own lines.
    assert!((2 * lines..2 * lines + lines / 16).contains(&cost.crossings.package), "{cost:?}");
}

/// Tern's time beside the best reference's: 1 where they are equal, more where Tern is ahead.
fn ahead(machine: &Machine, ranks: usize, operation: &str, bytes: usize) -> (Cost, Reference, f64) {
    let cost = cost(machine, ranks, "", operation, bytes);
    let best = best(machine, operation.parse().expect("an operation"), bytes, ranks, false);
    let ahead = best.cost.nanoseconds / cost.nanoseconds;
    (cost, best, ahead)
}

#[test]
fn short_operations_are_near_the_best_of_others() {
    let machine = milan();
    // The best barrier of others moves three times as many lines between caches.
    for (operation, bytes) in [("barrier", 0), ("bcast", 8)] {
        let (cost, best, ahead) = ahead(&machine, 64, operation, bytes);
        assert!(ahead >= LEVEL, "{operation}: {ahead}, {cost:?}, {best:?}");
    }
}

/// Prints Tern's figures beside its flat forms and beside the best reference. The variable MACHINE names one machine, else all are taken. RANKS is the number
/// of members, else several numbers are taken.
#[test]
#[ignore = "prints figures for `make model`"]
fn figures() {
    let chosen = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (machine, ranks) = (chosen("MACHINE"), chosen("RANKS").and_then(|ranks| ranks.parse::<usize>().ok()));
    for name in Machine::names().filter(|name| machine.as_deref().is_none_or(|machine| machine == *name)) {
        let machine = Machine::named(name).expect("a machine");
        let all = [64, 96, 192, 288].into_iter().filter(|&count| ranks.is_none_or(|ranks| ranks == count));
        for ranks in all.filter(|&ranks| ranks <= machine.size()) {
            let bound = machine.bound_of(ranks);
            println!("# {name}, {ranks} ranks, bound {:.2} us", bound / 1e3);
            for (operation, bytes) in CELLS {
                let (cost, best, ahead) = ahead(&machine, ranks, operation, bytes);
                let (lines, us) = (cost.crossings, cost.nanoseconds / 1e3);
                let flat =
                    self::cost(&machine, ranks, &format!("{operation}=lines"), operation, bytes).nanoseconds / 1e3;
                print!("{operation} {bytes} {us:.2} package={} numa={} l3={}", lines.package, lines.numa, lines.cache);
                print!(" bound={:.2} flat={flat:.2} ahead={ahead:.2}", cost.nanoseconds / bound);
                println!(" best={:.2} {}, {}", best.cost.nanoseconds / 1e3, best.name, best.parameters);
            }
        }
    }
}
