//! Making intracommunicators, and copies and subsets of all (MPI 5.0 section 7.4.2); parts by color are in [`crate::comm::split`].
//!
//! Each way has an `async` function that does the work; the blocking MPI function runs it to its
//! end, the nonblocking one lets it go on in the background ([`crate::task`]). First the
//! processes exchange what they must know of each other, and with that have all arrived; then
//! they agree on a context id. Blocking functions do both at once where they can ([`crate::comm::arrive`]).

use crate::args::Out;
use crate::attribute;
use crate::check;
use crate::comm::arrive::{self, Arrived, arrive};
use crate::comm::{hand_out, hints};
use crate::constants::*;
use crate::context::{BOOTSTRAP, allocate, reserved_tag};
use crate::error::Result;
use crate::exchange::Circle;
use crate::identity::{to_bytes, to_procs};
use crate::info_map::InfoMap;
use crate::objects::comm::{stand_in, take_place};
use crate::objects::{Attributes, Comm, Group, Info};
use crate::request::Request;
use crate::runtime::runtime;
use crate::scope::{Errhandler, ErrhandlerKind, Scope};
use crate::task::{self, run};
use std::rc::Rc;

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
    new.add_hints(&info);
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
    let early = stand_in(&comm);
    let handle = early.handle.get();
    let parent = comm.clone();
    let task = task::start(async move { take_place(&early, duplicate(parent, circle, copies, info, None).await) });
    if let Some(error) = failed {
        newcomm.set(MPI_COMM_NULL);
        return Err(error);
    }
    newcomm.set(handle);
    request.set(Request::of_task(Scope::of(comm), task).into_handle());
    Ok(())
}

/// MPI_Comm_dup: hints are not copied (section 7.4.2).
pub fn comm_dup(comm: Rc<Comm>, newcomm: Out<usize>) -> Result<()> {
    dup_blocking(comm, InfoMap::new(), newcomm)
}

/// MPI_Comm_dup_with_info
pub fn comm_dup_with_info(comm: Rc<Comm>, info: Option<Rc<Info>>, newcomm: Out<usize>) -> Result<()> {
    dup_blocking(comm, hints::taken(&info), newcomm)
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
    dup_nonblocking(comm, hints::taken(&info), newcomm, request)
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
        made.add_hints(&hints::taken(&info));
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
