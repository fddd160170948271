//! The short way into the functions that programs call most: of point-to-point communication, collectives that go over
//! control lines, and one-sided accesses.
//!
//! An entry point of the table with the flag `fast` comes here first, with its arguments as they
//! are. A call that is ordinary in every respect is served: MPI is up and below
//! MPI_THREAD_MULTIPLE, the communicator exists, the type is predefined and dense, the peer is a
//! rank (or any source) and the tag and the buffer are what they must be. Nothing is counted up or
//! down for that, but for a receive that may outlive its call: communicators are looked at in place,
//! and of the type only its size is looked up.
//! Everything else, errors in the arguments included, is declined before anything has happened,
//! and goes the general way, which alone knows what is wrong and how to say it.

use crate::args::{Out, RawStatus, StatusOut};
use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_REQUEST_NULL};
use crate::datatype::predefined::dense;
use crate::error::{Fast, Result};
use crate::mode::is_single;
use crate::objects::Comm;
use crate::request::completion::report_one;
use crate::request::finished;
use crate::request::persistent::{end_message, start_message, test_message};
use crate::request::{
    Tested, complete_handle, end_transfer, name_handle, outcome, test_transfer, transfer_handle, transfer_outcome,
};
use crate::runtime::adi;
use crate::{comm, p2p};
use std::rc::Rc;
use tern_adi::{Adi, Data, Over, Pattern, Proc, Received, SendMode, Sent, Status, Tuple, UNKNOWN};

pub use crate::collective::fast::{allreduce, barrier, bcast, gather, reduce, scatter};
pub use crate::win::fast::{
    accumulate, accumulate_later, compare_and_swap, compare_and_swap_later, fetch_and_op, fetch_and_op_later, get,
    get_accumulate, get_accumulate_later, get_later, put, put_later, win_flush, win_flush_all, win_flush_local,
    win_flush_local_all, win_lock, win_lock_all, win_unlock, win_unlock_all,
};

/// Where a message to rank `dest` goes.
#[inline(always)]
fn target(comm: &Comm, dest: i32, tag: i32) -> Option<(Proc, Tuple)> {
    let proc = *comm.target().procs.get(dest as u32 as usize)?;
    (tag >= 0).then_some((proc, Tuple { context: comm.context, source: comm.rank, tag }))
}

/// What a receive from rank `source` asks for, and of which process.
#[inline(always)]
fn origin(comm: &Comm, source: i32, tag: i32) -> Option<(Proc, Pattern)> {
    let from = match comm.target().procs.get(source as u32 as usize) {
        Some(&proc) => proc,
        None if source == MPI_ANY_SOURCE => UNKNOWN,
        None => return None,
    };
    (tag >= 0 || tag == MPI_ANY_TAG).then(|| (from, p2p::pattern(comm, source, tag)))
}

/// The engine, for a call that needs no lock.
#[inline(always)]
fn engine() -> Option<&'static Adi> {
    is_single().then(adi)
}

#[inline(always)]
pub fn send(buf: *mut u8, count: i64, datatype: usize, dest: i32, tag: i32, comm: usize) -> Fast {
    let adi = engine()?;
    let data = dense(buf, count, datatype)?;
    let (to, tuple) = comm::find(comm, |comm| target(comm, dest, tag))?;
    if !adi.send_fast(to, &tuple, buf, data.len()) {
        return Some(send_waiting(adi, to, tuple, data));
    }
    Some(Ok(()))
}

#[inline]
fn send_waiting(adi: &Adi, to: Proc, tuple: Tuple, data: Data) -> Result<()> {
    adi.send(to, tuple, data, SendMode::Standard).map_err(crate::lost::error)
}

#[inline(always)]
pub fn recv(buf: *mut u8, count: i64, datatype: usize, source: i32, tag: i32, comm: usize, status: StatusOut) -> Fast {
    let adi = engine()?;
    let data = dense(buf, count, datatype)?;
    let (from, pattern) = comm::find(comm, |comm| origin(comm, source, tag))?;
    Some(report(adi.recv(from, pattern, data), status))
}

/// The message goes before the answer is looked for, whose receive is never listed.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
pub fn sendrecv(
    sendbuf: *mut u8, sendcount: i64, sendtype: usize, dest: i32, sendtag: i32, recvbuf: *mut u8, recvcount: i64,
    recvtype: usize, source: i32, recvtag: i32, comm: usize, status: StatusOut,
) -> Fast {
    let adi = engine()?;
    let (out, into) = (dense(sendbuf, sendcount, sendtype)?, dense(recvbuf, recvcount, recvtype)?);
    let both = |comm: &Rc<Comm>| Some((target(comm, dest, sendtag)?, origin(comm, source, recvtag)?));
    let ((to, tuple), (from, pattern)) = comm::find(comm, both)?;
    if !adi.is_short(&into) || !adi.is_short(&out) {
        // To and from other nodes a long receive is published before the message goes, for the peer does the same.
        let near = adi.is_near(to) && adi.is_near(from);
        return near.then(|| exchange(adi, (to, tuple, out), (from, pattern, into), status));
    }
    let mut sent = Sent::Done;
    if !adi.send_fast(to, &tuple, sendbuf, out.len()) {
        sent = adi.isend(to, tuple, out, SendMode::Standard);
    }
    let received = adi.recv(from, pattern, into);
    Some(end_exchange(adi, sent, received, status))
}

