//! Accumulates by the card. Each element has one way, whoever combines it with whatever, or two ways would not be atomic
//! with each other:
//!
//! - integers of 8 bytes, aligned, are the card's: sums by its addition, all else by compare and swap until nobody came
//!   between;
//! - everything else is fetched, combined here and brought back, while the guard of the target is held: as much at once as
//!   fits, wherever it lies. So is an integer over the edge of two attached pieces, which have a key each;
//! - what the card does not reach all of is combined by its owner.
//!
//! So a counter costs one round trip, and a long row of other numbers four, whatever its length. Rows of integers of 8
//! bytes cost a request for each, of which many are under way at once.

use crate::card_words::{Change, Which};
use crate::combine::Combination;
use crate::elements::{Row, Side, runs};
use crate::guarded;
use crate::keys::{Agent, Keys, WORD};
use crate::spot::{Instructions, Spot};
use crate::window::Window;
use crate::{Class, Error, Started, Target};
use std::rc::Rc;
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_layout::{Basic, Type};
use tern_mcm::{Direction, Word};
use tern_memory::Lack;

/// Elements that are fetched, combined and brought back at once, in bytes.
const CHUNK: usize = 256 << 10;
/// Words that are swapped at once.
const BATCH: usize = 64;

/// The target of an accumulate, and what its elements are combined with.
#[derive(Clone, Copy)]
struct Rows<'a> {
    rank: u32,
    keys: &'a Keys,
    operand: *const u8,
    /// May be null.
    result: *mut u8,
    /// From one element of operand and result to the next.
    extent: usize,
}

impl Rows<'_> {
    fn operand(&self, element: usize) -> *const u8 {
        if self.operand.is_null() { self.operand } else { self.operand.wrapping_add(element * self.extent) }
    }

    fn result(&self, element: usize) -> *mut u8 {
        if self.result.is_null() { self.result } else { self.result.wrapping_add(element * self.extent) }
    }
}

/// Elements of a target that lie one extent apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    /// In the target's process.
    address: u64,
    /// The first of them in the rows.
    first: usize,
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

/// Elements that are combined under the guard at once: as many as there are up to [`CHUNK`] bytes, wherever they lie.
struct Gathered {
    stretches: Vec<Stretch>,
    elements: usize,
    most: usize,
    extent: usize,
}

impl Gathered {
    fn new(extent: usize) -> Gathered {
        Gathered { stretches: Vec::new(), elements: 0, most: (CHUNK / extent).max(1), extent }
    }

    /// Adds elements; `combine` is called with all whenever there are enough.
    fn add<E>(&mut self, mut stretch: Stretch, mut combine: impl FnMut(&[Stretch]) -> Result<(), E>) -> Result<(), E> {
        while stretch.count > 0 {
            let count = stretch.count.min(self.most - self.elements);
            self.stretches.push(Stretch { count, ..stretch });
            self.elements += count;
            let address = stretch.address + (count * self.extent) as u64;
            stretch = Stretch { address, first: stretch.first + count, count: stretch.count - count };
            if self.elements == self.most {
                self.end(&mut combine)?;
            }
        }
        Ok(())
    }

    /// Calls `combine` with what is left, in the order of addresses: neighbours are fetched together, whatever the order
    /// of the origin's data. Elements that overlap, which MPI forbids, are combined one stretch after the other.
    fn end<E>(&mut self, mut combine: impl FnMut(&[Stretch]) -> Result<(), E>) -> Result<(), E> {
        self.elements = 0;
        let given = std::mem::take(&mut self.stretches);
        let mut sorted = given.clone();
        sorted.sort_by_key(|stretch| stretch.address);
        let end = |stretch: &Stretch| stretch.address + (stretch.count * self.extent) as u64;
        if sorted.is_empty() {
            return Ok(());
        }
        if sorted.windows(2).any(|pair| end(&pair[0]) > pair[1].address) {
            return given.chunks(1).try_for_each(combine);
        }
        combine(&sorted)
    }
}

