//! How the lock of one member, and that of all members, are taken by changes of words that the card makes: a plain state
//! machine, which says what to change next and is told what was there.
//!
//! It is what [`crate::words`] does on a node, in as few steps as a network allows: one for a shared lock and for one of all
//! members, two for an exclusive one. Who shares adds itself and goes back if somebody has it alone. So words
//! may show for a moment some who have nothing, and nobody may store a value that does not count them.
//!
//! Who wants a lock alone and does not get it *announces* that, so that those who come to share it do not pass for
//! ever: they find it taken. It takes the announcement back for a while now and then, since one who shares the lock may
//! wait for another that wants to share it.

use std::sync::atomic::AtomicU64;

/// What the card changes at a member.
#[repr(C, align(64))]
pub struct Words {
    /// The lock of the member's memory; at the first member also that of the whole window.
    pub lock: AtomicU64,
    pub home: AtomicU64,
    /// Accumulates are made by one process at a time while it is 1.
    pub guard: AtomicU64,
}

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    Lock,
    /// Of the whole window.
    Home,
    Guard,
}

/// How a word is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    Add(u64),
    Swap { compare: u64, swap: u64 },
}

/// Of a member's word: somebody has it alone. Of the window's word: so many have a member alone, times this.
const ALONE: u64 = 1 << 32;
/// Of both words: so many wait to have it alone, times this.
const WAITING: u64 = 1 << 48;
const NOT_WAITING: u64 = WAITING.wrapping_neg();
const NOT_ALONE: u64 = ALONE.wrapping_neg();
const NOT_ONE: u64 = 1_u64.wrapping_neg();

/// A lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Shared,
    Alone,
    /// Of all members, shared.
    All,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Change this word, and tell what was there.
    Change(Which, Change),
    Taken,
    /// Somebody has it; nothing is left of the attempt.
    Busy,
}

/// What is done to take a lock: an attempt, and others after it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Taking {
    kind: Kind,
    /// How far the attempt is.
    done: u8,
    /// What is to be taken back, the last first.
    back: [Option<(Which, Change)>; 2],
    fails: bool,
    /// The words are to say that this process waits; and whether they do.
    announces: bool,
    announced: bool,
    /// How many waited for the member, when its word was last seen.
    waiting: u64,
    /// What the word said by which the attempt failed.
    busy: u64,
}

impl Taking {
    pub fn new(kind: Kind) -> Taking {
        Taking { kind, done: 0, back: [None; 2], fails: false, announces: false, announced: false, waiting: 0, busy: 0 }
    }

    /// Begins another attempt, after one that found the lock busy. `announces`: nobody shall come to share it meanwhile.
    pub fn again(&mut self, announces: bool) {
        (self.done, self.back, self.fails, self.busy) = (0, [None; 2], false, 0);
        self.announces = announces && self.kind == Kind::Alone;
    }

    /// The next step; `was` is what the last change has found.
    pub fn next(&mut self, was: u64) -> Step {
        if !self.fails {
            let step = self.forward(was);
            if !self.fails {
                self.done += 1;
                return step;
            }
            self.busy = was;
        }
        match self.back.iter_mut().find_map(Option::take) {
            Some((which, change)) => Step::Change(which, change),
            None => Step::Busy,
        }
    }

    /// How others had the lock when the attempt failed: alone, shared. Neither is so where they only waited for it.
    pub fn is_held(&self) -> (bool, bool) {
        (self.busy % WAITING >= ALONE, !self.busy.is_multiple_of(ALONE))
    }

    fn forward(&mut self, was: u64) -> Step {
        match (self.kind, self.done) {
            (Kind::Shared, 0) => Step::Change(Which::Lock, Change::Add(1)),
            (Kind::All, 0) => Step::Change(Which::Home, Change::Add(1)),
            (Kind::Shared | Kind::All, _) => {
                let which = if self.kind == Kind::All { Which::Home } else { Which::Lock };
                (self.fails, self.back) = (was >= ALONE, [Some((which, Change::Add(NOT_ONE))), None]);
                Step::Taken
            }
            (Kind::Alone, 0) if self.announces != self.announced => Step::Change(Which::Home, self.announcement()),
            (Kind::Alone, 1) => Step::Change(Which::Lock, self.announcement()),
            (Kind::Alone, at @ (0 | 2)) => {
                if at == 2 {
                    self.announced = self.announces;
                    self.waiting = was / WAITING;
                    self.waiting = if self.announced { self.waiting + 1 } else { self.waiting - 1 };
                }
                self.done = 2;
                let rest = (self.waiting - u64::from(self.announced)) * WAITING;
                Step::Change(Which::Lock, Change::Swap { compare: self.waiting * WAITING, swap: rest + ALONE })
            }
            (Kind::Alone, 3) => {
                self.fails = was != self.waiting * WAITING;
                self.waiting = was / WAITING;
                let more = if self.announced { ALONE.wrapping_sub(WAITING) } else { ALONE };
                // The member's word counts this process no more.
                self.announced &= self.fails;
                Step::Change(Which::Home, Change::Add(more))
            }
            (Kind::Alone, _) => {
                let undo = Change::Add(NOT_ALONE);
                (self.fails, self.back) =
                    (!was.is_multiple_of(ALONE), [Some((Which::Home, undo)), Some((Which::Lock, undo))]);
                self.waiting = 0;
                Step::Taken
            }
        }
    }

    fn announcement(&self) -> Change {
        Change::Add(if self.announces { WAITING } else { NOT_WAITING })
    }
}

/// The changes that give a lock up, in any order.
pub fn give_up(kind: Kind) -> &'static [(Which, Change)] {
    match kind {
        Kind::Shared => &[(Which::Lock, Change::Add(NOT_ONE))],
        Kind::All => &[(Which::Home, Change::Add(NOT_ONE))],
        Kind::Alone => &[(Which::Lock, Change::Add(NOT_ALONE)), (Which::Home, Change::Add(NOT_ALONE))],
    }
}

#[cfg(test)]
mod tests;
