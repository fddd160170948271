//! Persistent requests (MPI 5.0 section 3.9): an operation that is described once and started many times.

use crate::args::{Handles, Out, RawStatus};
use crate::check;
use crate::constants::*;
use crate::error::Result;
use crate::objects::{Comm, Datatype, objects};
use crate::p2p::{self, start_receive, start_send};
use crate::partitioned::Partitioned;
use crate::request::{Outcome, Request, lookup, transfer_outcome};
use crate::runtime::adi;
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::{Data, Pattern, Proc, SendMode, Sent, Tuple};

/// A persistent request: `start` gives the operation of one round.
pub struct Persistent {
    pub comm: Option<Rc<Comm>>,
    pub start: Box<dyn Fn() -> Result<Request>>,
    /// The round that is under way.
    pub active: RefCell<Option<Request>>,
    /// What it does with partitions, if it is of chapter 4.
    pub partitioned: Option<Partitioned>,
    /// What a round is, if it is a message of dense bytes: then it is started without `start`.
    message: Option<Message>,
}

/// A message that is sent or received in each round.
#[derive(Clone)]
enum Message {
    Send { to: Proc, tuple: Tuple, data: Data },
    Receive { from: Proc, pattern: Pattern, data: Data },
}

impl Persistent {
    pub fn new(comm: &Rc<Comm>, start: impl Fn() -> Result<Request> + 'static) -> Persistent {
        Persistent {
            comm: Some(comm.clone()),
            start: Box::new(start),
            active: RefCell::new(None),
            partitioned: None,
            message: None,
        }
    }

    pub fn into_handle(self) -> usize {
        Request::Persistent(Rc::new(self)).into_handle()
    }

    /// Starts a round that is a message, if none is under way; else nothing has happened.
    #[inline]
    fn start_message(&self) -> bool {
        let Some(message) = &self.message else { return false };
        let mut active = self.active.borrow_mut();
        if active.is_some() {
            return false;
        }
        let comm = || self.comm.clone().expect("that of the message");
        *active = Some(match message {
            Message::Send { to, tuple, data } => {
                let Data::Bytes(base, len) = *data else { return false };
                if adi().send_now(*to, tuple, base, len) {
                    Request::Complete
                } else {
                    match adi().isend(*to, *tuple, data.clone(), SendMode::Standard) {
                        Sent::Done => Request::Complete,
                        Sent::Pending(id) => Request::Transfer { id, receive: false, comm: comm() },
                    }
                }
            }
            Message::Receive { from, pattern, data } => {
                let id = adi().irecv(*from, *pattern, data.clone());
                Request::Transfer { id, receive: true, comm: comm() }
            }
        });
        true
    }

    /// The transfer that the round under way waits for; none if it is complete.
    #[inline]
    fn pending(&self) -> Option<tern_adi::Request> {
        match &*self.active.borrow() {
            Some(Request::Transfer { id, .. }) if !adi().is_done(*id) => Some(*id),
            _ => None,
        }
    }

    /// Waits for a round that is a message, and ends it. Nothing of this is borrowed while waiting.
    #[inline]
    fn end_message(&self) -> Outcome {
        if let Some(id) = self.pending() {
            match &self.message {
                Some(Message::Receive { from, pattern, .. }) => adi().wait_receive(id, *from, *pattern),
                _ => adi().wait_for(id),
            }
        }
        match self.active.take() {
            Some(Request::Transfer { id, receive: false, .. }) => transfer_outcome(adi().take(id), false),
            Some(round @ Request::Transfer { .. }) => round.finish(),
            _ => Outcome::success(RawStatus::empty()),
        }
    }
}

/// The persistent request that `handle` names, if each of its rounds is a message.
#[inline]
fn messages<R>(handle: usize, look: impl FnOnce(&Rc<Persistent>) -> Option<R>) -> Option<R> {
    match objects().requests.borrow().get(handle)? {
        Request::Persistent(persistent) if persistent.message.is_some() => look(persistent),
        _ => None,
    }
}

/// Starts a round of the request that `handle` names; `None` when it is not that simple, and then nothing has
/// happened.
#[inline]
pub fn start_message(handle: usize) -> Option<()> {
    messages(handle, |persistent| persistent.start_message().then_some(()))
}

/// Waits for the round of the request that `handle` names and ends it; `None` when that is not that simple,
/// and then nothing has happened.
#[inline]
pub fn end_message(handle: usize) -> Option<Outcome> {
    let active = |persistent: &Rc<Persistent>| persistent.active.borrow().is_some().then(|| persistent.clone());
    Some(messages(handle, active)?.end_message())
}

/// Starts a persistent operation.
pub fn start(request: Out<usize>) -> Result<()> {
    start_handle(request.get())
}

pub fn startall(count: i32, requests: Handles) -> Result<()> {
    (0..count as usize).try_for_each(|index| start_handle(requests.get(index)))
}

fn start_handle(handle: usize) -> Result<()> {
    if start_message(handle).is_some() {
        return Ok(());
    }
    let Some(Request::Persistent(persistent)) = lookup(handle)? else {
        return err!(MPI_ERR_REQUEST, "{handle:#x} is not a persistent request");
    };
    if persistent.active.borrow().is_some() {
        return err!(MPI_ERR_REQUEST, "the persistent request is active already; wait for it first");
    }
    let round = (persistent.start)()?;
    *persistent.active.borrow_mut() = Some(round);
    Ok(())
}

/// The message of each round, if it is dense and goes to or comes from a rank. TERN_CHECK adds to messages what the
/// long way alone knows.
fn message(
    buf: *mut u8,
    count: i64,
    datatype: &Datatype,
    peer: i32,
    make: impl FnOnce(Data) -> Message,
) -> Option<Message> {
    let data = p2p::data(buf, count, datatype);
    let plain = matches!(data, Data::Bytes(..)) && peer != MPI_PROC_NULL && !check::is_on();
    plain.then(|| make(data))
}

macro_rules! persistent_sends {
    ($($name:ident: $mode:expr;)+) => {$(
        pub fn $name(
            buf: *const u8,
            count: i64,
            datatype: Rc<Datatype>,
            dest: i32,
            tag: i32,
            comm: Rc<Comm>,
            request: Out<usize>,
        ) -> Result<()> {
            let standard = || message(buf.cast_mut(), count, &datatype, dest, |data| {
                Message::Send { to: p2p::target(&comm, dest), tuple: p2p::tuple(&comm, tag), data }
            });
            let message = if $mode == SendMode::Standard { standard() } else { None };
            let on = comm.clone();
            let start = move || Ok(start_send(buf, count, &datatype, dest, tag, &on, $mode));
            request.set(Persistent { message, ..Persistent::new(&comm, start) }.into_handle());
            Ok(())
        }
    )+};
}

persistent_sends! {
    send_init: SendMode::Standard;
    rsend_init: SendMode::Standard;
    ssend_init: SendMode::Synchronous;
}

pub fn recv_init(
    buf: *mut u8,
    count: i64,
    datatype: Rc<Datatype>,
    source: i32,
    tag: i32,
    comm: Rc<Comm>,
    request: Out<usize>,
) -> Result<()> {
    let message = message(buf, count, &datatype, source, |data| {
        Message::Receive { from: p2p::origin(&comm, source), pattern: p2p::pattern(&comm, source, tag), data }
    });
    let on = comm.clone();
    let start = move || Ok(start_receive(buf, count, &datatype, source, tag, &on));
    request.set(Persistent { message, ..Persistent::new(&comm, start) }.into_handle());
    Ok(())
}