/// The lowest address of stretches in the order of addresses, and their elements from there on as one of a layout; `None`:
/// they lie one extent apart.
fn layout(stretches: &[Stretch], ty: &Rc<Type>) -> Result<(u64, Option<Rc<Type>>), Error> {
    let base = stretches.first().map_or(0, |first| first.address);
    let (mut lengths, mut places) = (Vec::<i64>::new(), Vec::<i64>::new());
    for stretch in stretches {
        let place = (stretch.address - base) as i64;
        match (lengths.last_mut(), places.last()) {
            (Some(length), Some(last)) if last + *length * ty.extent() == place => *length += stretch.count as i64,
            _ => {
                lengths.push(stretch.count as i64);
                places.push(place);
            }
        }
    }
    if lengths.len() <= 1 {
        return Ok((base, None));
    }
    let all = Type::hindexed(&lengths, &places, ty);
    let all = all.map_err(|error| match error {
        tern_layout::Error::NoMemory { bytes } => Lack { bytes }.into(),
        _ => Error::new(Class::Range, "the elements of an accumulate span too many bytes"),
    })?;
    Ok((base, Some(all)))
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
            _ => Some(unsafe { Row::of(origin, basic, count) }?),
        };
        let old = result.map(|result| Row::into(result, basic, count)).transpose()?;
        let start = |row: &Option<Row>| row.as_ref().map_or(std::ptr::null_mut(), Row::start);
        let (from, into) = (start(&operand), start(&old));
        let (extent, mut done) = (basic.extent() as usize, 0);
        let rows = Rows { rank, keys, operand: from, result: into, extent };
        let (mut words, mut guarded) = (Vec::new(), Gathered::new(extent));
        runs(target.ty, target.count, basic, count, |offset, count| {
            let (mut address, end) = (spot.address.wrapping_add_signed(offset), done + count);
            while done < end {
                let (agent, count) = keys.agents(basic, address, end - done);
                let stretch = Stretch { address, first: done, count };
                match agent {
                    Agent::Card if matches!(combination.op, Op::Sum | Op::NoOp) => {
                        self.add_words(combination.op, &rows, stretch)
                    }
                    Agent::Card => self.swap_words(combination, &rows, stretch, &mut words),
                    Agent::Guard => guarded.add(stretch, |all| self.combine_guarded(combination, &rows, all)),
                    Agent::Owner => self.combine_by_owner(combination, spot, &rows, stretch),
                }?;
                (address, done) = (address + (count * extent) as u64, done + count);
            }
            Ok::<(), Error>(())
        })?;
        self.swap_batch(combination, &rows, &mut words)?;
        guarded.end(|all| self.combine_guarded(combination, &rows, all))?;
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

    fn word_at(&self, rows: &Rows, address: u64) -> Word {
        Word { peer: self.peers.procs[rows.rank as usize], address, key: rows.keys.at(address) }
    }

    /// Adds to words; nothing is waited for.
    fn add_words(&self, op: Op, rows: &Rows, stretch: Stretch) -> Result<(), Error> {
        for index in 0..stretch.count {
            let element = stretch.first + index;
            let add = match op {
                Op::NoOp => 0,
                // SAFETY: the operand has as many words, aligned or not.
                _ => unsafe { rows.operand(element).cast::<u64>().read_unaligned() },
            };
            let word = self.word_at(rows, stretch.address + (index * WORD) as u64);
            // SAFETY: the result is left to the access until it has ended.
            let begun = unsafe { self.begin_change(word, Change::Add(add), rows.result(element).cast()) };
            begun.map_err(|_| self.lost(rows.rank))?;
        }
        Ok(())
    }

    /// Swaps words for what they are combined to; of the last ones, which are few, only their places are noted.
    fn swap_words(
        &self, combination: &Combination, rows: &Rows, stretch: Stretch, words: &mut Vec<(u64, usize)>,
    ) -> Result<(), Error> {
        for index in 0..stretch.count {
            words.push((stretch.address + (index * WORD) as u64, stretch.first + index));
            if words.len() == BATCH {
                self.swap_batch(combination, rows, words)?;
            }
        }
        Ok(())
    }

    /// Swaps words, of which addresses and elements are given, as often as others come between.
    fn swap_batch(&self, combination: &Combination, rows: &Rows, words: &mut Vec<(u64, usize)>) -> Result<(), Error> {
        if words.is_empty() {
            return Ok(());
        }
        let (mut known, mut found, mut next) = ([0u64; BATCH], [0u64; BATCH], [0u64; BATCH]);
        for (index, &(address, _)) in words.iter().enumerate() {
            // SAFETY: it lives until the flush; one that has failed is not answered.
            let begun =
                unsafe { self.begin_change(self.word_at(rows, address), Change::Add(0), &raw mut known[index]) };
            begun.map_err(|_| self.lost(rows.rank))?;
        }
        self.flush_card(rows.rank)?;
        let mut open: Vec<usize> = (0..words.len()).collect();
        while !open.is_empty() {
            for &index in &open {
                let (address, element) = words[index];
                // SAFETY: the card has written it; the operand has as many words, aligned or not.
                unsafe {
                    next[index] = std::ptr::read_volatile(&known[index]);
                    let into = (&raw mut next[index]).cast();
                    combination.under_guard(rows.operand(element), into, std::ptr::null_mut(), 1);
                }
                let change = Change::Swap { compare: known[index], swap: next[index] };
                // SAFETY: as above.
                let begun = unsafe { self.begin_change(self.word_at(rows, address), change, &raw mut found[index]) };
                begun.map_err(|_| self.lost(rows.rank))?;
            }
            self.flush_card(rows.rank)?;
            open.retain(|&index| {
                // SAFETY: the card has written it.
                let now = unsafe { std::ptr::read_volatile(&found[index]) };
                std::mem::replace(&mut known[index], now) != now
            });
        }
        for (index, (_, element)) in words.drain(..).enumerate() {
            if !rows.result.is_null() {
                // SAFETY: the result has as many words, aligned or not.
                unsafe { rows.result(element).cast::<u64>().write_unaligned(known[index]) };
            }
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

    /// Fetches elements that do not overlap, combines them and brings them back.
    fn combine_guarded(&self, combination: &Combination, rows: &Rows, stretches: &[Stretch]) -> Result<(), Error> {
        let (basic, own) = (combination.basic, rows.rank == self.rank());
        let (count, size) = (stretches.iter().map(|stretch| stretch.count).sum::<usize>(), basic.size() as usize);
        let (room, ty) = (Row::room(basic, count), Type::basic(basic));
        let (base, all) = layout(stretches, &ty)?;
        let here = Side::new(room.start(), count as i64, &ty);
        let theirs = match &all {
            None => Side::new(base as *mut u8, count as i64, &ty),
            Some(all) => Side::new(base as *mut u8, 1, all),
        };
        let inside = self.enter_by_card(rows.rank)?;
        let move_all = |way| {
            if own {
                let (to, from) = if way == Direction::Get { (&here, &theirs) } else { (&theirs, &here) };
                // SAFETY: own memory of the window, which the guard gives to this process; the room has as many.
                unsafe { to.copy_from(from) };
                return Ok(());
            }
            let number = self.card_copy((rows.rank, rows.keys), (&here, 0), (&theirs, 0), count * size, way)?;
            // What is brought back lies in memory of this call, too.
            self.await_card(rows.rank, number)
        };
        move_all(Direction::Get)?;
        let mut at = 0;
        for stretch in stretches {
            let (operand, result) = (rows.operand(stretch.first), rows.result(stretch.first));
            let fetched = room.start().wrapping_add(at * rows.extent);
            // SAFETY: the room has room for all elements; operand and result too.
            unsafe { combination.under_guard(operand, fetched, result, stretch.count) };
            at += stretch.count;
        }
        if combination.op != Op::NoOp {
            move_all(Direction::Put)?;
        }
        drop(inside);
        Ok(())
    }

    /// Has elements combined that the card does not reach all of.
    fn combine_by_owner(
        &self, combination: &Combination, spot: &Spot, rows: &Rows, stretch: Stretch,
    ) -> Result<(), Error> {
        let Stretch { address, first, count } = stretch;
        let (rank, operand, result) = (rows.rank, rows.operand(first), rows.result(first));
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
        match self.combine_by_messages(&origin, result.as_ref(), &target, &spot, combination, count)? {
            Started::Pending(ticket) => self.await_member(rank, &|| self.messages.is_done(ticket)),
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
            let word =
                Word { peer: self.peers.procs[rank as usize], address: spot.address, key: keys.at(spot.address) };
            // SAFETY: all are one word; the result is left to the access until it has ended.
            let begun = unsafe {
                let (compare, swap) = (compare.cast::<u64>().read_unaligned(), origin.cast::<u64>().read_unaligned());
                self.begin_change(word, Change::Swap { compare, swap }, result.cast())
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
