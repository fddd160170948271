//! Small collectives inside a node over shared control lines: every process publishes its
//! contribution in its own lines, waits for those it needs, and reads them. One step for all of
//! them, whatever their number, so that with more ranks than cores each has to run only once.
//!
//! Every operation takes a turn (`tern_device::LineArea`); all members take the same turns since
//! MPI asks them to call collectives in the same order, and the choice of this path depends only
//! on what all of them know.

use crate::ops::{Kernel3, Op, kernel3};
use crate::peers::Peers;
use std::cell::Cell;
use tern_adi::{Adi, Awaited, Proc};
use tern_mcm::{DEPTH, LineArea};
use std::rc::Rc;

/// The lines of one communicator.
#[derive(Debug)]
pub struct Lines {
    areas: Vec<LineArea>,
    procs: Rc<[Proc]>,
    me: usize,
    /// The last turn taken.
    turn: Cell<u64>,
    /// The labels of the last turns, by turn modulo their number.
    labels: [Cell<u64>; DEPTH as usize],
    /// A turn that all peers are known to have reached.
    reached: Cell<u64>,
    /// The last turn whose labels were compared with those of all peers.
    compared: Cell<u64>,
    /// The context of the communicator's collectives.
    context: u32,
}

/// What an operation is, as every member sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Barrier = 1,
    Bcast,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    Reduce,
    Allreduce,
    Scan,
    ReduceScatter,
}

/// The members do not call the same operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Rank `rank` calls another collective.
    Operation { rank: usize },
    /// Rank `rank` names another root.
    Root { rank: usize, own: u32, theirs: u32 },
    /// Rank `rank` takes part with another number of bytes.
    Bytes { rank: usize, own: u32, theirs: u32 },
    /// This process of another node cannot be reached any more.
    Lost { process: u32 },
}

type Done = Result<(), Mismatch>;

fn label(kind: Kind, root: u32, bytes: usize) -> u64 {
    kind as u64 | (root as u64 & 0xff_ffff) << 8 | (bytes as u64) << 32
}

/// Bits of a label that tell its turn from the later ones in the same cell. A member that only
/// publishes does not wait for slow readers, so they may find a later label in its cell; it is
/// never so far ahead that the bits come round.
const STAMP: u64 = 0xf0;

/// `label` as it is published in `turn`.
fn stamped(label: u64, turn: u64) -> u64 {
    label | (turn / DEPTH) << 4 & STAMP
}

fn compare(rank: usize, own: u64, theirs: u64) -> Done {
    if own == theirs {
        return Ok(());
    }
    let root = |label: u64| (label >> 8) as u32 & 0xff_ffff;
    let bytes = |label: u64| (label >> 32) as u32;
    Err(if own as u8 != theirs as u8 {
        Mismatch::Operation { rank }
    } else if root(own) != root(theirs) {
        Mismatch::Root { rank, own: root(own), theirs: root(theirs) }
    } else {
        Mismatch::Bytes { rank, own: bytes(own), theirs: bytes(theirs) }
    })
}

impl Lines {
    /// The lines of `peers`, if all of them are on this node and its device has lines for this
    /// communicator's id. `epoch` is a number that no earlier communicator with this id had at
    /// any of its members.
    pub fn new(adi: &Adi, peers: &Peers, epoch: u32) -> Option<Lines> {
        if peers.remote.is_some() || peers.size() < 2 {
            return None;
        }
        // Both contexts of a communicator come from its id.
        let id = peers.context / 2;
        let areas: Option<Vec<_>> = peers.procs.iter().map(|&p| adi.mcm().lines(p, id)).collect();
        let base = (epoch as u64) << 32;
        Some(Lines {
            areas: areas?,
            procs: peers.procs.clone(),
            me: peers.rank as usize,
            turn: Cell::new(base),
            labels: [const { Cell::new(0) }; DEPTH as usize],
            reached: Cell::new(base),
            compared: Cell::new(base),
            context: peers.context,
        })
    }

    pub fn size(&self) -> usize {
        self.areas.len()
    }

    /// The longest payload of one member.
    pub fn capacity(&self) -> usize {
        self.areas[0].capacity()
    }

    fn next(&self) -> u64 {
        self.turn.set(self.turn.get() + 1);
        self.turn.get()
    }

    /// Publishes a turn without payload.
    fn publish(&self, turn: u64, label: u64) {
        self.own(turn).set(label);
        self.areas[self.me].publish(turn, stamped(label, turn));
    }

