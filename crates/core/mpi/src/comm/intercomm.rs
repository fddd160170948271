//! Making intercommunicators, and one communicator of both groups (MPI 5.0 section 7.6). How such functions work
//! is told in [`crate::comm::create`].

use crate::args::Out;
use crate::check;
use crate::comm;
use crate::comm::create::{Made, bootstrap, check_intra, give, hash, inherited};
use crate::comm::hints;
use crate::constants::*;
use crate::context::{BOOTSTRAP, allocate, leaders_tag, reserved_tag};
use crate::error::Result;
use crate::exchange::Circle;
use crate::identity::{self, Identity, to_bytes, to_procs};
use crate::objects::{Comm, Group, Info};
use crate::runtime::runtime;
use crate::scope::{Errhandler, ErrhandlerKind};
use crate::task::run;
use std::rc::Rc;
use tern_adi::Proc;

/// How one side of a new intercommunicator sees it before it exists.
struct Side {
    group: Rc<Group>,
    /// Its processes.
    circle: Circle,
    /// Index of the leader in it.
    leader: usize,
    /// At the leader: itself and the other leader; or why it cannot reach that one.
    leaders: Option<Result<Circle>>,
}

/// Bytes of [`name_of`].
const NAME: usize = 8;

/// Tells the circle of one side from all others that its processes are in at that time: threads may connect the same two groups at
/// once, each over communicators of its own.
fn name_of(circle: &Circle) -> [u8; NAME] {
    let words = [circle.context as i32, circle.tag];
    std::array::from_fn(|at| words[at / 4].to_ne_bytes()[at % 4])
}

/// Joins two groups whose leaders can reach each other (section 7.6.2).
fn connect(side: Side, errhandler: Rc<Errhandler>) -> Made {
    let failure = match &side.leaders {
        Some(Err(error)) => Some(error.clone()),
        _ => None,
    };
    let own_name = name_of(&side.circle);
    // Leaders exchange the names of their circles, and their groups; then each tells its own.
    let (leaders, circle) = (side.leaders.and_then(Result::ok), side.circle.clone());
    let between = leaders.clone();
    let (told, failure) = run(async move {
        let (told, failure) = match between {
            Some(leaders) => match leaders.gather(&[&own_name[..], &to_bytes(&circle.procs)].concat()).await {
                Ok(groups) => (groups[1 - leaders.me].clone(), None),
                Err(error) => (Vec::new(), Some(error)),
            },
            None => (Vec::new(), failure),
        };
        Ok((circle.share(side.leader, told).await?, failure))
    })?;
    if let Some(error) = failure {
        return Err(error);
    }
    let Some((other_name, told)) = told.split_first_chunk::<NAME>() else {
        return err!(MPI_ERR_OTHER, "the leader of the local group could not reach the remote group");
    };
    let local = side.group;
    let job = identity::of(local.procs[0]).job;
    let all = [&to_bytes(&local.procs), told].concat();
    if identity::list(&all).iter().any(|process| process.job != job) {
        // Their leaders know each other, but perhaps not all of them do.
        let line = leaders.map(|leaders| crate::meeting::gate::line_between(&leaders));
        return crate::meeting::introduce::introduce(local, &side.circle, side.leader, line, errhandler).map(Some);
    }
    let remote = local.derive(to_procs(told).expect("all processes of a job are known"));
    if !local.intersection(&remote).procs.is_empty() {
        return err!(MPI_ERR_COMM, try "", "the local and the remote group of an intercommunicator must not overlap");
    }
    let own_first = local.procs[0] < remote.procs[0];
    let (first, second) = if own_first { (&local, &remote) } else { (&remote, &local) };
    let both = first.union(second);
    let names = if own_first { [&own_name, other_name] } else { [other_name, &own_name] };
    let tag = reserved_tag(hash([&to_bytes(&both.procs)[..], &names[0][..], &names[1][..]]));
    let me = side.circle.me + if own_first { 0 } else { first.procs.len() };
    let circle = Circle { context: BOOTSTRAP, tag, me, procs: both.procs.clone() };
    run(async move {
        circle.meet().await?;
        let id = allocate(&circle).await?;
        Ok(Some(Comm::new(id, local, Some(remote), errhandler)))
    })
}

/// Two leaders, in an order that both know.
fn leaders(context: u32, tag: i32, own: Proc, other: Proc) -> Circle {
    ordered(context, tag, (identity::of(own), own), (identity::of(other), other))
}

fn ordered(context: u32, tag: i32, own: (Identity, Proc), other: (Identity, Proc)) -> Circle {
    let own_first = own.0 < other.0;
    let procs = if own_first { [own.1, other.1] } else { [other.1, own.1] };
    Circle { context, tag, me: !own_first as usize, procs: Rc::new(procs) }
}

fn check_rank(what: &str, rank: i32, group: &Group) -> Result<Proc> {
    match usize::try_from(rank).ok().and_then(|r| group.procs.get(r)) {
        Some(&proc) => Ok(proc),
        None => err!(MPI_ERR_RANK, "the {what} leader has rank {rank}, and the group size {}", group.size()),
    }
}

