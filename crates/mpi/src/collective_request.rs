//! Requests of nonblocking and persistent collectives (MPI 5.0 sections 6.12 and 6.13).

use crate::args::{Out, RawStatus};
use crate::collective::truncated;
use crate::errhandler::Scope;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::objects::Comm;
use crate::request::{Outcome, Persistent, Request, Work};
use crate::runtime::adi;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use crate::collective_plan::Plan;
use tern_coll::{Collectives, Operation};

static COLLECTIVES: Guarded<OnceCell<Rc<Collectives>>> = Guarded::new(OnceCell::new());

/// The collectives that are active in this process.
fn collectives() -> &'static Collectives {
    COLLECTIVES.get().get_or_init(|| Collectives::new(adi()))
}

/// Starts a collective and gives the program its request.
pub(crate) fn start(comm: &Rc<Comm>, plan: Plan, request: Out<usize>) -> Result<()> {
    let operation = Rc::new(Operation::new(&comm.peers, plan.schedule(&comm.peers)));
    request.set(begin(comm, &operation).into_handle());
    Ok(())
}

/// Gives the program a request that starts the collective each time.
pub(crate) fn persistent(comm: &Rc<Comm>, plan: Plan, request: Out<usize>) -> Result<()> {
    let operation = Rc::new(Operation::persistent(&comm.peers, plan.schedule(&comm.peers)));
    let of = comm.clone();
    let persistent = Persistent {
        comm: Some(comm.clone()),
        start: Box::new(move || Ok(begin(&of, &operation))),
        active: RefCell::new(None),
        partitioned: None,
        freed: Cell::new(false),
    };
    request.set(Request::Persistent(Rc::new(persistent)).into_handle());
    Ok(())
}

fn begin(comm: &Rc<Comm>, operation: &Rc<Operation>) -> Request {
    collectives().start(adi(), operation);
    let (running, ended) = (operation.clone(), operation.clone());
    Request::Work(Rc::new(Work {
        scope: Scope::Comm(comm.clone()),
        done: Box::new(move || running.is_done()),
        finish: Box::new(move || Outcome {
            status: RawStatus::empty(),
            error: ended.truncated().map(truncated),
        }),
        ended: RefCell::default(),
        cancel: None,
    }))
}
