//! What a communicator's info keys promise of its messages (MPI 5.0 section 7.4.4), looked after: the call that breaks a promise is told, with the
//! values. No use is made of the promises of a program that is checked, so that messages are matched as the standard orders.

use crate::check::race::Posted;
use crate::check::{is_on, received as received_unpromised};
use crate::constants::*;
use crate::error::{Error, Result};
use crate::objects::comm::{ALLOW_OVERTAKING, EXACT_LENGTH, NO_ANY_SOURCE, NO_ANY_TAG};
use crate::objects::{Comm, Datatype};
use crate::request::Outcome;
use crate::runtime::adi;
use tern_adi::{Pattern, Pending, PendingKind, Status, Tuple};

const KEEP: &str =
    "keep what the info keys of the communicator promise, or do not set them (MPI_Comm_get_info tells them)";

/// Whether a receive or a probe may name these, if the program is checked.
///
/// Errors: the communicator promises that it does not use such a wildcard (MPI_ERR_RANK, MPI_ERR_TAG).
#[inline]
pub fn wildcards(comm: &Comm, source: i32, tag: i32) -> Result<()> {
    if is_on() { look_at_wildcards(comm, source, tag) } else { Ok(()) }
}

fn look_at_wildcards(comm: &Comm, source: i32, tag: i32) -> Result<()> {
    let promised = comm.assertions();
    if promised.no_any_source && source == MPI_ANY_SOURCE {
        return err!(MPI_ERR_RANK, try KEEP, "the source is MPI_ANY_SOURCE, but {} has {NO_ANY_SOURCE}=true", comm.label());
    }
    if promised.no_any_tag && tag == MPI_ANY_TAG {
        return err!(MPI_ERR_TAG, try KEEP, "the tag is MPI_ANY_TAG, but {} has {NO_ANY_TAG}=true", comm.label());
    }
    Ok(())
}

/// Whether a receive of `room` bytes may be posted, if the program is checked.
///
/// Errors: as of [`wildcards`]; messages may overtake each other, and of those that wait for this receive one has no room in it though
/// the first has (MPI_ERR_TRUNCATE).
#[inline]
pub fn receive(comm: &Comm, pattern: &Pattern, room: impl FnOnce() -> u64) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    look_at_wildcards(comm, pattern.source, pattern.tag)?;
    if comm.assertions().allow_overtaking { look_at_order(comm, pattern, room()) } else { Ok(()) }
}

/// What is under way of that kind, with what it is matched by.
fn under_way(kind: PendingKind) -> impl Iterator<Item = (Pattern, Pending)> {
    let is_of = move |pending: Pending| Some((pending.pattern?, pending)).filter(|(_, pending)| pending.what == kind);
    adi().pending().into_iter().filter_map(is_of)
}

fn look_at_order(comm: &Comm, pattern: &Pattern, room: u64) -> Result<()> {
    let waits = |(own, _): &(Pattern, Pending)| pattern.matches(&own.as_tuple());
    let mut waiting = under_way(PendingKind::Message).filter(waits);
    let Some((first, message)) = waiting.next() else { return Ok(()) };
    let Some((other, longer)) = waiting.find(|(other, message)| other.source == first.source && message.bytes > room)
    else {
        return Ok(());
    };
    if message.bytes > room {
        return Ok(());
    }
    err!(
        MPI_ERR_TRUNCATE,
        try KEEP,
        "two messages from rank {} wait for this receive of {room} bytes, one of {} bytes with tag {} and a later one of {} bytes with tag \
         {}, which it has no room for: by {ALLOW_OVERTAKING}=true, which {} has, either may be matched",
        first.source,
        message.bytes,
        first.tag,
        longer.bytes,
        other.tag,
        comm.label(),
    )
}

/// How a receive of `count` elements on `comm` ended.
#[inline]
pub fn received(comm: &Comm, status: Status, posted: Option<Posted>, count: i64, datatype: &Datatype) -> Outcome {
    let mut outcome = received_unpromised(status, posted, count, datatype);
    if is_on() && outcome.error.is_none() && !status.cancelled {
        let room = datatype.layout.size() as u64 * count as u64;
        outcome.error = wrong_length(comm, &status, room).or_else(|| wrong_order(comm, &status));
        if let Some(error) = &outcome.error {
            outcome.status.error = error.code;
        }
    }
    outcome
}

fn wrong_length(comm: &Comm, status: &Status, room: u64) -> Option<Box<Error>> {
    if !comm.assertions().exact_length || status.bytes == room {
        return None;
    }
    let text = format!(
        "the message from rank {} with tag {} has {} bytes, but its receive {room}: {} has {EXACT_LENGTH}=true",
        status.source,
        status.tag,
        status.bytes,
        comm.label(),
    );
    Some(Error::new(MPI_ERR_COUNT, text).advise(KEEP))
}

/// A message that an open receive had no room for, and could have been matched with.
fn wrong_order(comm: &Comm, status: &Status) -> Option<Box<Error>> {
    if !comm.assertions().allow_overtaking {
        return None;
    }
    let tuple = Tuple { context: comm.context, source: status.source, tag: status.tag };
    let is_too_short =
        |(pattern, receive): &(Pattern, Pending)| pattern.matches(&tuple) && receive.bytes < status.bytes;
    let (_, receive) = under_way(PendingKind::Receive).find(is_too_short)?;
    let text = format!(
        "the message of {} bytes from rank {} with tag {} could have been matched with another open receive, which has room for {}: by \
         {ALLOW_OVERTAKING}=true, which {} has, receives are matched in any order",
        status.bytes,
        status.source,
        status.tag,
        receive.bytes,
        comm.label(),
    );
    Some(Error::new(MPI_ERR_TRUNCATE, text).advise(KEEP))
}
