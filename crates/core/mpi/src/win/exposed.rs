//! Epochs of MPI_Win_start and MPI_Win_post (TERN_CHECK; MPI 5.0 sections 12.5.2, 12.5.5 and 12.7).
//!
//! When an origin has completed its epoch, it tells each target what it has done there, and which bytes it puts. The target stores
//! these when it has waited. So all that has changed in its memory before, but for accumulates, the target has stored itself.

use crate::check::active::{Run, common, merged};
use crate::check::noted::{Noted, TOLD, What, conflicts};
use crate::check::{function, is_on};
use crate::constants::*;
use crate::context::channel_tag;
use crate::error::Result;
use crate::exchange::Circle;
use crate::task;
use crate::win::image;
use crate::win::object::Win;
use crate::win::target::TargetSide;
use std::cell::{Cell, RefCell};

/// What is known of both epochs of a window at one process.
#[derive(Default)]
pub struct Ledger {
    /// The access epoch: its targets and assertion, and what it has done.
    targets: RefCell<Vec<u32>>,
    started: Cell<i32>,
    accesses: RefCell<Vec<Noted>>,
    puts: RefCell<Vec<Put>>,
    /// The exposure epoch: its origins and assertion, what calls of this process have done to the window meanwhile, and its memory
    /// before.
    origins: RefCell<Vec<u32>>,
    posted: Cell<i32>,
    touches: RefCell<Vec<Noted>>,
    before: RefCell<Vec<u8>>,
}

/// Bytes that go to a window: where each piece lies in it, in their order.
#[derive(Debug, PartialEq, Eq)]
struct Put {
    rank: u32,
    pieces: Vec<(i64, u64)>,
    bytes: Vec<u8>,
}

/// So many accesses of one epoch are told.
const NOTED: usize = 4096;

/// For what origins tell targets. No program has a handle of the window's communicator, so nothing else uses this channel.
fn circle(win: &Win) -> Circle {
    let procs = win.comm.local.procs.clone();
    Circle { context: win.comm.peers.context, tag: channel_tag(0), me: win.comm.rank as usize, procs }
}

/// An access epoch has begun.
pub fn started(win: &Win, targets: &[u32], assert: i32) {
    if is_on() {
        win.exposed.targets.replace(targets.to_vec());
        win.exposed.started.set(assert);
    }
}

fn noted(win: &Win, what: What, target: u32, runs: Vec<Run>) -> Noted {
    // Whatever one exposure epoch sees has the same number.
    let (origin, target) = (i64::from(win.comm.rank), i64::from(target));
    Noted { what, origin, target, fence: 0, phase: -1, function: function(), runs }
}

/// An access of such an epoch begins.
pub fn accessed(win: &Win, what: What, rank: u32, runs: Vec<Run>) {
    let mut accesses = win.exposed.accesses.borrow_mut();
    if accesses.len() < NOTED {
        accesses.push(noted(win, what, rank, runs));
    }
}

/// Whether puts to that window may wait until their target has waited.
pub fn takes_puts(win: &Win) -> bool {
    matches!(win.own.flavor, MPI_WIN_FLAVOR_CREATE | MPI_WIN_FLAVOR_ALLOCATE)
}

/// `bytes` are to be put there.
pub fn put(win: &Win, rank: u32, place: &TargetSide, bytes: Vec<u8>) {
    let base = place.displacement.wrapping_mul(win.window.disp_unit(rank));
    let pieces = place.datatype.layout.segments(base, place.count, 0, bytes.len() as u64).collect();
    win.exposed.puts.borrow_mut().push(Put { rank, pieces, bytes });
}

/// The access epoch has ended: each target is told. The call does not wait until it hears of it.
pub fn completed(win: &Win) {
    if !is_on() {
        return;
    }
    let (accesses, puts) = (win.exposed.accesses.take(), win.exposed.puts.take());
    for target in win.exposed.targets.take() {
        let told = encoded(win.exposed.started.get(), &accesses, &puts, target);
        let circle = circle(win);
        task::start(async move {
            circle.send(target as usize, &told).await;
            Ok(())
        });
    }
}

/// An exposure epoch begins.
pub fn posted(win: &Win, origins: &[u32], assert: i32) {
    if is_on() {
        win.exposed.origins.replace(origins.to_vec());
        win.exposed.posted.set(assert);
        win.exposed.touches.take();
        win.exposed.before.replace(image::of(win));
    }
}

/// A call of this process reads or writes memory of the window.
pub fn touched(win: &Win, what: What, runs: &[Run]) {
    let mut touches = win.exposed.touches.borrow_mut();
    if !win.exposed.origins.borrow().is_empty() && touches.len() < NOTED && !runs.is_empty() {
        touches.push(noted(win, what, win.comm.rank as u32, runs.to_vec()));
    }
}

/// All origins have completed: what they have done is compared with what this process has, and their puts are stored.
///
/// Errors: one of them is lost.
pub fn waited(win: &Win) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    let mut here = win.exposed.touches.take();
    let mut puts = Vec::new();
    for origin in win.exposed.origins.take() {
        let circle = circle(win);
        let told = task::run(async move { circle.receive(origin as usize).await })?;
        let (assert, accesses, theirs) = decoded(&told);
        compare_assertions(win, origin, assert, &accesses);
        here.extend(accesses);
        puts.extend(theirs);
    }
    let changed = image::changed(win, &win.exposed.before.take());
    here.extend(stores(win, changed, &here));
    for text in conflicts(&here).into_iter().take(TOLD) {
        tern_settings::warn!("race in {}: {text}", win.label());
    }
    puts.iter().for_each(|put| put.store(win));
    Ok(())
}

