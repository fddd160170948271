//! Reductions to one member, and scans, that are split among all members: each combines its share of the vector, in the order of ranks,
//! reading the others' where they lie, and puts what comes out where it belongs.
//!
//! The turns are those of [`super::shared`]. Beside its vector, a member tells where its result is to be put. A result that lies where
//! the vector lay (MPI_IN_PLACE) would take the place of what another way needs if one member cannot copy: that goes another way at once.

use super::declared::{Exposed, Own, cookies, declared};
use super::label::Kind;
use super::shared::{AT_ONCE, Job, PRIVATE, Shared, Told, region};
use super::{Lines, Vector};
use crate::reach::{Reach, may_map};
use tern_adi::{Adi, Data};
use tern_counters as counters;
use tern_mcm::Direction;

/// Told where a result is to be put, by a member that gets none.
const NO_RESULT: u64 = 1;

/// Where the members get their vectors from, and put their results: as told in this turn.
struct Split<'a> {
    lines: &'a Lines,
    adi: &'a Adi,
    turn: u64,
    vector: &'a Vector,
    input: *const u8,
    out: *mut u8,
    /// For what the kernel copies of the others, and for what is combined.
    spaces: [Vec<u64>; 2],
}

impl Lines {
    /// The reduction of all members' vectors to the root, at whose `out` it comes to be. `None`: it has to go another way.
    ///
    /// # Safety
    /// `input`, unless null, holds the vector, and `out` at the root.
    pub unsafe fn reduce_by_shares(
        &self, adi: &Adi, root: u32, vector: &Vector, input: *const u8, out: *mut u8,
    ) -> Shared {
        let job = Job { kind: Kind::Reduce, root, len: vector.bytes };
        let out = if self.me == root as usize { out } else { std::ptr::null_mut() };
        // SAFETY: the caller's promise.
        self.by_shares(adi, job, vector, input, out, |split, from, len| unsafe {
            let combined = split.combine(from, len)?;
            split.put(root as usize, from, combined, len)
        })
    }

    /// The reduction over the ranks up to this one; without this one if `exclusive`. `None`: it has to go another way.
    ///
    /// # Safety
    /// `input`, unless null, and `out` hold the vector.
    pub unsafe fn scan_by_shares(
        &self, adi: &Adi, exclusive: bool, vector: &Vector, input: *const u8, out: *mut u8,
    ) -> Shared {
        let job = Job { kind: Kind::Scan, root: exclusive.into(), len: vector.bytes };
        // SAFETY: the caller's promise.
        self.by_shares(adi, job, vector, input, out, |split, from, len| unsafe { split.scan(exclusive, from, len) })
    }

    /// Does `each` with every part of this member's share, between the turns.
    fn by_shares(
        &self, adi: &Adi, job: Job, vector: &Vector, input: *const u8, out: *mut u8,
        each: impl Fn(&mut Split<'_>, usize, usize) -> Option<()>,
    ) -> Shared {
        let own = [(input, vector.bytes)];
        let [declared, _] = declared(adi, &own);
        let result = self.result(adi, job, (out.cast_const(), vector.bytes));
        let written = (result & PRIVATE != 0).then(|| Exposed::new(adi, (out.cast_const(), vector.bytes)));
        let exposed = [declared, written];
        let told = self.exchange_places(adi, job, &own, Some(result), cookies(&exposed))?;
        let Some(Told { turn, held }) = told else { return Ok(None) };
        let mut split = Split { lines: self, adi, turn, vector, input, out, spaces: Default::default() };
        let (begin, end) = self.portion(vector);
        let size = vector.bytes / vector.elements;
        let step = AT_ONCE / size * size;
        let mut parts = (begin..end).step_by(step).map(|from| (from, step.min(end - from)));
        let good = parts.all(|(from, len)| each(&mut split, from, len).is_some());
        let agreed = self.agree(adi, job, held && good);
        drop(exposed);
        agreed
    }

    /// The bytes of a vector that this member combines: the first one, and the one behind them.
    fn portion(&self, vector: &Vector) -> (usize, usize) {
        let size = vector.bytes / vector.elements;
        let edge = |rank: usize| vector.elements * rank / self.size() * size;
        (edge(self.me), edge(self.me + 1))
    }

    /// Where the others put this member's result; 0: they cannot.
    fn result(&self, adi: &Adi, job: Job, (out, len): Own) -> u64 {
        let Some(direct) = adi.mcm().direct() else { return 0 };
        if out.is_null() {
            return NO_RESULT;
        }
        // Only what never becomes private again may be written to where it lies.
        match direct.place(out, len).filter(|_| may_map()) {
            Some(place) => place,
            None if self.suits_kernel(adi, job.kind, len) => PRIVATE | out as u64,
            None => 0,
        }
    }
}

impl Split<'_> {
    /// `len` bytes from byte `from` on of the vector of `rank`, here or in the first space.
    fn part(&mut self, rank: usize, from: usize, len: usize) -> Option<*const u8> {
        let Split { lines, adi, turn, .. } = *self;
        match rank == lines.me {
            true => Some(self.input.wrapping_add(from)),
            false => lines.bring(adi, rank, lines.place(rank, turn, 0), from, len, &mut self.spaces[0]),
        }
    }

