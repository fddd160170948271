//! TERN_CHECK: looks for mistakes of the program that would show only elsewhere, or not at all.
//!
//! - Every send is synchronous, so that a program that relies on buffering hangs (TERN_STALL says where).
//! - A message carries a mark of its signature ([`mark`]); its receive compares (section 3.3.1).
//! - Memory of an operation that is under way is left alone by other calls, and by the program ([`active`], [`watch`]).
//! - Messages carry clocks, which show that two of them have raced ([`race`]).
//! - One-sided accesses of one epoch are compared (`win::checked`).
//! - Members of a collective first exchange what they call, and with which arguments ([`call`]).
//! - What a communicator's info keys promise of its messages is looked after ([`promised`]).
//! - A message of a ready send says so; its receive knows whether the message has waited for it ([`ready`]).
//! - What was never freed is listed by MPI_Finalize ([`crate::leaks`]).
//!
//! The mode must be on at all processes of a job. When it is off, the short ways know nothing of it: they
//! decline while calls are observed ([`crate::observe`]), and the control lines of collectives are not used.

pub mod active;
pub mod call;
pub mod mapped;
pub mod noted;
pub mod partition;
pub mod promised;
pub mod race;
pub mod ready;
pub mod uses;
pub mod watch;

use crate::advice::SAME_TYPES;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::exchange::Circle;
use crate::objects::{Comm, Datatype};
use crate::observe;
use crate::request::{Outcome, transfer_outcome};
use crate::runtime::{adi, runtime};
use crate::task;
use active::Use;
use call::{ALL, Call, Sign};
use race::Posted;
use std::rc::Rc;
use tern_adi::{SendMode, Status};
use tern_coll::{Buffer, BufferV, BufferW, Operator, Root};
use tern_layout::{Basic, Type};

/// Whether the program is checked.
#[inline]
pub fn is_on() -> bool {
    tern_settings::CHECK.get()
}

/// A call of `function` begins, and calls are noted.
pub fn called(function: &'static str) {
    if is_on() {
        race::called(function);
    }
}

// --- Messages ----------------------------------------------------------------------------------

/// Sends are synchronous while the program is checked.
#[inline]
pub fn mode(mode: SendMode) -> SendMode {
    if is_on() { SendMode::Synchronous } else { mode }
}

/// Runs `send`, which starts a send of `count` elements of `datatype`, so that the message carries their
/// mark.
#[inline]
pub fn marked<R>(count: i64, datatype: &Datatype, send: impl FnOnce() -> R) -> R {
    if !is_on() {
        return send();
    }
    let mark = mark(&datatype.layout, count) | if ready::is_sent() { READY } else { 0 };
    adi().mark(if mark >> KIND == MIXED { mark } else { mark | race::stamp() });
    let sent = send();
    adi().mark(0);
    sent
}

/// What marks the only basic type of a message, in the upper bits of a mark; 0 says nothing. Below it is the sender's clock.
const KIND: u32 = 24;
/// Of a ready send.
const READY: u32 = race::LAST as u32 + 1;
/// In place of it, for messages of several types: then a hash of them follows.
const MIXED: u32 = 0xff;

/// The mark of a message of `count` elements, without a clock: 0 says nothing, which packed data does.
fn mark(ty: &Type, count: i64) -> u32 {
    let mut runs = ty.signature(count.min(1)).map(|(basic, _)| basic.canonical());
    match runs.next() {
        None | Some(Basic::Packed) => 0,
        Some(first) if runs.all(|basic| basic == first) => (first as u32 + 1) << KIND,
        Some(_) => MIXED << KIND | ty.signature_hash(count) as u32 & (READY - 1),
    }
}

/// A mark in words.
fn named(mark: u32) -> String {
    match Basic::ALL.get((mark >> KIND).wrapping_sub(1) as usize) {
        Some(basic) => format!("of {basic:?}"),
        None => "of several types".into(),
    }
}

/// The mark that a message of `bytes` bytes must have for a receive of `count` elements; 0 says nothing.
fn expected(ty: &Type, count: i64, bytes: u64) -> u32 {
    if bytes == 0 {
        return 0;
    }
    let whole = bytes == ty.size() as u64 * count as u64;
    // A message may be shorter than its receive, whose beginning it must match then.
    match if whole { Some(count) } else { ty.count(bytes) } {
        Some(elements) if elements > 0 => mark(ty, elements),
        // A part of one element: of several types it is compared with nothing.
        _ => Some(mark(ty, 1)).filter(|mark| mark >> KIND != MIXED).unwrap_or(0),
    }
}

