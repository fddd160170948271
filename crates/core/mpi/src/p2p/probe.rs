//! Probing, matched and not (MPI 5.0 section 3.8).

use crate::args::{Out, RawStatus, StatusOut};
use crate::check;
use crate::constants::*;
use crate::error::Result;
use crate::noted;
use crate::objects::{Comm, Datatype};
use crate::p2p::{lost, null_receive, null_status, origin, pattern};
use crate::request::{Message, Request, messages, transfer_outcome};
use crate::runtime::adi;
use std::rc::Rc;
use tern_adi::Awaited;

fn raw(status: tern_adi::Status) -> RawStatus {
    transfer_outcome(status, true).status
}

/// What a probe waits for.
fn awaits(source: i32, tag: i32, comm: &Comm) -> Awaited {
    Awaited::Message { from: origin(comm, source), pattern: pattern(comm, source, tag), bytes: None }
}

pub fn probe(source: i32, tag: i32, comm: Rc<Comm>, status: StatusOut) -> Result<()> {
    if source == MPI_PROC_NULL {
        status.set(&null_status());
        return Ok(());
    }
    check::promised::wildcards(&comm, source, tag)?;
    let mut found = None;
    let look = &mut || {
        found = adi().probe(pattern(&comm, source, tag));
        found.is_some() || lost::check(&comm, source).is_err()
    };
    adi().wait_until_telling(look, &|| awaits(source, tag, &comm));
    if found.is_none() {
        return lost::check(&comm, source);
    }
    status.set(&raw(found.expect("a message was found")));
    Ok(())
}

pub fn iprobe(source: i32, tag: i32, comm: Rc<Comm>, flag: Out<i32>, status: StatusOut) -> Result<()> {
    if source == MPI_PROC_NULL {
        flag.set(1);
        status.set(&null_status());
        return Ok(());
    }
    check::promised::wildcards(&comm, source, tag)?;
    let look = || adi().probe(pattern(&comm, source, tag));
    let found = look().or_else(|| {
        adi().look();
        look()
    });
    if found.is_none() {
        lost::check(&comm, source)?;
        noted::note(|| awaits(source, tag, &comm));
    }
    flag.set(found.is_some() as i32);
    if let Some(found) = found {
        status.set(&raw(found));
    }
    Ok(())
}

/// Names a message that was taken out of matching.
fn give(found: tern_adi::Message, comm: Rc<Comm>, message: Out<usize>, status: StatusOut) {
    status.set(&raw(found.status));
    let kept = Message { comm, message: found };
    message.set(messages().borrow_mut().insert(kept));
}

pub fn mprobe(source: i32, tag: i32, comm: Rc<Comm>, message: Out<usize>, status: StatusOut) -> Result<()> {
    if source == MPI_PROC_NULL {
        message.set(MPI_MESSAGE_NO_PROC);
        status.set(&null_status());
        return Ok(());
    }
    check::promised::wildcards(&comm, source, tag)?;
    let mut found = None;
    let look = &mut || {
        found = adi().matched_probe(pattern(&comm, source, tag));
        found.is_some() || lost::check(&comm, source).is_err()
    };
    adi().wait_until_telling(look, &|| awaits(source, tag, &comm));
    if found.is_none() {
        return lost::check(&comm, source);
    }
    give(found.expect("a message was found"), comm, message, status);
    Ok(())
}

pub fn improbe(
    source: i32, tag: i32, comm: Rc<Comm>, flag: Out<i32>, message: Out<usize>, status: StatusOut,
) -> Result<()> {
    if source == MPI_PROC_NULL {
        flag.set(1);
        message.set(MPI_MESSAGE_NO_PROC);
        status.set(&null_status());
        return Ok(());
    }
    check::promised::wildcards(&comm, source, tag)?;
    let look = || adi().matched_probe(pattern(&comm, source, tag));
    let found = look().or_else(|| {
        adi().look();
        look()
    });
    if found.is_none() {
        lost::check(&comm, source)?;
        noted::note(|| awaits(source, tag, &comm));
    }
    flag.set(found.is_some() as i32);
    if let Some(found) = found {
        give(found, comm, message, status);
    }
    Ok(())
}

/// Starts the receive of a matched message; its handle becomes MPI_MESSAGE_NULL.
fn receive(buf: *mut u8, count: i64, datatype: &Rc<Datatype>, message: Out<usize>) -> Result<Request> {
    let handle = message.get();
    if handle == MPI_MESSAGE_NO_PROC {
        message.set(MPI_MESSAGE_NULL);
        return Ok(null_receive());
    }
    let Some(kept) = messages().borrow_mut().remove(handle) else {
        return err!(
            MPI_ERR_REQUEST,
            try "receive each message of MPI_Mprobe or MPI_Improbe once",
            "{handle:#x} is not a message: it was received before, or never probed"
        );
    };
    message.set(MPI_MESSAGE_NULL);
    check::watch::receive((buf, count, datatype), &kept.comm, None, |data| adi().imrecv(kept.message, data))
}

pub fn mrecv(buf: *mut u8, count: i64, datatype: Rc<Datatype>, message: Out<usize>, status: StatusOut) -> Result<()> {
    let request = receive(buf, count, &datatype, message)?;
    adi().wait_until(&mut || request.is_done());
    let outcome = request.finish();
    status.set(&outcome.status);
    outcome.error.map_or(Ok(()), Err)
}

pub fn imrecv(
    buf: *mut u8, count: i64, datatype: Rc<Datatype>, message: Out<usize>, request: Out<usize>,
) -> Result<()> {
    request.set(receive(buf, count, &datatype, message)?.into_handle());
    Ok(())
}
