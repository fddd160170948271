//! Longer collectives of which each member reads the others' memory where it lies, in one copy: the lines only tell where
//! that is, and when all have read it. Memory that all processes share is mapped, of private memory the kernel copies what is read.
//!
//! It takes a turn in which every member publishes the places of its memory, and a last one in which it says whether it
//! could read that of all others; both wait for all. Whether all memory is shared is known to all after the first, so that
//! all go another way if some is not; and then the policy lets the next such calls go by without asking. A place is published as it was last found out:
//! the kernel is asked while the others arrive, and if it was another one, the last turn says that too, and all go the other way.
//! Peers only read, and not beyond the last turn, so it does not matter what a fork or the end of a promotion does meanwhile to
//! memory that is not stored to.

use super::declared::{Own, cookies, declared};
use super::label::{Done, Kind, label};
use super::{Lines, Mismatch, Vector};
use crate::reach::{Region, may_map};
use tern_adi::{Adi, Data};
use tern_mcm::{Group, Lease, Memory};
use tern_policy::collective::{Forced, Shape, has_shares, tells_of_private};

/// Most bytes that are combined at a time, so that the result stays in the cache from one member's part to the next.
pub(super) const AT_ONCE: usize = 32 << 10;

/// What a member tells in a cell: the places of two buffers, what it has measured, and the cookies of the buffers.
/// It is on the line of the turn.
const TOLD: usize = 48;
const MEASURED: usize = 2;
const COOKIES: usize = 4;
/// In the place of a buffer: it is private, and what else is in the word is its address, from which the kernel copies.
pub(super) const PRIVATE: u64 = 1 << 63;

/// A collective in which members read each other's memory, as its turns say: what it is, the root (or what a scan leaves out), and
/// the bytes of a block or vector.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub kind: Kind,
    pub root: u32,
    pub len: usize,
}

impl Job {
    /// One without a root.
    pub fn new(kind: Kind, len: usize) -> Job {
        Job { kind, root: 0, len }
    }

    fn label(&self) -> u64 {
        label(self.kind, self.root, self.len)
    }
}

/// The turn in which all have told where their memory lies, and whether this process's was still there.
pub struct Told {
    pub turn: u64,
    pub held: bool,
}

/// Where a member's buffer begins, as it has told.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferAt {
    /// In what all share, or [`PRIVATE`]; 0: nowhere.
    pub at: u64,
    /// Of the region of the kernel module that begins there; 0: there is none.
    pub cookie: u64,
}

/// What became of a collective in shared memory: `None`, and it has to go another way.
pub type Shared = Result<Option<()>, Mismatch>;

impl Lines {
    /// Keeps in step with members that make a call of this kind, which this one has refused.
    pub(super) fn pass_by(&self, kind: Kind, len: usize) {
        if let Some(what) = kind.collective() {
            let shape = if what.reduces() { Shape::of_vectors(len, true) } else { Shape::of(len) };
            self.plan(what, &shape);
        }
    }

    /// Whether the user asks that the members read each other's memory in such a call.
    fn is_forced(&self, kind: Kind) -> bool {
        matches!(self.forced(kind), Some(Forced::Region | Forced::InPlace | Forced::Shares))
    }

    /// What the user asks for.
    pub(super) fn forced(&self, kind: Kind) -> Option<Forced> {
        self.selection.forced(kind.collective()?)
    }

    /// Where own memory lies for all members, or where the kernel is to read it, of which each of them reads `len` bytes at least; 0: nowhere.
    fn locate_or_tell(&self, adi: &Adi, kind: Kind, len: usize, own: Own) -> u64 {
        match self.locate(adi, own) {
            0 if self.suits_kernel(adi, kind, len) && !own.0.is_null() => PRIVATE | own.0 as u64,
            place => place,
        }
    }

    /// Whether the others had better have the kernel copy what they read.
    pub(super) fn suits_kernel(&self, adi: &Adi, kind: Kind, len: usize) -> bool {
        let Some(direct) = adi.mcm().direct().filter(|&direct| self.is_kernel_asked(direct)) else { return false };
        let forced = self.is_forced(kind);
        let group = Group { others: 1, len, apart: true, writes: false, shared: false };
        let times = if forced { None } else { direct.times(&self.procs, &group) };
        tells_of_private(forced, &group, times, tern_settings::MECHANISM.get())
    }

