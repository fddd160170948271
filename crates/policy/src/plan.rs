//! The ways of a message, and the reasons for them.

use crate::facts::Readiness;

/// How a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendPlan {
    /// In one packet, beside its header: [`ShortPath::plan_fast`](crate::ShortPath::plan_fast).
    Inline,
    /// In packets, at once.
    Eager(Packets),
    /// The same, and the network takes the packets from where the message lies. The buffer is free when the network is done.
    EagerZeroCopy(Packets),
    /// Into a receive that is published. Where that is gone, or never was, [`aside`](crate::aside) has the next plan.
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
            SendPlan::Deliver(_) => "into the published receive",
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
    /// The receiver most likely waits for it: the rule `expect-ready`.
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
            Reason::Predicted => "its receiver most likely waits for it (rule expect-ready)",
            Reason::Exchange => "its call waits for several messages, or both processes send and then wait",
            Reason::Waiting => "its receiver waits and takes packets as they come",
            Reason::Unmatched => "no receive was published, and it is short enough to go at once",
            Reason::Long => "no receive was published, and it is too long to go at once",
            Reason::Full => "its receiver keeps too many messages already",
            Reason::ZeroCopy => "the network takes it from where it lies (rule lend)",
        }
    }
}
