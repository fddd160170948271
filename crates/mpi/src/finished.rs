//! Receives that were complete when they started: only their status is kept until the program asks for it,
//! and the engine knows nothing of them any more.

use crate::guarded::Guarded;
use crate::handle::{GENERATIONS, Kind, decode, encode};
use std::cell::RefCell;
use tern_adi::Status;

struct Finished {
    status: Status,
    /// What tells this use of the place from others.
    generation: u8,
    kept: bool,
}

struct Table {
    places: Vec<Finished>,
    free: Vec<u32>,
}

static TABLE: Guarded<RefCell<Table>> = Guarded::new(RefCell::new(Table { places: Vec::new(), free: Vec::new() }));

/// Keeps the status of a receive without an error; returns the request's handle.
#[inline]
pub fn keep(status: Status) -> usize {
    let mut table = TABLE.get().borrow_mut();
    let index = match table.free.pop() {
        Some(index) => index,
        None => table.grow(),
    };
    let place = &mut table.places[index as usize];
    (place.status, place.kept) = (status, true);
    encode(Kind::Received, index, place.generation)
}

/// The status of the receive that `handle` names, which stays; `None` for other handles, and stale ones.
pub fn find(handle: usize) -> Option<Status> {
    let (index, generation) = decode(Kind::Received, handle)?;
    let table = TABLE.get().borrow();
    let place = table.places.get(index)?;
    (place.kept && place.generation == generation).then(|| place.status.fresh())
}

/// As [`find`], and the handle is stale from now on.
#[inline]
pub fn end(handle: usize) -> Option<Status> {
    let (index, generation) = decode(Kind::Received, handle)?;
    let mut table = TABLE.get().borrow_mut();
    let place = table.places.get_mut(index)?;
    if !place.kept || place.generation != generation {
        return None;
    }
    place.kept = false;
    place.generation = place.generation.wrapping_add(1) % GENERATIONS;
    let status = place.status.fresh();
    table.free.push(index as u32);
    Some(status)
}

/// The handles of all that are kept.
pub fn handles() -> Vec<usize> {
    let table = TABLE.get().borrow();
    let kept = table.places.iter().enumerate().filter(|(_, place)| place.kept);
    kept.map(|(index, place)| encode(Kind::Received, index as u32, place.generation)).collect()
}

impl Table {
    #[cold]
    fn grow(&mut self) -> u32 {
        self.places.push(Finished { status: Status::default(), generation: 0, kept: false });
        self.places.len() as u32 - 1
    }
}
