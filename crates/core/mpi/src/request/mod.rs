//! Requests: what a program waits for (MPI 5.0 section 3.7).

pub mod around;
pub mod completion;
pub mod count;
pub(crate) mod finished;
pub mod freeing;
pub mod generalized;
pub mod persistent;
pub mod status;

use crate::args::RawStatus;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use crate::handle::{Kind, Table, decode, encode};
use crate::objects::Comm;
use crate::request::freeing::Freeing;
use crate::request::persistent::Persistent;
use crate::runtime::adi;
use crate::scope::Scope;
use crate::task::Task;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tern_adi::{Ended, Name, Over, Owner};

/// A request of the program's.
#[derive(Clone)]
pub enum Request {
    /// A point-to-point transfer.
    Transfer { id: tern_adi::Request, receive: bool, comm: Rc<Comm> },
    /// A send that was complete at once. One such request serves all of them.
    Complete,
    /// A receive that was complete when it started.
    Received(tern_adi::Status),
    /// Anything else that completes once: nonblocking collectives, MPI_Comm_idup and the like.
    Work(Rc<Work>),
    /// May be started again and again.
    Persistent(Rc<Persistent>),
    /// The program's own (section 13.2).
    Generalized(Rc<crate::request::generalized::Generalized>),
}

/// An operation that is under way, as its layer gives it.
pub struct Work {
    /// The object whose error handler is in charge of its errors.
    pub scope: Scope,
    /// True once it is complete. Makes no progress: hooks of the engine do.
    pub done: Box<dyn Fn() -> bool>,
    /// Called once, when it is complete.
    pub finish: Box<dyn Fn() -> Outcome>,
    /// How it ended, when that was asked for before the request ended.
    pub ended: RefCell<Option<Outcome>>,
    /// MPI_Cancel, where it means something.
    pub cancel: Option<Box<dyn Fn()>>,
    pub about: About,
}

/// What is known of an operation besides, for those who explain what a program does.
#[derive(Clone, Default)]
pub struct About {
    /// The engine's transfers that it is for.
    pub transfers: Vec<tern_adi::Request>,
    /// The program cannot know when it may use its memory again if it gives it up (section 3.7.3): what it is then.
    pub message: Option<&'static str>,
    /// MPI_Cancel was called, after which MPI_Request_free is one of the right ends (section 3.8.4).
    pub cancelled: Cell<bool>,
    /// When MPI_Request_free takes its request.
    pub freeing: Freeing,
}

/// How an operation ended.
pub struct Outcome {
    pub status: RawStatus,
    pub error: Option<Box<Error>>,
}

impl Outcome {
    pub fn success(status: RawStatus) -> Outcome {
        Outcome { status, error: None }
    }
}

impl Work {
    /// True once it is complete; what it consisted of is gone when its status was asked for.
    fn is_done(&self) -> bool {
        self.ended.borrow().is_some() || (self.done)()
    }

    /// Whether the program has learned that it is complete.
    pub fn is_known(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Ends complete work.
    fn end(&self) -> Outcome {
        self.ended.take().unwrap_or_else(|| (self.finish)())
    }

    /// The status of complete work.
    fn peek(&self) -> RawStatus {
        let ended = self.end();
        let status = ended.status;
        self.ended.replace(Some(ended));
        status
    }
}

/// A message that a matched probe took out of matching (section 3.8.2).
pub struct Message {
    pub comm: Rc<Comm>,
    pub message: tern_adi::Message,
}

impl Request {
    /// A request for an operation that is complete when `done` says so.
    pub fn work(scope: Scope, done: impl Fn() -> bool + 'static) -> Request {
        Request::work_ending(scope, done, || Outcome::success(RawStatus::empty()))
    }

    /// The same; `finish` says how it has ended.
    pub fn work_ending(
        scope: Scope, done: impl Fn() -> bool + 'static, finish: impl Fn() -> Outcome + 'static,
    ) -> Request {
        let finish = Box::new(finish);
        let (ended, about) = (RefCell::default(), About::default());
        Request::Work(Rc::new(Work { scope, done: Box::new(done), finish, ended, cancel: None, about }))
    }