    /// Where own memory lies for all members; 0: nowhere.
    pub(super) fn locate(&self, adi: &Adi, (memory, len): Own) -> u64 {
        let peer = self.procs[usize::from(self.me == 0)];
        if may_map() && !memory.is_null() { adi.place(peer, memory, len) } else { 0 }
    }

    /// Looks where own memory lies that the others could read, but do not this time: that counts as a use of it, by which it may come to be
    /// shared.
    pub fn use_memory(&self, adi: &Adi, own: &[Own]) {
        own.iter().for_each(|&own| _ = self.locate(adi, own));
    }

    /// Tells the others where own memory lies that they read, and behind that `written`, with the cookies of both, in a turn that all are to
    /// be waited for.
    pub fn tell_places(
        &self, adi: &Adi, job: Job, own: &[Own], written: Option<u64>, cookies: [u64; 2],
    ) -> Result<Told, Mismatch> {
        let Job { kind, len, .. } = job;
        let measured = if self.is_forced(kind) { [0; 2] } else { self.learned.measured() };
        let each = len;
        let mut speculative = [None; 2];
        let mut places = [0; 2];
        for (at, &(memory, len)) in own.iter().enumerate() {
            speculative[at] = if may_map() { adi.speculative_address(memory, len) } else { None };
            // Where it is not known, this counts as a use of the memory.
            places[at] = speculative[at].unwrap_or_else(|| self.locate_or_tell(adi, kind, each, (memory, len)));
        }
        let turn = self.next();
        self.publish_with(adi, turn, job.label(), TOLD, |out| {
            places[1] = written.unwrap_or(places[1]);
            let words = places.iter().chain(&measured).chain(&cookies);
            out.chunks_exact_mut(8).zip(words).for_each(|(out, word)| out.copy_from_slice(&word.to_le_bytes()));
        })?;
        let still = |(place, own): (&Option<u64>, &Own)| place.is_none_or(|place| adi.is_still_at(place, own.0, own.1));
        let held = speculative.iter().zip(own).all(still);
        Ok(Told { turn, held })
    }

    /// Whether all members' memory is shared, of which each has told `buffers` places: all have reached the turn.
    pub fn is_shared(&self, kind: Kind, turn: u64, buffers: usize) -> bool {
        let shared = (0..self.size()).all(|rank| (0..buffers).all(|which| self.place(rank, turn, which).at != 0));
        if self.is_forced(kind) {
            return shared;
        }
        let measured = |rank| [MEASURED, MEASURED + 1].map(|word| self.told(rank, turn, word));
        if let Some(what) = kind.collective() {
            self.learned.end(what, shared.then(|| (0..self.size()).map(measured)));
        }
        shared
    }

    /// The turn in which all have told places of shared memory; `None`: not all of it is.
    pub(super) fn exchange_places(
        &self, adi: &Adi, job: Job, own: &[Own], written: Option<u64>, cookies: [u64; 2],
    ) -> Result<Option<Told>, Mismatch> {
        let told = self.tell_places(adi, job, own, written, cookies)?;
        self.await_givers(adi, told.turn)?;
        let buffers = own.len() + usize::from(written.is_some());
        Ok(self.is_shared(job.kind, told.turn, buffers).then_some(told))
    }

    /// The place of a buffer of `rank`, as told in `turn`, which lies no more than two turns back.
    pub(super) fn place(&self, rank: usize, turn: u64, which: usize) -> BufferAt {
        BufferAt { at: self.told(rank, turn, which), cookie: self.told(rank, turn, COOKIES + which) }
    }

    /// A word that `rank` has told in `turn`, which lies no more than two turns back: nobody can have gone on so far that the cell is used
    /// again.
    fn told(&self, rank: usize, turn: u64, word: usize) -> u64 {
        // SAFETY: reached; its owner writes to the cell when this process is many turns further.
        let words = unsafe { self.payload(rank, turn, TOLD) };
        let word: &[u8; 8] = words[word * 8..][..8].try_into().expect("eight bytes of a word");
        u64::from_le_bytes(*word)
    }

    /// Where `len` bytes from byte `from` of a buffer of another member lie here.
    fn look_at(&self, adi: &Adi, place: u64, from: usize, len: usize) -> Option<*const u8> {
        let memory = Memory::at_place(place + from as u64, len);
        adi.mcm().direct()?.map(&memory, Lease::Brief).map(|address| address.cast_const())
    }

    /// All other ranks; each process begins with another one.
    pub(super) fn around(&self) -> impl Iterator<Item = usize> {
        (1..self.size()).map(|step| (self.me + step) % self.size())
    }