/// The error of a receive of `count` elements whose message has other types.
fn judge(status: &Status, count: i64, datatype: &Datatype) -> Option<Box<Error>> {
    let own = expected(&datatype.layout, count, status.bytes);
    let theirs = if status.mark >> KIND == MIXED { status.mark & !READY } else { status.mark >> KIND << KIND };
    if theirs == 0 || own == 0 || own == theirs || status.lost > 0 {
        return None;
    }
    let text = format!(
        "the message of {} bytes from rank {} with tag {} is {}, but this receive is {} ({}): the sequence of basic types \
         must be the same on both sides",
        status.bytes,
        status.source,
        status.tag,
        named(theirs),
        named(own),
        datatype.label(),
    );
    Some(Error::new(MPI_ERR_TYPE, text).advise(SAME_TYPES))
}

/// A receive is being posted, if the program is checked.
#[inline]
pub fn posted(pattern: tern_adi::Pattern) -> Option<Posted> {
    is_on().then(|| race::posted(Some(pattern)))
}

/// How a receive of `count` elements ended.
#[inline]
pub fn received(status: Status, posted: Option<Posted>, count: i64, datatype: &Datatype) -> Outcome {
    let mut outcome = transfer_outcome(status, true);
    if let Some(posted) = posted
        && outcome.error.is_none()
    {
        if !status.cancelled {
            let mixed = status.mark >> KIND == MIXED;
            race::received(posted, &status, if mixed { 0 } else { status.mark & (READY - 1) });
            if posted.waited && status.mark & READY != 0 {
                ready::tell(posted.function, &status);
            }
        }
        outcome.error = judge(&status, count, datatype);
        if let Some(error) = &outcome.error {
            outcome.status.error = error.code;
        }
    }
    outcome
}

// --- Collectives -------------------------------------------------------------------------------

/// The function that is being called, as all forms of it are called.
pub(crate) fn function() -> String {
    let name = observe::function();
    name.strip_suffix("_c").unwrap_or(name).to_owned()
}

/// Compares the calls of all members of `comm`. Returns when all have come.
pub async fn agree(comm: Rc<Comm>, call: Call) -> Result<()> {
    compare(comm.circle(), comm.label(), call).await
}

/// The same of the members of a circle, which is called `label`.
pub(crate) async fn compare(circle: Circle, label: String, mut call: Call) -> Result<()> {
    (call.clock, call.phase) = race::now();
    let all = circle.gather(&call.encode()).await?;
    let calls: Vec<Call> = all.iter().map(|bytes| Call::decode(bytes)).collect();
    let latest = calls.iter().fold((0, 0), |most, call| (call.clock.max(most.0), call.phase.max(most.1)));
    race::met(latest, circle.procs.len() == runtime().world_size as usize);
    call::compare(&label, &calls)
}

/// The same for a call without further arguments, if the program is checked.
pub async fn met(comm: &Rc<Comm>) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    agree(comm.clone(), Call { function: function(), ..Call::default() }).await
}

/// The same, blocking.
pub fn meet(comm: &Rc<Comm>) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    let comm = comm.clone();
    task::run(async move { met(&comm).await })
}

/// Its rank, if it is one of this group.
pub(crate) fn rank(root: Root) -> Option<i32> {
    match root {
        Root::Rank(rank) => Some(rank as i32),
        Root::Root | Root::None => None,
    }
}

/// The block of `buffer` for `peer`, or from it.
pub(crate) fn one(peer: Option<i32>, buffer: &Option<Buffer>) -> Vec<(i32, Sign)> {
    let block = |(peer, buffer): (i32, &Buffer)| (peer, sign(&buffer.ty, buffer.count));
    peer.zip(buffer.as_ref()).map(block).into_iter().collect()
}

/// What a reduction of `buffer` by `op` says.
pub(crate) fn reduction(buffer: Option<&Buffer>, op: &Operator) -> Call {
    let same = buffer.map(|buffer| sign(&buffer.ty, buffer.count));
    Call { op: Some(operation(op)), same, ..Call::default() }
}

fn operation(op: &Operator) -> String {
    match op {
        Operator::Predefined(op) => format!("MPI_{}", format!("{op:?}").to_uppercase()),
        Operator::User { commutative: true, .. } => "one of the program's, commutative".into(),
        Operator::User { .. } => "one of the program's".into(),
    }
}

/// What a collective with a block for each rank says, if the program is checked.
#[derive(Default)]
pub struct Blocks<'a> {
    pub root: Option<Root>,
    pub op: Option<&'a Operator>,
    pub gives: Vec<(i32, Sign)>,
    pub takes: Vec<(i32, Sign)>,
    /// The memory of it.
    pub uses: Vec<Use>,
    /// Each block is of an edge of a neighbourhood.
    pub edges: bool,
}

