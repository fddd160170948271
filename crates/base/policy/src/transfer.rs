//! Who moves the bytes of a message between two processes of a node, and by which mechanism: a pure function of costs and of what is known
//! about the message.
//!
//! [`choose`] gives the cheapest way that a [`Situation`] allows, and [`Chooser`] remembers its answers in a table, so that the path of a
//! message pays one load. [`Chooser::deliver`] is for a sender that sees a published receive, [`Chooser::get`] for a
//! receiver of a message that waits at its sender. A device states the situation, and does what was chosen.

mod chooser;
mod chosen;
mod deliver;
mod rooted;
mod single_copy;
mod sizes;
mod thresholds;

pub use chooser::Chooser;
pub use chosen::{Chosen, ChosenBy};
pub use deliver::{CHUNK, CopyMode, Deliver, Get, chunk};
pub use rooted::Rooted;
pub use single_copy::{ROOTED, SingleCopy, among_all, between_two};
pub use thresholds::{Thresholds, promotions};

use tern_settings::Mechanism;

use crate::costs::{Costs, Mover, Placement, Warmth};

/// Which process copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// The sender alone.
    Sender,
    /// The receiver alone.
    Receiver,
    /// Both, each parts of the message.
    Both,
}

/// A way to move a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transfer {
    /// At once through the cells of the ring, whether or not a receive is there.
    Eager,
    /// In parts through the ring once a receive has matched. Always possible.
    Pipe,
    /// By a plain copy between mapped pages.
    Mapped {
        /// Who copies.
        by: By,
    },
    /// By process_vm_readv (receiver) or process_vm_writev (sender).
    Cma {
        /// Who has the kernel copy.
        by: By,
    },
}

impl Transfer {
    /// All transfers; of two that cost the same, the earlier is taken.
    pub const ALL: [Transfer; 8] = [
        Transfer::Eager,
        Transfer::Mapped { by: By::Sender },
        Transfer::Mapped { by: By::Receiver },
        Transfer::Mapped { by: By::Both },
        Transfer::Pipe,
        Transfer::Cma { by: By::Sender },
        Transfer::Cma { by: By::Receiver },
        Transfer::Cma { by: By::Both },
    ];

    /// Who copies; `None` where each side does its own part.
    pub fn by(self) -> Option<By> {
        match self {
            Transfer::Eager | Transfer::Pipe => None,
            Transfer::Mapped { by } | Transfer::Cma { by } => Some(by),
        }
    }

    /// The name for the user.
    pub fn name(self) -> &'static str {
        match self {
            Transfer::Eager => "eager",
            Transfer::Pipe => "pipe",
            Transfer::Mapped { by: By::Sender } => "mapped, sender",
            Transfer::Mapped { by: By::Receiver } => "mapped, receiver",
            Transfer::Mapped { by: By::Both } => "mapped, both",
            Transfer::Cma { by: By::Sender } => "cma, sender",
            Transfer::Cma { by: By::Receiver } => "cma, receiver",
            Transfer::Cma { by: By::Both } => "cma, both",
        }
    }

    fn mover(self) -> Mover {
        match self {
            Transfer::Eager => Mover::Eager,
            Transfer::Pipe => Mover::Pipe,
            Transfer::Mapped { by: By::Sender } => Mover::MappedPush,
            Transfer::Mapped { by: By::Receiver } => Mover::Mapped,
            Transfer::Mapped { by: By::Both } => Mover::MappedBoth,
            Transfer::Cma { by: By::Sender } => Mover::CmaPush,
            Transfer::Cma { by: By::Receiver } => Mover::Cma,
            Transfer::Cma { by: By::Both } => Mover::CmaBoth,
        }
    }

    /// The mover of one process alone.
    fn lone_mover(self) -> Mover {
        match self.mover() {
            Mover::MappedBoth => Mover::Mapped,
            Mover::CmaBoth => Mover::Cma,
            mover => mover,
        }
    }

    /// Whether a user who asked for this mechanism alone gets what was asked for.
    fn is(self, mechanism: Mechanism) -> bool {
        match mechanism {
            Mechanism::Auto => true,
            Mechanism::Pipe => matches!(self, Transfer::Eager | Transfer::Pipe),
            Mechanism::Cma | Mechanism::Module => matches!(self, Transfer::Cma { .. }),
            Mechanism::Mapped => matches!(self, Transfer::Mapped { .. }),
        }
    }
}

