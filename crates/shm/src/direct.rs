//! Published receives and single copies of one process: who copies, by which mechanism.

use crate::board::{Board, Published, Stage, Word};
use crate::device::Shm;
use crate::fork;
use crate::reach::Reach;
use crate::segment::Occupation;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tern_counters as counters;
use tern_device::{Delivery, Direct, Direction, Key, Memory, Outgoing, Pull, Run, Sink};
use tern_tune::{By, Chooser, Costs, Places, Situation, Transfer};

/// Bytes that one side copies at a time when both are at work: half of a shorter message, since two
/// chunks are as many as two processes need, but not less than the lower bound.
const CHUNK: std::ops::RangeInclusive<u64> = 16 << 10..=32 << 10;
/// For so many bytes of a message a sender looks once more for a receive that is about to be published,
/// and so often at most.
const LOOK: u64 = 256;
const MOST_LOOKS: u64 = 256;
/// Looks of a sender at a message that it has left to the receiver, before it copies the message itself.
const LOOKS: u32 = 200;
/// Looks at a process that has not begun to wait yet.
const NEARLY: u32 = 25;
/// Smallest transfer that pays for publishing.
const THRESHOLD: usize = 8 << 10;

/// What this process has published and what it delivers.
pub struct State {
    pub reach: Reach,
    chooser: Rc<Chooser>,
    places: Places,
    /// By peer: whether the last message that looked for a published receive has found one.
    hits: Vec<Cell<bool>>,
    /// By peer: whether it waited in the library after the last message had been moved.
    waits: Vec<Cell<bool>>,
    /// Receives published since the beginning.
    order: Cell<u32>,
    /// Peers with published receives, and how many.
    published: RefCell<Vec<(u32, u32)>>,
    pending: RefCell<Vec<Pending>>,
}

/// A message that both sides copy and that is not finished.
struct Pending {
    peer: u32,
    slot: u32,
    word: Word,
    sender: u32,
    source: Memory,
    /// Looks before this side does what the other one has not begun.
    looks: u32,
}

/// This process has copied a message through its view of another's memory.
fn count_mapped(len: u64) {
    counters::MAPPED.add(1);
    counters::MAPPED_BYTES.add(len);
}

/// Bytes of a chunk of a message of so many bytes.
fn chunk(len: u64) -> u64 {
    len.div_ceil(2).next_multiple_of(64).clamp(*CHUNK.start(), *CHUNK.end())
}

/// How a message reaches a published receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Stream,
    Packets,
    /// By both sides, chunk by chunk.
    Both,
    /// By the sender alone, through its view of the receiver's memory.
    Mapped,
    /// By the sender alone, by the kernel.
    Kernel,
}

impl State {
    pub fn new(reach: Reach, chooser: Rc<Chooser>, processes: u32) -> State {
        State {
            chooser,
            hits: vec![Cell::new(false); processes as usize],
            waits: vec![Cell::new(false); processes as usize],
            reach,
            places: Places::new(processes as usize),
            order: Cell::new(0),
            published: RefCell::default(),
            pending: RefCell::default(),
        }
    }

    /// What the choice is made by.
    pub fn costs(&self) -> &Costs {
        self.chooser.costs()
    }

    /// Nothing is published or pending: there is nothing to look at.
    #[inline]
    fn is_idle(&self) -> bool {
        self.published.borrow().is_empty() && self.pending.borrow().is_empty()
    }

    /// Notes that one receive of `peer` more, or one less, is published.
    fn count(&self, peer: u32, more: bool) {
        let mut published = self.published.borrow_mut();
        match published.iter().position(|&(other, _)| other == peer) {
            None => published.push((peer, 1)),
            Some(at) if more => published[at].1 += 1,
            Some(at) if published[at].1 > 1 => published[at].1 -= 1,
            Some(at) => {
                published.swap_remove(at);
            }
        }
    }
}

impl Shm {
    /// What this process has published for `peer`.
    fn own_board(&self, peer: u32) -> &Board {
        self.segment.board(self.me, peer)
    }

