//! Longer collectives with a root, in one copy of each byte: the root declares one region of its memory, and the others copy from it,
//! or to it in a gather, all at once. The lines only tell where the region is, and when all have done with it.
//!
//! The root alone decides. In a first turn it tells a cookie, or that the data comes by another way, for which it waits for nobody.
//! In the last one each of the others says whether it could copy, and the root waits for all of them. Who could not gets its data in
//! a message: that is a matter of this member and the root, of which the others need not know.
//!
//! Bytes move as the two processes reach each other: by a mapping of shared memory, or by the kernel.

use super::label::{Done, Kind, MORE, label};
use super::shared::Own;
use super::trials::Rooted;
use super::{Lines, Mismatch};
use crate::choose::{Algorithm, Collective};
use crate::operation::tag_of_turn;
use std::cell::Cell;
use tern_adi::{Adi, Data, Pattern, SendMode, Sent, Tuple};
use tern_copy::{Source, Target};
use tern_counters as counters;
use tern_mcm::{Direct, Direction, Group, Memory, Run};
use tern_settings::Mechanism;

/// Shortest broadcast for which the root tells a cookie first.
pub const BCAST: usize = 32 << 10;
/// Shortest block of a gather or a scatter for which it does so.
pub const BLOCK: usize = 16 << 10;
/// Longest block of these: the lines tell the members' lengths apart up to there.
const LONGEST_BLOCK: usize = (16 << 20) - 1;

/// Bytes of a cookie in a cell.
const COOKIE: usize = 16;
/// Bytes that are moved at a time of data that is not dense.
const STEP: usize = 256 << 10;
/// Data with pieces of fewer bytes on average is packed for the kernel, which takes some time for each piece.
const PIECE: usize = 1 << 10;
/// Readers of the same bytes begin at multiples of so many, each elsewhere, so that they do not meet at one page.
const PAGE: usize = 4 << 10;

/// What the members remember of regions.
#[derive(Debug, Default)]
pub struct Regions {
    trials: Rooted,
    /// A member could not copy, though the kernel had copied between the two before.
    failed: Cell<bool>,
}

/// A region as its root tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cookie {
    /// Where it lies in the memory that all processes of the node share; 0: nowhere.
    pub place: u64,
    /// Where it lies in its owner, for the kernel; 0: the kernel is not to copy.
    pub address: u64,
}

impl Cookie {
    fn encode(self) -> [u8; COOKIE] {
        let mut bytes = [0; COOKIE];
        bytes[..8].copy_from_slice(&self.place.to_le_bytes());
        bytes[8..].copy_from_slice(&self.address.to_le_bytes());
        bytes
    }

    /// `None`: there is no region.
    fn decode(bytes: &[u8]) -> Option<Cookie> {
        let word = |at: usize| u64::from_le_bytes(bytes[at..][..8].try_into().expect("eight bytes of a word"));
        let cookie = Cookie { place: word(0), address: word(8) };
        (cookie != Cookie::default()).then_some(cookie)
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
    /// The memory that the others are at, null if it is in no one piece, and the data of one of them.
    Root {
        memory: Own,
        data: &'a dyn Fn(usize) -> Data,
        /// What there is to do here while they copy.
        meanwhile: &'a dyn Fn(),
    },
    /// What is copied, and from which byte of the region on, or to which.
    Other(Data, usize),
}

impl Lines {
    /// The task, if the root is to tell a cookie in such a call. All members answer alike.
    pub(crate) fn task(&self, kind: Kind, root: u32, len: usize) -> Option<Task> {
        let (collective, lengths) = match kind {
            Kind::Bcast => (Collective::Bcast, BCAST..usize::MAX),
            Kind::Gather => (Collective::Gather, BLOCK..LONGEST_BLOCK),
            _ => (Collective::Scatter, BLOCK..LONGEST_BLOCK),
        };
        let forced = match self.policy.forced(collective) {
            Some(Algorithm::Region) => true,
            Some(_) => return None,
            // Two leave it to messages, which find out whether the kernel is to copy.
            None if self.size() == 2 => return None,
            None => false,
        };
        let may = lengths.contains(&len) && tern_settings::MECHANISM.get() != Mechanism::Pipe;
        may.then_some(Task { kind, root: root as usize, len, forced })
    }

    /// Does the task by a region. `None`: the root has decided for another way.
    pub(crate) fn by_region(&self, adi: &Adi, task: &Task, part: Part<'_>) -> Option<Done> {
        let done = match part {
            Part::Root { memory, data, meanwhile } => self.offer(adi, task, memory, data, meanwhile),
            Part::Other(data, at) => self.take_up(adi, task, &data, at),
        };
        if let Ok(Some(())) = done {
            counters::COLLECTIVE_REGIONS.add(1);
        }
        done.transpose()
    }

