//! Published receives and single copies of one process: who copies, by which mechanism.

mod chunks;
mod deliver;
mod hold;
mod joint;
mod look;

use crate::fork;
use crate::memcheck;
use crate::posted_receives::{Published, Stage};
use crate::segment::Occupation;
use crate::single_copy::By;
use crate::state::Shm;
use crate::transfers::Pending;
use chunks::{copy_part, count_mapped};
use deliver::{Filled, Way};
use std::ops::Range;
use tern_device::{
    Delivery, Direction, Group, Key, Memory, Name, News, NotCopied, Outgoing, Pair, PairFacts, PublishedReceive, Pull,
    Purpose, Run, SharedMemory, SingleCopy, SpeculativeAddress, Times, TupleQueue,
};
use tern_settings::Mechanism;
use tern_tune::{Placement, Transfer};

/// Smallest transfer that pays for publishing.
const THRESHOLD: usize = 8 << 10;

impl Shm {
    /// A receive is published, as the next of all.
    fn note_publication(&self, peer: u32, slot: u32, memory: &Memory) {
        let order = &self.direct.order;
        order.set(order.get().wrapping_add(1));
        self.direct.count(peer);
        self.direct.access.expose(peer, slot, memory);
        fork::watch(self);
    }

    /// How memory in pieces goes from one process to another, as the user has asked for; it is `shared` as a whole or not. `None`: not in one copy.
    fn way_to_region(&self, peer: u32, shared: bool) -> Option<By> {
        let asked = self.direct.chooser.asked();
        if shared && matches!(asked, Mechanism::Auto | Mechanism::Mapped) {
            return Some(By::View);
        }
        let kernel = matches!(asked, Mechanism::Auto | Mechanism::Cma | Mechanism::Module) && self.copies(peer);
        kernel.then_some(By::Kernel)
    }

    /// The receive that was published in a slot is so no more.
    #[inline]
    fn end_publication(&self, peer: u32, slot: u32) {
        self.direct.discount(peer);
        self.direct.access.cover(peer, slot);
    }
}

impl PairFacts for Shm {
    fn pair(&self, peer: u32) -> Pair {
        if !self.is_home(peer) {
            // Nothing is published there.
            return Pair::default();
        }
        let (placement, lengths) = (self.placement(peer), &self.direct.lengths);
        let (published_from, kernel_from) = lengths.of(placement, || self.find_lengths(placement));
        let chooser = &self.direct.chooser;
        Pair {
            class: placement.between(self.is_crowded()),
            kernel: self.copies(peer),
            publishes: true,
            crowded: self.is_crowded(),
            published_from,
            kernel_from,
            asked: chooser.asked(),
            kernel_from_is_asked: chooser.single_copy_is_asked(),
            window: self.direct.window,
            retracts_freely: true,
            ..Pair::default()
        }
    }

    fn times(&self, members: &[u32], group: &Group) -> Option<Times> {
        if !members.iter().all(|&member| self.is_home(member)) {
            return None;
        }
        // It is over when the last one has copied.
        let others = members.iter().filter(|&&member| member != self.me);
        let placement = others.map(|&member| self.placement(member)).max().unwrap_or(Placement::L3);
        let rooted = tern_tune::collective::Rooted { group: *group, cores: u64::from(self.cores()), placement };
        Some(self.direct.chooser.times(&rooted))
    }

    #[inline]
    fn is_waiting(&self, peer: u32, len: usize) -> bool {
        let waits = self.has_time(peer, len as u64);
        self.learn(peer);
        waits
    }
}

impl TupleQueue for Shm {
    fn threshold(&self) -> usize {
        THRESHOLD
    }

    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32> {
        if !self.is_home(peer) {
            return None;
        }
        let forks = self.direct.access.keep_forks_out();
        let memory = if forks.is_some() { self.direct.access.look_again(memory) } else { *memory };
        let memory = self.direct.access.named(&memory);
        let receive = Published { key: *key, receiver, target: memory };
        let order = self.direct.order.get();
        let slot = self.own_posted(peer).publish(&receive, order, seen)?;
        self.note_publication(peer, slot, &memory);
        Some(slot)
    }

    fn retract(&self, peer: u32, slot: u32) -> bool {
        let back = self.own_posted(peer).retract(slot);
        if back {
            self.end_publication(peer, slot);
        }
        back
    }

    fn news_line(&self, peer: u32, of: News) -> Option<*const u8> {
        if !self.is_home(peer) {
            return None;
        }
        match of {
            News::Published(slot) => Some(self.own_posted(peer).line(slot)),
            News::Left => {
                let pending = self.direct.pending.borrow();
                let last = pending.last().filter(|message| message.peer == peer)?;
                Some(self.segment.posted(peer, self.me).line(last.slot))
            }
            News::Packet => Some(self.next_cell(peer)),
        }
    }

