//! Published receives and single copies of one process: who copies, by which mechanism.

mod beside;
mod chunks;
mod deliver;
mod handed_over;
mod hold;
mod joint;
mod look;

use crate::fork;
use crate::state::Shm;
pub use look::News;

#[cfg(test)]
mod tests;

use std::rc::Rc;
use tern_device::{
    AfterFork, Copying, Direction, Event, Exposure, Group, Lease, Memory, Name, NotCopied, Pair, PairFacts, PeerState,
    Pull, PullTo, PushTo, Run, SharedMemory, SingleCopy, SpeculativeAddress, Then, Times, Use,
};
use tern_policy::costs::Placement;
use tern_policy::segments_by;
use tern_policy::transfer::{self, Chooser, Situation, Stage};

impl Shm {
    /// A receive is published, as the next of all.
    fn note_publication(&self, peer: u32, slot: u32, memory: &Memory) {
        let order = &self.direct.order;
        order.set(order.get().wrapping_add(1));
        self.direct.count(peer);
        self.direct.access.expose(peer, slot, memory);
        fork::watch(self);
    }

    /// Own memory with the name that the kernel module gives it, for `peer`.
    #[inline]
    fn named(&self, peer: u32, memory: &Memory) -> Memory {
        self.direct.access.named(memory, peer, || self.placement(peer))
    }

    /// The kernel copies between this process and `peer`: see [`Pair::kernel`].
    pub(crate) fn copies(&self, peer: u32) -> bool {
        self.is_home(peer) && self.direct.access.kernel_copies_now(peer, self.segment.process(peer))
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
            near: true,
            crowded: self.is_crowded(),
            published_from,
            kernel_from,
            asked: chooser.asked(),
            kernel_from_is_asked: chooser.single_copy_is_asked(),
            window: self.direct.window,
            copies_beside: self.copies_beside(),
            ..Pair::default()
        }
    }

    fn mechanism(&self, peer: u32) -> &'static str {
        match self.direct.by_kernel.get() {
            true => self.direct.access.kernel_mechanism(peer),
            false => "mapped",
        }
    }

    #[inline]
    fn situation(&self, peer: u32, copying: Copying<'_>, then: Then) -> Option<Situation> {
        if !self.is_home(peer) {
            return None;
        }
        Some(match copying {
            Copying::IntoPublished { source, found } => {
                let target = self.segment.posted(peer, self.me).target(found.slot);
                self.situation_of(peer, Stage::Published, (source, &target), then)
            }
            Copying::FromSender { source, target } => self.situation_of(peer, Stage::Requested, (source, target), then),
        })
    }

    fn chooser(&self) -> Option<Rc<Chooser>> {
        Some(self.direct.chooser.clone())
    }

    fn times(&self, members: &[u32], group: &Group) -> Option<Times> {
        if !members.iter().all(|&member| self.is_home(member)) {
            return None;
        }
        // It is over when the last one has copied.
        let others = members.iter().filter(|&&member| member != self.me);
        let placement = others.map(|&member| self.placement(member)).max().unwrap_or(Placement::L3);
        let rooted = transfer::Rooted { group: *group, cores: u64::from(self.cores()), placement };
        Some(self.direct.chooser.times(&rooted))
    }

    #[inline]
    fn peer_is(&self, peer: u32, state: PeerState<'_>) -> bool {
        match state {
            PeerState::Waiting(len) => {
                let waits = self.has_time(peer, len as u64);
                self.learn(peer);
                waits
            }
            PeerState::Ready { key, sent } => self.becomes_ready_to_receive(peer, key, sent),
            PeerState::Alive => {
                // Nothing is known of those of other jobs.
                let is_here = || !self.has_gone(peer) && !self.has_left(peer);
                !self.is_home(peer) || is_here() && self.direct.access.is_there(peer, self.segment.process(peer))
            }
        }
    }
}

impl SingleCopy for Shm {
    fn locate(&self, peer: u32, memory: Memory, used: Use) -> Memory {
        // A process of another job has another file, where the place would be somewhere else.
        if memory.is_opaque() || !self.is_home(peer) {
            memory
        } else {
            self.direct.access.locate(memory, used, self.placement(peer))
        }
    }

    fn speculative_address(&self, memory: &Memory) -> Option<SpeculativeAddress> {
        self.direct.access.speculative_address(memory)
    }

