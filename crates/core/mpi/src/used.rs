//! Which ways messages and collectives have taken, and why: printed when MPI is finalised (TERN_EXPLAIN=used).

use crate::constants::{MPI_BYTE, MPI_INT32_T};
use crate::objects::Comm;
use crate::runtime::adi;
use crate::stats::buffer;
use std::io::Write;
use std::rc::Rc;
use tern_adi::Used;
use tern_coll::ops::Op;
use tern_coll::{Operator, Root};
use tern_counters as counters;

/// Bytes of the rows of one process at most, lest a job of many processes has no room for all of them.
const LONGEST: i32 = 64 << 10;

/// Brings the rows of all processes to rank 0, which prints them. All processes call it.
pub fn print(world: &Rc<Comm>) {
    let Some(used) = own() else { return };
    let mut rows = used.encode(LONGEST as usize).into_bytes();
    let Some(longest) = longest(world, rows.len()) else { return };
    rows.resize(longest, b'\n');
    let mut all = vec![b'\n'; if world.rank == 0 { longest * world.size() as usize } else { 0 }];
    let send = buffer(&mut rows, MPI_BYTE);
    let recv = (world.rank == 0).then(|| tern_coll::Buffer { count: longest as i64, ..buffer(&mut all, MPI_BYTE) });
    let gather = tern_coll::gather(&world.peers, Some(&send), recv.as_ref(), Root::Rank(0));
    if tern_coll::run(adi(), &world.peers, gather).is_err() || world.rank != 0 {
        return;
    }
    let mut together = Used::default();
    all.chunks(longest.max(1)).for_each(|rows| together.add(&String::from_utf8_lossy(rows)));
    // Nobody can be told when the standard error itself fails.
    _ = std::io::stderr().write_all(together.table(world.size() as usize).as_bytes());
}

/// What this process has noted, with the messages that are short enough for the short path, which are counted.
fn own() -> Option<Box<Used>> {
    let mut used = adi().noted_ways()?;
    let messages = counters::SHORT.messages();
    let (way, reason) = ("one packet with its header", "it is shorter than any other way pays for (by default)");
    used.note_many(messages, "send", "to all", counters::Lengths::END as u64, (way, reason));
    Some(used)
}

/// The longest of all processes' rows, in bytes.
fn longest(world: &Comm, own: usize) -> Option<usize> {
    let mut most = [i32::try_from(own).unwrap_or(LONGEST).min(LONGEST)];
    let buffer = buffer(&mut most, MPI_INT32_T);
    let reduction = tern_coll::allreduce(&world.peers, None, &buffer, &Operator::Predefined(Op::Max));
    tern_coll::run(adi(), &world.peers, reduction).ok()?;
    Some(most[0] as usize)
}
