//! One-sided accesses that meet in memory (TERN_CHECK; MPI 5.0 section 12.7).
//!
//! The origin's memory belongs to an access until it is complete there ([`access`], [`synchronised`]). What accesses do to the
//! memory of windows is noted, and compared where all members meet: at a fence, and when the window is freed ([`compare`]). Puts of
//! a fence's epoch wait for its end, so that what their target stores there meanwhile is seen. Epochs of MPI_Win_start are
//! [`exposed`]'s.

use crate::check::active::{self, Access, Held, Run, Use, common, merged, restore, runs};
use crate::check::call::Call;
use crate::check::noted::{Noted, TOLD, What, conflicts};
use crate::check::{function, is_on, mapped, race};
use crate::constants::*;
use crate::error::{Error, Result};
use crate::observe;
use crate::request::{Outcome, Request};
use crate::task;
use crate::win::epoch::Kind;
use crate::win::object::{Win, wins};
use crate::win::target::{self, TargetSide};
use crate::win::{exposed, image};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tern_adi::Data;
use tern_layout::Type;
use tern_rma::{Exposure, Started, Target};

/// An access that is not complete at its origin.
struct Op {
    target: u32,
    /// The call that began it ([`observe::calls`]).
    call: u64,
    reads: Vec<Rc<Held>>,
    /// Its result, which is the library's until then.
    result: Option<(Rc<Held>, Box<[u8]>)>,
    /// The result may be what another process has written at the same time: the program can wait for it, as for a lock of its own.
    learns: bool,
}

impl Op {
    /// The access is complete at the origin. The error of a program that has changed memory of it.
    fn end(&mut self) -> Option<Box<Error>> {
        let changed = |held: &Rc<Held>| held.error();
        let error = self.reads.iter().find_map(changed);
        let error = error.or_else(|| self.result.as_ref().and_then(|(held, _)| changed(held)));
        self.reads.drain(..).for_each(|held| held.release());
        if let Some((held, bytes)) = self.result.take() {
            restore(&held.used.data, &bytes);
            held.release();
            if self.learns {
                race::informed();
            }
        }
        error
    }
}

/// A put that waits for the end of its epoch.
struct Waiting {
    bytes: Vec<u8>,
    rank: u32,
    displacement: i64,
    ty: Rc<Type>,
    count: i64,
}

/// What is known of the accesses of one window at one process.
#[derive(Default)]
pub struct Ledger {
    ops: RefCell<Vec<Rc<RefCell<Op>>>>,
    noted: RefCell<Vec<Noted>>,
    waiting: RefCell<Vec<Waiting>>,
    /// Targets that are locked for this process alone.
    exclusive: RefCell<Vec<u32>>,
    fences: Cell<i64>,
    /// Since the last fence, which another epoch may follow, an access was of a lock.
    locked: Cell<bool>,
    fenced: Cell<bool>,
    /// The window's memory here as the last fence has left it, or else as it was at this process's first lock; and the phase of that.
    before: RefCell<Vec<u8>>,
    since: Cell<Option<u64>>,
    /// Since then this process has locked its own memory.
    locked_here: Cell<bool>,
}

/// So many accesses are noted between two meetings.
const NOTED: usize = 4096;

/// Larger windows are not compared with what they were when this process has locked somebody.
const WATCHED: i64 = 64 << 10;

/// Begins an access to `place` at `rank`: `start` gets the memory for its result. `uses` are arguments that it reads.
#[inline]
pub fn access(
    win: &Win, what: What, rank: u32, place: &TargetSide, uses: &[Use], result: &Data,
    start: impl FnOnce(&Data) -> Result<Started>,
) -> Result<Started> {
    if !win.notes {
        return begin(win, what, rank, place, uses, result, start);
    }
    let before = win.window.before();
    let started = begin(win, what, rank, place, uses, result, start)?;
    win.window.note_access(what.name(), &place.target(rank), what == What::Accumulate, before);
    Ok(started)
}

fn begin(
    win: &Win, what: What, rank: u32, place: &TargetSide, uses: &[Use], result: &Data,
    start: impl FnOnce(&Data) -> Result<Started>,
) -> Result<Started> {
    if !is_on() {
        return start(result);
    }
    target::outcome(win, win.window.reaches(&place.target(rank)))?;
    let mut op = Op { target: rank, call: observe::calls(), reads: Vec::new(), result: None, learns: false };
    for used in uses {
        op.reads.push(active::hold(used.clone())?);
    }
    if !result.is_empty() {
        let held =
            active::hold(Use::writes(if what == What::Get { "origin_addr" } else { "result_addr" }, result.clone()))?;
        op.result = Some((held, vec![0; result.len()].into()));
    }
    let kind = win.epochs.kind();
    op.learns = kind == Kind::Passive && what == What::Accumulate;
    win.checked.locked.set(win.checked.locked.get() || win.checked.fenced.get() && kind == Kind::Passive);
    let own_lock = win.checked.exclusive.borrow().contains(&rank);
    let reached = place_runs(win, rank, place);
    if kind == Kind::Started {
        exposed::accessed(win, what, rank, reached.clone());
    }
    note(win, what, rank, (kind == Kind::Fence, kind == Kind::Passive && !own_lock), reached);
    let into = op.result.as_mut().map_or(Data::none(), |(_, bytes)| Data::Bytes(bytes.as_mut_ptr(), bytes.len()));
    let started = match (what, uses) {
        (What::Put, [origin]) if kind == Kind::Fence => {
            let (bytes, ty) = (active::image(&origin.data), place.datatype.layout.clone());
            let (displacement, count) = (place.displacement, place.count);
            win.checked.waiting.borrow_mut().push(Waiting { bytes, rank, displacement, ty, count });
            Ok(Started::Done)
        }
        (What::Put, [origin]) if kind == Kind::Started && exposed::takes_puts(win) => {
            exposed::put(win, rank, place, active::image(&origin.data));
            Ok(Started::Done)
        }
        _ => start(&into),
    };
    win.checked.ops.borrow_mut().push(Rc::new(RefCell::new(op)));
    started
}

