//! Collectives by regions of which two members do not agree about a length: nobody waits for ever, who has less room gets an
//! error, and nobody else but perhaps the one that has too much.

mod common;

use common::network::{Network, group};
use std::rc::Rc;
use tern_coll::*;
use tern_layout::{Basic, Type};

/// Blocks of so many bytes are told as regions.
const REGIONS_FROM: usize = 60;
/// Around that, and around the bytes by which a region is told.
const LENGTHS: [usize; 9] = [1, TOLD - 1, TOLD, TOLD + 1, REGIONS_FROM - 1, REGIONS_FROM, REGIONS_FROM + 1, 200, 201];
/// What the two give and take of all others.
const AGREED: [usize; 3] = [0, 7, 100];

fn bytes() -> Rc<Type> {
    Type::basic(Basic::Byte)
}

fn even(memory: &mut [u8], len: usize) -> Buffer {
    Buffer { base: memory.as_mut_ptr(), count: len as i64, ty: bytes() }
}

/// Blocks of these lengths, 256 bytes apart.
fn uneven(memory: &mut [u8], lens: &[usize]) -> BufferV {
    let counts = lens.iter().map(|&len| len as i64).collect();
    let displs = (0..lens.len() as i64).map(|block| block * 256).collect();
    BufferV { base: memory.as_mut_ptr(), counts, displs, ty: bytes() }
}

fn typed(memory: &mut [u8], lens: &[usize]) -> BufferW {
    let BufferV { base, counts, displs, ty } = uneven(memory, lens);
    BufferW { base, counts, displs, types: vec![ty; lens.len()].into() }
}

/// What member 0 gives member 1, or takes of it in a gather: `given` bytes on the side that gives, `taken` on the other one.
#[derive(Clone, Copy, Debug)]
struct Lengths {
    given: usize,
    taken: usize,
    agreed: usize,
}

/// Lengths of blocks by rank.
fn with(own: usize, at: usize, len: usize, size: usize, others: usize) -> Vec<usize> {
    (0..size)
        .map(|rank| {
            if rank == at {
                len
            } else if rank == own {
                5
            } else {
                others
            }
        })
        .collect()
}

const WAYS: [&str; 6] = ["bcast", "scatterv", "gatherv", "allgatherv", "alltoallv", "alltoallw"];

/// The schedule of member `me`, whose memories are 256 bytes for each member.
fn schedule(way: &str, peers: &Peers, me: usize, l: Lengths, send: &mut [u8], recv: &mut [u8]) -> Schedule {
    let size = peers.size() as usize;
    let part = |len: usize| if me == 0 || me == 1 { len } else { l.agreed };
    match way {
        "bcast" => bcast(peers, &even(send, if me == 1 { l.taken } else { l.given }), Root::Rank(0)),
        "scatterv" => {
            let send = (me == 0).then(|| uneven(send, &with(0, 1, l.given, size, l.agreed)));
            let recv = even(recv, if me == 0 { 5 } else { part(l.taken) });
            scatterv(peers, send.as_ref(), Some(&recv), Root::Rank(0))
        }
        "gatherv" => {
            let recv = (me == 0).then(|| uneven(recv, &with(0, 1, l.taken, size, l.agreed)));
            let send = even(send, if me == 0 { 5 } else { part(l.given) });
            gatherv(peers, Some(&send), recv.as_ref(), Root::Rank(0))
        }
        "allgatherv" => {
            let mut lens = vec![l.agreed; size];
            lens[0] = if me == 1 { l.taken } else { l.given };
            let own = even(send, lens[me]);
            allgatherv(peers, Some(&own), &uneven(recv, &lens))
        }
        _ => {
            let given = with(me, if me == 0 { 1 } else { size }, l.given, size, l.agreed);
            let taken = with(me, if me == 1 { 0 } else { size }, l.taken, size, l.agreed);
            match way {
                "alltoallv" => alltoallv(peers, Some(&uneven(send, &given)), &uneven(recv, &taken)),
                _ => alltoallw(peers, Some(&typed(send, &given)), &typed(recv, &taken)),
            }
        }
    }
}

fn run(way: &str, size: usize, l: Lengths, seed: u64) {
    let mut selection = Selection::default();
    Collective::ALL.iter().for_each(|&collective| selection.force(collective, Forced::Region));
    selection.regions_from = REGIONS_FROM;
    let members = group(size, selection);
    let mut sends: Vec<Vec<u8>> = (0..size).map(|rank| vec![rank as u8 + 1; 256 * size]).collect();
    let mut recvs: Vec<Vec<u8>> = vec![vec![0; 256 * size]; size];
    let operations: Vec<Operation<usize>> = (0..size)
        .map(|me| {
            let schedule = schedule(way, &members[me], me, l, &mut sends[me], &mut recvs[me]);
            Operation::persistent(&members[me], schedule)
        })
        .collect();
    let network = Network::disagreeing(size, seed);
    let (giver, taker) = if way == "gatherv" { (1, 0) } else { (0, 1) };
    // Twice: what is left of one round must not disturb the next one.
    for round in 0..2 {
        let label = format!("{way}, {size} members, {l:?}, seed {seed}, round {round}");
        operations.iter().for_each(Operation::start);
        let list: Vec<_> = operations.iter().enumerate().map(|(me, o)| (size - 1 - me, o)).collect();
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| network.run(&list)));
        assert!(ran.is_ok(), "{label}");
        let truncated =
            Failure::Truncated(Truncated { source: giver as i32, room: l.taken as u64, sent: l.given as u64 });
        for (me, operation) in operations.iter().enumerate() {
            match operation.failure() {
                None => assert!(me != taker || l.given <= l.taken, "{label}: no error"),
                Some(failure) => {
                    assert!(me == taker && failure == truncated && l.given != l.taken, "{label}: {me}: {failure:?}")
                }
            }
        }
        if operations[taker].failure().is_none() {
            let (memory, at) = if way == "bcast" { (&sends[taker], 0) } else { (&recvs[taker], giver) };
            let at = if way == "scatterv" { 0 } else { 256 * at };
            let come = memory[at..at + l.given].iter().all(|&byte| byte == giver as u8 + 1);
            assert!(come, "{label}: {:?}", &memory[at..at + l.given]);
        }
    }
}

#[test]
fn members_that_disagree_get_an_error_and_do_not_wait() {
    for way in WAYS {
        for given in LENGTHS {
            for taken in LENGTHS {
                for (seed, agreed) in AGREED.into_iter().cycle().take(12).enumerate() {
                    run(way, 2 + seed % 2, Lengths { given, taken, agreed }, seed as u64);
                }
            }
        }
    }
}
