//! Short accesses to private memory that its owner makes itself while it waits in the library: a line of memory that goes
//! there and back is faster than a system call.
//!
//! The origin holds the guard of the target. So there is one request at a time, and what is asked is atomic with
//! everything that is done under the guard. The origin asks and looks for a while. An owner that waits takes the
//! request, does it without waiting for anything, and says so. One that computes does not: then the origin takes the
//! request back, goes by the kernel, and does so for a while before it asks that owner again. So nobody depends on
//! the owner's progress.

use crate::atomics::{AtomicU32, Ordering};
#[cfg(not(loom))]
pub use request::*;

const NOTHING: u32 = 0;
const ASKED: u32 = 1;
const TAKEN: u32 = 2;
const DONE: u32 = 3;

/// Where a request stands.
#[repr(C)]
pub struct State(AtomicU32);

impl State {
    /// The origin asks; it holds the guard, and what it asks for is written.
    #[inline]
    pub fn ask(&self) {
        // Release: pairs with the acquire in `take`.
        self.0.store(ASKED, Ordering::Release);
    }

    /// True when the owner has done it.
    #[inline]
    pub fn is_done(&self) -> bool {
        // Acquire: pairs with the release in `finish`.
        self.0.load(Ordering::Acquire) == DONE
    }

    /// The origin does not want it any more. False when the owner has taken it, and will have done it soon.
    pub fn take_back(&self) -> bool {
        // Relaxed: what follows an exchange that fails is `is_done`.
        self.0.compare_exchange(ASKED, NOTHING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// True when there is a request, which is the owner's now.
    #[inline]
    pub fn take(&self) -> bool {
        // Acquire: pairs with the release in `ask`.
        self.0.load(Ordering::Relaxed) == ASKED
            && self.0.compare_exchange(ASKED, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The owner has done what it took.
    #[inline]
    pub fn finish(&self) {
        // Release: pairs with the acquire in `is_done`.
        self.0.store(DONE, Ordering::Release);
    }
}

#[cfg(not(loom))]
mod request {
    use super::State;
    use crate::accumulate::Entered;
    use crate::combine::Combination;
    use crate::window::{Remote, Way, Window};
    use std::cell::{Cell, UnsafeCell};
    use std::sync::atomic::{AtomicU64, Ordering};
    use tern_coll::ops::Op;
    use tern_counters as counters;
    use tern_layout::Basic;

    /// Bytes of elements in a request at most; the first 32 lie on the line of the rest.
    pub const ROOM: usize = 224;
    /// Looks for an answer.
    const LOOKS: u32 = 50;
    /// Accesses that go by the kernel after an owner has not answered: at first, and at most.
    const SKIPS: (u32, u32) = (16, 128);

    /// What an owner is asked: to combine elements with those of its memory.
    #[repr(C, align(128))]
    pub struct Request {
        state: State,
        /// Operation, basic type, whether the old values are wanted: a byte each; the number of elements above 32.
        what: AtomicU64,
        address: AtomicU64,
        _pad: u64,
        /// The operands, then the old values.
        elements: UnsafeCell<[u8; ROOM]>,
    }

    const _: () = assert!(size_of::<Request>() == 256);

    /// What an origin has seen of an owner.
    #[derive(Default)]
    pub struct Patience {
        /// So many accesses go by the kernel before it is asked again.
        skip: Cell<u32>,
        /// And so many after it has not answered again.
        next: Cell<u32>,
    }

    impl Patience {
        /// True when the owner is to be asked.
        #[inline]
        fn asks(&self) -> bool {
            let skip = self.skip.get();
            self.skip.set(skip.saturating_sub(1));
            skip == 0
        }

        fn note(&self, answered: bool) {
            let next = if answered { 0 } else { (2 * self.next.get()).clamp(SKIPS.0, SKIPS.1) };
            self.next.set(next);
            self.skip.set(next);
        }
    }

    #[repr(align(16))]
    struct Row([u8; ROOM]);

    impl Window {
        /// True when the owner of `rank`'s memory is to be asked for so few elements.
        #[inline]
        pub(crate) fn asks_owner(&self, remote: &Remote, bytes: usize) -> bool {
            bytes <= ROOM && self.owners && remote.way == Way::Kernel && remote.patience.asks()
        }

        /// Lets the owner combine `count` elements at `address`, which lie one behind the other and take
        /// [`ROOM`] at most; `result` may be null. False: it does not answer, and nothing has happened.
        ///
        /// # Safety
        /// The target lies in the window; `operand`, unless the operation is [`Op::NoOp`], and `result` are valid for as
        /// many elements.
        pub(crate) unsafe fn ask_owner(
            &self,
            inside: &Entered<'_>,
            combination: &Combination,
            operand: *const u8,
            result: *mut u8,
            address: u64,
            count: usize,
        ) -> bool {
            let (rank, bytes) = (inside.rank(), count * combination.size);
            let request = &self.shared.member(rank).request;
            let elements = request.elements.get().cast::<u8>();
            let wants = u64::from(!result.is_null());
            let what = combination.op as u64 | (combination.basic as u64) << 8 | wants << 16 | (count as u64) << 32;
            request.what.store(what, Ordering::Relaxed);
            request.address.store(address, Ordering::Relaxed);
            if combination.op != Op::NoOp {
                // SAFETY: contract of this function; the guard is held, and the owner looks when it is asked.
                unsafe { crate::elements::copy(operand, elements, bytes) };
            }
            request.state.ask();
            let answered = request.await_answer();
            self.remote(rank).patience.note(answered);
            if answered && wants == 1 {
                // SAFETY: contract of this function; the owner is done with them.
                unsafe { crate::elements::copy(elements, result, bytes) };
            }
            answered
        }

        /// Does what an origin asks of this process now; true if there was something.
        #[inline]
        pub(crate) fn answer_origin(&self) -> bool {
            let request = &self.shared.member(self.rank()).request;
            let asked = request.state.take();
            if asked {
                request.answer();
                counters::OWNER.add(1);
            }
            asked
        }
    }

    impl Request {
        fn await_answer(&self) -> bool {
            for _ in 0..LOOKS {
                if self.state.is_done() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if self.state.take_back() {
                return false;
            }
            // The owner is at it. It waits for nothing, but may have lost its core.
            while !self.state.is_done() {
                std::thread::yield_now();
            }
            true
        }

        fn answer(&self) {
            let what = self.what.load(Ordering::Relaxed);
            let [op, basic, wants, ..] = what.to_le_bytes();
            let (op, basic, count) = (Op::ALL[op as usize], Basic::ALL[basic as usize], (what >> 32) as usize);
            let target = self.address.load(Ordering::Relaxed) as *mut u8;
            // The origin has seen that the operation takes the type.
            if let Ok(combination) = Combination::find(op, basic) {
                let elements = self.elements.get().cast::<u8>();
                let mut old = Row([0; ROOM]);
                let result = if wants == 1 { old.0.as_mut_ptr() } else { std::ptr::null_mut() };
                // SAFETY: the origin has seen that the target lies in the window, and holds its guard; the request is this
                // process's, and there is room for as many elements.
                unsafe {
                    combination.under_guard(elements, target, result, count);
                    if wants == 1 {
                        crate::elements::copy(result, elements, count * combination.size);
                    }
                }
            }
            self.state.finish();
        }
    }
}

#[cfg(all(test, loom))]
mod model;
