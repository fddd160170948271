//! The tuple queues of this process: receives are published, and the sender of a message for one finds it and fills it; and messages that
//! the receiver gets. The plan tells how the bytes move.

use super::chunks::{by_kernel, count_mapped};
use super::joint::slot_of;
use crate::posted_receives::{PostedReceives, Published, Word};
use crate::segment::Occupation;
use crate::share::{Share, Side, copy_part};
use crate::state::Shm;
use crate::transfers::Pending;
use tern_copy::Target;
use tern_counters as counters;
use tern_device::{
    Delivery, Ended, Found, Key, Memory, Outgoing, PublishedReceive, Pull, Recall, RecallReason, Then, TupleQueue,
};
use tern_policy::LOOKS_AT_LEFT;
use tern_policy::costs::Placement;
use tern_policy::offload::By;
use tern_policy::transfer::{Deliver, Get, Situation, Stage};

/// Whether that holds at one of so many looks.
fn comes_true(looks: u32, holds: impl Fn() -> bool) -> bool {
    (0..looks).any(|look| {
        if look > 0 {
            std::hint::spin_loop();
        }
        holds()
    })
}

/// What became of a claimed receive. In one register: what is returned in memory is read back by wider loads than it was stored by, which wait
/// until the stores before them, to lines that the receiver holds, are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    Whole,
    /// Both sides go on with it.
    Partly,
    /// The mechanism has failed, which it no longer is chosen after, or packets are better.
    Not,
}

impl TupleQueue for Shm {
    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32> {
        if !self.is_home(peer) {
            return None;
        }
        let forks = self.direct.access.keep_forks_out();
        let memory = if forks.is_some() { self.direct.access.look_again(memory) } else { *memory };
        let memory = self.named(peer, &memory);
        let receive = Published { key: *key, receiver, target: memory };
        let order = self.direct.order.get();
        let slot = self.own_posted(peer).publish(&receive, order, seen)?;
        self.note_publication(peer, slot, &memory);
        Some(slot)
    }

    fn recall(&self, peer: u32, slot: u32, reason: RecallReason) -> Recall {
        if reason == RecallReason::Packets {
            self.forget(peer, slot);
            return Recall::Won;
        }
        if !self.own_posted(peer).retract(slot) {
            return Recall::Claimed;
        }
        self.end_publication(peer, slot);
        Recall::Won
    }

    fn raise(&self, peer: u32, seen: u32) {
        self.own_posted(peer).raise(seen);
    }

    fn tell_ready(&self, peer: u32, waits: Option<(&Key, u32)>) {
        match waits {
            Some((key, taken)) => self.own_posted(peer).set_ready(key, taken),
            None => self.own_posted(peer).clear_ready(),
        }
    }

    #[inline]
    fn find_published(&self, peer: u32, key: &Key, last: u32, len: u64) -> Option<Found> {
        if !self.is_home(peer) {
            return None;
        }
        let posted = self.segment.posted(peer, self.me);
        let (slot, word) = self.find(peer, posted, key, last, len)?;
        let waits = self.segment.process(peer).occupation() == Occupation::Waits;
        let receive = PublishedReceive { is_private: posted.target(slot).place == 0, waits };
        Some(Found { key: *key, last, slot, stamp: word.bits(), receive })
    }

    #[inline]
    fn deliver(&self, peer: u32, found: &Found, message: &Outgoing<'_>) -> Delivery {
        let posted = self.segment.posted(peer, self.me);
        let (slot, word) = (found.slot, Word::of(found.stamp));
        if !posted.claim(slot, word) {
            // The receiver has won it back since it was found.
            return Delivery::Stream;
        }
        let own = self.segment.process(self.me);
        let before = own.occupation();
        if before == Occupation::Computes {
            own.set_occupation(Occupation::Copies);
        }
        let filled = self.fill(peer, slot, word, message);
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

    #[inline]
    fn take_ended(&self, peer: u32, transfer: Ended) -> Option<u64> {
        match transfer {
            Ended::Receive { slot, room } => self.take_filled(peer, slot, room),
            Ended::Send(sender) => self.take_sent(sender),
        }
    }
}

impl Shm {
    /// The published receive for a message of `len` bytes, for which it waits a little where the policy says so.
    #[inline]
    pub(super) fn find(
        &self, peer: u32, posted: &PostedReceives, key: &Key, last: u32, len: u64,
    ) -> Option<(u32, Word)> {
        let mut found = posted.find(key, last);
        let looks = &self.direct.looks[peer as usize];
        if found.is_none() {
            for _ in 0..looks.further_for_published(len, || self.is_crowded()) {
                std::hint::spin_loop();
                found = posted.find(key, last);
                if found.is_some() {
                    break;
                }
            }
        }
        looks.note_published(found.is_some());
        found
    }