#[inline(never)]
fn exchange(
    adi: &Adi, (to, tuple, out): (Proc, Tuple, Data), (from, pattern, into): (Proc, Pattern, Data), status: StatusOut,
) -> Result<()> {
    let (sent, received) = adi.exchange(to, tuple, out, from, pattern, into);
    end_exchange(adi, sent, received, status)
}

#[inline(always)]
fn end_exchange(adi: &Adi, sent: Sent, received: Status, status: StatusOut) -> Result<()> {
    let received = report(received, status);
    match sent {
        Sent::Done => received,
        Sent::Pending(id) => received.and(end_send(adi, id)),
    }
}

/// Waits for a send.
#[cold]
fn end_send(adi: &Adi, id: tern_adi::Request) -> Result<()> {
    adi.wait_for(id);
    adi.take(id).aborted().map_or(Ok(()), |peer| Err(crate::lost::error(peer)))
}

/// Stores the status of a receive, and turns its error into the call's.
#[inline(always)]
fn report(received: Status, status: StatusOut) -> Result<()> {
    if received.lost > 0 {
        return truncated(received, status);
    }
    status.set_received(&received);
    Ok(())
}

#[cold]
fn truncated(received: Status, status: StatusOut) -> Result<()> {
    let outcome = transfer_outcome(received, true);
    status.set(&outcome.status);
    outcome.error.map_or(Ok(()), Err)
}

/// Where the handle of a request goes.
///
/// The caller gives a null pointer or one valid for writes of a handle, as MPI asks.
#[inline(always)]
fn place(request: *mut u8) -> Option<Out<usize>> {
    out(request)
}

/// As [`place`], for any value.
#[inline(always)]
fn out<T: Copy>(at: *mut u8) -> Option<Out<T>> {
    // SAFETY: not null, so what MPI asks of the caller.
    (!at.is_null()).then(|| unsafe { Out::new(at.cast()) })
}

#[inline(always)]
pub fn isend(buf: *mut u8, count: i64, datatype: usize, dest: i32, tag: i32, comm: usize, request: *mut u8) -> Fast {
    let adi = engine()?;
    let request = place(request)?;
    let data = dense(buf, count, datatype)?;
    let (to, tuple) = comm::find(comm, |comm| target(comm, dest, tag))?;
    if adi.send_fast(to, &tuple, buf, data.len()) {
        request.set(complete_handle());
        return Some(Ok(()));
    }
    request.set(match adi.isend(to, tuple, data, SendMode::Standard) {
        Sent::Done => complete_handle(),
        Sent::Pending(id) => transfer_handle(id, found(comm)),
    });
    Some(Ok(()))
}

/// The communicator that has been found before.
#[inline]
fn found(comm: usize) -> Rc<Comm> {
    comm::find(comm, |comm| Some(comm.clone())).expect("found before")
}

#[inline(always)]
pub fn irecv(
    buf: *mut u8, count: i64, datatype: usize, source: i32, tag: i32, handle: usize, request: *mut u8,
) -> Fast {
    let adi = engine()?;
    let request = place(request)?;
    let data = dense(buf, count, datatype)?;
    let ((from, pattern), comm) = comm::find(handle, |comm| Some((origin(comm, source, tag)?, comm.clone())))?;
    request.set(match adi.start_named_receive(from, pattern, &data, comm) {
        Received::Pending(name) => name_handle(name),
        Received::Done(status) if status.lost == 0 => finished::keep(status),
        Received::Done(status) => transfer_handle(adi.received(status), found(handle)),
    });
    Some(Ok(()))
}

/// Starts a persistent request whose rounds are messages.
#[inline(always)]
pub fn start(request: *mut u8) -> Fast {
    engine()?;
    start_message(place(request)?.get()).map(Ok)
}

/// Waits for a transfer, or a persistent request whose rounds are messages.
#[inline(always)]
pub fn wait(request: *mut u8, status: StatusOut) -> Fast {
    let adi = engine()?;
    adi.mcm().expect_news();
    let request = place(request)?;
    let handle = request.get();
    if let Some(received) = finished::end(handle) {
        request.set(MPI_REQUEST_NULL);
        status.set_received(&received);
        return Some(Ok(()));
    }
    let ended = end_transfer(handle, |over| {
        request.set(MPI_REQUEST_NULL);
        match over {
            Over::Received(received) => status.set_received(received),
            over => return report_one(outcome(over), status),
        }
        Ok(())
    });
    if ended.is_some() {
        return ended;
    }
    if handle == complete_handle() {
        adi.wait_for_sent();
        request.set(MPI_REQUEST_NULL);
        status.set(&RawStatus::empty());
        return Some(Ok(()));
    }
    Some(report_one(end_message(handle)?, status))
}

/// Looks whether a transfer, or the round of a persistent request that is a message, is complete.
#[inline(always)]
pub fn test(request: *mut u8, flag: *mut u8, status: StatusOut) -> Fast {
    engine()?;
    let (request, flag) = (place(request)?, out::<i32>(flag)?);
    let handle = request.get();
    if handle == complete_handle() {
        flag.set(1);
        request.set(MPI_REQUEST_NULL);
        status.set(&RawStatus::empty());
        return Some(Ok(()));
    }
    let (tested, left) = match test_transfer(handle) {
        Some(tested) => (tested, MPI_REQUEST_NULL),
        None => (test_message(handle)?, handle),
    };
    match tested {
        Tested::Pending => {
            flag.set(0);
            Some(Ok(()))
        }
        Tested::Over(outcome) => {
            flag.set(1);
            request.set(left);
            Some(report_one(outcome, status))
        }
    }
}
