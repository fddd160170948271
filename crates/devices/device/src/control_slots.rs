//! Control lines: memory of one process in which it tells its group what turn it has reached, with
//! a short payload in the same cache lines.
//!
//! A group's collective operations are numbered: turn 1, 2, 3 … The owner publishes every turn, in
//! order, each in the next of a ring of cells. A peer that waits for turn `t` waits for the number in
//! the cell of `t` to reach `t`, and then may read the payload until it publishes turn `t + 1` itself.
//! So a short payload may be written when every peer has published the turn after the one that was
//! in its cell before ([`Occupied::occupy`]): a root can be as many turns ahead of its group as
//! there are cells. Longer payloads lie in two buffers, used in turn, each divided into places of one length: there are as
//! many as cells for payloads of up to 1 KiB, and two for the longest. An owner that goes over to another length waits until
//! nobody reads the last payloads of the one before; never for the turn before its own, which lies in the other buffer, so
//! that two owners do not wait for each other.
//!
//! The cells of a turn lie side by side, those of all processes of the node: who looks at all of them touches one page or two,
//! and not one for each process. Where processes share a core, the processor forgets where pages lie when it goes from
//! one to the next.

#[cfg(feature = "lines-seen")]
pub mod seen;

use crate::hint::{prefetch, prefetch_for_writing, prefetch_lines, prefetch_lines_for_writing};
use std::cell::Cell as Var;
use std::slice;
use tern_atomics::{AtomicU64, Ordering};

/// Payload bytes in the cell itself, of which the first 48 share the turn's cache line.
const INLINE: usize = 112;
/// Cells of an area. The model checker tries few.
pub const DEPTH: u64 = if cfg!(loom) { 4 } else { 64 };

/// The cell of a turn.
#[repr(C, align(128))]
struct Cell {
    turn: AtomicU64,
    /// What the owner takes the operation for, so that peers can tell a mismatch.
    label: AtomicU64,
    inline: [u8; INLINE],
}

/// What an owner has last laid behind its cells.
#[derive(Debug, Default)]
pub struct Occupied {
    /// In how many places its buffers were divided, and in which turn.
    places: Var<u64>,
    turn: Var<u64>,
    /// The turn after the last one in which they were divided otherwise.
    since: Var<u64>,
}

impl Occupied {
    /// The turn that every peer must have published before the owner may publish `turn` with a payload of `len` bytes, as
    /// it is about to do: an earlier one.
    #[inline(always)]
    pub fn occupy(&self, area: &ControlSlots, turn: u64, len: usize) -> u64 {
        if len <= INLINE {
            return (turn + 1).saturating_sub(DEPTH);
        }
        let places = area.places(len);
        let last = self.turn.replace(turn);
        if self.places.replace(places) != places {
            self.since.set(last + 1);
        }
        (turn + 1).saturating_sub(places).max(self.since.get().min(turn - 1))
    }
}

/// The area of one process for one group.
#[derive(Clone, Copy, Debug)]
pub struct ControlSlots {
    /// The owner's cell of turn 0.
    cells: *mut Cell,
    /// Cells from that of one turn to that of the next.
    pitch: usize,
    buffers: *mut u8,
    /// Bytes of each of the two buffers, a power of two.
    buffer: usize,
}

impl ControlSlots {
    /// Bytes that the areas of a group of `processes` take, each with two buffers of `buffer` bytes.
    pub const fn total(processes: usize, buffer: usize) -> usize {
        processes * (DEPTH as usize * size_of::<Cell>() + 2 * buffer)
    }

    /// The area of process `owner` of a group of `processes`, whose areas begin at `base`; each of its two buffers has
    /// `buffer` bytes, a power of two.
    ///
    /// # Safety
    /// `base` is memory of [`ControlSlots::total`] bytes, aligned to a page, that began as zeros, is shared by the
    /// group, and stays mapped while any copy of the area is used.
    pub unsafe fn new(base: *mut u8, owner: usize, processes: usize, buffer: usize) -> ControlSlots {
        let cells = base.cast::<Cell>().wrapping_add(owner);
        let buffers = base.wrapping_add(ControlSlots::total(processes, 0) + owner * 2 * buffer);
        ControlSlots { cells, pitch: processes, buffers, buffer }
    }

    /// Where its cells begin, which is where the memory does if there is no other owner.
    pub fn memory(&self) -> *mut u8 {
        self.cells.cast()
    }

    /// The longest payload.
    pub fn capacity(&self) -> usize {
        self.buffer
    }

    /// How many payloads of `len` bytes there are places for.
    #[inline(always)]
    pub fn places(&self, len: usize) -> u64 {
        if len <= INLINE {
            return DEPTH;
        }
        // A power of two, so that each turn has its place.
        ((2 * self.buffer as u64) >> len.next_power_of_two().trailing_zeros()).clamp(2, DEPTH)
    }

    /// True for a payload that lies in the turn's cell.
    #[inline]
    pub const fn in_cell(len: usize) -> bool {
        len <= INLINE
    }

    fn cell(&self, turn: u64) -> *mut Cell {
        // SAFETY: the cells lie before the buffers.
        unsafe { self.cells.add((turn % DEPTH) as usize * self.pitch) }
    }

    fn turn(&self, of: u64) -> &AtomicU64 {
        // SAFETY: mapped (contract of `new`); the turn is only ever touched as an atomic.
        unsafe { &(*self.cell(of)).turn }
    }

