//! How a message goes.
//!
//! [`send`](fn@send) takes what is known of the message, and gives the next step: one that finds out what takes time to know, or the way that the
//! message goes. No step changes the message. Messages that are [short](ShortPath) take none.

use crate::copies::{Along, Copied};
use crate::deliver::{Aside, deliver};
use crate::facts::{Caller, Facts, Pattern, Readiness, Source, ZeroCopy};
use crate::pair::Likely;
use crate::plan::{CopyMode, Packets, Reason, SendPlan, Unmatched};
use crate::questions::{one_copy, tried};
use crate::segments;
use crate::step::{Address, Decision, Known, Outcome, Step};

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
    Get(Unmatched, Reason),
    /// The receiver has the kernel copy, alone.
    Kernel(Unmatched, Reason),
    /// One copy was possible, and packets were chosen.
    Packets,
}

fn go(plan: SendPlan, reason: Reason) -> Decision {
    Decision { plan, address: Address::Located, reason }
}

/// How a message that no published receive takes goes. What was known of its receiver may have changed.
///
/// Errors: the step that has to be taken before that is known.
pub fn aside(facts: &Facts, known: &Known) -> Outcome<Decision> {
    beside(facts, &Aside { source: known.source, offered: false }, known)
}

/// How a message goes.
///
/// Errors: the step that has to be taken before that is known.
#[inline(always)]
pub fn send(facts: &Facts, known: &Known) -> Outcome<Decision> {
    if facts.size < facts.direct_from {
        return beside(facts, &Aside { source: Source::Opaque, offered: false }, known);
    }
    if segments::asks(facts, known)? {
        return Ok(go(SendPlan::RndvSegments, Reason::Segments));
    }
    match deliver(facts, known)? {
        Ok(mode) => Ok(go(SendPlan::Deliver(mode), why_delivered(facts, mode))),
        Err(place) => {
            let decision = beside(facts, &place, known)?;
            Ok(match place {
                Aside { source: Source::Shared { sure, .. }, offered: true } => {
                    Decision { address: Address::Speculative { sure }, ..decision }
                }
                _ => decision,
            })
        }
    }
}

fn why_delivered(facts: &Facts, mode: CopyMode) -> Reason {
    match mode {
        CopyMode::ByDevice => Reason::Published,
        CopyMode::Single if !facts.suits_both() => Reason::Computes,
        CopyMode::Single | CopyMode::Packets => Reason::Tried,
    }
}

/// How a message goes that no published receive takes.
fn beside(facts: &Facts, place: &Aside, known: &Known) -> Outcome<Decision> {
    let offer = match place.source {
        Source::Opaque | Source::Segments => Offer::Nothing,
        Source::Shared { dense, sure } => of_shared(facts, place.offered, (dense, sure), known)?,
        Source::Private { dense: true } if facts.standard => by_kernel(facts, known)?,
        Source::Private { .. } | Source::Registered => Offer::Memory,
    };
    let shared = matches!(place.source, Source::Shared { .. });
    let (asks, why) = match offer {
        Offer::Get(unmatched, reason) => return Ok(go(SendPlan::RndvGet(unmatched), reason)),
        Offer::Kernel(unmatched, reason) => return Ok(go(SendPlan::RndvKernel(unmatched), reason)),
        _ if facts.full => (true, Reason::Full),
        _ if facts.is_short() => (false, Reason::Unmatched),
        _ if goes_ahead(facts, shared, &offer, known)? => (false, Reason::Waiting),
        _ => (true, Reason::Long),
    };
    let why = match offer {
        Offer::Packets if !facts.full => Reason::Tried,
        _ if facts.size < facts.direct_from && !asks => Reason::Short,
        _ => why,
    };
    match offer {
        Offer::Memory if asks => Ok(go(SendPlan::RndvGet(Unmatched::Waits), why)),
        _ if asks => Ok(go(SendPlan::RndvPackets, why)),
        Offer::Packets if shared => eager(facts, Packets::Preferred, why, known),
        _ => eager(facts, Packets::Only, why, known),
    }
}

