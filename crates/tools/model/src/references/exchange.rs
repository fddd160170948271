//! Operations in which all members exchange with each other, in one step or in several.

use super::program::Program;
use crate::machine::Machine;
use crate::replay::Step;

/// All publish `bytes`, and each reads those of all others.
pub fn all_to_all_same(members: usize, bytes: usize) -> Program {
    let mut program = Program::new(members);
    let turns: Vec<(usize, u64)> = (0..members).map(|member| (member, program.publish(member, bytes))).collect();
    for member in 0..members {
        // Each begins behind itself, so that not all ask for one line.
        let others: Vec<(usize, u64)> = (1..members).map(|far| turns[(member + far) % members]).collect();
        program.take_all(member, &others, bytes);
    }
    program
}

/// The lines of the block of `bytes` for member `to`: which part, and how many bytes come with it.
fn block(to: usize, bytes: usize) -> (u64, usize) {
    match bytes < 64 {
        true => ((to * bytes / 64) as u64, 64),
        false => (to as u64, bytes),
    }
}

/// Of all that a member writes, in parts of one line at least.
fn write_blocks(program: &mut Program, member: usize, to: impl Iterator<Item = usize>, bytes: usize) {
    let turn = program.next(member);
    let mut parts: Vec<(u64, usize)> = to.map(|to| block(to, bytes)).collect();
    parts.dedup();
    parts.into_iter().for_each(|(part, bytes)| program.step(member, Step::WritePart { turn, part, bytes }));
}

/// The first publishes a block of `bytes` for each other member.
pub fn scatter_at_once(members: usize, bytes: usize) -> Program {
    let mut program = Program::new(members);
    write_blocks(&mut program, 0, 1..members, bytes);
    let turn = program.tell(0);
    for member in 1..members {
        program.await_all(member, &[(0, turn)]);
        let (part, bytes) = block(member, bytes);
        program.step(member, Step::ReadPart { owner: 0, turn, part, bytes });
    }
    program
}

/// Each publishes a block of `bytes` for each other member.
pub fn alltoall_at_once(members: usize, bytes: usize) -> Program {
    let mut program = Program::new(members);
    let mut turn = |member: usize| {
        write_blocks(&mut program, member, (0..members).filter(|&to| to != member), bytes);
        (member, program.tell(member))
    };
    let turns: Vec<(usize, u64)> = (0..members).map(&mut turn).collect();
    for member in 0..members {
        for far in 1..members {
            let (owner, turn) = turns[(member + far) % members];
            program.await_all(member, &[(owner, turn)]);
            let (part, bytes) = block(member, bytes);
            program.step(member, Step::ReadPart { owner, turn, part, bytes });
        }
    }
    program
}

/// Rounds in which each hears from `radix - 1` members that are farther each time; `bytes(round)` of each. A dissemination barrier, or
/// Bruck's algorithm.
pub fn dissemination(members: usize, radix: usize, bytes: impl Fn(usize) -> usize) -> Program {
    let mut program = Program::new(members);
    let strides = std::iter::successors(Some(1), |stride| Some(stride * radix)).take_while(|&stride| stride < members);
    for (round, stride) in strides.enumerate() {
        let turns: Vec<u64> = (0..members).map(|member| program.publish(member, bytes(round))).collect();
        for member in 0..members {
            let others = (1..radix).map(|far| far * stride).filter(|&far| far < members);
            let others: Vec<(usize, u64)> =
                others.map(|far| (member + members - far) % members).map(|from| (from, turns[from])).collect();
            program.take_all(member, &others, bytes(round));
        }
    }
    program
}

/// Rounds of Bruck's alltoall with that radix: in each, those blocks go on whose distance has the digit.
pub fn bruck_alltoall(members: usize, radix: usize, bytes: usize) -> Program {
    let mut program = Program::new(members);
    let strides = std::iter::successors(Some(1), |stride| Some(stride * radix)).take_while(|&stride| stride < members);
    for stride in strides {
        for digit in (1..radix).filter(|digit| digit * stride < members) {
            let blocks = (1..members).filter(|far| far / stride % radix == digit).count();
            let turns: Vec<u64> = (0..members).map(|member| program.publish(member, blocks * bytes)).collect();
            for member in 0..members {
                let from = (member + members - digit * stride) % members;
                program.take_all(member, &[(from, turns[from])], blocks * bytes);
            }
        }
    }
    program
}