    /// Looks after published receives and pending messages; returns how many have ended.
    #[inline]
    pub(crate) fn poll_direct(&self, sink: &mut dyn Sink) -> usize {
        if self.direct.is_idle() { 0 } else { self.look_at_boards(sink) + self.look_at_pending(sink) }
    }

    fn look_at_boards(&self, sink: &mut dyn Sink) -> usize {
        let mut ended = 0;
        let mut at = 0;
        loop {
            // The sink may publish: nothing is borrowed while it runs.
            let Some(&(peer, _)) = self.direct.published.borrow().get(at) else { return ended };
            let board = self.own_board(peer);
            for slot in 0..board.used() {
                let filled = match board.word(slot).stage() {
                    Stage::Filled => true,
                    Stage::Shared => self.help(peer, board, slot),
                    _ => false,
                };
                if filled {
                    let (receiver, size) = (board.receiver(slot), board.size(slot));
                    self.forget(peer, slot);
                    sink.delivered(receiver, size);
                    ended += 1;
                }
            }
            at += 1;
        }
    }

    fn look_at_pending(&self, sink: &mut dyn Sink) -> usize {
        let mut ended = 0;
        let mut at = 0;
        loop {
            let sender = {
                let mut pending = self.direct.pending.borrow_mut();
                let Some(message) = pending.get_mut(at) else { return ended };
                if !self.is_finished(message) {
                    at += 1;
                    continue;
                }
                pending.swap_remove(at).sender
            };
            sink.sent(sender);
            ended += 1;
        }
    }

    /// True when a message has been copied. A receiver that has left the library since, and so does
    /// not do its part, is not waited for.
    #[inline]
    fn is_finished(&self, message: &mut Pending) -> bool {
        let Pending { peer, slot, word, .. } = *message;
        let board = self.segment.board(peer, self.me);
        if !board.is_shared(slot, word) {
            return true;
        }
        message.looks = message.looks.saturating_sub(1);
        let len = message.source.len;
        (message.looks == 0 || len > *CHUNK.end()) && self.take_over(message)
    }

    #[cold]
    fn take_over(&self, message: &Pending) -> bool {
        let Pending { peer, slot, ref source, .. } = *message;
        let board = self.segment.board(peer, self.me);
        let target = board.target(slot);
        let Some(to) = self.direct.reach.view(&target) else { return false };
        self.copy_chunks(board, slot, false, &target, to, source, source.address as *const u8)
    }

    /// Waits until no peer writes to what this process has published by its place in the node's memory,
    /// and says that it lies in private memory from now on.
    pub(crate) fn withdraw_places(&self) {
        for &(peer, _) in self.direct.published.borrow().iter() {
            let board = self.own_board(peer);
            for slot in 0..board.used() {
                while board.target(slot).place != 0 && !board.make_private(slot) {
                    match board.word(slot).stage() {
                        Stage::Shared => _ = self.help(peer, board, slot),
                        Stage::Free | Stage::Filled | Stage::Packets => break,
                        Stage::Open | Stage::Claimed => {}
                    }
                    rustix::thread::sched_yield();
                }
            }
        }
    }

    /// The receiver's share of a copy from both ends; true when it has copied the last chunk.
    fn help(&self, peer: u32, board: &Board, slot: u32) -> bool {
        let source = board.source(slot);
        let target = board.target(slot);
        // Without a view the sender does it alone.
        let Some(from) = self.direct.reach.view(&source) else { return false };
        let finished = self.copy_chunks(board, slot, true, &target, target.address as *mut u8, &source, from);
        if finished {
            // The sender may sleep until it is done.
            self.segment.process(peer).bell.ring();
        }
        finished
    }

