//! Blocking collectives by what is beside messages: each function asks the policy for a plan, and takes its ways. The plan depends only on
//! what all members know, so all of them take the same way. Where that is messages, the caller runs a schedule.

// Addresses are those of the program, which MPI trusts as C does.
#![allow(clippy::not_unsafe_ptr_arg_deref, clippy::too_many_arguments)]

use crate::blocks::{
    bcast_over, block_data, blocks_data, get, get_part, give_part, own, put, put_part, read_in_allgather,
    read_in_alltoall,
};
use crate::buffers::{Buffer, Operator, any_vector};
pub use crate::lines::Fast;
use crate::lines::declared::Own;
use crate::lines::region::Part;
use crate::lines::shared;
use crate::lines::{Done, Kind, Lines, MORE, Mismatch};
use crate::ops::Vector;
use crate::peers::Peers;
use std::cell::Cell;
use std::rc::Rc;
use tern_adi::Adi;
use tern_layout::Type;
use tern_policy::collective::{CollPlan, CollReason, CollStep, CollWay, Collective, NoRegion, Operands, Shape};

/// Does `each` with the first byte and the length of every part of `len` bytes, until one fails. Of nothing there is one part.
fn in_parts(
    len: usize, part: usize, mut each: impl FnMut(usize, usize) -> Result<(), Mismatch>,
) -> Result<(), Mismatch> {
    (0..len.max(1)).step_by(part.max(1)).try_for_each(|from| each(from, part.min(len - from)))
}

/// [`in_parts`] of what only the root looks at: where a member has refused its call, the others go on to the last part, since some of
/// them do not notice.
fn in_all_parts(
    len: usize, part: usize, mut each: impl FnMut(usize, usize) -> Result<(), Mismatch>,
) -> Result<(), Mismatch> {
    let mut refused = Ok(());
    in_parts(len, part, |from, some| {
        each(from, some).or_else(|wrong| match wrong {
            Mismatch::Refused { .. } => {
                refused = Err(wrong);
                Ok(())
            }
            _ => Err(wrong),
        })
    })?;
    refused
}

/// What became of a blocking call: the way that it took, and what came of it; `None` where that way is messages, which are still to go.
pub struct Taken {
    pub step: CollStep,
    pub done: Fast,
}

/// Follows a plan: `take` does what a way asks for, and gives `None` where a member has refused it, and for messages.
fn follow(plan: &CollPlan, mut take: impl FnMut(CollWay) -> Fast) -> Taken {
    if let Some(step) = plan.first {
        let done = take(step.way);
        if done.is_some() {
            return Taken { step, done };
        }
    }
    Taken { step: plan.last, done: take(plan.last.way) }
}

/// [`follow`] of a collective with a root: `take` is told where to leave why the root has told of no region, by which the reason of what was
/// taken is known.
fn follow_root(plan: &CollPlan, mut take: impl FnMut(CollWay, &Cell<Option<NoRegion>>) -> Fast) -> Taken {
    let ground = Cell::new(None);
    let mut taken = follow(plan, |way| take(way, &ground));
    if let CollReason::NoRegion(why) = &mut taken.step.reason {
        *why = ground.get();
    }
    taken
}

/// The shape of a reduction of so many elements, and its vector if the lines combine it.
fn reduction(op: &Operator, ty: &Type, count: i64) -> (Shape, Option<Vector>) {
    let vector = any_vector(op, ty, count);
    let commutative = op.is_commutative();
    let shape = match &vector {
        Some(vector) => Shape::of_vectors(vector.bytes, commutative),
        None => {
            let bytes = count as usize * ty.size() as usize;
            Shape { operands: Operands::Others { commutative }, ..Shape::of(bytes) }
        }
    };
    (shape, vector)
}

pub fn barrier(adi: &Adi, peers: &Peers) -> Taken {
    follow(&peers.plan(adi, Collective::Barrier, &Shape::of(0)), |way| match way {
        CollWay::Lines { .. } => Some(peers.lines(adi)?.barrier(adi)),
        CollWay::Tree { .. } => Some(peers.lines(adi)?.barrier_by_tree(adi)),
        CollWay::Levels { .. } => Some(peers.levels(adi)?.barrier(adi)),
        _ => None,
    })
}