/// In packets: copied, or from where the message lies.
fn eager(facts: &Facts, packets: Packets, why: Reason, known: &Known) -> Outcome<Decision> {
    let zero_copy = facts.standard
        && facts.size >= facts.zero_copy_from
        && match known.zero_copy.ok_or(Step::AskZeroCopy)? {
            ZeroCopy::No => false,
            ZeroCopy::Saves(_) if !facts.caller.waits() => true,
            ZeroCopy::Saves(nanoseconds) => known.lends.ok_or(Step::TryLending(nanoseconds))?,
            ZeroCopy::Always => true,
        };
    Ok(match zero_copy {
        true => go(SendPlan::EagerZeroCopy(packets), Reason::ZeroCopy),
        false => go(SendPlan::Eager(packets), why),
    })
}

/// Of a message above the eager limit: whether it goes without asking all the same, since its receiver waits.
fn goes_ahead(facts: &Facts, shared: bool, offer: &Offer, known: &Known) -> Outcome<bool> {
    let seen = shared && !matches!(offer, Offer::Packets);
    Ok(facts.caller.waits()
        && facts.standard
        && !seen
        && facts.suits_packets_into_private()
        && known.waiting.ok_or(Step::LookWaiting)?)
}

/// Out of memory that the receiver sees.
fn of_shared(facts: &Facts, offered: bool, (dense, sure): (bool, bool), known: &Known) -> Outcome<Offer> {
    // A peer whose receive is about to be published would copy the packets again that this process copies: in an
    // exchange both have time to wait for one copy.
    let in_place = facts.caller == Caller::Call || facts.is_apart(dense);
    let readiness = match facts.caller {
        _ if in_place => Readiness::No,
        Caller::Nonblocking if offered => Readiness::Seen,
        Caller::Nonblocking => Readiness::No,
        _ => known.readiness.ok_or(Step::LookReady { predicts: sure && facts.standard })?,
    };
    let fetched = in_place || readiness != Readiness::No;
    // A send that does not wait may find no published receive since packets were chosen for the last message.
    let tries = fetched || !facts.caller.waits();
    let copied = if dense { Copied::Dense } else { Copied::InBlocks };
    if tries && one_copy(facts, copied, known)? == Some(false) {
        return Ok(Offer::Packets);
    }
    if !fetched {
        return Ok(Offer::Memory);
    }
    // What is kept cannot be asked for again when it turns out to be the wrong memory.
    let unmatched = Unmatched::of(readiness, in_place && sure && facts.is_kept(dense));
    Ok(Offer::Get(unmatched, why_fetched(readiness)))
}

fn why_fetched(readiness: Readiness) -> Reason {
    match readiness {
        Readiness::No => Reason::Exchange,
        Readiness::Seen => Reason::Ready,
        Readiness::Predicted => Reason::Predicted,
    }
}

/// Out of private memory in one run: whether its receiver has the kernel copy it alone.
fn by_kernel(facts: &Facts, known: &Known) -> Outcome<Offer> {
    let likely = facts.pair.suits_kernel(facts.size);
    if likely == Likely::No {
        return Ok(Offer::Memory);
    }
    let (along, readiness) = match facts.caller {
        _ if facts.pattern == Pattern::Exchange => (Along::Exchange, Readiness::No),
        _ if !facts.is_short() => return Ok(Offer::Memory),
        Caller::Call => (Along::Call, Readiness::No),
        Caller::Nonblocking if known.ready.ok_or(Step::PeekReady)? => (Along::Alone, Readiness::Seen),
        Caller::Nonblocking => return Ok(Offer::Memory),
        Caller::Blocking => match known.readiness.ok_or(Step::LookReady { predicts: true })? {
            Readiness::No => return Ok(Offer::Memory),
            readiness => (Along::Alone, readiness),
        },
    };
    if likely == Likely::Perhaps && !tried(along, Copied::ByKernel, known)? {
        // What is tried is not left to the receiver.
        return Ok(Offer::Packets);
    }
    Ok(Offer::Kernel(Unmatched::of(readiness, facts.is_kept(true)), why_fetched(readiness)))
}

#[cfg(test)]
mod tests;
