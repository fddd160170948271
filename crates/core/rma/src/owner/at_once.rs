//! Accesses of a few elements of private memory that need nothing but its owner, which waits. As in [`crate::at_once`] the
//! functions decline, before anything has happened, what is not of that kind; [`Window::accumulate`] and its kin serve
//! everything.

use crate::accumulate::count;
use crate::combine::Combination;
use crate::guarded::Entered;
use crate::remote::Means;
use crate::request::ROOM;
use crate::spot::Instructions;
use crate::window::Window;
use crate::{Error, Target};
use tern_coll::ops::Op;
use tern_layout::Basic;

impl Window {
    /// As [`Window::get_accumulate`], of `elements` dense elements at both sides; `result` may be null. False when
    /// declined. Waits for nobody but the owner, and makes no progress.
    ///
    /// Errors: the owner has ended; the memory is not attached any more.
    #[inline]
    pub fn combine_at_owner(
        &self, operand: *const u8, result: *mut u8, target: &Target<'_>, elements: usize, (op, basic): (Op, Basic),
    ) -> Result<bool, Error> {
        let Ok(combination) = Combination::find(op, basic) else { return Ok(false) };
        let bytes = elements * combination.size;
        let Some((inside, address)) = self.enter_private(target, bytes) else { return Ok(false) };
        // SAFETY: the target lies in the window, and has as many elements; origin and result are the program's.
        let done = unsafe { self.ask_owner(&inside, combination, operand, result, address, elements)? };
        if done {
            count(bytes);
        }
        Ok(done)
    }

    /// As [`Window::compare_and_swap`], of an element of `size` bytes; else as [`Window::combine_at_owner`].
    ///
    /// Errors: as there.
    #[inline]
    pub fn swap_at_owner(
        &self, origin: *const u8, compare: *const u8, result: *mut u8, target: &Target<'_>, size: usize,
    ) -> Result<bool, Error> {
        let Some((inside, address)) = self.enter_private(target, size) else { return Ok(false) };
        // SAFETY: all are one element, of at most 32 bytes, and the target lies in the window.
        let done = unsafe { self.ask_owner_to_swap(&inside, size, (origin, compare, result), address)? };
        if done {
            count(size);
        }
        Ok(done)
    }

    /// The guard of a target of so many dense bytes, and their address in its process, if the owner is to be asked for all
    /// of them.
    #[inline]
    fn enter_private(&self, target: &Target<'_>, bytes: usize) -> Option<(Entered<'_>, u64)> {
        // What is gathered goes first.
        let asks = self.owners && self.gathered.get() == 0 && self.remote(target.rank).responsiveness.would_ask();
        if !asks || !(1..=ROOM).contains(&bytes) || !target.ty.is_contiguous() {
            return None;
        }
        // An error is found again on the general way.
        let spot = self.locate(target).ok()?;
        let private = spot.way == Means::Kernel && spot.instructions == Instructions::Never;
        if !private || spot.middle.0 < spot.middle.1 || spot.len != bytes {
            return None;
        }
        Some((self.try_enter(target.rank)?, spot.address))
    }
}