    /// The label that this process had in `turn`, one of the last.
    #[inline]
    fn own(&self, turn: u64) -> &Cell<u64> {
        &self.labels[(turn % DEPTH) as usize]
    }

    /// Publishes a turn with a payload, once all peers are done with the one it overwrites. Fails
    /// when a peer took an earlier turn for something else: two roots of a broadcast, say, which
    /// do not wait for anybody, find out here or in the next operation that waits for all.
    #[inline]
    fn publish_with(
        &self,
        adi: &Adi,
        turn: u64,
        label: u64,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Done {
        let mut agreed = Ok(());
        if LineArea::free_after(turn, len) > self.reached.get() {
            agreed = self.await_free(adi, turn, len);
        }
        self.own(turn).set(label);
        self.areas[self.me].publish_with(turn, stamped(label, turn), len, write);
        agreed
    }

    /// Waits until a payload of `len` bytes may be published in `turn`; for a while more than that,
    /// so that the next turns need not look: what the peers write is slow to read.
    #[cold]
    fn await_free(&self, adi: &Adi, turn: u64, len: usize) -> Done {
        let free = LineArea::free_after(turn, len).max(turn.saturating_sub(DEPTH / 2));
        let mut rank = 0;
        self.wait(adi, &mut || {
            while rank < self.areas.len() && (rank == self.me || self.areas[rank].reached(free)) {
                rank += 1;
            }
            rank == self.areas.len()
        });
        self.reached.set(free);
        self.compare_since(free)
    }

    /// Compares the labels of all peers, which have reached `turn`, up to there.
    fn compare_since(&self, turn: u64) -> Done {
        let first = (self.compared.get() + 1).max((turn + 1).saturating_sub(DEPTH / 2));
        self.compared.set(turn.max(self.compared.get()));
        (first..=turn).try_for_each(|turn| self.check_below(self.areas.len(), turn, self.own(turn).get()))
    }

    /// Whether the members below `end`, which have reached `turn`, took it for the same.
    #[inline]
    fn check_below(&self, end: usize, turn: u64, label: u64) -> Done {
        (0..end).try_for_each(|rank| match rank == self.me {
            true => Ok(()),
            false => self.check(rank, turn, label),
        })
    }

    #[inline]
    fn wait(&self, adi: &Adi, done: &mut dyn FnMut() -> bool) {
        if !done() {
            adi.wait_until_telling(done, &|| self.missing());
        }
    }

    /// The members that have not come to the last turn.
    fn missing(&self) -> Awaited {
        let turn = self.turn.get();
        let missing = (0..self.areas.len()).filter(|&rank| rank != self.me && !self.areas[rank].reached(turn));
        Awaited::Members { context: self.context, procs: missing.map(|rank| self.procs[rank]).collect() }
    }

    /// Waits until every member below `end` has published `turn`.
    #[inline]
    fn await_below(&self, adi: &Adi, end: usize, turn: u64, label: u64) -> Done {
        let mut rank = 0;
        // Those that only give may be turns ahead.
        self.areas.iter().take(end).for_each(|area| area.prefetch(turn + AHEAD));
        self.wait(adi, &mut || {
            while rank < end && (rank == self.me || self.areas[rank].reached(turn)) {
                rank += 1;
            }
            rank >= end
        });
        self.check_below(end, turn, label)
    }

    /// Compares what `rank` has published in `turn` with `label`, unless it has gone on since.
    #[inline]
    fn check(&self, rank: usize, turn: u64, label: u64) -> Done {
        let (own, theirs) = (stamped(label, turn), self.areas[rank].label(turn));
        if own & STAMP == theirs & STAMP { compare(rank, own, theirs) } else { Ok(()) }
    }

    /// Waits for all members. Whoever finds all of them there wakes those that sleep: the last to
    /// arrive always does, so nobody else needs to.
    #[inline]
    fn await_all(&self, adi: &Adi, turn: u64, label: u64) -> Done {
        let result = self.await_below(adi, self.areas.len(), turn, label);
        self.ring_all(adi);
        self.reached.set(turn);
        self.compared.set(turn);
        result
    }

    /// [`Lines::await_all`] by one who has given a payload. If it did not wait for all in the turn
    /// before, it learns now whether all took that for the same.
    #[inline]
    fn await_givers(&self, adi: &Adi, turn: u64, label: u64) -> Done {
        let before = (self.compared.get() + 1 < turn).then_some(turn - 1);
        self.await_all(adi, turn, label)?;
        before.map_or(Ok(()), |turn| self.check_below(self.areas.len(), turn, self.own(turn).get()))
    }

    #[inline]
    fn await_one(&self, adi: &Adi, rank: usize, turn: u64, label: u64) -> Done {
        self.areas[rank].prefetch(turn + AHEAD);
        self.wait(adi, &mut || self.areas[rank].reached(turn));
        self.check(rank, turn, label)
    }

    /// Wakes every peer that sleeps.
    #[inline]
    fn ring_all(&self, adi: &Adi) {
        for (rank, &proc) in self.procs.iter().enumerate() {
            if rank != self.me {
                adi.mcm().ring(proc);
            }
        }
    }

    /// The payload of `rank`.
    ///
    /// # Safety
    /// As for `LineArea::read`.
    unsafe fn payload(&self, rank: usize, turn: u64, len: usize) -> &[u8] {
        // SAFETY: the caller's promise.
        unsafe { self.areas[rank].read(turn, len) }
    }

    pub fn barrier(&self, adi: &Adi) -> Done {
        let (turn, label) = (self.next(), label(Kind::Barrier, 0, 0));
        self.publish(turn, label);
        self.await_all(adi, turn, label)
    }

    /// `send` fills the root's `len` bytes; `take` gets them elsewhere. Longer data takes several
    /// turns of up to the capacity.
    pub fn bcast(
        &self,
        adi: &Adi,
        root: usize,
        len: usize,
        mut send: impl FnMut(usize, &mut [u8]),
        mut take: impl FnMut(usize, &[u8]),
    ) -> Done {
        let chunk = self.capacity().min(if len > 2 * CHUNK { CHUNK } else { len.max(1) });
        let label = label(Kind::Bcast, root as u32, len);
        let mut at = 0;
        loop {
            let part = (len - at).min(chunk);
            let turn = self.next();
            if self.me == root {
                self.publish_with(adi, turn, label, part, |out| send(at, out))?;
                self.ring_all(adi);
            } else {
                self.publish(turn, label);
                adi.mcm().ring(self.procs[root]);
                self.await_one(adi, root, turn, label)?;
                // SAFETY: reached just now, and this process publishes nothing before `take` ends.
                take(at, unsafe { self.payload(root, turn, part) });
            }
            at += part;
            if at >= len {
                return Ok(());
            }
        }
    }

    /// Every member but the root gives `len` bytes; the root takes them with their ranks.
    pub fn gather(
        &self,
        adi: &Adi,
        root: usize,
        len: usize,
        send: impl FnOnce(&mut [u8]),
        mut take: impl FnMut(usize, &[u8]),
    ) -> Done {
        let (turn, label) = (self.next(), label(Kind::Gather, root as u32, len));
        if self.me != root {
            self.publish_with(adi, turn, label, len, send)?;
            self.ring_all(adi);
            return Ok(());
        }
        self.publish(turn, label);
        self.await_all(adi, turn, label)?;
        for rank in (0..self.size()).filter(|&rank| rank != root) {
            // SAFETY: reached, and this process publishes nothing meanwhile.
            take(rank, unsafe { self.payload(rank, turn, len) });
        }
        Ok(())
    }

    /// The root gives a block of `len` bytes for each rank; the others take theirs.
    pub fn scatter(
        &self,
        adi: &Adi,
        root: usize,
        len: usize,
        send: impl FnOnce(&mut [u8]),
        take: impl FnOnce(&[u8]),
    ) -> Done {
        let (turn, label) = (self.next(), label(Kind::Scatter, root as u32, len));
        let total = len * self.size();
        if self.me == root {
            self.publish_with(adi, turn, label, total, send)?;
            self.ring_all(adi);
            return Ok(());
        }
        self.publish(turn, label);
        adi.mcm().ring(self.procs[root]);
        self.await_one(adi, root, turn, label)?;
        // SAFETY: reached, and this process publishes nothing meanwhile.
        take(&unsafe { self.payload(root, turn, total) }[self.me * len..][..len]);
        Ok(())
    }

    /// Every member gives `len` bytes and takes those of the others.
    pub fn allgather(
        &self,
        adi: &Adi,
        len: usize,
        send: impl FnOnce(&mut [u8]),
        mut take: impl FnMut(usize, &[u8]),
    ) -> Done {
        let (turn, label) = (self.next(), label(Kind::Allgather, 0, len));
        self.publish_with(adi, turn, label, len, send)?;
        self.await_givers(adi, turn, label)?;
        for rank in (0..self.size()).filter(|&rank| rank != self.me) {
            // SAFETY: reached, and this process publishes nothing meanwhile.
            take(rank, unsafe { self.payload(rank, turn, len) });
        }
        Ok(())
    }

    /// Every member gives a block of `len` bytes for each rank and takes its own of the others.
    pub fn alltoall(
        &self,
        adi: &Adi,
        len: usize,
        send: impl FnOnce(&mut [u8]),
        mut take: impl FnMut(usize, &[u8]),
    ) -> Done {
        let (turn, label) = (self.next(), label(Kind::Alltoall, 0, len));
        let total = len * self.size();
        self.publish_with(adi, turn, label, total, send)?;
        self.await_givers(adi, turn, label)?;
        for rank in (0..self.size()).filter(|&rank| rank != self.me) {
            // SAFETY: reached, and this process publishes nothing meanwhile.
            let all = unsafe { self.payload(rank, turn, total) };
            take(rank, &all[self.me * len..][..len]);
        }
        Ok(())
    }

    /// Combines the vectors of the members `ranks`, in their order, into `out`.
    ///
    /// # Safety
    /// All of them have reached `turn` with `total` bytes; `out` holds `vector.bytes` bytes.
    unsafe fn combine(&self, turn: u64, total: usize, from: usize, end: usize, vector: &Vector, out: *mut u8) {
        // SAFETY: the caller's promise; this process publishes nothing meanwhile.
        let part = |rank| unsafe { self.payload(rank, turn, total)[from..].as_ptr() };
        let first = part(0);
        if end == 1 {
            // SAFETY: both hold `bytes` bytes, and shared memory never overlaps the program's.
            return unsafe { std::ptr::copy_nonoverlapping(first, out, vector.bytes) };
        }
        // SAFETY: all hold `elements` elements, and a kernel's output may be an input.
        unsafe {
            (vector.kernel)(first, part(1), out, vector.elements);
            for rank in 2..end {
                (vector.kernel)(out, part(rank), out, vector.elements);
            }
        }
    }

    /// The reduction of all members' vectors; `out` is where the result goes, null for none.
    ///
    /// # Safety
    /// `input` and `out` hold the vector; they may be the same memory.
    pub unsafe fn reduce(&self, adi: &Adi, root: Option<usize>, vector: &Vector, input: *const u8, out: *mut u8) -> Done {
        let kind = if root.is_some() { Kind::Reduce } else { Kind::Allreduce };
        let (turn, label) = (self.next(), label(kind, root.unwrap_or(0) as u32, vector.bytes));
        // SAFETY: the caller's promise.
        self.publish_with(adi, turn, label, vector.bytes, |to| unsafe { copy_in(input, to) })?;
        if root.is_some_and(|root| root != self.me) {
            self.ring_all(adi);
            return Ok(());
        }
        self.await_givers(adi, turn, label)?;
        // SAFETY: all have reached the turn; `out` by the caller's promise.
        unsafe { self.combine(turn, vector.bytes, 0, self.size(), vector, out) };
        Ok(())
    }

    /// A reduction to all of a vector of any length. It goes in parts of the capacity, in two turns
    /// each: every member publishes its part, reduces its share of the part over all members, and
    /// publishes that for the others. So each element is reduced once, not once by each.
    ///
    /// # Safety
    /// As for [`Lines::reduce`].
    pub unsafe fn allreduce_long(&self, adi: &Adi, vector: &Vector, input: *const u8, out: *mut u8) -> Done {
        let label = label(Kind::Allreduce, 0, vector.bytes);
        let size = vector.bytes / vector.elements;
        let whole = self.capacity() / size;
        let mut at = 0;
        while at < vector.elements {
            let elements = whole.min(vector.elements - at);
            let (from, to) = (input.wrapping_add(at * size), out.wrapping_add(at * size));
            // SAFETY: a part of the caller's vectors.
            unsafe { self.allreduce_part(adi, label, vector, elements, from, to)? };
            at += elements;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Lines::reduce`], for `elements` elements that fit the capacity.
    unsafe fn allreduce_part(
        &self,
        adi: &Adi,
        label: u64,
        vector: &Vector,
        elements: usize,
        input: *const u8,
        out: *mut u8,
    ) -> Done {
        let size = vector.bytes / vector.elements;
        // The share of a member: where it begins, and its length, in bytes.
        let share = |rank: usize| {
            let begin = elements * rank / self.size();
            let end = elements * (rank + 1) / self.size();
            (begin * size, (end - begin) * size)
        };
        let turn = self.next();
        // SAFETY: the caller's promise.
        self.publish_with(adi, turn, label, elements * size, |to| unsafe { copy_in(input, to) })?;
        self.await_givers(adi, turn, label)?;
        let (begin, len) = share(self.me);
        let mine = out.wrapping_add(begin);
        let own = Vector { kernel: vector.kernel, elements: len / size, bytes: len };
        // SAFETY: all have reached the turn; the share lies inside the vector.
        unsafe { self.combine(turn, elements * size, begin, self.size(), &own, mine) };
        let turn = self.next();
        // SAFETY: `mine` holds `len` bytes.
        self.publish_with(adi, turn, label, len, |to| unsafe { copy_in(mine, to) })?;
        self.await_givers(adi, turn, label)?;
        for rank in (0..self.size()).filter(|&rank| rank != self.me) {
            let (begin, len) = share(rank);
            // SAFETY: reached, and this process publishes nothing meanwhile; the share lies inside
            // the vector.
            unsafe {
                let part = self.payload(rank, turn, len);
                std::ptr::copy_nonoverlapping(part.as_ptr(), out.add(begin), len);
            }
        }
        Ok(())
    }

    /// The reduction over the ranks up to this one; without this one if `exclusive`.
    ///
    /// # Safety
    /// As for [`Lines::reduce`].
    pub unsafe fn scan(&self, adi: &Adi, exclusive: bool, vector: &Vector, input: *const u8, out: *mut u8) -> Done {
        let (turn, label) = (self.next(), label(Kind::Scan, exclusive as u32, vector.bytes));
        // SAFETY: the caller's promise.
        self.publish_with(adi, turn, label, vector.bytes, |to| unsafe { copy_in(input, to) })?;
        self.ring_all(adi);
        let end = self.me + !exclusive as usize;
        self.await_below(adi, end, turn, label)?;
        if end > 0 {
            // SAFETY: all below `end` have reached the turn, this process too.
            unsafe { self.combine(turn, vector.bytes, 0, end, vector, out) };
        }
        Ok(())
    }

    /// The reduction of this rank's block; `input` holds a block of `vector` for each rank.
    ///
    /// # Safety
    /// As for [`Lines::reduce`].
    pub unsafe fn reduce_scatter(&self, adi: &Adi, vector: &Vector, input: *const u8, out: *mut u8) -> Done {
        let (turn, label) = (self.next(), label(Kind::ReduceScatter, 0, vector.bytes));
        let total = vector.bytes * self.size();
        // SAFETY: the caller's promise.
        self.publish_with(adi, turn, label, total, |to| unsafe { copy_in(input, to) })?;
        self.await_givers(adi, turn, label)?;
        // SAFETY: all have reached the turn.
        unsafe { self.combine(turn, total, self.me * vector.bytes, self.size(), vector, out) };
        Ok(())
    }
}

/// Turns from the one that is waited for to the one whose cell is asked for early.
const AHEAD: u64 = 2;

/// Bytes of a long broadcast per turn: the readers copy one part while the root writes the next.
const CHUNK: usize = 16 << 10;

/// # Safety
/// `input` holds as many bytes as `to`.
unsafe fn copy_in(input: *const u8, to: &mut [u8]) {
    // SAFETY: the caller's promise; shared memory never overlaps the program's.
    unsafe { std::ptr::copy_nonoverlapping(input, to.as_mut_ptr(), to.len()) }
}

/// A vector to reduce, by a predefined operation on a basic type.
pub struct Vector {
    pub kernel: Kernel3,
    pub elements: usize,
    pub bytes: usize,
}

impl Vector {
    /// `count` elements of a layout that is one dense run of a basic type.
    pub fn new(op: Op, ty: &tern_layout::Type, count: i64) -> Option<Vector> {
        if !ty.is_contiguous() {
            return None;
        }
        let basic = ty.uniform_basic()?;
        let bytes = count as usize * ty.size() as usize;
        Some(Vector { kernel: kernel3(op, basic)?, elements: bytes / basic.size() as usize, bytes })
    }
}
