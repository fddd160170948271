//! Accumulates by the card. Each element has one way, whoever combines it with whatever, or two ways would not be atomic
//! with each other:
//!
//! - integers of 8 bytes, aligned, are the card's: sums by its addition, all else by compare and swap until nobody came
//!   between;
//! - everything else is fetched, combined here and brought back, while the guard of the target is held. So is an integer
//!   over the edge of two attached pieces, which have a key each;
//! - what the card does not reach all of is combined by its owner.
//!
//! So a counter costs one round trip, and a long row of other numbers four, whatever its length. Rows of integers of 8
//! bytes cost a request for each, of which many are under way at once.

use super::keys::{Agent, WORD};
use super::{Change, Keys, Which};
use crate::access::{Instructions, Spot};
use crate::combine::Combination;
use crate::elements::{Row, Side, runs};
use crate::guarded;
use crate::window::Window;
use crate::{Error, Started, Target};
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_layout::{Basic, Type};
use tern_mcm::{Direction, Word};

/// Elements that are fetched, combined and brought back at once, in bytes.
const CHUNK: usize = 256 << 10;
/// Words that are swapped at once.
const BATCH: usize = 64;

/// Consecutive elements of a target, and what they are combined with.
#[derive(Clone, Copy)]
struct Part<'a> {
    rank: u32,
    keys: &'a Keys,
    /// In the target's process.
    address: u64,
    operand: *const u8,
    /// May be null.
    result: *mut u8,
    count: usize,
}

/// The guard of a member, held.
struct Guarded<'a>(&'a Window, u32);

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        // Behind what was brought back, in the order of requests; what its owner has stored itself comes before too.
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        self.0.change_later(self.1, Which::Guard, Change::Add(1_u64.wrapping_neg()));
    }
}

impl Window {
    /// Combines `count` elements of memory that the card reaches, or some of it. `result`: what was there goes to it.
    ///
    /// Errors: the member is lost.
    pub(crate) fn combine_by_card(
        &self, origin: &Data, result: Option<&Data>, target: &Target<'_>, (spot, keys): (&Spot, &Keys),
        combination: &Combination, count: usize,
    ) -> Result<Started, Error> {
        let (basic, rank) = (combination.basic, target.rank);
        let operand = match combination.op {
            Op::NoOp => None,
            // SAFETY: the origin is the program's.
            _ => Some(unsafe { Row::of(origin, basic, count) }),
        };
        let old = result.map(|result| Row::into(result, basic, count));
        let start = |row: &Option<Row>| row.as_ref().map_or(std::ptr::null_mut(), Row::start);
        let (from, into) = (start(&operand), start(&old));
        let (extent, mut done) = (basic.extent() as usize, 0);
        let at = |row: *mut u8, done: usize| if row.is_null() { row } else { row.wrapping_add(done * extent) };
        runs(target.ty, target.count, basic, count, |offset, count| {
            let (mut address, end) = (spot.address.wrapping_add_signed(offset), done + count);
            while done < end {
                let (agent, count) = keys.agents(basic, address, end - done);
                let part = Part { rank, keys, address, operand: at(from, done), result: at(into, done), count };
                match agent {
                    Agent::Card if matches!(combination.op, Op::Sum | Op::NoOp) => {
                        self.add_words(combination.op, &part)
                    }
                    Agent::Card => self.swap_words(combination, &part),
                    Agent::Guard => self.combine_guarded(combination, &part),
                    Agent::Owner => self.combine_by_owner(combination, spot, &part),
                }?;
                (address, done) = (address + (count * extent) as u64, done + count);
            }
            Ok(())
        })?;
        let last = self.card().remote.begun(self.peers.procs[rank as usize]);
        if let (Some(old), Some(result)) = (old, result)
            && old.is_copy()
        {
            self.await_card(rank, last)?;
            // SAFETY: the result is the program's.
            unsafe { old.finish(result, basic, count) };
        }
        Ok(self.begun(rank, last))
    }

    fn word_of(&self, part: &Part, index: usize) -> Word {
        let peer = self.peers.procs[part.rank as usize];
        let address = part.address + (index * WORD) as u64;
        Word { peer, address, key: part.keys.at(address) }
    }