    /// Where results are combined.
    fn space(&mut self, len: usize) -> *mut u8 {
        let space = &mut self.spaces[1];
        space.resize(AT_ONCE.max(len).div_ceil(8), 0);
        space.as_mut_ptr().cast()
    }

    fn elements(&self, len: usize) -> usize {
        len / (self.vector.bytes / self.vector.elements)
    }

    /// Combines the vectors of all members. Gives where the result is.
    ///
    /// # Safety
    /// All members leave their vectors as they are until the last turn.
    unsafe fn combine(&mut self, from: usize, len: usize) -> Option<*const u8> {
        let (to, elements) = (self.space(len), self.elements(len));
        // SAFETY: all hold `len` bytes, and lie apart.
        unsafe { tern_copy::plain(to, self.part(0, from, len)?, len) };
        for rank in 1..self.lines.size() {
            // SAFETY: as above; a kernel's output may be an input.
            unsafe { self.vector.combine(to, self.part(rank, from, len)?, to, elements) };
        }
        Some(to)
    }

    /// Combines the vectors in the order of ranks, and puts what each member is to have.
    ///
    /// # Safety
    /// As for [`Split::combine`]; all have room for the vector.
    unsafe fn scan(&mut self, exclusive: bool, from: usize, len: usize) -> Option<()> {
        let (to, elements) = (self.space(len), self.elements(len));
        for rank in 0..self.lines.size() {
            // SAFETY: the caller's promise; `to` holds `len` bytes.
            unsafe {
                if exclusive && rank > 0 {
                    self.put(rank, from, to, len)?;
                }
                let part = self.part(rank, from, len)?;
                match rank {
                    0 => tern_copy::plain(to, part, len),
                    _ => self.vector.combine(to, part, to, elements),
                }
                if !exclusive {
                    self.put(rank, from, to, len)?;
                }
            }
        }
        Some(())
    }

    /// Puts `len` bytes at byte `from` of the result of `rank`.
    ///
    /// # Safety
    /// `bytes` holds as many, and the result has room for them.
    unsafe fn put(&self, rank: usize, from: usize, bytes: *const u8, len: usize) -> Option<()> {
        let Split { lines, adi, turn, .. } = *self;
        if rank == lines.me {
            // SAFETY: the caller's promise; what is combined lies apart from the program's memory.
            unsafe { std::ptr::copy_nonoverlapping(bytes, self.out.wrapping_add(from), len) };
            return Some(());
        }
        let region = region(lines.place(rank, turn, 1), from + len);
        let reach = Reach { direct: adi.mcm().direct()?, peer: lines.procs[rank], direction: Direction::Put };
        let data = Data::Bytes(bytes.cast_mut(), len);
        if reach.copy_mapped(&region, from, &data, 0, len) {
            return Some(());
        }
        let copied = reach.copy_by_kernel(&region, from, &data, 0, len);
        counters::REGION_BYTES.add(if copied.is_ok() { len as u64 } else { 0 });
        copied.ok()
    }
}