    /// Copies chunks until all are claimed; true when it has copied the last one.
    #[allow(clippy::too_many_arguments)]
    fn copy_chunks(
        &self,
        board: &Board,
        slot: u32,
        back: bool,
        target: &Memory,
        to: *mut u8,
        source: &Memory,
        from: *const u8,
    ) -> bool {
        let len = source.len.min(target.len);
        let chunk_len = chunk(len);
        let chunks = len.div_ceil(chunk_len) as u32;
        let shared = board.slot(slot);
        let mut finished = false;
        // A look first: a side that looks again and again must not count the claims up for ever.
        if shared.is_claimed(chunks) {
            return false;
        }
        while let Some(chunk) = shared.claim(back, chunks) {
            let skip = chunk as u64 * chunk_len;
            // SAFETY: both sides have declared their memory for this transfer, which is not over
            // before all chunks are copied; `to` and `from` are where it lies here.
            unsafe { copy_part(target, to, source, from, skip, chunk_len.min(len - skip)) };
            if shared.copied(chunks) {
                board.finish(slot);
                finished = true;
            }
        }
        finished
    }

    /// The published receive for a message of `len` bytes. Two processes that answer each other come
    /// to their next calls at the same time: where the last message has found its receive, this one
    /// waits for it a little, less than the copy will take.
    #[inline]
    fn find(&self, peer: u32, board: &Board, key: &Key, last: u32, len: u64) -> Option<(u32, Word)> {
        let mut found = board.find(key, last);
        let hit = &self.direct.hits[peer as usize];
        if found.is_none() && hit.get() && !self.is_crowded() {
            for _ in 0..(len / LOOK).min(MOST_LOOKS) {
                std::hint::spin_loop();
                found = board.find(key, last);
                if found.is_some() {
                    break;
                }
            }
        }
        hit.set(found.is_some());
        found
    }

    /// Whether `peer` has nothing to do but wait for a message of `size` bytes. One that has waited
    /// before may be about to. One that copies a message of its own takes a short one in passing.
    fn is_waiting(&self, peer: u32, size: u64) -> bool {
        let process = self.segment.process(peer);
        let looks = if self.direct.waits[peer as usize].get() { NEARLY } else { 1 };
        (0..looks).any(|look| {
            if look > 0 {
                std::hint::spin_loop();
            }
            match process.occupation() {
                Occupation::Waits => true,
                Occupation::Copies => size <= self.eager() as u64,
                Occupation::Computes => false,
            }
        })
    }

    /// After a copy: notes whether `peer` waits now.
    fn learn(&self, peer: u32) {
        let occupation = self.segment.process(peer).occupation();
        self.direct.waits[peer as usize].set(occupation != Occupation::Computes);
    }

    /// What is known of a message when it is decided how it goes.
    fn situation(&self, peer: u32, stage: tern_tune::Stage, source: &Memory, target: &Memory) -> Situation {
        let size = source.len.min(target.len);
        let (known, process) = (!source.is_opaque() && !target.is_opaque(), self.segment.process(peer));
        let published = stage == tern_tune::Stage::Published;
        let (own, theirs) = if published { (source, target) } else { (target, source) };
        let kernel = known && self.direct.reach.kernel_copies(peer, process, own, theirs);
        let dense = source.is_dense() && target.is_dense();
        Situation {
            size,
            stage,
            other_waits: self.is_waiting(peer, size),
            source_shared: known && source.place != 0,
            // A sender that has asked to send does not know where its message goes.
            target_shared: known && published && target.place != 0,
            push: published && kernel,
            pull: !published && kernel,
            eager: size <= self.eager() as u64,
            block: if dense { 0 } else { source.block.min(target.block) },
            placement: self.direct.places.of(peer as usize, || process.introduction().map(|(pid, _, _)| pid as i32)),
            crowded: self.is_crowded(),
            ..Situation::default()
        }
    }

    /// How a message should go to a published receive.
    fn way(&self, peer: u32, message: &Outgoing<'_>, target: &Memory) -> Way {
        let situation = self.situation(peer, tern_tune::Stage::Published, message.source, target);
        let long = situation.size > self.eager() as u64;
        let both = situation.allows(Transfer::Mapped { by: By::Both }) && !situation.crowded;
        if long && !message.waits && !both && situation.other_waits {
            // The receiver has time to fetch it, or to take packets if the sender soon waits too.
            return Way::Stream;
        }
        match self.direct.chooser.pick(&situation) {
            Transfer::Eager => Way::Stream,
            Transfer::Pipe => Way::Packets,
            Transfer::Mapped { .. } if both => Way::Both,
            Transfer::Mapped { by: By::Both | By::Sender } => Way::Mapped,
            Transfer::Cma { by: By::Sender | By::Both } => Way::Kernel,
            // It asks to send, and the receiver fetches.
            Transfer::Mapped { by: By::Receiver } | Transfer::Cma { by: By::Receiver } => Way::Stream,
        }
    }

