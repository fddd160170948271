//! Collectives (MPI 5.0 chapter 6): how a call runs, and how it fails.

pub(crate) mod args;
mod called;
pub mod calls;
mod describe;
pub(crate) mod fast;
mod forms;
pub mod neighbor;
pub(crate) mod neighbor_plan;
pub(crate) mod plan;
pub(crate) mod request;
mod used;

use crate::advice::{BEFORE_THE_END, SAME_DATA, SAME_ROOT};
use crate::check;
use crate::constants::*;
use crate::error::{Error, Result, no_memory};
use crate::lost;
use crate::objects::Comm;
use crate::runtime::adi;
use crate::scope::{Errhandler, InCharge};
use crate::task;
use plan::Plan;
use std::rc::Rc;
use tern_coll::lines::Mismatch;
use tern_coll::lines::refusal::{Call, Known};
use tern_coll::{Absent, CallKind, Failure, Truncated};
use tern_memory::Lack;
use tern_settings::EXPLAIN;

/// Runs a collective on `comm`: over the control lines if they serve it, else as a schedule.
#[inline]
pub(crate) fn run(comm: &Rc<Comm>, plan: Plan) -> Result<()> {
    comm.check_revoked()?;
    if !comm.quick.get() {
        settle(comm, &plan.known());
    }
    let taken = plan.fast(adi(), &comm.peers);
    let step = taken.as_ref().map(|taken| taken.step);
    let explains = EXPLAIN.get().is_used();
    let Some(done) = taken.and_then(|taken| taken.done) else {
        tern_counters::COLLECTIVE_MESSAGES.add(1);
        if check::is_on() {
            check::uses::may(&describe::memory(comm, &plan))?;
            task::run(check::agree(comm.clone(), describe::describe(comm, &plan))).map_err(begun)?;
        }
        let known = plan.known();
        let schedule = plan.schedule(&comm.peers);
        let lines = comm.peers.lines(adi());
        if let Err(lack) = schedule.has_memory() {
            match lines {
                Some(lines) => lines.refuse_known(adi(), &comm.peers, &known),
                None => request::refuse(Absent::new(&comm.peers, known.call, CallKind::Blocking)),
            }
            return Err(begun(lacking(lack)));
        }
        let noted = lines.map(|lines| (lines, lines.note(adi(), &known)));
        let beside = noted.as_ref().map(|(lines, (turn, _))| (*lines, *turn));
        if explains {
            used::note_messages(comm, &known, schedule.algorithm(), step);
        }
        let ran = tern_coll::run_beside(adi(), &comm.peers, schedule, known.call, beside).map_err(failed);
        let agreed = noted.map_or(Ok(()), |(_, (_, agreed))| agreed);
        return ran.and(agreed.map_err(|mismatch| mismatched(comm, mismatch)));
    };
    tern_counters::COLLECTIVE_LINES.add(1);
    if let (true, Some(step)) = (explains, step) {
        used::note_step(comm, &plan.known(), step);
    }
    done.map_err(|mismatch| mismatched(comm, mismatch))
}

/// An error of a collective that was not refused.
#[cold]
fn begun(mut error: Box<Error>) -> Box<Error> {
    error.begun = true;
    error
}

/// Before a collective on `comm` of a process that has refused some ([`tern_coll::lines::refusal`]): takes part in those
/// that the others have made.
pub(crate) fn settle(comm: &Comm, next: &Known) {
    if comm.is_inter() || comm.peers.refused.borrow().is_empty() {
        return;
    }
    if let Some(lines) = comm.peers.lines(adi()) {
        lines.settle(adi(), &comm.peers, next);
    }
    let may = !comm.peers.selection.forces_any_messages() && !EXPLAIN.get().is_used();
    comm.quick.set(may && comm.peers.refused.borrow().is_empty());
}

impl InCharge for Comm {
    fn handle(&self) -> usize {
        self.handle.get()
    }

