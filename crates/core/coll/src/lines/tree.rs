//! Operations of a large node's members along a [`Tree`](tern_policy::collective::Tree): each looks only at the lines of those that it has an edge to.
//!
//! They take the turns of the same lines as all other operations. In a turn *up* a member waits for its children, and publishes
//! what they and it give, put together. In a turn *down* it waits for its parent, and publishes what that has published. The two ways have
//! edges of their own. An operation that goes up and down ends when all members have come. It may have several tops: each waits for what
//! the others have published in the turn up, and all come to the same.
//!
//! - **All turns are taken.** How many an operation takes depends only on its length. A member that finds that another one calls something else,
//!   or has refused the call, goes on without data, and waits only for neighbours that are many turns behind. It publishes that it dissents,
//!   and whoever hears from it does the same. At the end each of them looks at all lines for the reason, as in the flat operations.
//! - **Room.** A payload is read by neighbours in the tree only. So a member that needs the place of an old one waits for them alone, as long as
//!   nothing but turns along the same tree has used the places since.
//! - **Parts.** What is longer than a part goes in several. A part goes up while the one before it goes down.

use super::Lines;
use super::label::{DISSENT, Done, HISTORY, Kind, MORE, Mismatch, is_of_turn, label, waiting_inside, waits_inside};
use crate::calls::Call;
use crate::copies::{copy, give};
use crate::ops::Vector;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tern_adi::Adi;
use tern_mcm::DEPTH;
use tern_policy::collective::{Top, TreeForm};

mod branch;

use branch::Branch;
pub(super) use branch::Trees;

/// How long a member waits before it says what it waits in: much longer than others are behind in a loop of short calls.
const PATIENT: Duration = Duration::from_millis(100);
/// Looks in vain between two at the clock. One that sleeps between two looks says it in time, too.
const GLANCES: u32 = 4;

/// An operation along a tree, as one member makes it.
struct Climb<'a> {
    lines: &'a Lines,
    adi: &'a Adi,
    trees: &'a Trees,
    branch: Rc<Branch>,
    /// The last turn before it.
    before: u64,
    /// A neighbour that did not agree, if one has not.
    dissenter: Option<usize>,
    /// What was wrong in an earlier operation.
    earlier: Done,
    /// It tells nothing of earlier operations: a barrier, as the flat one.
    alone: bool,
    call: Call,
}

impl Lines {
    /// Begins an operation of `bytes` from or to `root`, or of all.
    fn climb<'a>(&'a self, adi: &'a Adi, call: Call, root: Option<usize>, bytes: usize) -> Climb<'a> {
        let trees = self.trees.as_deref().expect("members with a tree");
        let top = root.map_or(Top::Several, |root| Top::Root(root as u32));
        let before = self.turn.get();
        let branch = trees.follow(self.me, before, top, TreeForm::of(bytes));
        Climb { lines: self, adi, trees, branch, before, dissenter: None, earlier: Ok(()), alone: false, call }
    }

    /// [`Lines::barrier`].
    pub fn barrier_by_tree(&self, adi: &Adi) -> Done {
        let mut climb = Climb { alone: true, ..self.climb(adi, Call::Barrier, None, 0) };
        let label = label(Kind::Barrier, 0, 0);
        let up = climb.up(label | MORE, 0, |_, _| ());
        climb.hear_tops(up);
        climb.down(label, 0, |_| (), |_| ());
        climb.meet(up)
    }

    /// [`Lines::bcast`], in parts of `part` bytes.
    pub fn bcast_by_tree(
        &self, adi: &Adi, (root, len, part): (usize, usize, usize), mut send: impl FnMut(usize, &mut [u8]),
        mut take: impl FnMut(usize, &[u8]),
    ) -> Done {
        let mut climb = self.climb(adi, Call::Bcast, Some(root), len);
        let label = label(Kind::Bcast, root as u32, len);
        for from in (0..len.max(1)).step_by(part) {
            let some = part.min(len - from);
            let more = if from + some < len { MORE } else { 0 };
            climb.down(label | more, some, |out| send(from, out), |bytes| take(from, bytes));
        }
        climb.end()
    }

