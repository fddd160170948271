//! Communicators as objects: their parts, their handles, and the agreements that their processes enter.

use super::listed::{Entry, Listed};
use super::{Attributes, Channels, Group, Pool, Topology, objects};
use crate::constants::*;
use crate::context::{self, ContextId};
use crate::error::Result;
use crate::exchange::Circle;
use crate::guarded::Guarded;
use crate::identity;
use crate::info_map::{InfoMap, find as find_hint, put};
use crate::lost;
use crate::runtime::runtime;
use crate::scope::Errhandler;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use tern_adi::{Assertions, Proc, REVOKED};
use tern_coll::Peers;

/// Keys of hints that are promises about messages (MPI 5.0 section 7.4.4).
pub const NO_ANY_SOURCE: &str = "mpi_assert_no_any_source";
pub const NO_ANY_TAG: &str = "mpi_assert_no_any_tag";
pub const EXACT_LENGTH: &str = "mpi_assert_exact_length";
pub const ALLOW_OVERTAKING: &str = "mpi_assert_allow_overtaking";
pub const ASSERTIONS: [&str; 4] = [NO_ANY_SOURCE, NO_ANY_TAG, EXACT_LENGTH, ALLOW_OVERTAKING];

/// A communicator (MPI 5.0 section 7.2.2).
pub struct Comm {
    pub handle: Cell<usize>,
    /// Context of point-to-point messages; collectives use `peers.context`.
    pub context: u32,
    /// The id that both contexts come from: free again when the communicator is dropped.
    pub id: ContextId,
    pub rank: i32,
    pub local: Rc<Group>,
    /// The remote group when this is an intercommunicator.
    pub remote: Option<Rc<Group>>,
    pub peers: Rc<Peers>,
    /// Collectives may take the short way: an intracommunicator on which no call was refused lately, and no algorithm of messages forced.
    pub quick: Cell<bool>,
    pub errhandler: RefCell<Rc<Errhandler>>,
    pub name: RefCell<String>,
    pub attributes: Attributes,
    pub info: RefCell<InfoMap>,
    /// Topology (MPI 5.0 chapter 8), if it has one.
    pub topology: RefCell<Option<Rc<Topology>>>,
    /// Buffer for buffered sends attached to this communicator (section 3.6).
    pub buffer: RefCell<Option<Rc<Pool>>>,
    /// What matches its partitioned sends and receives (chapter 4).
    pub channels: Channels,
    /// What there is to say of members that have failed.
    pub fault: Survival,
    /// Its place in the list of communicators.
    pub listed: Listed,
}

/// What a communicator has for [failures that are survived](crate::fault).
#[derive(Default)]
pub struct Survival {
    pub revoked: Cell<bool>,
    /// Members whose failure the program has acknowledged: the first ones of those that have failed.
    pub acknowledged: RefCell<Vec<Proc>>,
    /// Calls that agree on something: how many have begun, and how many are over.
    pub calls: Cell<u64>,
    pub over: Cell<u64>,
}

/// Runs `look` on the communicator that `handle` names, if there is one. Nothing else is to be done in
/// there: the table of communicators is borrowed.
#[inline(always)]
pub fn find<R>(handle: usize, look: impl FnOnce(&Rc<Comm>) -> Option<R>) -> Option<R> {
    match handle {
        MPI_COMM_WORLD => look(objects().world.borrow().as_ref()?),
        MPI_COMM_SELF => look(objects().own.borrow().as_ref()?),
        _ => look(objects().comms.borrow().get(handle)?),
    }
}

/// The communicator that `handle` names, or MPI_ERR_COMM.
pub fn lookup(handle: usize) -> Result<Rc<Comm>> {
    if let Some(comm) = find(handle, |comm| Some(comm.clone())) {
        return Ok(comm);
    }
    match handle {
        MPI_COMM_NULL => err!(MPI_ERR_COMM, "the communicator is MPI_COMM_NULL"),
        MPI_COMM_WORLD | MPI_COMM_SELF => {
            err!(MPI_ERR_COMM, "MPI_COMM_WORLD and MPI_COMM_SELF exist between MPI_Init and MPI_Finalize only")
        }
        _ => err!(MPI_ERR_COMM, "{handle:#x} is not a communicator: it was freed, or never made"),
    }
}

