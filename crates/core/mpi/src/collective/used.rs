//! Notes the ways of collectives, where the user has asked for that (TERN_EXPLAIN=used).

use super::called;
use crate::objects::Comm;
use crate::runtime::adi;
use tern_coll::lines::refusal::Known;
use tern_coll::{Algorithm, CollReason, CollStep, CollWay, Without};

/// A collective goes by a way beside messages.
#[cold]
pub fn note_step(comm: &Comm, known: &Known, step: CollStep) {
    note(comm, known, &step.way.text(), step.reason);
}

/// A collective goes by messages, with that algorithm if there is a choice. `step`: the last of its plan; there is none for a call whose members
/// do not know each other's lengths.
#[cold]
pub fn note_messages(comm: &Comm, known: &Known, algorithm: Option<Algorithm>, step: Option<CollStep>) {
    let reason = match step {
        Some(step) => step.reason,
        None if comm.is_inter() => CollReason::Without(Without::TwoGroups),
        None => CollReason::Unequal,
    };
    // Where there is one algorithm the schedule names none, and the plan does.
    let planned = match step.map(|step| step.way) {
        Some(CollWay::Schedule(planned)) if !comm.is_inter() => Some(planned),
        _ => None,
    };
    note(comm, known, &by_messages(algorithm.or(planned)), reason);
}

/// A nonblocking collective starts, with that algorithm if there is a choice.
#[cold]
pub fn note_nonblocking(comm: &Comm, known: &Known, algorithm: Option<Algorithm>) {
    note(comm, known, &by_messages(algorithm), CollReason::Nonblocking);
}

/// A persistent collective is made, with that algorithm if there is a choice; `on_lines`: it has control lines of its own.
#[cold]
pub fn note_persistent(comm: &Comm, known: &Known, algorithm: Option<Algorithm>, on_lines: bool) {
    let way = if on_lines { "control lines of its own".into() } else { by_messages(algorithm) };
    note(comm, known, &way, CollReason::Persistent);
}

fn by_messages(algorithm: Option<Algorithm>) -> String {
    algorithm.map_or("messages".into(), |algorithm| format!("messages, {algorithm}"))
}

fn note(comm: &Comm, known: &Known, way: &str, reason: CollReason) {
    let crowded = if comm.peers.crowded { ", more than cores" } else { "" };
    let peers = format!("{} processes{crowded}", comm.size());
    adi().note_way(&called::name(known.call), &peers, known.bytes, way, &reason.why().to_string());
}
