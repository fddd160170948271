//! Which sends may have matched which receives (TERN_CHECK): logical clocks, and races of messages.
//!
//! Each process counts its messages, and a message carries the count of its sender, of which a receiver takes the larger one
//! (Lamport's clocks). A message whose count is no larger than that of the receiver at an earlier receive does not follow from
//! that receive. If that receive would have taken it as well, then only time has decided which of two messages it got.
//!
//! A race is told if it matters: if the later receive would not have taken the message of the earlier one in exchange.

use crate::check::ready;
use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG};
use crate::guarded::Guarded;
use crate::observe;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use tern_adi::{Pattern, Status};

/// The largest count that a message can carry; 0 says that the count is not known.
pub const LAST: u64 = (1 << 23) - 1;

/// So many receives are remembered.
const KEPT: usize = 256;

/// So many races are told.
const TOLD: u32 = 5;

/// A receive as it was posted.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    pattern: Option<Pattern>,
    number: u64,
    pub function: &'static str,
    /// Its message has come before.
    pub waited: bool,
}

/// A receive from any source that has got its message.
struct Wild {
    posted: Posted,
    message: (i32, i32),
    clock: u64,
    /// Sources whose first message after it has been looked at.
    seen: Vec<i32>,
}

#[derive(Default)]
struct Receives {
    wild: VecDeque<Wild>,
    ended: VecDeque<(Posted, (i32, i32))>,
}

/// Of this process.
struct State {
    clock: Cell<u64>,
    /// Something has happened that no clock follows: what this process sends follows from more than its clock says.
    unsure: Cell<bool>,
    /// The same, and not even a collective of all makes up for it.
    lost: Cell<bool>,
    /// Counts collectives: two processes with one phase have not met between.
    phase: Cell<u64>,
    /// Since the last collective this process may have learned by other ways what another one has done.
    informed: Cell<bool>,
    posted: Cell<u64>,
    told: Cell<u32>,
    receives: RefCell<Option<Receives>>,
}

static STATE: Guarded<State> = Guarded::new(State {
    clock: Cell::new(0),
    unsure: Cell::new(false),
    lost: Cell::new(false),
    phase: Cell::new(0),
    informed: Cell::new(false),
    posted: Cell::new(0),
    told: Cell::new(0),
    receives: RefCell::new(None),
});

/// What a message carries that is sent now.
pub fn stamp() -> u32 {
    let state = STATE.get();
    state.clock.set(state.clock.get() + 1);
    let known = !state.unsure.get() && !state.lost.get() && state.clock.get() <= LAST;
    if known { state.clock.get() as u32 } else { 0 }
}

/// A receive is being posted.
pub fn posted(pattern: Option<Pattern>) -> Posted {
    let state = STATE.get();
    state.posted.set(state.posted.get() + 1);
    Posted { pattern, number: state.posted.get(), function: observe::function(), waited: ready::waits(pattern) }
}

