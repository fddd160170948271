//! A process of a world: its engine, the communicators that it has, and what it tells others of failures, as the layer above the engine does.

use crate::network::Random;
use crate::world::Facts;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;
use tern_adi::{Adi, Background, Proc, REVOKED};
use tern_coll::{Collectives, Failure, Peers};
use tern_mpi::fault::consensus::{Agreement, Decision, Join, Message};
use tern_mpi::fault::notice::{Key, Name, Notice};
use tern_mpi::fault::ranks::Ranks;
use tern_mpi::fault::tree::Tree;

/// Why something has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Lost(Proc),
    Revoked,
}

pub type Done<T = ()> = Result<T, Trouble>;

/// A communicator.
pub struct Comm {
    pub name: Name,
    pub procs: Rc<[Proc]>,
    pub peers: Rc<Peers>,
    revoked: Cell<bool>,
    told: RefCell<HashSet<Proc>>,
    calls: Cell<u64>,
    /// Windows that were begun over it.
    pub windows: Cell<u32>,
}

impl Comm {
    pub fn rank(&self) -> usize {
        self.peers.rank as usize
    }

    pub fn size(&self) -> usize {
        self.procs.len()
    }

    /// The context of its messages; that of its collectives is the next one.
    pub fn context(&self) -> u32 {
        2 * self.name.id
    }
}

/// One agreement that it takes part in, or has.
struct Part {
    machine: Agreement,
    procs: Rc<[Proc]>,
}

pub struct Process {
    pub adi: &'static Adi,
    pub collectives: Rc<Collectives>,
    pub facts: Rc<Facts>,
    /// What this one alone does by chance.
    pub own: RefCell<Random>,
    comms: RefCell<Vec<Rc<Comm>>>,
    /// Communicators that others have revoked before it has them.
    early_revoked: RefCell<BTreeSet<Name>>,
    parts: RefCell<BTreeMap<Key, Part>>,
    early: RefCell<Vec<(Proc, Key, Message)>>,
    last: RefCell<BTreeMap<Name, Key>>,
    /// Lost processes that its agreements have been told of.
    told: Cell<usize>,
}

impl Process {
    pub fn new(adi: &'static Adi, facts: Rc<Facts>, own: Random) -> Rc<Process> {
        let process = Rc::new(Process {
            adi,
            collectives: Collectives::new(adi),
            facts,
            own: RefCell::new(own),
            comms: RefCell::default(),
            early_revoked: RefCell::default(),
            parts: RefCell::default(),
            early: RefCell::default(),
            last: RefCell::default(),
            told: Cell::new(0),
        });
        let (hook, members) = (process.clone(), process.clone());
        adi.know_members(Rc::new(move |context, proc| members.meets(context, proc)));
        adi.on_notice(|| adi.wake_hooks());
        adi.add_hook(Rc::new(move |_| hook.attend()));
        adi.survive();
        process
    }

    fn meets(&self, context: u32, proc: Proc) -> bool {
        let comms = self.comms.borrow();
        comms.iter().any(|comm| comm.name.id == context / 2 && comm.procs.contains(&proc))
    }

    /// A communicator of these, which all of them make.
    pub fn comm(&self, id: u32, procs: Rc<[Proc]>) -> Rc<Comm> {
        let rank = procs.iter().position(|proc| *proc == self.adi.me()).expect("a member");
        let peers = Peers::new(2 * id + 1, rank as u32, procs.clone(), None, 0).with_selection(self.facts.selection);
        let comm = Rc::new(Comm {
            name: Name { id, epoch: 0 },
            procs,
            peers: Rc::new(peers),
            revoked: Cell::new(false),
            told: RefCell::new(HashSet::from([self.adi.me()])),
            calls: Cell::new(0),
            windows: Cell::new(0),
        });
        self.comms.borrow_mut().push(comm.clone());
        if self.early_revoked.borrow_mut().remove(&comm.name) {
            self.revoke(&comm);
        }
        comm
    }

    /// It begins with that.
    pub fn begin(&self, comm: &Comm, what: &str) {
        let lost = self.adi.lost();
        self.facts.is_at(self.adi.me(), format!("{what} of {:?}, without {lost:?}", comm.name));
    }

    /// It does something else for a while.
    pub fn pause(&self) {
        let looks = self.own.borrow_mut().below(4);
        (0..looks).for_each(|_| _ = self.adi.progress());
    }

    // ---- what is lost

    /// The process is lost indeed.
    pub fn lost(&self, proc: Proc) -> Trouble {
        match proc {
            REVOKED => Trouble::Revoked,
            proc => {
                assert!(self.facts.is_dead(proc), "{proc} is taken for lost by {} and lives", self.adi.me());
                Trouble::Lost(proc)
            }
        }
    }

    /// Errors: the communicator is revoked.
    pub fn check(&self, comm: &Comm) -> Done {
        if comm.revoked.get() { Err(Trouble::Revoked) } else { Ok(()) }
    }

    /// What has become of a collective.
    pub fn outcome(&self, outcome: Result<(), Failure>) -> Done {
        outcome.map_err(|failure| match failure {
            Failure::Lost(proc) => self.lost(proc),
            failure => panic!("{failure:?}"),
        })
    }

    /// What has become of an access to a window.
    pub fn access<T>(&self, outcome: Result<T, tern_rma::Error>) -> Done<T> {
        outcome.map_err(|error| match error.class {
            tern_rma::Class::Lost { process } => self.lost(process),
            _ => panic!("{error}"),
        })
    }

    // ---- notices