pub fn bcast(adi: &Adi, peers: &Peers, buffer: &Buffer, root: u32) -> Taken {
    let len = buffer.bytes();
    follow_root(&peers.plan(adi, Collective::Bcast, &Shape::of(len)), |way, ground| match way {
        CollWay::Region => {
            let lines = peers.lines(adi)?;
            let all = |_| buffer.data();
            let part = match root as usize == lines.rank() {
                true => Part::Root { memory: buffer.data(), data: &all, meanwhile: &|| () },
                false => Part::Other(buffer.data(), 0),
            };
            told(lines.by_region(adi, &lines.task(Kind::Bcast, root, len), part), ground)
        }
        CollWay::Lines { .. } => Some(bcast_over(peers.lines(adi)?, adi, root as usize, buffer, None)),
        CollWay::Tree { part } => Some(bcast_over(peers.lines(adi)?, adi, root as usize, buffer, Some(part))),
        CollWay::Levels { .. } => Some(peers.levels(adi)?.bcast(adi, buffer, root)),
        _ => None,
    })
}

/// What came of a region; where there is none, `ground` has why.
fn told(done: Result<Done, NoRegion>, ground: &Cell<Option<NoRegion>>) -> Fast {
    done.map_err(|why| ground.set(Some(why))).ok()
}

/// A gather or a scatter of `len` bytes for each, by a region of the root's: `all` are its blocks, there alone, and `block` is that of
/// another member.
fn by_region(
    lines: &Lines, adi: &Adi, (kind, root, len): (Kind, u32, usize), all: Option<&Buffer>, block: Option<&Buffer>,
    meanwhile: &dyn Fn(), ground: &Cell<Option<NoRegion>>,
) -> Fast {
    let task = lines.task(kind, root, len);
    let Some(all) = all else {
        return told(lines.by_region(adi, &task, Part::Other(block?.data(), lines.rank() * len)), ground);
    };
    let data = |rank| block_data(all, rank);
    let part = Part::Root { memory: blocks_data(all, lines.size()), data: &data, meanwhile };
    told(lines.by_region(adi, &task, part), ground)
}

/// `send` is `None` for MPI_IN_PLACE at the root; `recv` is there at the root.
pub fn gather(adi: &Adi, peers: &Peers, send: Option<&Buffer>, recv: Option<&Buffer>, root: u32) -> Taken {
    let len = send.or(recv).map_or(0, Buffer::bytes);
    follow_root(&peers.plan(adi, Collective::Gather, &Shape::of(len)), |way, ground| {
        let lines = peers.lines(adi)?;
        let all = recv.filter(|_| root as usize == lines.rank());
        let keep_own = || send.into_iter().zip(all).for_each(|(send, all)| own(send, 0, all, root as usize));
        let part = match way {
            CollWay::Region => return by_region(lines, adi, (Kind::Gather, root, len), all, send, &keep_own, ground),
            CollWay::Lines { part } => part,
            _ => return None,
        };
        keep_own();
        Some(in_all_parts(len, part, |from, some| {
            let give = |out: &mut [u8]| send.into_iter().for_each(|send| get_part(send, 0, from, out));
            let take = |rank: usize, bytes: &[u8]| recv.into_iter().for_each(|recv| put_part(recv, rank, from, bytes));
            lines.gather_part(adi, root as usize, some, from + some < len, give, take)
        }))
    })
}

/// `send` is there at the root; `recv` is `None` for MPI_IN_PLACE there.
pub fn scatter(adi: &Adi, peers: &Peers, send: Option<&Buffer>, recv: Option<&Buffer>, root: u32) -> Taken {
    let len = recv.or(send).map_or(0, Buffer::bytes);
    follow_root(&peers.plan(adi, Collective::Scatter, &Shape::of(len)), |way, ground| {
        let lines = peers.lines(adi)?;
        let all = send.filter(|_| root as usize == lines.rank());
        let keep_own = || recv.into_iter().zip(all).for_each(|(recv, all)| own(all, root as usize, recv, 0));
        match way {
            CollWay::Region => return by_region(lines, adi, (Kind::Scatter, root, len), all, recv, &keep_own, ground),
            CollWay::Lines { .. } => {}
            _ => return None,
        }
        keep_own();
        let root = root as usize;
        let give = |out: &mut [u8]| {
            let send = send.expect("the root has data to send");
            lines.others(root).zip(out.chunks_exact_mut(len.max(1))).for_each(|(rank, out)| get(send, rank, out));
        };
        let take = |bytes: &[u8]| recv.into_iter().for_each(|recv| put(recv, 0, bytes));
        Some(lines.scatter(adi, root, len, give, take))
    })
}

