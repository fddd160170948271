//! The program of each process: it works with the others, agrees with them after each piece of work whether all of it was done, and goes on with
//! those that live where it was not.

use crate::network::Random;
use crate::process::{Comm, Done, Process};
use crate::{collectives, messages, windows};
use std::rc::Rc;
use tern_adi::Proc;
use tern_mpi::fault::consensus::Join;

/// Ids of communicators between one and the one that follows it. Windows have those between.
const IDS: u32 = 100;

/// Returns who has come to the end, and the last sum.
pub fn run(process: &Process) -> (Rc<[Proc]>, u64) {
    let facts = &process.facts;
    let mut comm = process.comm(IDS, (0..facts.processes).collect());
    let mut round = 0;
    loop {
        process.pause();
        let mut random = facts.random((comm.name.id, round));
        let is_last = round == facts.rounds;
        let mut sum = 0;
        let done = match is_last {
            true => collectives::sum(process, &comm).map(|all| sum = all),
            false => work(process, &comm, &mut random),
        };
        if done.is_err() {
            process.revoke(&comm);
        }
        process.pause();
        let decision = process.agree(&comm, vec![u8::from(done.is_ok())], Join::And);
        match decision.value == [1] && !decision.unacknowledged {
            true if is_last => return (comm.procs.clone(), sum),
            true => round += 1,
            false => comm = shrink(process, &comm),
        }
    }
}

fn work(process: &Process, comm: &Rc<Comm>, random: &mut Random) -> Done {
    match random.below(7) {
        0 => messages::ring(process, comm, random),
        1 => messages::to_the_first(process, comm, random),
        2 => messages::pairs(process, comm, random),
        3 => collectives::one(process, comm, random),
        4 => collectives::several(process, comm, random),
        _ => windows::one(process, comm, random),
    }
}

/// A communicator of those that live.
fn shrink(process: &Process, comm: &Rc<Comm>) -> Rc<Comm> {
    let id = comm.name.id + IDS;
    let decision = process.agree(comm, id.to_le_bytes().to_vec(), Join::And);
    assert_eq!(decision.value, id.to_le_bytes());
    let lives = |(rank, proc): (usize, &Proc)| (!decision.failed.contains(rank)).then_some(*proc);
    process.comm(id, comm.procs.iter().enumerate().filter_map(lives).collect())
}
