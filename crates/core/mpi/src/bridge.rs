//! Bridges: what processes of several jobs have in common, so that they can send to each other: memory, or connections
//! where some of them are on other machines.
//!
//! A bridge is a memfd: the roster, which says who its processes are, and behind it a segment as a job
//! has one. It lasts as long as some group has a process that is reached over it; then this process
//! leaves it.

use crate::constants::*;
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use crate::identity::{self, Identity};
use crate::lost::is_survived;
use crate::runtime::{adi, runtime};
use std::cell::RefCell;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};
use tern_adi::{Awaited, Proc};
use tern_mcm::Endpoint;
use tern_pmi::parcel::{Reader, Writer};

/// A bridge that this process is on.
#[derive(Debug)]
pub struct Bridge {
    /// A random number, the same at all its processes.
    pub id: u64,
    /// The processes that this one reaches over it.
    pub procs: Range<Proc>,
}

/// Who is on a bridge.
#[derive(Clone, Debug, PartialEq)]
pub struct Roster {
    pub id: u64,
    /// How many of the members belong to the first of its two groups.
    pub first: usize,
    pub members: Vec<Identity>,
}

struct Bridges {
    all: RefCell<Vec<Weak<Bridge>>>,
    /// Those that no group needs any more.
    left: RefCell<Vec<Range<Proc>>>,
}

static BRIDGES: Guarded<Bridges> =
    Guarded::new(Bridges { all: RefCell::new(Vec::new()), left: RefCell::new(Vec::new()) });

impl Drop for Bridge {
    fn drop(&mut self) {
        // It may be the engine that gives it up: leaving has to wait until that is done.
        self.procs.clone().for_each(identity::forget);
        BRIDGES.get().left.borrow_mut().push(self.procs.clone());
    }
}

/// The bridges over which some of `procs` are reached: who keeps the processes keeps these.
pub fn under(procs: &[Proc]) -> Vec<Rc<Bridge>> {
    let all = BRIDGES.get().all.borrow();
    let bridges = all.iter().filter_map(Weak::upgrade);
    bridges.filter(|bridge| procs.iter().any(|proc| bridge.procs.contains(proc))).collect()
}

/// Leaves the bridges that no group needs any more, as far as all that was to go there has gone.
pub fn sweep() {
    let bridges = BRIDGES.get();
    if !bridges.left.borrow().is_empty() {
        // What still waits to be sent there is of no concern to anybody who ends.
        bridges.left.borrow().iter().for_each(|procs| adi().mcm().part(procs.start));
        bridges.left.borrow_mut().retain(|procs| !adi().disconnect(procs.clone()));
        bridges.all.borrow_mut().retain(|bridge| bridge.strong_count() > 0);
    }
}

/// Comes to the end together with the processes of other jobs that are connected still (MPI 5.0 section 11.10.4).
/// Meanwhile they get what was sent to them, and answers. Those that are lost are not waited for.
pub fn end() {
    sweep();
    adi().mcm().end();
    let mut awaited = adi().mcm().awaited();
    let mut done = || {
        if !awaited.is_empty() {
            awaited = adi().mcm().awaited();
        }
        awaited.is_empty() && adi().is_flushed()
    };
    // It is about no communicator.
    let members = || Awaited::Members { context: u32::MAX, procs: adi().mcm().awaited() };
    adi().wait_until_telling(&mut done, &members);
}

/// What this process reaches another one by, which is the same number on both sides; 0 when it does not
/// know it.
pub fn way_to(identity: &Identity) -> u64 {
    if identity.job == runtime().job.job_id {
        return identity.job;
    }
    let Some(proc) = identity::number(identity) else { return 0 };
    under(&[proc]).first().map_or(0, |bridge| bridge.id)
}

impl Roster {
    /// For a new bridge.
    pub fn new(first: Vec<Identity>, second: Vec<Identity>) -> Roster {
        let id = tern_pmi::new_job_id();
        Roster { id, first: first.len(), members: [first, second].concat() }
    }

    fn encode(&self) -> Vec<u8> {
        let mut parts = Writer::default();
        parts.number(self.id).number(self.first as u64);
        let members: Vec<u8> = self.members.iter().flat_map(|member| member.to_bytes()).collect();
        parts.bytes(&members);
        Writer::default().bytes(&parts.0).0.clone()
    }

    fn decode(bytes: &[u8]) -> Option<Roster> {
        let parts = &mut Reader(Reader(bytes).bytes()?);
        let (id, first) = (parts.number()?, parts.number()? as usize);
        let members = identity::list(parts.bytes()?);
        (first <= members.len()).then_some(Roster { id, first, members })
    }

    /// Where the segment begins in the file: at a page, whatever the length of pages is here.
    fn length(&self) -> usize {
        self.encode().len().next_multiple_of(tern_node::LARGEST_PAGE)
    }

    /// The memory of the bridge.
    pub fn build(&self) -> Result<OwnedFd> {
        let build = || {
            let file = tern_pmi::new_segment()?;
            let mut bytes = self.encode();
            bytes.resize(self.length(), 0);
            let mut at = 0;
            while at < bytes.len() {
                at += rustix::io::pwrite(&file, &bytes[at..], at as u64)?;
            }
            Ok(file)
        };
        build().map_err(|errno: rustix::io::Errno| no_memory(&errno.to_string()))
    }