    /// Adds to words; nothing is waited for.
    fn add_words(&self, op: Op, part: &Part) -> Result<(), Error> {
        for index in 0..part.count {
            let add = match op {
                Op::NoOp => 0,
                // SAFETY: the operand has as many words, aligned or not.
                _ => unsafe { part.operand.cast::<u64>().add(index).read_unaligned() },
            };
            let was = if part.result.is_null() {
                std::ptr::null_mut()
            } else {
                part.result.cast::<u64>().wrapping_add(index)
            };
            // SAFETY: the result is left to the access until it has ended.
            let begun = unsafe { self.begin_change(self.word_of(part, index), Change::Add(add), was) };
            begun.map_err(|_| self.lost(part.rank))?;
        }
        Ok(())
    }

    /// Swaps words for what they are combined to, as often as others come between.
    fn swap_words(&self, combination: &Combination, part: &Part) -> Result<(), Error> {
        for first in (0..part.count).step_by(BATCH) {
            let count = (part.count - first).min(BATCH);
            let operand = part.operand.wrapping_add(first * WORD);
            let result = if part.result.is_null() { part.result } else { part.result.wrapping_add(first * WORD) };
            let batch = Part { address: part.address + (first * WORD) as u64, operand, result, count, ..*part };
            self.swap_batch(combination, &batch)?;
        }
        Ok(())
    }

    fn swap_batch(&self, combination: &Combination, part: &Part) -> Result<(), Error> {
        let (mut known, mut found, mut next) = ([0u64; BATCH], [0u64; BATCH], [0u64; BATCH]);
        let row = Part { result: known.as_mut_ptr().cast(), ..*part };
        self.add_words(Op::NoOp, &row)?;
        self.flush_card(part.rank)?;
        let mut open: Vec<usize> = (0..part.count).collect();
        while !open.is_empty() {
            for &index in &open {
                // SAFETY: the card has written it; the operand has as many words, aligned or not.
                unsafe {
                    next[index] = std::ptr::read_volatile(&known[index]);
                    let operand = part.operand.add(index * WORD);
                    combination.under_guard(operand, (&raw mut next[index]).cast(), std::ptr::null_mut(), 1);
                }
                let change = Change::Swap { compare: known[index], swap: next[index] };
                // SAFETY: it lives until the flush; one that has failed is not answered.
                let begun = unsafe { self.begin_change(self.word_of(part, index), change, &raw mut found[index]) };
                begun.map_err(|_| self.lost(part.rank))?;
            }
            self.flush_card(part.rank)?;
            open.retain(|&index| {
                // SAFETY: the card has written it.
                let now = unsafe { std::ptr::read_volatile(&found[index]) };
                std::mem::replace(&mut known[index], now) != now
            });
        }
        if !part.result.is_null() {
            // SAFETY: the result has as many words, aligned or not.
            unsafe { std::ptr::copy_nonoverlapping(known.as_ptr().cast(), part.result, part.count * WORD) };
        }
        Ok(())
    }