/// `send` is `None` for MPI_IN_PLACE: the own block is in `recv` already.
pub fn allgather(adi: &Adi, peers: &Peers, send: Option<&Buffer>, recv: &Buffer) -> Taken {
    let (len, me) = (recv.bytes(), peers.rank as usize);
    let keep_own = || send.into_iter().for_each(|send| own(send, 0, recv, me));
    let plan = peers.plan(adi, Collective::Allgather, &Shape::of(len));
    use_memory(adi, peers, &plan, |lines| [read_in_allgather(lines, send, recv)]);
    follow(&plan, |way| match way {
        CollWay::InPlace => {
            let lines = peers.lines(adi)?;
            let target = |rank: usize| block_data(recv, rank);
            let source = read_in_allgather(lines, send, recv);
            let done = shared::done(lines.exchange_shared(adi, Kind::Allgather, len, source, 0, target));
            done.inspect(|_| keep_own())
        }
        CollWay::Lines { part } => {
            let lines = peers.lines(adi)?;
            keep_own();
            Some(in_parts(len, part, |from, some| {
                let give = |out: &mut [u8]| give_part(recv, me, from, out);
                lines.allgather(adi, len, some, give, |rank, bytes| put_part(recv, rank, from, bytes))
            }))
        }
        CollWay::Tree { .. } => {
            let lines = peers.lines(adi)?;
            keep_own();
            let give = |out: &mut [u8]| get(recv, me, out);
            let take = |rank: usize, bytes: &[u8]| {
                if rank != me {
                    put(recv, rank, bytes);
                }
            };
            Some(lines.allgather_by_tree(adi, len, give, take))
        }
        CollWay::Levels { .. } => Some(peers.levels(adi)?.allgather(adi, peers.rank, send, recv)),
        _ => None,
    })
}

/// `send` is `None` for MPI_IN_PLACE.
pub fn alltoall(adi: &Adi, peers: &Peers, send: Option<&Buffer>, recv: &Buffer) -> Taken {
    let (len, me) = (recv.bytes(), peers.rank as usize);
    let keep_own = || send.into_iter().for_each(|send| own(send, me, recv, me));
    let plan = peers.plan(adi, Collective::Alltoall, &Shape::of(len));
    use_memory(adi, peers, &plan, |lines| [read_in_alltoall(lines, send, recv)]);
    follow(&plan, |way| {
        let lines = peers.lines(adi)?;
        let part = match way {
            CollWay::InPlace => {
                let target = |rank: usize| block_data(recv, rank);
                let source = read_in_alltoall(lines, send, recv);
                let done = shared::done(lines.exchange_shared(adi, Kind::Alltoall, len, source, me * len, target));
                return done.inspect(|_| keep_own());
            }
            CollWay::Lines { part } => part,
            _ => return None,
        };
        keep_own();
        let source = send.unwrap_or(recv);
        Some(in_parts(len, part, |from, some| {
            let give = |out: &mut [u8]| {
                let blocks = lines.others(me).zip(out.chunks_exact_mut(some.max(1)));
                blocks.for_each(|(rank, out)| give_part(source, rank, from, out));
            };
            lines.alltoall(adi, len, some, give, |rank, bytes| put_part(recv, rank, from, bytes))
        }))
    })
}

/// Where members do not read in place this time, their memory counts as used all the same.
fn use_memory<const N: usize>(adi: &Adi, peers: &Peers, plan: &CollPlan, own: impl FnOnce(&Lines) -> [Own; N]) {
    if let Some(lines) = peers.lines(adi).filter(|_| plan.uses_memory) {
        lines.use_memory(adi, &own(lines));
    }
}

/// `send` is null for MPI_IN_PLACE (at the root); `recv` matters at the root.
pub fn reduce(
    adi: &Adi, peers: &Peers, send: *const u8, recv: *mut u8, count: i64, ty: &Rc<Type>, op: &Operator, root: u32,
) -> Taken {
    let (shape, vector) = reduction(op, ty, count);
    let plan = peers.plan(adi, Collective::Reduce, &shape);
    use_memory(adi, peers, &plan, |_| [(send, shape.bytes)]);
    let input = if send.is_null() { recv.cast_const() } else { send };
    follow(&plan, |way| match way {
        CollWay::Shares => {
            // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
            shared::done(unsafe { peers.lines(adi)?.reduce_by_shares(adi, root, vector.as_ref()?, send, recv) })
        }
        CollWay::Lines { part } => {
            let (lines, vector) = (peers.lines(adi)?, vector.as_ref()?);
            let size = (vector.bytes / vector.elements.max(1)).max(1);
            let whole = vector.bytes;
            Some(in_all_parts(whole, part - part % size, |from, some| {
                let more = if from + some < whole { MORE } else { 0 };
                let vector = Vector { elements: some / size, bytes: some, more, ..*vector };
                let (input, out) =
                    (input.wrapping_add(from), if recv.is_null() { recv } else { recv.wrapping_add(from) });
                // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
                unsafe { lines.reduce(adi, Some(root as usize), &vector, input, out) }
            }))
        }
        CollWay::Tree { part } => {
            let (lines, vector) = (peers.lines(adi)?, vector.as_ref()?);
            // SAFETY: as above.
            Some(unsafe { lines.reduce_by_tree(adi, Some(root as usize), vector, part, input, recv) })
        }
        CollWay::Levels { part } => {
            let result = Buffer { base: recv, count, ty: ty.clone() };
            // SAFETY: as above.
            Some(unsafe {
                peers.levels(adi)?.reduce(adi, peers.rank, (vector.as_ref()?, part), input, &result, op, root)
            })
        }
        _ => None,
    })
}

