//! Small collectives inside a node over shared control lines: every process publishes its
//! contribution in its own lines, waits for those it needs, and reads them. One step for all of
//! them, whatever their number, so that with more ranks than cores each has to run only once.
//!
//! Every operation takes a turn (`tern_device::ControlSlots`). All members take equal turns, since
//! MPI asks them to call collectives in one order. Whether an operation goes so depends only
//! on facts that all members know.

pub(crate) mod bound;
pub mod declared;
mod label;
mod operations;
mod reduce;
pub mod refusal;
pub mod region;
pub mod shared;
pub mod shares;
mod tree;

pub use crate::ops::Vector;
pub use label::{Kind, Mismatch};
use reduce::LastKernel;
use tree::Trees;

use crate::copies::FETCHED;
use crate::group::Group;
pub use label::Done;
pub(crate) use label::MORE;
use label::{BLOCK, History, agree_since, compare, ends_block, label, lost};
use std::cell::Cell;
use std::rc::Rc;
use tern_adi::{Adi, Awaited, Proc};
use tern_mcm::{ControlSlots, DEPTH, Occupied};
use tern_node::clock;
use tern_policy::collective::{
    self, Beside, CollPlan, Collective, InPlace, Members, ReadInPlace, Selection, Shape, Short, grows,
};

/// Done, or what the members disagree about; `None`: it has to go another way.
pub type Fast = Option<Done>;

/// The lines of one communicator.
#[derive(Debug)]
pub struct Lines {
    areas: Vec<ControlSlots>,
    procs: Rc<[Proc]>,
    me: usize,
    /// The last turn taken.
    turn: Cell<u64>,
    /// The labels of the last turns as they were published, by turn modulo their number.
    labels: [Cell<u64>; DEPTH as usize],
    history: History,
    kernel: LastKernel,
    /// What the members have learned of reading each other's memory.
    learned: ReadInPlace,
    /// A member could not copy, though the kernel had copied between the two before, and cannot by now.
    kernel_failed: Cell<bool>,
    /// Ways that the user forces.
    selection: Selection,
    /// Members are more than their node has cores.
    crowded: bool,
    /// Up to which lengths the short paths go over the lines.
    short: Short,
    /// What this process's area holds.
    occupied: Occupied,
    /// A turn that all peers are known to have reached.
    reached: Cell<u64>,
    /// The last turn whose labels were compared with those of all peers.
    compared: Cell<u64>,
    /// The context of the communicator's collectives.
    context: u32,
    /// The longest payload that is asked for early.
    fetched: usize,
    /// Of members of a large node: the trees along which they meet.
    trees: Option<Box<Trees>>,
    /// They do so where nobody asks for anything else.
    grown: bool,
}

/// The last turn on some lines, after which this process reads nothing more of the others.
#[derive(Debug)]
pub struct Farewell {
    areas: Vec<ControlSlots>,
    pub(crate) turn: u64,
}

impl Farewell {
    /// True when all members have left the lines, so that nobody looks for their turns any more.
    pub fn is_over(&self) -> bool {
        self.areas.iter().all(|area| area.reached(self.turn))
    }
}

/// Turns from the one that is waited for to the one whose cell is asked for early.
const AHEAD: u64 = 2;

/// [`FETCHED`] where a copy does not ask for the lines that it is going to write ([`tern_copy::asks`]).
const FETCHED_OTHERWISE: usize = 8 << 10;

impl Lines {
    /// The lines of `peers`, if all of them are on this node and its device has lines for this
    /// communicator's id. `epoch` is a number that no earlier communicator with this id had at
    /// any of its members.
    pub fn new(adi: &Adi, peers: &Group, epoch: u32) -> Option<Lines> {
        if peers.remote.is_some() || peers.size() < 2 {
            return None;
        }
        // Both contexts of a communicator come from its id.
        let id = peers.context / 2;
        let areas: Option<Vec<_>> = peers.procs.iter().map(|&p| adi.mcm().control_slots(p, id)).collect();
        let mut lines = Lines::over(adi, areas?, peers, (epoch as u64) << 32);
        if let Some(parts) = bound::parts(adi, peers) {
            lines.grown = grows(&parts);
            lines.short = Short::beside_tree(lines.size(), lines.capacity());
            lines.trees = Some(Box::new(Trees::new(parts)));
        }
        Some(lines)
    }

