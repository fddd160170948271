//! Persistent requests (MPI 5.0 section 3.9): an operation that is described once and started many times.

use crate::args::{Handles, Out, RawStatus};
use crate::constants::*;
use crate::error::Result;
use crate::lost;
use crate::mode;
use crate::objects::Comm;
use crate::request::{Outcome, Request, Tested, interrupted, lookup, requests, transfer_outcome};
use crate::runtime::adi;
use crate::scope::Scope;
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::{Data, Pattern, Proc, Received, SendMode, Sent, Status, Tuple, UNKNOWN};

/// A persistent request: `start` gives the operation of one round.
pub struct Persistent {
    pub comm: Option<Rc<Comm>>,
    pub start: Box<dyn Fn() -> Result<Request>>,
    /// The round that is under way.
    pub active: RefCell<Option<Request>>,
    /// What the layer above keeps with it: the partitions of an operation of chapter 4.
    pub kept: Option<Rc<dyn Any>>,
    /// What a round is, if it is a message of dense bytes: then it is started without `start`.
    pub(crate) message: Option<Message>,
}

/// A message that is sent or received in each round.
#[derive(Clone)]
pub(crate) enum Message {
    Send { to: Proc, tuple: Tuple, data: Data },
    Receive { from: Proc, pattern: Pattern, data: Data },
}

impl Persistent {
    pub fn new(comm: &Rc<Comm>, start: impl Fn() -> Result<Request> + 'static) -> Persistent {
        Persistent {
            comm: Some(comm.clone()),
            start: Box::new(start),
            active: RefCell::new(None),
            kept: None,
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
                if adi().send_fast(*to, tuple, base, len) {
                    Request::Complete
                } else {
                    match adi().isend(*to, *tuple, data.clone(), SendMode::Standard) {
                        Sent::Done => Request::Complete,
                        Sent::Pending(id) => Request::Transfer { id, receive: false, comm: comm() },
                    }
                }
            }
            Message::Receive { from, pattern, data } => match adi().start_receive(*from, *pattern, data) {
                Received::Done(status) => Request::Received(status),
                Received::Pending(id) => Request::Transfer { id, receive: true, comm: comm() },
            },
        });
        true
    }

    /// Ends a round that is a message and was complete when it started.
    #[inline]
    fn end_at_once(&self) -> Option<Outcome> {
        let mut active = self.active.borrow_mut();
        let outcome = match &*active {
            Some(Request::Complete) => {
                adi().wait_for_sent();
                Outcome::success(RawStatus::empty())
            }
            Some(Request::Received(status)) => self.outcome(*status, true),
            _ => return None,
        };
        *active = None;
        Some(outcome)
    }

    /// How a round that is a message has ended.
    #[inline]
    fn outcome(&self, status: Status, receive: bool) -> Outcome {
        let mut outcome = transfer_outcome(status, receive);
        if let Some(error) = &mut outcome.error {
            // The handle may be gone when the error is raised.
            error.scope = self.comm.clone().map_or(Scope::None, Scope::of);
        }
        outcome
    }

    /// The transfer of a round that is a message.
    #[inline]
    fn transfer(&self) -> Option<tern_adi::Request> {
        match &*self.active.borrow() {
            Some(Request::Transfer { id, .. }) => Some(*id),
            _ => None,
        }
    }

    /// Ends the round that is transfer `id`, which is complete.
    #[inline]
    fn end_transfer(&self, id: tern_adi::Request) -> Outcome {
        self.active.take();
        self.outcome(adi().take(id), matches!(self.message, Some(Message::Receive { .. })))
    }

    /// Waits for the round that is transfer `id`, and ends it. Nothing of this is borrowed while waiting.
    fn wait_for(&self, id: tern_adi::Request) -> Outcome {
        if !adi().is_done(id) {
            if let Some(Message::Receive { from, pattern, data }) = &self.message
                && (*from != UNKNOWN || !lost::is_survived())
                && adi().end_only_one(id)
            {
                self.active.take();
                return self.outcome(adi().recv_again(*from, *pattern, data.clone()), true);
            }
            adi().wait_for(id);
        } else if let Some(Message::Send { .. }) = &self.message {
            adi().wait_for_sent();
        }
        self.end_or_interrupt(id)
    }

    /// Ends the round that is transfer `id`, but for a receive that goes on although a process has failed.
    fn end_or_interrupt(&self, id: tern_adi::Request) -> Outcome {
        match adi().is_interrupted(id) {
            false => self.end_transfer(id),
            true => interrupted(self.comm.clone().map_or(Scope::None, Scope::of)),
        }
    }
}

/// The persistent request that `handle` names, if each of its rounds is a message.
#[inline(always)]
fn messages<R>(handle: usize, look: impl FnOnce(&Rc<Persistent>) -> Option<R>) -> Option<R> {
    match requests().borrow().get(handle)? {
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

/// A round that is a message.
enum Round {
    Ended(Outcome),
    UnderWay(Rc<Persistent>, tern_adi::Request),
}

#[inline(always)]
fn round(handle: usize) -> Option<Round> {
    messages(handle, |persistent| match persistent.end_at_once() {
        Some(outcome) => Some(Round::Ended(outcome)),
        None => Some(Round::UnderWay(persistent.clone(), persistent.transfer()?)),
    })
}

/// Waits for the round of the request that `handle` names and ends it; `None` when that is not that simple,
/// and then nothing has happened.
#[inline]
pub fn end_message(handle: usize) -> Option<Outcome> {
    Some(match round(handle)? {
        Round::Ended(outcome) => outcome,
        Round::UnderWay(persistent, id) => persistent.wait_for(id),
    })
}

/// Looks whether the round of the request that `handle` names is complete, and ends it if so; `None` when that is not
/// that simple, and then nothing has happened.
#[inline]
pub fn test_message(handle: usize) -> Option<Tested> {
    Some(match round(handle)? {
        Round::Ended(outcome) => Tested::Over(outcome),
        Round::UnderWay(persistent, id) => {
            if !adi().is_done(id) {
                adi().look();
            }
            match adi().is_done(id) || adi().is_interrupted(id) {
                true => Tested::Over(persistent.end_or_interrupt(id)),
                false => Tested::Pending,
            }
        }
    })
}

/// Starts a persistent operation.
pub fn start(request: Out<usize>) -> Result<()> {
    start_handle(request.get())
}

pub fn startall(count: i32, requests: Handles) -> Result<()> {
    (0..count as usize).try_for_each(|index| start_handle(requests.get(index)))
}

/// A request's name in messages.
pub(crate) fn named(request: usize) -> String {
    if request == MPI_REQUEST_NULL { "MPI_REQUEST_NULL".into() } else { format!("the request {request:#x}") }
}

fn start_handle(handle: usize) -> Result<()> {
    // The long way looks whether the communicator is revoked.
    if !mode::has_revoked() && start_message(handle).is_some() {
        return Ok(());
    }
    let Some(Request::Persistent(persistent)) = lookup(handle)? else {
        return err!(
            MPI_ERR_REQUEST,
            try "use a request of MPI_Send_init, MPI_Recv_init or another …_init",
            "{} is not a persistent request",
            named(handle)
        );
    };
    if persistent.active.borrow().is_some() {
        return err!(MPI_ERR_REQUEST, try "", "the persistent request is active already; wait for it first");
    }
    let round = (persistent.start)()?;
    *persistent.active.borrow_mut() = Some(round);
    Ok(())
}
