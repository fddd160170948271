//! One direction of a pair: a ring of cells from one sender to one receiver.
//!
//! A cell is two cache lines: the turn word, the packet's header, and a payload of a few bytes.
//! Other payloads lie in a block ([`blocks`]) of the data area, which the receiver keeps and gives another one back for. For the rest it
//! says only how many cells it has taken.
//!
//! A cell is full when its turn word is the cell's position plus one. Shared memory begins as
//! zeros, and no position's turn repeats before 2^32 packets, so a ring needs no set-up: a
//! sender may write before the receiver has started.

pub mod blocks;

use crate::doorbell;
use blocks::{Blocks, UNIT};
use std::cell::{Cell as Var, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use tern_atomics::{AtomicU32, Ordering};
use tern_copy::{Source, Target};
use tern_device::clock::ticks;
use tern_device::hint::{as_stored, can_demote, demote_lines, prefetch, prefetch_for_writing, prefetch_lines};
use tern_device::{Header, Payload, copy_short};
use tern_policy::Demotion;

/// Payload bytes that a cell holds itself.
pub const INLINE: usize = 80;
/// Payload bytes in the first line of a cell.
const FIRST_LINE: usize = 16;
/// The cell so far ahead of the next one is made ready for writing with each packet.
const AHEAD: u32 = 4;
/// Longest payload whose lines the sender passes to the cache that the receiver shares with it, once the packet is told: a receiver that waits
/// reads from the front meanwhile, one that computes finds them nearer. 1 to 2 KiB to and fro take seven eighths of the time. For longer ones
/// it is the writing that counts, and so it is where packets go one way only.
const DEMOTED: usize = 2 << 10;
/// The same where packets go to and fro one by one, and this one is a whole message: its sender has nothing to do but to wait for the answer.
/// Where both send at the same time, it takes a tenth more instead of less.
const DEMOTED_ALONE: usize = 8 << 10;
/// So many blocks that its receiver reads next are left alone by [`Sender::cldemote`]: it would have them before.
const NEAR: usize = 2;
/// If so much of a message is left, what follows a packet's part of it is asked for from far ahead. Of what is shorter the last packets would
/// ask for too much behind its end.
const LONG: usize = 64 << 10;
/// As long a packet is most likely followed by another one of its message.
const RUN: usize = 8 << 10;
/// Longest payload that is asked for before its packet is looked at: not many more lines can be on their way at a time.
const SOON: usize = 2 << 10;
/// Cells per ring: a power of two, so that positions may wrap. The model checker tries few.
pub const CELLS: u32 = if cfg!(loom) { 4 } else { 64 };

/// Copies word by word, as the sender has stored the header a moment ago ([`as_stored`]).
///
/// # Safety
/// `to` is aligned and may be written to.
#[inline(always)]
unsafe fn copy_header(from: &Header, to: *mut Header) {
    for (at, word) in from.iter().enumerate() {
        // SAFETY: passed on to the caller.
        unsafe { to.cast::<u64>().add(at).write(as_stored(word)) };
    }
}

/// A packet on its way.
#[repr(C, align(128))]
pub struct Slot {
    turn: AtomicU32,
    /// Bytes of payload, and above them, modulo 256, how many packets its sender has taken from its receiver: see `tell_size`.
    size: u32,
    /// Where a payload lies that is not here: see `tell_block`.
    told: u64,
    header: Header,
    inline: [u8; INLINE],
}

/// The shared part of a ring; the data area follows it.
#[repr(C)]
pub struct Ring {
    slots: [Slot; CELLS as usize],
    taken: Taken,
}

/// What the receiver says.
#[repr(C, align(128))]
struct Taken {
    /// Cells that it has taken.
    cells: AtomicU32,
    /// Raised by a sender that is about to sleep and waits for room; lowered by the receiver.
    wanted: AtomicU32,
    /// For each cell that it has taken and that told a block: the block that it gives back.
    blocks: [AtomicU32; CELLS as usize],
}

/// A packet in a block.
struct Lent {
    position: u32,
    /// Where its payload lies.
    place: *const u8,
    len: usize,
}

/// The sender's end.
pub struct Sender {
    ring: *const Ring,
    blocks: Rc<Blocks>,
    /// What the receiver was last seen to have taken.
    taken: Var<u32>,
    /// Packets in blocks for which the receiver has given none back yet.
    lent: RefCell<VecDeque<Lent>>,
    /// So many of the last ones have been passed on ([`Sender::cldemote`]).
    passed: Var<usize>,
    /// A packet was refused since [`Sender::want_room`].
    refused: Var<bool>,
    demotion: Demotion,
}

impl Sender {
    /// # Safety
    /// `ring` is a mapped [`Ring`], which stays mapped while the sender lives, and this is its only sender. `blocks` are those of the two
    /// processes, through which nothing was sent before: they count the cells of both directions.
    pub unsafe fn new(ring: *const Ring, blocks: Rc<Blocks>) -> Sender {
        Sender {
            ring,
            blocks,
            taken: Var::new(0),
            lent: RefCell::new(VecDeque::with_capacity(CELLS as usize)),
            passed: Var::new(0),
            refused: Var::new(false),
            demotion: Demotion::new(can_demote(), [FIRST_LINE, INLINE]),
        }
    }

    /// The largest payload of one packet.
    pub fn packet(&self) -> usize {
        self.blocks.division().packet()
    }

    fn ring(&self) -> &Ring {
        // SAFETY: mapped while self lives (contract of `new`).
        unsafe { &*self.ring }
    }

    /// True when a cell is free; looks at the receiver's word only when it must.
    #[inline(always)]
    fn has_cell(&self) -> bool {
        if self.blocks.sent().wrapping_sub(self.taken.get()) < CELLS {
            return true;
        }
        self.refresh();
        self.blocks.sent().wrapping_sub(self.taken.get()) < CELLS
    }

    /// Learns what the receiver has taken.
    #[cold]
    fn refresh(&self) {
        // Acquire: pairs with the release in `Receiver::release`; the cells and blocks told
        // there are ours again.
        let taken = self.ring().taken.cells.load(Ordering::Acquire);
        self.taken.set(taken);
        let mut lent = self.lent.borrow_mut();
        while let Some(&Lent { position, .. }) = lent.front() {
            if (taken.wrapping_sub(position) as i32) <= 0 {
                break;
            }
            // Relaxed: ordered by the acquire above.
            let block = &self.ring().taken.blocks[(position % CELLS) as usize];
            self.blocks.regain(block.load(Ordering::Relaxed));
            lent.pop_front();
        }
    }

    /// Lays a payload of `len` bytes out, of which a cell has no room for; returns where, and what to tell the receiver of that, or `None`
    /// when there is no room.
    fn put_data(&self, payload: &mut Payload<'_>, len: usize) -> Option<(*mut u8, u64)> {
        let block = self.blocks.take(len).or_else(|| {
            self.refresh();
            self.blocks.take(len)
        })?;
        // As it lies in its lines at the sender: so it often does at the receiver, and a long copy
        // between like places is faster.
        let skew = match payload {
            Payload::Bytes(bytes) | Payload::Part(bytes, _) if self.blocks.is_long(block) => {
                bytes.as_ptr() as usize % UNIT
            }
            _ => 0,
        };
        let place = self.blocks.place(block, skew, len);
        match payload {
            // SAFETY: `place` is in the block, which is nobody else's until the packet is sent.
            Payload::Bytes(bytes) | Payload::Part(bytes, _) => unsafe {
                let source = match () {
                    () if bytes.len() >= LONG => Source::LongRun,
                    () if len >= RUN => Source::Run,
                    () => Source::Any,
                };
                tern_copy::copy(place, bytes.as_ptr(), len, source, Target::Soon);
            },
            Payload::Gather(gather) => {
                // SAFETY: as above.
                gather.write_to(unsafe { std::slice::from_raw_parts_mut(place, len) });
                tern_atomics::write(place, len);
            }
        }
        self.lent.borrow_mut().push_back(Lent { position: self.blocks.sent(), place, len });
        self.passed.set(0);
        Some((place, tell_block(block, skew)))
    }

    /// For a sender that waits, after a long message: passes the last block that its receiver is not about to read, as in [`DEMOTED`]. False
    /// if there is none. A message of 64 to 512 KiB that the program has written anew takes about a twentieth less.
    pub fn cldemote(&self) -> bool {
        self.refresh();
        let (lent, passed) = (self.lent.borrow(), self.passed.get());
        let Some(at) = lent.len().checked_sub(passed + NEAR + 1) else { return false };
        let Lent { place, len, .. } = lent[at + NEAR];
        if passed > 0 && !len.is_multiple_of(self.blocks.division().long()) {
            // The end of another message.
            return false;
        }
        demote_lines(place, len);
        self.passed.set(passed + 1);
        true
    }

    /// True where [`Sender::cldemote`] does some good.
    pub fn cldemotes(&self) -> bool {
        self.demotion.pays()
    }

    /// Puts a packet with at most [`INLINE`] bytes of payload into the ring; false when it is full.
    #[inline(always)]
    pub fn send_short(&self, header: &Header, payload: &[u8]) -> bool {
        debug_assert!(payload.len() <= INLINE);
        if !self.has_cell() {
            self.refused.set(true);
            return false;
        }
        // SAFETY: as in `put`.
        unsafe {
            let slot = self.slot();
            let inline = std::slice::from_raw_parts_mut((&raw mut (*slot).inline).cast(), payload.len());
            copy_short(payload, inline);
            self.publish(slot, header, payload.len());
        }
        true
    }

    /// The cell of the next packet.
    #[inline(always)]
    fn slot(&self) -> *mut Slot {
        self.cell(self.blocks.sent())
    }

    #[inline(always)]
    fn cell(&self, position: u32) -> *mut Slot {
        // SAFETY: the index is inside the array.
        unsafe { (&raw const (*self.ring).slots).cast::<Slot>().add((position % CELLS) as usize).cast_mut() }
    }

    /// Completes the next packet, whose payload is in its place. True if its lines are to go to the cache that the receiver shares, as those
    /// of the cell do: in a stream that costs its sender more than it saves.
    ///
    /// # Safety
    /// `slot` is the next cell, and it is the sender's.
    #[inline(always)]
    unsafe fn publish(&self, slot: *mut Slot, header: &Header, len: usize) -> bool {
        let next = self.blocks.sent().wrapping_add(1);
        // SAFETY: passed on to the caller.
        unsafe {
            (*slot).size = tell_size(len, self.blocks.received() as u8);
            copy_header(header, &raw mut (*slot).header);
            if (FIRST_LINE + 1..=INLINE).contains(&len) {
                tern_atomics::write((&raw const (*slot).inline).cast::<u8>().add(FIRST_LINE), len - FIRST_LINE);
            }
            // Release: pairs with the acquire in `Receiver::peek`.
            (*slot).turn.store(next, Ordering::Release);
        }
        let demotes = self.blocks.count_sent() && self.demotion.is_for(len, ticks);
        if demotes {
            demote_lines(slot.cast::<u8>(), if len > FIRST_LINE { 2 * UNIT } else { UNIT });
        }
        // The receiver has read that cell long ago, so its lines are in both caches.
        let later = self.cell(next.wrapping_add(AHEAD));
        prefetch_for_writing(later);
        if len > FIRST_LINE {
            prefetch_for_writing(later.cast::<u8>().wrapping_add(UNIT));
        }
        demotes
    }

    /// Puts a packet into the ring; returns the payload bytes taken, `None` when it is full.
    #[inline]
    pub fn send(&self, header: &Header, payload: Payload<'_>) -> Option<usize> {
        let taken = self.put(header, payload);
        if taken.is_none() {
            self.refused.set(true);
        }
        taken
    }

    /// Before the owner sleeps: asks the receiver to ring once it has made room, if a packet was
    /// refused. The caller tries to send once more after the barrier of its bell.
    pub fn want_room(&self) {
        if self.refused.take() {
            // Relaxed: the bell's barrier puts it before the last look at what was taken.
            self.ring().taken.wanted.store(1, Ordering::Relaxed);
        }
    }

    /// See [`DEMOTED_ALONE`].
    fn is_alone(&self, payload: &Payload<'_>, len: usize) -> bool {
        len <= DEMOTED_ALONE
            && len == payload.len()
            && !matches!(payload, Payload::Part(..))
            && self.blocks.alternates()
    }

    #[inline]
    fn put(&self, header: &Header, mut payload: Payload<'_>) -> Option<usize> {
        if !self.has_cell() {
            return None;
        }
        let slot = self.slot();
        let len = payload.len();
        let len = if len <= INLINE { len } else { len.min(self.packet()) };
        // SAFETY: the cell is ours until the turn is stored: the receiver has taken its last
        // packet (`has_cell`) and does not look beyond a turn that it has not seen. The fields
        // are written through a raw pointer since the receiver holds no reference to them now.
        unsafe {
            if len <= INLINE {
                let inline = std::slice::from_raw_parts_mut((&raw mut (*slot).inline).cast(), len);
                payload.write_to(inline);
                self.publish(slot, header, len);
            } else {
                let (place, told) = self.put_data(&mut payload, len)?;
                (*slot).told = told;
                if self.publish(slot, header, len) && (len <= DEMOTED || self.is_alone(&payload, len)) {
                    demote_lines(place, len);
                }
            }
        }
        Some(len)
    }
}

const _: () = assert!(*blocks::PART.end() < 1 << 24, "a cell tells lengths in 24 bits");

/// What a cell tells of a packet's size, and of what its sender has received.
#[inline]
fn tell_size(len: usize, received: u8) -> u32 {
    len as u32 | (received as u32) << 24
}

#[inline]
fn told_len(size: u32) -> usize {
    (size & 0xff_ffff) as usize
}

/// What a cell tells of a payload in a block: its number, and how far from its beginning.
fn tell_block(block: u32, skew: usize) -> u64 {
    (block as u64) << 8 | skew as u64
}

fn told_block(told: u64) -> (u32, usize) {
    ((told >> 8) as u32, told as usize % UNIT)
}

/// The receiver's end.
pub struct Receiver {
    ring: *const Ring,
    blocks: Rc<Blocks>,
}

impl Receiver {
    /// # Safety
    /// As for [`Sender::new`]; this is the ring's only receiver.
    pub unsafe fn new(ring: *const Ring, blocks: Rc<Blocks>) -> Receiver {
        Receiver { ring, blocks }
    }

    /// The next packet, if it has arrived. It stays in the ring until [`Receiver::release`].
    #[inline]
    pub fn peek(&self) -> Option<(&Header, &[u8])> {
        let position = self.blocks.received();
        // SAFETY: the ring is mapped while self lives. The sender leaves a full cell alone until
        // it is released, and its length and place are checked against the blocks.
        unsafe {
            let slot = &raw const (*self.ring).slots[(position % CELLS) as usize];
            // Acquire: pairs with the release in `Sender::publish`.
            if (*slot).turn.load(Ordering::Acquire) != position.wrapping_add(1) {
                return None;
            }
            let len = told_len((*slot).size);
            if (FIRST_LINE + 1..=INLINE).contains(&len) {
                tern_atomics::read((&raw const (*slot).inline).cast::<u8>().add(FIRST_LINE), len - FIRST_LINE);
            }
            let payload = if len <= INLINE {
                std::slice::from_raw_parts((&raw const (*slot).inline).cast(), len)
            } else {
                let (block, skew) = told_block((*slot).told);
                std::slice::from_raw_parts(self.blocks.place(block, skew, len), len)
            };
            Some((&(*slot).header, payload))
        }
    }

    /// The cell `ahead` of the next one.
    #[inline]
    pub fn cell(&self, ahead: u32) -> *const u8 {
        let position = self.blocks.received().wrapping_add(ahead);
        // SAFETY: inside the ring, which is mapped while self lives.
        unsafe { (&raw const (*self.ring).slots[(position % CELLS) as usize]).cast() }
    }

    /// Asks for that cell, when the sender is known to be ahead: its line comes while this packet is looked at.
    #[inline]
    pub fn prefetch(&self, ahead: u32) {
        prefetch(self.cell(ahead));
    }

    /// If the packet behind the next one has arrived as well, asks for its payload, where that is short and lies in a block: it comes while
    /// the next one is copied out. Exchanges with neighbours of 256 B to 2 KiB take a tenth less. Not for one whose own payload lies in its
    /// cell: the look takes the line from a sender that may be writing there, and streams of 8 B are a seventh slower.
    #[inline]
    pub fn prefetch_payload(&self) {
        let position = self.blocks.received().wrapping_add(1);
        // SAFETY: as in `peek`; of a cell whose packet has not arrived only the turn is read.
        unsafe {
            let slot = &raw const (*self.ring).slots[(position % CELLS) as usize];
            // Acquire: pairs with the release in `Sender::publish`.
            if (*slot).turn.load(Ordering::Acquire) != position.wrapping_add(1) {
                return;
            }
            let len = told_len((*slot).size);
            if len > INLINE && len <= SOON {
                let (block, skew) = told_block((*slot).told);
                prefetch_lines(self.blocks.place(block, skew, len), len);
            }
        }
    }

    /// True when [`Receiver::peek`] would show a packet.
    #[inline]
    pub fn is_ready(&self) -> bool {
        let position = self.blocks.received();
        // SAFETY: mapped while self lives; the turn is only ever touched as an atomic.
        let turn = unsafe { &(*self.ring).slots[(position % CELLS) as usize].turn };
        // Relaxed: whoever takes the packet looks again, with acquire.
        turn.load(Ordering::Relaxed) == position.wrapping_add(1)
    }

    /// Goes on to the next packet. The one that [`Receiver::peek`] showed is not to be looked at any
    /// more; the sender learns that with the next [`Receiver::release`].
    #[inline]
    pub fn advance(&self) {
        let position = self.blocks.received();
        let cell = (position % CELLS) as usize;
        // SAFETY: mapped while self lives; the cell is full, and left alone until it is released.
        let (size, told) = unsafe {
            let slot = &raw const (*self.ring).slots[cell];
            ((*slot).size, (*slot).told)
        };
        if told_len(size) > INLINE {
            let other = self.blocks.swap(told_block(told).0);
            // SAFETY: mapped while self lives.
            let back = unsafe { &(*self.ring).taken.blocks[cell] };
            // Relaxed: published by the release of `release`. The sender has read what stood here,
            // or it could not have used the cell again.
            back.store(other, Ordering::Relaxed);
        }
        self.blocks.answer((size >> 24) as u8);
    }

    /// Gives all packets before the next one back to the sender.
    #[inline]
    pub fn release(&self) {
        // SAFETY: mapped while self lives.
        let taken = unsafe { &(*self.ring).taken.cells };
        // Release: pairs with the acquire in `Sender::refresh`.
        taken.store(self.blocks.received(), Ordering::Release);
    }

    /// True when the sender may sleep until there is room; asked after [`Receiver::release`].
    #[inline]
    pub fn is_room_wanted(&self) -> bool {
        // What was released must not be delayed beyond this look, as in `Doorbell::ring`.
        doorbell::fence_at_the_waker();
        // SAFETY: mapped while self lives.
        let wanted = unsafe { &(*self.ring).taken.wanted };
        // Relaxed: it only says whether to look at the bell.
        wanted.load(Ordering::Relaxed) != 0 && wanted.swap(0, Ordering::Relaxed) != 0
    }
}

#[cfg(all(test, loom))]
mod model;
