//! Making intracommunicators, and copies and parts of all (MPI 5.0 section 7.4.2).
//!
//! Each way has an `async` function that does the work; the blocking MPI function runs it to its
//! end, the nonblocking one lets it go on in the background ([`crate::task`]). First the
//! processes exchange what they must know of each other, and with that have all arrived; then
//! they agree on a context id. Blocking functions do both at once where they can ([`crate::comm::arrive`]).

use crate::args::{Out, RawStatus};
use crate::attribute;
use crate::check;
use crate::comm::arrive::{self, Arrived, arrive};
use crate::comm::hand_out;
use crate::constants::*;
use crate::context::{BOOTSTRAP, allocate, reserved_tag};
use crate::error::Result;
use crate::exchange::{Circle, pack, unpack};
use crate::group;
use crate::identity::{to_bytes, to_procs};
use crate::info;
use crate::info_map::InfoMap;
use crate::memory_kinds;
use crate::objects::{Attributes, Comm, Group, Info, objects};
use crate::request::{About, Outcome, Request, Work};
use crate::runtime::runtime;
use crate::scope::{Errhandler, ErrhandlerKind, Scope};
use crate::task::{self, run};
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::Proc;

/// A new communicator, or none for a process that is not in it.
pub type Made = Result<Option<Comm>>;

/// The handle of what was made; where that failed MPI_COMM_NULL, which programs look for.
pub fn give(newcomm: Out<usize>, made: Made) -> Result<()> {
    newcomm.set(MPI_COMM_NULL);
    newcomm.set(made?.map_or(MPI_COMM_NULL, hand_out));
    Ok(())
}

// --- Duplicates ------------------------------------------------------------------------------

/// Duplicates `comm`, whose attributes' copies are given. When copying failed at one process,
/// the call fails at all.
async fn duplicate(
    comm: Rc<Comm>, circle: Circle, copies: Result<Attributes>, info: InfoMap, arrived: Option<Arrived>,
) -> Made {
    let failed = arrive::failed(&arrived, &circle, copies.is_err()).await?;
    let attributes = copies?;
    if failed {
        return err!(MPI_ERR_OTHER, "a callback that copies an attribute failed at another process");
    }
    let id = arrive::id(arrived, &circle).await?;
    let mut new = Comm::new(id, comm.local.clone(), comm.remote.clone(), inherited(&comm));
    new.attributes = attributes;
    *new.info.borrow_mut() = info;
    *new.topology.borrow_mut() = comm.topology.borrow().clone();
    Ok(Some(new))
}

/// The error handler of communicators made from `comm` (section 9.3.1).
pub fn inherited(comm: &Comm) -> Rc<Errhandler> {
    comm.errhandler.borrow().clone()
}

fn dup_blocking(comm: Rc<Comm>, info: InfoMap, newcomm: Out<usize>) -> Result<()> {
    check::meet(&comm)?;
    let copies = attribute::copy_all(&comm.attributes, comm.handle.get());
    let arrived = arrive(&comm, [copies.is_err() as i32, 0])?;
    let circle = comm.circle();
    give(newcomm, run(duplicate(comm, circle, copies, info, arrived)))
}