/// MPI_Intercomm_create. `peer_comm` (a handle) and `remote_leader` count at the leader only.
pub fn intercomm_create(
    local_comm: Rc<Comm>, local_leader: i32, peer_comm: usize, remote_leader: i32, tag: i32, newintercomm: Out<usize>,
) -> Result<()> {
    check_intra(&local_comm)?;
    check_rank("local", local_leader, &local_comm.local)?;
    let reach = || {
        let peer = comm::lookup(peer_comm)?;
        let other = check_rank("remote", remote_leader, peer.target())?;
        if other == runtime().me {
            return err!(
                MPI_ERR_RANK,
                try "give the rank that the other group's leader has in peer_comm",
                "the remote leader, rank {remote_leader}, is this process"
            );
        }
        Ok(leaders(peer.peers.context, leaders_tag(tag as u32), runtime().me, other))
    };
    let leaders = (local_comm.rank == local_leader).then(reach);
    let errhandler = inherited(&local_comm);
    let circle = local_comm.circle();
    let group = local_comm.local.clone();
    let side = Side { group, circle, leader: local_leader as usize, leaders };
    give(newintercomm, connect(side, errhandler))
}

/// MPI_Intercomm_create_from_groups. `remote_group` and `remote_leader` count at the leader only.
#[allow(clippy::too_many_arguments)]
pub fn intercomm_create_from_groups(
    local_group: Rc<Group>, local_leader: i32, remote_group: Rc<Group>, remote_leader: i32, stringtag: &str,
    info: Option<Rc<Info>>, errhandler: Rc<Errhandler>, newintercomm: Out<usize>,
) -> Result<()> {
    errhandler.check_kind(ErrhandlerKind::Comm)?;
    let leader = check_rank("local", local_leader, &local_group)?;
    let circle = bootstrap(&local_group, stringtag, "side")?;
    let tag = hash([stringtag.as_bytes()]);
    let me = runtime().me;
    let reach = || {
        let other = check_rank("remote", remote_leader, &remote_group)?;
        if local_group.rank_of(other).is_some() {
            return err!(MPI_ERR_GROUP, "the remote leader is in the local group too");
        }
        Ok(leaders(BOOTSTRAP, reserved_tag(tag ^ 1), me, other))
    };
    let leaders = (leader == me).then(reach);
    let side = Side { group: local_group, circle, leader: local_leader as usize, leaders };
    let made = connect(side, errhandler)?;
    if let Some(made) = &made {
        made.add_hints(&hints::taken(&info));
    }
    give(newintercomm, Ok(made))
}

/// What the group of `count` processes from `offset` on has said for `high`. All must say the same (section 7.6.2).
fn high_of(said: &[Vec<u8>], offset: usize, count: usize) -> Result<bool> {
    let group = &said[offset..offset + count];
    if let Some(other) = group.iter().position(|high| high[0] != group[0][0]) {
        let (first, other_high) = (group[0][0], group[other][0]);
        return err!(
            MPI_ERR_ARG,
            "argument high is {first} at rank 0 of a group, but {other_high} at rank {other} of it: a group's processes \
             must all give the same"
        );
    }
    Ok(group[0][0] != 0)
}

/// One communicator of both groups: the one whose processes say `high` comes second.
async fn merge(comm: Rc<Comm>, high: bool) -> Made {
    let Some(remote) = comm.remote.clone() else {
        return err!(MPI_ERR_COMM, "{} is an intracommunicator; only intercommunicators are merged", comm.label());
    };
    check::met(&comm).await?;
    let circle = comm.circle();
    let all = circle.gather(&[high as u8]).await?;
    let own_high = high_of(&all, comm.own_offset(), comm.local.procs.len())?;
    let remote_high = high_of(&all, comm.remote_offset(), remote.procs.len())?;
    let own_first = if own_high == remote_high { comm.own_offset() == 0 } else { remote_high };
    let (first, second) = if own_first { (&comm.local, &remote) } else { (&remote, &comm.local) };
    let both = first.union(second);
    let id = allocate(&circle).await?;
    Ok(Some(Comm::new(id, both, None, inherited(&comm))))
}

/// MPI_Intercomm_merge
pub fn intercomm_merge(intercomm: Rc<Comm>, high: i32, newintracomm: Out<usize>) -> Result<()> {
    give(newintracomm, run(merge(intercomm, high != 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_disagrees_about_high_is_refused() {
        let said = [vec![0], vec![1], vec![1], vec![0]];
        assert!(!high_of(&said, 0, 1).unwrap());
        assert!(high_of(&said, 1, 2).unwrap());
        let error = high_of(&said, 1, 3).expect_err("rank 2 of this group says something else");
        assert_eq!(error.code, MPI_ERR_ARG);
        assert!(error.message.contains("high is 1 at rank 0") && error.message.contains("0 at rank 2"), "{error}");
    }

    #[test]
    fn leaders_agree_on_their_order() {
        // Each has numbers of its own for the two.
        let (one, two) = (Identity { job: 3, rank: 8 }, Identity { job: 4, rank: 0 });
        let (a, b) = (ordered(3, -9, (one, 5), (two, 6)), ordered(3, -9, (two, 0), (one, 2)));
        assert_eq!((*a.procs).to_vec(), [5, 6]);
        assert_eq!((*b.procs).to_vec(), [2, 0]);
        assert_eq!((a.me, b.me), (0, 1));
    }
}
