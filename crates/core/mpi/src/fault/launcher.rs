//! Losses that the launcher tells of.
//!
//! The devices see most of them sooner: on a node by the locks of processes, elsewhere by connections. No device sees the end of a process of
//! another node that this one has no connection to, or of one of another world that has ended before it could be met. What the launcher
//! says counts after a while, in which a device takes what the lost process had sent, and tells of the loss itself.

use crate::guarded::Guarded;
use crate::identity::{self, Identity};
use crate::runtime::{adi, runtime};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How often the launcher is asked by a process that waits.
const OFTEN: Duration = Duration::from_millis(20);

/// How long a device has to tell of a loss itself.
const GRACE: Duration = Duration::from_millis(200);

struct State {
    looked: Cell<Option<Instant>>,
    /// Those whose loss a device may still tell of, and since when that is known.
    fresh: RefCell<Vec<(Identity, Instant)>>,
    /// Those of other worlds that this process has not come to know.
    strangers: RefCell<BTreeSet<Identity>>,
    /// How many processes it had come to know when it last looked for them among the strangers.
    met: Cell<usize>,
}

static STATE: Guarded<State> = Guarded::new(State {
    looked: Cell::new(None),
    fresh: RefCell::new(Vec::new()),
    strangers: RefCell::new(BTreeSet::new()),
    met: Cell::new(0),
});

/// Looks whether the launcher has said something. Comes while nothing moves.
pub fn look() {
    let (state, now) = (STATE.get(), Instant::now());
    if state.looked.get().is_some_and(|last| now - last < OFTEN) {
        return;
    }
    state.looked.set(Some(now));
    let Some(control) = runtime().control() else { return };
    let mut fresh = state.fresh.borrow_mut();
    fresh.extend(control.lost().into_iter().map(|lost| (Identity { job: lost.job_id, rank: lost.rank }, now)));
    let mut strangers = state.strangers.borrow_mut();
    fresh.retain(|(lost, since)| {
        let is_due = now - *since >= GRACE;
        if is_due && !declare(lost) && lost.job != runtime().job.job_id {
            strangers.insert(*lost);
        }
        !is_due
    });
    let met = identity::met();
    if state.met.replace(met) != met {
        strangers.retain(|lost| !declare(lost));
    }
}

/// Has a process counted as lost, unless it is this one. False if this one does not know it.
fn declare(lost: &Identity) -> bool {
    let proc = identity::number(lost);
    if let Some(proc) = proc.filter(|&proc| proc != runtime().me) {
        adi().declare_lost(proc, "the launcher has seen its process end without MPI_Finalize");
    }
    proc.is_some()
}

/// Whether the launcher has told that a process of another world is lost, which this one has not come to know.
pub fn has_lost_of(job: u64) -> bool {
    look();
    let state = STATE.get();
    let of_job = Identity { job, rank: 0 }..=Identity { job, rank: u32::MAX };
    state.fresh.borrow().iter().any(|(lost, _)| lost.job == job)
        || state.strangers.borrow().range(of_job).next().is_some()
}