/// What the program has stored: what has changed, as far as no accumulate and no call has changed it.
fn stores(win: &Win, changed: Vec<Run>, here: &[Noted]) -> Option<Noted> {
    let directly = |noted: &&Noted| match noted.what {
        What::Accumulate | What::Store => true,
        What::Put => !takes_puts(win),
        What::Get | What::Load => false,
    };
    let known = merged(here.iter().filter(directly).flat_map(|noted| noted.runs.iter().copied()).collect());
    let runs: Vec<Run> = changed.into_iter().filter(|&run| common(&[run], &known).is_none()).collect();
    let stores = noted(win, What::Store, win.comm.rank as u32, runs);
    (!stores.runs.is_empty()).then(|| Noted { function: "a store of the program".into(), ..stores })
}

/// What both sides assert must be the same, and must be true (section 12.5.5).
fn compare_assertions(win: &Win, origin: u32, started: i32, accesses: &[Noted]) {
    let posted = win.exposed.posted.get();
    if (started ^ posted) & MPI_MODE_NOCHECK != 0 {
        let [with, without] = match posted & MPI_MODE_NOCHECK != 0 {
            true => ["MPI_Win_post here".to_owned(), format!("MPI_Win_start at rank {origin}")],
            false => [format!("MPI_Win_start at rank {origin}"), "MPI_Win_post here".to_owned()],
        };
        tern_settings::warn!(
            "{}: {with} was given MPI_MODE_NOCHECK in its argument assert, but the matching {without} was not: both must have it or \
             neither (section 12.5.5)",
            win.label()
        );
    }
    let writes = |noted: &&Noted| matches!(noted.what, What::Put | What::Accumulate);
    if posted & MPI_MODE_NOPUT != 0
        && let Some(put) = accesses.iter().find(writes)
    {
        tern_settings::warn!(
            "{}: MPI_Win_post was given MPI_MODE_NOPUT in its argument assert, but {} at rank {origin} has written to this window in \
             the epoch (section 12.5.5)",
            win.label(),
            put.function
        );
    }
}

impl Put {
    fn store(&self, win: &Win) {
        let mut from = 0;
        for &(at, len) in &self.pieces {
            let inside = at >= 0 && at.checked_add_unsigned(len).is_some_and(|end| end <= win.own.size);
            let Some(bytes) = self.bytes.get(from..from + len as usize).filter(|_| inside) else { return };
            // SAFETY: inside of the window's memory, which is this process's, as the program has said (MPI's own rule).
            unsafe { (win.own.base as *mut u8).offset(at as isize).copy_from(bytes.as_ptr(), bytes.len()) };
            from += len as usize;
        }
    }
}

/// What one target is told: the assertion, then accesses and puts, each with their number in front.
fn encoded(assert: i32, accesses: &[Noted], puts: &[Put], target: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let number = |out: &mut Vec<u8>, number: u64| out.extend_from_slice(&number.to_ne_bytes());
    number(&mut out, assert as u64);
    let mine: Vec<&Noted> = accesses.iter().filter(|noted| noted.target == i64::from(target)).collect();
    number(&mut out, mine.len() as u64);
    mine.into_iter().for_each(|noted| noted.encode(&mut out));
    for put in puts.iter().filter(|put| put.rank == target) {
        number(&mut out, put.pieces.len() as u64);
        put.pieces.iter().for_each(|&(at, len)| [at as u64, len].into_iter().for_each(|word| number(&mut out, word)));
        number(&mut out, put.bytes.len() as u64);
        out.extend_from_slice(&put.bytes);
    }
    out
}

fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (word, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_ne_bytes(*word))
}

/// The reverse; puts without their rank.
fn decoded(mut bytes: &[u8]) -> (i32, Vec<Noted>, Vec<Put>) {
    let bytes = &mut bytes;
    let (assert, count) = (word(bytes).unwrap_or(0) as i32, word(bytes).unwrap_or(0));
    let accesses = (0..count).map_while(|_| Noted::decode(bytes)).collect();
    let put = |bytes: &mut &[u8]| {
        let count = word(bytes)?;
        let pieces = (0..count).map(|_| Some((word(bytes)? as i64, word(bytes)?))).collect::<Option<_>>()?;
        let len = word(bytes)?;
        let (own, rest) = bytes.split_at_checked(len as usize)?;
        *bytes = rest;
        Some(Put { rank: 0, pieces, bytes: own.to_vec() })
    };
    (assert, accesses, std::iter::from_fn(|| put(bytes)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_told_what_concerns_it() {
        let noted = |target| Noted {
            what: What::Put,
            origin: 2,
            target,
            fence: 0,
            phase: -1,
            function: "MPI_Put".into(),
            runs: vec![(0, 4), (8, 12)],
        };
        let put = |rank| Put { rank, pieces: vec![(8, 4), (0, 4)], bytes: vec![7; 8] };
        let told = encoded(MPI_MODE_NOCHECK, &[noted(0), noted(1)], &[put(1), put(0), put(0)], 0);
        assert_eq!(decoded(&told), (MPI_MODE_NOCHECK, vec![noted(0)], vec![put(0), put(0)]));
        assert_eq!(decoded(&told[..told.len() - 1]).2.len(), 1);
        assert_eq!(decoded(&encoded(0, &[], &[], 3)), (0, vec![], vec![]));
    }
}
