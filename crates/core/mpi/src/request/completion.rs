//! Waiting for and testing requests, in all forms (MPI 5.0 sections 3.7.3 to 3.7.6).

use crate::args::{Handles, Out, OutArray, RawStatus, StatusOut, StatusesOut};
use crate::constants::*;
use crate::error::{Error, Result, no_memory};
use crate::request::finished;
use crate::request::freeing;
use crate::request::persistent::end_message;
use crate::request::{
    Outcome, Request, Work, complete_handle, end_named_fast, end_transfer, forget, interruption, lookup, outcome,
    retire,
};
use crate::runtime::adi;
use crate::task;
use std::rc::Rc;
use tern_adi::Awaited;

/// The request that `handle` names; `None` for a null or inactive one, whose status is empty.
#[inline]
fn lookup_active(handle: usize) -> Result<Option<Request>> {
    Ok(lookup(handle)?.filter(Request::is_active))
}

/// The transfers behind requests, for whoever asks what a call waits for.
fn awaits(requests: &[Option<Request>], any: bool) -> Awaited {
    let mut transfers = Vec::new();
    requests.iter().flatten().for_each(|request| request.transfers(&mut transfers));
    match any {
        _ if transfers.is_empty() => crate::awaits::awaited(),
        true => Awaited::Any(transfers),
        false => Awaited::Transfers(transfers),
    }
}

/// Waits for one request.
pub fn wait(request: Out<usize>, status: StatusOut) -> Result<()> {
    let mut handle = request.get();
    if let Some(outcome) = end_transfer(handle, outcome) {
        request.set(MPI_REQUEST_NULL);
        return report_one(outcome, status);
    }
    if let Some(outcome) = end_message(handle) {
        return report_one(outcome, status);
    }
    if handle == complete_handle() {
        adi().wait_for_sent();
    }
    let Some(found) = lookup_active(handle)? else {
        status.set_empty();
        return Ok(());
    };
    if !found.is_done() {
        adi().wait_until_telling(&mut || found.is_done(), &|| awaits(&[Some(found.clone())], false));
    }
    let outcome = retire(&found, &mut handle);
    request.set(handle);
    report_one(outcome, status)
}

/// Stores the status of a single completion, and turns its error into the call's.
#[inline]
pub(crate) fn report_one(outcome: Outcome, status: StatusOut) -> Result<()> {
    status.set(&outcome.status);
    outcome.error.map_or(Ok(()), Err)
}

/// Looks whether one request is complete.
pub fn test(request: Out<usize>, flag: Out<i32>, status: StatusOut) -> Result<()> {
    let mut handle = request.get();
    let Some(found) = lookup_active(handle)? else {
        flag.set(1);
        status.set_empty();
        return Ok(());
    };
    if !found.is_done() {
        adi().look();
        if !found.is_done() {
            flag.set(0);
            return Ok(());
        }
    }
    flag.set(!found.is_interrupted() as i32);
    let outcome = retire(&found, &mut handle);
    request.set(handle);
    report_one(outcome, status)
}

/// The requests of an array; null ones and inactive ones are `None`.
fn active(count: i32, requests: Handles) -> Result<Vec<Option<Request>>> {
    let all = tern_memory::room(count as usize);
    let mut all = all.map_err(|lack| no_memory("a list of the requests", lack))?;
    for i in 0..count as usize {
        all.push(lookup_active(requests.get(i))?);
    }
    Ok(all)
}

/// Ends the complete request at `index` and stores its status as one of several.
/// Returns the error class to put there.
fn end_one(found: &Request, index: usize, requests: Handles, status: StatusOut) -> Option<Box<Error>> {
    let mut handle = requests.get(index);
    let outcome = retire(found, &mut handle);
    requests.set(index, handle);
    report_among(outcome, status)
}

