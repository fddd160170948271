//! Buffered sends (MPI 5.0 section 3.6): attached buffers of the process, of a communicator, of a
//! session, or automatic ones.
//!
//! The attached memory is an allowance: Tern keeps the bytes of messages that could not go at once
//! in memory of its own, and takes no more of it than the program has attached.

use crate::args::{Out, OutCount};
use crate::check::{self, active::Use};
use crate::constants::*;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::objects::pool::{Pool, PoolSlot, cost};
use crate::objects::{Comm, Datatype, Session};
use crate::p2p::send_bytes;
use crate::request::Request;
use crate::request::persistent::Persistent;
use crate::runtime::adi;
use crate::scope::Scope;
use std::cell::RefCell;
use std::rc::Rc;

/// The buffer of the process.
static PROCESS: Guarded<RefCell<Option<Rc<Pool>>>> = Guarded::new(RefCell::new(None));

/// Sends `bytes` from `pool`.
///
/// Errors: there is no room for them.
fn send(pool: &Pool, mut bytes: Vec<u8>, dest: i32, tag: i32, comm: &Rc<Comm>) -> Result<()> {
    let need = cost(bytes.len());
    pool.sweep();
    if !pool.is_automatic() && pool.used.get() + need > pool.size {
        adi().progress();
        pool.sweep();
    }
    if !pool.is_automatic() && pool.used.get() + need > pool.size {
        return err!(
            MPI_ERR_BUFFER,
            try "",
            "the attached buffer of {} bytes has {} in use, and a message of {} bytes takes \
             {need}; attach a larger one (MPI_BSEND_OVERHEAD for each message), or MPI_BUFFER_AUTOMATIC",
            pool.size,
            pool.used.get(),
            bytes.len()
        );
    }
    match send_bytes(&mut bytes, dest, tag, comm) {
        Request::Transfer { id, comm, .. } if !adi().is_done(id) => pool.keep(id, comm, bytes),
        request => _ = request.finish(),
    }
    Ok(())
}

/// The buffer in charge of a communicator's buffered sends.
fn pool_of(comm: &Comm) -> Option<Rc<Pool>> {
    let own = comm.buffer.borrow().clone();
    own.or_else(|| comm.local.session.as_ref()?.buffer.borrow().clone()).or_else(|| PROCESS.get().borrow().clone())
}

pub fn bsend(buf: *const u8, count: i64, datatype: Rc<Datatype>, dest: i32, tag: i32, comm: Rc<Comm>) -> Result<()> {
    if dest == MPI_PROC_NULL {
        return Ok(());
    }
    check::watch::may(|| Use::reads("buf", crate::p2p::data(buf, count, &datatype)))?;
    let bytes = super::packed(buf, count, &datatype)?;
    match pool_of(&comm) {
        Some(pool) => check::marked(count, &datatype, || send(&pool, bytes, dest, tag, &comm)),
        None => err!(MPI_ERR_BUFFER, try "", "no buffer is attached for buffered sends; call MPI_Buffer_attach first"),
    }
}

pub fn ibsend(
    buf: *const u8, count: i64, datatype: Rc<Datatype>, dest: i32, tag: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    bsend(buf, count, datatype, dest, tag, comm)?;
    crate::p2p::give(Ok(Request::Complete), request)
}

pub fn bsend_init(
    buf: *const u8, count: i64, datatype: Rc<Datatype>, dest: i32, tag: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    let on = comm.clone();
    let start = move || bsend(buf, count, datatype.clone(), dest, tag, on.clone()).map(|()| Request::Complete);
    request.set(Persistent::new(&comm, start).into_handle());
    Ok(())
}

fn attach(place: &PoolSlot, address: *mut u8, size: i64) -> Result<()> {
    if place.borrow().is_some() {
        return err!(MPI_ERR_BUFFER, try "", "a buffer is attached already; detach it first");
    }
    *place.borrow_mut() = Some(Pool::new(address, size));
    Ok(())
}

/// Stores address and size of the buffer, once nothing of it is in use; it is attached no more.
fn detach(place: &PoolSlot, address: Out<usize>, size: OutCount) -> Result<()> {
    let pool = place.borrow_mut().take();
    let Some(pool) = pool else {
        // Nothing attached: an empty buffer (section 3.6).
        address.set(0);
        size.set(0);
        return Ok(());
    };
    pool.flush();
    address.set(pool.address as usize);
    size.set(if pool.is_automatic() { 0 } else { pool.size });
    Ok(())
}

/// Sends what is left in the process's buffer (MPI_Finalize).
pub fn flush_all() {
    let pool = PROCESS.get().borrow().clone();
    if let Some(pool) = pool {
        pool.flush();
    }
}

fn flush(place: &PoolSlot) -> Result<()> {
    let pool = place.borrow().clone();
    if let Some(pool) = pool {
        pool.flush();
    }
    Ok(())
}

/// A request that is complete when what is in the buffer now has been sent.
fn iflush(place: &PoolSlot, request: Out<usize>) -> Result<()> {
    let pool = place.borrow().clone();
    let done = move || pool.as_ref().is_none_or(|pool| pool.is_empty());
    request.set(Request::work(Scope::None, done).into_handle());
    Ok(())
}

pub fn buffer_attach(buffer: *mut u8, size: i64) -> Result<()> {
    attach(PROCESS.get(), buffer, size)
}
pub fn buffer_detach(buffer: Out<usize>, size: OutCount) -> Result<()> {
    detach(PROCESS.get(), buffer, size)
}
pub fn buffer_flush() -> Result<()> {
    flush(PROCESS.get())
}
pub fn buffer_iflush(request: Out<usize>) -> Result<()> {
    iflush(PROCESS.get(), request)
}
pub fn comm_attach_buffer(comm: Rc<Comm>, buffer: *mut u8, size: i64) -> Result<()> {
    attach(&comm.buffer, buffer, size)
}
pub fn comm_detach_buffer(comm: Rc<Comm>, buffer: Out<usize>, size: OutCount) -> Result<()> {
    detach(&comm.buffer, buffer, size)
}
pub fn comm_flush_buffer(comm: Rc<Comm>) -> Result<()> {
    flush(&comm.buffer)
}
pub fn comm_iflush_buffer(comm: Rc<Comm>, request: Out<usize>) -> Result<()> {
    iflush(&comm.buffer, request)
}
pub fn session_attach_buffer(session: Rc<Session>, buffer: *mut u8, size: i64) -> Result<()> {
    attach(&session.buffer, buffer, size)
}
pub fn session_detach_buffer(session: Rc<Session>, buffer: Out<usize>, size: OutCount) -> Result<()> {
    detach(&session.buffer, buffer, size)
}
pub fn session_flush_buffer(session: Rc<Session>) -> Result<()> {
    flush(&session.buffer)
}
pub fn session_iflush_buffer(session: Rc<Session>, request: Out<usize>) -> Result<()> {
    iflush(&session.buffer, request)
}
