//! Calls that are refused at some members only, for their arguments there.
//!
//! A refused call changes nothing. So its member cannot tell whether the others have made the call too: then they wait for it
//! there, and it has to take part, as one that has refused; or whether they have not (one member alone has made a mistake and
//! goes on). It learns that at its next collective, before it takes a turn: it waits until some member has taken the turn that
//! comes next, and looks what for.
//!
//! - Another member takes the turn for what was refused: this one takes the turn too, with a label that says so, and looks again
//!   with the next turn. Who sees that label fails; who has no need of this member's part does not.
//! - Another member takes it for the call that this one makes now, or anything else: nobody misses this one in a refused call.
//! - All members wait in this way, and tell how many calls they have refused, and what they call next. If all have refused as many,
//!   these were the same. If one has refused fewer, its next call is the one that others have refused behind those.
//!
//! A call that is refused and then made with right arguments is taken to be made once: it looks the same as one that the others
//! make twice.
//!
//! For this, collectives that go by messages take a turn as well ([`Lines::note`]), without waiting. Nothing of it costs anything
//! where no call is refused, except that turn: a store beside messages.

use super::label::{
    BYTES, END, Kind, MORE, ROOT, is_end, is_of_turn, label, parts, plain, refused, stamped, waiting, waits,
    waits_inside,
};
use super::{Done, Lines};
pub use crate::calls::Call;
use crate::group::Group;
use crate::tags::CallKind;
use tern_adi::Adi;
use tern_mcm::DEPTH;
use tern_policy::collective::{CollWay, Collective, InPlace, Shape, collective, longest_part};

/// As what it takes turns, if not as messages.
fn kind_of(call: Call) -> Option<Kind> {
    Some(match call {
        Call::Barrier => Kind::Barrier,
        Call::Bcast => Kind::Bcast,
        Call::Gather => Kind::Gather,
        Call::Scatter => Kind::Scatter,
        Call::Allgather => Kind::Allgather,
        Call::Alltoall => Kind::Alltoall,
        Call::Reduce => Kind::Reduce,
        Call::Allreduce => Kind::Allreduce,
        Call::Scan | Call::Exscan => Kind::Scan,
        Call::ReduceScatterBlock => Kind::ReduceScatter,
        Call::Make | Call::Finalize => Kind::Tell,
        _ => return None,
    })
}

/// A call with what all members know of it: the root, and the bytes of a block or vector where all have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub call: Call,
    pub root: u32,
    pub bytes: usize,
}

/// Lengths of what goes by messages are told in units of so many bytes, as a power of two.
const UNIT: u32 = 13;
/// Bits of a call's number.
const CALL: u32 = 8;

impl Known {
    /// MPI_Finalize, as [`Lines::meet_at_the_end`] takes its turn.
    pub const END: Known = Known { call: Call::Finalize, root: 0, bytes: END };

    fn label(&self) -> u64 {
        label(Kind::Messages, self.root, self.call as usize | (self.bytes >> UNIT).min(0xffff) << CALL)
    }

    /// Whether a member that has published `theirs` may have made this very call.
    fn may_be(&self, theirs: u64, longest: usize) -> bool {
        let (kind, root, bytes) = parts(theirs);
        if kind == Kind::Messages as u64 {
            return plain(theirs) == plain(self.label());
        }
        let exclusive = u32::from(self.call == Call::Exscan);
        let root_is = if kind == Kind::Scan as u64 { exclusive } else { self.root & ROOT as u32 };
        // In parts, each says what it has.
        let fits = bytes as usize == self.bytes.min(BYTES) || self.bytes > longest;
        is(self.call, theirs) && root == root_is && fits
    }
}

/// Whether `theirs` is of such a call.
fn is(call: Call, theirs: u64) -> bool {
    let (kind, root, bytes) = parts(theirs);
    match kind == Kind::Messages as u64 {
        true => bytes & ((1 << CALL) - 1) == call as u32,
        false if kind == Kind::Scan as u64 => call == if root == 1 { Call::Exscan } else { Call::Scan },
        false if kind == Kind::Tell as u64 => call == if is_end(theirs) { Call::Finalize } else { Call::Make },
        false => kind_of(call).is_some_and(|known| known as u64 == kind),
    }
}

/// Whether a label is of a call, not of its refusal.
fn is_made(label: u64) -> bool {
    parts(label).0 != Kind::Refused as u64
}

/// Turns that a member that does not wait for the others may be ahead of them: its label stays until they have come.
const AHEAD: u64 = DEPTH / 2;

