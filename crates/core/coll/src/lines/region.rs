//! Longer collectives with a root, in one copy of each byte: the root declares one region of its memory, and the others copy from it,
//! or to it in a gather, all at once. The lines only tell where the region is, and when all have done with it.
//!
//! The root alone decides. In a first turn it tells the region, or that the data comes by another way, for which it waits for nobody.
//! In the last one each of the others says whether it could copy, and the root waits for all of them. Who could not gets its data in
//! a message: that is a matter of this member and the root, of which the others need not know.
//!
//! Bytes move as the two processes reach each other: by a mapping of shared memory, or by the kernel.

use super::declared::Exposed;
use super::label::{Done, Kind, MORE, label};
use super::{Lines, Mismatch};
use crate::reach::{Reach, Region, is_exposed, may_ask_kernel, span};
use crate::tags::tag_of_turn;
use tern_adi::{Adi, Data, Pattern, SendMode, Sent, Tuple};
use tern_counters as counters;
use tern_mcm::{ControlSlots, Direct, Direction, Group, NotCopied};
use tern_policy::collective::{Forced, NoRegion, Offer};

/// Readers of the same bytes begin at multiples of so many, each elsewhere, so that they do not meet at one page.
const PAGE: usize = 4 << 10;

// What a member says of its copy.
const COPIED: u8 = 1;
const MISSED: u8 = 2;
const FAILED: u8 = 0;

/// Done by a region, or why the root has told of none.
type Offered = Result<(), NoRegion>;

fn said(copied: Result<(), NotCopied>) -> u8 {
    match copied {
        Ok(()) => COPIED,
        // The next collective may find the memory again.
        Err(NotCopied::Missed) => MISSED,
        Err(NotCopied::Refused | NotCopied::NotThere | NotCopied::Gone) => FAILED,
    }
}

/// A collective with a root, as all members know it.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub kind: Kind,
    pub root: usize,
    /// Bytes of one member.
    pub len: usize,
    /// The region is asked for.
    pub forced: bool,
}

impl Task {
    fn is_gather(&self) -> bool {
        self.kind == Kind::Gather
    }

    fn label(&self) -> u64 {
        label(self.kind, self.root as u32, self.len)
    }

    fn direction(&self) -> Direction {
        if self.is_gather() { Direction::Put } else { Direction::Get }
    }
}

/// This process's part in a task.
pub enum Part<'a> {
    /// The memory that the others are at, and the data of one of them.
    Root {
        memory: Data,
        data: &'a dyn Fn(usize) -> Data,
        /// What there is to do here while they copy.
        meanwhile: &'a dyn Fn(),
    },
    /// What is copied, and from which byte of the region on, or to which.
    Other(Data, usize),
}

impl Lines {
    /// A task that goes by a region if its root finds so.
    pub(crate) fn task(&self, kind: Kind, root: u32, len: usize) -> Task {
        Task { kind, root: root as usize, len, forced: self.forced(kind) == Some(Forced::Region) }
    }

    /// Does the task by a region.
    ///
    /// Errors: the root has told of none, and why.
    pub(crate) fn by_region(&self, adi: &Adi, task: &Task, part: Part<'_>) -> Result<Done, NoRegion> {
        let done = match part {
            Part::Root { memory, data, meanwhile } => self.offer(adi, task, &memory, data, meanwhile),
            Part::Other(data, at) => self.take_up(adi, task, &data, at),
        };
        match done {
            Ok(Ok(())) => {
                counters::COLLECTIVE_REGIONS.add(1);
                Ok(Ok(()))
            }
            Ok(Err(ground)) => Err(ground),
            Err(mismatch) => Ok(Err(mismatch)),
        }
    }

    /// The root's part.
    fn offer(
        &self, adi: &Adi, task: &Task, memory: &Data, data: &dyn Fn(usize) -> Data, meanwhile: &dyn Fn(),
    ) -> Result<Offered, Mismatch> {
        const { assert!(ControlSlots::in_cell(Region::TOLD)) };
        let region = self.declare(adi, task, memory);
        let span = span(memory);
        let named = region.as_ref().is_ok_and(|region| is_exposed(task.direction()) || !region.is_shared());
        let own = (span.address as *const u8, span.len as usize);
        let exposed = named.then(|| Exposed::of(adi, own, task.direction())).flatten();
        let region = region.map(|region| region.named(exposed.as_ref().map_or(0, Exposed::cookie)));
        let told = region.map_or_else(Region::none, Region::encode);
        let turn = self.next();
        let agreed = self.publish_with(adi, turn, task.label() | MORE, Region::TOLD, |out| out.copy_from_slice(&told));
        self.ring_all(adi);
        if let Err(ground) = region {
            return agreed.map(|()| Err(ground));
        }
        let turn = self.next();
        meanwhile();
        self.publish(turn, task.label());
        self.await_done(adi, turn);
        drop(exposed);
        // Not before nobody is at the memory any more.
        agreed?;
        let others = || (0..self.size()).filter(|&rank| rank != self.me);
        let refused = others().find(|&rank| self.has_refused(rank, turn));
        self.check_below(self.size(), turn)?;
        // SAFETY: reached, and nothing published since.
        let said = |rank: usize| unsafe { self.payload(rank, turn, 1) }[0];
        for rank in others().filter(|&rank| !self.has_refused(rank, turn)) {
            let copied = said(rank);
            if copied == COPIED {
                continue;
            }
            self.kernel_failed.set(self.kernel_failed.get() || copied != MISSED);
            self.message(adi, task, rank, turn, data(rank), !task.is_gather());
        }
        match refused.filter(|_| task.is_gather()) {
            Some(rank) => Err(Mismatch::Refused { rank }),
            None => Ok(Ok(())),
        }
    }