    #[inline]
    fn take_filled(&self, peer: u32, slot: u32, room: u64) -> Option<u64> {
        let posted = self.own_posted(peer);
        let word = posted.word(slot);
        if word.stage() != Stage::Filled || word.is_joint() {
            return None;
        }
        // What is said of it lies on a line that the sender has read, and need not be fetched again.
        let size = if word.fits() { room } else { posted.size(slot) };
        if self.direct.checked {
            memcheck::filled(&posted.target(slot), size);
        }
        posted.free(slot, word);
        self.end_publication(peer, slot);
        Some(size)
    }

    #[inline]
    fn take_sent(&self, sender: u32) -> bool {
        let mut pending = self.direct.pending.borrow_mut();
        let copied =
            |message: &Pending| !self.segment.posted(message.peer, self.me).is_shared(message.slot, message.word);
        let at = pending.iter().position(|message| message.sender == sender && copied(message));
        at.map(|at| pending.swap_remove(at)).is_some()
    }

    fn forget(&self, peer: u32, slot: u32) {
        let posted = self.own_posted(peer);
        posted.free(slot, posted.word(slot));
        self.end_publication(peer, slot);
    }

    fn raise(&self, peer: u32, seen: u32) {
        self.own_posted(peer).raise(seen);
    }

    fn set_ready_to_receive(&self, peer: u32, key: &Key, taken: u32) {
        self.own_posted(peer).set_ready(key, taken);
    }

    fn clear_ready_to_receive(&self, peer: u32) {
        self.own_posted(peer).clear_ready();
    }

    fn is_ready_to_receive(&self, peer: u32, key: &Key, sent: u32) -> bool {
        self.becomes_ready_to_receive(peer, key, sent)
    }

    #[inline]
    fn find_published(&self, peer: u32, key: &Key, last: u32, len: u64) -> Option<PublishedReceive> {
        if !self.is_home(peer) {
            return None;
        }
        let posted = self.segment.posted(peer, self.me);
        let (slot, _) = self.find(peer, posted, key, last, len)?;
        let waits = self.segment.process(peer).occupation() == Occupation::Waits;
        Some(PublishedReceive { is_private: posted.target(slot).place == 0, waits })
    }

    #[inline]
    fn deliver(&self, peer: u32, key: &Key, last: u32, message: &Outgoing<'_>) -> Delivery {
        let source = message.source;
        if !self.is_home(peer) {
            return Delivery::Stream;
        }
        let posted = self.segment.posted(peer, self.me);
        let Some((slot, word)) = self.find(peer, posted, key, last, source.len) else {
            return Delivery::Stream;
        };
        let way = self.way(peer, message, &posted.target(slot));
        // The receiver may win it back meanwhile; then the message goes on the stream as well.
        if way == Way::Stream || !posted.claim(slot, word) {
            return Delivery::Stream;
        }
        let own = self.segment.process(self.me);
        let before = own.occupation();
        if before == Occupation::Computes {
            own.set_occupation(Occupation::Copies);
        }
        let filled = self.fill(way, peer, slot, word, message);
        own.set_occupation(before);
        self.learn(peer);
        match filled {
            Filled::Whole => Delivery::Done,
            Filled::Partly => Delivery::Pending,
            Filled::Not => {
                posted.send_packets(slot, word);
                Delivery::Packets { receiver: posted.receiver(slot), room: posted.target(slot).len }
            }
        }
    }
}

impl SingleCopy for Shm {
    fn locate(&self, peer: u32, memory: Memory, quiet: bool) -> Memory {
        self.locate_for(peer, memory, quiet, Purpose::Message)
    }

    fn locate_for(&self, peer: u32, memory: Memory, quiet: bool, purpose: Purpose) -> Memory {
        // A process of another job has another file, where the place would be somewhere else.
        if memory.is_opaque() || !self.is_home(peer) {
            memory
        } else {
            self.direct.access.locate(memory, quiet, purpose, self.placement(peer))
        }
    }

    fn named(&self, peer: u32, memory: Memory) -> Memory {
        if self.is_home(peer) { self.direct.access.named(&memory) } else { memory }
    }

    fn speculative_address(&self, memory: &Memory) -> Option<SpeculativeAddress> {
        self.direct.access.speculative_address(memory)
    }

    fn is_still(&self, memory: &Memory, place: u64) -> bool {
        self.direct.access.is_still(memory, place)
    }

    fn demotions(&self) -> u32 {
        self.direct.access.demotions()
    }

    fn keep_places(&self, more: bool) {
        self.direct.access.keep_places(more);
    }

    fn give_back(&self, quiet: bool) {
        self.direct.access.give_back(quiet);
    }

