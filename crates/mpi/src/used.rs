//! Which ways messages and collectives have taken, and why: noted while the program runs, printed when MPI is finalised (TERN_EXPLAIN=used).

use crate::collective::called;
use crate::constants::{MPI_BYTE, MPI_INT32_T};
use crate::objects::Comm;
use crate::runtime::adi;
use crate::stats::buffer;
use std::io::Write;
use std::rc::Rc;
use tern_adi::Used;
use tern_coll::lines::refusal::Known;
use tern_coll::ops::Op;
use tern_coll::{Operator, Root};
use tern_counters as counters;
use tern_settings::{EXPLAIN, Explain};

/// Whether the user asks for it.
pub fn is_wanted() -> bool {
    EXPLAIN.get() == Explain::Used
}

/// Bytes of the rows of one process at most, lest a job of many processes has no room for all of them.
const LONGEST: i32 = 64 << 10;

/// Brings the rows of all processes to rank 0, which prints them. All processes call it.
pub fn print(world: &Rc<Comm>) {
    let Some(used) = own() else { return };
    let mut rows = used.encode().into_bytes();
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

/// What this process has noted, with the messages of the short path, which notes nothing.
fn own() -> Option<Box<Used>> {
    let mut used = adi().noted_ways()?;
    let messages = counters::SHORT.messages();
    let (way, reason) = ("one packet with its header", "it is shorter than any other way pays for");
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

/// What tells ways of a collective apart, before and after it.
#[derive(Clone, Copy, PartialEq)]
pub struct Before {
    in_place: u64,
    regions: u64,
}

/// To be taken before a collective.
pub fn before() -> Before {
    Before { in_place: counters::COLLECTIVE_SHARED.get(), regions: counters::COLLECTIVE_REGIONS.get() }
}

/// A collective goes over the lines of its communicator, by a region, in place or in two levels: by what has happened since `before`.
#[cold]
pub fn note_fast(comm: &Comm, known: &Known, before: Before) {
    let now = self::before();
    let (way, reason) = match () {
        () if now.regions > before.regions => {
            ("one region of the root's memory", "the costs and trials of its root tell so (rule region)")
        }
        () if now.in_place > before.in_place => (
            "members read each other's memory in place",
            "all of it is shared, and that was not slower (rule read-in-place)",
        ),
        () if comm.peers.lines(adi()).is_some() => {
            ("control lines in shared memory", "it is short enough for them, or another way was not sooner")
        }
        () => ("two levels: one leader for each node", "its members are on several nodes"),
    };
    note(comm, known, way, reason);
}

/// A collective goes by messages, with that algorithm if there is a choice.
#[cold]
pub fn note_messages(comm: &Comm, known: &Known, algorithm: Option<tern_coll::Algorithm>) {
    let way = match algorithm {
        Some(algorithm) => format!("messages, {algorithm}"),
        None => "messages".into(),
    };
    note(comm, known, &way, why_messages(comm, known));
}

fn why_messages(comm: &Comm, known: &Known) -> &'static str {
    match known.call.chosen() {
        _ if comm.is_inter() => "it has two groups",
        Some(collective) if comm.peers.selection.forces_messages(collective) => "TERN_COLL asks for that",
        _ if !tern_settings::COLL_LINES.get() => "TERN_COLL_LINES is off",
        _ if tern_settings::CHECK.get() => "TERN_CHECK looks at messages",
        None => "no other way is known for this operation",
        Some(_) if comm.size() == 1 => "there is one process",
        Some(_) if comm.peers.lines(adi()).is_none() => "its members have no shared memory for control lines",
        Some(_) if comm.size() == 2 => "of two processes messages find out whether one copy or two are sooner",
        Some(_) => "it is longer than the control lines serve, and no region was sooner",
    }
}

fn note(comm: &Comm, known: &Known, way: &str, reason: &str) {
    let crowded = if comm.peers.selection.is_crowded() { ", more than cores" } else { "" };
    let peers = format!("{} processes{crowded}", comm.size());
    adi().note_way(&called::name(known.call), &peers, known.bytes, way, reason);
}
