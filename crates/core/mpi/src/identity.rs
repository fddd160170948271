//! Processes by names that hold in every process, for what travels between them.
//!
//! A [`Proc`] is a number that one process has given to another: those of the own job by their rank,
//! those of other jobs as they come. What is sent to a process of another job says who is meant by job and rank.

use crate::constants::MPI_ERR_OTHER;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::runtime::runtime;
use std::cell::RefCell;
use std::collections::HashMap;
use tern_adi::Proc;

/// A process: the random number of its job, and its rank there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    pub job: u64,
    pub rank: u32,
}

/// Bytes of one on its way.
const LENGTH: usize = 12;

struct Known {
    /// Of the processes of other jobs, by number less the size of the own job.
    others: RefCell<Vec<Identity>>,
    /// Numbers of those that can be reached.
    numbers: RefCell<Option<HashMap<Identity, Proc>>>,
}

static KNOWN: Guarded<Known> = Guarded::new(Known { others: RefCell::new(Vec::new()), numbers: RefCell::new(None) });

impl Identity {
    pub fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&self.job.to_le_bytes());
        bytes[8..].copy_from_slice(&self.rank.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; LENGTH]) -> Identity {
        let (job, rank) = bytes.split_first_chunk::<8>().expect("twelve bytes");
        let rank = rank.try_into().expect("four bytes");
        Identity { job: u64::from_le_bytes(*job), rank: u32::from_le_bytes(rank) }
    }
}

/// Who `proc` is.
pub fn of(proc: Proc) -> Identity {
    let runtime = runtime();
    if proc < runtime.world_size {
        return Identity { job: runtime.job.job_id, rank: proc };
    }
    KNOWN.get().others.borrow()[(proc - runtime.world_size) as usize]
}

/// The number of a process that this one can reach, or is.
pub fn number(identity: &Identity) -> Option<Proc> {
    let runtime = runtime();
    if identity.job == runtime.job.job_id {
        return (identity.rank < runtime.world_size).then_some(identity.rank);
    }
    KNOWN.get().numbers.borrow().as_ref()?.get(identity).copied()
}

/// How many processes of other jobs have become known so far, whether they can be reached still or not.
pub fn met() -> usize {
    KNOWN.get().others.borrow().len()
}

/// Notes who the processes are that have the numbers from `first` on.
pub fn learn(first: Proc, newcomers: impl Iterator<Item = Identity>) {
    let known = KNOWN.get();
    assert_eq!(first as usize, known.others.borrow().len() + runtime().world_size as usize);
    let mut numbers = known.numbers.borrow_mut();
    for (proc, identity) in (first..).zip(newcomers) {
        known.others.borrow_mut().push(identity);
        numbers.get_or_insert_default().insert(identity, proc);
    }
}

/// Notes that `proc`, of another job, can no longer be reached under this number.
pub fn forget(proc: Proc) {
    let identity = of(proc);
    if let Some(numbers) = KNOWN.get().numbers.borrow_mut().as_mut()
        && numbers.get(&identity) == Some(&proc)
    {
        numbers.remove(&identity);
    }
}

/// Who these processes are.
pub fn to_bytes(procs: &[Proc]) -> Vec<u8> {
    procs.iter().flat_map(|&proc| of(proc).to_bytes()).collect()
}

/// The reverse, whether this process knows them or not.
pub fn list(bytes: &[u8]) -> Vec<Identity> {
    bytes.as_chunks::<LENGTH>().0.iter().map(Identity::from_bytes).collect()
}

/// The numbers of processes that this one knows.
pub fn to_procs(bytes: &[u8]) -> Option<Vec<Proc>> {
    list(bytes).iter().map(number).collect()
}

/// The source of messages that name their sender apart from any communicator, as both sides compute
/// it: the rank within a job; between jobs a number that differs for all processes that the receiver knows
/// ([`check_sources`]).
pub fn source(sender: Proc, receiver: Proc) -> i32 {
    let home = runtime().world_size;
    if sender < home && receiver < home {
        return sender as i32;
    }
    between(of(sender), of(receiver))
}

fn between(sender: Identity, receiver: Identity) -> i32 {
    if sender.job == receiver.job {
        return sender.rank as i32;
    }
    between_jobs(sender)
}

fn between_jobs(sender: Identity) -> i32 {
    (0x4000_0000 | (sender.job as u32).wrapping_add(sender.rank) & 0x3fff_ffff) as i32
}

/// Sees that the [`source`] of each of these processes is that of no other, among them and those of other jobs that this
/// process knows. It is made of 30 bits, which two jobs may share by accident: messages of one would be taken for those of
/// the other.
///
/// Errors: MPI_ERR_OTHER, two have one source.
pub fn check_sources(newcomers: &[Identity]) -> Result<()> {
    let known = KNOWN.get().numbers.borrow();
    let known = known.iter().flat_map(HashMap::keys);
    match same_source(runtime().job.job_id, known.chain(newcomers)) {
        None => Ok(()),
        Some((one, other)) => err!(
            MPI_ERR_OTHER,
            "rank {} of job {:x} and rank {} of job {:x} have the same short name by accident and cannot be told apart; \
             start one of the jobs again",
            one.rank,
            one.job,
            other.rank,
            other.job
        ),
    }
}

/// A number for a job of so many processes that starts, whose sources differ from those of `others` and of whom this
/// process knows.
pub fn new_job(others: &[Identity], size: u32) -> u64 {
    loop {
        let job = tern_pmi::new_job_id();
        let all: Vec<Identity> = others.iter().copied().chain((0..size).map(|rank| Identity { job, rank })).collect();
        if check_sources(&all).is_ok() {
            return job;
        }
    }
}

/// Two of different jobs, not `home`, with the same source: who receives in job `home` could not tell them apart.
fn same_source<'a>(home: u64, all: impl Iterator<Item = &'a Identity>) -> Option<(Identity, Identity)> {
    let mut sources = HashMap::new();
    all.filter(|identity| identity.job != home).find_map(|&identity| {
        let other = *sources.entry(between_jobs(identity)).or_insert(identity);
        (other != identity).then_some((other, identity))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_survive_the_wire() {
        let one = Identity { job: u64::MAX - 5, rank: 7 };
        let two = Identity { job: 1, rank: u32::MAX };
        let bytes = [one.to_bytes(), two.to_bytes()].concat();
        assert_eq!(list(&bytes), [one, two]);
    }

    #[test]
    fn processes_of_two_jobs_with_one_source_are_found() {
        let (home, low) = (1, 0x1234_5678);
        let one = Identity { job: 5 << 32 | low, rank: 3 };
        let other = Identity { job: 6 << 32 | (low + 1), rank: 2 };
        assert_eq!(between_jobs(one), between_jobs(other));
        assert_eq!(same_source(home, [one, other, one].iter()), Some((one, other)));
        // The first is of the receiver's own job, where its source is its rank.
        assert_eq!(same_source(one.job, [one, other].iter()), None);
        assert_eq!(same_source(home, [one, one, Identity { rank: 4, ..one }].iter()), None);
    }

    #[test]
    fn sources_are_ranks_within_a_job_and_no_ranks_between_jobs() {
        let (a, b) = (Identity { job: u64::MAX, rank: 3 }, Identity { job: u64::MAX, rank: 4 });
        let other = Identity { job: 7, rank: 3 };
        assert_eq!(between(a, b), 3);
        assert!(between(a, other) >= 0x4000_0000);
        assert_ne!(between(a, other), between(b, other));
        assert_ne!(between(a, other), between(other, a));
    }
}