/// The members that differ from `member` in one digit of a number system with those radices, the lowest first.
fn peers(member: usize, radices: &[usize], at: usize) -> Vec<usize> {
    let stride: usize = radices[..at].iter().product();
    let digit = member / stride % radices[at];
    (1..radices[at])
        .map(|far| (digit + far) % radices[at])
        .map(|other| member - digit * stride + other * stride)
        .collect()
}

/// A reduction to all in which each level's peers read the whole vectors of each other: recursive doubling where all radices are two.
pub fn multiply(members: usize, radices: &[usize], bytes: usize) -> Program {
    let mut program = Program::new(members);
    multiply_rounds(&mut program, members, radices, |_| bytes);
    program
}

/// The same of blocks that are put together: the allgather of `bytes` each.
pub fn multiply_blocks(members: usize, radices: &[usize], bytes: usize) -> Program {
    let mut program = Program::new(members);
    multiply_rounds(&mut program, members, radices, |at| radices[..at].iter().product::<usize>() * bytes);
    program
}

fn multiply_rounds(program: &mut Program, members: usize, radices: &[usize], bytes: impl Fn(usize) -> usize) {
    for at in 0..radices.len() {
        let turns: Vec<u64> = (0..members).map(|member| program.publish(member, bytes(at))).collect();
        for member in 0..members {
            let others: Vec<(usize, u64)> =
                peers(member, radices, at).into_iter().map(|peer| (peer, turns[peer])).collect();
            program.take_all(member, &others, bytes(at));
        }
    }
}

/// A reduction to all by a reduce-scatter and an allgather with a radix for each level. Each member combines its share of what its peers have, then the
/// next level's peers share that, and back.
pub fn scatter_gather(members: usize, radices: &[usize], bytes: usize) -> Program {
    let mut program = Program::new(members);
    let share = |levels: usize| bytes.div_ceil(radices[..levels].iter().product::<usize>());
    let digit = |member: usize, at: usize| member / radices[..at].iter().product::<usize>() % radices[at];
    for at in 0..radices.len() {
        let mut turn = |member: usize| {
            let (turn, bytes) = (program.next(member), share(at + 1));
            (0..radices[at] as u64).for_each(|part| program.step(member, Step::WritePart { turn, part, bytes }));
            program.tell(member)
        };
        let turns: Vec<u64> = (0..members).map(&mut turn).collect();
        for member in 0..members {
            let others: Vec<(usize, u64)> =
                peers(member, radices, at).into_iter().map(|peer| (peer, turns[peer])).collect();
            program.await_all(member, &others);
            let (part, bytes) = (digit(member, at) as u64, share(at + 1));
            others.iter().for_each(|&(owner, turn)| program.step(member, Step::ReadPart { owner, turn, part, bytes }));
        }
    }
    for at in (0..radices.len()).rev() {
        let turns: Vec<u64> = (0..members).map(|member| program.publish(member, share(at + 1))).collect();
        for member in 0..members {
            let others: Vec<(usize, u64)> =
                peers(member, radices, at).into_iter().map(|peer| (peer, turns[peer])).collect();
            program.take_all(member, &others, share(at + 1));
        }
    }
    program
}

/// Radices whose product is the number of members: those of the machine's levels, some of them put together or split in two.
pub fn radices(machine: &Machine, ranks: usize) -> Vec<Vec<usize>> {
    let mut levels = Vec::new();
    let mut rest = ranks;
    for (parts, _) in machine.levels() {
        // Of a level that does not divide them, as much as does.
        let level = (1..=parts.min(rest))
            .rev()
            .find(|&level| parts.min(rest).is_multiple_of(level) && rest.is_multiple_of(level))
            .unwrap_or(1);
        rest /= level;
        levels.push(level);
    }
    levels.retain(|&level| level > 1);
    if rest > 1 {
        levels.push(rest);
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    // Each border between two levels is there or not, and each level is whole or split.
    for kept in 0..1usize << levels.len().saturating_sub(1) {
        let mut whole = vec![levels.first().copied().unwrap_or(1)];
        for (at, &level) in levels.iter().enumerate().skip(1) {
            match kept >> (at - 1) & 1 {
                1 => whole.push(level),
                _ => *whole.last_mut().expect("a level") *= level,
            }
        }
        for smallest in [usize::MAX, 2, 3, 4, 6] {
            let split = whole.iter().flat_map(|&level| split(level, smallest)).collect();
            if !found.contains(&split) {
                found.push(split);
            }
        }
    }
    found
}

/// `level` as factors of `factor`, and what is left.
fn split(mut level: usize, factor: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    while factor < level && level.is_multiple_of(factor) {
        factors.push(factor);
        level /= factor;
    }
    if level > 1 {
        factors.push(level);
    }
    factors
}