    fn attend(&self) -> Background {
        let mut moved = false;
        while let Some((from, bytes)) = self.adi.take_notice() {
            moved = true;
            match Notice::decode(&bytes).expect("notices come whole") {
                Notice::Revoked(name) => match self.find(name) {
                    Some(comm) => self.revoke(&comm),
                    None => _ = self.early_revoked.borrow_mut().insert(name),
                },
                Notice::Agree(key, message) => self.hear(from, key, message),
            }
        }
        let lost = self.adi.lost();
        for &proc in &lost[self.told.replace(lost.len())..] {
            moved = true;
            let told = |part: &mut Part| {
                let rank = part.procs.iter().position(|other| *other == proc);
                rank.map_or(Vec::new(), |rank| part.machine.died(rank))
            };
            self.parts.borrow_mut().iter_mut().for_each(|(key, part)| {
                let out = told(part);
                self.send(*key, &part.procs, out);
            });
            self.comms.borrow().iter().for_each(|comm| self.spread(comm));
        }
        if moved { Background::Moved } else { Background::Idle }
    }

    fn find(&self, name: Name) -> Option<Rc<Comm>> {
        self.comms.borrow().iter().find(|comm| comm.name == name).cloned()
    }

    /// The communicator carries no more messages, and all its members learn of that.
    pub fn revoke(&self, comm: &Comm) {
        if !comm.revoked.replace(true) {
            [comm.context(), comm.peers.context].into_iter().for_each(|context| self.adi.end_context(context));
            self.spread(comm);
        }
    }

    /// Tells the living at distances 1, 2, 4 and so on in the circle of those of a revoked communicator, each once.
    fn spread(&self, comm: &Comm) {
        if !comm.revoked.get() {
            return;
        }
        let lost = self.adi.lost();
        let living: Vec<Proc> = comm.procs.iter().copied().filter(|proc| !lost.contains(proc)).collect();
        let own = living.iter().position(|proc| *proc == self.adi.me()).expect("it lives");
        let distances = std::iter::successors(Some(1), |distance| Some(2 * distance));
        for distance in distances.take_while(|distance| *distance < living.len()) {
            let to = living[(own + distance) % living.len()];
            if comm.told.borrow_mut().insert(to) {
                self.tell(to, &Notice::Revoked(comm.name));
            }
        }
    }

    // ---- agreements

    /// All living members of `comm` bring a value, and get the same decision.
    pub fn agree(&self, comm: &Comm, value: Vec<u8>, join: Join) -> Decision {
        let key = self.begin_agreement(comm, value, join);
        self.begin(comm, &format!("agreement {}", key.number));
        self.adi.wait_until(&mut || self.decision(key).is_some());
        let decision = self.decision(key).expect("it has been waited for");
        self.facts.note_decision(self.adi.me(), key, decision.clone());
        for rank in decision.failed.iter() {
            assert!(self.facts.is_dead(comm.procs[rank]), "{key:?} takes one for lost that lives");
            self.adi.declare_lost(comm.procs[rank], "another process has lost it");
        }
        self.last.borrow_mut().insert(key.comm, key);
        self.parts.borrow_mut().retain(|other, _| other.comm != key.comm || *other >= key);
        decision
    }

    /// Takes part in the next agreement of `comm`, and waits for nothing.
    pub fn begin_agreement(&self, comm: &Comm, value: Vec<u8>, join: Join) -> Key {
        comm.calls.set(comm.calls.get() + 1);
        let key = Key { comm: comm.name, number: comm.calls.get(), round: 0 };
        // Chains, binary trees and flat ones.
        let width = [1, 2, 64][key.number as usize % 3];
        let place = Tree { size: comm.size(), width }.place(comm.rank(), &Ranks::new());
        let mut machine = Agreement::new(Rc::new(place), join);
        let rank_of = |proc: &Proc| comm.procs.iter().position(|other| other == proc);
        self.adi.lost().iter().filter_map(rank_of).for_each(|rank| _ = machine.died(rank));
        let out = machine.call(value, Ranks::new());
        self.send(key, &comm.procs, out);
        self.parts.borrow_mut().insert(key, Part { machine, procs: comm.procs.clone() });
        let (mine, others): (Vec<_>, Vec<_>) = self.early.take().into_iter().partition(|(_, other, _)| *other == key);
        self.early.replace(others);
        mine.into_iter().for_each(|(from, key, message)| self.hear(from, key, message));
        key
    }

    fn decision(&self, key: Key) -> Option<Decision> {
        self.parts.borrow().get(&key)?.machine.decision().map(|decision| Decision::clone(decision))
    }

    fn tell(&self, to: Proc, notice: &Notice) {
        let mut bytes = Vec::new();
        notice.encode(&mut bytes);
        self.adi.send_notice(to, &bytes);
    }

    fn send(&self, key: Key, procs: &[Proc], out: Vec<(usize, Message)>) {
        for (rank, message) in out {
            self.tell(procs[rank], &Notice::Agree(key, message));
        }
    }

    fn hear(&self, from: Proc, key: Key, message: Message) {
        let mut parts = self.parts.borrow_mut();
        let Some(part) = parts.get_mut(&key) else {
            if self.last.borrow().get(&key.comm).is_none_or(|last| key >= *last) {
                self.early.borrow_mut().push((from, key, message));
            }
            return;
        };
        let rank = part.procs.iter().position(|proc| *proc == from).expect("a member");
        let out = part.machine.receive(rank, message);
        self.send(key, &part.procs, out);
    }
}
