//! Work of the library that goes on in the background of other calls: what a nonblocking
//! MPI_Comm_idup does, and the blocking calls that share its code.
//!
//! Such work is written as an `async` function over the engine's nonblocking calls. Each
//! progress of the engine polls what is pending; no waker is needed.

use crate::error::Result;
use crate::guarded::Guarded;
use crate::runtime::adi;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tern_adi::Background;

/// The result of work that was started.
pub struct Task<T> {
    outcome: RefCell<Option<Result<T>>>,
    done: Cell<bool>,
}

impl<T> Task<T> {
    pub fn is_done(&self) -> bool {
        self.done.get()
    }

    /// The outcome of a task that is done; once.
    pub fn take(&self) -> Option<Result<T>> {
        self.outcome.borrow_mut().take()
    }
}

type Work = Pin<Box<dyn Future<Output = ()>>>;

struct Tasks {
    pending: RefCell<Vec<Work>>,
    /// Counts steps that got on, so that the engine knows when polling again may help.
    steps: Cell<u64>,
    hooked: Cell<bool>,
}

static TASKS: Guarded<Tasks> =
    Guarded::new(Tasks { pending: RefCell::new(Vec::new()), steps: Cell::new(0), hooked: Cell::new(false) });

/// Starts `work` and lets it run until it first has to wait.
pub fn start<T: 'static>(work: impl Future<Output = Result<T>> + 'static) -> Rc<Task<T>> {
    let task = Rc::new(Task { outcome: RefCell::new(None), done: Cell::new(false) });
    let shared = task.clone();
    let mut work: Work = Box::pin(async move {
        let outcome = work.await;
        *shared.outcome.borrow_mut() = Some(outcome);
        shared.done.set(true);
    });
    if !finishes(&mut work) {
        TASKS.get().pending.borrow_mut().push(work);
        adi().wake_hooks();
        if !TASKS.get().hooked.replace(true) {
            adi().add_hook(Rc::new(|_| poll_all()));
        }
    }
    task
}

/// Runs `work` to its end; makes progress meanwhile.
pub fn run<T: 'static>(work: impl Future<Output = Result<T>> + 'static) -> Result<T> {
    let task = start(work);
    if !task.is_done() {
        adi().wait_until_telling(&mut || task.is_done(), &crate::awaits::awaited);
    }
    task.take().expect("the task is done")
}

fn finishes(work: &mut Work) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    work.as_mut().poll(&mut context).is_ready()
}

/// True when nothing goes on in the background.
pub fn is_idle() -> bool {
    TASKS.get().pending.borrow().is_empty()
}

/// Lets every pending task get on.
fn poll_all() -> Background {
    let tasks = TASKS.get();
    if tasks.pending.borrow().is_empty() {
        return Background::Idle;
    }
    let before = tasks.steps.get();
    // Out of the cell while they run: they may start further ones.
    let mut pending = std::mem::take(&mut *tasks.pending.borrow_mut());
    pending.retain_mut(|work| {
        let done = finishes(work);
        if done {
            stepped();
        }
        !done
    });
    let mut now = tasks.pending.borrow_mut();
    pending.append(&mut now);
    *now = pending;
    if tasks.steps.get() != before { Background::Moved } else { Background::Waiting }
}

/// Notes that something moved that other tasks may wait for.
pub fn stepped() {
    let steps = &TASKS.get().steps;
    steps.set(steps.get() + 1);
}

/// How often something has moved that tasks may wait for.
pub fn steps() -> u64 {
    TASKS.get().steps.get()
}

/// Waits until `attempt` gives a value; it is called at each progress.
pub async fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    std::future::poll_fn(|_| match attempt() {
        Some(value) => {
            stepped();
            Poll::Ready(value)
        }
        None => Poll::Pending,
    })
    .await
}
