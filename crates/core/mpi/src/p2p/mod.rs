//! Point-to-point communication (MPI 5.0 chapter 3).

pub mod buffered;
pub(crate) mod lost;
pub mod partitioned;
pub mod persistent;
pub mod probe;

use crate::args::{Out, RawStatus, StatusOut};
use crate::check;
use crate::check::active::Use;
use crate::constants::*;
use crate::error::{Result, no_memory};
use crate::objects::{Comm, Datatype};
use crate::request::completion::report_one;
use crate::request::{About, Outcome, Request, complete_handle};
use crate::runtime::adi;
use crate::scope::Scope;
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::{Data, Pattern, SendMode, Sent, Tuple, UNKNOWN};

/// The status of a receive from MPI_PROC_NULL (section 3.10).
pub fn null_status() -> RawStatus {
    RawStatus { source: MPI_PROC_NULL, tag: MPI_ANY_TAG, ..RawStatus::default() }
}

#[inline]
pub(crate) fn data(buf: *const u8, count: i64, datatype: &Datatype) -> Data {
    Data::new(buf, count, &datatype.layout)
}

#[inline]
pub(crate) fn tuple(comm: &Comm, tag: i32) -> Tuple {
    Tuple { context: comm.context, source: comm.rank, tag }
}

#[inline]
pub(crate) fn pattern(comm: &Comm, source: i32, tag: i32) -> Pattern {
    Pattern { context: comm.context, source, tag }
}

#[inline]
pub(crate) fn target(comm: &Comm, rank: i32) -> tern_adi::Proc {
    comm.target().procs[rank as usize]
}

/// The process that a receive names, if it names one.
#[inline]
pub(crate) fn origin(comm: &Comm, source: i32) -> tern_adi::Proc {
    if source == MPI_ANY_SOURCE { UNKNOWN } else { target(comm, source) }
}

#[inline]
fn blocking_send(
    buf: *const u8, count: i64, datatype: &Datatype, dest: i32, tag: i32, comm: &Comm, mode: SendMode,
) -> Result<()> {
    if dest != MPI_PROC_NULL {
        comm.check_revoked()?;
        let data = data(buf, count, datatype);
        check::watch::may(|| Use::reads("buf", data.clone()))?;
        let to = target(comm, dest);
        let send = || adi().send(to, tuple(comm, tag), data, check::mode(mode));
        check::marked(count, datatype, send).map_err(crate::lost::error)?;
    }
    Ok(())
}

#[inline]
pub fn send(buf: *const u8, count: i64, datatype: Rc<Datatype>, dest: i32, tag: i32, comm: Rc<Comm>) -> Result<()> {
    blocking_send(buf, count, &datatype, dest, tag, &comm, SendMode::Standard)
}

pub fn ssend(buf: *const u8, count: i64, datatype: Rc<Datatype>, dest: i32, tag: i32, comm: Rc<Comm>) -> Result<()> {
    blocking_send(buf, count, &datatype, dest, tag, &comm, SendMode::Synchronous)
}

/// A ready send needs no less than a standard one.
pub use send as rsend;

/// Starts a send; the request is complete when nothing is left to do.
pub(crate) fn start_send(
    buf: *const u8, count: i64, datatype: &Datatype, dest: i32, tag: i32, comm: &Rc<Comm>, mode: SendMode,
) -> Result<Request> {
    if dest == MPI_PROC_NULL {
        return Ok(Request::Complete);
    }
    comm.check_revoked()?;
    let data = data(buf, count, datatype);
    check::watch::send(
        || Use::reads("buf", data.clone()),
        || {
            let start = || adi().isend(target(comm, dest), tuple(comm, tag), data.clone(), check::mode(mode));
            match check::marked(count, datatype, start) {
                Sent::Done => Request::Complete,
                Sent::Pending(id) => Request::Transfer { id, receive: false, comm: comm.clone() },
            }
        },
    )
}

/// Stores the handle of a request that was just made; MPI_REQUEST_NULL where that has failed, for programs that look at the request only.
#[inline]
pub(crate) fn give(started: Result<Request>, request: Out<usize>) -> Result<()> {
    let started = match started {
        Ok(started) => started,
        Err(error) => {
            request.set(MPI_REQUEST_NULL);
            return Err(error);
        }
    };
    request.set(match started {
        Request::Complete if check::is_on() => check::watch::nothing().into_handle(),
        Request::Complete => complete_handle(),
        other => other.into_handle(),
    });
    Ok(())
}

