//! Compare and swap.

use crate::accumulate::{basic_of, count};
use crate::combine::is_swapped_by_instruction;
use crate::elements::Side;
use crate::error::NotMade;
use crate::messages::{Kind, Question};
use crate::remote::Means;
use crate::spot::{Instructions, Spot};
use crate::window::Window;
use crate::{Error, Started, Target};
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_mcm::Direction;

impl Window {
    /// Where the target's element, of a predefined type, has the same bytes as `compare`, it becomes
    /// `origin`; what it was goes to `result` (`target.count` is 1).
    ///
    /// Errors: as for [`Window::put`].
    #[inline]
    pub fn compare_and_swap(
        &self, origin: *const u8, compare: *const u8, result: *mut u8, target: &Target<'_>,
    ) -> Result<Started, Error> {
        let spot = self.locate(target)?;
        let size = spot.len;
        count(size);
        if spot.way == Means::Mapped
            && spot.instructions == Instructions::Possible
            && is_swapped_by_instruction(size, spot.here)
        {
            // SAFETY: all are one element, for which there is an instruction.
            if unsafe { self.swap_by_instruction(target.rank, size, origin, compare, result, spot.here) } {
                return Ok(Started::Done);
            }
        }
        self.swap_otherwise(origin, compare, result, target, &spot)
    }

    #[cold]
    fn swap_otherwise(
        &self, origin: *const u8, compare: *const u8, result: *mut u8, target: &Target<'_>, spot: &Spot,
    ) -> Result<Started, Error> {
        let (rank, size) = (target.rank, spot.len);
        if let Some(key) = spot.key
            && let keys = self.keys(rank, key)
            && let basic = basic_of(target)?
            && let Some(swapped) = self.swap_by_card(basic, (origin, compare, result), (rank, &keys), spot)?
        {
            return Ok(swapped);
        }
        match spot.way {
            Means::Card => unreachable!("memory that the card reaches has a key"),
            Means::Mapped => {
                let inside = self.enter(rank);
                let atomic = spot.instructions == Instructions::Possible;
                // SAFETY: all are one element.
                unsafe { self.swap_inside(&inside, size, atomic, origin, compare, result, spot.here) };
            }
            Means::Kernel
                if self.is_done_by_kernel(rank, || self.swap_by_kernel(origin, compare, result, target, spot))? => {}
            Means::Kernel | Means::Messages => {
                self.announce_messages(rank);
                let question = Question { kind: Kind::Swap, op: Op::Replace, basic: basic_of(target)? };
                let ticket = self.messages.begin(Some(Data::Bytes(result, size)));
                let fill = |out: &mut [u8]| {
                    let (first, second) = out.split_at_mut(size);
                    // SAFETY: both are one element.
                    unsafe {
                        Side::Dense(compare.cast_mut(), size).gather(0, first);
                        Side::Dense(origin.cast_mut(), size).gather(0, second);
                    }
                };
                self.messages.ask(ticket, rank, question, 0, size, &[(spot.address, 1)], 2 * size, fill);
                self.messages.end(ticket);
                if spot.way == Means::Messages {
                    return Ok(Started::Pending(ticket));
                }
                // What follows may go by the kernel again, and must not overtake this.
                self.await_member(target.rank, &|| self.messages.is_done(ticket))?;
            }
        }
        Ok(Started::Done)
    }

    fn swap_by_kernel(
        &self, origin: *const u8, compare: *const u8, result: *mut u8, target: &Target<'_>, spot: &Spot,
    ) -> Result<(), NotMade> {
        let (rank, size) = (target.rank, spot.len);
        let theirs = Side::Dense(spot.address as *mut u8, size);
        let asks = self.asks_owner(rank, spot.way);
        self.send_puts(rank)?;
        let inside = self.enter(rank);
        let elements = (origin, compare, result);
        // SAFETY: all are one element, and the target lies in the window.
        if asks && unsafe { self.ask_owner_to_swap(&inside, size, elements, spot.address)? } {
            return Ok(());
        }
        self.kernel_copy(rank, (&Side::Dense(result, size), 0), (&theirs, 0), size, Direction::Get)?;
        // SAFETY: both are one element.
        let equal = unsafe { std::slice::from_raw_parts(result, size) == std::slice::from_raw_parts(compare, size) };
        if equal {
            let own = Side::Dense(origin.cast_mut(), size);
            self.kernel_copy(rank, (&own, 0), (&theirs, 0), size, Direction::Put)?;
        }
        Ok(())
    }
}