    fn payload(&self, turn: u64, len: usize) -> *mut u8 {
        if len <= INLINE {
            // SAFETY: a field of the cell.
            unsafe { (&raw mut (*self.cell(turn)).inline).cast() }
        } else {
            assert!(len <= self.buffer, "a payload longer than its buffer");
            let places = self.places(len);
            let place = (turn % places / 2) as usize * (self.buffer >> (places / 2).trailing_zeros());
            // SAFETY: inside the area, after the cells.
            unsafe { self.buffers.add((turn as usize & 1) * self.buffer + place) }
        }
    }

    /// Publishes a turn without payload. Only the owner does.
    #[inline]
    pub fn publish(&self, turn: u64, label: u64) {
        // SAFETY: mapped (contract of `new`).
        unsafe { &(*self.cell(turn)).label }.store(label, Ordering::Relaxed);
        // Release: pairs with the acquire in `reached`; what was read of the peers in earlier
        // turns was read before this.
        self.turn(turn).store(turn, Ordering::Release);
        #[cfg(feature = "lines-seen")]
        seen::note(self.memory(), turn, 0, seen::Act::Publish);
    }

    /// Publishes a turn with `len` bytes that `write` fills. Only the owner does, when every peer
    /// has published what [`Occupied::occupy`] says.
    #[inline]
    pub fn publish_with(&self, turn: u64, label: u64, len: usize, write: impl FnOnce(&mut [u8])) {
        // SAFETY: inside the area; no peer reads it now, since all have published a turn after the
        // last one that had its payload there.
        write(unsafe { slice::from_raw_parts_mut(self.payload(turn, len), len) });
        tern_atomics::write(self.payload(turn, len), len);
        #[cfg(feature = "lines-seen")]
        seen::note(self.memory(), turn, len, seen::Act::Write);
        self.publish(turn, label);
    }

    /// True when the owner has published `turn`, whether or not it has gone on since.
    #[inline]
    pub fn reached(&self, turn: u64) -> bool {
        // Acquire: pairs with the release in `publish`.
        let reached = self.turn(turn).load(Ordering::Acquire) >= turn;
        #[cfg(feature = "lines-seen")]
        if reached {
            seen::note(self.memory(), turn, 0, seen::Act::Look);
        }
        reached
    }

    /// Asks for the cell of `turn`, which the owner may have published already: its line comes while
    /// the caller works on an earlier turn. Where the owner has not written it since it was last read,
    /// this does nothing.
    #[inline]
    pub fn prefetch(&self, turn: u64) {
        prefetch(self.cell(turn));
    }

    /// Asks for the cell of `turn`, in order to publish it.
    #[inline]
    pub fn prefetch_for_writing(&self, turn: u64) {
        prefetch_for_writing(self.cell(turn));
    }

    /// Asks for the payload of `turn`, of `len` bytes outside the cell, in order to read it: before its owner publishes it
    /// this only costs time.
    #[inline]
    pub fn prefetch_payload(&self, turn: u64, len: usize) {
        prefetch_lines(self.payload(turn, len), len);
    }

    /// Asks for the place of that payload, in order to write it.
    #[inline]
    pub fn prefetch_payload_for_writing(&self, turn: u64, len: usize) {
        prefetch_lines_for_writing(self.payload(turn, len), len);
    }

    /// The label of `turn`, once it is reached; that of a later one in the same cell when the owner
    /// has gone on so far.
    #[inline]
    pub fn label(&self, turn: u64) -> u64 {
        #[cfg(feature = "lines-seen")]
        seen::note(self.memory(), turn, 0, seen::Act::Look);
        // SAFETY: mapped (contract of `new`).
        unsafe { &(*self.cell(turn)).label }.load(Ordering::Relaxed)
    }

    /// The payload of `turn`, of which the owner has published `len` bytes or more.
    ///
    /// # Safety
    /// [`ControlSlots::reached`] was true for `turn`, the payload was published with the same
    /// length class (`len` is what the owner gave), and the slice is dropped before this process
    /// publishes `turn + 1`.
    #[inline]
    pub unsafe fn read(&self, turn: u64, len: usize) -> &[u8] {
        #[cfg(feature = "lines-seen")]
        seen::note(self.memory(), turn, len, seen::Act::Read);
        tern_atomics::read(self.payload(turn, len), len);
        // SAFETY: inside the area; the owner leaves it alone meanwhile (contract).
        unsafe { slice::from_raw_parts(self.payload(turn, len), len) }
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn areas_of_a_group_lie_apart_and_in_what_they_take() {
        const BUFFER: usize = 4096;
        for processes in 1..6 {
            let base = std::ptr::without_provenance_mut::<u8>(1 << 20);
            let mut parts = Vec::new();
            for owner in 0..processes {
                // SAFETY: nothing is read or written.
                let area = unsafe { ControlSlots::new(base, owner, processes, BUFFER) };
                parts.extend(
                    (0..DEPTH)
                        .map(|turn| (area.cells.wrapping_add(turn as usize * processes) as usize, size_of::<Cell>())),
                );
                parts.push((area.buffers as usize, 2 * BUFFER));
            }
            parts.sort_unstable();
            assert_eq!(parts[0].0, base as usize);
            assert!(parts.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{processes} processes");
            let end = parts.last().map(|part| part.0 + part.1).expect("there are parts");
            assert_eq!(end - base as usize, ControlSlots::total(processes, BUFFER));
        }
    }
}