    /// Whether `peer` has nothing to do but wait for a message of `size` bytes. One that copies a message of its own takes a short one in passing.
    pub(super) fn has_time(&self, peer: u32, size: u64) -> bool {
        let process = self.segment.process(peer);
        comes_true(self.direct.looks[peer as usize].for_waiting(), || match process.occupation() {
            Occupation::Waits => true,
            Occupation::Copies => size <= self.eager() as u64,
            Occupation::Computes => false,
        })
    }

    /// [`tern_device::PeerState::Ready`].
    pub(super) fn becomes_ready_to_receive(&self, peer: u32, key: &Key, sent: u32) -> bool {
        let (posted, looks) = (self.segment.posted(peer, self.me), &self.direct.looks[peer as usize]);
        let seen = comes_true(looks.for_ready(), || posted.is_ready(key, sent));
        looks.note_ready(seen);
        seen
    }

    /// After a copy: notes whether `peer` waits now.
    pub(super) fn learn(&self, peer: u32) {
        let occupation = self.segment.process(peer).occupation();
        self.direct.looks[peer as usize].note_waiting(occupation != Occupation::Computes);
    }

    /// Where `peer`, a process of this job, is.
    pub(super) fn placement(&self, peer: u32) -> Placement {
        let introduction = || self.segment.process(peer).introduction();
        self.direct.places.of(peer as usize, || introduction().map(|introduced| introduced.pid as i32))
    }

    /// What is known of a message when it is decided how it goes.
    pub(super) fn situation_of(
        &self, peer: u32, stage: Stage, (source, target): (&Memory, &Memory), then: Then,
    ) -> Situation {
        let size = source.len.min(target.len);
        let (known, process) = (!source.is_opaque() && !target.is_opaque(), self.segment.process(peer));
        let published = stage == Stage::Published;
        let (own, theirs) = if published { (source, target) } else { (target, source) };
        let kernel = known && self.direct.access.kernel_copies(peer, process, own, theirs);
        let dense = source.is_dense() && target.is_dense();
        let mut situation = Situation {
            size,
            stage,
            other_waits: false,
            source_shared: known && source.place != 0,
            target_shared: known && target.place != 0,
            by_module: kernel && theirs.cookie != 0 && self.direct.access.has_module(peer),
            push: published && kernel,
            pull: !published && kernel,
            eager: size <= self.eager() as u64,
            block: if dense { 0 } else { source.block.min(target.block) },
            placement: self.placement(peer),
            warmth: self.direct.recency.borrow_mut().note(own.address, size, || self.direct.room.get()),
            crowded: self.is_crowded(),
            has_copier: then == Then::Computes && self.has_copier(size),
        };
        situation.other_waits = situation.needs_the_other() && self.has_time(peer, size);
        situation
    }

    /// The lengths at which the ways between processes of this placement cost as much ([`tern_device::PairFacts::pair`]).
    #[cold]
    pub(super) fn find_lengths(&self, placement: Placement) -> ([usize; 2], usize) {
        let (chooser, most) = (&self.direct.chooser, self.eager().max(tern_policy::pair::ahead(self.direct.window)));
        let length = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let published = [false, true].map(|shared| chooser.packets_below(placement, shared, !shared, most as u64));
        (published.map(length), length(chooser.kernel_fetches_from(placement)))
    }