/// Where an access goes in the window, in bytes from its beginning.
fn place_runs(win: &Win, rank: u32, place: &TargetSide) -> Vec<Run> {
    let unit = if win.is_dynamic() { 1 } else { win.window.disp_unit(rank) };
    let base = (place.displacement.wrapping_mul(unit)) as *mut u8;
    runs(&Data::Typed { base, count: place.count, ty: place.datatype.layout.clone() })
}

fn note(win: &Win, what: What, target: u32, (fence, beside): (bool, bool), runs: Vec<Run>) {
    let mut noted = win.checked.noted.borrow_mut();
    if noted.len() < NOTED && !runs.is_empty() {
        noted.push(Noted {
            what,
            origin: i64::from(win.comm.rank),
            target: i64::from(target),
            fence: if fence { win.checked.fences.get() } else { -1 },
            phase: race::phase().filter(|_| beside).map_or(-1, |phase| phase as i64),
            function: function(),
            runs,
        });
    }
}

/// A call reads or writes memory of this process: it may be in windows.
pub fn touched(access: Access, runs: &[Run]) {
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return };
    let wins = wins().borrow();
    for win in wins.iter().filter(|win| !win.is_dynamic()) {
        let (base, end) = (win.own.base as i64, win.own.base as i64 + win.own.size);
        if last.1 <= base || end <= first.0 {
            continue;
        }
        let inside = runs.iter().map(|run| (run.0.max(base) - base, run.1.min(end) - base)).filter(|run| run.0 < run.1);
        let what = if access == Access::Read { What::Load } else { What::Store };
        let me = win.comm.rank as u32;
        let alone = win.checked.exclusive.borrow().contains(&me);
        let inside: Vec<Run> = inside.collect();
        exposed::touched(win, what, &inside);
        note(win, what, me, (true, !alone), inside);
    }
}

/// The accesses to `target`, or to all, are complete at the origin.
///
/// Errors: the program has changed memory of one before (MPI_ERR_BUFFER).
pub fn synchronised(win: &Win, target: Option<u32>) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    let (ended, left) =
        win.checked.ops.take().into_iter().partition(|op| target.is_none_or(|rank| op.borrow().target == rank));
    win.checked.ops.replace(left);
    let ended: Vec<Rc<RefCell<Op>>> = ended;
    let errors: Vec<Box<Error>> = ended.iter().filter_map(|op| op.borrow_mut().end()).collect();
    errors.into_iter().next().map_or(Ok(()), Err)
}

/// Whether the memory that a window is made of is there, if the program is checked. From the first window on calls tell what they use.
///
/// Errors: it is not (MPI_ERR_BASE).
pub fn exists(exposure: &Exposure) -> Result<()> {
    if is_on() {
        active::tell(touched);
    }
    let Exposure::Existing { base, bytes } = *exposure else { return Ok(()) };
    let memory = [(base as i64, base as i64 + bytes as i64)];
    if is_on()
        && bytes > 0
        && let Some(at) = mapped::missing(Access::Write, &memory)
    {
        return err!(
            MPI_ERR_BASE,
            "the window has {bytes} bytes from {base:p} on, but at {at:#x} there is no memory of this process to write to: is the \
             size right?"
        );
    }
    Ok(())
}

/// This process has locked `rank`.
pub fn locked(win: &Win, rank: u32, exclusive: bool) {
    if is_on() {
        if exclusive {
            win.checked.exclusive.borrow_mut().push(rank);
        }
        begun(win);
        win.checked.locked_here.set(win.checked.locked_here.get() || rank == win.comm.rank as u32);
    }
}

/// This process has begun an epoch of locks: what it stores from now on may meet what others do.
pub fn begun(win: &Win) {
    if is_on() && win.checked.before.borrow().is_empty() && win.own.size <= WATCHED {
        remember(win, true);
    }
}

/// The lock of `rank` is given back, and what was under way there is complete.
pub fn unlocked(win: &Win, rank: u32) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    win.checked.exclusive.borrow_mut().retain(|locked| *locked != rank);
    synchronised(win, Some(rank))
}

