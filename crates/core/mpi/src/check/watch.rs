//! Requests of operations whose memory is watched (TERN_CHECK).
//!
//! The bytes of a receive stay with the library until the program learns that it is complete: what the program has written to
//! its buffer meanwhile is still there, and is seen.

use crate::args::RawStatus;
use crate::check::active::{self, Access, Held, Use};
use crate::check::{is_on, promised, race};
use crate::error::Result;
use crate::objects::{Comm, Datatype};
use crate::request::{About, Outcome, Request, Work};
use crate::runtime::adi;
use crate::scope::Scope;
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::{Data, Pattern};

/// Whether the call may use the memory, if the program is checked.
///
/// Errors: an operation that is under way has it.
#[inline]
pub fn may(used: impl FnOnce() -> Use) -> Result<()> {
    if is_on() { active::may(&used()) } else { Ok(()) }
}

/// The same of a send and a receive in one call, which must not have memory in common either.
#[inline]
pub fn exchanges(send: impl FnOnce() -> Use, receive: impl FnOnce() -> Use) -> Result<()> {
    if !is_on() {
        return Ok(());
    }
    let (send, receive) = (send(), receive());
    active::apart(&send, &receive)?;
    active::may(&send)?;
    active::may(&receive)
}

/// The request of a send that `start` begins, whose memory must not change until it is complete.
#[inline]
pub fn send(used: impl FnOnce() -> Use, start: impl FnOnce() -> Request) -> Result<Request> {
    if !is_on() {
        return Ok(start());
    }
    let held = active::hold(used())?;
    Ok(ending(start(), held, About { message: Some("send"), ..About::default() }))
}

/// A request of an operation that has the memory until it is complete.
#[inline]
pub fn held(used: impl FnOnce() -> Use, request: Request) -> Result<Request> {
    if !is_on() {
        return Ok(request);
    }
    Ok(ending(request, active::hold(used())?, About::default()))
}

/// The same of any operation that reads the memory.
pub fn ending(inner: Request, held: Rc<Held>, about: About) -> Request {
    let mut transfers = Vec::new();
    inner.transfers(&mut transfers);
    let inner = Rc::new(inner);
    let (done, cancel) = (inner.clone(), inner.clone());
    Request::Work(Rc::new(Work {
        scope: inner.scope(),
        done: Box::new(move || done.is_done()),
        finish: Box::new(move || {
            let mut outcome = inner.finish();
            if outcome.error.is_none() && !outcome.status.cancelled() {
                blame(&mut outcome, &held);
            }
            held.release();
            outcome
        }),
        ended: RefCell::default(),
        cancel: Some(Box::new(move || _ = cancel.cancel())),
        about: About { transfers, ..about },
    }))
}

/// Blames the program if it has changed what was held.
fn blame(outcome: &mut Outcome, held: &Held) {
    if let Some(error) = held.error() {
        outcome.status.error = error.code;
        outcome.error = Some(error);
    }
}

/// The request of a receive that `start` begins into the memory that it is given.
#[inline]
pub fn receive(
    (buf, count, datatype): (*mut u8, i64, &Rc<Datatype>), comm: &Rc<Comm>, pattern: Option<Pattern>,
    start: impl FnOnce(Data) -> tern_adi::Request,
) -> Result<Request> {
    let data = Data::new(buf, count, &datatype.layout);
    if !is_on() {
        return Ok(Request::Transfer { id: start(data), receive: true, comm: comm.clone() });
    }
    let held = active::hold(Use { argument: "buf", access: Access::Write, data })?;
    let posted = race::posted(pattern);
    let mut bytes = vec![0u8; held.used.data.len()].into_boxed_slice();
    let id = start(Data::Bytes(bytes.as_mut_ptr(), bytes.len()));
    let (datatype, given_up, on) = (datatype.clone(), held.clone(), comm.clone());
    Ok(Request::Work(Rc::new(Work {
        scope: Scope::of(comm.clone()),
        done: Box::new(move || adi().is_done(id)),
        finish: Box::new(move || {
            let status = adi().take(id);
            let mut outcome = promised::received(&on, status, Some(posted), count, &datatype);
            if !status.cancelled && status.aborted().is_none() {
                if outcome.error.is_none() {
                    blame(&mut outcome, &given_up);
                }
                active::restore(&given_up.used.data, &bytes[..status.bytes as usize]);
            }
            given_up.release();
            outcome
        }),
        ended: RefCell::default(),
        cancel: Some(Box::new(move || adi().cancel(id))),
        about: About { transfers: vec![id], message: Some("receive"), ..About::default() },
    })))
}

/// A send to nobody: it is complete, and has a name of its own, so that it is seen whether the program waits for it.
pub fn nothing() -> Request {
    Request::Work(Rc::new(Work {
        scope: Scope::None,
        done: Box::new(|| true),
        finish: Box::new(|| Outcome::success(RawStatus::empty())),
        ended: RefCell::default(),
        cancel: Some(Box::new(|| ())),
        about: About::default(),
    }))
}