    /// [`Lines::reduce`] to `root`, or to all, in parts of `part` bytes.
    ///
    /// # Safety
    /// `input` holds the vector, and so does `out` where the result goes; they may be the same memory.
    pub unsafe fn reduce_by_tree(
        &self, adi: &Adi, root: Option<usize>, vector: &Vector, part: usize, input: *const u8, out: *mut u8,
    ) -> Done {
        let kind = if root.is_some() { Kind::Reduce } else { Kind::Allreduce };
        let call = if root.is_some() { Call::Reduce } else { Call::Allreduce };
        let mut climb = self.climb(adi, call, root, vector.bytes);
        let label = label(kind, root.unwrap_or(0) as u32, vector.whole);
        let size = (vector.bytes / vector.elements.max(1)).max(1);
        let part = part - part % size;
        let parts: Vec<usize> = (0..vector.bytes.max(1)).step_by(part).collect();
        let mut reached = 0;
        for (at, &from) in parts.iter().enumerate() {
            let more = if root.is_none() || at + 1 < parts.len() { MORE } else { 0 };
            let some = part.min(vector.bytes - from);
            let piece = Vector { elements: some / size, bytes: some, ..*vector };
            // SAFETY: a part of the caller's vectors.
            let up = unsafe { climb.combine(label | more, &piece, input.wrapping_add(from), out.wrapping_add(from)) };
            if root.is_none() && at > 0 {
                climb.tell_result(label | MORE, part, out.wrapping_add(parts[at - 1]));
            }
            reached = up;
        }
        let Some(&last) = parts.last().filter(|_| root.is_none()) else { return climb.end_reduction(root) };
        climb.tell_result(label, vector.bytes - last, out.wrapping_add(last));
        climb.meet(reached)
    }

    /// [`Lines::allgather`] of blocks of `len` bytes: `take` gets those of all members, and of this one too.
    pub fn allgather_by_tree(
        &self, adi: &Adi, len: usize, send: impl FnOnce(&mut [u8]), mut take: impl FnMut(usize, &[u8]),
    ) -> Done {
        let all = len * self.size();
        let mut climb = self.climb(adi, Call::Allgather, None, all);
        let branch = climb.branch.clone();
        let order = branch.order();
        let (at, below) = order.places[self.me];
        let label = label(Kind::Allgather, 0, len);
        let up = climb.up(label | MORE, below * len, |climb, out| {
            send(&mut out[..len]);
            for &child in &branch.up.children {
                let (place, below) = order.places[child];
                let blocks = climb.payload(child, below * len);
                out[(place - at) * len..][..below * len].copy_from_slice(blocks);
            }
        });
        climb.hear_tops(up);
        // The tops have put together what is below each, in the turn before.
        let whole = |out: &mut [u8]| {
            for &top in &branch.tops {
                let (place, below) = order.places[top];
                // SAFETY: published in that turn, by this process itself or by one that this process has heard of; nobody changes it before
                // this process publishes the turn behind it.
                let blocks = unsafe { self.payload(top, up, below * len) };
                out[place * len..][..below * len].copy_from_slice(blocks);
            }
        };
        let mut take_all = |bytes: &[u8]| {
            let blocks = bytes.chunks_exact(len.max(1));
            order.members.iter().zip(blocks).for_each(|(&member, block)| take(member as usize, block));
        };
        climb.down(label, all, whole, &mut take_all);
        if branch.down.parent.is_none() && climb.dissenter.is_none() {
            // SAFETY: published by this process itself, which leaves it alone meanwhile.
            take_all(unsafe { self.areas[self.me].read(self.turn.get(), all) });
        }
        climb.meet(up)
    }
}