impl Lines {
    /// Takes a turn for a collective that goes by messages, without waiting for the others.
    ///
    /// Errors: of an earlier turn.
    pub fn note(&self, adi: &Adi, known: &Known) -> (u64, Done) {
        let turn = self.next();
        let mut agreed = Ok(());
        if turn > self.reached.get() + AHEAD {
            agreed = self.await_free(adi, turn, turn - AHEAD / 2);
        }
        self.publish(turn, known.label());
        if adi.mcm().anyone_sleeps() {
            // Whoever waits to learn what the others call.
            self.others(self.me)
                .filter(|&rank| self.waits(rank, turn - 1).is_some())
                .for_each(|rank| adi.mcm().ring(self.procs[rank]));
        }
        (turn, agreed)
    }

    /// Whether another member has refused what this one does in `turn`.
    #[inline]
    pub fn has_refused(&self, rank: usize, turn: u64) -> bool {
        let area = &self.areas[rank];
        rank != self.me && area.reached(turn) && {
            let theirs = area.label(turn);
            parts(theirs).0 == Kind::Refused as u64 && is_of_turn(theirs, self.own(turn).get())
        }
    }

    /// What some member has taken `turn` for: best one that has not refused it.
    fn seen(&self, turn: u64) -> Option<u64> {
        let there = || self.others(self.me).filter(|&rank| self.areas[rank].reached(turn));
        let labels = || there().map(|rank| self.areas[rank].label(turn));
        // One that waits inside the call has written over what it was.
        let tells = |&label: &u64| is_made(label) && waits_inside(label).is_none();
        labels().find(tells).or_else(|| labels().find(|&label| is_made(label))).or_else(|| labels().next())
    }

    /// What a member that waits after `turn` has told: how many calls it has refused, and which one it makes next.
    fn waits(&self, rank: usize, turn: u64) -> Option<(usize, u8)> {
        let area = &self.areas[rank];
        area.reached(turn)
            .then(|| area.label(turn))
            .filter(|&label| is_of_turn(label, self.own(turn).get()))
            .and_then(waits)
    }

    /// Whether a member waits inside a call after `turn`.
    fn waits_inside(&self, rank: usize, turn: u64) -> bool {
        self.waits(rank, turn).is_some() && waits_inside(self.areas[rank].label(turn)).is_some()
    }

    /// Whether all wait after `turn`.
    fn all_wait(&self, turn: u64) -> bool {
        (0..self.areas.len()).all(|rank| self.waits(rank, turn).is_some())
    }

    /// Where all wait after `turn`: which of the calls that this member has refused another one is about to make.
    fn made_by_fewest(&self, turn: u64, refused: &[Call]) -> Option<usize> {
        let fewest = (0..self.areas.len()).filter_map(|rank| self.waits(rank, turn)).min_by_key(|&(count, _)| count);
        let (count, next) = fewest?;
        refused.get(count).is_some_and(|&call| call as u8 == next).then_some(count)
    }

    /// Before a collective of a member that has refused some since the last: takes part in those that the others have made.
    #[cold]
    pub fn settle(&self, adi: &Adi, peers: &Group, next: &Known) {
        let mut refused = peers.refused.take();
        while !refused.is_empty() {
            let last = self.turn.get();
            let area = &self.areas[self.me];
            area.publish(last, waiting(area.label(last), refused.len(), next.call as u8));
            self.ring_all(adi);
            self.wait(adi, || self.seen(last + 1).is_some() || self.all_wait(last));
            if self.all_wait(last) {
                let Some(at) = self.made_by_fewest(last, &refused) else { return };
                refused.drain(..=at);
                if (0..self.areas.len()).any(|rank| self.waits_inside(rank, last)) {
                    self.refuse_unseen(adi);
                    continue;
                }
                self.wait(adi, || self.seen(last + 1).is_some_and(is_made));
                self.refuse(adi, peers, self.seen(last + 1).expect("waited for"));
                continue;
            }
            let theirs = self.seen(last + 1).expect("waited for");
            if let Some((inside, _)) = waits_inside(theirs) {
                let made = refused.iter().position(|&call| call as u8 == inside && call != next.call);
                let Some(at) = made else {
                    refused.retain(|&call| call == next.call && call as u8 == inside);
                    *peers.refused.borrow_mut() = refused;
                    return;
                };
                refused.drain(..=at);
                self.refuse_unseen(adi);
                continue;
            }
            // What others have refused, they have found out to be made.
            let made = refused.iter().position(|&call| !is_made(theirs) || is(call, theirs));
            let Some(at) =
                made.filter(|_| !is_made(theirs) || !next.may_be(theirs, longest_part(self.size(), self.capacity())))
            else {
                // Those of the kind that is made now may have been made, and the others make them once more.
                refused.retain(|&call| call == next.call && is(call, theirs));
                *peers.refused.borrow_mut() = refused;
                return;
            };
            refused.drain(..=at);
            self.refuse(adi, peers, theirs);
        }
    }