    /// Says whether this process could read everything, of which its own part was where it had said, in a turn that all are
    /// to be waited for.
    pub fn say(&self, adi: &Adi, job: Job, good: bool) -> Result<u64, Mismatch> {
        let turn = self.next();
        self.publish_with(adi, turn, job.label(), 1, |out| out[0] = good.into())?;
        Ok(turn)
    }

    /// Whether all have said so in `turn`, which they have reached.
    pub fn all_could(&self, turn: u64) -> bool {
        // SAFETY: reached, and nothing published since.
        (0..self.size()).all(|rank| unsafe { self.payload(rank, turn, 1) }[0] == 1)
    }

    pub(super) fn agree(&self, adi: &Adi, job: Job, good: bool) -> Result<Option<()>, Mismatch> {
        let turn = self.say(adi, job, good)?;
        self.await_givers(adi, turn)?;
        Ok(self.all_could(turn).then_some(()))
    }

    /// Copies from byte `at` of each other member's memory, whose places were told in `turn`, to what `target` is for it; false if
    /// some cannot be reached.
    pub fn read_all(&self, adi: &Adi, turn: u64, at: usize, target: impl Fn(usize) -> Data) -> bool {
        self.around().all(|rank| self.read(adi, rank, self.place(rank, turn, 0), at, &target(rank)))
    }

    /// Copies from byte `from` of a buffer of `rank`, which has told `place`, to `data`.
    pub(super) fn read(&self, adi: &Adi, rank: usize, place: BufferAt, from: usize, data: &Data) -> bool {
        self.fetch(adi, rank, &region(place, from + data.len()), from, data)
    }

    /// Where `len` bytes from byte `from` of a buffer of `rank`, which has told `place`, can be read: where they are mapped, or in `space`.
    pub(super) fn bring(
        &self, adi: &Adi, rank: usize, place: BufferAt, from: usize, len: usize, space: &mut Vec<u64>,
    ) -> Option<*const u8> {
        if place.at & PRIVATE == 0 {
            return self.look_at(adi, place.at, from, len);
        }
        space.resize(AT_ONCE.max(len).div_ceil(8), 0);
        let memory = space.as_mut_ptr().cast();
        self.read(adi, rank, place, from, &Data::Bytes(memory, len)).then_some(memory.cast_const())
    }

    /// Combines bytes `begin` to `end` of all members' vectors, whose places were told in `turn`, into `out`; false if the
    /// memory of one cannot be mapped.
    ///
    /// # Safety
    /// `input` holds this member's vector, `out` as many bytes as are asked for; they do not overlap.
    pub unsafe fn combine_all(
        &self, adi: &Adi, turn: u64, vector: &Vector, (begin, end): (usize, usize), input: *const u8, out: *mut u8,
    ) -> bool {
        let size = vector.bytes / vector.elements.max(1);
        let step = AT_ONCE / size.max(1) * size.max(1);
        // For what the kernel copies of the first member, and of one of the others.
        let mut spaces = [Vec::new(), Vec::new()];
        let combined = (begin..end).step_by(step).try_for_each(|from| {
            let len = step.min(end - from);
            let mut part = |rank: usize| match rank == self.me {
                true => Some(input.wrapping_add(from)),
                false => {
                    let space = &mut spaces[rank.min(1)];
                    self.bring(adi, rank, self.place(rank, turn, 0), from, len, space)
                }
            };
            let (to, elements) = (out.wrapping_add(from - begin), len / size);
            // SAFETY: all hold `len` bytes there, and leave them as they are until all have read them.
            unsafe {
                vector.combine(part(0)?, part(1)?, to, elements);
                for rank in 2..self.size() {
                    vector.combine(to, part(rank)?, to, elements);
                }
            }
            Some(())
        });
        combined.is_some()
    }

    /// The share of a vector that `rank` combines: its first byte, and the one behind it.
    pub fn share(&self, vector: &Vector, rank: usize) -> (usize, usize) {
        if !self.has_shares() {
            return (0, vector.bytes);
        }
        let size = vector.bytes / vector.elements;
        let edge = |rank: usize| vector.elements * rank / self.size() * size;
        (edge(rank), edge(rank + 1))
    }

    /// Copies the others' shares from their results, the second places told in `turn`, into `out`; false if one cannot be mapped.
    ///
    /// # Safety
    /// `out` holds the vector.
    pub unsafe fn read_shares(&self, adi: &Adi, turn: u64, vector: &Vector, out: *mut u8) -> bool {
        self.around().all(|rank| {
            let (begin, end) = self.share(vector, rank);
            let data = Data::Bytes(out.wrapping_add(begin), end - begin);
            self.read(adi, rank, self.place(rank, turn, 1), begin, &data)
        })
    }

