//! Communicators of parts of a communicator: by colors, and by what processes share of the hardware (MPI 5.0 section 7.4.2).

use crate::args::Out;
use crate::check;
use crate::comm::arrive::{self, Arrived, arrive};
use crate::comm::create::{Made, give, inherited};
use crate::comm::hardware::{self, KINDS, Parts};
use crate::comm::hints;
use crate::constants::*;
use crate::context::ContextId;
use crate::error::Result;
use crate::exchange::{Circle, pack, unpack};
use crate::group;
use crate::info;
use crate::objects::{Comm, Group, Info};
use crate::runtime::runtime;
use crate::task::run;
use std::rc::Rc;
use tern_adi::Proc;

/// Communicators of the processes that give the same color, ordered by key, then by their order
/// in `comm`. None for MPI_UNDEFINED. Blocks.
pub fn split(comm: Rc<Comm>, color: i32, key: i32) -> Made {
    let arrived = arrive(&comm, [color, key])?;
    run(split_of(comm, color, key, arrived))
}

async fn split_of(comm: Rc<Comm>, color: i32, key: i32, arrived: Option<Arrived>) -> Made {
    let (_, given, id) = told(&comm, [color, key], arrived).await?;
    Ok(part(&comm, &given, color, id))
}

/// What each process of `comm` gives, by its place in the circle, and an id that they have agreed on for what they make.
async fn told(
    comm: &Rc<Comm>, mine: [i32; 2], mut arrived: Option<Arrived>,
) -> Result<(Circle, Vec<[i32; 2]>, ContextId)> {
    check::met(comm).await?;
    let circle = comm.circle();
    let given = match &mut arrived {
        Some(arrived) => std::mem::take(&mut arrived.given),
        None => {
            let all = circle.gather(&pack(&mine)).await?;
            all.iter().map(|bytes| unpack(bytes).try_into().expect("two numbers")).collect()
        }
    };
    let id = arrive::id(arrived, &circle).await?;
    Ok((circle, given, id))
}

/// The communicator of the processes that have given this color; a color and a key are given for each place of the circle.
fn part(comm: &Comm, given: &[[i32; 2]], color: i32, id: ContextId) -> Option<Comm> {
    let side = |offset: usize, group: &Group| {
        let mut members: Vec<(i32, usize)> = (0..group.procs.len())
            .map(|rank| (given[offset + rank], rank))
            .filter(|(given, _)| given[0] == color)
            .map(|(given, rank)| (given[1], rank))
            .collect();
        members.sort_unstable();
        group.derive(members.iter().map(|&(_, rank)| group.procs[rank]).collect())
    };
    let local = side(comm.own_offset(), &comm.local);
    let remote = comm.remote.as_ref().map(|remote| side(comm.remote_offset(), remote));
    let empty = remote.as_ref().is_some_and(|remote| remote.procs.is_empty());
    match color == MPI_UNDEFINED || empty {
        true => None,
        false => Some(Comm::new(id, local, remote, inherited(comm))),
    }
}

/// MPI_Comm_split
pub fn comm_split(comm: Rc<Comm>, color: i32, key: i32, newcomm: Out<usize>) -> Result<()> {
    if color < 0 && color != MPI_UNDEFINED {
        return err!(MPI_ERR_ARG, "color {color} is negative and not MPI_UNDEFINED");
    }
    give(newcomm, split(comm, color, key))
}

const RESOURCE: &str = "mpi_hw_resource_type";
const PSET: &str = "mpi_pset_name";

/// What the processes of a new communicator have in common.
enum By {
    /// The part of this kind, by its place in [`KINDS`].
    Kind(usize),
    /// The part of the first kind by which the processes that call differ.
    Difference,
    /// They are in this group.
    Set(Rc<Group>),
    /// Nothing that is known here: there is no communicator.
    Unknown,
}

impl By {
    /// The same number at processes that ask for the same.
    fn code(&self) -> i32 {
        match self {
            By::Kind(kind) => *kind as i32,
            By::Difference => -1,
            By::Set(_) => -2,
            By::Unknown => -3,
        }
    }
}

