//! The owner's side: it does what an origin asks, without waiting for anything.

use crate::combine::{Combination, is_swapped_by_instruction, swap_by_instruction, swap_under_guard};
use crate::elements::copy;
use crate::request::{Form, Outcome, ROOM, Request};
use crate::window::Window;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use tern_coll::ops::Op;
use tern_counters as counters;
use tern_layout::Basic;
use tern_mcm::{Direction, Name, Run};

/// Looks for the next request after an answer: who asks once, often asks again as soon as it has the answer.
const LOOKS: u32 = 16;
/// Requests that are answered before the call that waits looks for anything else; a long one ends the row.
const IN_A_ROW: u64 = 8;

/// Old values, aligned as any element.
#[repr(align(16))]
struct Old(MaybeUninit<[u8; ROOM]>);

impl Window {
    /// Does what origins ask of this process now; true if there was something.
    #[inline]
    pub(crate) fn answer_origins(&self) -> bool {
        let request = &self.shared.member(self.rank()).request;
        request.state.is_asked() && self.answer_some(request)
    }

    fn answer_some(&self, request: &Request) -> bool {
        let mut answered = 0;
        while answered < IN_A_ROW && request.state.take() {
            // The origin writes the next request after the answer.
            let short = request.form() != Form::Far;
            request.state.finish(self.answer(request));
            answered += 1;
            let asked = short
                && (0..LOOKS).any(|_| {
                    tern_atomics::spin_loop();
                    request.state.is_asked()
                });
            if !asked {
                break;
            }
        }
        counters::OWNER.add(answered);
        answered > 0
    }

    fn answer(&self, request: &Request) -> Outcome {
        let what = request.what.load(Ordering::Relaxed);
        let [op, basic, ..] = what.to_le_bytes();
        let (Some(&op), Some(&basic)) = (Op::ALL.get(usize::from(op)), Basic::ALL.get(usize::from(basic))) else {
            return Outcome::Unable;
        };
        let form = request.form();
        let count = (what >> 32) as usize;
        let target = request.address.load(Ordering::Relaxed) as *mut u8;
        let elements = request.elements.get().cast::<u8>();
        let bytes = if form == Form::Swap { count } else { count * basic.size() as usize };
        if self.dynamic && !self.has_attached(target as u64, bytes as u64) {
            return Outcome::NotThere;
        }
        if form == Form::Swap {
            // SAFETY: the origin has seen that the target lies in the window, and holds its guard; the request is this
            // process's, and there is room for two elements.
            unsafe { swap(elements, target, bytes) };
            return Outcome::Done;
        }
        // The origin has seen that the operation takes the type.
        let Ok(combination) = Combination::find(op, basic) else { return Outcome::Unable };
        if form == Form::Far {
            return self.combine_far(request, combination, target, count);
        }
        // SAFETY: as above; there is room for as many elements.
        unsafe { combine(combination, elements, target, form == Form::Fetch, count) };
        Outcome::Done
    }

    /// Fetches the operand from the origin, and combines it.
    fn combine_far(&self, request: &Request, combination: &Combination, target: *mut u8, count: usize) -> Outcome {
        let origin = self.peers.procs[request.origin.load(Ordering::Relaxed) as usize];
        if !self.direct().pair(origin).kernel {
            return Outcome::Unable;
        }
        let len = (count * combination.size) as u64;
        self.with_room(len as usize, |room| {
            let theirs = Run { address: request.operand.load(Ordering::Relaxed), len };
            let own = [Run { address: room as u64, len }];
            // SAFETY: the room is this process's own; the origin has told where its operand lies, and waits.
            if unsafe { self.direct().copy(origin, &own, (&[theirs], Name::NONE), Direction::Get) }.is_err() {
                return Outcome::Unable;
            }
            // SAFETY: the origin has seen that the target lies in the window, and holds its guard; the operand is there.
            unsafe { combination.under_guard(room, target, std::ptr::null_mut(), count) };
            Outcome::Done
        })
    }
}

/// Combines `count` elements at `elements` with those at `target`; `fetches`: what was there takes their place.
///
/// # Safety
/// All are valid for as many dense elements, [`ROOM`] bytes at most, and the guard of the target is held.
unsafe fn combine(combination: &Combination, elements: *mut u8, target: *mut u8, fetches: bool, count: usize) {
    let bytes = count * combination.size;
    // SAFETY: contract of this function.
    unsafe {
        match combination.op {
            // A get, and a put.
            Op::NoOp => copy(target, elements, bytes),
            Op::Replace if !fetches => copy(elements, target, bytes),
            // One instruction instead of a kernel and copies around it.
            _ if count == 1 && combination.is_atomic(target) => {
                let result = if fetches { elements } else { std::ptr::null_mut() };
                combination.by_instructions(elements, target, result, 1);
            }
            _ => {
                let mut old = Old(MaybeUninit::uninit());
                let result = if fetches { old.0.as_mut_ptr().cast() } else { std::ptr::null_mut() };
                combination.under_guard(elements, target, result, count);
                if fetches {
                    copy(result, elements, bytes);
                }
            }
        }
    }
}

/// Compares the first element of `size` bytes at `elements` with that at `target`, which becomes the second if they are
/// equal; what was there becomes the first.
///
/// # Safety
/// All are valid for that, and the guard of the target is held.
unsafe fn swap(elements: *mut u8, target: *mut u8, size: usize) {
    let origin = elements.wrapping_add(size);
    // SAFETY: contract of this function.
    unsafe {
        if is_swapped_by_instruction(size, target) {
            return swap_by_instruction(size, origin, elements, elements, target);
        }
        let mut old = Old(MaybeUninit::uninit());
        let old = old.0.as_mut_ptr().cast();
        swap_under_guard(size, origin, elements, old, target);
        copy(old, elements, size);
    }
}
