//! Whether a message looks for a published receive, and how it is delivered into one.
//!
//! Where the message lies is asked before the look, unless there is a speculative address: meanwhile a receiver does the same for a receive that it is
//! about to publish.

use crate::copies::Copied;
use crate::facts::{Aside, Facts, Look, Pattern, Purpose, Source, one_copy};

/// How a message gets into a published receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMode {
    /// By one copy: that has proved quicker, or the program computes meanwhile.
    Single,
    /// In packets: these have proved quicker.
    Packets,
    /// As its device finds best, by the costs.
    ByDevice,
}

/// How a message is delivered into a published receive. `Err`: none is published, and there the message lies.
pub(crate) fn deliver(facts: &Facts, look: &mut impl Look) -> Result<CopyMode, Aside> {
    if facts.size > facts.waiting_limit {
        // Its memory is of use in any case.
        look.locate(Purpose::Unknown);
        return Ok(copy_mode(facts, look));
    }
    let awaited = facts.caller.waits();
    let left = facts.pattern == Pattern::Left;
    // What is left to its receiver need not wait for the line that tells whether it is ready.
    let speculative =
        !facts.is_exchange() && look.speculate().is_some_and(|sure| awaited || (left && sure) || look.is_ready());
    let offers = awaited || facts.is_exchange() || speculative || left;
    let locates = (offers || look.suits_one_copy()) && !look.device_copies();
    let purpose = match facts.pattern {
        Pattern::Exchange => Purpose::Exchange,
        _ if offers => Purpose::Awaited,
        _ => Purpose::Message,
    };
    if locates && !speculative {
        look.locate(purpose);
    }
    if !look.finds_receive() {
        return Err(match speculative {
            true => Aside { source: look.take_speculative(), offered: true },
            false => look.source().into(),
        });
    }
    if locates && speculative {
        look.locate(purpose);
    }
    let is_known = locates || (facts.is_short() && look.device_copies());
    if !is_known {
        look.locate(Purpose::Unknown);
    }
    Ok(copy_mode(facts, look))
}

/// Packets of a long message out of memory that its receiver sees would be this process's to copy.
fn copy_mode(facts: &Facts, look: &mut impl Look) -> CopyMode {
    let Source::Shared { dense, .. } = look.source() else { return CopyMode::ByDevice };
    let copied = if dense { Copied::Dense } else { Copied::InBlocks };
    match one_copy(facts, copied, look) {
        Some(true) => CopyMode::Single,
        Some(false) => CopyMode::Packets,
        None if facts.pattern == Pattern::Left => CopyMode::Single,
        None => CopyMode::ByDevice,
    }
}
