//! How a message goes.
//!
//! [`send`](fn@send) takes what is known of the message, and gives the next step: one that finds out what takes time to know, or the way that the
//! message goes. No step changes the message. Messages that are [short](ShortPath) take none.

use crate::copies::{Along, Copied};
use crate::deliver::{Aside, CopyMode, deliver};
use crate::facts::{Caller, Facts, Likely, Pattern, Readiness, Source, ZeroCopy};
use crate::segments;
use crate::step::{Address, Decision, Known, Step};

/// What was decided, or the step that has to be taken before.
pub(crate) type Outcome<T> = Result<T, Step>;

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

impl SendPlan {
    /// For the user.
    pub fn text(self) -> &'static str {
        match self {
            SendPlan::Inline => "one packet",
            SendPlan::Eager(_) => "packets at once",
            SendPlan::EagerZeroCopy(_) => "packets from where it lies",
            SendPlan::Deliver(CopyMode::Single) => "one copy into the published receive",
            SendPlan::Deliver(CopyMode::Packets) => "packets into the published receive",
            SendPlan::Deliver(CopyMode::ByDevice) => "into the published receive, by the costs",
            SendPlan::RndvGet(_) => "a request; the receiver gets it from where it lies",
            SendPlan::RndvKernel(_) => "a request; the kernel copies it for the receiver",
            SendPlan::RndvSegments => "a request; the receiver copies it out of a region of segments",
            SendPlan::RndvPackets => "a request; packets when the receiver is ready",
        }
    }
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

/// Why a message goes as it does. The rules are those of [`crate::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is too short for anything else.
    Short,
    /// A receive is published for it, and the costs tell the device how to copy.
    Published,
    /// The program computes meanwhile.
    Computes,
    /// Both ways were tried on the program's own messages: the rules `copies` and `mirror`.
    Tried,
    /// A region of segments has proved quicker: the rule `segments`.
    Segments,
    /// The receiver was seen to wait for it.
    Ready,
    /// The receiver most likely waits for it: the rule `predict-ready`.
    Predicted,
    /// Both processes send and then wait, or a call sends several messages: the receiver copies its own.
    Exchange,
    /// The receiver waits in the library, and takes packets as they come.
    Waiting,
    /// No receive is published, and it goes without asking.
    Unmatched,
    /// It is too long to go without asking.
    Long,
    /// Its receiver keeps too many messages.
    Full,
    /// The network takes it from where it lies: the rule `lend`, where its caller waits.
    ZeroCopy,
}

impl Reason {
    /// For the user: the words behind "since".
    pub fn text(self) -> &'static str {
        match self {
            Reason::Short => "it is too short for another way",
            Reason::Published => "its receive was published",
            Reason::Computes => "the program computes meanwhile",
            Reason::Tried => "it has proved quicker in this program (rules copies, mirror)",
            Reason::Segments => "a region of segments has proved quicker in this program (rule segments)",
            Reason::Ready => "its receiver was seen to wait for it",
            Reason::Predicted => "its receiver most likely waits for it (rule predict-ready)",
            Reason::Exchange => "its call waits for several messages, or both processes send and then wait",
            Reason::Waiting => "its receiver waits and takes packets as they come",
            Reason::Unmatched => "no receive was published, and it is short enough to go at once",
            Reason::Long => "no receive was published, and it is too long to go at once",
            Reason::Full => "its receiver keeps too many messages already",
            Reason::ZeroCopy => "the network takes it from where it lies (rule lend)",
        }
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

/// The next step of a message.
#[inline]
pub fn send(facts: &Facts, known: &Known) -> Step {
    decide(facts, known).map_or_else(|step| step, Step::Go)
}

/// The next step of a message that no published receive takes. What was known of its receiver may have changed.
pub fn aside(facts: &Facts, known: &Known) -> Step {
    let place = Aside { source: known.source, offered: false };
    beside(facts, &place, known).map_or_else(|step| step, Step::Go)
}

fn decide(facts: &Facts, known: &Known) -> Outcome<Decision> {
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
        && facts.suits_packets_into_private(known)?
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
    let likely = facts.suits_kernel(known)?;
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

/// Whether one copy of such memory is the way, by its trial.
pub(crate) fn tried(along: Along, copied: Copied, known: &Known) -> Outcome<bool> {
    match known.one_copy {
        Some((of, once)) if of == copied => Ok(once),
        _ => Err(Step::Try(along, copied)),
    }
}

/// Whether one copy out of memory that the receiver sees has been sooner than packets. `None`: that is not tried.
///
/// Where the program writes its message anew each time, it has to get the lines back that the receiver has read, and the receiver
/// gets them once more: twice the traffic between the cores of a block that goes to and fro. Where it does not, the receiver has
/// them in its cache still. On an Intel Xeon 16 to 64 KiB take 1.7 to 2.8 times as long by the one copy, or a third to a half of the time.
/// The column of a matrix has a line of its own for each of its elements, and all of them make that journey, where packets hold eight
/// doubles in a line.
pub(crate) fn one_copy(facts: &Facts, copied: Copied, known: &Known) -> Outcome<Option<bool>> {
    if facts.suits_both() { tried(facts.along(), copied, known).map(Some) } else { Ok(None) }
}

#[cfg(test)]
mod tests;