pub fn isend(
    buf: *const u8, count: i64, datatype: Rc<Datatype>, dest: i32, tag: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    give(start_send(buf, count, &datatype, dest, tag, &comm, SendMode::Standard), request)
}

pub fn issend(
    buf: *const u8, count: i64, datatype: Rc<Datatype>, dest: i32, tag: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    give(start_send(buf, count, &datatype, dest, tag, &comm, SendMode::Synchronous), request)
}

pub use isend as irsend;

#[inline]
pub fn recv(
    buf: *mut u8, count: i64, datatype: Rc<Datatype>, source: i32, tag: i32, comm: Rc<Comm>, status: StatusOut,
) -> Result<()> {
    if source == MPI_PROC_NULL {
        status.set(&null_status());
        return Ok(());
    }
    comm.check_revoked()?;
    let (from, asked) = (origin(&comm, source), pattern(&comm, source, tag));
    check::watch::may(|| Use::writes("buf", data(buf, count, &datatype)))?;
    check::promised::receive(&comm, &asked, || data(buf, count, &datatype).len() as u64)?;
    let posted = check::posted(asked);
    let received = adi().recv(from, asked, data(buf, count, &datatype));
    let outcome = check::promised::received(&comm, received, posted, count, &datatype);
    status.set(&outcome.status);
    outcome.error.map_or(Ok(()), Err)
}

/// Starts a receive.
pub(crate) fn start_receive(
    buf: *mut u8, count: i64, datatype: &Rc<Datatype>, source: i32, tag: i32, comm: &Rc<Comm>,
) -> Result<Request> {
    if source == MPI_PROC_NULL {
        return Ok(null_receive());
    }
    comm.check_revoked()?;
    let (from, asked) = (origin(comm, source), pattern(comm, source, tag));
    check::promised::receive(comm, &asked, || data(buf, count, datatype).len() as u64)?;
    check::watch::receive((buf, count, datatype), comm, Some(asked), |data| adi().irecv(from, asked, data))
}

/// A receive from MPI_PROC_NULL: complete, with a status of its own.
pub(crate) fn null_receive() -> Request {
    Request::Work(Rc::new(crate::request::Work {
        scope: Scope::None,
        done: Box::new(|| true),
        finish: Box::new(|| Outcome::success(null_status())),
        ended: RefCell::default(),
        cancel: Some(Box::new(|| ())),
        about: About::default(),
    }))
}

pub fn irecv(
    buf: *mut u8, count: i64, datatype: Rc<Datatype>, source: i32, tag: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    give(start_receive(buf, count, &datatype, source, tag, &comm), request)
}

#[allow(clippy::too_many_arguments)]
pub fn sendrecv(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, dest: i32, sendtag: i32, recvbuf: *mut u8,
    recvcount: i64, recvtype: Rc<Datatype>, source: i32, recvtag: i32, comm: Rc<Comm>, status: StatusOut,
) -> Result<()> {
    check_exchange((sendbuf, sendcount, &sendtype, dest), (recvbuf, recvcount, &recvtype, source))?;
    adi().will_exchange();
    let receive = start_receive(recvbuf, recvcount, &recvtype, source, recvtag, &comm)?;
    let send = start_send(sendbuf, sendcount, &sendtype, dest, sendtag, &comm, SendMode::Standard)?;
    adi().wait_until(&mut || send.is_done() && receive.is_done());
    report_one(ended(&send, &receive), status)
}

/// Whether the memory of a send and of a receive in one call may be used, if the program is checked.
#[inline]
fn check_exchange(
    (sendbuf, sendcount, sendtype, dest): (*const u8, i64, &Datatype, i32),
    (recvbuf, recvcount, recvtype, source): (*mut u8, i64, &Datatype, i32),
) -> Result<()> {
    let significant = |peer, count| if peer == MPI_PROC_NULL { 0 } else { count };
    check::watch::exchanges(
        || Use::reads("sendbuf", data(sendbuf, significant(dest, sendcount), sendtype)),
        || Use::writes("recvbuf", data(recvbuf, significant(source, recvcount), recvtype)),
    )
}