    /// Fills a claimed receive; `None` when the mechanism has failed, which it no longer is
    /// chosen after.
    fn fill(&self, way: Way, peer: u32, slot: u32, word: Word, message: &Outgoing<'_>) -> Option<Delivery> {
        let Outgoing { source, sender, waits } = *message;
        let board = self.segment.board(peer, self.me);
        let target = board.target(slot);
        let len = source.len.min(target.len);
        let own = source.address as *const u8;
        let delivery = match way {
            Way::Both | Way::Mapped => {
                let to = self.direct.reach.view(&target)?;
                if way == Way::Both {
                    counters::SHARED.add(1);
                    counters::SHARED_BYTES.add(len);
                    board.share(slot, word, source, source.len);
                    // One chunk is copied faster by who reads from the other's cache than by who
                    // writes to what the other has. A sender that could compute leaves all of it.
                    let mine = waits && len > chunk(len);
                    match mine && self.copy_chunks(board, slot, false, &target, to, source, own) {
                        true => Delivery::Done,
                        false => Delivery::Pending,
                    }
                } else {
                    // SAFETY: the receiver has declared its memory, and cannot take it back any
                    // more; the sender's is the program's, valid while it sends.
                    unsafe { copy_part(&target, to, source, own, 0, len) };
                    count_mapped(len);
                    board.fill(slot, word, source.len);
                    Delivery::Done
                }
            }
            Way::Kernel => {
                self.direct.reach.write(peer, source, &target).then_some(())?;
                board.fill(slot, word, source.len);
                Delivery::Done
            }
            Way::Stream | Way::Packets => return None,
        };
        if delivery == Delivery::Pending {
            let still = Pending { peer, slot, word, sender, source: *source, looks: LOOKS };
            self.direct.pending.borrow_mut().push(still);
        }
        self.segment.process(peer).bell.ring();
        Some(delivery)
    }
}

impl Direct for Shm {
    fn threshold(&self) -> usize {
        THRESHOLD
    }

    fn locate(&self, _peer: u32, memory: Memory, quiet: bool) -> Memory {
        if memory.is_opaque() { memory } else { self.direct.reach.locate(memory, quiet) }
    }

    fn allocate(&self, len: usize) -> Option<*mut u8> {
        self.direct.reach.heap().allocate(len).ok()
    }

    unsafe fn free(&self, memory: *mut u8) -> bool {
        // SAFETY: contract of this function.
        unsafe { self.direct.reach.heap().free(memory) }
    }

    fn shares_with(&self, peer: u32) -> bool {
        self.is_home(peer)
    }

    fn place(&self, memory: *const u8, len: usize) -> Option<u64> {
        self.direct.reach.heap().place(memory, len).map(|place| place.0)
    }

    fn map(&self, place: u64, len: usize) -> Option<*mut u8> {
        self.direct.reach.map(place, len)
    }

    unsafe fn unmap(&self, address: *mut u8, len: usize) {
        // SAFETY: contract of this function.
        unsafe { tern_region::unmap(address, len) };
    }

    fn copies(&self, peer: u32) -> bool {
        self.is_home(peer) && self.direct.reach.kernel_copies_now(peer, self.segment.process(peer))
    }

    unsafe fn copy(&self, peer: u32, own: &[Run], theirs: &[Run], direction: Direction) -> bool {
        // SAFETY: contract of this function.
        unsafe { self.direct.reach.copy(peer, own, theirs, direction) }
    }

    fn fence_all(&self) -> bool {
        self.fence_processes()
    }

    fn expose(&self, memory: *const u8, len: usize) {
        self.direct.reach.expose_for_all(memory, len);
    }