    /// Waits until all have done with the region, whatever they say.
    fn await_done(&self, adi: &Adi, turn: u64) {
        let mut rank = 0;
        self.wait(adi, || {
            while rank < self.size() && (rank == self.me || self.areas[rank].reached(turn)) {
                rank += 1;
            }
            rank == self.size()
        });
        self.reached.set(turn);
        self.compared.set(turn);
    }

    /// The part of another member: its data is at byte `at` of the region.
    fn take_up(&self, adi: &Adi, task: &Task, data: &Data, at: usize) -> Result<Offered, Mismatch> {
        let turn = self.next();
        self.publish(turn, task.label() | MORE);
        adi.mcm().ring(self.procs[task.root]);
        self.await_one(adi, task.root, turn)?;
        // SAFETY: reached just now, and this process publishes nothing meanwhile.
        let told = unsafe { self.payload(task.root, turn, Region::TOLD) };
        let Some(region) = Region::decode(told) else {
            return Ok(Err(Region::why_none(told)));
        };
        let copied = self.copy(adi, task, &region, data, at);
        let turn = self.next();
        let agreed = self.publish_with(adi, turn, task.label(), 1, |out| out[0] = said(copied));
        self.ring_all(adi);
        if copied.is_err() {
            self.message(adi, task, task.root, turn, data.clone(), task.is_gather());
        }
        agreed.map(Ok)
    }

    /// The region of the root's memory.
    ///
    /// Errors: why the data goes another way.
    fn declare(&self, adi: &Adi, task: &Task, memory: &Data) -> Result<Region, NoRegion> {
        let direct = adi.mcm().direct().ok_or(NoRegion::OutOfReach)?;
        let peer = self.procs[usize::from(self.me == 0)];
        let region = Region::of(adi, peer, memory, task.direction(), || self.is_kernel_asked(direct));
        let region = region.ok_or(NoRegion::OutOfReach)?;
        let group = Group {
            others: self.size() - 1,
            len: task.len,
            apart: task.kind != Kind::Bcast,
            writes: task.is_gather(),
            shared: region.is_shared(),
        };
        let looks = task.is_gather() && !task.forced && !region.is_shared();
        let by_messages = looks && adi.locate(peer, memory.memory()) != 0;
        let times = if task.forced || by_messages { None } else { direct.times(&self.procs, &group) };
        let offer = Offer { group, forced: task.forced, by_messages, times };
        offer.refusal(tern_settings::MECHANISM.get()).map_or(Ok(region), Err)
    }

    /// Whether the kernel may copy, and does so between this process and all others.
    pub(super) fn is_kernel_asked(&self, direct: &dyn Direct) -> bool {
        may_ask_kernel()
            && !self.kernel_failed.get()
            && (0..self.size()).filter(|&rank| rank != self.me).all(|rank| direct.pair(self.procs[rank]).kernel)
    }

    /// Copies what is read of the memory of `rank`, from byte `at` of a region on; false if not all could be reached.
    pub(super) fn fetch(&self, adi: &Adi, rank: usize, region: &Region, at: usize, data: &Data) -> bool {
        let Some(direct) = adi.mcm().direct() else { return false };
        let (reach, len) = (Reach { direct, peer: self.procs[rank], direction: Direction::Get }, data.len());
        if reach.copy_mapped(region, at, data, 0, len) {
            return true;
        }
        let copied = reach.copy_by_kernel(region, at, data, 0, len);
        counters::REGION_BYTES.add(if copied.is_ok() { len as u64 } else { 0 });
        if !region.is_shared() && said(copied) == FAILED {
            self.kernel_failed.set(true);
        }
        copied.is_ok()
    }

    /// Copies between `data` and the region of the root's, from its byte `at` on.
    ///
    /// Errors: not all could be reached.
    fn copy(&self, adi: &Adi, task: &Task, region: &Region, data: &Data, at: usize) -> Result<(), NotCopied> {
        let direct = adi.mcm().direct().ok_or(NotCopied::Refused)?;
        let len = data.len();
        let reach = Reach { direct, peer: self.procs[task.root], direction: task.direction() };
        // All who read the same bytes begin elsewhere.
        let begin = match task.kind {
            Kind::Bcast => len / (self.size() - 1) * Lines::block(task.root, self.me) / PAGE * PAGE,
            _ => 0,
        };
        let parts = [(begin, len - begin), (0, begin)];
        let mut parts = parts.into_iter().filter(|&(_, some)| some > 0);
        parts.try_for_each(|(from, some)| reach.copy(region, at + from, data, from, some))?;
        counters::REGION_BYTES.add(len as u64);
        Ok(())
    }

    /// Moves the data of one member in a message, which goes or comes.
    #[cold]
    fn message(&self, adi: &Adi, task: &Task, rank: usize, turn: u64, data: Data, goes: bool) {
        let (peer, tag, context) = (self.procs[rank], tag_of_turn(turn), self.context);
        debug_assert!(rank == task.root || self.me == task.root);
        let request = if goes {
            match adi.isend(peer, Tuple { context, source: self.me as i32, tag }, data, SendMode::Standard) {
                Sent::Done => return,
                Sent::Pending(request) => request,
            }
        } else {
            adi.irecv(peer, Pattern { context, source: rank as i32, tag }, data)
        };
        adi.wait_until(&mut || adi.is_done(request));
        adi.take(request);
    }
}
