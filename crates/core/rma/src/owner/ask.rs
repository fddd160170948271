//! The origin's side: it asks an owner.

use crate::access::ended;
use crate::combine::Combination;
use crate::guarded::Entered;
use crate::remote::Means;
use crate::request::{Form, Outcome, ROOM, Request, Waited};
use crate::window::Window;
use crate::{Class, Error};
use std::sync::atomic::Ordering;
use tern_coll::ops::Op;
use tern_mcm::PeerState;
use tern_policy::one_sided;

impl Window {
    /// True when the owner of memory of `rank`, which this process reaches in that way, is to be asked.
    #[inline]
    pub(crate) fn asks_owner(&self, rank: u32, way: Means) -> bool {
        self.owners && way == Means::Kernel && self.remote(rank).responsiveness.asks()
    }

    /// True when the owner would do this itself, if it waits: few elements, or many that need not be moved back.
    #[inline]
    pub(crate) fn suits_owner(&self, op: Op, fetches: bool, bytes: usize) -> bool {
        one_sided::suits_owner(bytes, ROOM, fetches || matches!(op, Op::Replace | Op::NoOp))
    }

    /// Lets the owner combine `count` elements at `address`, which lie one behind the other, as
    /// [`Window::suits_owner`] allows; `result` may be null. False: it does not answer, and nothing has happened.
    ///
    /// Errors: the memory is not attached; the owner has ended.
    ///
    /// # Safety
    /// The target lies in the window; `operand`, unless the operation is [`Op::NoOp`], and `result` are valid for as
    /// many elements.
    pub(crate) unsafe fn ask_owner(
        &self, inside: &Entered<'_>, combination: &Combination, operand: *const u8, result: *mut u8, address: u64,
        count: usize,
    ) -> Result<bool, Error> {
        let bytes = count * combination.size;
        let request = &self.shared.member(inside.rank()).request;
        let form = match result.is_null() {
            _ if bytes > ROOM => Form::Far,
            true => Form::Combine,
            false => Form::Fetch,
        };
        if form == Form::Far {
            request.origin.store(self.rank(), Ordering::Relaxed);
            request.operand.store(operand as u64, Ordering::Relaxed);
        } else if combination.op != Op::NoOp {
            // SAFETY: contract of this function; the guard is held, and the owner looks when it is asked.
            unsafe { crate::elements::copy(operand, request.elements(), bytes) };
        }
        let what = combination.op as u64 | (combination.basic as u64) << 8 | (form as u64) << 16 | (count as u64) << 32;
        let answered = self.await_owner(inside, request, what, address)?;
        if answered && form == Form::Fetch {
            // SAFETY: contract of this function; the owner is done with them.
            unsafe { crate::elements::copy(request.elements(), result, bytes) };
        }
        Ok(answered)
    }

    /// Lets the owner compare and swap one element of `size` bytes, at most 32. False and errors as for
    /// [`Window::ask_owner`].
    ///
    /// # Safety
    /// The target lies in the window; all others are one element.
    pub(crate) unsafe fn ask_owner_to_swap(
        &self, inside: &Entered<'_>, size: usize, (origin, compare, result): (*const u8, *const u8, *mut u8),
        address: u64,
    ) -> Result<bool, Error> {
        let request = &self.shared.member(inside.rank()).request;
        let elements = request.elements();
        // SAFETY: contract of this function; the guard is held, and the owner looks when it is asked.
        unsafe {
            crate::elements::copy(compare, elements, size);
            crate::elements::copy(origin, elements.add(size), size);
        }
        let what = (Form::Swap as u64) << 16 | (size as u64) << 32;
        let answered = self.await_owner(inside, request, what, address)?;
        if answered {
            // SAFETY: contract of this function; the owner is done with it.
            unsafe { crate::elements::copy(elements, result, size) };
        }
        Ok(answered)
    }

    /// Asks, of which the operands are written; true when the owner has done it.
    fn await_owner(&self, inside: &Entered<'_>, request: &Request, what: u64, address: u64) -> Result<bool, Error> {
        let rank = inside.rank();
        let process = self.peers.procs[rank as usize];
        request.what.store(what, Ordering::Relaxed);
        request.address.store(address, Ordering::Relaxed);
        request.state.ask();
        let waited = request.await_outcome(|| self.direct().peer_is(process, PeerState::Alive));
        self.remote(rank).responsiveness.note(waited == Waited::Answered(Outcome::Done));
        match waited {
            Waited::Answered(Outcome::Done) => {
                self.by_owner.set(self.by_owner.get() + 1);
                Ok(true)
            }
            Waited::Answered(Outcome::Unable) | Waited::Silent => Ok(false),
            Waited::Answered(Outcome::NotThere) => {
                let what = format!("memory at {address:#x} of rank {rank} is not attached any more");
                Err(Error::new(Class::Range, what))
            }
            Waited::Gone => Err(ended(process, rank)),
        }
    }
}
