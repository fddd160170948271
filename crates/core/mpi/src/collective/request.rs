//! Requests of nonblocking and persistent collectives (MPI 5.0 sections 6.12 and 6.13).

use crate::args::{Out, RawStatus};
use crate::check;
use crate::check::active::{Access, Held, Use};
use crate::collective::describe::{describe, memory};
use crate::collective::plan::Plan;
use crate::collective::{failed, lacking, mismatched, used};
use crate::constants::MPI_REQUEST_NULL;
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use crate::objects::Comm;
use crate::observe;
use crate::request::freeing::Freeing;
use crate::request::persistent::Persistent;
use crate::request::{About, Outcome, Request, Work};
use crate::runtime::adi;
use crate::scope::Scope;
use crate::task;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use tern_coll::{Absent, Collectives, Operation, Round, Wrong};
use tern_settings::EXPLAIN;

static COLLECTIVES: Guarded<OnceCell<Rc<Collectives>>> = Guarded::new(OnceCell::new());

/// The collectives that are active in this process.
fn collectives() -> &'static Collectives {
    COLLECTIVES.get().get_or_init(|| Collectives::new(adi()))
}

/// Takes part in a collective as a member that has refused it.
pub(crate) fn refuse(absent: Absent) {
    collectives().refuse(adi(), absent);
}

/// A communicator is being freed.
pub(crate) fn leave(comm: &Comm) {
    if let Some(collectives) = COLLECTIVES.get().get() {
        collectives.leave(adi(), &comm.peers);
    }
}

/// Starts a collective and gives the program its request.
pub(crate) fn start(comm: &Rc<Comm>, plan: Plan, request: Out<usize>) -> Result<()> {
    if let Err(error) = comm.check_revoked() {
        request.set(MPI_REQUEST_NULL);
        return Err(error);
    }
    let held = if check::is_on() { check::uses::hold(memory(comm, &plan))? } else { Vec::new() };
    let agreement = agreement(comm, &plan);
    let known = plan.known();
    let schedule = plan.schedule(&comm.peers);
    schedule.has_memory().map_err(lacking)?;
    if EXPLAIN.get().is_used() {
        used::note_nonblocking(comm, &known, schedule.algorithm());
    }
    let mut operation = Operation::new(&comm.peers, schedule).of(known.call);
    if agreement.is_some() {
        // It starts later, and at each member in another order with those that are under way besides.
        operation.reserve();
    }
    let operation = Rc::new(operation);
    let error = ended(&operation);
    let operation: Rc<dyn Round> = operation;
    request.set(begin(comm, &operation, error, agreement, held).into_handle());
    Ok(())
}

/// What went wrong in the last run of an operation.
fn ended(operation: &Rc<Operation>) -> Rc<Why> {
    let operation = operation.clone();
    Rc::new(move || operation.failure().map(failed))
}

/// Gives the error of a collective that is complete.
type Why = dyn Fn() -> Option<Box<Error>>;

/// Gives the program a request that starts the collective each time.
pub(crate) fn persistent(comm: &Rc<Comm>, plan: Plan, request: Out<usize>) -> Result<()> {
    let uses = uses(comm, &plan);
    let agreement = agreement(comm, &plan);
    let (what, known) = (plan.repeated(), plan.known());
    let schedule = plan.schedule(&comm.peers);
    let algorithm = schedule.algorithm();
    let lack = schedule.has_memory();
    let messages = Rc::new(Operation::persistent(&comm.peers, schedule));
    let repeated = what.and_then(|what| collectives().repeat(adi(), &comm.peers, what, &messages));
    // The others have made theirs, and it has a number.
    lack.map_err(lacking)?;
    if EXPLAIN.get().is_used() {
        used::note_persistent(comm, &known, algorithm, repeated.is_some());
    }
    let (operation, error): (Rc<dyn Round>, Rc<Why>) = match repeated {
        Some(repeated) => {
            let repeated = Rc::new(repeated);
            let (running, of) = (repeated.clone(), comm.clone());
            let error = move || {
                Some(match running.wrong()? {
                    Wrong::Mismatch(mismatch) => mismatched(&of, mismatch),
                    Wrong::Failure(failure) => failed(failure),
                })
            };
            (repeated, Rc::new(error))
        }
        None => {
            let error = ended(&messages);
            (messages, error)
        }
    };
    let of = comm.clone();
    let start = move || {
        of.check_revoked()?;
        let held = if uses.is_empty() { Vec::new() } else { check::uses::hold(uses.clone())? };
        Ok(begin(&of, &operation, error.clone(), agreement.clone(), held))
    };
    request.set(Persistent::new(comm, start).into_handle());
    Ok(())
}