    fn enter_by_card(&self, rank: u32) -> Result<Guarded<'_>, Error> {
        for attempt in 0.. {
            if self.change(rank, Which::Guard, Change::Swap { compare: 0, swap: 1 })? == 0 {
                break;
            }
            self.pause(attempt)?;
        }
        Ok(Guarded(self, rank))
    }

    /// Fetches, combines and brings back.
    fn combine_guarded(&self, combination: &Combination, part: &Part) -> Result<(), Error> {
        let basic = combination.basic;
        let (size, extent) = (basic.size() as usize, basic.extent() as usize);
        let most = (CHUNK / extent).clamp(1, part.count);
        let room = Row::room(basic, most);
        let ty = Type::basic(basic);
        let own = part.rank == self.rank();
        let mut done = 0;
        while done < part.count {
            let count = (part.count - done).min(most);
            let (here, there) = (Side::new(room.start(), count as i64, &ty), part.address + (done * extent) as u64);
            let theirs = Side::new(there as *mut u8, count as i64, &ty);
            let inside = self.enter_by_card(part.rank)?;
            let move_all = |way| match (own, way) {
                (true, way) => {
                    let (to, from) = if way == Direction::Get { (&here, &theirs) } else { (&theirs, &here) };
                    // SAFETY: own memory of the window, which the guard gives to this process; the room has as many.
                    unsafe { to.copy_from(from) };
                    Ok(())
                }
                (false, way) => {
                    let number = self.card_copy((part.rank, part.keys), (&here, 0), (&theirs, 0), count * size, way)?;
                    // What is brought back lies in memory of this call, too.
                    self.await_card(part.rank, number)
                }
            };
            move_all(Direction::Get)?;
            let at = |row: *mut u8| if row.is_null() { row } else { row.wrapping_add(done * extent) };
            // SAFETY: `room` has room for `most` elements; operand and result for all of them.
            unsafe { combination.under_guard(at(part.operand.cast_mut()), room.start(), at(part.result), count) };
            if combination.op != Op::NoOp {
                move_all(Direction::Put)?;
            }
            drop(inside);
            done += count;
        }
        Ok(())
    }

    /// Has elements combined that the card does not reach all of.
    fn combine_by_owner(&self, combination: &Combination, spot: &Spot, part: &Part) -> Result<(), Error> {
        let Part { rank, address, operand, result, count, .. } = *part;
        if rank == self.rank() {
            let part = guarded::Part { operand, target: address as *mut u8, result, count };
            // SAFETY: own memory of the window; the rows have as many elements.
            unsafe { self.combine_part(rank, combination, Instructions::Never, &part) };
            return Ok(());
        }
        let ty = Type::basic(combination.basic);
        let data = |row: *const u8| Data::new(row, count as i64, &ty);
        let (origin, result) = (data(operand), (!result.is_null()).then(|| data(result)));
        let target = Target { rank, displacement: address as i64, ty: &ty, count: count as i64 };
        let spot = Spot { address, len: origin.len(), ..*spot };
        // The rows are gone when the call returns.
        match self.combine_by_messages(&origin, result.as_ref(), &target, &spot, combination, count) {
            Started::Pending(ticket) => self.await_members(&|| self.messages.is_done(ticket)),
            Started::Done => Ok(()),
        }
    }

    /// Compares and swaps one element of `basic`; `None`, and nothing has happened: its owner has to.
    ///
    /// Errors: the member is lost.
    pub(crate) fn swap_by_card(
        &self, basic: Basic, (origin, compare, result): (*const u8, *const u8, *mut u8), (rank, keys): (u32, &Keys),
        spot: &Spot,
    ) -> Result<Option<Started>, Error> {
        let (agent, _) = keys.agents(basic, spot.address, 1);
        if agent == Agent::Owner {
            return Ok(None);
        }
        if agent == Agent::Card {
            let part = Part { rank, keys, address: spot.address, operand: origin, result, count: 1 };
            // SAFETY: all are one word; the result is left to the access until it has ended.
            let begun = unsafe {
                let (compare, swap) = (compare.cast::<u64>().read_unaligned(), origin.cast::<u64>().read_unaligned());
                self.begin_change(self.word_of(&part, 0), Change::Swap { compare, swap }, result.cast())
            };
            return Ok(Some(self.begun(rank, begun.map_err(|_| self.lost(rank))?)));
        }
        let size = spot.len;
        let theirs = Side::Dense(spot.address as *mut u8, size);
        let mut was = [0u8; 32];
        let was = &mut was[..size];
        let here = Side::Dense(was.as_mut_ptr(), size);
        let _inside = self.enter_by_card(rank)?;
        let number = self.card_copy((rank, keys), (&here, 0), (&theirs, 0), size, Direction::Get)?;
        self.await_card(rank, number)?;
        // SAFETY: all are one element.
        if unsafe { std::slice::from_raw_parts(here.start(), size) == std::slice::from_raw_parts(compare, size) } {
            let own = Side::Dense(origin.cast_mut(), size);
            let number = self.card_copy((rank, keys), (&own, 0), (&theirs, 0), size, Direction::Put)?;
            self.await_card(rank, number)?;
        }
        // SAFETY: the result is one element.
        unsafe { Side::Dense(result, size).copy_from(&here) };
        Ok(Some(Started::Done))
    }
}