    /// Every member gives `len` bytes of `own` to each other, of which this one copies those from byte `at` on of the
    /// other to what `target` is for it: an allgather, or an alltoall.
    pub fn exchange_shared(
        &self, adi: &Adi, kind: Kind, len: usize, own: Own, at: usize, target: impl Fn(usize) -> Data,
    ) -> Shared {
        let (job, declared) = (Job::new(kind, len), declared(adi, &[own]));
        let told = self.exchange_places(adi, job, &[own], None, cookies(&declared))?;
        let Some(Told { turn, held }) = told else { return Ok(None) };
        let good = self.read_all(adi, turn, at, target);
        self.agree(adi, job, held && good)
    }

    /// See [`has_shares`].
    pub fn has_shares(&self) -> bool {
        has_shares(self.size())
    }

    /// What the others read of this member in a reduction to all, where `input` is null for MPI_IN_PLACE: its vector, and its share of the result, if
    /// there are shares.
    pub fn read_in_allreduce(&self, input: *const u8, out: *mut u8, len: usize) -> [Own; 2] {
        let result = if self.has_shares() { out.cast_const() } else { std::ptr::null() };
        [(input, len), (result, len)]
    }

    /// The reduction of all members' vectors to all: each combines its share of all vectors, and reads the others' shares
    /// from their results.
    ///
    /// In place (`input` null) the results would take the place of what is needed if it has to go another way: it does at once.
    ///
    /// # Safety
    /// `input`, unless null, and `out` hold the vector.
    pub unsafe fn allreduce_shared(&self, adi: &Adi, vector: &Vector, input: *const u8, out: *mut u8) -> Shared {
        let (job, len) = (Job::new(Kind::Allreduce, vector.bytes), vector.bytes);
        let own = self.read_in_allreduce(input, out, len);
        let own = &own[..1 + usize::from(self.has_shares())];
        let demotions = adi.demotions();
        let declared = declared(adi, own);
        let told = self.exchange_places(adi, job, own, None, cookies(&declared))?;
        let Some(Told { turn, held }) = told else { return Ok(None) };
        let share = self.share(vector, self.me);
        // SAFETY: the caller's promise; in place nothing is shared.
        let good = unsafe { self.combine_all(adi, turn, vector, share, input, out.wrapping_add(share.0)) };
        // Another thread may have forked, so that others do not see the share that was stored.
        let seen = !self.has_shares() || adi.demotions() == demotions;
        let all = self.agree(adi, job, held && good && seen)?;
        if all.is_none() || !self.has_shares() {
            return Ok(all);
        }
        // SAFETY: the caller's promise.
        let good = unsafe { self.read_shares(adi, turn, vector, out) };
        self.agree(adi, job, good)
    }

    /// The reduction of this rank's block; `input` holds a block of `vector` for each rank.
    ///
    /// # Safety
    /// As for [`Lines::allreduce_shared`], for one block at `out`.
    pub unsafe fn reduce_scatter_shared(&self, adi: &Adi, vector: &Vector, input: *const u8, out: *mut u8) -> Shared {
        let (job, len) = (Job::new(Kind::ReduceScatter, vector.bytes), vector.bytes);
        let own = (input, len * self.size());
        let declared = declared(adi, &[own]);
        let told = self.exchange_places(adi, job, &[own], None, cookies(&declared))?;
        let Some(Told { turn, held }) = told else { return Ok(None) };
        let block = (len * self.me, len * (self.me + 1));
        // SAFETY: the caller's promise.
        let good = unsafe { self.combine_all(adi, turn, vector, block, input, out) };
        self.agree(adi, job, held && good)
    }
}

/// The first `len` bytes of a buffer of a member's.
pub(super) fn region(BufferAt { at, cookie }: BufferAt, len: usize) -> Region {
    match at & PRIVATE {
        0 => Region::dense(at, 0, len, 0),
        _ => Region::dense(0, at & !PRIVATE, len, cookie),
    }
}

/// As the result of a collective that went so, if it did.
pub fn done(shared: Shared) -> Option<Done> {
    match shared {
        Ok(None) => None,
        Ok(Some(())) => {
            tern_counters::COLLECTIVE_SHARED.add(1);
            Some(Ok(()))
        }
        Err(mismatch) => Some(Err(mismatch)),
    }
}