impl Comm {
    pub fn size(&self) -> i32 {
        self.local.size()
    }
    /// Fails with MPI_ERR_REVOKED where it is revoked.
    #[inline]
    pub fn check_revoked(&self) -> Result<()> {
        if self.fault.revoked.get() { Err(lost::error(REVOKED)) } else { Ok(()) }
    }
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }
    /// The group that destinations and sources of messages are ranks in.
    pub fn target(&self) -> &Group {
        self.remote.as_ref().unwrap_or(&self.local)
    }

    /// A communicator of this process, which is in `local`. It has no handle yet.
    pub fn new(id: ContextId, local: Rc<Group>, remote: Option<Rc<Group>>, errhandler: Rc<Errhandler>) -> Comm {
        let rank = local.rank_of(runtime().me).expect("this process is in its local group");
        // One that had the id before may have promised something.
        runtime().adi.assert(id.point_to_point(), Assertions::default());
        let others = remote.as_ref().map(|group| group.procs.clone());
        let crowded = others.is_none() && runtime().adi.mcm().crowds(&local.procs);
        let peers =
            Peers::new(id.collective(), rank as u32, local.procs.clone(), others, id.epoch()).with_crowd(crowded);
        Comm {
            handle: Cell::new(MPI_COMM_NULL),
            context: id.point_to_point(),
            id,
            rank,
            local,
            quick: Cell::new(
                remote.is_none() && !peers.selection.forces_any_messages() && !tern_settings::EXPLAIN.get().is_used(),
            ),
            remote,
            peers: Rc::new(peers),
            errhandler: RefCell::new(errhandler),
            name: RefCell::new(String::new()),
            attributes: Attributes::default(),
            info: RefCell::default(),
            topology: RefCell::default(),
            buffer: RefCell::default(),
            channels: Default::default(),
            fault: Survival::default(),
            listed: Listed::default(),
        }
    }

    /// A predefined communicator under its handle.
    pub fn predefined(handle: usize, id: u32, group: Rc<Group>, name: &str, errhandler: Rc<Errhandler>) -> Rc<Comm> {
        let comm = Comm::new(ContextId::predefined(id), group, None, errhandler);
        comm.handle.set(handle);
        *comm.name.borrow_mut() = name.to_owned();
        Rc::new(comm)
    }

    /// What stands for a duplicate of `parent` that is being made.
    pub fn before(parent: &Comm) -> Comm {
        Comm {
            handle: Cell::new(MPI_COMM_NULL),
            context: parent.context,
            id: ContextId::predefined(context::WORLD),
            rank: parent.rank,
            local: parent.local.clone(),
            remote: parent.remote.clone(),
            peers: parent.peers.clone(),
            quick: Cell::new(false),
            errhandler: parent.errhandler.clone(),
            name: RefCell::default(),
            attributes: Attributes::default(),
            info: RefCell::default(),
            topology: parent.topology.clone(),
            buffer: RefCell::default(),
            channels: Default::default(),
            fault: Survival::default(),
            listed: Listed::default(),
        }
    }

    /// Whether it stands for one that is being made.
    pub fn is_stand_in(&self) -> bool {
        self.id.number() == context::WORLD && self.handle.get() != MPI_COMM_WORLD
    }

    /// This communicator in place of `early`, which stood for it, with what the program has given
    /// that one meanwhile.
    pub fn after(self, early: &Comm) -> Comm {
        self.handle.set(early.handle.get());
        self.errhandler.replace(early.errhandler.borrow().clone());
        self.name.replace(early.name.take());
        self.add_hints(&early.info.take());
        self.attributes.values.borrow_mut().append(&mut early.attributes.values.borrow_mut());
        self.buffer.replace(early.buffer.take());
        self.fault.revoked.set(early.fault.revoked.get());
        self
    }

    /// Takes hints that it may have, in place of those of the same keys, and tells the engine what they promise. A program that is checked has its
    /// promises looked after, and no use is made of them.
    pub fn add_hints(&self, hints: &InfoMap) {
        let mut own = self.info.borrow_mut();
        hints.iter().for_each(|(key, value)| put(&mut own, key, value));
        drop(own);
        if !self.is_stand_in() && !tern_settings::CHECK.get() {
            runtime().adi.assert(self.context, self.assertions());
        }
    }

    /// What its hints promise.
    pub fn assertions(&self) -> Assertions {
        let own = self.info.borrow();
        let [no_any_source, no_any_tag, exact_length, allow_overtaking] =
            ASSERTIONS.map(|key| find_hint(&own, key) == Some("true"));
        Assertions { no_any_source, no_any_tag, exact_length, allow_overtaking }
    }

    /// Its name for messages.
    pub fn label(&self) -> String {
        let name = self.name.borrow();
        match name.is_empty() {
            true => format!("the communicator {:#x}", self.handle.get()),
            false => name.clone(),
        }
    }

    /// All its processes, those of the remote group too, for one agreement that all of them
    /// enter in the same order as their other collective calls.
    pub fn circle(&self) -> Circle {
        let sequence = self.peers.sequence[0].get();
        self.peers.sequence[0].set(sequence.wrapping_add(1));
        let tag = context::sequence_tag(sequence);
        let (first, second) = self.sides();
        let procs: Rc<[_]> = match second {
            None => first.procs.clone(),
            Some(second) => first.procs.iter().chain(second.procs.iter()).copied().collect(),
        };
        Circle { context: self.peers.context, tag, me: self.own_offset() + self.rank as usize, procs }
    }

    /// The groups in an order that both sides agree on: that of their first processes.
    pub fn sides(&self) -> (&Group, Option<&Group>) {
        match &self.remote {
            None => (&self.local, None),
            Some(remote) if identity::of(self.local.procs[0]) < identity::of(remote.procs[0]) => {
                (&self.local, Some(remote))
            }
            Some(remote) => (remote, Some(&self.local)),
        }
    }

    /// Index of the local group's first process in [`Comm::circle`].
    pub fn own_offset(&self) -> usize {
        match self.sides() {
            (first, Some(_)) if !std::ptr::eq(first, &*self.local) => first.procs.len(),
            _ => 0,
        }
    }

    /// Index of the remote group's first process in [`Comm::circle`].
    pub fn remote_offset(&self) -> usize {
        if self.own_offset() == 0 { self.local.procs.len() } else { 0 }
    }
}

