//! How a message goes.
//!
//! [`send`](fn@send) takes what is known of the message, and gives a plan. What takes time to find out is asked for where it matters: a
//! [`Look`] at the receiver, or a trial. Neither changes the message. Messages that are [short](ShortPath) ask nothing.

use crate::copies::{Along, Copied};
use crate::deliver::{CopyMode, deliver};

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
    /// In memory of this process alone; `dense`: in one run.
    Private { dense: bool },
    /// In memory that the receiver sees; `sure`: that is known, else presumed.
    Shared { dense: bool, sure: bool },
    /// In memory that a network card reaches.
    Registered,
}

/// What is known of a message before its first byte moves. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub size: usize,
    /// Messages from here on look for a published receive.
    pub direct_from: usize,
    /// The longest message to this receiver that goes without asking.
    pub eager_limit: usize,
    /// The same if the receiver waits in the library.
    pub waiting_limit: usize,
    /// Eager messages from here on may be sent from where they lie.
    pub zero_copy_from: usize,
    pub caller: Caller,
    pub pattern: Pattern,
    /// A standard send: it may be buffered.
    pub standard: bool,
    /// The receiver keeps too many messages: it wants to be asked.
    pub full: bool,
}

/// Where a message lies that no published receive takes.
#[derive(Clone, Copy, Debug)]
pub struct Aside {
    pub source: Source,
    /// The source was presumed, and a look or the pattern of the program has shown that the receiver is the one to copy.
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
    fn is_apart(&self, dense: bool) -> bool {
        match self.pattern {
            Pattern::Plain => false,
            Pattern::Exchange => self.is_exchange(),
            Pattern::Left => dense,
        }
    }

    /// A program may count on this message to be buffered: its receiver keeps a copy where no receive wants it yet.
    fn is_kept(&self, dense: bool) -> bool {
        self.is_apart(dense) && self.is_short() && self.standard && dense
    }
}

/// Whether the receiver waits for the message and would fetch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hope {
    No,
    /// It was seen to.
    Seen,
    /// It has done so many times in a row, and is trusted to do so: the rule `trust`.
    Trusted,
}

/// Whether something holds, by what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likely {
    No,
    /// It should be tried.
    Perhaps,
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

/// What takes time to find out, or is learned.
pub trait Look {
    /// Where the memory of the message is presumed to lie, without a question to the kernel: whether that is sure. `None`: nothing is presumed.
    fn presume(&mut self) -> Option<bool>;
    /// Takes what was presumed for where the memory lies.
    fn take_presumed(&mut self) -> Source;
    /// Finds out where the memory lies: the kernel may have to be asked.
    fn locate(&mut self, purpose: Purpose);
    /// Where the memory lies, by what was found out so far.
    fn source(&mut self) -> Source;
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
    /// Whether the receiver waits for this message and would fetch it: asked for a caller that waits. What a look shows is noted; `trusts`: one
    /// that was seen to wait often enough is not looked at.
    fn hope(&mut self, trusts: bool) -> Hope;
    /// The same for a caller that does not wait, by a look that is not noted.
    fn is_hoped(&mut self) -> bool;
    /// Whether the kernel's copy, by the receiver alone, is sooner than packets, by the costs.
    fn suits_kernel(&mut self) -> Likely;
    /// Whether one copy and packets cost about as much, out of memory that the receiver sees.
    fn suits_both(&mut self) -> bool;
    /// Whether one copy is the way, by trials: the rules `copies` and `mirror`.
    fn tries(&mut self, along: Along, copied: Copied) -> bool;
    /// Whether the receiver waits in the library, and would have packets of this message although it is long.
    fn takes_packets(&mut self) -> bool;
    /// Whether the program most likely waits at once for the nonblocking sends that it starts; `one`: and starts one at a time.
    fn waits_for_sends(&mut self, one: bool) -> bool;
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

/// How a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendPlan {
    /// In one packet, beside its header: [`ShortPath::plan_fast`].
    Inline,
    /// In packets, at once.
    Eager(Packets),
    /// The same, and the network takes the packets from where the message lies. The buffer is free when the network is done.
    EagerZeroCopy(Packets),
    /// Into a receive that is published. Where that is gone, or never was, [`aside`] has the next plan.
    Deliver(CopyMode),
    /// A request to send: the receiver gets the bytes from where they lie, invites the sender to put them, or wants packets.
    RndvGet(Unmatched),
    /// A request to send: the receiver has the kernel copy the bytes, alone (CMA).
    RndvKernel(Unmatched),
    /// A request to send: packets follow when the receiver is ready.
    RndvPackets,
}

