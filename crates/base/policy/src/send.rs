//! How a message goes.
//!
//! [`send`](fn@send) takes what is known of the message, and gives the next step: one that finds out what takes time to know, or the way that the
//! message goes. No step changes the message. Messages that are [short](ShortPath) take none.
//!
//! Where a message lies is asked before the look for a published receive, unless there is a speculative address: meanwhile a receiver does the same for
//! a receive that it is about to publish.

use crate::copies::{Along, Copied, Turn};
use crate::facts::{Caller, Facts, Habit, Purpose, Readiness, Source, ZeroCopy};
use crate::pair::Likely;
use crate::plan::{Packets, Reason, SendPlan, Unmatched};
use crate::segments;
use crate::step::{Address, Decision, Known, Outcome, PublishedReceive, Step};
use crate::transfer::{Chosen, ChosenBy, CopyMode, Deliver};

/// The short path: a message below one limit goes in one packet, beside its header, which one comparison tells. [`send`](fn@send) is not asked.
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

    /// Whether a message of `len` bytes goes so.
    #[inline(always)]
    pub fn takes(&self, len: usize) -> bool {
        len < self.below
    }

    /// Closes the path while there is something that it does not ask, and opens it again.
    pub fn set_open(&mut self, open: bool) {
        self.below = if open { self.open } else { 0 };
    }
}

