//! The ways of a message, and the reasons for them.

use crate::facts::Readiness;
use crate::maker::{Maker, Why};
use crate::rules;
use crate::transfer::{ChosenBy, Deliver};

/// How a message goes that the [short path](crate::ShortPath) does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendPlan {
    /// In packets, at once.
    Eager(Packets),
    /// The same, and the network takes the packets from where the message lies. The buffer is free when the network is done.
    EagerZeroCopy(Packets),
    /// Into a receive that is published, in that way. Where the receive is gone, [`send`](fn@crate::send) has another plan for what is
    /// [known](crate::Known::aside) then.
    Deliver(Deliver),
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
            SendPlan::Eager(_) => "packets at once",
            SendPlan::EagerZeroCopy(_) => "packets from where it lies",
            SendPlan::Deliver(way) => way.text(),
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
    /// The same. The sender predicts that the receiver waits for it (the rule `expect-ready`), and notes whether it did.
    KeptPredicted,
}

impl Unmatched {
    pub(crate) fn of(readiness: Readiness, kept: bool) -> Unmatched {
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

/// Why a message goes as it does. The rules are those of [`crate::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is too short for anything else.
    Short,
    /// A receive is published for it, and the way was chosen so.
    Published(ChosenBy),
    /// The program computes meanwhile.
    Computes,
    /// Both ways were tried on the program's own messages: the rule `copies`.
    Tried,
    /// The peer has tried both ways, and sends so: the rule `copies`.
    Mirrored,
    /// A region of segments has proved quicker: the rule `segments`.
    Segments,
    /// The receiver was seen to wait for it.
    Ready,
    /// The receiver most likely waits for it: the rule `expect-ready`.
    Predicted,
    /// Both processes send and then wait: the receiver copies its own.
    Exchange,
    /// Its call sends several messages: the receiver copies its own.
    Call,
    /// The receiver waits in the library, and takes packets as they come.
    Waiting,
    /// No receive is published, and it goes without asking.
    Unmatched,
    /// It is too long to go without asking.
    Long,
    /// Its receiver keeps too many messages.
    Full,
    /// The network takes it from where it lies.
    ZeroCopy,
    /// The same, and its call waits for the network: the rule `lend`.
    Lent,
}

impl Reason {
    /// For the user. `mechanism`: by which the device has moved the message.
    pub fn why(self, mechanism: &'static str) -> Why {
        let (reason, maker) = match self {
            Reason::Short => ("it is too short for another way", Maker::Default),
            Reason::Published(by) => return by.why("its receive was published", mechanism),
            Reason::Computes => ("the program computes meanwhile", Maker::Default),
            Reason::Tried => ("it has proved quicker in this program", Maker::Rule(&rules::COPIES)),
            Reason::Mirrored => ("its receiver sends so to this process", Maker::Rule(&rules::COPIES)),
            Reason::Segments => {
                ("a region of segments has proved quicker in this program", Maker::Rule(&rules::SEGMENTS))
            }
            Reason::Ready => ("its receiver was seen to wait for it", Maker::Default),
            Reason::Predicted => ("its receiver most likely waits for it", Maker::Rule(&rules::EXPECT_READY)),
            Reason::Exchange => ("both processes send and then wait", Maker::Rule(&rules::HABITS)),
            Reason::Call => ("its call waits for several messages", Maker::Default),
            Reason::Waiting => ("its receiver waits and takes packets as they come", Maker::Default),
            Reason::Unmatched => ("no receive was published, and it is short enough to go at once", Maker::Default),
            Reason::Long => ("no receive was published, and it is too long to go at once", Maker::Default),
            Reason::Full => ("its receiver keeps too many messages already", Maker::Default),
            Reason::ZeroCopy => ("the network takes it from where it lies", Maker::Default),
            Reason::Lent => ("the network takes it from where it lies, and its call waits", Maker::Rule(&rules::LEND)),
        };
        Why::new(reason, maker)
    }
}

impl ChosenBy {
    /// For the user, of a message whose receive is known, as `known` tells. `mechanism`: by which the device has moved it.
    pub fn why(self, known: &'static str, mechanism: &'static str) -> Why {
        match self {
            ChosenBy::Costs => Why::new(known, Maker::Costs(mechanism)),
            ChosenBy::Trial => Why::new("it has proved quicker in this program", Maker::Rule(&rules::COPIES)),
            ChosenBy::Offload => {
                Why::new("the program computes meanwhile, at no cost of the copy", Maker::Costs(mechanism))
            }
            ChosenBy::Mechanism => Why::new(known, Maker::Setting("TERN_MECHANISM")),
            ChosenBy::Length => Why::new(known, Maker::Setting("TERN_SINGLE_COPY_FROM")),
            ChosenBy::Plan | ChosenBy::Only => Why::new(known, Maker::Default),
        }
    }
}