/// Why a message goes in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packets {
    /// There was no other way.
    Only,
    /// The receiver could have copied the message, and packets have proved quicker. The receiver is told.
    Preferred,
}

/// What becomes of a message that its receiver may copy, while no receive wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmatched {
    /// It waits at its sender.
    Waits,
    /// The receiver keeps a copy: the program may count on the message to be buffered.
    Kept,
    /// The same. The sender trusts the receiver to wait for it (the rule `trust`), and notes whether it did.
    KeptTrusted,
}

impl Unmatched {
    fn of(hope: Hope, kept: bool) -> Unmatched {
        match hope {
            Hope::Trusted => Unmatched::KeptTrusted,
            _ if kept => Unmatched::Kept,
            _ => Unmatched::Waits,
        }
    }

    /// The receiver keeps a copy.
    pub fn is_kept(self) -> bool {
        self != Unmatched::Waits
    }
}

/// The short path: a message below one limit is planned by one comparison.
#[derive(Clone, Copy, Debug)]
pub struct ShortPath {
    below: usize,
    /// The limit while the path is open.
    open: usize,
}

impl ShortPath {
    /// The path for messages of fewer than `below` bytes.
    pub fn new(below: usize) -> ShortPath {
        ShortPath { below, open: below }
    }

    /// [`SendPlan::Inline`] for a message of `len` bytes; `None`: ask [`send`](fn@send).
    #[inline(always)]
    pub fn plan_fast(&self, len: usize) -> Option<SendPlan> {
        (len < self.below).then_some(SendPlan::Inline)
    }

    /// Closes the path while there is something that it does not ask, and opens it again.
    pub fn set_open(&mut self, open: bool) {
        self.below = if open { self.open } else { 0 };
    }
}

/// What the receiver may copy out of.
enum Offer {
    /// The request to send need not offer anything.
    Nothing,
    /// Where the bytes lie, if there is to be a request.
    Memory,
    /// The receiver copies, alone.
    Get(Unmatched),
    /// The receiver has the kernel copy, alone.
    Kernel(Unmatched),
    /// One copy was possible, and packets were chosen.
    Packets,
}

/// How a message goes.
pub fn send(facts: &Facts, look: &mut impl Look) -> SendPlan {
    if facts.size < facts.direct_from {
        return aside(facts, &Source::Opaque.into(), look);
    }
    match deliver(facts, look) {
        Ok(mode) => SendPlan::Deliver(mode),
        Err(place) => aside(facts, &place, look),
    }
}

/// How a message goes that no published receive takes.
pub fn aside(facts: &Facts, place: &Aside, look: &mut impl Look) -> SendPlan {
    let offer = match place.source {
        Source::Opaque => Offer::Nothing,
        Source::Shared { dense, sure } => of_shared(facts, place.offered, dense, sure, look),
        Source::Private { dense: true } if facts.standard => by_kernel(facts, look),
        Source::Private { .. } | Source::Registered => Offer::Memory,
    };
    let shared = matches!(place.source, Source::Shared { .. });
    let asks = match offer {
        Offer::Get(unmatched) => return SendPlan::RndvGet(unmatched),
        Offer::Kernel(unmatched) => return SendPlan::RndvKernel(unmatched),
        Offer::Nothing | Offer::Memory | Offer::Packets => {
            facts.full || (!facts.is_short() && !goes_ahead(facts, shared, &offer, look))
        }
    };
    match offer {
        Offer::Memory if asks => SendPlan::RndvGet(Unmatched::Waits),
        _ if asks => SendPlan::RndvPackets,
        Offer::Packets if shared => eager(facts, Packets::Preferred, look),
        _ => eager(facts, Packets::Only, look),
    }
}