/// Stores the status of one completion of several; MPI_ERROR is set only when the call returns
/// MPI_ERR_IN_STATUS (section 3.2.5).
#[inline]
fn report_among(outcome: Outcome, status: StatusOut) -> Option<Box<Error>> {
    match &outcome.error {
        None => status.set(&outcome.status),
        Some(error) => status.set_with_error(&RawStatus { error: error.code, ..outcome.status }),
    }
    outcome.error
}

/// A request among several that has failed.
struct Failed {
    /// Its index among the requests of the call.
    request: usize,
    /// The index of its status.
    status: usize,
    error: Box<Error>,
}

impl Failed {
    /// One whose status has the same index.
    fn at(index: usize, error: Box<Error>) -> Failed {
        Failed { request: index, status: index, error }
    }

    fn text(&self) -> String {
        format!("the request at index {}: {}", self.request, self.error)
    }
}

/// The result of a call over several requests, of which these have failed.
#[inline]
fn result(failed: Vec<Failed>, statuses: StatusesOut, count: usize) -> Result<()> {
    if failed.is_empty() { Ok(()) } else { Err(in_status(&failed, statuses, count)) }
}

/// The error of such a call (MPI_ERR_IN_STATUS, section 3.7.5): the first `count` statuses say which requests succeeded.
#[cold]
fn in_status(failed: &[Failed], statuses: StatusesOut, count: usize) -> Box<Error> {
    let first = &failed[0];
    let message = match failed.len() {
        1 => format!("one request failed, {}", first.text()),
        n => format!("{n} requests failed; the first is {}", first.text()),
    };
    for index in (0..count).filter(|&index| !failed.iter().any(|failed| failed.status == index)) {
        let status = statuses.at(index);
        if let Some(raw) = status.get() {
            status.set_with_error(&RawStatus { error: MPI_SUCCESS, ..raw });
        }
    }
    let mut error = Error::new(MPI_ERR_IN_STATUS, message);
    error.scope = first.error.scope.clone();
    error.in_statuses = failed.iter().map(|failed| (failed.error.code, failed.text())).collect();
    error
}

pub fn waitall(count: i32, requests: Handles, statuses: StatusesOut) -> Result<()> {
    let mut failed = Vec::new();
    let several = count > 1;
    let _waits = several.then(|| adi().keep_waiting());
    for index in 0..count as usize {
        let handle = requests.get(index);
        if handle == complete_handle() {
            adi().wait_for_sent();
            requests.set(index, MPI_REQUEST_NULL);
            statuses.at(index).set(&RawStatus::empty());
            continue;
        }
        let next = if several { end_named_fast(handle) } else { None };
        if let Some(received) = next.or_else(|| finished::end(handle)) {
            requests.set(index, MPI_REQUEST_NULL);
            statuses.at(index).set_received(&received);
            continue;
        }
        if let Some(outcome) = end_transfer(handle, outcome) {
            requests.set(index, MPI_REQUEST_NULL);
            failed.extend(report_among(outcome, statuses.at(index)).map(|error| Failed::at(index, error)));
            continue;
        }
        if let Some(outcome) = end_message(handle) {
            failed.extend(report_among(outcome, statuses.at(index)).map(|error| Failed::at(index, error)));
            continue;
        }
        let Some(found) = lookup_active(handle)? else {
            statuses.at(index).set_empty();
            continue;
        };
        if !found.is_done() {
            adi().wait_until_telling(&mut || found.is_done(), &|| awaits(&[Some(found.clone())], false));
        }
        if let Some(error) = end_one(&found, index, requests, statuses.at(index)) {
            failed.push(Failed::at(index, error));
        }
    }
    result(failed, statuses, count as usize)
}

pub fn testall(count: i32, requests: Handles, flag: Out<i32>, statuses: StatusesOut) -> Result<()> {
    let all = active(count, requests)?;
    let done = || all.iter().flatten().all(Request::is_done);
    if !done() {
        adi().look();
        if !done() {
            flag.set(0);
            return Ok(());
        }
    }
    flag.set(1);
    waitall(count, requests, statuses)
}