/// How far a message has come when the choice is made, and so who makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The sender sees no receive. It sends eagerly, or asks; then what is chosen here is what the
    /// receiver is expected to choose at [`Stage::Requested`].
    Unseen,
    /// The sender sees a published receive that it may fill. `Eager` and `Pipe` and all that the
    /// receiver copies go by the stream.
    Published,
    /// The receiver has matched a request to send.
    Requested,
}

/// What is known of a message when the choice is made. A bit that says "can" is about this very
/// message: false where the other side's layout or address is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// Bytes to move.
    pub size: u64,
    /// How far the message has come.
    pub stage: Stage,
    /// The other process is inside MPI with nothing else to do; it does not compute.
    pub other_waits: bool,
    /// The receiver can have the sender's buffer mapped.
    pub source_shared: bool,
    /// The sender can have the receiver's buffer mapped.
    pub target_shared: bool,
    /// The sender can write to the receiver by CMA, as was proven.
    pub push: bool,
    /// The receiver can read from the sender by CMA, as was proven.
    pub pull: bool,
    /// The message may be sent eagerly.
    pub eager: bool,
    /// Bytes of a contiguous piece, the smaller of both sides; 0 if all is contiguous.
    pub block: u64,
    /// Where the two processes are.
    pub placement: Placement,
    /// Whether the buffers are expected in a cache.
    pub warmth: Warmth,
    /// The other one's memory is declared to the kernel module, which may copy in place of CMA.
    pub by_module: bool,
    /// The two processes may have to share a core: more ranks than cores.
    pub crowded: bool,
    /// This process can give its share of the copy to a thread, and its program most likely computes before it waits ([`crate::offload`]).
    pub has_copier: bool,
}

impl Default for Situation {
    /// An empty contiguous message between private buffers on a quiet machine, with nothing proven.
    fn default() -> Situation {
        Situation {
            size: 0,
            stage: Stage::Unseen,
            other_waits: true,
            source_shared: false,
            target_shared: false,
            push: false,
            pull: false,
            eager: true,
            block: 0,
            placement: Placement::L3,
            warmth: Warmth::Warm,
            by_module: false,
            crowded: false,
            has_copier: false,
        }
    }
}

impl Situation {
    /// Whether this transfer can be made here.
    pub fn allows(&self, transfer: Transfer) -> bool {
        let sees = self.stage == Stage::Published;
        match transfer {
            Transfer::Eager => self.eager && self.stage != Stage::Requested,
            Transfer::Pipe => true,
            Transfer::Mapped { by: By::Sender } => sees && self.target_shared,
            Transfer::Mapped { by: By::Receiver } => self.source_shared,
            Transfer::Mapped { by: By::Both } => self.other_waits && self.source_shared && self.target_shared,
            Transfer::Cma { by: By::Sender } => sees && self.push,
            Transfer::Cma { by: By::Receiver } => self.pull,
            // Whoever begins has seen that it works; if the other one cannot, it leaves all to the first.
            Transfer::Cma { by: By::Both } => {
                let dense = self.block == 0;
                self.other_waits && self.size >= CMA_BOTH_FROM && dense && (self.pull || sees && self.push)
            }
        }
    }

    /// The transfers for which the other process need not do anything, so that it can compute.
    fn spares_the_other(&self, transfer: Transfer) -> bool {
        match self.stage {
            Stage::Unseen => false,
            Stage::Published => transfer.by() == Some(By::Sender),
            Stage::Requested => transfer.by() == Some(By::Receiver),
        }
    }

    /// Messages between the two until both have done with this one.
    fn packets(&self, transfer: Transfer) -> f64 {
        let all = match transfer {
            // The data itself; or a word that the receive is filled.
            Transfer::Eager => 1.0,
            Transfer::Mapped { by: By::Sender } | Transfer::Cma { by: By::Sender } => 1.0,
            // A request, and a word that it is done.
            Transfer::Mapped { .. } | Transfer::Cma { .. } => 2.0,
            // A request, the answer, and the first part.
            Transfer::Pipe => 3.0,
        };
        match self.stage {
            // The request has come already; where both copy, the sender must be told instead.
            Stage::Requested if transfer.by() != Some(By::Both) => all - 1.0,
            _ => all,
        }
    }

