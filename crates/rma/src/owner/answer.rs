//! The owner's side: it does what an origin asks, without waiting for anything.

use super::Outcome;
use super::request::{Form, ROOM, Request};
use crate::attached::is_covered;
use crate::combine::{Combination, swap_under_guard};
use crate::window::Window;
use std::sync::atomic::Ordering;
use tern_coll::ops::Op;
use tern_counters as counters;
use tern_layout::Basic;
use tern_mcm::{Direction, Run};

/// Old values, aligned as any element.
#[repr(align(16))]
struct Old([u8; ROOM]);

impl Window {
    /// Does what an origin asks of this process now; true if there was something.
    #[inline]
    pub(crate) fn answer_origin(&self) -> bool {
        let request = &self.shared.member(self.rank()).request;
        let asked = request.state.take();
        if asked {
            request.state.finish(self.answer(request));
            counters::OWNER.add(1);
        }
        asked
    }

    fn answer(&self, request: &Request) -> Outcome {
        let what = request.what.load(Ordering::Relaxed);
        let [op, basic, form, ..] = what.to_le_bytes();
        let (op, basic, form) = (Op::ALL[op as usize], Basic::ALL[basic as usize], Form::of(form));
        let count = (what >> 32) as usize;
        let target = request.address.load(Ordering::Relaxed) as *mut u8;
        let elements = request.elements.get().cast::<u8>();
        let mut old = Old([0; ROOM]);
        let old = old.0.as_mut_ptr();
        let bytes = if form == Form::Swap { count } else { count * basic.size() as usize };
        if self.dynamic && !self.has_attached(target, bytes) {
            return Outcome::NotThere;
        }
        if form == Form::Swap {
            // SAFETY: the origin has seen that the target lies in the window, and holds its guard; the request is this
            // process's, and there is room for two elements.
            unsafe {
                swap_under_guard(count, elements.add(count), elements, old, target);
                crate::elements::copy(old, elements, count);
            }
            return Outcome::Done;
        }
        // The origin has seen that the operation takes the type.
        let Ok(combination) = Combination::find(op, basic) else { return Outcome::Unable };
        if form == Form::Far {
            return self.combine_far(request, combination, target, count);
        }
        let result = if form == Form::Fetch { old } else { std::ptr::null_mut() };
        // SAFETY: as above; there is room for as many elements.
        unsafe {
            combination.under_guard(elements, target, result, count);
            if form == Form::Fetch {
                crate::elements::copy(result, elements, bytes);
            }
        }
        Outcome::Done
    }

    /// Fetches the operand from the origin, and combines it.
    fn combine_far(&self, request: &Request, combination: &Combination, target: *mut u8, count: usize) -> Outcome {
        let origin = self.peers.procs[request.origin.load(Ordering::Relaxed) as usize];
        if !self.direct().copies(origin) {
            return Outcome::Unable;
        }
        let len = (count * combination.size) as u64;
        self.with_room(len as usize, |room| {
            let theirs = Run { address: request.operand.load(Ordering::Relaxed), len };
            // SAFETY: the room is this process's own; the origin has told where its operand lies, and waits.
            if !unsafe { self.direct().copy(origin, &[Run { address: room as u64, len }], &[theirs], Direction::Get) } {
                return Outcome::Unable;
            }
            // SAFETY: the origin has seen that the target lies in the window, and holds its guard; the operand is there.
            unsafe { combination.under_guard(room, target, std::ptr::null_mut(), count) };
            Outcome::Done
        })
    }

    /// True when all of it is attached to this dynamic window.
    fn has_attached(&self, at: *const u8, bytes: usize) -> bool {
        // Changed by a call that waits for nothing while it does so.
        let Ok(attached) = self.attached.try_borrow() else { return false };
        is_covered((at as u64, bytes as u64), |at| {
            let ends =
                attached.iter().map(|piece| (piece.start as u64, piece.start.saturating_add(piece.bytes) as u64));
            ends.into_iter().find(|&(start, end)| start <= at && at < end).map(|(_, end)| end)
        })
    }
}