/// Makes the predefined communicators known under their handles.
pub fn install(world: Rc<Comm>, own: Rc<Comm>) {
    [&world, &own].into_iter().for_each(list);
    *objects().world.borrow_mut() = Some(world);
    *objects().own.borrow_mut() = Some(own);
}

/// Takes them away again.
pub fn uninstall() {
    *objects().world.borrow_mut() = None;
    *objects().own.borrow_mut() = None;
}

/// Gives a new communicator its handle.
pub fn hand_out(comm: Comm) -> usize {
    let comm = Rc::new(comm);
    let handle = objects().comms.borrow_mut().insert_with(|handle| {
        comm.handle.set(handle);
        comm.clone()
    });
    tell_handed_out(&comm);
    handle
}

/// What stands for a communicator that is being made in the background, with its handle: like `parent`, but that it cannot communicate.
pub fn stand_in(parent: &Comm) -> Rc<Comm> {
    let early = Rc::new(Comm::before(parent));
    objects().comms.borrow_mut().insert_with(|handle| {
        early.handle.set(handle);
        early.clone()
    });
    early
}

/// What was made takes the place of what stood for it; with nothing made, or an error, the handle is free again.
pub fn take_place(early: &Comm, made: Result<Option<Comm>>) -> Result<()> {
    let (made, outcome) = match made {
        Ok(made) => (made, Ok(())),
        Err(error) => (None, Err(error)),
    };
    let new = made.map(|made| Rc::new(made.after(early)));
    objects().comms.borrow_mut().fill(early.handle.get(), new.clone());
    new.iter().for_each(tell_handed_out);
    outcome
}

/// Shows a communicator to debuggers.
fn list(comm: &Rc<Comm>) {
    let contexts = [comm.context, comm.peers.context];
    comm.listed.list(Entry { contexts, rank: comm.rank, procs: &comm.target().procs, name: comm.name.as_ptr() });
}

fn tell_handed_out(comm: &Rc<Comm>) {
    list(comm);
    HANDED_OUT.get().get().inspect(|told| told(comm));
}

/// Hears of a communicator.
type Told = fn(&Rc<Comm>);

static HANDED_OUT: Guarded<Cell<Option<Told>>> = Guarded::new(Cell::new(None));

/// From now on `told` hears of each communicator that gets its handle.
pub fn on_handed_out(told: Told) {
    HANDED_OUT.get().set(Some(told));
}

/// Called when a communicator is freed: it is no longer the parent, though transfers may keep it.
pub fn forget_parent(comm: &Rc<Comm>) {
    let parent = &objects().parent;
    if std::ptr::eq(parent.borrow().as_ptr(), Rc::as_ptr(comm)) {
        parent.replace(Weak::new());
    }
}
