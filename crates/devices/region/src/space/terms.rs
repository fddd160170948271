//! What the interface of a space speaks of.

#[cfg(doc)]
use super::Space;

/// What others may do with a region; it holds for its owner too, when it uses the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Copies may come from it.
    Read,
    /// Copies may go into it.
    Write,
    /// Both.
    ReadWrite,
}

impl Protection {
    pub(super) fn bits(self) -> u32 {
        match self {
            Protection::Read => 1,
            Protection::Write => 2,
            Protection::ReadWrite => 3,
        }
    }

    /// Whether memory that is declared with `bits` may be used in this way.
    pub(super) fn allowed_by(self, bits: u32) -> bool {
        bits & self.bits() == self.bits()
    }
}

/// How a region may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// Many times, until it is destroyed.
    pub const NONE: Flags = Flags(0);
    /// Once: the region vanishes with the first copy that names it and is allowed, whatever part of
    /// the region the copy is about.
    pub const SINGLE_USE: Flags = Flags(1);

    pub(super) fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Which way an inline copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the region to local memory.
    Read,
    /// From local memory into the region.
    Write,
}

/// How the bytes of a region get from one process to another, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Memory from [`Space::allocate`] is mapped by everybody who copies from or into it: no system
    /// call.
    Mapped,
    /// The kernel module ([`crate::module`]), for private memory: the owner declares each region to it, which pins the region
    /// once. A system call per copy, without the right to trace.
    KernelModule,
    /// Cross memory attach, for private memory: a system call per copy, if the kernel permits it.
    Cma,
    /// Two copies through shared cells: always there, but the owner of the memory must take part
    /// (see [`Space::progress`]), or have a copy thread.
    Pipe,
}

/// How a mechanism stands with one other process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has needed it yet.
    Unproven,
    /// A transfer has shown that it works, or it cannot fail.
    Works,
    /// It was given up; a line on the standard error has said why.
    Left,
    /// The options forbid it.
    Off,
    /// It is not there.
    Absent,
}

/// Who does an asynchronous copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offload {
    /// The process itself, a part with every [`Space::poll`] and [`Space::progress`].
    Never,
    /// A DMA engine (see [`crate::dma`]), if its costs say so and this process reaches both sides by addresses of its own; or
    /// a copy thread, if a core has nothing to do when the copy is started; otherwise as `Never`.
    #[default]
    WhenIdle,
    /// A DMA engine, whatever it costs; where there is none, as `WhenIdle`.
    Engine,
    /// A copy thread.
    Always,
}

/// What a process uses of a space.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether memory of others may be mapped.
    pub mapped: bool,
    /// Whether private memory is declared to the kernel module, if that is installed, and copied by it.
    pub module: bool,
    /// Whether cross memory attach may be used.
    pub cma: bool,
    /// Whether the copy thread runs from the start, so that peers that have to ask this process for
    /// its memory are answered while it computes. Otherwise it is started with the first copy
    /// that is left to it.
    pub server: bool,
    /// Whether a DMA engine may be used.
    pub dma: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { mapped: true, module: false, cma: true, server: false, dma: true }
    }
}
