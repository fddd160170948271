//! Put and get by the card, of a target that lies in many short runs which are neighbours in memory: the columns of a matrix,
//! one after the other. In the order of the origin's data each run is a request to the network. In the order of addresses
//! neighbours go together, from or to a copy of the data in that order.
//!
//! Runs with gaps between stay a request each: nobody but their owner could take them together, who need not call MPI.

use crate::elements::Side;
use crate::keys::Keys;
use crate::window::Window;
use crate::{Error, Started};
use std::rc::Rc;
use tern_layout::{Basic, Type};
use tern_mcm::Direction;
use tern_policy::one_sided;

/// Bytes of data that are put in order at once.
const MOST: usize = 4 << 20;

/// A run of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    address: u64,
    len: usize,
    /// Where its bytes are among those of the part.
    from: usize,
}

/// A part of the target in the order of addresses.
#[derive(Debug)]
struct InOrder {
    pieces: Vec<Piece>,
    base: u64,
    /// Of neighbours that go together: bytes, and the place from the base on.
    lengths: Vec<i64>,
    places: Vec<i64>,
}

impl InOrder {
    /// `None`: it is not worth it, there is no memory for the list, or runs overlap, where their order counts.
    fn new(theirs: &Side<'_>, from: usize, len: usize) -> Option<InOrder> {
        let (mut pieces, mut at, mut noted) = (Vec::new(), 0, true);
        theirs.runs(from, len, |address, len| {
            noted = noted && tern_memory::push(&mut pieces, Piece { address, len, from: at }).is_ok();
            at += len;
        });
        if !noted || !one_sided::may_sort(pieces.len()) {
            return None;
        }
        pieces.sort_unstable_by_key(|piece| piece.address);
        let base = pieces[0].address;
        let (mut lengths, mut places) = (Vec::<i64>::new(), Vec::<i64>::new());
        let mut end = base;
        for piece in &pieces {
            match lengths.last_mut() {
                Some(_) if piece.address < end => return None,
                Some(last) if piece.address == end => *last += piece.len as i64,
                _ => {
                    tern_memory::push(&mut lengths, piece.len as i64).ok()?;
                    tern_memory::push(&mut places, (piece.address - base) as i64).ok()?;
                }
            }
            end = piece.address + piece.len as u64;
        }
        one_sided::sorts(pieces.len(), lengths.len()).then_some(InOrder { pieces, base, lengths, places })
    }

    /// The layout of the neighbours from the base on; `None` where it spans too many bytes.
    fn layout(&self) -> Option<Rc<Type>> {
        Type::hindexed(&self.lengths, &self.places, &Type::basic(Basic::Byte)).ok()
    }

    /// From the order of the data to that of addresses.
    fn sort(&self, data: &[u8], sorted: &mut [u8]) {
        let mut at = 0;
        for piece in &self.pieces {
            sorted[at..at + piece.len].copy_from_slice(&data[piece.from..piece.from + piece.len]);
            at += piece.len;
        }
    }

    /// The reverse.
    fn restore(&self, sorted: &[u8], data: &mut [u8]) {
        let mut at = 0;
        for piece in &self.pieces {
            data[piece.from..piece.from + piece.len].copy_from_slice(&sorted[at..at + piece.len]);
            at += piece.len;
        }
    }
}

impl Window {
    /// Moves `len` bytes between own memory and that of `rank` with these keys; `None`, and nothing has happened: neighbours at
    /// the target do not lie so that they could go together.
    ///
    /// Errors: the member is lost.
    pub(crate) fn move_neighbours(
        &self, (rank, keys): (u32, &Keys), own: &Side<'_>, theirs: &Side<'_>, len: usize, way: Direction,
    ) -> Result<Option<Started>, Error> {
        if matches!(theirs, Side::Dense(..)) {
            return Ok(None);
        }
        for from in (0..len).step_by(MOST) {
            let part = MOST.min(len - from);
            let found = InOrder::new(theirs, from, part).and_then(|order| Some((order.layout()?, order)));
            match found {
                Some((layout, order)) => {
                    let target = Side::new(order.base as *mut u8, 1, &layout);
                    self.move_in_order((rank, keys), (own, from), (&target, &order), part, way)?;
                }
                None if from == 0 => return Ok(None),
                None => _ = self.card_copy((rank, keys), (own, from), (theirs, from), part, way)?,
            }
        }
        let last = self.card().remote.begun(self.peers.procs[rank as usize]);
        Ok(Some(self.begun(rank, last)))
    }

    /// Waits until it is done, for the copy belongs to this call.
    fn move_in_order(
        &self, peer: (u32, &Keys), (own, from): (&Side<'_>, usize), (target, order): (&Side<'_>, &InOrder), len: usize,
        way: Direction,
    ) -> Result<(), Error> {
        let (mut data, mut sorted) = (vec![0; len], vec![0; len]);
        if way == Direction::Put {
            // SAFETY: the origin is the program's, which leaves it to the access.
            unsafe { own.gather(from, &mut data) };
            order.sort(&data, &mut sorted);
        }
        let here = Side::Dense(sorted.as_mut_ptr(), len);
        let number = self.card_copy(peer, (&here, 0), (target, 0), len, way)?;
        self.await_card(peer.0, number)?;
        if way == Direction::Get {
            order.restore(&sorted, &mut data);
            // SAFETY: as above.
            unsafe { own.scatter(from, &data) };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `columns` columns of a matrix of `rows` rows and as many columns as `width`, of words of 4 bytes.
    fn columns(rows: i64, width: i64, columns: i64) -> Rc<Type> {
        let int = Type::basic(Basic::Int32);
        let column = Type::vector(rows, 1, width, &int).expect("a column");
        Type::hvector(columns, 1, 4, &column).expect("columns")
    }

    #[test]
    fn columns_become_rows_and_come_back() {
        let ty = columns(16, 20, 8);
        let side = Side::new(0x10000 as *mut u8, 1, &ty);
        let order = InOrder::new(&side, 0, 16 * 8 * 4).expect("worth it");
        assert_eq!((order.base, order.lengths.as_slice()), (0x10000, &[32; 16][..]));
        assert_eq!(order.places[1], 80);
        let data: Vec<u8> = (0..512u32).map(|at| (at * 7 / 3) as u8).collect();
        let (mut sorted, mut again) = (vec![0; 512], vec![0; 512]);
        order.sort(&data, &mut sorted);
        // Row 1, column 2 is element 2 * 16 + 1 of the data.
        assert_eq!(sorted[32 + 2 * 4..][..4], data[(2 * 16 + 1) * 4..][..4]);
        order.restore(&sorted, &mut again);
        assert_eq!(again, data);
    }

    #[test]
    fn gaps_and_overlaps_stay_as_they_are() {
        let gaps = columns(200, 2, 1);
        assert!(InOrder::new(&Side::new(0x10000 as *mut u8, 1, &gaps), 0, 800).is_none());
        let twice = Type::hvector(2, 1, 4, &columns(100, 4, 4)).expect("columns that overlap");
        assert!(InOrder::new(&Side::new(0x10000 as *mut u8, 1, &twice), 0, 3200).is_none());
        let few = columns(4, 4, 4);
        assert!(InOrder::new(&Side::new(0x10000 as *mut u8, 1, &few), 0, 64).is_none());
    }
}