/// What the members of a collective come to when they compare their calls (TERN_CHECK).
type Agreement = Rc<OnceCell<Result<()>>>;

/// Begins to compare, if the program is checked. The calls go on meanwhile: they must not wait for each
/// other.
fn agreement(comm: &Rc<Comm>, plan: &Plan) -> Option<Agreement> {
    check::is_on().then(|| {
        let outcome = Agreement::default();
        let (set, comm, call) = (outcome.clone(), comm.clone(), describe(comm, plan));
        task::start(async move {
            // Nobody else sets it.
            let _ = set.set(check::agree(comm, call).await);
            Ok(())
        });
        outcome
    })
}

/// The memory of a collective, if the program is checked.
fn uses(comm: &Comm, plan: &Plan) -> Vec<Use> {
    if check::is_on() { memory(comm, plan) } else { Vec::new() }
}

/// The memory of a round, of which the program has changed nothing yet.
struct Memory {
    held: Vec<Rc<Held>>,
    changed: RefCell<Option<Box<Error>>>,
}

impl Memory {
    /// The operation begins to write to it.
    fn begun(&self) {
        self.look();
        self.held.iter().filter(|held| held.used.access == Access::Write).for_each(|held| held.release_image());
    }

    fn look(&self) {
        if self.changed.borrow().is_none() {
            *self.changed.borrow_mut() = self.held.iter().find_map(|held| held.error());
        }
    }

    /// The operation is over; the error of a program that has changed its memory.
    fn end(&self) -> Option<Box<Error>> {
        self.look();
        self.held.iter().for_each(|held| held.release());
        self.changed.take()
    }
}

/// Starts a round of the operation: at once, or when the members have agreed on it. Then it does not start before the program's next
/// call, so that what the program writes to `held` in between is seen.
fn begin(
    comm: &Rc<Comm>, operation: &Rc<dyn Round>, error: Rc<Why>, agreement: Option<Agreement>, held: Vec<Rc<Held>>,
) -> Request {
    let memory = agreement.as_ref().map(|_| Rc::new(Memory { held, changed: RefCell::default() }));
    let begun = Rc::new(Cell::new(agreement.is_none()));
    match &agreement {
        None => collectives().start(adi(), operation),
        Some(agreement) => {
            let (agreement, begun, operation) = (agreement.clone(), begun.clone(), operation.clone());
            let (call, memory) = (observe::calls(), memory.clone());
            task::start(async move {
                task::until(|| (observe::calls() != call).then_some(())).await;
                if task::until(|| agreement.get().map(Result::is_ok)).await {
                    memory.iter().for_each(|memory| memory.begun());
                    collectives().start(adi(), &operation);
                    begun.set(true);
                }
                Ok(())
            });
        }
    }
    let running = operation.clone();
    let disagreed = move || agreement.as_ref().and_then(|agreement| agreement.get()?.clone().err());
    let refused = disagreed.clone();
    Request::Work(Rc::new(Work {
        scope: Scope::of(comm.clone()),
        done: Box::new(move || begun.get() && running.is_done() || refused().is_some()),
        finish: Box::new(move || {
            let changed = memory.as_ref().and_then(|memory| memory.end());
            Outcome { status: RawStatus::empty(), error: disagreed().or_else(|| error()).or(changed) }
        }),
        ended: RefCell::default(),
        cancel: None,
        about: About { freeing: Freeing::Never, ..About::default() },
    }))
}
