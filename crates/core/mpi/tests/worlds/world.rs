//! A world: its processes take turns by chance, and some of them die.

use crate::network::{Manners, Port, Random, TURN, ports};
use crate::process::Process;
use crate::turns::{Turns, pass};
use crate::{direct, program, shared};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use tern_adi::{Adi, Proc, Rendezvous};
use tern_coll::{Collective, Selection, able};
use tern_mcm::{Mcm, Patience};
use tern_mpi::fault::consensus::Decision;
use tern_mpi::fault::notice::Key;

/// Turns after which something hangs.
const TURNS: usize = 400_000;

thread_local! {
    /// Nanoseconds that have passed, and those between two looks at the clock.
    static TIME: Cell<u64> = const { Cell::new(0) };
}

fn now() -> u64 {
    TIME.set(TIME.get() + 100);
    TIME.get()
}

/// Who has come to the end with a process, and its last sum.
type End = (Rc<[Proc]>, u64);

/// What is so in a world, and what has happened in it.
pub struct Facts {
    pub seed: u64,
    pub processes: u32,
    /// Pieces of work before the last sum.
    pub rounds: u32,
    pub selection: Selection,
    dead: RefCell<BTreeSet<Proc>>,
    /// Of each agreement: what processes have got.
    decisions: RefCell<BTreeMap<Key, Vec<(Proc, Decision)>>>,
    windows: Cell<usize>,
    /// By process: what it is at.
    at: RefCell<BTreeMap<Proc, String>>,
    /// By process: who has come to the end with it, and the last sum.
    ends: RefCell<BTreeMap<Proc, End>>,
}

impl Facts {
    pub fn is_dead(&self, proc: Proc) -> bool {
        self.dead.borrow().contains(&proc)
    }

    /// The same numbers at all that ask for the same.
    pub fn random(&self, (id, round): (u32, u32)) -> Random {
        seeded(self.seed ^ u64::from(id) << 40 ^ u64::from(round) << 20)
    }

    /// What that process has got.
    pub fn note_decision(&self, proc: Proc, key: Key, decision: Decision) {
        self.decisions.borrow_mut().entry(key).or_default().push((proc, decision));
    }

    /// That process is at something else now.
    pub fn is_at(&self, proc: Proc, what: String) {
        self.at.borrow_mut().insert(proc, what);
    }

    /// A process has a window.
    pub fn note_window(&self) {
        self.windows.set(self.windows.get() + 1);
    }

    fn living(&self) -> Vec<Proc> {
        (0..self.processes).filter(|proc| !self.is_dead(*proc)).collect()
    }

    /// All that live have come to the end.
    fn is_over(&self) -> bool {
        self.living().iter().all(|proc| self.ends.borrow().contains_key(proc))
    }
}

fn seeded(seed: u64) -> Random {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..8).for_each(|_| _ = random.below(2));
    random
}

/// Ways of collectives that all members take.
fn selection(random: &mut Random) -> Selection {
    let mut selection = Selection::default();
    for &collective in Collective::ALL {
        let able = able(collective);
        if random.below(2) == 0 && !able.is_empty() {
            selection.force(collective, able[random.below(able.len() as u64) as usize]);
        }
    }
    selection
}

/// What has become of a world.
#[derive(Default)]
pub struct Told {
    pub deaths: usize,
    pub turns: usize,
    pub agreements: usize,
    pub windows: usize,
}

/// An engine that is gone when nobody refers to it.
fn engine(port: Port, manners: Manners, processes: u32, limit: usize) -> *mut Adi {
    let ways = [Rendezvous::Auto, Rendezvous::Rget, Rendezvous::Rput, Rendezvous::Packets];
    let patience = Patience { spins: u32::MAX, ..Patience::new(1, 1) };
    let me = port.me();
    let mcm = Mcm::new(Box::new(port), me, processes, patience);
    let engine = Adi::with_clock(Rc::new(mcm), Some(limit), now);
    engine.use_rendezvous(ways[manners.seed as usize % ways.len()]);
    Box::into_raw(Box::new(engine))
}