/// `send` is null for MPI_IN_PLACE.
pub fn allreduce(adi: &Adi, peers: &Peers, send: *const u8, recv: &Buffer, op: &Operator) -> Taken {
    let Buffer { base: out, count, ref ty } = *recv;
    let (shape, vector) = reduction(op, ty, count);
    let plan = peers.plan(adi, Collective::Allreduce, &shape);
    use_memory(adi, peers, &plan, |lines| lines.read_in_allreduce(send, out, shape.bytes));
    let input = if send.is_null() { out.cast_const() } else { send };
    follow(&plan, |way| match way {
        CollWay::InPlace => {
            // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
            shared::done(unsafe { peers.lines(adi)?.allreduce_shared(adi, vector.as_ref()?, send, out) })
        }
        CollWay::Lines { part } => {
            let (lines, vector) = (peers.lines(adi)?, vector.as_ref()?);
            // SAFETY: as above.
            Some(unsafe {
                match vector.bytes <= part {
                    true => lines.reduce(adi, None, vector, input, out),
                    false => lines.allreduce_long(adi, vector, input, out),
                }
            })
        }
        CollWay::Tree { part } => {
            let (lines, vector) = (peers.lines(adi)?, vector.as_ref()?);
            // SAFETY: as above.
            Some(unsafe { lines.reduce_by_tree(adi, None, vector, part, input, out) })
        }
        CollWay::Levels { part } => {
            // SAFETY: as above.
            Some(unsafe { peers.levels(adi)?.allreduce(adi, (vector.as_ref()?, part), input, recv, op) })
        }
        _ => None,
    })
}

/// MPI_Scan, or MPI_Exscan if `exclusive`. `send` is null for MPI_IN_PLACE.
pub fn scan(
    adi: &Adi, peers: &Peers, exclusive: bool, send: *const u8, recv: *mut u8, count: i64, ty: &Type, op: &Operator,
) -> Taken {
    let (shape, vector) = reduction(op, ty, count);
    let plan = peers.plan(adi, Collective::Scan, &shape);
    use_memory(adi, peers, &plan, |_| [(send, shape.bytes)]);
    let input = if send.is_null() { recv.cast_const() } else { send };
    follow(&plan, |way| {
        let (lines, vector) = (peers.lines(adi)?, vector.as_ref()?);
        // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
        unsafe {
            match way {
                CollWay::Shares => shared::done(lines.scan_by_shares(adi, exclusive, vector, send, recv)),
                CollWay::Lines { .. } => Some(lines.scan(adi, exclusive, vector, input, recv)),
                _ => None,
            }
        }
    })
}

/// `count` elements for each rank; `send` is null for MPI_IN_PLACE.
pub fn reduce_scatter_block(
    adi: &Adi, peers: &Peers, send: *const u8, recv: *mut u8, count: i64, ty: &Type, op: &Operator,
) -> Taken {
    let (shape, vector) = reduction(op, ty, count);
    let plan = peers.plan(adi, Collective::ReduceScatter, &shape);
    use_memory(adi, peers, &plan, |lines| [(send, shape.bytes * lines.size())]);
    let input = if send.is_null() { recv.cast_const() } else { send };
    follow(&plan, |way| {
        let (lines, vector) = (peers.lines(adi)?, vector.as_ref()?);
        // SAFETY: the program's buffers hold a block for each rank, and one (MPI's own rule).
        unsafe {
            match way {
                CollWay::InPlace => shared::done(lines.reduce_scatter_shared(adi, vector, send, recv)),
                CollWay::Lines { .. } => Some(lines.reduce_scatter(adi, vector, input, recv)),
                _ => None,
            }
        }
    })
}