    /// A request for work in the background that gives nothing but an error.
    pub fn of_task(scope: Scope, task: Rc<Task<()>>) -> Request {
        let done = task.clone();
        let finish = move || Outcome { status: RawStatus::empty(), error: task.take().and_then(Result::err) };
        Request::work_ending(scope, move || done.is_done(), finish)
    }

    /// Names the request; the program gets the handle. A transfer is named by the engine, which keeps
    /// its communicator meanwhile.
    pub fn into_handle(self) -> usize {
        match self {
            Request::Transfer { id, comm, .. } => {
                let handle = transfer_handle(id, comm);
                crate::observe::made(handle);
                handle
            }
            other => requests().borrow_mut().insert(other),
        }
    }

    /// The object whose error handler is in charge of its errors.
    pub fn scope(&self) -> Scope {
        match self {
            Request::Transfer { comm, .. } => Scope::of(comm.clone()),
            Request::Work(work) => work.scope.clone(),
            Request::Persistent(persistent) => persistent.comm.clone().map_or(Scope::None, Scope::of),
            Request::Complete | Request::Received(_) | Request::Generalized(_) => Scope::None,
        }
    }

    /// True when waiting for it returns at once: complete, or persistent and not started.
    #[inline]
    pub fn is_done(&self) -> bool {
        match self {
            Request::Transfer { id, .. } => adi().is_done(*id) || adi().is_interrupted(*id),
            Request::Complete | Request::Received(_) => true,
            Request::Work(work) => work.is_done(),
            Request::Persistent(p) => p.active.borrow().as_ref().is_none_or(Request::is_done),
            Request::Generalized(generalized) => generalized.complete.get(),
        }
    }

    /// Whether it is a receive that goes on, and of which the program is to learn that a process which might have answered has failed.
    pub fn is_interrupted(&self) -> bool {
        match self {
            Request::Transfer { id, .. } => adi().is_interrupted(*id),
            Request::Persistent(p) => p.active.borrow().as_ref().is_some_and(Request::is_interrupted),
            _ => false,
        }
    }

    /// The engine's transfers that it is for, as far as they are known.
    pub fn transfers(&self, all: &mut Vec<tern_adi::Request>) {
        match self {
            Request::Transfer { id, .. } => all.push(*id),
            Request::Work(work) => all.extend(&work.about.transfers),
            Request::Persistent(persistent) => {
                if let Some(active) = &*persistent.active.borrow() {
                    active.transfers(all);
                }
            }
            _ => {}
        }
    }

    /// True for null requests and persistent ones that are not started.
    pub fn is_active(&self) -> bool {
        match self {
            Request::Persistent(persistent) => persistent.active.borrow().is_some(),
            _ => true,
        }
    }

    /// What its status would say, without ending it. It is complete.
    pub fn peek(&self) -> RawStatus {
        match self {
            Request::Transfer { id, .. } if adi().is_interrupted(*id) => interrupted(Scope::None).status,
            Request::Transfer { id, receive, .. } => transfer_outcome(adi().status(*id), *receive).status,
            Request::Complete => RawStatus::empty(),
            Request::Received(status) => transfer_outcome(*status, true).status,
            Request::Work(work) => work.peek(),
            Request::Persistent(persistent) => {
                let active = persistent.active.borrow().clone();
                active.map_or_else(RawStatus::empty, |active| active.peek())
            }
            Request::Generalized(generalized) => generalized.query().status,
        }
    }

    /// Ends a complete operation: what it held is free, a persistent one is inactive.
    pub fn finish(&self) -> Outcome {
        let mut outcome = self.end();
        if let Some(error) = &mut outcome.error {
            // The handle may be gone when the error is raised.
            error.scope = self.scope();
        }
        outcome
    }

    fn end(&self) -> Outcome {
        match self {
            Request::Transfer { id, receive, .. } => {
                adi().end_interrupted(*id);
                transfer_outcome(adi().take(*id), *receive)
            }
            Request::Complete => Outcome::success(RawStatus::empty()),
            Request::Received(status) => transfer_outcome(*status, true),
            Request::Work(work) => work.end(),
            Request::Persistent(persistent) => {
                let active = persistent.active.borrow_mut().take();
                active.map_or_else(|| Outcome::success(RawStatus::empty()), |a| a.finish())
            }
            Request::Generalized(generalized) => generalized.finish(),
        }
    }