/// MPI_Comm_split_type (section 7.4.2). On an intercommunicator, both groups are split.
///
/// Kinds of resource are those of [`KINDS`]. Processes that are not restricted to one part of the kind get MPI_COMM_NULL.
pub fn comm_split_type(
    comm: Rc<Comm>, split_type: i32, key: i32, info: Option<Rc<Info>>, newcomm: Out<usize>,
) -> Result<()> {
    let hints = hints::taken(&info);
    let kind = info::find(&hints, RESOURCE).and_then(hardware::named).map(By::Kind);
    let by = match split_type {
        // These two give a color at once, since they know it; MPI_UNDEFINED may stand beside any other.
        MPI_UNDEFINED | MPI_COMM_TYPE_SHARED => None,
        MPI_COMM_TYPE_HW_UNGUIDED => Some(By::Difference),
        MPI_COMM_TYPE_HW_GUIDED => Some(kind.unwrap_or(By::Unknown)),
        MPI_COMM_TYPE_RESOURCE_GUIDED => Some(kind.unwrap_or_else(|| match info::find(&hints, PSET) {
            Some(name) => group::of_set(name).map_or(By::Unknown, By::Set),
            None => By::Unknown,
        })),
        _ => return err!(MPI_ERR_ARG, "{split_type} is not a split type (MPI_COMM_TYPE_...)"),
    };
    let parent = comm.clone();
    let (made, kind) = match by {
        None if split_type == MPI_UNDEFINED => (split(comm, MPI_UNDEFINED, key)?, None),
        None => (split(comm.clone(), first_near(&comm), key)?, None),
        Some(by) => {
            let arrived = arrive(&comm, [0, key])?;
            run(split_by(comm, by, key, arrived))?
        }
    };
    if let (Some(new), Some(info)) = (&made, &info) {
        // What tells how to split is no hint of the new communicator's.
        new.add_hints(&hints.into_iter().filter(|(key, _)| key != RESOURCE && key != PSET).collect());
        if let Some(kind) = kind.filter(|_| split_type == MPI_COMM_TYPE_HW_UNGUIDED) {
            info::put(&mut info.map.borrow_mut(), RESOURCE, KINDS[kind].name);
        }
        debug_assert!(new.context != parent.context);
    }
    give(newcomm, Ok(made))
}

/// The communicator of those that have in common with this process what it asks for, and the kind of resource that it is. Those that give
/// MPI_UNDEFINED do not get here: they are out of it once all have told their colors.
async fn split_by(comm: Rc<Comm>, by: By, key: i32, arrived: Option<Arrived>) -> Result<(Option<Comm>, Option<usize>)> {
    let (circle, mut given, id) = told(&comm, [0, key], arrived).await?;
    let taking: Vec<usize> = (0..given.len()).filter(|at| given[*at][0] != MPI_UNDEFINED).collect();
    let me = taking.partition_point(|at| *at < circle.me);
    let procs: Rc<[Proc]> = taking.iter().map(|at| circle.procs[*at]).collect();
    let inner = Circle { me, procs, ..circle };
    let own = match by {
        By::Kind(_) | By::Difference => hardware::own(),
        By::Set(_) | By::Unknown => hardware::NOWHERE,
    };
    let code = by.code();
    let all = inner.gather(&pack(&[&[code][..], &own].concat())).await?;
    let all: Vec<(i32, Parts)> = (all.iter().map(|bytes| unpack(bytes)))
        .map(|numbers| (numbers[0], std::array::from_fn(|kind| numbers[kind + 1])))
        .collect();
    let places: Vec<Parts> = all.iter().map(|(_, parts)| *parts).collect();
    let near = |at: usize| is_near(inner.procs[at]);
    let kind = match by {
        By::Kind(kind) => Some(kind),
        By::Difference => hardware::difference(&places, me, near),
        By::Set(_) | By::Unknown => None,
    };
    let joined = |at: usize| {
        all[at].0 == code
            && match &by {
                By::Set(group) => group.rank_of(inner.procs[at]).is_some(),
                _ => kind.is_some_and(|kind| near(at) && hardware::together(kind, &places[me], &places[at])),
            }
    };
    for (at, place) in taking.iter().enumerate() {
        given[*place][0] = if joined(at) { 0 } else { MPI_UNDEFINED };
    }
    let color = if joined(me) { 0 } else { MPI_UNDEFINED };
    Ok((part(&comm, &given, color, id), kind))
}

/// A color for the processes of `comm` that share memory with this one: the place of the first of them among all processes of `comm`, which is
/// the same number at all of them, and at no other process.
fn first_near(comm: &Comm) -> i32 {
    let local = (comm.own_offset()..).zip(comm.local.procs.iter());
    let remote = (comm.remote_offset()..).zip(comm.remote.iter().flat_map(|remote| remote.procs.iter()));
    let places = local.chain(remote).filter(|&(_, &proc)| is_near(proc)).map(|(place, _)| place as i32);
    places.min().expect("this process is a member")
}

/// Whether `proc` shares memory with this process: it is of the same job, on the same node.
fn is_near(proc: Proc) -> bool {
    let nodes = &runtime().nodes;
    nodes.get(proc as usize) == Some(&nodes[runtime().me as usize])
}