    fn cover(&self, memory: *const u8, len: usize) {
        self.direct.reach.cover_for_all(memory, len);
    }

    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32> {
        if !self.is_home(peer) {
            return None;
        }
        let receive = Published { key: *key, receiver, target: *memory };
        let order = self.direct.order.get();
        let slot = self.own_board(peer).publish(&receive, order, seen)?;
        self.direct.order.set(order.wrapping_add(1));
        self.direct.count(peer, true);
        self.direct.reach.expose(peer, slot, memory);
        fork::watch(self);
        Some(slot)
    }

    fn retract(&self, peer: u32, slot: u32) -> bool {
        let back = self.own_board(peer).retract(slot);
        if back {
            self.direct.count(peer, false);
            self.direct.reach.cover(peer, slot);
        }
        back
    }

    fn forget(&self, peer: u32, slot: u32) {
        self.own_board(peer).free(slot);
        self.direct.count(peer, false);
        self.direct.reach.cover(peer, slot);
    }

    fn raise(&self, peer: u32, seen: u32) {
        self.own_board(peer).raise(seen);
    }

    fn pull(&self, peer: u32, source: &Memory, target: &Memory, _receiver: u32) -> Pull {
        if !self.is_home(peer) {
            return Pull::No;
        }
        let situation = self.situation(peer, tern_tune::Stage::Requested, source, target);
        match self.direct.chooser.pick(&situation) {
            Transfer::Mapped { .. } => {
                let Some(from) = self.direct.reach.view(source) else { return Pull::No };
                let len = source.len.min(target.len);
                // SAFETY: the sender waits with its memory until it is told; the target is the
                // program's, which it leaves to the receive.
                unsafe { copy_part(target, target.address as *mut u8, source, from, 0, len) };
                count_mapped(len);
                Pull::Done
            }
            Transfer::Cma { .. } => {
                let done = self.direct.reach.read(peer, source, target);
                self.learn(peer);
                if done { Pull::Done } else { Pull::No }
            }
            Transfer::Eager | Transfer::Pipe => Pull::No,
        }
    }

    #[inline]
    fn deliver(&self, peer: u32, key: &Key, last: u32, message: &Outgoing<'_>) -> Delivery {
        let source = message.source;
        if !self.is_home(peer) {
            return Delivery::Stream;
        }
        let board = self.segment.board(peer, self.me);
        let Some((slot, word)) = self.find(peer, board, key, last, source.len) else {
            return Delivery::Stream;
        };
        let way = self.way(peer, message, &board.target(slot));
        // The receiver may win it back meanwhile; then the message goes on the stream as well.
        if way == Way::Stream || !board.claim(slot, word) {
            return Delivery::Stream;
        }
        let own = self.segment.process(self.me);
        let before = own.occupation();
        if before == Occupation::Computes {
            own.set_occupation(Occupation::Copies);
        }
        let delivery = self.fill(way, peer, slot, word, message);
        own.set_occupation(before);
        self.learn(peer);
        let packets = || {
            board.send_packets(slot, word);
            Delivery::Packets { receiver: board.receiver(slot), room: board.target(slot).len }
        };
        delivery.unwrap_or_else(packets)
    }
}

/// Copies `len` bytes from byte `skip` of the data on.
///
/// # Safety
/// `to` and `from` are where the first bytes of `target` and `source` lie in this process, all of
/// their data is mapped, and `skip + len` is in both.
unsafe fn copy_part(target: &Memory, to: *mut u8, source: &Memory, from: *const u8, skip: u64, len: u64) {
    if target.is_dense() && source.is_dense() {
        // SAFETY: the caller's contract.
        return unsafe {
            std::ptr::copy_nonoverlapping(from.add(skip as usize), to.add(skip as usize), len as usize);
        };
    }
    let blocks = |memory: &Memory| tern_layout::Blocks { len: memory.len, block: memory.block, stride: memory.stride };
    // SAFETY: the caller's contract.
    unsafe { tern_layout::copy_blocks(&blocks(target), to, &blocks(source), from, skip, len) };
}
