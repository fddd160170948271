//! How a message goes that no published receive has taken.
//!
//! [`send`] takes what is known of the message, and gives a plan. What takes time to find out is asked for where it matters: a
//! [`Look`] at the receiver, or a trial. Neither changes the message.

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
    /// In memory of this process alone; `dense`: in one run.
    Private { dense: bool },
    /// In memory that the receiver sees; `sure`: that is known, else presumed.
    Shared { dense: bool, sure: bool },
    /// In memory that a network card reaches.
    Registered,
}

/// What is known of a message before its first byte moves.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// In bytes.
    pub size: usize,
    /// The longest message to this receiver that goes without asking, in bytes.
    pub eager_limit: usize,
    pub caller: Caller,
    pub pattern: Pattern,
    /// A standard send: it may be buffered.
    pub standard: bool,
    pub source: Source,
    /// A look has shown that the receiver waits for this message, and would fetch it.
    pub hoped: bool,
    /// The receiver keeps too many messages: it wants to be asked.
    pub full: bool,
}

impl Facts {
    fn is_short(&self) -> bool {
        self.size <= self.eager_limit
    }

    /// An exchange of which the program can wait for this send later, or a message that is left to its receiver.
    fn is_apart(&self, dense: bool) -> bool {
        match self.pattern {
            Pattern::Plain => false,
            Pattern::Exchange => !self.caller.waits(),
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

/// What takes time to find out, or is learned.
pub trait Look {
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

/// How a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendPlan {
    /// In packets, at once. `chosen`: out of memory that the receiver sees, since one copy took longer. A network may take them from where they lie (zero copy).
    Eager { chosen: bool },
    /// A request to send: the receiver gets the bytes from where they lie, invites the sender to put them, or wants packets.
    RndvGet(Terms),
    /// A request to send: the receiver has the kernel copy the bytes, alone (CMA).
    RndvKernel(Terms),
    /// A request to send: packets follow when the receiver is ready.
    RndvPackets,
}

/// What a request to send says beside where the bytes lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// A receiver that has no receive for the message keeps a copy.
    pub kept: bool,
    /// The receiver was trusted, and not seen, to wait.
    pub trusted: bool,
}

/// What the receiver may copy out of.
enum Offer {
    /// The request to send need not offer anything.
    Nothing,
    /// Where the bytes lie, if there is to be a request.
    Memory,
    /// The receiver copies, alone.
    Get(Terms),
    /// The receiver has the kernel copy, alone.
    Kernel(Terms),
    /// One copy was possible, and packets were chosen.
    Packets,
}

/// How a message goes.
pub fn send(facts: &Facts, look: &mut impl Look) -> SendPlan {
    let offer = match facts.source {
        Source::Opaque => Offer::Nothing,
        Source::Shared { dense, sure } => of_shared(facts, dense, sure, look),
        Source::Private { dense: true } if facts.standard => by_kernel(facts, look),
        Source::Private { .. } | Source::Registered => Offer::Memory,
    };
    let asks = match offer {
        Offer::Get(terms) => return SendPlan::RndvGet(terms),
        Offer::Kernel(terms) => return SendPlan::RndvKernel(terms),
        _ => facts.full || (!facts.is_short() && !goes_ahead(facts, &offer, look)),
    };
    match offer {
        Offer::Memory if asks => SendPlan::RndvGet(Terms::default()),
        _ if asks => SendPlan::RndvPackets,
        _ => {
            SendPlan::Eager { chosen: matches!(offer, Offer::Packets) && matches!(facts.source, Source::Shared { .. }) }
        }
    }
}

/// Of a message above the eager limit: whether it goes without asking all the same, since its receiver waits.
fn goes_ahead(facts: &Facts, offer: &Offer, look: &mut impl Look) -> bool {
    let seen = matches!(facts.source, Source::Shared { .. }) && !matches!(offer, Offer::Packets);
    let will_wait = facts.caller.waits() || look.waits_for_sends(false);
    will_wait && facts.standard && !seen && look.takes_packets()
}

/// Out of memory that the receiver sees.
fn of_shared(facts: &Facts, dense: bool, sure: bool, look: &mut impl Look) -> Offer {
    // A peer whose receive is about to be published would copy the packets again that this process copies: in an
    // exchange both have time to wait for one copy.
    let in_place = facts.caller == Caller::Call || facts.is_apart(dense);
    let hope = match facts.caller {
        _ if in_place => Hope::No,
        Caller::Nonblocking if facts.hoped => Hope::Seen,
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
    let trusted = hope == Hope::Trusted;
    Offer::Get(Terms { kept: trusted || (in_place && facts.is_kept(dense)), trusted })
}

/// Whether one copy out of memory that the receiver sees has been sooner than packets. `None`: that is not tried.
///
/// Where the program writes its message anew each time, it has to get the lines back that the receiver has read, and the receiver
/// gets them once more: twice the traffic between the cores of a block that goes to and fro. Where it does not, the receiver has
/// them in its cache still. On an Intel Xeon 16 to 64 KiB take 1.7 to 2.8 times as long by the one copy, or a third to a half of the time.
/// The column of a matrix has a line of its own for each of its elements, and all of them make that journey, where packets hold eight
/// doubles in a line.
pub fn one_copy(facts: &Facts, copied: Copied, look: &mut impl Look) -> Option<bool> {
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
    let trusted = hope == Hope::Trusted;
    Offer::Kernel(Terms { kept: trusted || facts.is_kept(true), trusted })
}

#[cfg(test)]
mod tests;
