//! Whether a message looks for a published receive, and how it is delivered into one.
//!
//! Where the message lies is asked before the look, unless there is a speculative address: meanwhile a receiver does the same for a receive that it is
//! about to publish.

use crate::copies::Copied;
use crate::facts::{Facts, Pattern, Purpose, Source};
use crate::plan::CopyMode;
use crate::questions::one_copy;
use crate::step::{Known, Outcome, PublishedReceive, Step};

/// Where a message lies that no published receive takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aside {
    /// Where its bytes lie.
    pub source: Source,
    /// The source is speculative, and a look or the pattern of the program has shown that the receiver is the one to copy.
    pub offered: bool,
}

/// How a message is delivered into a published receive. `Err`: none is published, and there the message lies.
#[inline]
pub(crate) fn deliver(facts: &Facts, known: &Known) -> Outcome<Result<CopyMode, Aside>> {
    if facts.size > facts.waiting_limit {
        // Its memory is of use in any case.
        locate(known, Purpose::Unknown)?;
        return Ok(Ok(copy_mode(facts, known)?));
    }
    let awaited = facts.caller.waits();
    let left = facts.pattern == Pattern::Left;
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
    let purpose = match facts.pattern {
        Pattern::Exchange => Purpose::Exchange,
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
        locate(known, Purpose::Unknown)?;
    }
    Ok(Ok(copy_mode(facts, known)?))
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
    let Source::Shared { dense, .. } = known.source else { return Ok(CopyMode::ByDevice) };
    let copied = if dense { Copied::Dense } else { Copied::InBlocks };
    Ok(match one_copy(facts, copied, known)? {
        Some(true) => CopyMode::Single,
        Some(false) => CopyMode::Packets,
        None if facts.pattern == Pattern::Left => CopyMode::Single,
        None => CopyMode::ByDevice,
    })
}
