//! What moving bytes between two processes of a node costs on a machine, as plain data: nanoseconds by size for every mover, placement, and
//! state of the caches.
//!
//! The crate `tern-tune` measures these figures and stores them. [`transfer`](crate::transfer) chooses by them.

mod curve;
mod defaults;
mod placement;
mod promotion;
mod shared_cache;
mod warmth;

use alloc::string::String;
pub use curve::Curve;
pub use placement::{ByPlacement, PLACEMENTS, Placement};
pub use promotion::Promotion;
pub use shared_cache::SharedCache;
pub use warmth::{CacheRoom, Recency, Warmth};

/// What moves the bytes, as far as cost goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mover {
    /// Two copies through the cells of the ring, at once.
    Eager,
    /// Two copies through the ring in parts, after a handshake.
    Pipe,
    /// process_vm_readv by the receiver.
    Cma,
    /// process_vm_writev by the sender.
    CmaPush,
    /// Both of these, each on parts of the message.
    CmaBoth,
    /// A vector copy by the receiver, who has the source mapped.
    Mapped,
    /// A vector copy by the sender, who has the target mapped: it stores to lines that another
    /// core may hold, and that can take longer than to load them.
    MappedPush,
    /// Both of these, each on parts of the message.
    MappedBoth,
    /// The kernel module by the receiver, out of memory that the sender has declared to it.
    Module,
}

impl Mover {
    /// All movers.
    pub const ALL: [Mover; 9] = [
        Mover::Eager,
        Mover::Pipe,
        Mover::Cma,
        Mover::CmaPush,
        Mover::CmaBoth,
        Mover::Mapped,
        Mover::MappedPush,
        Mover::MappedBoth,
        Mover::Module,
    ];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Mover::Eager => "eager",
            Mover::Pipe => "pipe",
            Mover::Cma => "cma",
            Mover::CmaPush => "cma-push",
            Mover::CmaBoth => "cma-both",
            Mover::Mapped => "mapped",
            Mover::MappedPush => "mapped-push",
            Mover::MappedBoth => "mapped-both",
            Mover::Module => "module",
        }
    }
}

/// The costs between two cores of one placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Nanoseconds for a packet without payload, from send to receive.
    pub packet: f64,
    /// Nanoseconds to move a message, without handshakes: by [`Mover`] and [`Warmth`].
    pub movers: [[Curve; 2]; 9],
}

impl Pace {
    /// Nanoseconds for `size` bytes.
    pub fn at(&self, mover: Mover, warmth: Warmth, size: u64) -> f64 {
        self.movers[mover as usize][warmth as usize].at(size)
    }

    /// The same of a copy by the kernel, where its module may make it: the module, or process_vm_readv and process_vm_writev if these are
    /// quicker. Both sides and a sender are taken to gain as much by the module as a receiver does.
    pub fn by_module(&self, mover: Mover, warmth: Warmth, size: u64) -> f64 {
        let (own, cma, module) =
            (self.at(mover, warmth, size), self.at(Mover::Cma, warmth, size), self.at(Mover::Module, warmth, size));
        if module < cma { own * module / cma } else { own }
    }
}

/// Everything that is known of what things cost on this machine. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// By [`Placement`].
    pub paces: [Pace; PLACEMENTS],
    /// R: to turn a private buffer of that size into shared memory in place.
    pub promote: Curve,
    /// V: to look up whether a promoted buffer still is what it was.
    pub lookup: f64,
    /// To declare memory of that size to the kernel module, which pins its pages.
    pub pin: Curve,
    /// To give that up.
    pub unpin: Curve,
    /// To map memory of that size which a peer has declared, to touch each page of it once, and to unmap it.
    pub attach: Curve,
    /// The kernel module is there, and this process may use it. It is no figure: files of costs have nothing of it.
    pub module: bool,
    /// More for each piece of a message that is not contiguous, copied once in user space.
    pub piece: f64,
    /// More for each piece that the kernel copies.
    pub kernel_piece: f64,
    /// To wake a process that sleeps, until it runs.
    pub wake: f64,
    /// To hand a core to another process that shares it.
    pub switch: f64,
    /// Copies of some KiB are faster by vectors than by the C library.
    pub vectors: bool,
    /// Where the figures come from, one line for the user.
    pub origin: String,
}

impl Costs {
    /// How the origin of figures begins that were measured.
    pub const MEASURED: &str = "measured: ";

    /// Whether these are figures of this machine, as far as their origin says so.
    pub fn is_measured(&self) -> bool {
        self.origin.starts_with(Costs::MEASURED)
    }

    /// The costs between cores of this placement.
    pub fn pace(&self, placement: Placement) -> &Pace {
        &self.paces[placement as usize]
    }

    /// Nanoseconds of a copy by the kernel out of private memory that is used again and again: declared to the module, where that is there.
    pub fn by_kernel(&self, placement: Placement, mover: Mover, warmth: Warmth, size: u64) -> f64 {
        let pace = self.pace(placement);
        if self.module { pace.by_module(mover, warmth, size) } else { pace.at(mover, warmth, size) }
    }

    /// Nanoseconds that both sides have more to do for a published receive than for a packet: to publish, find, claim and free it. The
    /// line that says so goes from core to core once more, like a packet.
    pub fn publishing(&self, placement: Placement) -> f64 {
        const INSTRUCTIONS: f64 = 60.0;
        INSTRUCTIONS + self.pace(placement).packet
    }
}