/// Whether a message of `size` bytes goes in packets at once, and nothing is asked about it, unless its receiver keeps too many messages. `ways`: the
/// shortest lengths that look for a published receive, and that the network may take from where they lie. `eager_limit`: the longest that goes without
/// asking.
#[inline]
pub fn asks_nothing(size: usize, ways: [usize; 2], eager_limit: impl FnOnce() -> usize) -> bool {
    size < ways[0].min(ways[1]) && size <= eager_limit()
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

/// How a message goes.
///
/// Errors: the step that has to be taken before that is known.
#[inline(always)]
pub fn send(facts: &Facts, known: &Known) -> Outcome<Decision> {
    if facts.size < facts.direct_from {
        return beside(facts, &Aside { source: Source::Opaque, offered: false }, known);
    }
    if known.passes_by {
        return beside(facts, &Aside { source: known.source, offered: false }, known);
    }
    if facts.irregular_blocks.is_some() && segments::asks(facts, known)? {
        return Ok(go(SendPlan::RndvSegments, Reason::Segments));
    }
    match deliver(facts, known)? {
        Ok((mode, Chosen { way, by })) => Ok(go(SendPlan::Deliver(way), why_delivered(facts, (mode, by), known))),
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

fn why_delivered(facts: &Facts, chosen: (CopyMode, ChosenBy), known: &Known) -> Reason {
    match chosen {
        (CopyMode::Single, ChosenBy::Plan) if !facts.suits_both() => Reason::Computes,
        (_, ChosenBy::Plan) => why_tried(known),
        // What was known of the copy did not hold where the receive lies.
        (_, by) => Reason::Published(by),
    }
}

/// How a message gets into the published receive that was found for it.
fn choose(mode: CopyMode, known: &Known) -> Outcome<(CopyMode, Chosen<Deliver>)> {
    match known.delivery.ok_or(Step::Choose(mode))? {
        Some(chosen) => Ok((mode, chosen)),
        None => Err(Step::PassBy),
    }
}

/// Where a message lies that no published receive takes.
#[derive(Clone, Copy, Debug)]
struct Aside {
    /// Where its bytes lie.
    source: Source,
    /// The source is speculative, and a look or the habit of the program has shown that the receiver is the one to copy.
    offered: bool,
}

/// How a message is delivered into a published receive. `Err`: none is published, and there the message lies.
#[inline]
fn deliver(facts: &Facts, known: &Known) -> Outcome<Result<(CopyMode, Chosen<Deliver>), Aside>> {
    if facts.size > facts.waiting_limit {
        // Its memory is of use in any case.
        locate(known, Purpose::Message)?;
        let mode = copy_mode(facts, known)?;
        known.published.ok_or(Step::LookPublished)?.ok_or(Step::PassBy)?;
        return Ok(Ok(choose(mode, known)?));
    }
    let awaited = facts.caller.waits();
    let left = facts.habit == Habit::Left;
    // What is left to its receiver need not wait for the line that tells whether it is ready.
    let speculative = !facts.is_exchange()
        && match known.speculative.ok_or(Step::Speculate)? {
            None => None,
            Some(sure) if awaited || (left && sure) || known.ready.ok_or(Step::PeekReady)? => Some(sure),
            Some(_) => None,
        }
        .is_some();
    let offers = awaited || facts.is_exchange() || speculative || left;
    let locates = (offers || facts.suits_one_copy()) && !facts.device_copies();
    let purpose = match facts.habit {
        Habit::Exchange => Purpose::Exchange,
        _ if offers => Purpose::Awaited,
        _ => Purpose::Message,
    };
    if locates && !speculative {
        locate(known, purpose)?;
    }
    if !is_awaited(facts, known)? {
        let place = match known.speculative {
            Some(Some(sure)) if speculative => Aside { source: Source::Shared { dense: true, sure }, offered: true },
            _ => Aside { source: known.source, offered: false },
        };
        return Ok(Err(place));
    }
    if locates && speculative {
        locate(known, purpose)?;
    }
    let is_known = locates || (facts.is_short() && facts.device_copies());
    if !is_known {
        locate(known, Purpose::Message)?;
    }
    Ok(Ok(choose(copy_mode(facts, known)?, known)?))
}

fn locate(known: &Known, purpose: Purpose) -> Outcome<()> {
    if known.located { Ok(()) } else { Err(Step::Locate(purpose)) }
}

/// Whether a receive is published that had better take the message: who waits for a message into private memory had better get it in packets.
fn is_awaited(facts: &Facts, known: &Known) -> Outcome<bool> {
    Ok(match known.published.ok_or(Step::LookPublished)? {
        Some(PublishedReceive { is_private: true, waits: true }) => !facts.suits_packets_into_private(),
        published => published.is_some(),
    })
}

/// Packets of a long message out of memory that its receiver sees would be this process's to copy.
fn copy_mode(facts: &Facts, known: &Known) -> Outcome<CopyMode> {
    let Source::Shared { dense, .. } = known.source else { return Ok(CopyMode::ByCosts) };
    let copied = if dense { Copied::Dense } else { Copied::InBlocks };
    Ok(match one_copy(facts, copied, known)? {
        Some(true) => CopyMode::Single,
        Some(false) => CopyMode::Packets,
        None if facts.habit == Habit::Left => CopyMode::Single,
        None => CopyMode::ByCosts,
    })
}

/// Whether one copy out of memory that the receiver sees has been sooner than packets. `None`: that is not tried.
///
/// Where the program writes its message anew each time, it has to get the lines back that the receiver has read, and the receiver
/// gets them once more: twice the traffic between the cores of a block that goes to and fro. Where it does not, the receiver has
/// them in its cache still. On an Intel Xeon 16 to 64 KiB take 1.7 to 2.8 times as long by the one copy, or a third to a half of the time.
/// The column of a matrix has a line of its own for each of its elements, and all of them make that journey, where packets hold eight
/// doubles in a line.
fn one_copy(facts: &Facts, copied: Copied, known: &Known) -> Outcome<Option<bool>> {
    if facts.suits_both() { known.tried(facts.along(), copied).map(Some) } else { Ok(None) }
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
        Offer::Packets if !facts.full => why_tried(known),
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
        true if known.lends.is_some() => go(SendPlan::EagerZeroCopy(packets), Reason::Lent),
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
    Ok(Offer::Get(unmatched, why_fetched(facts, readiness)))
}

/// Messages to a peer after which its sender looks at what has come, if it has done nothing but send since as many before: it may be told
/// to ask first. A power of two.
pub const LOOK_EVERY: u32 = 16;
/// The same for the shortest messages: a multiple of the other.
pub const LOOK_EVERY_SHORT: u32 = 64;

/// Why both ways are no question any more.
fn why_tried(known: &Known) -> Reason {
    match known.turn {
        Some(Turn { mirrored: true, .. }) => Reason::Mirrored,
        _ => Reason::Tried,
    }
}

/// Why the receiver copies.
fn why_fetched(facts: &Facts, readiness: Readiness) -> Reason {
    match readiness {
        Readiness::Seen => Reason::Ready,
        Readiness::Predicted => Reason::Predicted,
        Readiness::No if facts.caller == Caller::Call => Reason::Call,
        Readiness::No if facts.habit == Habit::Left => Reason::Computes,
        Readiness::No => Reason::Exchange,
    }
}

/// Out of private memory in one run: whether its receiver has the kernel copy it alone.
fn by_kernel(facts: &Facts, known: &Known) -> Outcome<Offer> {
    let likely = facts.pair.suits_kernel(facts.size);
    if likely == Likely::No {
        return Ok(Offer::Memory);
    }
    let (along, readiness) = match facts.caller {
        _ if facts.habit == Habit::Exchange => (Along::Exchange, Readiness::No),
        _ if !facts.is_short() => return Ok(Offer::Memory),
        Caller::Call => (Along::Call, Readiness::No),
        Caller::Nonblocking if known.ready.ok_or(Step::PeekReady)? => (Along::Alone, Readiness::Seen),
        Caller::Nonblocking => return Ok(Offer::Memory),
        Caller::Blocking => match known.readiness.ok_or(Step::LookReady { predicts: true })? {
            Readiness::No => return Ok(Offer::Memory),
            readiness => (Along::Alone, readiness),
        },
    };
    if likely == Likely::Perhaps && !known.tried(along, Copied::ByKernel)? {
        // What is tried is not left to the receiver.
        return Ok(Offer::Packets);
    }
    Ok(Offer::Kernel(Unmatched::of(readiness, facts.is_kept(true)), why_fetched(facts, readiness)))
}

#[cfg(test)]
mod tests;