/// What a collective says, and its memory.
pub struct Said {
    pub call: Call,
    pub uses: Vec<Use>,
}

/// Says what `blocks` describes; nothing while the program is not checked.
pub fn blocks<'a>(blocks: impl FnOnce() -> Blocks<'a>) -> Option<Box<Said>> {
    is_on().then(|| {
        let Blocks { root, op, gives, takes, uses, edges } = blocks();
        let call = Call { root: root.and_then(rank), op: op.map(operation), gives, takes, edges, ..Call::default() };
        Box::new(Said { call, uses })
    })
}

/// One block for rank `peer`, or for all.
pub fn with(peer: Root, buffer: Option<&Buffer>) -> Vec<(i32, Sign)> {
    one(rank(peer), &buffer.cloned())
}

/// The same block for each rank.
pub fn for_all(buffer: Option<&Buffer>) -> Vec<(i32, Sign)> {
    one(Some(ALL), &buffer.cloned())
}

/// A block of so many elements for each rank.
pub fn each(counts: &[i64], ty: &Type) -> Vec<(i32, Sign)> {
    counts.iter().enumerate().map(|(rank, &count)| (rank as i32, sign(ty, count))).collect()
}

pub fn each_v(buffer: Option<&BufferV>) -> Vec<(i32, Sign)> {
    buffer.map_or_else(Vec::new, |buffer| each(&buffer.counts, &buffer.ty))
}

pub fn each_w(buffer: Option<&BufferW>) -> Vec<(i32, Sign)> {
    let Some(buffer) = buffer else { return Vec::new() };
    let blocks = buffer.counts.iter().zip(buffer.types.iter()).enumerate();
    blocks.map(|(rank, (&count, ty))| (rank as i32, sign(ty, count))).collect()
}

/// The longest list of runs in a message.
const RUNS: usize = 4;

/// What is said of `count` elements.
pub(crate) fn sign(ty: &Type, count: i64) -> Sign {
    let bytes = ty.size() as u64 * count.max(0) as u64;
    let packed = ty.uniform_basic() == Some(Basic::Packed);
    // 0 is for packed data, which matches anything.
    let hash = if packed { 0 } else { ty.signature_hash(count).max(1) };
    let mut runs: Vec<String> =
        ty.signature(count).take(RUNS).map(|(basic, times)| format!("{times} x {basic:?}")).collect();
    if runs.len() == RUNS {
        runs[RUNS - 1] = "...".into();
    }
    if runs.is_empty() {
        runs.push("nothing".into());
    }
    Sign { bytes, hash, text: format!("{} ({bytes} bytes)", runs.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basic(basic: Basic) -> Rc<Type> {
        Type::basic(basic)
    }

    #[test]
    fn marks_tell_types_apart_and_packed_data_matches() {
        let (int, float) = (basic(Basic::Int32), basic(Basic::Float32));
        assert_ne!(mark(&int, 1), mark(&float, 1));
        assert_eq!(mark(&int, 1), mark(&int, 1000));
        assert_eq!(mark(&int, 1), mark(&basic(Basic::Integer4), 1));
        assert_eq!(mark(&basic(Basic::Packed), 5), 0);
        assert!(named(mark(&int, 1)).contains("Int32"));
        assert_eq!(mark(&basic(Basic::TwoInt), 1), mark(&int, 2));
        let mixed = basic(Basic::FloatInt);
        assert_eq!(mark(&mixed, 1) >> KIND, MIXED);
        assert_ne!(mark(&mixed, 1), mark(&basic(Basic::DoubleInt), 1));
        assert!(named(mark(&mixed, 1)).contains("several"));
    }

    #[test]
    fn a_message_shorter_than_an_element_has_a_mark_if_the_element_has_one_type() {
        let (int, mixed) = (basic(Basic::Int32), basic(Basic::FloatInt));
        assert_eq!(expected(&int, 4, 0), 0);
        assert_eq!(expected(&int, 4, 3), mark(&int, 1));
        assert_eq!(expected(&int, 4, 16), mark(&int, 4));
        assert_eq!(expected(&mixed, 2, 8), mark(&mixed, 1));
        assert_eq!(expected(&mixed, 2, 4), 0);
    }

    #[test]
    fn signs_say_what_they_are() {
        assert_eq!(sign(&basic(Basic::Int32), 4).text, "4 x Int32 (16 bytes)");
        assert_eq!(sign(&basic(Basic::Int32), 0).text, "nothing (0 bytes)");
        assert_eq!(sign(&basic(Basic::DoubleInt), 9).text, "1 x Float64, 1 x Int32, 1 x Float64, ... (108 bytes)");
    }
}