pub fn waitany(count: i32, requests: Handles, index: Out<i32>, status: StatusOut) -> Result<()> {
    let all = active(count, requests)?;
    if all.iter().all(Option::is_none) {
        return none_active(index, status);
    }
    let mut found = None;
    let done = &mut || {
        found = first_done(&all);
        found.is_some()
    };
    adi().wait_until_telling(done, &|| awaits(&all, true));
    end_any(&all, found.expect("one is done"), requests, index, status)
}

fn none_active(index: Out<i32>, status: StatusOut) -> Result<()> {
    index.set(MPI_UNDEFINED);
    status.set_empty();
    Ok(())
}

fn first_done(all: &[Option<Request>]) -> Option<usize> {
    all.iter().position(|request| request.as_ref().is_some_and(Request::is_done))
}

fn end_any(all: &[Option<Request>], at: usize, requests: Handles, index: Out<i32>, status: StatusOut) -> Result<()> {
    index.set(at as i32);
    let mut handle = requests.get(at);
    let outcome = retire(all[at].as_ref().expect("an active request"), &mut handle);
    requests.set(at, handle);
    report_one(outcome, status)
}

pub fn testany(count: i32, requests: Handles, index: Out<i32>, flag: Out<i32>, status: StatusOut) -> Result<()> {
    let all = active(count, requests)?;
    if all.iter().all(Option::is_none) {
        flag.set(1);
        return none_active(index, status);
    }
    let found = first_done(&all).or_else(|| {
        adi().look();
        first_done(&all)
    });
    let Some(at) = found else {
        flag.set(0);
        index.set(MPI_UNDEFINED);
        return Ok(());
    };
    flag.set(1);
    end_any(&all, at, requests, index, status)
}

pub fn waitsome(
    count: i32, requests: Handles, outcount: Out<i32>, indices: OutArray<i32>, statuses: StatusesOut,
) -> Result<()> {
    let all = active(count, requests)?;
    if all.iter().any(Option::is_some) {
        adi().wait_until_telling(&mut || first_done(&all).is_some(), &|| awaits(&all, true));
    }
    end_some(&all, requests, outcount, indices, statuses)
}

pub fn testsome(
    count: i32, requests: Handles, outcount: Out<i32>, indices: OutArray<i32>, statuses: StatusesOut,
) -> Result<()> {
    let all = active(count, requests)?;
    adi().look();
    end_some(&all, requests, outcount, indices, statuses)
}

fn end_some(
    all: &[Option<Request>], requests: Handles, outcount: Out<i32>, indices: OutArray<i32>, statuses: StatusesOut,
) -> Result<()> {
    if all.iter().all(Option::is_none) {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    let mut failed = Vec::new();
    let mut done = 0;
    for (at, request) in all.iter().enumerate() {
        let Some(request) = request.as_ref().filter(|request| request.is_done()) else { continue };
        indices.set(done, at as i32);
        if let Some(error) = end_one(request, at, requests, statuses.at(done)) {
            failed.push(Failed { request: at, status: done, error });
        }
        done += 1;
    }
    outcount.set(done as i32);
    result(failed, statuses, done)
}

/// Errors: MPI_ERR_PROC_FAILED_PENDING, for the first of these that is a receive which a failed process might have answered. It goes on.
fn check_interrupted<'a>(mut requests: impl Iterator<Item = &'a Request>) -> Result<()> {
    match requests.find(|request| request.is_interrupted()) {
        Some(request) => Err(interruption(request.scope())),
        None => Ok(()),
    }
}

/// Whether it is complete, and no receive that goes on.
fn is_over(request: &Request) -> bool {
    request.is_done() && !request.is_interrupted()
}

/// Looks at a request without ending it.
pub fn request_get_status(request: usize, flag: Out<i32>, status: StatusOut) -> Result<()> {
    let Some(found) = lookup_active(request)? else {
        flag.set(1);
        status.set_empty();
        return Ok(());
    };
    if !found.is_done() {
        adi().look();
    }
    let done = is_over(&found);
    flag.set(done as i32);
    if done {
        status.set(&found.peek());
    }
    check_interrupted(std::iter::once(&found))
}

