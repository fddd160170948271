//! What is known of a message before its first byte moves: the facts of [`send`](fn@crate::send).

use crate::copies::Along;
use crate::pair::Pair;

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
pub enum Habit {
    /// Nothing that is known.
    Plain,
    /// Both processes send to each other, and then wait for all of that.
    Exchange,
    /// It computes while the message is copied, so that is left to the receiver.
    Left,
}

impl Habit {
    /// Of a send. `exchanges`: its call, or the program, sends to and receives from the same process. `waits`: it does nothing else until the buffer may
    /// be reused.
    pub fn of(exchanges: bool, waits: bool) -> Habit {
        match exchanges {
            true => Habit::Exchange,
            false if waits => Habit::Plain,
            false => Habit::Left,
        }
    }
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
    /// What its sender and its receiver can do for each other.
    pub pair: Pair,
    /// Blocks of a message whose shape is too irregular for other single copies, or somewhat more; `None`: it has another shape.
    pub irregular_blocks: Option<u64>,
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
    pub habit: Habit,
    /// A standard send: it may be buffered.
    pub standard: bool,
    /// The receiver keeps too many messages: it wants to be asked.
    pub full: bool,
}

impl Facts {
    /// It goes without asking.
    pub(crate) fn is_short(&self) -> bool {
        self.size <= self.eager_limit
    }

    /// It is of a length that its receiver would fetch alone, if that waits for it and sees its memory.
    pub fn is_fetched(&self) -> bool {
        self.pair.is_fetched(self.size, self.eager_limit)
    }

    /// What the message is sent along with, for its trials.
    pub(crate) fn along(&self) -> Along {
        match self.habit {
            Habit::Exchange => Along::Exchange,
            Habit::Left => Along::Left,
            Habit::Plain => Along::Alone,
        }
    }

    /// A receiver that waits is no better off with packets of this length, even into shared memory.
    pub(crate) fn suits_one_copy(&self) -> bool {
        // Between shared memories the kernel is not needed.
        self.size >= self.pair.packets_below(true)
    }

    /// A receiver that waits is better off with packets of this length into private memory.
    pub(crate) fn suits_packets_into_private(&self) -> bool {
        self.size <= self.waiting_limit && self.size < self.pair.packets_below(false)
    }

    /// One copy and packets cost about as much, out of memory that the receiver sees.
    pub(crate) fn suits_both(&self) -> bool {
        self.pair.suits_both(self.size)
    }

    /// The device copies a message of this length by itself, and its memory need not be located.
    pub(crate) fn device_copies(&self) -> bool {
        self.size <= self.pair.copies_up_to
    }

    /// An exchange of which the program can wait for this send later.
    pub(crate) fn is_exchange(&self) -> bool {
        self.habit == Habit::Exchange && !self.caller.waits()
    }

    /// An exchange of which the program can wait for this send later, or a message that is left to its receiver.
    pub(crate) fn is_apart(&self, dense: bool) -> bool {
        match self.habit {
            Habit::Plain => false,
            Habit::Exchange => self.is_exchange(),
            Habit::Left => dense,
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
    /// It has done so many times in a row, and most likely does: the rule `expect-ready`.
    Predicted,
}

/// What memory is used for, when the device is asked where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// One message, of which nothing more is known.
    Message,
    /// One message that its receiver may copy, or of a call that waits for nothing else.
    Awaited,
    /// A message of an exchange.
    Exchange,
    /// A call in which every process copies what comes in, and would copy what goes out as well if the memory were not shared.
    Collective,
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