    fn errhandler(&self) -> Rc<Errhandler> {
        self.errhandler.borrow().clone()
    }

    fn place(&self) -> Option<String> {
        Some(format!(" in rank {} of {} (size {})", self.rank, self.label(), self.size()))
    }

    /// If it is a collective that was refused for its arguments, the others are told: by the next one on this communicator, which
    /// finds out whether they have made it, or at once, where that cannot be seen.
    #[cold]
    fn refused(&self, function: &str) {
        if !self.is_inter() && self.size() < 2 {
            return;
        }
        let Some((call, way)) = called::called(function) else { return };
        let (adi, peers) = (adi(), &self.peers);
        let blocking = way == CallKind::Blocking;
        if blocking && peers.lines(adi).is_some() {
            peers.refused.borrow_mut().push(call);
            self.quick.set(false);
            return;
        }
        let in_levels = blocking && call.has_levels() && peers.levels(adi).is_some();
        if !check::is_on() && !in_levels && call != Call::Make {
            request::refuse(Absent::new(peers, call, way));
        }
    }
}

/// The members did not make the same call.
#[cold]
pub(crate) fn mismatched(comm: &Comm, mismatch: Mismatch) -> Box<Error> {
    begun(disagreement(comm, mismatch))
}

fn disagreement(comm: &Comm, mismatch: Mismatch) -> Box<Error> {
    // A root that does not wait for the others finds out in a later call.
    let here =
        format!("on {} of {} processes, rank {}, in this call or one before it", comm.label(), comm.size(), comm.rank);
    match mismatch {
        Mismatch::Lost { process } => lost::error(process),
        Mismatch::Refused { rank } => refused(rank as u32),
        Mismatch::Lack(lack) => lacking(lack),
        Mismatch::Operation { rank } => {
            let text =
                format!("{here}: rank {rank} calls another collective; all must call the same ones in the same order");
            Error::new(MPI_ERR_OTHER, text).advise("TERN_CHECK=1 names the calls of two members")
        }
        Mismatch::Ended { rank } => {
            let text = format!("{here}: rank {rank} is in MPI_Finalize and makes no more collective calls");
            Error::new(MPI_ERR_OTHER, text).advise(BEFORE_THE_END)
        }
        Mismatch::Root { rank, own, theirs } => {
            let text = format!("{here}: the root is {own} here, but {theirs} at rank {rank}");
            Error::new(MPI_ERR_ROOT, text).advise(SAME_ROOT)
        }
        Mismatch::Bytes { rank, own, theirs } => {
            let text = format!("{here}: {own} bytes here, but {theirs} at rank {rank}; counts and types must agree");
            Error::new(MPI_ERR_TRUNCATE, text).advise(SAME_DATA)
        }
    }
}

/// The members did not agree on the amount of data, or one of them is lost.
#[cold]
pub(crate) fn failed(failure: Failure) -> Box<Error> {
    begun(failure_of(failure))
}

fn failure_of(failure: Failure) -> Box<Error> {
    let Truncated { source, room, sent } = match failure {
        Failure::Lost(peer) => return lost::error(peer),
        Failure::Refused(rank) => return refused(rank),
        Failure::Lack(lack) => return lacking(lack),
        Failure::Truncated(truncated) => truncated,
    };
    let text = format!(
        "rank {source} sent {sent} bytes where this process expects {room}: do all give the same counts and types?"
    );
    Error::new(MPI_ERR_TRUNCATE, text).advise(SAME_DATA)
}

/// A member has refused its call.
fn refused(rank: u32) -> Box<Error> {
    let why = "for its arguments there or for want of memory";
    Error::new(MPI_ERR_OTHER, format!("rank {rank} has refused this call, {why}, and got an error"))
        .advise("look for the error of that rank")
}

/// This process has no memory for its part of a collective.
#[cold]
fn lacking(lack: Lack) -> Box<Error> {
    no_memory("the temporary data of this process's part in the collective", lack)
}
