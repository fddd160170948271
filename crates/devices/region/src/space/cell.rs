//! A question from one process to the owner of a region, to move bytes between the region and the
//! cell's data: the mechanism that needs no permission. In shared memory, begins as zeros.

use super::Cookie;
use tern_atomics::{AtomicU32, AtomicU64, Ordering};

const FREE: u32 = 0;
const ASKED: u32 = 1;
const SERVED: u32 = 2;
const DONE: u32 = 3;

/// What the owner is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    pub cookie: Cookie,
    /// First byte of the region.
    pub offset: u64,
    /// Bytes, at most the cell's data.
    pub len: u32,
    /// From the cell into the region; otherwise the reverse.
    pub write: bool,
}

/// One cell. Its data lies elsewhere; it belongs to whoever the state says: the asker, or while
/// served the owner of the region.
#[repr(C, align(64))]
pub struct Cell {
    state: AtomicU32,
    /// Length, with the direction in the highest bit.
    len: AtomicU32,
    cookie: AtomicU64,
    offset: AtomicU64,
    /// 0, or why not.
    answer: AtomicU32,
}

const WRITE: u32 = 1 << 31;

impl Cell {
    /// Asks. The cell is free, and only its process does this.
    pub fn ask(&self, question: Question) {
        self.len.store(question.len | if question.write { WRITE } else { 0 }, Ordering::Relaxed);
        self.cookie.store(question.cookie.to_bits(), Ordering::Relaxed);
        self.offset.store(question.offset, Ordering::Relaxed);
        // Release: pairs with the acquire in `take`.
        self.state.store(ASKED, Ordering::Release);
    }

    fn question(&self) -> Option<Question> {
        let len = self.len.load(Ordering::Relaxed);
        Some(Question {
            cookie: Cookie::from_bits(self.cookie.load(Ordering::Relaxed))?,
            offset: self.offset.load(Ordering::Relaxed),
            len: len & !WRITE,
            write: len & WRITE != 0,
        })
    }

    /// Takes a question for `member`, if there is one: the data is the taker's until it answers.
    pub fn take(&self, member: u32) -> Option<Question> {
        // Acquire: pairs with the release in `ask`.
        if self.state.load(Ordering::Acquire) != ASKED {
            return None;
        }
        // It may be withdrawn and asked of somebody else until the exchange, which then fails or
        // takes what was asked last; so it is read once more.
        self.question().filter(|question| question.cookie.member() == member)?;
        self.state.compare_exchange(ASKED, SERVED, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let question = self.question().filter(|question| question.cookie.member() == member);
        if question.is_none() {
            self.state.store(ASKED, Ordering::Release);
        }
        question
    }

    /// Gives the cell back to the asker.
    pub fn answer(&self, answer: u32) {
        self.answer.store(answer, Ordering::Relaxed);
        // Release: pairs with the acquire in `answered`.
        self.state.store(DONE, Ordering::Release);
    }

    /// The answer to what this process has asked; the cell is free then.
    pub fn answered(&self) -> Option<u32> {
        // Acquire: pairs with the release in `answer`.
        if self.state.load(Ordering::Acquire) != DONE {
            return None;
        }
        let answer = self.answer.load(Ordering::Relaxed);
        self.state.store(FREE, Ordering::Relaxed);
        Some(answer)
    }

    /// Takes a question back: by the asker, or on behalf of one that has ended. False while it is
    /// served.
    pub fn withdraw(&self) -> bool {
        match self.state.compare_exchange(ASKED, FREE, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(SERVED) => false,
            Err(_) => {
                self.state.store(FREE, Ordering::Relaxed);
                true
            }
        }
    }

    /// As [`Cell::withdraw`], if the question is about this region.
    pub fn withdraw_about(&self, cookie: Cookie) -> bool {
        self.state.load(Ordering::Acquire) == FREE
            || self.cookie.load(Ordering::Relaxed) != cookie.to_bits()
            || self.withdraw()
    }

    /// Who is asked.
    pub fn asks_of(&self) -> Option<u32> {
        self.question().map(|question| question.cookie.member())
    }

    /// Takes the cell from one that has ended while it served.
    pub fn clear(&self) {
        self.state.store(FREE, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod model;