    fn pull(&self, peer: u32, source: &Memory, target: &Memory, receiver: u32) -> Pull {
        if !self.is_home(peer) {
            return Pull::No;
        }
        let situation = self.situation(peer, tern_tune::Stage::Requested, source, target);
        match self.direct.chooser.pick(&situation) {
            Transfer::Mapped { by } => {
                let Some(from) = self.direct.access.view(source) else { return Pull::No };
                let both = by == tern_tune::By::Both && !situation.crowded;
                if let Some(number) = both.then(|| self.begin(peer, source, target, receiver, false)).flatten() {
                    return Pull::Joint(number);
                }
                let (len, lies) = (source.len.min(target.len), self.gauge(source, target));
                // SAFETY: the sender waits with its memory until it is told; the target is the
                // program's, which it leaves to the receive.
                unsafe { copy_part(target, target.address as *mut u8, source, from, 0, len, lies) };
                count_mapped(len);
                Pull::Done
            }
            Transfer::Cma { by } => {
                let both = by == tern_tune::By::Both && !situation.crowded;
                if let Some(number) = both.then(|| self.begin(peer, source, target, receiver, true)).flatten() {
                    return Pull::Joint(number);
                }
                let done = self.direct.access.read(peer, source, target);
                self.learn(peer);
                if done { Pull::Done } else { Pull::No }
            }
            Transfer::Eager | Transfer::Pipe => Pull::No,
        }
    }

    fn fetch(&self, peer: u32, source: &Memory, target: &Memory) -> bool {
        self.copies(peer) && self.direct.access.read(peer, source, target)
    }

    fn locate_span(&self, peer: u32, span: &Memory, bytes: u64, quiet: bool) -> Option<Memory> {
        if !self.is_home(peer) {
            return None;
        }
        let located = self.direct.access.locate_span(span, bytes, quiet, self.placement(peer));
        self.way_to_region(peer, located.place != 0).map(|_| located)
    }

    fn open_region(&self, peer: u32, span: &Memory, segments: &[Run]) -> Option<Memory> {
        let open = || self.direct.access.open_region(self.segment.process(self.me), span, segments);
        self.is_home(peer).then(open).flatten()
    }

    fn release(&self, memory: &Memory) {
        self.direct.access.close_region(memory);
    }

    fn copy_segments(&self, peer: u32, region: &Memory, target: &[Run]) -> bool {
        let by = self.is_home(peer).then(|| self.way_to_region(peer, region.place != 0)).flatten();
        let copied = |by| self.direct.access.copy_segments(peer, self.segment.process(peer), by, region, target);
        by.is_some_and(copied)
    }

    fn join(&self, peer: u32, source: &Memory, number: u64, sender: u32) -> Pull {
        self.take_part(peer, source, number, sender)
    }

    fn end_round(&self) {
        self.direct.chooser.end_round();
        self.direct.gauge.borrow_mut().end_round();
    }
}

impl SharedMemory for Shm {
    fn allocate(&self, len: usize) -> Option<*mut u8> {
        self.direct.access.heap().allocate(len).ok()
    }

    fn allocate_apart(&self, len: usize) -> Option<*mut u8> {
        self.direct.access.heap().allocate_apart(len).ok()
    }

    unsafe fn free(&self, memory: *mut u8) -> bool {
        // SAFETY: contract of this function.
        unsafe { self.direct.access.heap().free(memory) }
    }

    fn shares_with(&self, peer: u32) -> bool {
        self.is_home(peer)
    }

    fn place(&self, memory: *const u8, len: usize) -> Option<u64> {
        self.direct.access.heap().place(memory, len).map(|place| place.0)
    }

    fn view(&self, memory: &Memory) -> Option<*mut u8> {
        self.direct.access.view(memory)
    }

    fn map(&self, place: u64, len: usize) -> Option<*mut u8> {
        self.direct.access.map(place, len)
    }

    unsafe fn unmap(&self, address: *mut u8, len: usize) {
        // SAFETY: contract of this function.
        unsafe { tern_region::unmap(address, len) };
    }

    fn pin(&self, memory: *const u8, len: usize) -> Option<(Range<usize>, u64)> {
        fork::watch(self);
        self.direct.access.pin(memory, len)
    }

    fn unpin(&self, range: &Range<usize>) {
        self.direct.access.unpin(range);
    }

    fn expose(&self, memory: *const u8, len: usize) -> u64 {
        self.direct.access.expose_for_all(memory, len)
    }

    fn cover(&self, memory: *const u8, len: usize, cookie: u64) {
        self.direct.access.cover_for_all(memory, len, cookie);
    }

    fn copies(&self, peer: u32) -> bool {
        self.is_home(peer) && self.direct.access.kernel_copies_now(peer, self.segment.process(peer))
    }

    unsafe fn copy(
        &self, peer: u32, own: &[Run], theirs: (&[Run], Name), direction: Direction,
    ) -> Result<(), NotCopied> {
        // SAFETY: contract of this function.
        unsafe { self.direct.access.copy(peer, own, theirs, direction) }
    }

    fn is_there(&self, peer: u32) -> bool {
        self.direct.access.is_there(peer, self.segment.process(peer))
    }

    fn fence_all(&self) -> bool {
        self.fence_processes()
    }
}