/// The request of the access that the current call has begun, which ends with it.
pub fn requested(win: &Rc<Win>, request: Request) -> Request {
    let last = win.checked.ops.borrow().last().filter(|op| op.borrow().call == observe::calls()).cloned();
    let (scope, inner, whose) = (request.scope(), Rc::new(request), win.clone());
    let done = inner.clone();
    Request::work_ending(
        scope,
        move || done.is_done(),
        move || {
            let mut outcome: Outcome = inner.finish();
            if let Some(op) = &last {
                whose.checked.ops.borrow_mut().retain(|other| !Rc::ptr_eq(other, op));
                outcome.error = outcome.error.or(op.borrow_mut().end());
            }
            outcome
        },
    )
}

/// All members of the window meet in the current call: their accesses since the last time are compared, and conflicts told.
///
/// Errors: they do not make the same call.
pub fn compare(win: &Win) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    let call = Call { function: function(), ..Call::default() };
    let phase = race::phase().filter(|&phase| win.checked.since.get() == Some(phase) && !win.checked.locked_here.get());
    let (first, second) = (win.comm.circle(), win.comm.circle());
    task::run(crate::check::compare(first, win.label(), call))?;
    // Puts of this epoch have not come yet, for some members still wait for the others.
    let changed = image::changed(win, &win.checked.before.take());
    let own: Vec<u8> = win.checked.noted.take().iter().fold(Vec::new(), |mut out, noted| {
        noted.encode(&mut out);
        out
    });
    let all = task::run(async move { second.gather(&own).await })?;
    let me = i64::from(win.comm.rank);
    let mut here = Vec::new();
    for bytes in &all {
        let mut bytes = bytes.as_slice();
        here.extend(std::iter::from_fn(|| Noted::decode(&mut bytes)).filter(|noted| noted.target == me));
    }
    let stored = stores(win, changed, phase, &here);
    here.extend(stored);
    for text in conflicts(&here).into_iter().take(TOLD) {
        tern_settings::warn!("race in {}: {text}", win.label());
    }
    Ok(())
}

/// What the program has stored there: what has `changed`, as far as nobody else has written to it.
///
/// `phase`: the phase of this process, if it has met nobody since.
fn stores(win: &Win, changed: Vec<Run>, phase: Option<u64>, here: &[Noted]) -> Option<Noted> {
    let fence = win.checked.fences.get();
    let waits = |noted: &&Noted| noted.what == What::Put && noted.fence == fence;
    let written = here.iter().filter(|noted| matches!(noted.what, What::Put | What::Accumulate) && !waits(noted));
    let known = merged(written.flat_map(|noted| noted.runs.iter().copied()).collect());
    let runs: Vec<Run> = changed.into_iter().filter(|&run| common(&[run], &known).is_none()).collect();
    (!runs.is_empty()).then(|| Noted {
        what: What::Store,
        origin: i64::from(win.comm.rank),
        target: i64::from(win.comm.rank),
        fence,
        phase: phase.map_or(-1, |phase| phase as i64),
        function: "a store of the program".into(),
        runs,
    })
}

/// A fence is called. `precedes`: it may end an epoch.
pub fn fences(win: &Win, precedes: bool) {
    if win.checked.locked.take() && precedes {
        tern_settings::warn!(
            "MPI_Win_fence on {}: since the fence before it, this process has communicated under a lock, and two fences with \
             communication between them are an epoch, in which nothing may be locked: give that fence MPI_MODE_NOSUCCEED, or this \
             one MPI_MODE_NOPRECEDE (section 12.5.1)",
            win.label()
        );
    }
}

/// The puts that have waited for the end of their epoch. They must stay until the fence is over.
#[must_use]
pub struct Late(#[allow(dead_code, reason = "held, not read")] Vec<Vec<u8>>);

/// Begins what has waited for the fence that is being called.
pub fn late(win: &Win) -> Result<Late> {
    let mut bytes = Vec::new();
    if is_on() {
        for mut put in win.checked.waiting.take() {
            let origin = Data::Bytes(put.bytes.as_mut_ptr(), put.bytes.len());
            let to = Target { rank: put.rank, displacement: put.displacement, ty: &put.ty, count: put.count };
            target::outcome(win, win.window.put(&origin, &to))?;
            bytes.push(put.bytes);
        }
    }
    Ok(Late(bytes))
}

/// A fence is over. `succeeds`: another epoch follows.
///
/// Errors: as of [`synchronised`].
pub fn fenced(win: &Win, succeeds: bool) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    let synchronised = synchronised(win, None);
    win.checked.fenced.set(succeeds);
    win.checked.fences.set(win.checked.fences.get() + 1);
    remember(win, succeeds);
    synchronised
}

/// Keeps the window's memory here as it is now, to see what the program stores to it. `any`: somebody may access it before the
/// next fence.
pub fn remember(win: &Win, any: bool) {
    if !is_on() {
        return;
    }
    let before = if any { image::of(win) } else { Vec::new() };
    win.checked.before.replace(before);
    win.checked.since.set(race::phase());
    win.checked.locked_here.set(false);
}