    /// How many pieces the message is in; 0 if it is contiguous.
    fn pieces(&self) -> f64 {
        self.size.checked_div(self.block).unwrap_or(0) as f64
    }

    /// Nanoseconds until both processes have done with the message.
    fn predict(&self, costs: &Costs, transfer: Transfer) -> f64 {
        let pace = costs.pace(self.placement);
        let mover = match self.crowded {
            // Two that take turns on one core do not help each other.
            true => transfer.lone_mover(),
            false => transfer.mover(),
        };
        let mut ns = match mover {
            Mover::Cma | Mover::CmaPush | Mover::CmaBoth if self.by_module => {
                pace.by_module(mover, self.warmth, self.size)
            }
            _ => pace.at(mover, self.warmth, self.size),
        };
        ns += self.pieces()
            * match mover {
                Mover::Eager | Mover::Pipe => 2.0 * costs.piece,
                Mover::Cma | Mover::CmaPush | Mover::Module => costs.kernel_piece,
                Mover::CmaBoth => costs.kernel_piece / 2.0,
                Mover::Mapped | Mover::MappedPush => costs.piece,
                Mover::MappedBoth => costs.piece / 2.0,
            };
        let packets = self.packets(transfer);
        ns += packets * pace.packet;
        if self.crowded {
            // The copies into the ring and out of it come one after the other, a ring at a time.
            if matches!(mover, Mover::Eager | Mover::Pipe) {
                ns *= 2.0;
                ns += (self.size / WINDOW) as f64 * costs.switch;
            }
            ns += packets * costs.switch;
        }
        ns.min(f64::MAX)
    }
}

/// Shortest message of which both processes have parts copied by the kernel.
pub const CMA_BOTH_FROM: u64 = 32 << 10;
/// Bytes that a ring holds.
const WINDOW: u64 = 256 << 10;
/// The smallest message that a mechanism which the user asked for must carry. Smaller ones may go
/// through the ring too.
pub const FORCED_FROM: u64 = 1024;

/// What was chosen, and what else there was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// What was chosen.
    pub transfer: Transfer,
    /// Nanoseconds that it is expected to take.
    pub ns: f64,
    /// Nanoseconds of each of [`Transfer::ALL`]; `None` where the situation does not allow it.
    pub all: [Option<f64>; 8],
}

/// Predictions are wrong by this factor at most; what is dearer by more is not tried.
const DOUBT: f64 = 2.5;
/// The same where a message could go at once, for it costs something to find out.
const CLOSE: f64 = 1.5;
impl Choice {
    /// Why this was chosen although another way is expected to take less time; `None` where none is.
    pub fn passes_over(&self, asked: Mechanism, situation: &Situation) -> Option<&'static str> {
        let possible = Transfer::ALL.into_iter().zip(self.all).filter_map(|(transfer, ns)| Some((transfer, ns?)));
        let (quickest, _) = cheapest(possible).filter(|(_, ns)| *ns < self.ns)?;
        Some(match () {
            () if asked != Mechanism::Auto && !quickest.is(asked) => "TERN_MECHANISM asks for it",
            () if situation.spares_the_other(self.transfer) && !situation.spares_the_other(quickest) => {
                "it leaves the other process alone, which computes; the quicker way would need that one's calls"
            }
            () => "nothing else is possible that is asked for",
        })
    }

    /// Whether a receive had better be published, for a message of `size` bytes that could go in packets at once: where the kernel would
    /// copy, even if that is only close, if both ways are tried then. `publishing`: [`Costs::publishing`].
    pub fn pays_to_publish(&self, size: u64, publishing: f64) -> bool {
        let ways = || Transfer::ALL.into_iter().zip(self.all).filter_map(|(transfer, ns)| Some((transfer, ns?)));
        let best = |is: fn(Transfer) -> bool| cheapest(ways().filter(|(transfer, _)| is(*transfer))).map(|(_, ns)| ns);
        let packets = best(|transfer| transfer == Transfer::Eager);
        let mapped = best(|transfer| transfer.is(Mechanism::Mapped));
        let kernel = best(|transfer| transfer.is(Mechanism::Cma));
        match (packets, mapped, kernel) {
            (Some(packets), Some(mapped), _) => mapped + publishing < packets,
            (Some(packets), None, Some(kernel)) if size >= CMA_BOTH_FROM => kernel < CLOSE * packets,
            (Some(packets), None, Some(kernel)) => kernel + publishing < packets,
            (Some(_), None, None) => false,
            (None, ..) => true,
        }
    }

    /// The way that should be tried beside the chosen one, on real messages: between private buffers
    /// of two processes that both wait, two copies through the ring and one by the kernel are close, and
    /// which is faster depends on what the program does with the data before and after. Of buffers that both see, senders find that out.
    pub fn rival(&self, situation: &Situation) -> Option<Transfer> {
        let open = situation.other_waits && !situation.crowded && situation.stage != Stage::Unseen;
        let private = !situation.source_shared && !situation.target_shared;
        let wanted = match self.transfer {
            Transfer::Eager | Transfer::Pipe if private => Mechanism::Cma,
            Transfer::Cma { .. } if private => Mechanism::Pipe,
            _ => return None,
        };
        let others = Transfer::ALL.into_iter().zip(self.all);
        let others = others.filter_map(|(transfer, ns)| Some((transfer, ns?)));
        let others = others.filter(|(transfer, _)| transfer.is(wanted));
        let (rival, ns) = cheapest(others)?;
        let long = !situation.eager || situation.size >= CMA_BOTH_FROM;
        (open && long && ns < DOUBT * self.ns).then_some(rival)
    }
}

