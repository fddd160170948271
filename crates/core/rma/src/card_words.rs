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
//!
//! A member's word names who has it alone, by rank: whoever finds it taken can tell the user who that is.

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

/// Bits of each of the three parts of a word: as many processes as a window has at most.
const BITS: u32 = 21;
/// Of a member's word: one more than the rank of who has it alone, times this. Of the window's word: so many have a member alone.
/// What is below counts those who share.
const ALONE: u64 = 1 << BITS;
/// Of both words: so many wait to have it alone, times this.
const WAITING: u64 = 1 << (2 * BITS);
const NOT_WAITING: u64 = WAITING.wrapping_neg();
const NOT_ALONE: u64 = ALONE.wrapping_neg();
/// Most processes of a window that the words can count and name.
pub const MOST: u64 = (1 << BITS) - 2;
const NOT_ONE: u64 = 1_u64.wrapping_neg();

/// How somebody had a lock that was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The process of that rank had the member alone.
    Owner(u32),
    /// Somebody had some member alone.
    SomeOwner,
    /// Others shared what this word is of: one member, or all.
    Shared(Which),
    /// Nobody had it: others waited.
    Awaited,
}

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
    /// What the member's word gets where this process has it alone.
    alone: u64,
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
    /// The word by which the attempt failed, and what it said.
    busy: Option<(Which, u64)>,
}

impl Taking {
    /// Of the process with rank `me` in the window.
    pub fn new(kind: Kind, me: u32) -> Taking {
        let (alone, back) = (named(me), [None; 2]);
        Taking { kind, alone, done: 0, back, fails: false, announces: false, announced: false, waiting: 0, busy: None }
    }

    /// Begins another attempt, after one that found the lock busy. `announces`: nobody shall come to share it meanwhile.
    pub fn again(&mut self, announces: bool) {
        (self.done, self.back, self.fails, self.busy) = (0, [None; 2], false, None);
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
            self.busy = Some((self.decisive(), was));
        }
        match self.back.iter_mut().find_map(Option::take) {
            Some((which, change)) => Step::Change(which, change),
            None => Step::Busy,
        }
    }

    /// How others had the lock when the attempt failed.
    pub fn found(&self) -> Found {
        match self.busy {
            Some((Which::Lock, was)) if owner(was).is_some() => Found::Owner(owner(was).unwrap_or_default()),
            Some((Which::Home, was)) if was % WAITING >= ALONE => Found::SomeOwner,
            Some((which, was)) if !was.is_multiple_of(ALONE) => Found::Shared(which),
            _ => Found::Awaited,
        }
    }

    /// The word by which the attempt has just failed.
    fn decisive(&self) -> Which {
        match (self.kind, self.done) {
            (Kind::Shared, _) | (Kind::Alone, 3) => Which::Lock,
            _ => Which::Home,
        }
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
                Step::Change(Which::Lock, Change::Swap { compare: self.waiting * WAITING, swap: rest + self.alone })
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
                let (home, lock) = (Change::Add(NOT_ALONE), Change::Add(self.alone.wrapping_neg()));
                (self.fails, self.back) =
                    (!was.is_multiple_of(ALONE), [Some((Which::Home, home)), Some((Which::Lock, lock))]);
                self.waiting = 0;
                Step::Taken
            }
        }
    }

    fn announcement(&self) -> Change {
        Change::Add(if self.announces { WAITING } else { NOT_WAITING })
    }
}

/// The changes by which the process of rank `me` gives a lock up, in any order.
pub fn give_up(kind: Kind, me: u32) -> impl Iterator<Item = (Which, Change)> {
    let (first, second) = match kind {
        Kind::Shared => ((Which::Lock, NOT_ONE), None),
        Kind::All => ((Which::Home, NOT_ONE), None),
        Kind::Alone => ((Which::Lock, named(me).wrapping_neg()), Some((Which::Home, NOT_ALONE))),
    };
    [first].into_iter().chain(second).map(|(which, add)| (which, Change::Add(add)))
}

/// What a member's word has more while the process of rank `me` has it alone.
fn named(me: u32) -> u64 {
    debug_assert!(u64::from(me) < MOST);
    (u64::from(me) + 1) * ALONE
}

/// The rank of who has a member alone, or takes it so at this moment, by what the member's word says.
pub fn owner(word: u64) -> Option<u32> {
    (word % WAITING / ALONE).checked_sub(1).map(|rank| rank as u32)
}

#[cfg(test)]
mod tests;