    /// The lines of `peers` in these areas, in which no turn after `base` has been published.
    pub(crate) fn over(adi: &Adi, areas: Vec<ControlSlots>, peers: &Group, base: u64) -> Lines {
        Lines {
            short: Short::new(areas.len(), areas[0].capacity()),
            areas,
            procs: peers.procs.clone(),
            me: peers.rank as usize,
            turn: Cell::new(base),
            labels: [const { Cell::new(0) }; DEPTH as usize],
            history: History::default(),
            kernel: LastKernel::default(),
            learned: ReadInPlace::new(&adi.coordinator()),
            kernel_failed: Cell::new(false),
            selection: peers.selection,
            crowded: peers.crowded,
            occupied: Occupied::default(),
            reached: Cell::new(base),
            compared: Cell::new(base),
            context: peers.context,
            trees: None,
            grown: false,
            fetched: if tern_copy::asks() { FETCHED } else { FETCHED_OTHERWISE },
        }
    }

    /// This process's rank.
    pub(crate) fn rank(&self) -> usize {
        self.me
    }

    /// The area of `rank`.
    pub(crate) fn area(&self, rank: usize) -> &ControlSlots {
        &self.areas[rank]
    }

    /// When all members have published `turn`: whether they agree what it is. `None` before.
    pub(crate) fn have_all(&self, turn: u64) -> Option<Done> {
        if !self.areas.iter().all(|area| area.reached(turn)) {
            return None;
        }
        self.reached.set(turn);
        self.compared.set(turn);
        Some(self.check_below(self.areas.len(), turn))
    }

    /// Publishes a payload of `len` bytes of a block of `whole`, in a turn that all are to be waited for.
    pub(crate) fn give(
        &self, adi: &Adi, kind: Kind, whole: usize, len: usize, write: impl FnOnce(&mut [u8]),
    ) -> Result<u64, Mismatch> {
        let (turn, label) = (self.next(), label(kind, 0, whole));
        self.publish_with(adi, turn, label, len, write)?;
        Ok(turn)
    }

    pub fn size(&self) -> usize {
        self.areas.len()
    }

    /// Whether the lines of a payload of `len` bytes are asked for early.
    #[inline(always)]
    fn is_fetched(&self, len: usize) -> bool {
        len <= self.fetched && !ControlSlots::in_cell(len)
    }

    /// The longest payload of one member.
    pub fn capacity(&self) -> usize {
        self.areas[0].capacity()
    }

    /// Whether calls may go along a tree, so that a barrier needs a plan too.
    #[inline(always)]
    pub fn have_trees(&self) -> bool {
        self.trees.is_some()
    }

    /// Up to which lengths the short paths go over the lines.
    #[inline(always)]
    pub(crate) fn short(&self) -> &Short {
        &self.short
    }

    /// The members, as all of them know each other.
    pub(crate) fn members(&self) -> Members {
        let beside = Beside::Lines { capacity: self.capacity(), tree: self.grown };
        Members { size: self.size(), beside, crowded: self.crowded, asked: tern_settings::MECHANISM.get() }
    }

    /// What a collective does that begins now. All members make such a plan for each call, since some of it is learned by calls.
    pub(crate) fn plan(&self, what: Collective, shape: &Shape) -> CollPlan {
        let members = self.members();
        let learned = match collective::may_read_in_place(what, &members, shape, &self.selection) {
            true => self.learned.begin(what, shape.bytes, clock::nanoseconds),
            false => InPlace::Ask,
        };
        collective::collective(what, &members, shape, &self.selection, learned)
    }

    /// All ranks but `rank`, in order.
    pub(crate) fn others(&self, rank: usize) -> impl Iterator<Item = usize> {
        (0..self.size()).filter(move |&other| other != rank)
    }

    fn next(&self) -> u64 {
        self.turn.set(self.turn.get() + 1);
        self.turn.get()
    }

    /// Publishes a turn without payload.
    #[inline]
    fn publish(&self, turn: u64, label: u64) {
        self.areas[self.me].publish(turn, self.stamp(turn, label));
    }

