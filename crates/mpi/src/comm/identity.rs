//! Processes by names that hold in every process, for what travels between them.
//!
//! A [`Proc`] is a number that one process has given to another: those of the own job by their rank,
//! those of other jobs as they come. What is sent to a process of another job says who is meant by job and rank.

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
/// it: the rank within a job; between jobs a number that differs for all processes of a job, and hardly
/// ever is that of another job's.
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
    (0x4000_0000 | (sender.job as u32).wrapping_add(sender.rank) & 0x3fff_ffff) as i32
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
    fn sources_are_ranks_within_a_job_and_no_ranks_between_jobs() {
        let (a, b) = (Identity { job: u64::MAX, rank: 3 }, Identity { job: u64::MAX, rank: 4 });
        let other = Identity { job: 7, rank: 3 };
        assert_eq!(between(a, b), 3);
        assert!(between(a, other) >= 0x4000_0000);
        assert_ne!(between(a, other), between(b, other));
        assert_ne!(between(a, other), between(other, a));
    }
}