    fn is_still(&self, memory: &Memory, place: u64) -> bool {
        self.direct.access.is_still(memory, place)
    }

    fn expose(&self, memory: &Memory, how: Exposure<'_>) -> Option<Memory> {
        let (access, start, len) = (&self.direct.access, memory.address as *const u8, memory.len as usize);
        match how {
            Exposure::InPlace => {
                fork::watch(self);
                let (range, place) = access.pin(start, len)?;
                Some(Memory { place, ..Memory::dense(range.start as *const u8, range.len()) })
            }
            Exposure::ByKernel(lease) => Some(Memory { cookie: access.expose_for_all(start, len, lease), ..*memory }),
            Exposure::Named => access.named_for_all(memory),
            Exposure::InRequest(peer) => self.is_home(peer).then(|| self.named(peer, memory)),
            Exposure::Segments(peer, segments) => {
                let by = || (peer, self.placement(peer));
                let open = || access.open_region(self.segment.process(self.me), memory, segments, by());
                self.is_home(peer).then(open).flatten()
            }
        }
    }

    fn release(&self, memory: &Memory) {
        let (access, start, len) = (&self.direct.access, memory.address as usize, memory.len as usize);
        match memory {
            _ if memory.is_region() => access.close_region(memory),
            Memory { place: 0, cookie, .. } => access.cover_for_all(start as *const u8, len, *cookie),
            _ => access.unpin(&(start..start + len)),
        }
    }

    fn pull(&self, peer: u32, source: &Memory, target: PullTo<'_>) -> Pull {
        if !self.is_home(peer) {
            return Pull::No;
        }
        let done = match target {
            PullTo::Receive(target, receiver, way) => return self.get(peer, source, target, (receiver, way)),
            PullTo::ByKernel(target) => self.copies(peer) && self.direct.access.read(peer, source, target),
            PullTo::Runs(target) => {
                let asked = self.direct.chooser.asked();
                let way = segments_by(asked, source.place != 0, || self.copies(peer));
                let process = self.segment.process(peer);
                way.is_some_and(|way| self.direct.access.copy_segments(peer, process, way, source, target))
            }
        };
        if done { Pull::Done } else { Pull::No }
    }

    fn push(&self, peer: u32, source: &Memory, target: PushTo<'_>, sender: u32) -> Pull {
        match target {
            // The receiver copies, or asks for packets.
            PushTo::Memory(_) => Pull::No,
            PushTo::Joint(number) => self.take_part(peer, source, number, sender),
        }
    }

    fn demotions(&self) -> u32 {
        self.direct.access.demotions()
    }

    fn keep_places(&self, more: bool) {
        self.direct.access.keep_places(more);
    }

    fn hears_of(&self, event: Event) {
        match event {
            Event::Idle { quiet } => self.direct.access.give_back(quiet),
            Event::RoundEnds => {
                self.direct.chooser.end_round();
                self.direct.gauge.borrow_mut().end_round();
            }
            Event::Lost(peer) if self.is_home(peer) => self.abandon_copies(peer),
            Event::Lost(_) => {}
        }
    }
}

impl SharedMemory for Shm {
    fn allocate(&self, len: usize, child: AfterFork) -> Option<*mut u8> {
        let heap = self.direct.access.heap();
        match child {
            AfterFork::Shared => heap.allocate(len).ok(),
            AfterFork::Copied => heap.allocate_apart(len).ok(),
        }
    }

    unsafe fn free(&self, memory: *mut u8) -> bool {
        // SAFETY: contract of this function.
        unsafe { self.direct.access.heap().free(memory) }
    }

    fn place(&self, memory: *const u8, len: usize) -> Option<u64> {
        self.direct.access.heap().place(memory, len).map(|place| place.0)
    }

    fn map(&self, memory: &Memory, lease: Lease) -> Option<*mut u8> {
        match lease {
            Lease::Brief => self.direct.access.view(memory),
            Lease::Lasting => self.direct.access.map(memory),
        }
    }

    unsafe fn copy(
        &self, peer: u32, own: &[Run], theirs: (&[Run], Name), direction: Direction,
    ) -> Result<(), NotCopied> {
        self.direct.by_kernel.set(true);
        // SAFETY: contract of this function.
        unsafe { self.direct.access.copy(peer, own, theirs, direction) }
    }

    fn fence_all(&self) -> bool {
        self.fence_processes()
    }
}