    /// The roster of the bridge whose memory this is.
    pub fn read(file: &OwnedFd) -> Result<Roster> {
        let read = || {
            let mut head = [0; 8];
            rustix::io::pread(file, &mut head, 0).ok()?;
            let len = usize::try_from(u64::from_le_bytes(head)).ok().filter(|&len| len < 1 << 24)?;
            let mut bytes = vec![0; 8 + len];
            let got = rustix::io::pread(file, &mut bytes, 0).ok()?;
            Roster::decode(&bytes[..got])
        };
        read().ok_or_else(|| Error::new(MPI_ERR_INTERN, "the memory that was to be shared with another job is damaged"))
    }

    /// Goes on the bridge. Members that this process knows already keep their numbers.
    pub fn join(&self, file: &OwnedFd) -> Result<Rc<Bridge>> {
        let (me, processes) = (self.own_place()?, self.members.len() as u32);
        let newcomers = self.newcomers();
        identity::check_sources(&self.members)?;
        let first = adi()
            .connect(file.as_fd(), self.length() as u64, me, processes, &newcomers)
            .map_err(|error| no_memory(&error.to_string()))?;
        Ok(self.enter(first, &newcomers))
    }

    /// The place of this process.
    fn own_place(&self) -> Result<u32> {
        let own = identity::of(runtime().me);
        let place = self.members.iter().position(|member| *member == own);
        place.map(|place| place as u32).ok_or_else(|| {
            Error::new(MPI_ERR_INTERN, "this process is not among those that the other job has been told of")
        })
    }

    /// Begins to listen for the members of a bridge over several machines.
    pub fn listen(&self) -> Result<Endpoint> {
        let endpoint = Endpoint::open(&runtime().job, self.own_place()?, self.members.len() as u32);
        endpoint.map_err(|error| no_way(&error.to_string()))
    }

    /// Goes on a bridge over several machines, whose members are found at these addresses. Returns when there is a
    /// connection to each of those that this process comes to know. Members that it knows already keep their numbers.
    pub fn join_far(&self, endpoint: Endpoint, addresses: &[Vec<u8>]) -> Result<Rc<Bridge>> {
        if let Some(deaf) = addresses.iter().position(Vec::is_empty) {
            let rank = self.members[deaf].rank;
            return err!(MPI_ERR_OTHER, "rank {rank} of one of the jobs cannot be reached by other jobs");
        }
        let newcomers = self.newcomers();
        identity::check_sources(&self.members)?;
        let first = adi().connect_far(endpoint, addresses, &newcomers).map_err(|error| no_way(&error.to_string()))?;
        let bridge = self.enter(first, &newcomers);
        let is_lost = || bridge.procs.clone().any(|proc| adi().why_lost(proc).is_some());
        adi().wait_until(&mut || adi().mcm().has_met_all(first) || is_survived() && is_lost());
        match bridge.procs.clone().find_map(|proc| adi().why_lost(proc).map(|why| (identity::of(proc), why))) {
            Some((who, why)) => {
                err!(MPI_ERR_OTHER, "rank {} of job {:x} is not reached: {why}", who.rank, who.job)
            }
            None => Ok(bridge),
        }
    }

    /// The places of those that this process does not know.
    fn newcomers(&self) -> Vec<u32> {
        let fresh = |&place: &u32| identity::number(&self.members[place as usize]).is_none();
        (0..self.members.len() as u32).filter(fresh).collect()
    }

    /// Notes that the newcomers have numbers from `first` on.
    fn enter(&self, first: Proc, newcomers: &[u32]) -> Rc<Bridge> {
        identity::learn(first, newcomers.iter().map(|&place| self.members[place as usize]));
        let bridge = Rc::new(Bridge { id: self.id, procs: first..first + newcomers.len() as u32 });
        BRIDGES.get().all.borrow_mut().push(Rc::downgrade(&bridge));
        bridge
    }

    /// The numbers of its members.
    pub fn procs(&self) -> Vec<Proc> {
        self.members.iter().map(|member| identity::number(member).expect("who is on the bridge is known")).collect()
    }
}

fn no_way(why: &str) -> Box<Error> {
    Error::new(MPI_ERR_OTHER, format!("no connection to processes of another job: {why}"))
}

fn no_memory(why: &str) -> Box<Error> {
    Error::new(MPI_ERR_NO_MEM, format!("no memory that can be shared with processes of another job: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roster_is_read_as_it_was_written() {
        let member = |rank| Identity { job: 9, rank };
        let roster = Roster::new((0..1000).map(member).collect(), vec![Identity { job: 3, rank: 0 }]);
        let file = roster.build().unwrap();
        assert_eq!(Roster::read(&file).unwrap(), roster);
        assert_eq!(roster.length(), 64 << 10, "the least that is a whole number of pages of 4, 16 and of 64 KiB");
    }

    #[test]
    fn other_memory_is_no_roster() {
        let file = tern_pmi::new_segment().unwrap();
        assert!(Roster::read(&file).is_err());
        rustix::io::pwrite(&file, &[255; 100], 0).unwrap();
        assert!(Roster::read(&file).is_err());
    }
}
