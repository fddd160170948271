//! How a message goes.
//!
//! [`send`](fn@send) takes what is known of the message, and gives a plan. What takes time to find out is asked for where it matters: a
//! [`Look`] at the receiver, or a trial. Neither changes the message. Messages that are [short](ShortPath) ask nothing.

use crate::copies::{Along, Copied};
use crate::deliver::{CopyMode, deliver};
use crate::facts::{Aside, Caller, Facts, Likely, Look, Pattern, Readiness, Source, ZeroCopy, one_copy};
use crate::segments;

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
    /// A request to send: the receiver copies the bytes out of a region of segments, without a look at published receives.
    RndvSegments,
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
    /// The same. The sender predicts that the receiver waits for it (the rule `predict-ready`), and notes whether it did.
    KeptPredicted,
}

impl Unmatched {
    fn of(readiness: Readiness, kept: bool) -> Unmatched {
        match readiness {
            Readiness::Predicted => Unmatched::KeptPredicted,
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
    if segments::asks(facts, look) {
        return SendPlan::RndvSegments;
    }
    match deliver(facts, look) {
        Ok(mode) => SendPlan::Deliver(mode),
        Err(place) => aside(facts, &place, look),
    }
}

/// How a message goes that no published receive takes.
pub fn aside(facts: &Facts, place: &Aside, look: &mut impl Look) -> SendPlan {
    let offer = match place.source {
        Source::Opaque | Source::Segments => Offer::Nothing,
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
    facts.caller.waits() && facts.standard && !seen && look.takes_packets()
}

/// Out of memory that the receiver sees.
fn of_shared(facts: &Facts, offered: bool, dense: bool, sure: bool, look: &mut impl Look) -> Offer {
    // A peer whose receive is about to be published would copy the packets again that this process copies: in an
    // exchange both have time to wait for one copy.
    let in_place = facts.caller == Caller::Call || facts.is_apart(dense);
    let readiness = match facts.caller {
        _ if in_place => Readiness::No,
        Caller::Nonblocking if offered => Readiness::Seen,
        Caller::Nonblocking => Readiness::No,
        _ => look.readiness(sure && facts.standard),
    };
    let fetched = in_place || readiness != Readiness::No;
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
    Offer::Get(Unmatched::of(readiness, in_place && sure && facts.is_kept(dense)))
}

/// Out of private memory in one run: whether its receiver has the kernel copy it alone.
fn by_kernel(facts: &Facts, look: &mut impl Look) -> Offer {
    let likely = look.suits_kernel();
    if likely == Likely::No {
        return Offer::Memory;
    }
    let (along, readiness) = match facts.caller {
        _ if facts.pattern == Pattern::Exchange => (Along::Exchange, Readiness::No),
        _ if !facts.is_short() => return Offer::Memory,
        Caller::Call => (Along::Call, Readiness::No),
        Caller::Nonblocking if look.is_ready() => (Along::Alone, Readiness::Seen),
        Caller::Nonblocking => return Offer::Memory,
        Caller::Blocking => match look.readiness(true) {
            Readiness::No => return Offer::Memory,
            readiness => (Along::Alone, readiness),
        },
    };
    if likely == Likely::Perhaps && !look.tries(along, Copied::ByKernel) {
        // What is tried is not left to the receiver.
        return Offer::Packets;
    }
    Offer::Kernel(Unmatched::of(readiness, facts.is_kept(true)))
}

#[cfg(test)]
mod tests;