    /// Takes part in what the others have taken the next turn for, as one that has refused it.
    fn refuse(&self, adi: &Adi, peers: &Group, mut theirs: u64) {
        let (mut kind, root, mut bytes) = parts(theirs);
        if theirs & MORE != 0 && self.goes_by_tree(kind, bytes as usize) {
            return self.refuse_tree(adi, theirs);
        }
        let root_ends = self.waits_for_root(theirs);
        loop {
            self.refuse_turn(adi, plain(theirs));
            let ends = root_ends && root as usize == self.me;
            if theirs & MORE == 0 || ends {
                break;
            }
            let turn = self.turn.get();
            self.wait(adi, || self.seen(turn + 1).is_some());
            theirs = self.seen(turn + 1).expect("waited for");
            // After a turn in which a root has told of no region, it may go by messages.
            (kind, _, bytes) = parts(theirs);
        }
        if kind == Kind::Messages as u64 {
            let call = (bytes & ((1 << CALL) - 1)) as u8;
            peers.next_tag(call, CallKind::Blocking);
            let len = (bytes >> CALL << UNIT) as usize;
            let known = Call::numbered(call).and_then(kind_of);
            known.into_iter().for_each(|kind| self.pass_by(kind, len));
        } else {
            let kinds =
                [Kind::Allgather, Kind::Alltoall, Kind::Reduce, Kind::Allreduce, Kind::Scan, Kind::ReduceScatter];
            let known = kinds.into_iter().find(|known| *known as u64 == kind);
            known.into_iter().for_each(|kind| self.pass_by(kind, bytes as usize));
        }
    }

    /// Takes part in an operation along a tree, in which the others take all turns: the first one for what `theirs` says. They may wait for this
    /// member's next turn before they take it, so it says first that it has refused that, and learns then what it was for.
    fn refuse_tree(&self, adi: &Adi, mut theirs: u64) {
        let (kind, _, len) = parts(theirs);
        if kind == Kind::Bcast as u64 {
            return self.refuse_bcast(adi, theirs, len as usize, 0);
        }
        self.refuse_turn(adi, plain(theirs));
        while theirs & MORE != 0 {
            theirs = self.refuse_untold(adi);
        }
    }

    /// Takes part in an operation along a tree whose first turn nobody can take before this member does.
    fn refuse_unseen(&self, adi: &Adi) {
        let mut theirs = self.refuse_untold(adi);
        let (kind, _, len) = parts(theirs);
        if kind == Kind::Bcast as u64 {
            return self.refuse_bcast(adi, theirs, len as usize, 1);
        }
        while theirs & MORE != 0 {
            theirs = self.refuse_untold(adi);
        }
    }

    /// Says that it has refused the next turn, whatever it is for, and learns then what it was for.
    fn refuse_untold(&self, adi: &Adi) -> u64 {
        let turn = self.next();
        self.areas[self.me].publish(turn, refused(stamped(0, turn)));
        self.ring_all(adi);
        let told = || self.seen(turn).filter(|&label| is_made(label) && waits_inside(label).is_none());
        self.wait(adi, || told().is_some());
        let theirs = told().expect("waited for");
        self.areas[self.me].publish(turn, refused(self.stamp(turn, plain(theirs))));
        self.compared.set(turn);
        theirs
    }

    /// The same of a broadcast of `len` bytes, which may have more turns than there are cells: those of the others tell it too late, so it goes by
    /// the length. The first `taken` turns are over.
    fn refuse_bcast(&self, adi: &Adi, theirs: u64, len: usize, taken: usize) {
        let shape = Shape::of(len);
        let CollWay::Tree { part } = self.way_without_memory(Collective::Bcast, &shape) else { return };
        let turns = len.max(1).div_ceil(part);
        for at in taken..turns {
            let turn = self.turn.get() + 1;
            if turn > self.reached.get() + AHEAD {
                // What came of an earlier turn counts for those that wait for its data.
                let _ = self.await_free(adi, turn, turn - AHEAD / 2);
            }
            let more = if at + 1 < turns { MORE } else { 0 };
            self.refuse_turn(adi, plain(theirs) & !MORE | more);
        }
    }

    /// The way of such a call, if members read in place no memory of each other.
    fn way_without_memory(&self, what: Collective, shape: &Shape) -> CollWay {
        collective(what, &self.members(), shape, &self.selection, InPlace::Rest).way()
    }

    /// Whether the others wait for the root in the first turn of such a call, and without its part do not go on to the next one.
    fn waits_for_root(&self, theirs: u64) -> bool {
        let (kind, _, bytes) = parts(theirs);
        let known = [Kind::Gather, Kind::Scatter].into_iter().find(|known| *known as u64 == kind);
        kind == Kind::Bcast as u64 || known.is_some_and(|kind| self.tells_of_region(kind, bytes as usize))
    }