/// A call of `function` begins: does it tell the program of others in a way that no clock follows?
pub fn called(function: &str) {
    let lasting =
        ["MPI_File_", "MPI_Comm_spawn", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join", "MPI_Lookup_name"];
    let shared =
        ["MPI_Win_lock_all", "MPI_Win_allocate_shared", "MPI_Precv_init", "MPI_Win_sync", "MPI_Intercomm_create"];
    let brief = ["MPI_Win_lock", "MPI_Win_start", "MPI_Win_wait", "MPI_Win_test", "MPI_Win_flush"];
    let state = STATE.get();
    let is = |names: &[&str]| names.iter().any(|name| function.starts_with(name));
    if is(&lasting) || is(&shared) {
        state.lost.set(true);
    } else if is(&brief) {
        state.unsure.set(true);
    }
    if is(&lasting) || function.starts_with("MPI_Win_sync") || function.starts_with("MPI_Parrived") {
        state.informed.set(true);
    }
}

/// The clock and the phase of this process, for the members of a collective.
pub fn now() -> (u64, u64) {
    (STATE.get().clock.get(), STATE.get().phase.get())
}

/// The members of a collective have met; these are the largest clock and phase of them. `all`: nobody else is there.
pub fn met((clock, phase): (u64, u64), all: bool) {
    let state = STATE.get();
    state.clock.set(state.clock.get().max(clock) + 1);
    state.phase.set(state.phase.get().max(phase) + 1);
    if all {
        state.unsure.set(false);
        state.informed.set(false);
    }
}

/// The phase, while nothing but collectives can have told this process of others.
pub fn phase() -> Option<u64> {
    let state = STATE.get();
    (!state.informed.get()).then(|| state.phase.get())
}

/// This process may have learned what another one has done.
pub fn informed() {
    STATE.get().informed.set(true);
}

fn takes(pattern: &Pattern, (source, tag): (i32, i32)) -> bool {
    (pattern.source == MPI_ANY_SOURCE || pattern.source == source) && (pattern.tag == MPI_ANY_TAG || pattern.tag == tag)
}

/// A receive has got a message that carries `stamp`.
pub fn received(posted: Posted, status: &Status, stamp: u32) {
    let state = STATE.get();
    state.informed.set(true);
    let mut receives = state.receives.borrow_mut();
    let receives = receives.get_or_insert_default();
    let races = posted.pattern.map_or_else(Vec::new, |pattern| {
        let message = (status.source, status.tag);
        receives.end(&posted, &pattern, message, u64::from(stamp), state.clock.get().max(stamp.into()) + 1)
    });
    if stamp == 0 {
        state.unsure.set(true);
    }
    state.clock.set(state.clock.get().max(stamp.into()) + 1);
    for race in races {
        state.told.set(state.told.get() + 1);
        if state.told.get() <= TOLD {
            tern_settings::warn!("race: {race}");
        }
    }
}

impl Receives {
    /// The races that the end of a receive shows. `clock`: that of this process, when the message is counted.
    fn end(&mut self, posted: &Posted, pattern: &Pattern, message: (i32, i32), stamp: u64, clock: u64) -> Vec<String> {
        let mut races = Vec::new();
        for wild in &mut self.wild {
            let Some(before) = wild.posted.pattern.filter(|before| before.context == pattern.context) else { continue };
            let other = message.0 != wild.message.0 && !wild.seen.contains(&message.0);
            if wild.posted.number > posted.number || !other || !takes(&before, message) {
                continue;
            }
            wild.seen.push(message.0);
            if (1..=wild.clock).contains(&stamp) && !takes(pattern, wild.message) {
                races.push(race(&wild.posted, wild.message, posted, message));
            }
        }
        if pattern.source == MPI_ANY_SOURCE {
            let mut seen = vec![message.0];
            // Those that were posted later and have ended before.
            for (later, theirs) in &self.ended {
                let Some(after) = later.pattern.filter(|after| after.context == pattern.context) else { continue };
                if later.number < posted.number || seen.contains(&theirs.0) || !takes(pattern, *theirs) {
                    continue;
                }
                seen.push(theirs.0);
                if !takes(&after, message) {
                    races.push(race(posted, message, later, *theirs));
                }
            }
            self.wild.push_back(Wild { posted: *posted, message, clock, seen });
        }
        self.ended.push_back((*posted, message));
        if self.wild.len() > KEPT {
            self.wild.pop_front();
        }
        if self.ended.len() > KEPT {
            self.ended.pop_front();
        }
        races
    }
}

fn race(first: &Posted, got: (i32, i32), second: &Posted, message: (i32, i32)) -> String {
    let asked = |posted: &Posted| {
        let Pattern { source, tag, .. } = posted.pattern.unwrap_or(Pattern { context: 0, source: 0, tag: 0 });
        let source = if source == MPI_ANY_SOURCE { "MPI_ANY_SOURCE".into() } else { source.to_string() };
        let tag = if tag == MPI_ANY_TAG { "MPI_ANY_TAG".into() } else { tag.to_string() };
        format!("{} (source {source}, tag {tag})", posted.function)
    };
    format!(
        "{} has got the message of rank {} with tag {}, but could have got that of rank {} with tag {}, which has come to the \
         later {}; that one does not take the other message, and would wait for ever",
        asked(first),
        got.0,
        got.1,
        message.0,
        message.1,
        asked(second)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(number: u64, source: i32, tag: i32) -> Posted {
        Posted { pattern: Some(Pattern { context: 4, source, tag }), number, function: "MPI_Recv", waited: false }
    }

    fn end(receives: &mut Receives, posted: Posted, message: (i32, i32), stamp: u64, clock: u64) -> usize {
        receives.end(&posted, &posted.pattern.unwrap(), message, stamp, clock).len()
    }

    #[test]
    fn a_message_that_does_not_follow_from_a_wild_receive_races_with_it() {
        let mut receives = Receives::default();
        assert_eq!(end(&mut receives, posted(1, MPI_ANY_SOURCE, MPI_ANY_TAG), (2, 7), 1, 2), 0);
        assert_eq!(end(&mut receives, posted(2, 0, MPI_ANY_TAG), (0, 7), 1, 3), 1);
    }

    #[test]
    fn an_answer_does_not_race_nor_what_is_taken_either_way() {
        for (source, tag, message, stamp) in
            [(0, 7, (0, 7), 3), (MPI_ANY_SOURCE, 7, (0, 7), 1), (0, 8, (0, 8), 1), (0, 7, (0, 7), 0)]
        {
            let mut receives = Receives::default();
            assert_eq!(end(&mut receives, posted(1, MPI_ANY_SOURCE, 7), (2, 7), 1, 2), 0);
            assert_eq!(end(&mut receives, posted(2, source, tag), message, stamp, 3), 0, "{message:?} {stamp}");
        }
    }

    #[test]
    fn only_the_first_message_of_a_source_counts() {
        let mut receives = Receives::default();
        end(&mut receives, posted(1, MPI_ANY_SOURCE, MPI_ANY_TAG), (2, 7), 1, 2);
        assert_eq!(end(&mut receives, posted(2, MPI_ANY_SOURCE, MPI_ANY_TAG), (0, 1), 1, 3), 0);
        // The rest of what rank 0 has sent, which is asked for by name.
        assert_eq!(end(&mut receives, posted(3, 0, 2), (0, 2), 2, 4), 0);
    }

    #[test]
    fn receives_may_end_in_another_order_than_they_were_posted() {
        let mut receives = Receives::default();
        assert_eq!(end(&mut receives, posted(2, 0, 7), (0, 7), 1, 2), 0);
        assert_eq!(end(&mut receives, posted(1, MPI_ANY_SOURCE, 7), (2, 7), 1, 3), 1);
    }
}
