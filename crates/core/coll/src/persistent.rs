//! Persistent collectives inside a node over control lines of their own, which are made when the collective is: each has
//! turns of its own, since members may start persistent collectives in different orders (MPI 5.0, section 6.13).
//!
//! A round is a state machine that goes on whenever its process makes progress, and waits for nobody else's: what is short is
//! published when the round starts, and taken when all have published; what is longer is read where it lies
//! ([`crate::lines::shared`]); what cannot be goes as messages, as if there were no lines.
//!
//! ```text
//! Done ─ start ─┬─ short ──────────────────────────────────────────┬─ all are there: take ─ Done
//!               ├─ Places ─ all are there ─┬─ shared: read ─ Ending ┴─ all could ─ Done
//!               │                          └─ not: short, or Messages
//!               └─ Messages ─ Done
//! ```

mod areas;
mod what;

pub use areas::Areas;
pub use what::What;

use crate::group::Group;
use crate::lines::declared::{Bare, declare};
use crate::lines::shared::{Job, Told};
use crate::lines::{Lines, Mismatch};
use crate::operation::{Failure, Operation};
use crate::round::Round;
use std::cell::Cell;
use std::rc::Rc;
use tern_adi::Adi;
use tern_policy::collective::CollWay;

/// How far a round has come. The numbers are turns that all are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Done,
    /// What this member gives is published.
    Short(u64),
    /// Where it lies is told; whether it is there still, and [`Adi::demotions`] before.
    Places(u64, bool, u32),
    /// The own share of a reduction to all is combined. Also where the places were told.
    Combined(u64, u64),
    /// All is read.
    Ending(u64),
    Messages,
}

impl Phase {
    /// The others may look at this member's memory.
    fn is_looked_at(self) -> bool {
        matches!(self, Phase::Places(..) | Phase::Combined(..) | Phase::Ending(_))
    }
}

/// Why a round failed.
#[derive(Clone, Copy, Debug)]
pub enum Wrong {
    Mismatch(Mismatch),
    Failure(Failure),
}

/// A persistent collective over lines of its own.
pub struct Repeated {
    lines: Rc<Lines>,
    what: What,
    /// The same by messages.
    messages: Rc<Operation>,
    phase: Cell<Phase>,
    /// This round goes over the lines where it is not read in place.
    short: Cell<bool>,
    mismatch: Cell<Option<Mismatch>>,
    /// Own memory that is declared to the kernel's module, while the others may look at it.
    exposed: Cell<[Option<Bare>; 2]>,
    areas: Rc<Areas>,
}

impl Repeated {
    /// All members make it at the same time, and either all of them get lines or none does.
    pub(crate) fn new(
        adi: &Adi, main: &Lines, group: &Group, areas: &Rc<Areas>, what: What, messages: &Rc<Operation>,
    ) -> Option<Repeated> {
        let lines = Rc::new(areas.open(adi, main, group)?);
        let (phase, mismatch, exposed) = (Cell::new(Phase::Done), Cell::new(None), Cell::default());
        let short = Cell::new(false);
        Some(Repeated {
            lines,
            what,
            messages: messages.clone(),
            phase,
            short,
            mismatch,
            exposed,
            areas: areas.clone(),
        })
    }

    /// What went wrong in the last round, to be asked when it is done.
    pub fn wrong(&self) -> Option<Wrong> {
        let mismatch = self.mismatch.get().map(Wrong::Mismatch);
        mismatch.or_else(|| self.messages.failure().map(Wrong::Failure))
    }

    fn enter(&self, adi: &Adi, phase: Phase) {
        let before = self.phase.replace(phase).is_looked_at();
        if before != phase.is_looked_at() {
            adi.keep_places(phase.is_looked_at());
            if before {
                self.cover(adi);
            }
        }
    }

    fn cover(&self, adi: &Adi) {
        self.exposed.take().into_iter().flatten().for_each(|exposed| exposed.cover(adi));
    }

