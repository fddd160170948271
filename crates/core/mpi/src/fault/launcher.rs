//! Losses that the launcher tells of.
//!
//! The devices see most of them sooner: on a node by the locks of processes, elsewhere by connections. No device sees the end of a process of
//! another node that this one has no connection to, or of one of another world that has ended before it could be met. What the launcher
//! says counts after a while, in which a device takes what the lost process had sent, and tells of the loss itself.

use crate::guarded::Guarded;
use crate::identity::{self, Identity};
use crate::runtime::{adi, runtime};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// How often the launcher is asked by a process that waits.
const OFTEN: Duration = Duration::from_millis(20);

/// How long a device has to tell of a loss itself.
const GRACE: Duration = Duration::from_millis(200);

struct State {
    looked: Cell<Option<Instant>>,
    /// Those whose loss no device has told of, and since when that is known. Processes of other worlds stay until this one comes to know them.
    told: RefCell<Vec<(Identity, Instant)>>,
}

static STATE: Guarded<State> = Guarded::new(State { looked: Cell::new(None), told: RefCell::new(Vec::new()) });

/// Looks whether the launcher has said something. Comes while nothing moves.
pub fn look() {
    let (state, now) = (STATE.get(), Instant::now());
    if state.looked.get().is_some_and(|last| now - last < OFTEN) {
        return;
    }
    state.looked.set(Some(now));
    let Some(control) = runtime().control() else { return };
    let mut told = state.told.borrow_mut();
    told.extend(control.lost().into_iter().map(|lost| (Identity { job: lost.job_id, rank: lost.rank }, now)));
    told.retain(|(lost, since)| {
        let Some(proc) = identity::number(lost).filter(|_| now - *since >= GRACE) else {
            return lost.job != runtime().job.job_id || now - *since < GRACE;
        };
        if proc != runtime().me {
            adi().declare_lost(proc, "the launcher has seen its process end without MPI_Finalize");
        }
        false
    });
}

/// Whether the launcher has told that a process of another world is lost, which this one has not come to know.
pub fn has_lost_of(job: u64) -> bool {
    look();
    STATE.get().told.borrow().iter().any(|(lost, _)| lost.job == job)
}
