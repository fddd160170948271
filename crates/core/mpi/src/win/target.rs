//! Checks of what a call wants of its target, and what the engine says of it.

use super::object::Win;
use crate::advice::HUGE;
use crate::check::is_on;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::lost::is_survived;
use crate::objects::Datatype;
use crate::win::checked::requested;
use std::rc::Rc;
use tern_rma::{Class, Started, Target};

/// The target's rank, or `None` for MPI_PROC_NULL, with which nothing happens (MPI 5.0 section 12.3).
#[inline]
pub fn rank(win: &Win, rank: i32) -> Result<Option<u32>> {
    if win.window.has(rank) {
        return Ok(Some(rank as u32));
    }
    if rank == MPI_PROC_NULL {
        return Ok(None);
    }
    err!(
        MPI_ERR_RANK,
        "the target's rank is {rank}, but ranks of {} go from 0 to {}; or MPI_PROC_NULL",
        win.label(),
        win.size() - 1
    )
}

/// The target side of an access as the program gives it.
pub struct TargetSide {
    pub rank: i32,
    /// In displacement units of the target; an address in a dynamic window.
    pub displacement: i64,
    pub count: i64,
    pub datatype: Rc<Datatype>,
}

impl TargetSide {
    /// How many bytes are meant, after a check of displacement, count and datatype. That they lie in
    /// the window is for the engine to check.
    #[inline]
    pub fn bytes(&self, win: &Win) -> Result<i64> {
        if self.displacement < 0 && !win.is_dynamic() {
            return err!(MPI_ERR_DISP, "the target's displacement is {}, but must not be negative", self.displacement);
        }
        match self.datatype.layout.pack_size(self.count) {
            Some(bytes) => Ok(bytes),
            None => err!(
                MPI_ERR_COUNT,
                try HUGE,
                "{} elements of {} at the target are more bytes than 63 bits hold",
                self.count,
                self.datatype.label()
            ),
        }
    }

    /// As the engine takes it; `rank` is checked.
    #[inline]
    pub fn target(&self, rank: u32) -> Target<'_> {
        Target { rank, displacement: self.displacement, ty: &self.datatype.layout, count: self.count }
    }
}

/// What the engine says, as an error of the call.
#[inline]
pub fn outcome<T>(win: &Win, result: std::result::Result<T, tern_rma::Error>) -> Result<T> {
    result.map_err(|error| on(win, &error))
}

#[cold]
fn on(win: &Win, error: &tern_rma::Error) -> Box<Error> {
    match error.class {
        Class::Lost { process } => crate::lost::error_for(process, &error.message),
        other => Error::new(class(other), format!("on {}: {error}", win.label())),
    }
}

/// What the engine says of a window that could not be made.
pub fn without_window(error: &tern_rma::Error) -> Box<Error> {
    match error.class {
        Class::Lost { process } => crate::lost::error_for(process, &error.message),
        other => Error::new(class(other), error.message.clone()),
    }
}

/// The class of the standard for a class of the engine.
pub fn class(class: Class) -> i32 {
    match class {
        Class::Range => MPI_ERR_RMA_RANGE,
        Class::Attach => MPI_ERR_RMA_ATTACH,
        Class::Shared => MPI_ERR_RMA_SHARED,
        Class::NoMemory => MPI_ERR_NO_MEM,
        Class::Operation => MPI_ERR_OP,
        Class::Type => MPI_ERR_TYPE,
        Class::Argument => MPI_ERR_ARG,
        Class::Lost { .. } => MPI_ERR_PROC_ABORTED,
        Class::Other => MPI_ERR_OTHER,
    }
}

/// How a program wants to learn that an access is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// By the end of the epoch, or a flush.
    Epoch,
    /// By a request, which only passive target epochs allow (section 12.3.5).
    Request,
}

/// Opens the way to `rank`: is there an epoch for it?
#[inline]
pub fn enter(win: &Win, rank: u32, way: Completion) -> Result<()> {
    match way {
        Completion::Epoch => win.judge(|epochs| epochs.access(rank)),
        Completion::Request => {
            win.judge(|epochs| epochs.passive(rank))?;
            // Elsewhere the job ends with a lost process, and nobody has to look for it here.
            if is_survived() {
                win.look_at_times();
                outcome(win, win.window.check_requested(rank))?;
            }
            Ok(())
        }
    }
}

/// The handle of the request of an access.
pub fn request(win: Rc<Win>, started: Started) -> usize {
    use crate::args::RawStatus;
    use crate::request::{Outcome, Request, complete_handle};
    use crate::scope::Scope;
    match started {
        Started::Done if is_on() => requested(&win, Request::Complete).into_handle(),
        Started::Done => complete_handle(),
        Started::Pending(ticket) => {
            let scope = Scope::of(win.clone());
            let whose = win.clone();
            let finish = move || match outcome(&whose, whose.window.outcome(ticket)) {
                Ok(()) => Outcome::success(RawStatus::empty()),
                Err(error) => Outcome { status: RawStatus::empty(), error: Some(error) },
            };
            let (done, of) = (win.clone(), win);
            let request = Request::work_ending(scope, move || done.window.is_done(ticket), finish);
            if is_on() { requested(&of, request).into_handle() } else { request.into_handle() }
        }
    }
}

/// A call and its form with a request (MPI 5.0 section 12.3.5), of which the body starts the access.
macro_rules! forms {
    ($($doc:literal $name:ident $with_request:ident ($($argument:ident: $kind:ty),*) |$way:ident, $win:ident| $body:block)*) => { $(
        #[doc = concat!("MPI_", $doc)]
        pub fn $name($($argument: $kind,)* $win: Rc<Win>) -> Result<()> {
            let $way = Completion::Epoch;
            let started: Result<Started> = $body;
            started.map(drop)
        }

        #[doc = concat!("MPI_", $doc, " with a request")]
        pub fn $with_request($($argument: $kind,)* $win: Rc<Win>, request: Out<usize>) -> Result<()> {
            let $way = Completion::Request;
            let started: Result<Started> = $body;
            request.set(target::request($win, started?));
            Ok(())
        }
    )* };
}
pub(super) use forms;