/// In packets: copied, or from where the message lies.
fn eager(facts: &Facts, packets: Packets, look: &mut impl Look) -> SendPlan {
    let zero_copy = facts.standard
        && facts.size >= facts.zero_copy_from
        && match look.zero_copy() {
            ZeroCopy::No => false,
            ZeroCopy::Saves(nanoseconds) => !facts.caller.waits() || look.waits_for_zero_copy(nanoseconds),
            ZeroCopy::Always => true,
        };
    if zero_copy { SendPlan::EagerZeroCopy(packets) } else { SendPlan::Eager(packets) }
}

/// Of a message above the eager limit: whether it goes without asking all the same, since its receiver waits.
fn goes_ahead(facts: &Facts, shared: bool, offer: &Offer, look: &mut impl Look) -> bool {
    let seen = shared && !matches!(offer, Offer::Packets);
    let will_wait = facts.caller.waits() || look.waits_for_sends(false);
    will_wait && facts.standard && !seen && look.takes_packets()
}

/// Out of memory that the receiver sees.
fn of_shared(facts: &Facts, offered: bool, dense: bool, sure: bool, look: &mut impl Look) -> Offer {
    // A peer whose receive is about to be published would copy the packets again that this process copies: in an
    // exchange both have time to wait for one copy.
    let in_place = facts.caller == Caller::Call || facts.is_apart(dense);
    let hope = match facts.caller {
        _ if in_place => Hope::No,
        Caller::Nonblocking if offered => Hope::Seen,
        Caller::Nonblocking => Hope::No,
        _ => look.hope(sure && facts.standard),
    };
    let fetched = in_place || hope != Hope::No;
    // A send that does not wait may find no published receive since packets were chosen for the last message.
    let tries = fetched || !facts.caller.waits();
    let copied = if dense { Copied::Dense } else { Copied::InBlocks };
    if tries && one_copy(facts, copied, look) == Some(false) {
        return Offer::Packets;
    }
    if !fetched {
        return Offer::Memory;
    }
    // What is kept cannot be asked for again when it turns out to be the wrong memory.
    Offer::Get(Unmatched::of(hope, in_place && sure && facts.is_kept(dense)))
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
        Pattern::Plain if facts.caller.waits() || look.waits_for_sends(true) => Along::Alone,
        Pattern::Plain => Along::Window,
    };
    // Windows of longer ones are in no cache.
    let cached = along != Along::Window || facts.is_short();
    (cached && look.suits_both()).then(|| look.tries(along, copied))
}

/// Out of private memory in one run: whether its receiver has the kernel copy it alone.
fn by_kernel(facts: &Facts, look: &mut impl Look) -> Offer {
    let likely = look.suits_kernel();
    if likely == Likely::No {
        return Offer::Memory;
    }
    let (along, hope) = match facts.caller {
        _ if facts.pattern == Pattern::Exchange => (Along::Exchange, Hope::No),
        _ if !facts.is_short() => return Offer::Memory,
        Caller::Call => (Along::Call, Hope::No),
        Caller::Nonblocking if look.is_hoped() => (Along::Alone, Hope::Seen),
        Caller::Nonblocking => return Offer::Memory,
        Caller::Blocking => match look.hope(true) {
            Hope::No => return Offer::Memory,
            hope => (Along::Alone, hope),
        },
    };
    if likely == Likely::Perhaps && !look.tries(along, Copied::ByKernel) {
        // What is tried is not left to the receiver.
        return Offer::Packets;
    }
    Offer::Kernel(Unmatched::of(hope, facts.is_kept(true)))
}

#[cfg(test)]
mod tests;
