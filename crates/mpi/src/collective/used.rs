//! Notes the ways of collectives, where the user has asked for that (TERN_EXPLAIN=used).

use super::called;
use crate::objects::Comm;
use crate::runtime::adi;
use tern_coll::lines::refusal::Known;
use tern_counters as counters;

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
    note(comm, known, &by_messages(algorithm), why_messages(comm, known));
}

/// A nonblocking collective starts, with that algorithm if there is a choice.
#[cold]
pub fn note_nonblocking(comm: &Comm, known: &Known, algorithm: Option<tern_coll::Algorithm>) {
    note(comm, known, &by_messages(algorithm), "it is nonblocking, and nobody waits for the others meanwhile");
}

/// A persistent collective is made, with that algorithm if there is a choice; `on_lines`: it has control lines of its own.
#[cold]
pub fn note_persistent(comm: &Comm, known: &Known, algorithm: Option<tern_coll::Algorithm>, on_lines: bool) {
    match on_lines {
        true => note(comm, known, "control lines of its own", "it is persistent, and short enough for them"),
        false => note(comm, known, &by_messages(algorithm), "it is persistent, and control lines do not serve it"),
    }
}

fn by_messages(algorithm: Option<tern_coll::Algorithm>) -> String {
    algorithm.map_or("messages".into(), |algorithm| format!("messages, {algorithm}"))
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