    /// MPI_Cancel.
    pub fn cancel(&self) -> Result<()> {
        match self {
            Request::Transfer { id, .. } => adi().cancel(*id),
            Request::Complete | Request::Received(_) => {}
            Request::Work(work) => match &work.cancel {
                // Its status was asked for: there is nothing left to cancel.
                Some(_) if work.ended.borrow().is_some() => {}
                Some(cancel) => {
                    work.about.cancelled.set(true);
                    cancel();
                }
                None => {
                    return err!(
                        MPI_ERR_REQUEST,
                        try "",
                        "the request is of an operation that cannot be cancelled: only a send, a receive and a generalized \
                         request can, not a send and a receive in one, nor what is partitioned, collective or of a file"
                    );
                }
            },
            Request::Persistent(persistent) => match persistent.active.borrow().clone() {
                Some(active) => active.cancel()?,
                None => {
                    return err!(MPI_ERR_REQUEST, try "call MPI_Start first", "the persistent request is not active");
                }
            },
            Request::Generalized(generalized) => return generalized.cancel(),
        }
        Ok(())
    }
}

static REQUESTS: Guarded<RefCell<Table<Request>>> = Guarded::new(RefCell::new(Table::new(Kind::Request)));

/// The requests of this process by handle, but for those that the engine names and those that are complete.
#[inline]
pub fn requests() -> &'static RefCell<Table<Request>> {
    REQUESTS.get()
}

static MESSAGES: Guarded<RefCell<Table<Message>>> = Guarded::new(RefCell::new(Table::new(Kind::Message)));

/// The messages of matched probes that no receive has taken, by handle.
#[inline]
pub fn messages() -> &'static RefCell<Table<Message>> {
    MESSAGES.get()
}

/// The outcome of a transfer with a process that is lost.
#[cold]
fn aborted(status: &tern_adi::Status, peer: tern_adi::Proc) -> Outcome {
    let mut raw = RawStatus::empty();
    (raw.source, raw.tag) = (status.source, status.tag);
    let error = crate::lost::error(peer);
    raw.error = error.code;
    Outcome { status: raw, error: Some(error) }
}

/// What the program learns of a receive with a wildcard that goes on although a process has failed that might have answered it.
#[cold]
fn interrupted(scope: Scope) -> Outcome {
    let mut raw = RawStatus::empty();
    raw.error = MPI_ERR_PROC_FAILED_PENDING;
    Outcome { status: raw, error: Some(interruption(scope)) }
}

/// The same as an error of a call that ends no request.
#[cold]
fn interruption(scope: Scope) -> Box<Error> {
    let mut error = crate::lost::pending();
    error.scope = scope;
    error
}

/// The status of a transfer as programs see it.
#[inline]
pub fn transfer_outcome(status: tern_adi::Status, receive: bool) -> Outcome {
    if let Some(peer) = status.aborted() {
        return aborted(&status, peer);
    }
    if !receive {
        let mut raw = RawStatus::empty();
        raw.set_cancelled(status.cancelled);
        return Outcome::success(raw);
    }
    let mut raw = RawStatus::received(&status);
    let error = status.truncated().map(|size| {
        raw.error = MPI_ERR_TRUNCATE;
        Error::new(
            MPI_ERR_TRUNCATE,
            format!(
                "the message of {size} bytes from rank {} with tag {} is longer than the receive, \
                 which has room for {} bytes; the rest is lost. Give the receive a larger count, \
                 or ask MPI_Probe for the size first",
                status.source, status.tag, status.bytes
            ),
        )
    });
    Outcome { status: raw, error }
}

/// The handle of a transfer on `comm`.
#[inline]
pub fn transfer_handle(id: tern_adi::Request, comm: Rc<Comm>) -> usize {
    name_handle(adi().name(id, comm))
}

/// The handle of a transfer that the engine has named.
#[inline]
pub fn name_handle(Name { index, generation }: Name) -> usize {
    encode(Kind::Transfer, index, generation)
}

/// The engine's name of the transfer that a handle is for, if it is for one.
#[inline]
fn name(handle: usize) -> Option<Name> {
    let (index, generation) = decode(Kind::Transfer, handle)?;
    Some(Name { index: index as u32, generation })
}

/// The communicator that a transfer belongs to.
fn comm_of(owner: Option<Owner>) -> Option<Rc<Comm>> {
    owner?.downcast().ok()
}