pub fn request_get_status_all(count: i32, requests: Handles, flag: Out<i32>, statuses: StatusesOut) -> Result<()> {
    adi().look();
    let all = active(count, requests)?;
    let done = all.iter().flatten().all(is_over);
    flag.set(done as i32);
    if done {
        for (index, request) in all.iter().enumerate() {
            match request {
                Some(request) => statuses.at(index).set(&request.peek()),
                None => statuses.at(index).set_empty(),
            }
        }
    }
    check_interrupted(all.iter().flatten())
}

pub fn request_get_status_any(
    count: i32, requests: Handles, index: Out<i32>, flag: Out<i32>, status: StatusOut,
) -> Result<()> {
    let all = active(count, requests)?;
    if all.iter().all(Option::is_none) {
        flag.set(1);
        return none_active(index, status);
    }
    adi().look();
    let found = all.iter().position(|request| request.as_ref().is_some_and(is_over));
    flag.set(found.is_some() as i32);
    index.set(found.map_or(MPI_UNDEFINED, |at| at as i32));
    match found.and_then(|at| all[at].as_ref()) {
        Some(request) => status.set(&request.peek()),
        None => check_interrupted(all.iter().flatten())?,
    }
    Ok(())
}

pub fn request_get_status_some(
    count: i32, requests: Handles, outcount: Out<i32>, indices: OutArray<i32>, statuses: StatusesOut,
) -> Result<()> {
    let all = active(count, requests)?;
    if all.iter().all(Option::is_none) {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    adi().look();
    let mut done = 0;
    for (at, request) in all.iter().enumerate() {
        let Some(request) = request.as_ref().filter(|request| is_over(request)) else { continue };
        indices.set(done, at as i32);
        statuses.at(done).set(&request.peek());
        done += 1;
    }
    outcount.set(done as i32);
    if done == 0 { check_interrupted(all.iter().flatten()) } else { Ok(()) }
}

/// Frees a request; an operation under way completes (section 3.7.3), if it may be freed ([`freeing`]).
pub fn request_free(request: Out<usize>) -> Result<()> {
    let mut handle = request.get();
    let Some(found) = lookup(handle)? else {
        return err!(MPI_ERR_REQUEST, "MPI_REQUEST_NULL cannot be freed");
    };
    freeing::check(&found, handle)?;
    match &found {
        Request::Transfer { id, .. } => adi().release(*id),
        Request::Persistent(persistent) => release_round(persistent.active.borrow_mut().take()),
        Request::Generalized(generalized) if !generalized.release()? => {
            request.set(MPI_REQUEST_NULL);
            return Ok(());
        }
        Request::Work(work) => let_end(work.clone()),
        Request::Complete | Request::Received(_) | Request::Generalized(_) => {}
    }
    forget(&found, &mut handle);
    request.set(handle);
    Ok(())
}

/// Lets the last round of a freed persistent request run to its end.
fn release_round(active: Option<Request>) {
    match active {
        Some(Request::Transfer { id, .. }) => adi().release(id),
        Some(Request::Work(work)) => let_end(work),
        _ => {}
    }
}

/// Keeps freed work, and what it needs, until it is complete, and ends it then.
fn let_end(work: Rc<Work>) {
    task::start(async move {
        task::until(|| work.is_done().then_some(())).await;
        work.end();
        Ok(())
    });
}

pub fn cancel(request: Out<usize>) -> Result<()> {
    match lookup(request.get())? {
        Some(found) => found.cancel(),
        None => err!(MPI_ERR_REQUEST, "MPI_REQUEST_NULL cannot be cancelled"),
    }
}

pub fn test_cancelled(status: StatusOut, flag: Out<i32>) -> Result<()> {
    flag.set(status.get().is_some_and(|status| status.cancelled()) as i32);
    Ok(())
}