    /// The label as it is published.
    #[inline(always)]
    fn stamp(&self, turn: u64, label: u64) -> u64 {
        let stamped = self.history.stamp(label, turn);
        self.own(turn).set(stamped);
        stamped
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
    fn publish_with(&self, adi: &Adi, turn: u64, label: u64, len: usize, write: impl FnOnce(&mut [u8])) -> Done {
        let mut agreed = Ok(());
        let free = self.occupied.occupy(&self.areas[self.me], turn, len);
        if free > self.reached.get() {
            agreed = self.await_free(adi, turn, free);
        }
        let area = &self.areas[self.me];
        // The peers have read this one long ago: it comes back while the next turns are written.
        area.prefetch_for_writing(turn + AHEAD);
        if self.is_fetched(len) && self.reached.get() + 1 < turn {
            // Whoever waits for all in each turn would only wait longer.
            area.prefetch_payload_for_writing(turn + AHEAD, len);
        }
        area.publish_with(turn, self.stamp(turn, label), len, write);
        agreed
    }

    /// Waits until all peers have published `free`, so that a payload may be published in `turn`; for a while more than
    /// that, so that the next turns need not look: what the peers write is slow to read.
    #[cold]
    fn await_free(&self, adi: &Adi, turn: u64, free: u64) -> Done {
        // Best the end of a block, whose history tells of all its turns.
        let block = (turn + 1).saturating_sub(DEPTH / 4) / BLOCK * BLOCK;
        let some = free + (turn - free) / 4;
        let free = some.max(block.saturating_sub(1));
        let mut rank = 0;
        self.wait(adi, || {
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
        let telling = |&turn: &u64| ends_block(turn);
        let agreed = (first..turn).filter(telling).chain([turn]).all(|turn| self.agrees(turn));
        match agreed {
            true => Ok(()),
            false => (first..=turn).try_for_each(|turn| self.check_below(self.areas.len(), turn)),
        }
    }

    /// Whether all peers had the same labels as this process in `turn` and before it in its block.
    fn agrees(&self, turn: u64) -> bool {
        let others = (0..self.areas.len()).filter(|&rank| rank != self.me);
        others.map(|rank| self.areas[rank].label(turn)).all(|theirs| agree_since(self.own(turn).get(), theirs))
    }

    /// Whether the members below `end`, which have reached `turn`, took it for the same. That one of them has lost somebody,
    /// or refused its call, is for those alone that wait for its data: an operation that fails for what became of an
    /// earlier one would leave out turns.
    #[inline]
    fn check_below(&self, end: usize, turn: u64) -> Done {
        self.check_now(end, turn).or_else(|wrong| match wrong {
            Mismatch::Refused { .. } => self.check_others(end, turn),
            _ => Err(wrong),
        })
    }

    /// The same without those that have refused it.
    #[cold]
    fn check_others(&self, end: usize, turn: u64) -> Done {
        let others = (0..end).filter(|&rank| rank != self.me);
        let mut wrong = others.filter_map(|rank| self.check(rank, turn).err());
        wrong.find(|wrong| !matches!(wrong, Mismatch::Lost { .. } | Mismatch::Refused { .. })).map_or(Ok(()), Err)
    }

    /// The same of the turn of this operation: that one of them has refused it counts.
    #[inline]
    fn check_now(&self, end: usize, turn: u64) -> Done {
        (0..end).try_for_each(|rank| match rank == self.me {
            true => Ok(()),
            false => self.check(rank, turn).or_else(|wrong| match wrong {
                Mismatch::Lost { .. } => Ok(()),
                _ => Err(wrong),
            }),
        })
    }

    #[inline]
    fn wait(&self, adi: &Adi, done: impl FnMut() -> bool) {
        self.wait_for(adi, done, || self.missing());
    }

    /// The same for `missing`: those that have not come.
    #[inline]
    fn wait_for<P: Iterator<Item = Proc>>(&self, adi: &Adi, mut done: impl FnMut() -> bool, missing: impl Fn() -> P) {
        if done() {
            return;
        }
        let mcm = adi.mcm();
        if !mcm.pass_on(&mut done, |core| missing().any(|proc| mcm.is_on(proc, core))) {
            let awaited = || Awaited::Members { context: self.context, procs: missing().collect() };
            adi.wait_until_telling(&mut done, &awaited);
        }
    }

    /// The members that have not come to the last turn. Those on this process's core can use it, whether or not they are waited
    /// for; all others wait as this one does.
    fn missing(&self) -> impl Iterator<Item = Proc> {
        let turn = self.turn.get();
        let missing = (0..self.areas.len()).filter(move |&rank| rank != self.me && !self.areas[rank].reached(turn));
        missing.map(|rank| self.procs[rank])
    }

    /// Waits until every member below `end` has published `turn`.
    #[inline]
    fn await_below(&self, adi: &Adi, end: usize, turn: u64) -> Done {
        let mut rank = 0;
        // Those that only give may be turns ahead.
        self.areas.iter().take(end).for_each(|area| area.prefetch(turn + AHEAD));
        self.wait(adi, || {
            while rank < end && (rank == self.me || self.areas[rank].reached(turn)) {
                rank += 1;
            }
            rank >= end
        });
        self.check_now(end, turn)
    }

    /// Compares what `rank` has published in `turn` with this process's label, unless it has gone on since.
    #[inline]
    fn check(&self, rank: usize, turn: u64) -> Done {
        compare(rank, self.own(turn).get(), self.areas[rank].label(turn))
    }

    /// Waits for all members. Whoever finds all of them there wakes those that sleep: the last to
    /// arrive always does, so nobody else needs to.
    #[inline]
    fn await_all(&self, adi: &Adi, turn: u64) -> Done {
        let result = self.await_below(adi, self.areas.len(), turn);
        self.ring_all(adi);
        self.reached.set(turn);
        self.compared.set(turn);
        result
    }

    /// [`Lines::await_all`] by one who has given a payload. If it did not wait for all in the turn
    /// before, it learns now whether all took that for the same.
    #[inline]
    fn await_givers(&self, adi: &Adi, turn: u64) -> Done {
        let before = (self.compared.get() + 1 < turn).then_some(turn - 1);
        self.await_all(adi, turn)?;
        before.map_or(Ok(()), |turn| self.check_below(self.areas.len(), turn))
    }

    #[inline]
    fn await_one(&self, adi: &Adi, rank: usize, turn: u64) -> Done {
        self.areas[rank].prefetch(turn + AHEAD);
        self.wait(adi, || self.areas[rank].reached(turn));
        self.check(rank, turn)
    }

    /// Wakes every peer that sleeps.
    #[inline]
    pub(crate) fn ring_all(&self, adi: &Adi) {
        if !adi.mcm().anyone_sleeps() {
            return;
        }
        for (rank, &proc) in self.procs.iter().enumerate() {
            if rank != self.me {
                adi.mcm().ring(proc);
            }
        }
    }

    /// The payload of `rank`.
    ///
    /// # Safety
    /// As for `ControlSlots::read`.
    #[inline]
    pub(crate) unsafe fn payload(&self, rank: usize, turn: u64, len: usize) -> &[u8] {
        let area = &self.areas[rank];
        if self.is_fetched(len) && area.reached(turn + AHEAD) {
            // Its owner runs ahead, mostly with payloads of one length.
            area.prefetch_payload(turn + AHEAD, len);
        }
        // SAFETY: the caller's promise.
        unsafe { self.areas[rank].read(turn, len) }
    }

    /// Bytes of a broadcast of `len` that one turn takes.
    fn chunk(&self, len: usize) -> usize {
        collective::chunk(self.capacity(), len)
    }

    /// The label of the turn of a broadcast that begins at byte `at`, for all members.
    fn label_of_part(&self, root: usize, at: usize, len: usize) -> u64 {
        let more = at + self.chunk(len) < len;
        label(Kind::Bcast, root as u32, len) | if more { MORE } else { 0 }
    }

    /// In place of a broadcast of `len` bytes by this member: tells all that it will not come, since that process is
    /// lost.
    pub fn lose(&self, adi: &Adi, len: usize, process: u32) {
        let label = self.label_of_part(self.me, 0, len);
        let turn = self.next();
        // As a payload, it stays until all have seen it: from a later label they would take it that all went well.
        let free = self.occupied.occupy(&self.areas[self.me], turn, 1);
        if free > self.reached.get() {
            _ = self.await_free(adi, turn, free);
        }
        let stamped = self.stamp(turn, label);
        self.areas[self.me].publish(turn, lost(process, stamped));
        self.ring_all(adi);
    }

    /// Takes a last turn, as all members do, without waiting for them.
    pub fn leave(&self) -> Farewell {
        let turn = self.next();
        self.publish(turn, label(Kind::Barrier, 0, 0));
        Farewell { areas: self.areas.clone(), turn }
    }
}
