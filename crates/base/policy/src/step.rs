//! The steps of a send: what its process does before the first byte moves, one after the other, and what that has shown.
//!
//! A plan is a tree of steps: each outcome has its successor, until a [`Decision`] says how the message goes. [`send`](fn@crate::send) is
//! asked for the first step with nothing known, and for the next one with what the last has shown. It never acts and never calls back. No path has more
//! than eight steps.

use crate::copies::{Along, Copied, Turn};
use crate::facts::{Purpose, Readiness, Source, ZeroCopy};
use crate::plan::{Reason, SendPlan};
use crate::transfer::{Chosen, CopyMode, Deliver};

/// What is to be done next. Its outcome goes to [`Known`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Looks whether the message has a speculative address, without a question to the kernel.
    Speculate,
    /// Finds out where the message lies: the kernel may have to be asked.
    Locate(Purpose),
    /// Finds out whether the receiver could copy an irregular message out of a region of segments, and how.
    LocateSegments,
    /// Looks for a published receive that takes the message.
    LookPublished,
    /// Has the device state the facts of a copy into the published receive, and the costs and trials of such copies choose a way. With what is known of
    /// the copy before.
    Choose(CopyMode),
    /// Forgets the published receive, and what was known of its process, which may have changed: the message goes otherwise.
    PassBy,
    /// Looks whether the receiver waits for the message and would fetch it. What that shows is noted; `predicts`: a receiver that was seen to wait
    /// often enough is not looked at.
    LookReady {
        /// It may be predicted.
        predicts: bool,
    },
    /// Looks the same, and notes nothing.
    PeekReady,
    /// Looks whether the receiver waits in the library, and so takes packets as they come.
    LookWaiting,
    /// Takes a turn of the trial whether one copy is the way: the rule `copies`.
    Try(Along, Copied),
    /// Asks the network whether it may send the message from where it lies.
    AskZeroCopy,
    /// Takes a turn of the trial whether a call had better wait for that: the rule `lend`. What a copy takes, in nanoseconds.
    TryLending(u32),
}

/// What was decided, or the step that has to be taken before.
pub type Outcome<T> = Result<T, Step>;

/// How a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// By which plan.
    pub plan: SendPlan,
    /// Which address of the message is told.
    pub address: Address,
    /// Why.
    pub reason: Reason,
}

/// An address of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// Where it was located, or where its shape tells.
    Located,
    /// The speculative one.
    Speculative {
        /// That is where the message lies, without a question to the kernel.
        sure: bool,
    },
}

/// A published receive that takes a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedReceive {
    /// Its memory is its process's alone.
    pub is_private: bool,
    /// Its process waits in the library.
    pub waits: bool,
}

/// What the steps of a message have shown so far. `None`: nobody has asked.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Where the message lies, as far as its shape or [`Step::Locate`] tells.
    pub source: Source,
    /// It was located.
    pub located: bool,
    /// Whether there is a speculative address, and then whether that is sure.
    pub speculative: Option<Option<bool>>,
    /// How the receiver would copy segments, if it can.
    pub segments: Option<Option<Copied>>,
    /// The published receive, if there is one.
    pub published: Option<Option<PublishedReceive>>,
    /// How the message gets into it, if not on the stream.
    pub delivery: Option<Option<Chosen<Deliver>>>,
    /// It does not: no published receive takes it, or that has turned out to be gone.
    pub passes_by: bool,
    /// Whether the receiver is ready, by a look that was noted.
    pub readiness: Option<Readiness>,
    /// Whether it is ready, by a look that was not.
    pub ready: Option<bool>,
    /// Whether it waits in the library.
    pub waiting: Option<bool>,
    /// What its trial has told the message: whether one copy of such memory is the way.
    pub turn: Option<Turn>,
    /// What the network offers.
    pub zero_copy: Option<ZeroCopy>,
    /// Whether the call waits for the network.
    pub lends: Option<bool>,
}

impl Known {
    /// Of a message that lies there, as far as its shape tells.
    pub fn new(source: Source) -> Known {
        Known {
            source,
            located: false,
            speculative: None,
            segments: None,
            published: None,
            delivery: None,
            passes_by: false,
            readiness: None,
            ready: None,
            waiting: None,
            turn: None,
            zero_copy: None,
            lends: None,
        }
    }

    /// Of a message that goes into no published receive, or whose receive has turned out to be gone: it lies there, and keeps its turn. What was known of
    /// its receiver may have changed.
    pub fn aside(source: Source, turn: Option<Turn>) -> Known {
        Known { turn, passes_by: true, ..Known::new(source) }
    }

    /// Whether one copy of such memory is the way, by its trial.
    pub(crate) fn tried(&self, along: Along, copied: Copied) -> Outcome<bool> {
        match self.turn {
            Some(turn) if turn.copied == copied => Ok(turn.one_copy),
            _ => Err(Step::Try(along, copied)),
        }
    }
}
