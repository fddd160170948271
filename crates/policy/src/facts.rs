//! What is known of a message, and what can be found out: the facts of [`send`](fn@crate::send).

use crate::copies::{Along, Copied};

/// What the caller of a send does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// It waits until its buffer is free: MPI_Send.
    Blocking,
    /// It starts several transfers and waits for all of them: a collective, MPI_Sendrecv.
    Call,
    /// It goes on: MPI_Isend.
    Nonblocking,
}

impl Caller {
    /// It does nothing else until the buffer may be reused.
    pub fn waits(self) -> bool {
        self != Caller::Nonblocking
    }
}

/// What the program does around a send, by its calls and its habits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Nothing that is known.
    Plain,
    /// Both processes send to each other, and then wait for all of that.
    Exchange,
    /// It computes while the message is copied, so that is left to the receiver.
    Left,
}

/// Where the bytes of a message lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody has found that out, or the shape is too irregular for single copies.
    Opaque,
    /// In memory of this process alone.
    Private {
        /// In one run.
        dense: bool,
    },
    /// In memory that the receiver sees.
    Shared {
        /// In one run.
        dense: bool,
        /// That it sees it is known, else speculative.
        sure: bool,
    },
    /// In memory that a network card reaches.
    Registered,
    /// In a region of segments of its sender's.
    Segments,
}

/// What is known of a message before its first byte moves. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Of the message.
    pub size: usize,
    /// Messages from here on look for a published receive.
    pub direct_from: usize,
    /// The longest message to this receiver that goes without asking.
    pub eager_limit: usize,
    /// The same if the receiver waits in the library.
    pub waiting_limit: usize,
    /// Eager messages from here on may be sent from where they lie.
    pub zero_copy_from: usize,
    /// What the caller does next.
    pub caller: Caller,
    /// What the program does around the send.
    pub pattern: Pattern,
    /// A standard send: it may be buffered.
    pub standard: bool,
    /// The receiver keeps too many messages: it wants to be asked.
    pub full: bool,
}

/// Where a message lies that no published receive takes.
#[derive(Clone, Copy, Debug)]
pub struct Aside {
    /// Where its bytes lie.
    pub source: Source,
    /// The source is speculative, and a look or the pattern of the program has shown that the receiver is the one to copy.
    pub offered: bool,
}

impl From<Source> for Aside {
    fn from(source: Source) -> Aside {
        Aside { source, offered: false }
    }
}

impl Facts {
    /// It goes without asking.
    pub(crate) fn is_short(&self) -> bool {
        self.size <= self.eager_limit
    }

    /// An exchange of which the program can wait for this send later.
    pub(crate) fn is_exchange(&self) -> bool {
        self.pattern == Pattern::Exchange && !self.caller.waits()
    }

    /// An exchange of which the program can wait for this send later, or a message that is left to its receiver.
    pub(crate) fn is_apart(&self, dense: bool) -> bool {
        match self.pattern {
            Pattern::Plain => false,
            Pattern::Exchange => self.is_exchange(),
            Pattern::Left => dense,
        }
    }

    /// A program may count on this message to be buffered: its receiver keeps a copy where no receive wants it yet.
    pub(crate) fn is_kept(&self, dense: bool) -> bool {
        self.is_apart(dense) && self.is_short() && self.standard && dense
    }
}

/// Whether the receiver is ready: it waits for the message and would fetch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It does not, or nobody knows.
    No,
    /// It was seen to.
    Seen,
    /// It has done so many times in a row, and most likely does: the rule `predict-ready`.
    Predicted,
}

/// Whether something holds, by what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likely {
    /// It does not.
    No,
    /// It should be tried.
    Perhaps,
    /// It does.
    Yes,
}

/// What the memory of a message is used for, when the device is asked where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Nothing that is known.
    Unknown,
    /// One message, of which nothing more is known.
    Message,
    /// One message that its receiver may copy.
    Awaited,
    /// A message of an exchange.
    Exchange,
}

/// Finding out where the memory of a message lies.
pub trait Locate {
    /// The speculative address of the message, without a question to the kernel: whether that is sure. `None`: there is none.
    fn speculate(&mut self) -> Option<bool>;
    /// Takes the speculative address for where the memory lies.
    fn take_speculative(&mut self) -> Source;
    /// Finds out where the memory lies: the kernel may have to be asked.
    fn locate(&mut self, purpose: Purpose);
    /// Where the memory lies, by what was found out so far.
    fn source(&mut self) -> Source;
}

/// What takes time to find out, or is learned.
pub trait Look: Locate {
    /// Whether the device copies a message of this length by itself, so that its memory need not be located.
    fn device_copies(&mut self) -> bool;
    /// Whether a receiver that waits is no better off with packets of this length, even into shared memory.
    fn suits_one_copy(&mut self) -> bool;
    /// Whether a receive is published that this message may be delivered into.
    fn finds_receive(&mut self) -> bool;
    /// Whether a network may send the message from where it lies, without a copy.
    fn zero_copy(&mut self) -> ZeroCopy;
    /// Whether a call that waits had better wait for that too, by trials: the rule `lend`. `saves`: what a copy takes, in nanoseconds.
    fn waits_for_zero_copy(&mut self, saves: u32) -> bool;
    /// Whether the receiver waits for this message and would fetch it: asked for a caller that waits. What a look shows is noted; `predicts`: one
    /// that was seen to wait often enough is not looked at.
    fn readiness(&mut self, predicts: bool) -> Readiness;
    /// The same for a caller that does not wait, by a look that is not noted.
    fn is_ready(&mut self) -> bool;
    /// Whether the kernel's copy, by the receiver alone, is sooner than packets, by the costs.
    fn suits_kernel(&mut self) -> Likely;
    /// Whether one copy and packets cost about as much, out of memory that the receiver sees.
    fn suits_both(&mut self) -> bool;
    /// Whether one copy is the way, by trials: the rules `copies` and `mirror`.
    fn tries(&mut self, along: Along, copied: Copied) -> bool;
    /// Whether the receiver waits in the library, and would have packets of this message although it is long.
    fn takes_packets(&mut self) -> bool;
    /// Blocks of a message whose shape is too irregular for other single copies, or somewhat more; `None`: it has another shape.
    fn irregular_blocks(&mut self) -> Option<u64>;
    /// How the receiver would copy such a message out of a region of segments, if it can: the kernel may have to be asked where it lies.
    fn in_segments(&mut self) -> Option<Copied>;
}

/// What a network offers for the memory of an eager message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroCopy {
    /// The message is copied first.
    No,
    /// The message can be sent from where it lies, which saves so many nanoseconds; the buffer is free later.
    Saves(u32),
    /// The message is always sent from where it lies.
    Always,
}

/// Whether one copy out of memory that the receiver sees has been sooner than packets. `None`: that is not tried.
///
/// Where the program writes its message anew each time, it has to get the lines back that the receiver has read, and the receiver
/// gets them once more: twice the traffic between the cores of a block that goes to and fro. Where it does not, the receiver has
/// them in its cache still. On an Intel Xeon 16 to 64 KiB take 1.7 to 2.8 times as long by the one copy, or a third to a half of the time.
/// The column of a matrix has a line of its own for each of its elements, and all of them make that journey, where packets hold eight
/// doubles in a line.
pub(crate) fn one_copy(facts: &Facts, copied: Copied, look: &mut impl Look) -> Option<bool> {
    let along = match facts.pattern {
        Pattern::Exchange => Along::Exchange,
        Pattern::Left => Along::Left,
        Pattern::Plain => Along::Alone,
    };
    look.suits_both().then(|| look.tries(along, copied))
}
