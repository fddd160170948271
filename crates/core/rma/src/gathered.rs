//! Short puts into private memory, which the kernel is asked for together: a system call takes as long as copying a
//! few KiB, and until a flush a program may not change what it puts, nor expect to see it at the target.

use crate::combine::Combination;
use crate::elements::Side;
use crate::error::NotMade;
use crate::messages::{Kind, PART, Question};
use crate::remote::{Means, Puts};
use crate::request::ROOM;
use crate::window::Window;
use crate::{Error, Target};
use std::cell::RefMut;
use tern_coll::ops::Op;
use tern_counters as counters;
use tern_layout::Basic;
use tern_mcm::{Direction, Run};
use tern_policy::one_sided::{LONGEST_GATHERED, MOST_GATHERED};

impl Window {
    /// [`Window::put`] of `len` dense bytes, done with the next flush at the latest; until then the origin must stay
    /// as it is. False when declined, and then nothing has happened.
    ///
    /// Errors: as for [`Window::put`]; that memory of the target has gone may be told by the flush.
    #[inline]
    pub fn put_later(&self, origin: *const u8, len: usize, target: &Target<'_>) -> Result<bool, Error> {
        if len > LONGEST_GATHERED {
            return Ok(false);
        }
        let spot = self.locate(target)?;
        if spot.way != Means::Kernel || spot.len != len || !target.ty.is_contiguous() {
            return Ok(false);
        }
        counters::PUT.add(1);
        counters::PUT_BYTES.add(len as u64);
        let mut puts = self.remote(target.rank).puts.borrow_mut();
        if puts.own.is_empty() {
            self.gathered.set(self.gathered.get() + 1);
        }
        puts.add(origin as u64, spot.address, len as u64);
        if puts.own.len() == MOST_GATHERED {
            self.send(target.rank, puts)?;
        }
        Ok(true)
    }

    /// Puts what is gathered for `rank`.
    #[inline]
    pub(crate) fn send_puts(&self, rank: u32) -> Result<(), Error> {
        if self.gathered.get() == 0 {
            return Ok(());
        }
        self.send(rank, self.remote(rank).puts.borrow_mut())
    }

    /// Puts what is gathered.
    #[inline]
    pub(crate) fn send_all_puts(&self) -> Result<(), Error> {
        if self.gathered.get() == 0 {
            return Ok(());
        }
        (0..self.peers.size()).try_for_each(|rank| self.send_puts(rank))
    }

    /// Puts a few bytes by the memory's owner; false when it does not answer.
    fn put_by_owner(&self, rank: u32, own: Run, theirs: Run) -> Result<bool, Error> {
        if own.len as usize > ROOM || !self.asks_owner(rank, Means::Kernel) {
            return Ok(false);
        }
        let Some(inside) = self.try_enter(rank) else { return Ok(false) };
        let replace = Combination::find(Op::Replace, Basic::Byte)?;
        let operand = own.address as *const u8;
        // SAFETY: the target lies in the window, and the origin is the program's, which leaves it to the put.
        unsafe { self.ask_owner(&inside, replace, operand, std::ptr::null_mut(), theirs.address, own.len as usize) }
    }

    fn send(&self, rank: u32, mut puts: RefMut<'_, Puts>) -> Result<(), Error> {
        if puts.own.is_empty() {
            return Ok(());
        }
        self.gathered.set(self.gathered.get() - 1);
        self.stored.set(true);
        if let (&[own], &[theirs]) = (&puts.own[..], &puts.theirs[..])
            && self.put_by_owner(rank, own, theirs)?
        {
            puts.own.clear();
            puts.theirs.clear();
            return Ok(());
        }
        // SAFETY: own memory is the program's, which leaves it to the puts; that of the peer lies in the window.
        let copied = unsafe { self.ask_kernel(rank, &puts.own, &puts.theirs, Direction::Put) };
        if !self.is_done_by_kernel(rank, || copied.map_err(NotMade::NotCopied))? {
            self.put_by_messages(rank, &puts);
        }
        puts.own.clear();
        puts.theirs.clear();
        Ok(())
    }

    /// Where the kernel refuses; the flush waits for it.
    #[cold]
    fn put_by_messages(&self, rank: u32, puts: &Puts) {
        self.announce_messages(rank);
        for (own, theirs) in puts.own.iter().zip(&puts.theirs) {
            let question = Question { kind: Kind::Put, op: Op::Replace, basic: Basic::Byte };
            let ticket = self.messages.begin(None);
            let (from, len) = (Side::Dense(own.address as *mut u8, own.len as usize), own.len as usize);
            for at in (0..len).step_by(PART) {
                let part = (len - at).min(PART);
                let runs = [(theirs.address + at as u64, part as u64)];
                // SAFETY: the origin is the program's, which leaves it to the puts.
                let gather = |out: &mut [u8]| unsafe { from.gather(at, out) };
                self.messages.ask(ticket, rank, question, at, part, &runs, part, gather);
            }
            self.messages.end(ticket);
        }
    }
}
