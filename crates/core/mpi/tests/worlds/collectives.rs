//! Collectives of a world.

use crate::network::Random;
use crate::process::{Comm, Done, Process};
use std::rc::Rc;
use tern_coll::ops::Op;
use tern_coll::{Buffer, Operation, Operator, Root, Round, Schedule};
use tern_layout::{Basic, Type};

/// A collective with its memory, and what it is to bring here.
struct Call {
    schedule: Schedule,
    result: Rc<Memory>,
    expected: Option<Vec<u64>>,
    #[allow(dead_code, reason = "kept until the collective is over")]
    input: Rc<Memory>,
}

/// Memory that stays where it is.
struct Memory(Box<[std::cell::Cell<u64>]>);

impl Memory {
    fn new(words: impl IntoIterator<Item = u64>) -> Rc<Memory> {
        Rc::new(Memory(words.into_iter().map(std::cell::Cell::new).collect()))
    }

    /// So many numbers a block.
    fn buffer(&self, count: usize) -> Buffer {
        let base = self.0.as_ptr().cast_mut().cast();
        Buffer { base, count: count as i64, ty: Type::basic(Basic::Uint64) }
    }

    fn words(&self) -> Vec<u64> {
        self.0.iter().map(std::cell::Cell::get).collect()
    }
}

/// What `proc` brings, the number at `at`.
fn brought(proc: u32, at: usize) -> u64 {
    u64::from(proc + 1) << (at % 3 * 8) | at as u64 & 1
}

fn any(comm: &Comm, random: &mut Random) -> Call {
    let (size, me, count) = (comm.size(), comm.rank(), random.below(30) as usize);
    let root = random.below(size as u64) as usize;
    let (peers, sum) = (&comm.peers, Operator::Predefined(Op::Sum));
    let from = |rank: usize, at: usize| brought(comm.procs[rank], at);
    let sums = |ranks: std::ops::Range<usize>| {
        (0..count).map(|at| ranks.clone().map(|rank| from(rank, at)).sum::<u64>()).collect::<Vec<u64>>()
    };
    let (mine, all) =
        (Memory::new((0..count).map(|at| from(me, at))), || (0..size).flat_map(|r| (0..count).map(move |a| (r, a))));
    let (one, many) = (Memory::new(vec![0; count]), Memory::new(vec![0; count * size]));
    let blocks = Memory::new((0..count * size).map(|at| from(me, at)));
    let is_root = me == root;
    let (input, result, schedule, expected) = match random.below(10) {
        0 => (mine, one, tern_coll::barrier(peers), None),
        1 => {
            let schedule = tern_coll::bcast(peers, &mine.buffer(count), Root::Rank(root as u32));
            (mine.clone(), mine, schedule, Some((0..count).map(|at| from(root, at)).collect()))
        }
        2 => {
            let schedule = tern_coll::allreduce(peers, Some(&mine.buffer(count)), &one.buffer(count), &sum);
            (mine, one, schedule, Some(sums(0..size)))
        }
        3 => {
            let output = one.buffer(count);
            let (input, output) = (mine.buffer(count), is_root.then_some(&output));
            let schedule = tern_coll::reduce(peers, Some(&input), output, &sum, Root::Rank(root as u32));
            (mine, one, schedule, is_root.then(|| sums(0..size)))
        }
        4 => {
            let schedule = tern_coll::scan(peers, Some(&mine.buffer(count)), &one.buffer(count), &sum);
            (mine, one, schedule, Some(sums(0..me + 1)))
        }
        5 => {
            let schedule = tern_coll::allgather(peers, Some(&mine.buffer(count)), &many.buffer(count));
            (mine, many, schedule, Some(all().map(|(rank, at)| from(rank, at)).collect()))
        }
        6 => {
            let recv = many.buffer(count);
            let schedule =
                tern_coll::gather(peers, Some(&mine.buffer(count)), is_root.then_some(&recv), Root::Rank(root as u32));
            (mine, many, schedule, is_root.then(|| all().map(|(rank, at)| from(rank, at)).collect()))
        }
        7 => {
            let send = blocks.buffer(count);
            let schedule =
                tern_coll::scatter(peers, is_root.then_some(&send), Some(&one.buffer(count)), Root::Rank(root as u32));
            (blocks, one, schedule, Some((0..count).map(|at| from(root, me * count + at)).collect()))
        }
        8 => {
            let schedule = tern_coll::alltoall(peers, Some(&blocks.buffer(count)), &many.buffer(count));
            (blocks, many, schedule, Some(all().map(|(rank, at)| from(rank, me * count + at)).collect()))
        }
        _ => {
            let schedule =
                tern_coll::reduce_scatter_block(peers, Some(&blocks.buffer(count)), &one.buffer(count), &sum);
            let of_all = |at: usize| (0..size).map(|rank| from(rank, me * count + at)).sum();
            (blocks, one, schedule, Some((0..count).map(of_all).collect()))
        }
    };
    Call { schedule, result, expected, input }
}

fn check(result: &Memory, expected: Option<Vec<u64>>) {
    if let Some(expected) = expected {
        assert_eq!(result.words(), expected);
    }
}

/// One that all wait for.
pub fn one(process: &Process, comm: &Comm, random: &mut Random) -> Done {
    process.begin(comm, "a collective");
    process.check(comm)?;
    let Call { schedule, result, expected, input: _input } = any(comm, random);
    process.outcome(tern_coll::run(process.adi, &comm.peers, schedule))?;
    check(&result, expected);
    Ok(())
}

/// Several that go on beside the program.
pub fn several(process: &Process, comm: &Comm, random: &mut Random) -> Done {
    process.begin(comm, "several collectives");
    process.check(comm)?;
    let mut under_way = Vec::new();
    for _ in 0..1 + random.below(3) {
        let Call { schedule, result, expected, input } = any(comm, random);
        let operation: Rc<Operation> = Rc::new(Operation::new(&comm.peers, schedule));
        let round: Rc<dyn Round> = operation.clone();
        process.collectives.start(process.adi, &round);
        under_way.push((operation, result, expected, input));
        process.pause();
    }
    process.adi.wait_until(&mut || under_way.iter().all(|(operation, ..)| operation.is_done()));
    let mut outcome = Ok(());
    for (operation, result, expected, _) in under_way {
        let done = process.outcome(operation.failure().map_or(Ok(()), Err));
        if done.is_ok() {
            check(&result, expected);
        }
        outcome = outcome.and(done);
    }
    outcome
}

/// The last one: what all bring together.
pub fn sum(process: &Process, comm: &Comm) -> Done<u64> {
    process.begin(comm, "the last sum");
    process.check(comm)?;
    let (mine, all) = (Memory::new([1 << process.adi.me()]), Memory::new([0]));
    let sum = Operator::Predefined(Op::Sum);
    let schedule = tern_coll::allreduce(&comm.peers, Some(&mine.buffer(1)), &all.buffer(1), &sum);
    process.outcome(tern_coll::run(process.adi, &comm.peers, schedule))?;
    Ok(all.words()[0])
}