/// The packed bytes of a message, so that its buffer may change.
///
/// Errors: MPI_ERR_NO_MEM.
fn packed(buf: *const u8, count: i64, datatype: &Datatype) -> Result<Vec<u8>> {
    let layout = &datatype.layout;
    let len = (layout.size() as usize).saturating_mul(count as usize);
    let mut bytes = tern_memory::zeroed(len).map_err(|lack| no_memory("a copy of the message", lack))?;
    // SAFETY: the program's send buffer holds `count` elements of the datatype (MPI's own rule).
    unsafe { layout.pack(buf, count, 0, &mut bytes) };
    Ok(bytes)
}

#[allow(clippy::too_many_arguments)]
pub fn sendrecv_replace(
    buf: *mut u8, count: i64, datatype: Rc<Datatype>, dest: i32, sendtag: i32, source: i32, recvtag: i32,
    comm: Rc<Comm>, status: StatusOut,
) -> Result<()> {
    let mut copy = packed(buf, count, &datatype)?;
    adi().will_exchange();
    let receive = start_receive(buf, count, &datatype, source, recvtag, &comm)?;
    let send = check::marked(count, &datatype, || send_bytes(&mut copy, dest, sendtag, &comm));
    adi().wait_until(&mut || send.is_done() && receive.is_done());
    report_one(ended(&send, &receive), status)
}

/// Sends bytes that the library holds until the request is complete.
pub(crate) fn send_bytes(bytes: &mut [u8], dest: i32, tag: i32, comm: &Rc<Comm>) -> Request {
    if dest == MPI_PROC_NULL {
        return Request::Complete;
    }
    let data = Data::Bytes(bytes.as_mut_ptr(), bytes.len());
    match adi().isend(target(comm, dest), tuple(comm, tag), data, check::mode(SendMode::Standard)) {
        Sent::Done => Request::Complete,
        Sent::Pending(id) => Request::Transfer { id, receive: false, comm: comm.clone() },
    }
}

#[allow(clippy::too_many_arguments)]
pub fn isendrecv(
    sendbuf: *const u8, sendcount: i64, sendtype: Rc<Datatype>, dest: i32, sendtag: i32, recvbuf: *mut u8,
    recvcount: i64, recvtype: Rc<Datatype>, source: i32, recvtag: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    check_exchange((sendbuf, sendcount, &sendtype, dest), (recvbuf, recvcount, &recvtype, source))?;
    let receive = start_receive(recvbuf, recvcount, &recvtype, source, recvtag, &comm)?;
    let send = start_send(sendbuf, sendcount, &sendtype, dest, sendtag, &comm, SendMode::Standard)?;
    request.set(both(send, receive, comm, Vec::new()).into_handle());
    Ok(())
}

#[allow(clippy::too_many_arguments)]
pub fn isendrecv_replace(
    buf: *mut u8, count: i64, datatype: Rc<Datatype>, dest: i32, sendtag: i32, source: i32, recvtag: i32,
    comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    let mut copy = packed(buf, count, &datatype)?;
    let receive = start_receive(buf, count, &datatype, source, recvtag, &comm)?;
    let send = check::marked(count, &datatype, || send_bytes(&mut copy, dest, sendtag, &comm));
    request.set(both(send, receive, comm, copy).into_handle());
    Ok(())
}

/// One request for a send and a receive; `hold` lives until both are complete.
fn both(send: Request, receive: Request, comm: Rc<Comm>, hold: Vec<u8>) -> Request {
    let pair = Rc::new((send, receive, hold));
    let (ends, takes) = (pair.clone(), pair);
    let done = move || ends.0.is_done() && ends.1.is_done();
    Request::work_ending(Scope::of(comm), done, move || ended(&takes.0, &takes.1))
}

/// How a send and a receive of one call have ended: the status is the receive's (section 3.10), the error that of either.
fn ended(send: &Request, receive: &Request) -> Outcome {
    let sent = send.finish();
    let mut outcome = receive.finish();
    if outcome.error.is_none() {
        outcome.status.error = sent.status.error;
        outcome.error = sent.error;
    }
    outcome
}
