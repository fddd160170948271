//! Control lines: memory of one process in which it tells its group what turn it has reached, with
//! a short payload in the same cache lines.
//!
//! A group's collective operations are numbered: turn 1, 2, 3 … The owner publishes each turn
//! in one of two cells, by the turn's parity. A peer that waits for turn `t` waits for the
//! number in cell `t mod 2` to reach `t`, and then may read the payload until it publishes turn
//! `t + 1` itself: the owner overwrites a payload only when every peer has got that far.

use std::slice;

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering};

/// Payload bytes in the cell itself, of which the first 48 share the turn's cache line.
const INLINE: usize = 112;
/// Where the payload buffers begin.
const BUFFERS: usize = 4096;

/// One of the two cells.
#[repr(C, align(128))]
struct Cell {
    turn: AtomicU64,
    /// What the owner takes the operation for, so that peers can tell a mismatch.
    label: AtomicU64,
    inline: [u8; INLINE],
}

/// The area of one process for one group.
#[derive(Clone, Copy, Debug)]
pub struct LineArea {
    base: *mut u8,
    /// Bytes of each of the two buffers.
    buffer: usize,
}

impl LineArea {
    /// # Safety
    /// `base` is memory of `len` bytes, aligned to a page, that began as zeros, is shared by the
    /// group, and stays mapped while any copy of the area is used.
    pub unsafe fn new(base: *mut u8, len: usize) -> LineArea {
        LineArea { base, buffer: (len - BUFFERS) / 2 }
    }

    /// The longest payload.
    pub fn capacity(&self) -> usize {
        self.buffer
    }

    fn cell(&self, turn: u64) -> *mut Cell {
        // SAFETY: the first page holds the two cells.
        unsafe { self.base.cast::<Cell>().add(turn as usize & 1) }
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
            // SAFETY: inside the area, after the cells' page.
            unsafe { self.base.add(BUFFERS + (turn as usize & 1) * self.buffer) }
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
    }

    /// Publishes a turn with `len` bytes that `write` fills. Only the owner does, when every peer
    /// has reached `turn - 1`.
    #[inline]
    pub fn publish_with(&self, turn: u64, label: u64, len: usize, write: impl FnOnce(&mut [u8])) {
        // SAFETY: inside the area; no peer reads it now, since all have reached `turn - 1` and so
        // are done with `turn - 2`, the last one in this cell.
        write(unsafe { slice::from_raw_parts_mut(self.payload(turn, len), len) });
        self.publish(turn, label);
    }

    /// True when the owner has published `turn`, or a later one in the same cell.
    #[inline]
    pub fn reached(&self, turn: u64) -> bool {
        // Acquire: pairs with the release in `publish`.
        self.turn(turn).load(Ordering::Acquire) >= turn
    }

    /// The label of `turn`, once it is reached and while the owner has not gone two turns on.
    #[inline]
    pub fn label(&self, turn: u64) -> u64 {
        // SAFETY: mapped (contract of `new`).
        unsafe { &(*self.cell(turn)).label }.load(Ordering::Relaxed)
    }

    /// True when the owner has published `turn` or any later one.
    #[inline]
    pub fn passed(&self, turn: u64) -> bool {
        self.reached(turn) || self.reached(turn + 1)
    }

    /// The payload of `turn`, of which the owner has published `len` bytes or more.
    ///
    /// # Safety
    /// [`LineArea::reached`] was true for `turn`, the payload was published with the same
    /// length class (`len` is what the owner gave), and the slice is dropped before this process
    /// publishes `turn + 1`.
    #[inline]
    pub unsafe fn read(&self, turn: u64, len: usize) -> &[u8] {
        // SAFETY: inside the area; the owner leaves it alone meanwhile (contract).
        unsafe { slice::from_raw_parts(self.payload(turn, len), len) }
    }
}

#[cfg(all(test, loom))]
mod model;
