//! Steps of another layer before and after each round of a request: Fortran's copies sections of arrays in and out.

use crate::constants::*;
use crate::error::Result;
use crate::request::persistent::Persistent;
use crate::request::{About, Request, Work, requests};
use crate::stated::State;
use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;

/// A step, which gets the state.
pub type Step = unsafe extern "C" fn(*mut c_void);

/// What is done around each round.
pub struct Around {
    /// Called when a round of a persistent request starts.
    pub before: Option<Step>,
    /// Called once when a round is complete, before the program learns of it.
    pub after: Step,
    /// Both get it; it is given back when nothing names the request any more.
    pub state: State,
}

impl Around {
    fn start(&self) {
        if let Some(before) = self.before {
            // SAFETY: the layer gave the state for this step.
            unsafe { before(self.state.pointer()) }
        }
    }

    /// The same request, with the step behind its end.
    fn ending(self: Rc<Around>, round: Request) -> Request {
        let running = round.clone();
        let about = if let Request::Work(work) = &round { work.about.clone() } else { About::default() };
        Request::Work(Rc::new(Work {
            scope: round.scope(),
            done: Box::new(move || running.is_done()),
            finish: Box::new(move || {
                let outcome = round.finish();
                // SAFETY: as above.
                unsafe { (self.after)(self.state.pointer()) };
                outcome
            }),
            ended: RefCell::default(),
            cancel: None,
            about,
        }))
    }
}

/// Puts the steps around a request that the program does not know yet: a collective that has started, or a persistent
/// request.
pub fn put_around(handle: usize, around: Around) -> Result<()> {
    let around = Rc::new(around);
    let mut requests = requests().borrow_mut();
    let Some(entry) = requests.get_mut(handle) else {
        return err!(MPI_ERR_REQUEST, "{handle:#x} is no request of a collective");
    };
    *entry = match entry.clone() {
        Request::Persistent(inner) => Request::Persistent(Rc::new(Persistent {
            comm: inner.comm.clone(),
            kept: inner.kept.clone(),
            active: RefCell::new(None),
            message: None,
            start: Box::new(move || {
                around.start();
                Ok(around.clone().ending((inner.start)()?))
            }),
        })),
        other => around.ending(other),
    };
    Ok(())
}
