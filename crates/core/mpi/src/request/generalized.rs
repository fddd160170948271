//! Generalized requests: operations of the program's own (MPI 5.0 section 13.2).

use crate::args::{Out, RawStatus};
use crate::constants::*;
use crate::error::{Error, Result};
use crate::request::persistent::named;
use crate::request::{Outcome, Request, forget, lookup};
use crate::runtime::adi;
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

pub type QueryFunction = unsafe extern "C" fn(*mut c_void, *mut RawStatus) -> i32;
pub type FreeFunction = unsafe extern "C" fn(*mut c_void) -> i32;
pub type CancelFunction = unsafe extern "C" fn(*mut c_void, i32) -> i32;

pub struct Generalized {
    query: QueryFunction,
    free: FreeFunction,
    cancel: CancelFunction,
    extra_state: *mut c_void,
    pub complete: Cell<bool>,
    /// Freed before it was complete: the free callback runs when it completes.
    released: Cell<bool>,
}

fn outcome_of(status: RawStatus, code: i32, what: &str) -> Outcome {
    let error = (code != MPI_SUCCESS)
        .then(|| Error::from_code(code, format!("the {what} callback of a generalized request returned {code}")));
    Outcome { status, error }
}

impl Generalized {
    /// What the program says of it.
    pub fn query(&self) -> Outcome {
        let mut status = RawStatus::empty();
        // SAFETY: the program's callback, called as section 13.2 says.
        let code = unsafe { (self.query)(self.extra_state, &mut status) };
        outcome_of(status, code, "query")
    }

    /// Ends it: query, then free.
    pub fn finish(&self) -> Outcome {
        let queried = self.query();
        let freed = self.free();
        if queried.error.is_some() {
            return queried;
        }
        Outcome { status: queried.status, error: freed.err() }
    }

    fn free(&self) -> Result<()> {
        // SAFETY: as in `query`; the request is complete and ends now.
        let code = unsafe { (self.free)(self.extra_state) };
        outcome_of(RawStatus::empty(), code, "free").error.map_or(Ok(()), Err)
    }

    pub fn cancel(&self) -> Result<()> {
        // SAFETY: as in `query`.
        let code = unsafe { (self.cancel)(self.extra_state, self.complete.get() as i32) };
        outcome_of(RawStatus::empty(), code, "cancel").error.map_or(Ok(()), Err)
    }

    /// MPI_Request_free: the free callback runs now, or in MPI_Grequest_complete, which finds the
    /// request by its handle until then. Returns whether it has run.
    pub fn release(&self) -> Result<bool> {
        if self.complete.get() {
            self.free()?;
        } else {
            self.released.set(true);
        }
        Ok(self.complete.get())
    }
}

pub fn grequest_start(
    query: QueryFunction, free: FreeFunction, cancel: CancelFunction, extra_state: *mut c_void, request: Out<usize>,
) -> Result<()> {
    let (complete, released) = (Cell::new(false), Cell::new(false));
    let generalized = Generalized { query, free, cancel, extra_state, complete, released };
    request.set(Request::Generalized(Rc::new(generalized)).into_handle());
    Ok(())
}

pub fn grequest_complete(mut request: usize) -> Result<()> {
    let found = lookup(request)?;
    match &found {
        Some(named @ Request::Generalized(generalized)) => {
            generalized.complete.set(true);
            adi().wake_others();
            if generalized.released.get() {
                forget(named, &mut request);
                generalized.free()?;
            }
            Ok(())
        }
        _ => {
            err!(
                MPI_ERR_REQUEST,
                try "use a request of MPI_Grequest_start",
                "{} is not a generalized request",
                named(request)
            )
        }
    }
}