/// One world to its end.
pub fn run(seed: u64) -> Told {
    let mut random = seeded(seed);
    direct::forget_keys();
    TIME.set(0);
    TURN.set(pass);
    direct::EXPOSES.set(true);
    let processes = 2 + random.below(6) as u32;
    let (packet, queue) = (1 + random.below(63) as usize, 1 + random.below(4) as usize);
    let manners = Manners { seed: random.0, packet, queue };
    let limit = if random.below(4) == 0 { 0 } else { 20 };
    let facts = Rc::new(Facts {
        seed,
        processes,
        rounds: 1 + random.below(5) as u32,
        selection: selection(&mut random),
        dead: RefCell::default(),
        decisions: RefCell::default(),
        windows: Cell::new(0),
        at: RefCell::default(),
        ends: RefCell::default(),
    });
    let (ports, scissors) = ports(processes, manners);
    let engines: Vec<*mut Adi> = ports.into_iter().map(|port| engine(port, manners, processes, limit)).collect();
    let begin = |&engine: &*mut Adi| {
        let (facts, own) = (facts.clone(), seeded(random.below(u64::MAX >> 16)));
        // SAFETY: it stays until the world is over.
        let adi: &'static Adi = unsafe { &*engine };
        Some(Turns::new(move || live(&Process::new(adi, facts, own))))
    };
    let mut turns: Vec<Option<Turns>> = engines.iter().map(begin).collect();
    let mut deaths: Vec<usize> = (1..=random.below(u64::from(processes))).map(|_| death(&mut random)).collect();
    let mut told = Told { deaths: 0, ..Told::default() };
    while !facts.is_over() {
        told.turns += 1;
        assert!(
            told.turns < TURNS,
            "something hangs: {:?} live, and they are at {:#?}",
            facts.living(),
            facts.at.borrow()
        );
        let living = facts.living();
        let chosen = living[random.below(living.len() as u64) as usize];
        if deaths.contains(&told.turns) && living.len() > 1 {
            deaths.retain(|at| *at != told.turns);
            facts.dead.borrow_mut().insert(chosen);
            scissors.kill(chosen);
            turns[chosen as usize].take().expect("it lives").kill();
            told.deaths += 1;
            continue;
        }
        turns[chosen as usize].as_mut().expect("it lives").go_on();
    }
    judge(&facts);
    (told.agreements, told.windows) = (facts.decisions.borrow().len(), facts.windows.get());
    end(turns, engines);
    told
}

/// The turn of a death: early ones are more likely.
fn death(random: &mut Random) -> usize {
    let most = [100, 1000, 5000, 20_000][random.below(4) as usize];
    1 + random.below(most) as usize
}

/// What a process does from its beginning on. Who has come to its end still answers the others.
fn live(process: &Rc<Process>) {
    let end = program::run(process);
    process.facts.ends.borrow_mut().insert(process.adi.me(), end);
    loop {
        process.adi.progress();
    }
}

/// Those that live have come to the end together, with the sum of those that were there.
fn judge(facts: &Facts) {
    for (key, got) in facts.decisions.borrow().iter() {
        // One that has died may have decided by itself.
        let mut of_living: Vec<&Decision> = Vec::new();
        of_living.extend(got.iter().filter(|(proc, _)| !facts.is_dead(*proc)).map(|(_, decision)| decision));
        of_living.dedup();
        assert!(of_living.len() <= 1, "{key:?}: {of_living:?}");
    }
    let ends = facts.ends.borrow();
    let living = facts.living();
    let mut last: Vec<&(Rc<[Proc]>, u64)> = living.iter().map(|proc| &ends[proc]).collect();
    last.dedup();
    let [(members, sum)] = last[..] else { panic!("they have come to different ends: {last:?}") };
    assert!(living.iter().all(|proc| members.contains(proc)), "{living:?} are not all in {members:?}");
    assert_eq!(*sum, members.iter().map(|proc| 1u64 << proc).sum::<u64>());
}

fn end(turns: Vec<Option<Turns>>, engines: Vec<*mut Adi>) {
    turns.into_iter().flatten().for_each(Turns::kill);
    for engine in engines {
        // SAFETY: made by `engine`, and nobody is left who refers to it.
        drop(unsafe { Box::from_raw(engine) });
    }
    shared::clear();
}