/// The request that `handle` names; `None` for MPI_REQUEST_NULL.
#[inline]
pub fn lookup(handle: usize) -> Result<Option<Request>> {
    if handle == MPI_REQUEST_NULL {
        return Ok(None);
    }
    let found = match name(handle) {
        None => match finished::find(handle) {
            None => requests().borrow().get(handle).cloned(),
            Some(status) => Some(Request::Received(status)),
        },
        Some(name) => adi()
            .named(name)
            .and_then(|(id, receive)| Some(Request::Transfer { id, receive, comm: comm_of(adi().owner(id))? })),
    };
    match found {
        Some(request) => Ok(Some(request)),
        None => err!(MPI_ERR_REQUEST, "{handle:#x} is not a request: it was completed or freed before, or never set"),
    }
}

/// Waits for the transfer that `handle` names and ends it: the common case, without a copy of the
/// request. `None` when it names something else, or nothing; else what `report` makes of its end, which it sees where the engine has
/// written it: a copy would wait for those stores.
#[inline]
pub fn end_transfer<R>(handle: usize, report: impl FnOnce(&Over) -> R) -> Option<R> {
    let name = name(handle)?;
    loop {
        match &adi().end_named(name) {
            Ended::Over(over) => return Some(report(over)),
            Ended::Stale => return None,
            Ended::Pending => {
                let (id, _) = adi().named(name)?;
                adi().wait_for(id);
                if adi().is_interrupted(id) {
                    // The general way says so.
                    return None;
                }
            }
        }
    }
}

/// See [`tern_adi::Adi::end_named_fast`].
#[inline]
fn end_named_fast(handle: usize) -> Option<tern_adi::Status> {
    adi().end_named_fast(name(handle)?)
}

/// Looks whether the transfer that `handle` names is complete, and ends it if so: the common case. `None` when the
/// handle names something else, or nothing.
#[inline]
pub fn test_transfer(handle: usize) -> Option<Tested> {
    let Some(name) = name(handle) else {
        return finished::end(handle).map(|status| Tested::Over(Outcome::success(RawStatus::received(&status))));
    };
    let mut looked = false;
    loop {
        match adi().end_named(name) {
            Ended::Over(over) => return Some(Tested::Over(outcome(&over))),
            Ended::Stale => return None,
            Ended::Pending if looked => {
                let (id, _) = adi().named(name)?;
                // The general way says so.
                return (!adi().is_interrupted(id)).then_some(Tested::Pending);
            }
            Ended::Pending => adi().look(),
        }
        looked = true;
    }
}

/// What a look at a request has shown.
pub enum Tested {
    /// It was ended.
    Over(Outcome),
    Pending,
}

/// How a transfer has ended, as programs see it.
#[inline]
pub fn outcome(over: &Over) -> Outcome {
    match over {
        Over::Received(status) => Outcome::success(RawStatus::received(status)),
        Over::Otherwise { status, receive, owner } => {
            let mut outcome = transfer_outcome(*status, *receive);
            if let Some(error) = &mut outcome.error {
                error.scope = comm_of(owner.clone()).map_or(Scope::None, Scope::of);
            }
            outcome
        }
    }
}

static COMPLETE: Guarded<Cell<usize>> = Guarded::new(Cell::new(0));

/// The handle of sends that were complete at once.
#[inline]
pub fn complete_handle() -> usize {
    let cell = COMPLETE.get();
    if cell.get() == 0 {
        cell.set(Request::Complete.into_handle());
    }
    cell.get()
}

/// Ends the operation of a complete request; the program's handle becomes null unless it is
/// persistent. Returns how it ended.
pub fn retire(request: &Request, handle: &mut usize) -> Outcome {
    if request.is_interrupted() {
        return interrupted(request.scope());
    }
    let outcome = request.finish();
    if !matches!(request, Request::Persistent(_)) {
        forget(request, handle);
    }
    outcome
}

/// Takes the name of a request away; that of a transfer went with its end.
pub fn forget(request: &Request, handle: &mut usize) {
    match request {
        Request::Complete | Request::Transfer { .. } => {}
        Request::Received(_) => _ = finished::end(*handle),
        _ => _ = requests().borrow_mut().remove(*handle),
    }
    *handle = MPI_REQUEST_NULL;
}
