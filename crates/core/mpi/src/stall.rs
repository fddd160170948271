//! What this process waits for, told when nothing has moved for TERN_STALL or when the launcher asks.
//!
//! A call that waits says so after each of its sleeps ([`tern_adi::Observer`]); a program that calls
//! MPI_Test or MPI_Iprobe in a loop is noticed where its calls begin. Nothing of that runs unless
//! TERN_STALL is set.

use crate::guarded::Guarded;
use crate::identity::{self, Identity};
use crate::noted;
use crate::observe::{self, ACTIVITY};
use crate::python;
use crate::reach;
use crate::runtime::{adi, installed, runtime};
use crate::underway::{divided, lock_name, under_way};
use crate::win::{Win, wins};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tern_adi::Awaited;
use tern_pmi::report::{Item, Other, Report, What};

/// How often a program that does not wait inside MPI looks whether it was asked.
const LOOK: Duration = Duration::from_millis(100);

/// How many transfers and messages a report lists besides those that are waited for.
const LISTED: usize = 6;

struct State {
    /// The wait that goes on has been told already.
    told: Cell<bool>,
    /// How long nothing had moved at the last sleep.
    idle: Cell<Duration>,
    /// Since when calls that look have found nothing.
    vain: Cell<Option<Instant>>,
    looked: Cell<Option<Instant>>,
}

static STATE: Guarded<State> = Guarded::new(State {
    told: Cell::new(false),
    idle: Cell::new(Duration::ZERO),
    vain: Cell::new(None),
    looked: Cell::new(None),
});

/// Begins to watch, if TERN_STALL is set or if others are on other nodes. MPI has just come up.
pub fn start() {
    if is_told() || noted::is_on() {
        observe();
    }
    if is_told() {
        ACTIVITY.note(true, "MPI_Init");
        ACTIVITY.note(false, "MPI_Init");
        if let Some(control) = &runtime().job.control {
            control.observed(&ACTIVITY);
        }
    }
}

fn is_told() -> bool {
    !tern_settings::STALL.get().is_zero()
}

/// From now on each sleep of a call is looked at.
pub fn observe() {
    adi().observe(Rc::new(|_, idle, awaited| {
        python::slept(idle);
        if is_told() {
            slept(idle, &awaited);
        }
        reach::slept(awaited);
    }));
}

/// A call has slept, and nothing has moved for `idle`.
fn slept(idle: Duration, awaited: &Awaited) {
    let state = STATE.get();
    let limit = tern_settings::STALL.get();
    if idle < state.idle.replace(idle) {
        // Another wait.
        state.told.set(false);
    }
    let asked = is_asked();
    if asked || (idle >= limit && !state.told.get()) {
        // Told once; not again on its own, even if it was asked before its time.
        state.told.set(true);
        tell(&Report { idle, asked, ..report(Some(awaited)) });
    }
}

/// A call of `function` begins: is it one of many that find nothing?
pub fn called(function: &'static str) {
    if installed().is_none() || tern_settings::STALL.get().is_zero() {
        return;
    }
    let state = STATE.get();
    let now = Instant::now();
    let looks = ["MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status"];
    let polls = looks.iter().any(|start| function.starts_with(start)) && adi().mcm().vain() > 0;
    let since = match (polls, state.vain.get()) {
        (true, Some(since)) => since,
        (true, None) => now,
        (false, _) => {
            state.vain.set(None);
            return;
        }
    };
    if state.vain.replace(Some(since)).is_none() {
        state.told.set(false);
    }
    if state.looked.get().is_some_and(|last| now - last < LOOK) {
        return;
    }
    state.looked.set(Some(now));
    let idle = now - since;
    let asked = is_asked();
    if asked || (idle >= tern_settings::STALL.get() && !state.told.replace(true)) {
        tell(&Report { idle, asked, polls: true, ..report(None) });
    }
}

fn is_asked() -> bool {
    runtime().job.control.as_ref().is_some_and(|control| control.is_asked())
}

/// To the launcher, who makes one picture of all; or to the user, if there is none.
fn tell(report: &Report) {
    match &runtime().job.control {
        Some(control) => control.stalled(report),
        None => {
            let limit = tern_settings::STALL.get();
            let lines = report.lines().join("\n  ");
            tern_settings::warn!("nothing has moved for {limit:?} (TERN_STALL)\n  this process, {lines}");
        }
    }
}

/// What this process waits for and has under way.
fn report(awaited: Option<&Awaited>) -> Report {
    let (waits, besides) = divided(awaited);
    let besides: Vec<Item> = held_locks().into_iter().chain(besides.iter().map(under_way)).collect();
    let listed = besides[..besides.len().min(LISTED)].to_vec();
    Report {
        function: observe::function().to_owned(),
        any: matches!(awaited, Some(Awaited::Any(_))),
        others: others(waits.iter().chain(&listed)),
        waits,
        more: besides.len().saturating_sub(LISTED) as u32,
        besides: listed,
        ..Report::default()
    }
}

/// Who the processes of other jobs are that these items name.
fn others<'a>(items: impl Iterator<Item = &'a Item>) -> Vec<Other> {
    let mut numbers: Vec<u32> = items.flat_map(|item| item.peers.iter().copied()).collect();
    numbers.retain(|&number| number >= runtime().world_size);
    numbers.sort_unstable();
    numbers.dedup();
    let who = |number| {
        let Identity { job, rank } = identity::of(number);
        Other { number, job, rank }
    };
    numbers.into_iter().map(who).collect()
}

/// The locks that this process has.
fn held_locks() -> Vec<Item> {
    let wins = wins().borrow();
    let of_one = |win: &Rc<Win>| {
        let item = |(rank, alone): (Option<u32>, bool)| Item {
            what: if alone { What::HasAlone } else { What::HasShared },
            peers: Vec::new(),
            tag: None,
            bytes: None,
            comm: lock_name(win, rank),
        };
        win.window.held_locks().into_iter().map(item).collect::<Vec<_>>()
    };
    wins.iter().flat_map(of_one).collect()
}