    /// Fills a claimed receive, or begins to.
    pub(super) fn fill(&self, peer: u32, slot: u32, mut word: Word, message: &Outgoing<'_>) -> Filled {
        let Outgoing { source, sender, way } = *message;
        let posted = self.segment.posted(peer, self.me);
        let target = posted.target(slot);
        let len = source.len.min(target.len);
        let own = source.address as *const u8;
        self.direct
            .by_kernel
            .set(matches!(way, Deliver::Kernel | Deliver::JointKernel | Deliver::HandedOver(By::Number | By::Module)));
        let share = match way {
            Deliver::Joint { begins } => {
                if !self.direct.access.can_view(&target) {
                    return Filled::Not;
                }
                let (source, lies) = self.source_for_both(peer, source, &target, false);
                word = posted.share(slot, word, &source, source.len, lies, begins);
                if begins { self.copy_out(peer, posted, slot, word, begins) } else { Share::Some }
            }
            Deliver::Mapped => {
                let Some(to) = self.direct.access.view(&target) else { return Filled::Not };
                let lies = self.gauge(source, &target);
                // SAFETY: the receiver has declared its memory, and cannot take it back any
                // more; the sender's is the program's, valid while it sends.
                unsafe { copy_part(&target, to, source, own, 0, len, lies) };
                count_mapped(len);
                posted.fill(slot, word, source.len);
                Share::Last
            }
            Deliver::Kernel => {
                if !self.direct.access.write(peer, source, &target) {
                    return Filled::Not;
                }
                posted.fill(slot, word, source.len);
                Share::Last
            }
            Deliver::JointKernel => {
                let (source, lies) = self.source_for_both(peer, source, &target, true);
                word = posted.share(slot, word, &source, source.len, lies, true);
                self.copy_out(peer, posted, slot, word, true)
            }
            Deliver::HandedOver(By::Module) => {
                let (source, _) = self.source_for_both(peer, source, &target, true);
                word = posted.share_with_module(slot, word, &source, source.len);
                match self.start_beside(peer, posted, slot, word, Side::Sender) {
                    true => Share::Some,
                    false => self.copy_out(peer, posted, slot, word, false),
                }
            }
            Deliver::HandedOver(by) => {
                let by_kernel = by == By::Number;
                if !by_kernel && !self.direct.access.can_view(&target) {
                    return Filled::Not;
                }
                let (source, lies) = self.source_for_both(peer, source, &target, by_kernel);
                word = posted.share(slot, word, &source, source.len, lies, false);
                match self.hand_over(peer, posted, slot, word, Side::Sender) {
                    true => Share::Some,
                    false => self.copy_out(peer, posted, slot, word, false),
                }
            }
            Deliver::Packets | Deliver::Card => return Filled::Not,
        };
        let done = share == Share::Last;
        if !done {
            let failed = share == Share::Failed;
            let still = Pending { peer, slot, word, sender, len: source.len, looks: LOOKS_AT_LEFT, failed };
            self.direct.pending.borrow_mut().push(still);
        }
        self.segment.doorbell(peer).ring();
        if done { Filled::Whole } else { Filled::Partly }
    }

    /// The source of a message that both sides may copy, as it stands in the slot, and what the target is taken for. Counts the message.
    fn source_for_both(&self, peer: u32, source: &Memory, target: &Memory, kernel: bool) -> (Memory, Target) {
        let len = source.len.min(target.len);
        let (messages, bytes) = match kernel {
            true => (&counters::KERNEL, &counters::KERNEL_BYTES),
            false => (&counters::SHARED, &counters::SHARED_BYTES),
        };
        messages.add(1);
        bytes.add(len);
        match kernel {
            true => (by_kernel(&self.named(peer, &Memory { place: 0, ..*source })), Target::Soon),
            false => (*source, self.gauge(source, target)),
        }
    }

    /// Gets a message from where it lies, as the receiver that it waits for ([`tern_device::SingleCopy::pull`]).
    pub(super) fn get(&self, peer: u32, source: &Memory, target: &Memory, (receiver, way): (u32, Get)) -> Pull {
        let kernel = matches!(way, Get::Kernel | Get::JointKernel | Get::HandedOver(By::Number | By::Module));
        self.direct.by_kernel.set(kernel);
        match way {
            Get::HandedOver(by) => {
                let Some(number) = self.begin(peer, source, target, receiver, by) else { return Pull::No };
                let (posted, slot) = (self.own_posted(peer), slot_of(number));
                if by == By::Module {
                    self.start_beside(peer, posted, slot, posted.word(slot), Side::Receiver);
                    return Pull::Joint(number);
                }
                // Without room for it, this process copies when it looks.
                self.hand_over(peer, posted, slot, posted.word(slot), Side::Receiver);
                Pull::Joint(number)
            }
            Get::Mapped | Get::Joint => {
                let Some(from) = self.direct.access.view(source) else { return Pull::No };
                let joint = way == Get::Joint;
                if let Some(number) = joint.then(|| self.begin(peer, source, target, receiver, By::View)).flatten() {
                    return Pull::Joint(number);
                }
                let (len, lies) = (source.len.min(target.len), self.gauge(source, target));
                // SAFETY: the sender waits with its memory until it is told; the target is the
                // program's, which it leaves to the receive.
                unsafe { copy_part(target, target.address as *mut u8, source, from, 0, len, lies) };
                count_mapped(len);
                Pull::Done
            }
            Get::Kernel | Get::JointKernel => {
                let joint = way == Get::JointKernel;
                if let Some(number) = joint.then(|| self.begin(peer, source, target, receiver, By::Number)).flatten() {
                    return Pull::Joint(number);
                }
                let done = self.direct.access.read(peer, source, target);
                self.learn(peer);
                if done { Pull::Done } else { Pull::No }
            }
            Get::Packets | Get::Card => Pull::No,
        }
    }
}