    /// The root's part.
    fn offer(
        &self, adi: &Adi, task: &Task, memory: Own, data: &dyn Fn(usize) -> Data, meanwhile: &dyn Fn(),
    ) -> Result<Option<()>, Mismatch> {
        let cookie = self.declare(adi, task, memory);
        let told = cookie.unwrap_or_default().encode();
        // What is private must not come to be shared while others write to it.
        let exposed = (cookie.is_some() && task.is_gather()).then(|| Exposed::new(adi, memory));
        let turn = self.next();
        let agreed = self.publish_with(adi, turn, task.label() | MORE, COOKIE, |out| out.copy_from_slice(&told));
        self.ring_all(adi);
        if cookie.is_none() {
            return agreed.map(|()| None);
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
        let could = |rank: &usize| unsafe { self.payload(*rank, turn, 1) }[0] == 1;
        for rank in others().filter(|&rank| !self.has_refused(rank, turn)).filter(|rank| !could(rank)) {
            self.regions.failed.set(true);
            self.message(adi, task, rank, turn, data(rank), !task.is_gather());
        }
        match refused.filter(|_| task.is_gather()) {
            Some(rank) => Err(Mismatch::Refused { rank }),
            None => Ok(Some(())),
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
    fn take_up(&self, adi: &Adi, task: &Task, data: &Data, at: usize) -> Result<Option<()>, Mismatch> {
        let turn = self.next();
        self.publish(turn, task.label() | MORE);
        adi.mcm().ring(self.procs[task.root]);
        self.await_one(adi, task.root, turn)?;
        // SAFETY: reached just now, and this process publishes nothing meanwhile.
        let Some(cookie) = Cookie::decode(unsafe { self.payload(task.root, turn, COOKIE) }) else { return Ok(None) };
        let could = self.copy(adi, task, cookie, data, at);
        let turn = self.next();
        let agreed = self.publish_with(adi, turn, task.label(), 1, |out| out[0] = could.into());
        self.ring_all(adi);
        if !could {
            self.message(adi, task, task.root, turn, data.clone(), task.is_gather());
        }
        agreed.map(Some)
    }

    /// The region of the root's memory, if the data is to go so.
    fn declare(&self, adi: &Adi, task: &Task, memory: Own) -> Option<Cookie> {
        let direct = adi.mcm().direct().filter(|_| !memory.0.is_null())?;
        let asked = tern_settings::MECHANISM.get();
        let place = match asked {
            // Only what never becomes private again may be written to where it lies.
            Mechanism::Auto | Mechanism::Mapped if task.is_gather() => direct.place(memory.0, memory.1).unwrap_or(0),
            Mechanism::Auto | Mechanism::Mapped => self.locate(adi, memory),
            Mechanism::Pipe | Mechanism::Cma | Mechanism::Module => 0,
        };
        let kernel = self.is_kernel_asked(direct);
        if place == 0 && !kernel {
            return None;
        }
        let wanted = task.forced || {
            let group = Group {
                others: self.size() - 1,
                len: task.len,
                apart: task.kind != Kind::Bcast,
                writes: task.is_gather(),
                shared: place != 0,
            };
            let advice = direct.advise(self.procs[usize::from(self.me == 0)], &group);
            if advice.sure { advice.region } else { self.regions.trials.way(task.kind, &group, advice.region) }
        };
        wanted.then_some(Cookie { place, address: if kernel { memory.0 as u64 } else { 0 } })
    }

    /// Whether the kernel may copy, and does so between this process and all others.
    pub(super) fn is_kernel_asked(&self, direct: &dyn Direct) -> bool {
        matches!(tern_settings::MECHANISM.get(), Mechanism::Auto | Mechanism::Cma)
            && !self.regions.failed.get()
            && (0..self.size()).filter(|&rank| rank != self.me).all(|rank| direct.copies(self.procs[rank]))
    }

    /// Copies what is read of the memory of `rank`, from the first byte of the region on; false if not all could be reached.
    pub(super) fn fetch(&self, adi: &Adi, rank: usize, region: Cookie, data: &Data) -> bool {
        let Some(direct) = adi.mcm().direct() else { return false };
        let (reach, len) = (Reach { direct, peer: self.procs[rank], direction: Direction::Get }, data.len());
        if reach.copy_mapped(region, data, 0, len) {
            return true;
        }
        let copied = reach.copy_by_kernel(region, data, 0, len);
        counters::REGION_BYTES.add(if copied { len as u64 } else { 0 });
        if !copied && region.address != 0 {
            self.regions.failed.set(true);
        }
        copied
    }

    /// Copies between `data` and the region of the root's, from its byte `at` on; false if not all could be reached.
    fn copy(&self, adi: &Adi, task: &Task, cookie: Cookie, data: &Data, at: usize) -> bool {
        let Some(direct) = adi.mcm().direct() else { return false };
        let len = data.len();
        let reach = Reach { direct, peer: self.procs[task.root], direction: task.direction() };
        // All who read the same bytes begin elsewhere.
        let begin = match task.kind {
            Kind::Bcast => len / (self.size() - 1) * Lines::block(task.root, self.me) / PAGE * PAGE,
            _ => 0,
        };
        let copied = [(begin, len - begin), (0, begin)].into_iter().all(|(from, some)| {
            let region = cookie.part(at + from);
            some == 0 || reach.copy_mapped(region, data, from, some) || reach.copy_by_kernel(region, data, from, some)
        });
        counters::REGION_BYTES.add(if copied { len as u64 } else { 0 });
        copied
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

impl Cookie {
    /// The region from byte `at` on.
    pub fn part(self, at: usize) -> Cookie {
        let from = |word: u64| if word == 0 { 0 } else { word + at as u64 };
        Cookie { place: from(self.place), address: from(self.address) }
    }
}

/// How the root's memory is reached.
struct Reach<'a> {
    direct: &'a dyn Direct,
    peer: tern_adi::Proc,
    direction: Direction,
}

impl Reach<'_> {
    /// Copies `len` bytes of `data` from byte `from` on, and of the region from its first one on, if that can be mapped.
    fn copy_mapped(&self, region: Cookie, data: &Data, from: usize, len: usize) -> bool {
        let memory = Memory { place: region.place, ..Memory::dense(std::ptr::null(), len) };
        let Some(there) = Some(memory).filter(|memory| memory.place != 0).and_then(|memory| self.direct.view(&memory))
        else {
            return false;
        };
        // SAFETY: the root leaves its memory to the members until all have said that they are done, and it is mapped for now. Own
        // memory is the program's, which leaves it to the collective.
        unsafe {
            match (data, self.direction) {
                (Data::Bytes(base, _), Direction::Get) => tern_copy::plain(base.add(from), there, len),
                (Data::Bytes(base, _), Direction::Put) => {
                    tern_copy::copy(there, base.add(from), len, Source::Any, Target::Peer);
                }
                (Data::Typed { base, count, ty }, Direction::Get) => {
                    ty.unpack(*base, *count, from as u64, std::slice::from_raw_parts(there, len));
                }
                (Data::Typed { base, count, ty }, Direction::Put) => {
                    ty.pack(*base, *count, from as u64, std::slice::from_raw_parts_mut(there, len));
                }
            }
        }
        true
    }

    /// The same by the kernel.
    fn copy_by_kernel(&self, region: Cookie, data: &Data, from: usize, len: usize) -> bool {
        if region.address == 0 || !self.direct.copies(self.peer) {
            return false;
        }
        match data {
            Data::Bytes(base, _) => self.call(&[run(base.wrapping_add(from), len)], region.address, len),
            Data::Typed { .. } => (0..len).step_by(STEP).all(|done| {
                let some = STEP.min(len - done);
                self.copy_typed(region.address + done as u64, data, from + done, some)
            }),
        }
    }

    /// The same of data that is not dense: its pieces, or packed if these are short.
    fn copy_typed(&self, address: u64, data: &Data, from: usize, len: usize) -> bool {
        let Data::Typed { base, count, ty } = data else { return false };
        let pieces: Vec<Run> = ty
            .segments(0, *count, from as u64, len as u64)
            .take(len / PIECE + 1)
            .map(|(at, len)| run(base.wrapping_offset(at as isize), len as usize))
            .collect();
        if pieces.iter().map(|piece| piece.len).sum::<u64>() == len as u64 {
            return self.call(&pieces, address, len);
        }
        let mut packed = vec![0u8; len];
        let own = [run(packed.as_mut_ptr(), len)];
        // SAFETY: the program's buffer holds the data (MPI's own rule); `packed` is as long.
        unsafe {
            if self.direction == Direction::Put {
                ty.pack(*base, *count, from as u64, &mut packed);
                return self.call(&own, address, len);
            }
            let copied = self.call(&own, address, len);
            if copied {
                ty.unpack(*base, *count, from as u64, &packed);
            }
            copied
        }
    }

    fn call(&self, own: &[Run], address: u64, len: usize) -> bool {
        // SAFETY: own memory is the program's or as above, and the root has told that its memory is there for this.
        unsafe { self.direct.copy(self.peer, own, &[Run { address, len: len as u64 }], self.direction) }
    }
}

fn run(at: *const u8, len: usize) -> Run {
    Run { address: at as u64, len: len as u64 }
}

/// Own memory that others may write to by the kernel, until this is dropped.
struct Exposed<'a>(&'a Adi, Own);

impl<'a> Exposed<'a> {
    fn new(adi: &'a Adi, memory: Own) -> Exposed<'a> {
        adi.mcm().direct().inspect(|direct| direct.expose(memory.0, memory.1));
        Exposed(adi, memory)
    }
}

impl Drop for Exposed<'_> {
    fn drop(&mut self) {
        let Exposed(adi, (memory, len)) = *self;
        adi.mcm().direct().inspect(|direct| direct.cover(memory, len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_told_in_a_cell_and_none_is_no_region() {
        const { assert!(tern_mcm::LineArea::in_cell(COOKIE)) };
        let cookie = Cookie { place: 0, address: 0x7f00_0000_1000 };
        assert_eq!(Cookie::decode(&cookie.encode()), Some(cookie));
        assert_eq!(Cookie::decode(&Cookie::default().encode()), None);
        assert_eq!(cookie.part(4096), Cookie { place: 0, address: 0x7f00_0000_2000 });
    }
}