fn dup_nonblocking(comm: Rc<Comm>, info: InfoMap, newcomm: Out<usize>, request: Out<usize>) -> Result<()> {
    let copies = attribute::copy_all(&comm.attributes, comm.handle.get());
    let failed = copies.as_ref().err().cloned();
    let circle = comm.circle();
    let early = Rc::new(Comm::before(&comm));
    let handle = objects().comms.borrow_mut().insert_with(|handle| {
        early.handle.set(handle);
        early.clone()
    });
    let parent = comm.clone();
    let task = task::start(async move {
        let made = duplicate(parent, circle, copies, info, None).await;
        let (new, outcome) = match made {
            Ok(new) => (new, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let new = new.map(|new| Rc::new(new.after(&early)));
        objects().comms.borrow_mut().fill(handle, new);
        outcome
    });
    if let Some(error) = failed {
        newcomm.set(MPI_COMM_NULL);
        return Err(error);
    }
    newcomm.set(handle);
    let done = task.clone();
    let finish = move || Outcome { status: RawStatus::empty(), error: task.take().and_then(Result::err) };
    let work = Work {
        scope: Scope::of(comm),
        done: Box::new(move || done.is_done()),
        finish: Box::new(finish),
        ended: RefCell::default(),
        cancel: None,
        about: About::default(),
    };
    request.set(Request::Work(Rc::new(work)).into_handle());
    Ok(())
}

/// MPI_Comm_dup: hints are not copied (section 7.4.2).
pub fn comm_dup(comm: Rc<Comm>, newcomm: Out<usize>) -> Result<()> {
    dup_blocking(comm, InfoMap::new(), newcomm)
}

/// MPI_Comm_dup_with_info
pub fn comm_dup_with_info(comm: Rc<Comm>, info: Option<Rc<Info>>, newcomm: Out<usize>) -> Result<()> {
    dup_blocking(comm, memory_kinds::hints(&info::map_of(&info)), newcomm)
}

/// MPI_Comm_idup: `newcomm` is set at once. Until the request is complete it names a stand-in that
/// cannot communicate; programs give it a name or an error handler.
pub fn comm_idup(comm: Rc<Comm>, newcomm: Out<usize>, request: Out<usize>) -> Result<()> {
    dup_nonblocking(comm, InfoMap::new(), newcomm, request)
}

/// MPI_Comm_idup_with_info
pub fn comm_idup_with_info(
    comm: Rc<Comm>, info: Option<Rc<Info>>, newcomm: Out<usize>, request: Out<usize>,
) -> Result<()> {
    dup_nonblocking(comm, memory_kinds::hints(&info::map_of(&info)), newcomm, request)
}

// --- Subsets ---------------------------------------------------------------------------------

/// A communicator of the processes of `group`, made by all processes of `comm`. Processes may
/// give different groups that do not overlap. Blocks.
pub fn subset(comm: Rc<Comm>, group: Rc<Group>) -> Made {
    let arrived = arrive(&comm, [0, 0])?;
    run(subset_of(comm, group, arrived))
}

async fn subset_of(comm: Rc<Comm>, group: Rc<Group>, arrived: Option<Arrived>) -> Made {
    check::met(&comm).await?;
    let circle = comm.circle();
    let remote = match &comm.remote {
        None if arrived.is_some() => None,
        None => {
            circle.meet().await?;
            None
        }
        Some(_) => {
            // The first process of each side tells the other side its group.
            let own = if comm.rank == 0 { to_bytes(&group.procs) } else { Vec::new() };
            let groups = circle.gather(&own).await?;
            let known = to_procs(&groups[comm.remote_offset()]);
            Some(group.derive(known.expect("processes of the parent's remote group are known")))
        }
    };
    let id = arrive::id(arrived, &circle).await?;
    let empty = remote.as_ref().is_some_and(|remote| remote.procs.is_empty());
    if empty || group.rank_of(runtime().me).is_none() {
        return Ok(None);
    }
    Ok(Some(Comm::new(id, group, remote, inherited(&comm))))
}

fn check_subset(comm: &Comm, group: &Group) -> Result<()> {
    match group.difference(&comm.local).size() {
        0 => Ok(()),
        n => err!(MPI_ERR_GROUP, "{n} processes of the group are not in {}", comm.label()),
    }
}

/// MPI_Comm_create
pub fn comm_create(comm: Rc<Comm>, group: Rc<Group>, newcomm: Out<usize>) -> Result<()> {
    check_subset(&comm, &group)?;
    give(newcomm, subset(comm, group))
}

/// MPI_Comm_create_group: only the group's processes take part.
pub fn comm_create_group(comm: Rc<Comm>, group: Rc<Group>, tag: i32, newcomm: Out<usize>) -> Result<()> {
    check_intra(&comm)?;
    check_subset(&comm, &group)?;
    let Some(me) = group.rank_of(runtime().me) else {
        newcomm.set(MPI_COMM_NULL);
        return Ok(());
    };
    let circle = Circle {
        context: comm.peers.context,
        tag: reserved_tag(tag as u32),
        me: me as usize,
        procs: group.procs.clone(),
    };
    let errhandler = inherited(&comm);
    give(newcomm, run(from_circle(circle, group, errhandler)))
}

async fn from_circle(circle: Circle, group: Rc<Group>, errhandler: Rc<Errhandler>) -> Made {
    circle.meet().await?;
    let id = allocate(&circle).await?;
    Ok(Some(Comm::new(id, group, None, errhandler)))
}

pub fn check_intra(comm: &Comm) -> Result<()> {
    if comm.is_inter() {
        return err!(MPI_ERR_COMM, "{} is an intercommunicator; the call needs an intracommunicator", comm.label());
    }
    Ok(())
}

/// MPI_Comm_create_from_group (section 7.4.2). Groups are told apart by `stringtag`.
pub fn comm_create_from_group(
    group: Rc<Group>, stringtag: &str, info: Option<Rc<Info>>, errhandler: Rc<Errhandler>, newcomm: Out<usize>,
) -> Result<()> {
    errhandler.check_kind(ErrhandlerKind::Comm)?;
    if group.procs.is_empty() {
        newcomm.set(MPI_COMM_NULL);
        return Ok(());
    }
    let circle = bootstrap(&group, stringtag, "group")?;
    let made = run(from_circle(circle, group, errhandler))?;
    if let Some(made) = &made {
        *made.info.borrow_mut() = memory_kinds::hints(&info::map_of(&info));
    }
    give(newcomm, Ok(made))
}

/// The processes of a group that has no communicator, for the call that `stringtag` names.
pub fn bootstrap(group: &Group, stringtag: &str, step: &str) -> Result<Circle> {
    if stringtag.len() >= MPI_MAX_STRINGTAG_LEN as usize {
        return err!(
            MPI_ERR_ARG,
            "the string tag has {} characters; at most {} are allowed",
            stringtag.len(),
            MPI_MAX_STRINGTAG_LEN - 1
        );
    }
    let Some(me) = group.rank_of(runtime().me) else {
        return err!(MPI_ERR_GROUP, "this process is not in the group");
    };
    let tag = reserved_tag(hash([step.as_bytes(), stringtag.as_bytes()]));
    Ok(Circle { context: BOOTSTRAP, tag, me: me as usize, procs: group.procs.clone() })
}

/// The same number at all processes for the same parts (FNV-1a).
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    parts
        .into_iter()
        .flat_map(|part| part.iter().chain(&[0xff]))
        .fold(0x811c_9dc5, |hash, &byte| (hash ^ byte as u32).wrapping_mul(0x0100_0193))
}

// --- Split -----------------------------------------------------------------------------------

/// Communicators of the processes that give the same color, ordered by key, then by their order
/// in `comm`. None for MPI_UNDEFINED. Blocks.
pub fn split(comm: Rc<Comm>, color: i32, key: i32) -> Made {
    let arrived = arrive(&comm, [color, key])?;
    run(split_of(comm, color, key, arrived))
}

async fn split_of(comm: Rc<Comm>, color: i32, key: i32, mut arrived: Option<Arrived>) -> Made {
    check::met(&comm).await?;
    let circle = comm.circle();
    let all = match &mut arrived {
        Some(arrived) => std::mem::take(&mut arrived.given),
        None => {
            let all = circle.gather(&pack(&[color, key])).await?;
            all.iter().map(|bytes| unpack(bytes).try_into().expect("two numbers")).collect()
        }
    };
    let side = |offset: usize, group: &Group| {
        let mut members: Vec<(i32, usize)> = (0..group.procs.len())
            .map(|rank| (all[offset + rank], rank))
            .filter(|(given, _)| given[0] == color)
            .map(|(given, rank)| (given[1], rank))
            .collect();
        members.sort_unstable();
        group.derive(members.iter().map(|&(_, rank)| group.procs[rank]).collect())
    };
    let local = side(comm.own_offset(), &comm.local);
    let remote = comm.remote.as_ref().map(|remote| side(comm.remote_offset(), remote));
    let id = arrive::id(arrived, &circle).await?;
    let empty = remote.as_ref().is_some_and(|remote| remote.procs.is_empty());
    if color == MPI_UNDEFINED || empty {
        return Ok(None);
    }
    Ok(Some(Comm::new(id, local, remote, inherited(&comm))))
}

/// MPI_Comm_split
pub fn comm_split(comm: Rc<Comm>, color: i32, key: i32, newcomm: Out<usize>) -> Result<()> {
    if color < 0 && color != MPI_UNDEFINED {
        return err!(MPI_ERR_ARG, "color {color} is negative and not MPI_UNDEFINED");
    }
    give(newcomm, split(comm, color, key))
}

const RESOURCE: &str = "mpi_hw_resource_type";
const SHARED_MEMORY: &str = "mpi_shared_memory";
const PSET: &str = "mpi_pset_name";

/// MPI_Comm_split_type (section 7.4.2). On an intercommunicator, both groups are split. The one kind of resource that is told apart is the node,
/// whose processes can share memory.
pub fn comm_split_type(
    comm: Rc<Comm>, split_type: i32, key: i32, info: Option<Rc<Info>>, newcomm: Out<usize>,
) -> Result<()> {
    let hints = memory_kinds::hints(&info::map_of(&info));
    let by_node = || first_of(&comm, is_near);
    let guided = info::find(&hints, RESOURCE) == Some(SHARED_MEMORY);
    let color = match split_type {
        MPI_UNDEFINED => MPI_UNDEFINED,
        MPI_COMM_TYPE_SHARED | MPI_COMM_TYPE_HW_UNGUIDED => by_node(),
        MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED if guided => by_node(),
        MPI_COMM_TYPE_HW_GUIDED => MPI_UNDEFINED,
        MPI_COMM_TYPE_RESOURCE_GUIDED => match info::find(&hints, PSET) {
            Some(name) => match group::of_set(name) {
                Ok(group) => first_of(&comm, |proc| group.rank_of(proc).is_some()),
                Err(_) => MPI_UNDEFINED,
            },
            None => MPI_UNDEFINED,
        },
        _ => return err!(MPI_ERR_ARG, "{split_type} is not a split type (MPI_COMM_TYPE_...)"),
    };
    let (parent, size) = (comm.clone(), comm.size());
    let made = split(comm, color, key)?;
    // Unguided, only a communicator smaller than its parent counts.
    let unguided = split_type == MPI_COMM_TYPE_HW_UNGUIDED;
    let made = made.filter(|new| !unguided || new.size() < size);
    if let (Some(new), Some(info)) = (&made, &info) {
        // What tells how to split is no hint of the new communicator's.
        *new.info.borrow_mut() = hints.into_iter().filter(|(key, _)| key != RESOURCE && key != PSET).collect();
        if unguided {
            info::put(&mut info.map.borrow_mut(), RESOURCE, SHARED_MEMORY);
        }
        debug_assert!(new.context != parent.context);
    }
    give(newcomm, Ok(made))
}

/// A color for the processes of `comm` that are in one set with this one: the place of the first of them among all
/// processes of `comm`, which is the same number at all members of the set, and at no other process.
fn first_of(comm: &Comm, is_member: impl Fn(Proc) -> bool) -> i32 {
    let local = (comm.own_offset()..).zip(comm.local.procs.iter());
    let remote = (comm.remote_offset()..).zip(comm.remote.iter().flat_map(|remote| remote.procs.iter()));
    let places = local.chain(remote).filter(|&(_, &proc)| is_member(proc)).map(|(place, _)| place as i32);
    places.min().expect("this process is a member")
}

/// Whether `proc` shares memory with this process: it is of the same job, on the same node.
fn is_near(proc: Proc) -> bool {
    let nodes = &runtime().nodes;
    nodes.get(proc as usize) == Some(&nodes[runtime().me as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_hash_are_kept_apart() {
        assert_ne!(hash([&b"ab"[..], b"c"]), hash([&b"a"[..], b"bc"]));
        assert_ne!(hash([&b"a"[..]]), hash([&b"b"[..]]));
        assert_eq!(hash([&b"a"[..], b"b"]), hash([&b"a"[..], b"b"]));
    }
}
