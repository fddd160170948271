//! How two groups of processes come to know each other, and get an intercommunicator (MPI 5.0 section 11.9).
//!
//! The two roots have a socket between them, the *line*. Over it go who is in the groups, by what each knows each
//! (nothing, the own job, a bridge), and, where two do not know each other, the memory of a new
//! bridge. Each root passes that on to its group. Everything else is messages of MPI within the groups.

use crate::bridge::{self, Roster, way_to};
use crate::constants::*;
use crate::context::{BOOTSTRAP, allocate, reserved_tag};
use crate::error::Result;
use crate::exchange::Circle;
use crate::identity::{self, Identity};
use crate::meeting::line::{Line, lost};
use crate::meeting::pass_on::{agree, pass_on, tell};
use crate::objects::{Comm, Group};
use crate::runtime::runtime;
use crate::scope::Errhandler;
use crate::task::run;
use rustix::io::Errno;
use std::rc::Rc;
use tern_adi::Proc;
use tern_pmi::parcel::{Reader, Writer};

/// Makes an intercommunicator between the processes of `local`, which all call this, and those at the
/// other end of the line that the one with index `root` in `circle` has.
pub fn introduce(
    local: Rc<Group>, circle: &Circle, root: usize, line: Option<Result<Line>>, errhandler: Rc<Errhandler>,
) -> Result<Comm> {
    let own = identity::list(&identity::to_bytes(&local.procs));
    let (mut line, failed) = match line {
        Some(Ok(line)) => (Some(line), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    let place = place_of(circle)?;
    let heard = failed.map(Err).or_else(|| line.as_mut().map(|line| greet(line, &own, place)));
    let others = Others::read(&tell(circle, root, heard)?);
    if others.list.is_empty() || others.list.iter().any(|other| own.contains(other)) {
        return err!(MPI_ERR_COMM, try "", "the two sides of a connection must not have a process in common");
    }
    // What they know each other by stays until they have a communicator.
    let known: Vec<Proc> = others.list.iter().filter_map(identity::number).collect();
    let kept = bridge::under(&known);
    let knowledge = compare(circle, root, line.as_mut(), &others.list)?;
    let mut built = None;
    if !knowledge.is_complete() {
        let strangers = (0..others.list.len()).filter(|&other| !knowledge.knows(circle.me, other));
        // One of two may have left what the other still has: then neither uses it.
        let forgotten = strangers.filter_map(|other| identity::number(&others.list[other]));
        forgotten.for_each(identity::forget);
        built = Some(build(circle, root, line.as_mut(), &own, &others)?);
    }
    let procs = others.list.iter().map(identity::number).collect::<Option<Vec<_>>>();
    let remote = local.derive(procs.ok_or_else(|| lost(Errno::NOTCONN))?);
    drop((kept, built)); // the group has them now

    // The host's group comes first.
    let (first, second) = if others.host { (&remote, &local) } else { (&local, &remote) };
    let procs = first.procs.iter().chain(second.procs.iter()).copied().collect();
    let me = circle.me + if others.host { first.procs.len() } else { 0 };
    join(others.number, me, procs, local, remote.clone(), errhandler)
}

/// The intercommunicator of two groups that know each other, whose processes `procs` lists in the same order
/// at all of them; `me` is the place of this one, and `number` one that tells this meeting from others.
pub fn join(
    number: u64, me: usize, procs: Rc<[Proc]>, local: Rc<Group>, remote: Rc<Group>, errhandler: Rc<Errhandler>,
) -> Result<Comm> {
    let circle = Circle { context: BOOTSTRAP, tag: reserved_tag((number ^ number >> 32) as u32), me, procs };
    run(async move {
        circle.meet().await?;
        let id = allocate(&circle).await?;
        Ok(Comm::new(id, local, Some(remote), errhandler))
    })
}

/// The other group, as all processes of this one learn of it.
struct Others {
    /// Theirs is the host.
    host: bool,
    /// All of both groups can share memory.
    near: bool,
    /// A number for this meeting.
    number: u64,
    list: Vec<Identity>,
}

impl Others {
    fn read(told: &[u8]) -> Others {
        let mut told = Reader(told);
        let parts = told.number().zip(told.number()).zip(told.number()).zip(told.bytes());
        let (((number, host), near), list) = parts.expect("the root tells all of it");
        Others { host: host != 0, near: near != 0, number, list: identity::list(list) }
    }
}

/// Where all of a group are ([`tern_mcm::place`]); 0 when they are in several places.
fn place_of(circle: &Circle) -> Result<u64> {
    let (gathering, here) = (circle.clone(), tern_mcm::place::here(&runtime().job).to_le_bytes());
    let places = run(async move { gathering.gather(&here).await })?;
    Ok(if places.iter().all(|place| *place == here) { u64::from_le_bytes(here) } else { 0 })
}

/// At the root: tells who is here, and hears who is there, for [`Others::read`].
fn greet(line: &mut Line, own: &[Identity], place: u64) -> Result<Vec<u8>> {
    let number = tern_pmi::new_job_id();
    let list: Vec<u8> = own.iter().flat_map(|identity| identity.to_bytes()).collect();
    let theirs = line.exchange(&Writer::default().number(number).number(place).bytes(&list).0)?;
    let mut parts = Reader(&theirs);
    let parts = parts.number().zip(parts.number()).zip(parts.bytes());
    let ((their_number, their_place), list) = parts.ok_or_else(|| lost(Errno::PROTO))?;
    let near = line.is_near() && place != 0 && place == their_place;
    let mut out = Writer::default();
    out.number(number ^ their_number).number(!line.host as u64).number(near as u64).bytes(list);
    Ok(out.0)
}

/// By what the processes of two groups know each other: tables of [`way_to`], a row for each process.
struct Knowledge {
    ours: Vec<u64>,
    theirs: Vec<u64>,
    /// How many processes there are in each group.
    own: usize,
    others: usize,
}

impl Knowledge {
    /// True when two know each other by the same.
    fn knows(&self, own: usize, other: usize) -> bool {
        let ours = self.ours.get(own * self.others + other);
        let theirs = self.theirs.get(other * self.own + own);
        ours == theirs && ours.is_some_and(|&way| way != 0)
    }

    fn is_complete(&self) -> bool {
        (0..self.own).all(|own| (0..self.others).all(|other| self.knows(own, other)))
    }
}

/// What all know, at all of this group.
fn compare(circle: &Circle, root: usize, line: Option<&mut Line>, others: &[Identity]) -> Result<Knowledge> {
    let row: Vec<u8> = others.iter().flat_map(|other| way_to(other).to_le_bytes()).collect();
    let gathering = circle.clone();
    let ours = run(async move { Ok(gathering.gather(&row).await?.concat()) })?;
    let theirs = tell(circle, root, line.map(|line| line.exchange(&ours)))?;
    let words = |bytes: &[u8]| bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    Ok(Knowledge { ours: words(&ours), theirs: words(&theirs), own: circle.procs.len(), others: others.len() })
}

/// A new bridge between the groups. It fails at all processes of both when it does at one.
fn build(
    circle: &Circle, root: usize, mut line: Option<&mut Line>, own: &[Identity], others: &Others,
) -> Result<Rc<bridge::Bridge>> {
    let joined = match others.near {
        true => {
            let file = line.as_mut().map(|line| line.share(&Roster::new(own.to_vec(), others.list.clone())));
            let file = pass_on(circle, root, file)?;
            Roster::read(&file).and_then(|roster| roster.join(&file))
        }
        false => build_far(circle, root, &mut line, own, others)?,
    };
    let outcome = agree(circle, &joined.as_ref().map(|_| ()).map_err(Clone::clone));
    let failed = [outcome.is_err() as u8];
    let theirs = tell(circle, root, line.map(|line| line.exchange(&failed)))?;
    outcome?;
    if theirs != [0] {
        return err!(MPI_ERR_OTHER, "the other side of the connection could not take part in it");
    }
    joined
}

/// A bridge over several machines: all listen, and tell the others where. The inner result is that of this process.
fn build_far(
    circle: &Circle, root: usize, line: &mut Option<&mut Line>, own: &[Identity], others: &Others,
) -> Result<Result<Rc<bridge::Bridge>>> {
    let (first, second) = if others.host { (&others.list[..], own) } else { (own, &others.list[..]) };
    let roster = Roster { id: others.number, first: first.len(), members: [first, second].concat() };
    let endpoint = roster.listen();
    // Nothing stands for one that cannot listen.
    let address = endpoint.as_ref().map(|endpoint| endpoint.address()).unwrap_or_default();
    let gathering = circle.clone();
    let here = run(async move { gathering.gather(&address).await })?;
    let there = tell(circle, root, line.as_mut().map(|line| line.exchange(&encode(&here))))?;
    let there = decode(&there).filter(|there| there.len() == others.list.len());
    let there = there.ok_or_else(|| lost(Errno::PROTO))?;
    let addresses = if others.host { [there, here].concat() } else { [here, there].concat() };
    Ok(endpoint.and_then(|endpoint| roster.join_far(endpoint, &addresses)))
}

fn encode(addresses: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Writer::default();
    addresses.iter().for_each(|address| _ = out.bytes(address));
    out.0
}

fn decode(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut input = Reader(bytes);
    let mut all = Vec::new();
    while !input.0.is_empty() {
        all.push(input.bytes()?.to_vec());
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_know_each_other_when_they_name_the_same() {
        // Two here, three there.
        let ours = vec![1, 0, 7, 1, 5, 0];
        let theirs = vec![1, 1, 0, 4, 7, 0];
        let mut knowledge = Knowledge { ours, theirs, own: 2, others: 3 };
        let all: Vec<bool> = (0..6).map(|at| knowledge.knows(at / 3, at % 3)).collect();
        assert_eq!(all, [true, false, true, true, false, false]);
        assert!(!knowledge.is_complete());
        knowledge.ours = vec![9; 6];
        knowledge.theirs = vec![9; 6];
        assert!(knowledge.is_complete());
        // A table that is not whole says nothing.
        knowledge.theirs.truncate(3);
        assert!(!knowledge.is_complete());
    }
}