impl Climb<'_> {
    /// Takes the next turn.
    fn next(&self, label: u64) -> u64 {
        let turn = self.lines.next();
        self.trees.run.last.set(turn);
        self.lines.stamp(turn, label);
        turn
    }

    /// What `rank` has published in the last turn, which it has reached, and in which it has agreed.
    fn payload(&self, rank: usize, len: usize) -> &[u8] {
        // SAFETY: reached, with as many bytes, since the labels were equal in that turn; the payload stays until this process has published
        // the turn behind it, which it does not do meanwhile.
        unsafe { self.lines.payload(rank, self.lines.turn.get(), len) }
    }

    /// Whether `rank` agrees about the last turn, and about what was before.
    fn agrees(&self, rank: usize, turn: u64) -> bool {
        let (own, theirs) = (self.lines.own(turn).get(), self.lines.areas[rank].label(turn));
        own == theirs || self.agrees_by_turns(rank, turn)
    }

    /// The same where the labels differ: the neighbour may wait to learn what the others call, or the two have disagreed before, and have
    /// been told.
    #[cold]
    fn agrees_by_turns(&self, rank: usize, turn: u64) -> bool {
        let (own, theirs) = (self.lines.own(turn).get(), self.lines.areas[rank].label(turn));
        if !is_of_turn(theirs, own) {
            // It has gone on to a later turn with the same cell, as a parent can that waits for nobody. The payload is still there.
            return true;
        }
        if theirs & DISSENT != 0 {
            return false;
        }
        if theirs & 0xf == Kind::Waits as u64 {
            // What it waits for has taken the place of what the turn was; only the history tells that by now.
            return (own ^ theirs) >> HISTORY == 0;
        }
        let before = if self.alone { turn } else { self.untold() }..turn;
        let agreed = |turn: u64| self.lines.check(rank, turn).err().is_none_or(|wrong| is_forgotten(&wrong));
        self.lines.check(rank, turn).is_ok() && before.into_iter().all(agreed)
    }

    /// The first turn about which nothing has been told yet, as far as labels still say what was in it.
    fn untold(&self) -> u64 {
        let block = (self.before + 1).saturating_sub(super::BLOCK);
        self.lines.compared.get().max(block) + 1
    }

    fn look_at(&mut self, rank: usize, turn: u64) {
        if !self.agrees(rank, turn) {
            self.dissenter.get_or_insert(rank);
        }
    }

    /// Publishes `turn` with `len` bytes that `write` fills, or without if somebody dissents.
    fn publish(&mut self, turn: u64, len: usize, write: impl FnOnce(&Self, &mut [u8])) {
        let lines = self.lines;
        let area = &lines.areas[lines.me];
        let label = lines.own(turn).get();
        match self.dissenter {
            None => {
                self.make_room(turn, len);
                area.publish_with(turn, label, len, |out| write(self, out));
            }
            Some(_) => {
                // The label of a turn stays until the neighbours have seen it.
                let seen = turn.saturating_sub(DEPTH / 2);
                if seen > lines.reached.get() {
                    self.await_neighbours(seen);
                }
                area.publish(turn, label | DISSENT);
            }
        }
        self.ring();
    }

    /// Waits until nobody reads what lies where `len` bytes are about to be published in `turn`.
    fn make_room(&mut self, turn: u64, len: usize) {
        let (lines, run) = (self.lines, &self.trees.run);
        let free = lines.occupied.occupy(&lines.areas[lines.me], turn, len);
        if free <= lines.reached.get() {
            return;
        }
        if lines.reached.get() <= run.since.get() {
            // Others than the neighbours may still read what was published before this run.
            let agreed = lines.await_free(self.adi, turn, free);
            self.earlier = self.earlier.and(agreed);
        } else if free > run.near.get() {
            // For a while more than that, as in `await_free`.
            let free = free + (turn - free) / 4;
            self.await_neighbours(free);
            run.near.set(free);
        }
    }

    fn await_neighbours(&self, turn: u64) {
        let lines = self.lines;
        let missing = || self.branch.neighbours.iter().filter(|&&rank| !lines.areas[rank].reached(turn));
        lines.wait_for(self.adi, || missing().next().is_none(), || missing().map(|&rank| lines.procs[rank]));
    }

    /// Waits until these have reached `turn`, the last one, and looks whether they agree. It looks at all of them each time, so that their
    /// lines come side by side.
    ///
    /// Two that wait for each other in different calls would wait for ever. So who waits long says in which call it does, and one of a
    /// circle finds that its neighbour's is another one.
    fn hear(&mut self, who: &[usize], turn: u64) {
        let lines = self.lines;
        let missing = || who.iter().filter(|&&rank| !lines.areas[rank].reached(turn));
        let (mut looks, mut begun, mut says, mut elsewhere) = (0u32, None, false, None);
        let done = || {
            if missing().count() == 0 {
                return true;
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(GLANCES) && begun.get_or_insert_with(Instant::now).elapsed() > PATIENT {
                if !std::mem::replace(&mut says, true) {
                    self.say_what_waits(turn);
                }
                elsewhere = missing().copied().find(|&rank| self.waits_elsewhere(rank, turn));
            }
            elsewhere.is_some()
        };
        lines.wait_for(self.adi, done, || missing().map(|&rank| lines.procs[rank]));
        match elsewhere {
            Some(rank) => self.dissenter = Some(rank),
            None => who.iter().for_each(|&rank| self.look_at(rank, turn)),
        }
    }

    /// Says in which call this member waits, unless it has published `turn` already, which says it.
    #[cold]
    fn say_what_waits(&self, turn: u64) {
        let (lines, area) = (self.lines, &self.lines.areas[self.lines.me]);
        if !area.reached(turn) {
            let before = area.label(turn - 1);
            area.publish(turn - 1, waiting_inside(before, self.call as u8, self.branch.way()));
            // A member that has refused the call may wait for it, too.
            lines.ring_all(self.adi);
        }
    }

    /// Whether `rank`, which has not published `turn`, waits in another call than this one.
    fn waits_elsewhere(&self, rank: usize, turn: u64) -> bool {
        let area = &self.lines.areas[rank];
        let (before, own) = (turn - 1, self.lines.own(turn - 1).get());
        let label = area.reached(before).then(|| area.label(before)).filter(|&label| is_of_turn(label, own));
        label.and_then(waits_inside).is_some_and(|inside| inside != (self.call as u8, self.branch.way()))
    }

    /// A top waits for the others, in a turn up that it has published.
    fn hear_tops(&mut self, turn: u64) {
        let branch = self.branch.clone();
        if self.dissenter.is_none() {
            self.hear(&branch.peers, turn);
        }
    }

    /// A turn on the way up: waits for the children, and publishes `len` bytes that `write` fills from what they have published. Gives
    /// the turn.
    fn up(&mut self, label: u64, len: usize, write: impl FnOnce(&Self, &mut [u8])) -> u64 {
        let turn = self.await_children(label);
        self.publish(turn, len, write);
        turn
    }

    /// Takes the next turn as the children have, but does not publish it yet.
    fn await_children(&mut self, label: u64) -> u64 {
        let turn = self.next(label);
        let branch = self.branch.clone();
        if self.dissenter.is_none() {
            self.hear(&branch.up.children, turn);
        }
        turn
    }

    /// A turn on the way down: the root publishes `len` bytes that `fill` writes. The others wait for their parent's, `take` them and publish
    /// them for their children.
    fn down(&mut self, label: u64, len: usize, fill: impl FnOnce(&mut [u8]), take: impl FnOnce(&[u8])) {
        let turn = self.next(label);
        let branch = self.branch.clone();
        let Some(parent) = branch.down.parent else { return self.publish(turn, len, |_, out| fill(out)) };
        let is_leaf = branch.down.children.is_empty();
        if is_leaf {
            // Who has nobody below need not wait: a root that has refused an earlier call sees that this one is made.
            self.publish(turn, 0, |_, _| ());
        }
        if self.dissenter.is_none() {
            self.hear(&[parent], turn);
        }
        if !is_leaf {
            // SAFETY: both hold as many bytes, of different processes.
            self.publish(turn, len, |climb, out| unsafe { give(climb.payload(parent, len).as_ptr(), out, true) });
        }
        if self.dissenter.is_none() {
            take(self.payload(parent, len));
        }
    }

    /// A turn up with a vector, in which each member combines its own with those of its children. The tops have the result at `out` behind it.
    ///
    /// # Safety
    /// `input` holds the vector, and at a top so does `out`; they may be the same memory.
    unsafe fn combine(&mut self, label: u64, vector: &Vector, input: *const u8, out: *mut u8) -> u64 {
        let branch = self.branch.clone();
        let turn = self.await_children(label);
        let combine = |climb: &Self, to: *mut u8| {
            let part = |&child: &usize| climb.payload(child, vector.bytes).as_ptr();
            let (mut so_far, to_copy) = (input, branch.up.children.is_empty());
            for child in &branch.up.children {
                // SAFETY: all hold `elements` elements, and a kernel's output may be an input.
                unsafe { vector.combine(so_far, part(child), to, vector.elements) };
                so_far = to;
            }
            if to_copy && !std::ptr::eq(input, to) {
                // SAFETY: both hold `bytes` bytes, and shared memory never overlaps the program's.
                unsafe { give(input, std::slice::from_raw_parts_mut(to, vector.bytes), true) };
            }
        };
        let is_only_top = branch.up.parent.is_none() && branch.peers.is_empty();
        if is_only_top {
            if self.dissenter.is_none() {
                combine(self, out);
            }
            self.publish(turn, 0, |_, _| ());
        } else {
            self.publish(turn, vector.bytes, |climb, to| combine(climb, to.as_mut_ptr()));
        }
        if !branch.peers.is_empty() {
            self.hear_tops(turn);
            if self.dissenter.is_none() {
                // SAFETY: the caller's promise.
                unsafe { self.combine_tops(vector, out) };
            }
        }
        turn
    }

    /// Combines what the tops have published in the last turn, in their order, so that all of them come to the same.
    ///
    /// # Safety
    /// `out` holds the vector.
    unsafe fn combine_tops(&self, vector: &Vector, out: *mut u8) {
        let part = |top: usize| self.payload(top, vector.bytes).as_ptr();
        let tops = &self.branch.tops;
        // SAFETY: all hold `elements` elements, and a kernel's output may be an input.
        unsafe {
            (vector.kernel)(part(tops[0]), part(tops[1]), out, vector.elements);
            tops[2..].iter().for_each(|&top| (vector.kernel)(out, part(top), out, vector.elements));
        }
    }

    /// A turn down with `len` bytes of the result, which the root has at `out`.
    fn tell_result(&mut self, label: u64, len: usize, out: *mut u8) {
        // SAFETY: the caller's vector holds as many bytes; shared memory never overlaps it.
        let told = |to: &mut [u8]| unsafe { give(out, to, true) };
        // SAFETY: as above.
        self.down(label, len, told, |bytes| unsafe { copy(bytes.as_ptr(), out, len) });
    }

    /// Wakes the neighbours that sleep; and the tops, which may wait to learn what the others call.
    fn ring(&self) {
        let mcm = self.adi.mcm();
        if mcm.anyone_sleeps() {
            let awake = self.branch.neighbours.iter().chain(&self.branch.tops);
            awake.for_each(|&rank| mcm.ring(self.lines.procs[rank]));
        }
    }

    /// The end of an operation that has gone down behind `up`: all members have reached that turn.
    fn meet(self, up: u64) -> Done {
        if self.dissenter.is_none() {
            self.lines.reached.set(up);
            self.lines.compared.set(up);
        }
        self.end()
    }

    /// The end of a reduction to `root`: what others call matters to it alone, as to one that waits for all.
    fn end_reduction(self, root: Option<usize>) -> Done {
        match root == Some(self.lines.me) {
            true => self.end(),
            false => {
                if self.dissenter.is_some() {
                    self.note_told();
                }
                self.earlier
            }
        }
    }

    /// The end: what all lines tell, if a neighbour did not agree.
    fn end(self) -> Done {
        let Some(rank) = self.dissenter else { return self.earlier };
        let reason = self.reason(rank);
        self.note_told();
        self.earlier.and(reason)
    }

    /// What is told once is not told again.
    fn note_told(&self) {
        self.lines.compared.set(self.lines.turn.get());
    }

    /// Why `neighbour` does not agree: what somebody has called in one of the turns, or in one of the block before them.
    #[cold]
    fn reason(&self, neighbour: usize) -> Done {
        let lines = self.lines;
        let there = |turn: u64| lines.others(lines.me).filter(move |&rank| lines.areas[rank].reached(turn));
        let wrong = |turn: u64| there(turn).filter_map(move |rank| lines.check(rank, turn).err());
        let own =
            (self.before + 1..=lines.turn.get()).flat_map(wrong).find(|wrong| !matches!(wrong, Mismatch::Lost { .. }));
        let before = || (self.untold()..=self.before).flat_map(wrong).find(|wrong| !is_forgotten(wrong));
        Err(own.or_else(before).unwrap_or(Mismatch::Operation { rank: neighbour }))
    }
}

/// What became of an earlier operation is for those alone that waited for its data.
fn is_forgotten(wrong: &Mismatch) -> bool {
    matches!(wrong, Mismatch::Lost { .. } | Mismatch::Refused { .. })
}