    /// Begins the round by telling where memory lies, if that may pay.
    fn begin(&self, adi: &Adi) -> Result<(), Mismatch> {
        let (kind, len) = self.what.label();
        let demotions = adi.demotions();
        let plan = self.what.plan(&self.lines);
        self.short.set(matches!(plan.last.way, CollWay::Lines { .. }));
        let own = self.what.places(&self.lines);
        let own = &own[..self.what.buffers(&self.lines)];
        if plan.uses_memory {
            self.lines.use_memory(adi, own);
        }
        if plan.first.is_some() {
            let exposed = declare(adi, own);
            self.exposed.set(exposed);
            let cookies = exposed.map(|exposed| exposed.map_or(0, |exposed| exposed.cookie));
            match self.lines.tell_places(adi, Job::new(kind, len), own, None, cookies) {
                Ok(Told { turn, held }) => {
                    self.enter(adi, Phase::Places(turn, held, demotions));
                    return Ok(());
                }
                Err(mismatch) => {
                    self.cover(adi);
                    return Err(mismatch);
                }
            }
        }
        self.begin_otherwise(adi)
    }

    /// Begins the round in a way that is always possible.
    fn begin_otherwise(&self, adi: &Adi) -> Result<(), Mismatch> {
        if self.short.get() {
            self.enter(adi, Phase::Short(self.what.give(adi, &self.lines)?));
        } else {
            self.enter(adi, Phase::Messages);
            self.messages.start();
        }
        Ok(())
    }

    /// Does what can be done when all members have come to the turn that the phase waits for.
    fn go_on(&self, adi: &Adi, phase: Phase) -> Result<(), Mismatch> {
        let (lines, what) = (&self.lines, &self.what);
        let (kind, len) = what.label();
        let say = |good: bool| lines.say(adi, Job::new(kind, len), good);
        match phase {
            Phase::Done | Phase::Messages => {}
            Phase::Short(turn) => {
                what.take(lines, turn);
                self.enter(adi, Phase::Done);
            }
            Phase::Places(turn, held, demotions) => {
                if !lines.is_shared(kind, turn, what.buffers(lines)) {
                    return self.begin_otherwise(adi);
                }
                let good = held && what.read(adi, lines, turn);
                let combined = what.buffers(lines) == 2;
                // The process may have forked since, so that others do not see the share that was stored.
                let seen = !combined || adi.demotions() == demotions;
                let next = say(good && seen)?;
                self.enter(adi, if combined { Phase::Combined(next, turn) } else { Phase::Ending(next) });
            }
            Phase::Combined(turn, places) => {
                if !lines.all_could(turn) {
                    return self.begin_otherwise(adi);
                }
                self.enter(adi, Phase::Ending(say(what.read_rest(adi, lines, places))?));
            }
            Phase::Ending(turn) => {
                if !lines.all_could(turn) {
                    return self.begin_otherwise(adi);
                }
                tern_counters::COLLECTIVE_SHARED.add(1);
                self.enter(adi, Phase::Done);
            }
        }
        Ok(())
    }

    /// The round goes no further on this side.
    fn settle(&self, adi: &Adi, done: Result<(), Mismatch>) {
        if let Err(mismatch) = done {
            self.mismatch.set(Some(mismatch));
            self.enter(adi, Phase::Done);
        }
    }
}

impl Round for Repeated {
    fn start(&self, adi: &Adi) {
        debug_assert!(self.is_done(), "started while active");
        self.mismatch.set(None);
        self.settle(adi, self.begin(adi));
        self.lines.ring_all(adi);
    }

    fn advance(&self, adi: &Adi) -> bool {
        loop {
            let phase = self.phase.get();
            match phase {
                Phase::Done => return true,
                Phase::Messages => {
                    // As a round of its own, beside the program.
                    if Round::advance(&*self.messages, adi) {
                        self.phase.set(Phase::Done);
                    }
                    return self.is_done();
                }
                Phase::Short(turn) | Phase::Places(turn, ..) | Phase::Combined(turn, _) | Phase::Ending(turn) => {
                    match self.lines.have_all(turn) {
                        None => return false,
                        Some(agreed) => self.settle(adi, agreed.and_then(|()| self.go_on(adi, phase))),
                    }
                    self.lines.ring_all(adi);
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.phase.get() == Phase::Done
    }

    fn step(&self) -> usize {
        match self.phase.get() {
            Phase::Messages => self.messages.step(),
            Phase::Done => 0,
            Phase::Short(turn) | Phase::Places(turn, ..) | Phase::Combined(turn, _) | Phase::Ending(turn) => {
                turn as usize
            }
        }
    }
}

impl Drop for Repeated {
    fn drop(&mut self) {
        self.areas.close(&self.lines);
    }
}
