//! Communicators: what they are asked, and their end (MPI 5.0 sections 7.4 and 7.6). How they
//! are made is in [`crate::comm::create`].

pub mod arrive;
pub mod context;
pub mod create;
pub mod exchange;
pub mod identity;
pub mod intercomm;

use crate::args::{Out, TextOut};
use crate::attribute;
use crate::comm::exchange::Circle;
use crate::constants::*;
use crate::error::Result;
use crate::info;
use crate::memory_kinds;
use crate::objects::{Attributes, Comm, Errhandler, Group, Info, objects};
use crate::runtime::{adi, runtime};
use context::ContextId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tern_coll::Peers;

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
    /// A communicator of this process, which is in `local`. It has no handle yet.
    pub fn new(id: ContextId, local: Rc<Group>, remote: Option<Rc<Group>>, errhandler: Rc<Errhandler>) -> Comm {
        let rank = local.rank_of(runtime().me).expect("this process is in its local group");
        let others = remote.as_ref().map(|group| group.procs.clone());
        let peers = Peers::new(id.collective(), rank as u32, local.procs.clone(), others, id.epoch());
        Comm {
            handle: Cell::new(MPI_COMM_NULL),
            context: id.point_to_point(),
            id,
            rank,
            local,
            quick: Cell::new(remote.is_none()),
            remote,
            peers: Rc::new(peers),
            errhandler: RefCell::new(errhandler),
            name: RefCell::new(String::new()),
            attributes: Attributes::default(),
            info: RefCell::default(),
            topology: RefCell::default(),
            buffer: RefCell::default(),
            channels: Default::default(),
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
        }
    }

    /// This communicator in place of `early`, which stood for it, with what the program has given
    /// that one meanwhile.
    pub fn after(self, early: &Comm) -> Comm {
        self.handle.set(early.handle.get());
        self.errhandler.replace(early.errhandler.borrow().clone());
        self.name.replace(early.name.take());
        early.info.take().iter().for_each(|(key, value)| info::put(&mut self.info.borrow_mut(), key, value));
        self.attributes.values.borrow_mut().append(&mut early.attributes.values.borrow_mut());
        self.buffer.replace(early.buffer.take());
        self
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
    fn sides(&self) -> (&Group, Option<&Group>) {
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
    objects().comms.borrow_mut().insert_with(|handle| {
        comm.handle.set(handle);
        Rc::new(comm)
    })
}

/// Called when a communicator is being freed, by all its processes. None waits for another, which may depend on what
/// this one does next; the id is not used again before all have come.
pub fn on_free(comm: &Comm) {
    crate::collective::request::leave(comm);
    comm.id.leave(comm.peers.leave(adi()));
}

/// MPI_Comm_size
pub fn comm_size(comm: Rc<Comm>, size: Out<i32>) -> Result<()> {
    size.set(comm.size());
    Ok(())
}

/// MPI_Comm_rank
pub fn comm_rank(comm: Rc<Comm>, rank: Out<i32>) -> Result<()> {
    rank.set(comm.rank);
    Ok(())
}

/// MPI_Comm_test_inter
pub fn comm_test_inter(comm: Rc<Comm>, flag: Out<i32>) -> Result<()> {
    flag.set(comm.is_inter() as i32);
    Ok(())
}

/// MPI_Comm_remote_size
pub fn comm_remote_size(comm: Rc<Comm>, size: Out<i32>) -> Result<()> {
    let Some(remote) = &comm.remote else {
        return err!(MPI_ERR_COMM, "{} has no remote group: it is an intracommunicator", comm.label());
    };
    size.set(remote.size());
    Ok(())
}

/// MPI_Comm_compare
pub fn comm_compare(comm1: Rc<Comm>, comm2: Rc<Comm>, result: Out<i32>) -> Result<()> {
    result.set(compare(&comm1, &comm2));
    Ok(())
}

fn compare(a: &Rc<Comm>, b: &Rc<Comm>) -> i32 {
    if Rc::ptr_eq(a, b) {
        return MPI_IDENT;
    }
    let local = a.local.compare(&b.local);
    let remote = match (&a.remote, &b.remote) {
        (None, None) => MPI_IDENT,
        (Some(a), Some(b)) => a.compare(b),
        _ => MPI_UNEQUAL,
    };
    match (local, remote) {
        (MPI_IDENT, MPI_IDENT) => MPI_CONGRUENT,
        (MPI_UNEQUAL, _) | (_, MPI_UNEQUAL) => MPI_UNEQUAL,
        _ => MPI_SIMILAR,
    }
}

/// MPI_Comm_set_name
pub fn comm_set_name(comm: Rc<Comm>, name: &str) -> Result<()> {
    *comm.name.borrow_mut() = name.to_owned();
    Ok(())
}

/// MPI_Comm_get_name: MPI_COMM_NULL has a name too (section 7.8).
pub fn comm_get_name(comm: usize, name: TextOut, resultlen: Out<i32>) -> Result<()> {
    let text = match comm {
        MPI_COMM_NULL => "MPI_COMM_NULL".to_owned(),
        _ => lookup(comm)?.name.borrow().clone(),
    };
    resultlen.set(name.set(&text, MPI_MAX_OBJECT_NAME));
    Ok(())
}

/// MPI_Comm_set_info
pub fn comm_set_info(comm: Rc<Comm>, info: Option<Rc<Info>>) -> Result<()> {
    let hints = memory_kinds::hints(&info::map_of(&info));
    let mut own = comm.info.borrow_mut();
    hints.iter().for_each(|(key, value)| info::put(&mut own, key, value));
    Ok(())
}

/// MPI_Comm_get_info
pub fn comm_get_info(comm: Rc<Comm>, info_used: Out<usize>) -> Result<()> {
    info_used.set(info::hand_out(memory_kinds::told(&comm.info.borrow(), &comm.local)));
    Ok(())
}

/// MPI_Comm_free. The communicator lives on until what it carries is complete.
pub fn comm_free(comm: Out<usize>) -> Result<()> {
    let found = lookup_freeable(comm.get())?;
    attribute::delete_all(&found.attributes, comm.get())?;
    forget(found, comm);
    Ok(())
}

/// MPI_Comm_disconnect: as free, after what this process has under way there is complete and all processes
/// have arrived (section 11.10.4).
pub fn comm_disconnect(comm: Out<usize>) -> Result<()> {
    let found = lookup_freeable(comm.get())?;
    attribute::delete_all(&found.attributes, comm.get())?;
    crate::check::meet(&found)?;
    let owner: tern_adi::Owner = found.clone();
    adi().wait_until(&mut || !adi().is_under_way(&owner));
    drop(owner);
    let circle = found.circle();
    let met = crate::task::run(async move { circle.meet().await });
    forget(found, comm);
    met
}

fn lookup_freeable(handle: usize) -> Result<Rc<Comm>> {
    let comm = lookup(handle)?;
    if let MPI_COMM_WORLD | MPI_COMM_SELF = handle {
        return err!(MPI_ERR_COMM, "{} is predefined and cannot be freed", comm.label());
    }
    Ok(comm)
}

fn forget(comm: Rc<Comm>, handle: Out<usize>) {
    crate::p2p::buffered::release(&comm.buffer);
    on_free(&comm);
    crate::process::parent::forget(&comm);
    objects().comms.borrow_mut().remove(handle.get());
    handle.set(MPI_COMM_NULL);
    drop(comm);
    // If that was the last one with these processes, what it shares with them goes.
    crate::process::bridge::sweep();
}
