//! Why memory is not promoted.

use std::fmt;

/// The first condition that did not hold. What could not be found out counts as not holding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The kernel does not answer PROCMAP_QUERY and PAGEMAP_SCAN.
    Kernel,
    /// malloc is not that of glibc, or behaves unlike it.
    Malloc(&'static str),
    /// The process has, or may have, more than one thread.
    Threads,
    /// The process may not make files of any size.
    FileLimit,
    /// A core dump would not treat shared memory as it treats private memory.
    CoreFilter,
    /// A loaded object calls a function that could tell, or that goes past malloc or fork.
    Import {
        /// The file of the object.
        object: String,
        /// The name that it imports.
        function: String,
    },
    /// An open descriptor, or a mapping, through which a device or the kernel may use memory.
    Descriptor(String),
    /// Neither in malloc's heap nor in a chunk of its own.
    NotMallocs,
    /// Private memory that is not plain: which flag of its mapping is unusual.
    Flags(String),
    /// Huge pages back the memory.
    Huge,
    /// The memory has a NUMA policy.
    Policy,
    /// Peers may be writing there.
    InUse,
    /// Too little memory is left for a second copy.
    Memory,
    /// No range of the node's file is left, or the file cannot be written or mapped.
    File,
    /// Parts of it are shared in another way.
    Shared,
    /// Pages that were promoted at these addresses are at others now.
    Moved,
    /// Promoted memory was frozen: promotion is over in this process.
    Over,
}

impl Refusal {
    /// The same for every buffer, now and later.
    pub fn is_final(&self) -> bool {
        matches!(self, Refusal::Kernel | Refusal::Malloc(_) | Refusal::Over)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Kernel => f.write_str("the kernel lacks PROCMAP_QUERY (Linux 6.11) or refuses it"),
            Refusal::Malloc(what) => write!(f, "malloc is not glibc's own: {what}"),
            Refusal::Threads => f.write_str("more than one thread"),
            Refusal::FileLimit => f.write_str("the size of files is limited (RLIMIT_FSIZE)"),
            Refusal::CoreFilter => f.write_str("core dumps treat shared and private memory differently"),
            Refusal::Import { object, function } => write!(f, "{object} calls {function}"),
            Refusal::Descriptor(name) => write!(f, "{name} may have a hold on memory"),
            Refusal::NotMallocs => f.write_str("not memory of malloc's"),
            Refusal::Flags(flag) => write!(f, "unusual memory ({flag})"),
            Refusal::Huge => f.write_str("huge pages"),
            Refusal::Policy => f.write_str("memory with a NUMA policy"),
            Refusal::InUse => f.write_str("a transfer into it is under way"),
            Refusal::Memory => f.write_str("too little memory is left for a copy"),
            Refusal::File => f.write_str("no room in the node's file"),
            Refusal::Shared => f.write_str("shared already, in another way"),
            Refusal::Moved => f.write_str("pages that were promoted there have been moved"),
            Refusal::Over => f.write_str("the process has forked with threads, or promotion has ended"),
        }
    }
}