/// Shortest message between private memories that a receiver which waits has the kernel copy alone: what is one packet is as soon there.
pub const FETCHED_BY_KERNEL_FROM: u64 = 12 << 10;

/// Whether a receiver that waits for a message between private memories may have it sooner if the kernel copies it for this process
/// alone, after a request to send, than in packets.
pub fn may_fetch_by_kernel(costs: &Costs, placement: Placement, size: u64) -> bool {
    let by_module = costs.module;
    let requested =
        Situation { size, stage: Stage::Requested, pull: true, by_module, placement, ..Situation::default() };
    let fetched = requested.predict(costs, Transfer::Cma { by: By::Receiver }) + costs.pace(placement).packet;
    fetched < DOUBT * Situation { stage: Stage::Unseen, ..requested }.predict(costs, Transfer::Eager)
}

/// Chooses how to move a message.
///
/// The fastest by `costs` of those that the situation allows, except that
/// - while the other process computes, one that leaves it alone goes before all others, however
///   slow;
/// - a mechanism that the user has asked for goes before all others where it is possible, and
///   where it is not, the message goes through the ring.
pub fn choose(costs: &Costs, asked: Mechanism, situation: &Situation) -> Choice {
    let all = Transfer::ALL.map(|transfer| situation.allows(transfer).then(|| situation.predict(costs, transfer)));
    let possible = || Transfer::ALL.into_iter().zip(all).filter_map(|(transfer, ns)| Some((transfer, ns?)));
    let is_asked = |transfer: Transfer| transfer.is(asked);
    let is_ring = |transfer: Transfer| transfer.is(Mechanism::Pipe);
    let asked_is_possible = possible().any(|(transfer, _)| is_asked(transfer));
    let candidates = || {
        possible().filter(|&(transfer, _)| match asked_is_possible {
            true if situation.size < FORCED_FROM => is_asked(transfer) || is_ring(transfer),
            true => is_asked(transfer),
            false => is_ring(transfer),
        })
    };
    let sparing = |&(transfer, _): &(Transfer, f64)| situation.spares_the_other(transfer);
    let fastest = match situation.other_waits {
        false => cheapest(candidates().filter(sparing)).or_else(|| cheapest(candidates())),
        true => cheapest(candidates()),
    };
    // The pipe is always possible, and a candidate where nothing else is.
    let (transfer, ns) = fastest.expect("a candidate");
    Choice { transfer, ns, all }
}

/// The first of the cheapest.
fn cheapest(candidates: impl Iterator<Item = (Transfer, f64)>) -> Option<(Transfer, f64)> {
    candidates.min_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests;