    /// Whether a call with such a label goes along a tree.
    fn goes_by_tree(&self, kind: u64, len: usize) -> bool {
        const KINDS: [Kind; 5] = [Kind::Barrier, Kind::Bcast, Kind::Allgather, Kind::Reduce, Kind::Allreduce];
        let known = KINDS.into_iter().find(|known| *known as u64 == kind).and_then(Kind::collective);
        let way = |what: Collective| {
            let shape = if what.reduces() { Shape::of_vectors(len, true) } else { Shape::of(len) };
            self.way_without_memory(what, &shape)
        };
        known.is_some_and(|what| matches!(way(what), CollWay::Tree { .. }))
    }

    /// Whether the root tells of a region first in such a call.
    fn tells_of_region(&self, kind: Kind, len: usize) -> bool {
        kind.collective().is_some_and(|what| self.plan(what, &Shape::of(len)).way() == CollWay::Region)
    }

    /// Takes the next turn, which others take with that label, as one that has refused it.
    fn refuse_turn(&self, adi: &Adi, label: u64) {
        let turn = self.next();
        let stamped = self.stamp(turn, label);
        self.areas[self.me].publish(turn, refused(stamped));
        self.compared.set(turn);
        self.ring_all(adi);
    }

    /// Takes the next turn for a collective that the others make by messages now, and that this member cannot: it has no memory for
    /// its part. Unlike one that finds wrong arguments, it knows what the others call.
    #[cold]
    pub fn refuse_known(&self, adi: &Adi, peers: &Group, known: &Known) {
        let turn = self.turn.get() + 1;
        if turn > self.reached.get() + AHEAD {
            // What came of an earlier turn counts for those that wait for its data.
            let _ = self.await_free(adi, turn, turn - AHEAD / 2);
        }
        self.refuse_turn(adi, plain(known.label()));
        peers.next_tag(known.call as u8, CallKind::Blocking);
    }

    /// The next turn, whatever the others take it for, is one of a call that was refused: this member takes no further one.
    pub fn refuse_next(&self, adi: &Adi) {
        self.refuse_turn(adi, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::ALL;
    use crate::lines::label::END;

    fn known(call: Call, root: u32, bytes: usize) -> Known {
        Known { call, root, bytes }
    }

    #[test]
    fn calls_are_known_by_their_numbers() {
        assert!(ALL.into_iter().all(|call| Call::numbered(call as u8) == Some(call)));
        assert_eq!((Call::numbered(0), Call::numbered(Call::Finalize as u8 + 1)), (None, None));
    }

    #[test]
    fn a_turn_tells_which_call_it_may_be() {
        let reduce = label(Kind::Reduce, 2, 4);
        assert!(is(Call::Reduce, reduce) && !is(Call::Allreduce, reduce));
        assert!(known(Call::Reduce, 2, 4).may_be(reduce, 100));
        assert!(!known(Call::Reduce, 1, 4).may_be(reduce, 100));
        assert!(!known(Call::Reduce, 2, 8).may_be(reduce, 100));
        assert!(known(Call::Reduce, 2, 800).may_be(reduce, 100), "a part");
        let exscan = label(Kind::Scan, 1, 4);
        assert!(is(Call::Exscan, exscan) && !is(Call::Scan, exscan));
        assert!(known(Call::Exscan, 0, 4).may_be(exscan, 100));
    }

    #[test]
    fn the_end_is_no_call_that_makes_something() {
        let end = label(Kind::Tell, 0, END);
        assert!(is(Call::Finalize, end) && !is(Call::Make, end));
        let make = label(Kind::Tell, 0, 112);
        assert!(is(Call::Make, make) && !is(Call::Finalize, make));
    }

    #[test]
    fn who_waits_tells_what_comes_next_and_hides_no_refusal() {
        let published = label(Kind::Bcast, 3, 100);
        assert_eq!(waits(published), None);
        assert_eq!(waits(waiting(published, 2, 7)), Some((2, 7)));
        let no = refused(published | MORE);
        assert!(!is_made(no) && no & MORE != 0);
        assert_eq!(waits(no), None);
        let both = waiting(no, 1, 5);
        assert!(!is_made(both) && both & MORE != 0);
        assert_eq!(waits(both), Some((1, 5)));
    }

    #[test]
    fn what_goes_by_messages_tells_its_call_too() {
        let made = known(Call::Gatherv, 1, 0);
        assert!(is(Call::Gatherv, made.label()) && !is(Call::Gather, made.label()));
        assert!(made.may_be(made.label(), 100));
        let long = known(Call::Bcast, 0, 5 << 20);
        assert!(long.may_be(long.label(), 100));
        assert!(!known(Call::Bcast, 0, 6 << 20).may_be(long.label(), 100));
    }
}
