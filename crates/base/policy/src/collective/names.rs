//! The names of collectives, and of the algorithms of their messages.

use core::fmt;

/// Declares an enum whose members have the names that users write and see.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$item:meta])* $member:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$item])* $member),+ }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$member),+];

            /// As users write and see it.
            pub const fn name(self) -> &'static str {
                match self { $($name::$member => $text),+ }
            }

            /// The one of that name.
            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|x| x.name() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named! {
    /// The collectives that have more than one way.
    Collective {
        /// MPI_Barrier.
        Barrier = "barrier",
        /// MPI_Bcast.
        Bcast = "bcast",
        /// Also gatherv.
        Gather = "gather",
        /// Also scatterv.
        Scatter = "scatter",
        /// Also allgatherv.
        Allgather = "allgather",
        /// Only with equal blocks: MPI_Alltoall.
        Alltoall = "alltoall",
        /// MPI_Alltoallv and MPI_Alltoallw.
        Alltoallv = "alltoallv",
        /// MPI_Reduce.
        Reduce = "reduce",
        /// MPI_Allreduce.
        Allreduce = "allreduce",
        /// Also reduce_scatter_block.
        ReduceScatter = "reduce_scatter",
        /// MPI_Scan and MPI_Exscan.
        Scan = "scan",
    }
}

named! {
    /// How the messages of a collective go.
    Algorithm {
        /// Everybody to everybody directly, or to and from the root, all at once.
        Linear = "linear",
        /// A tree in which subtrees are halves.
        Binomial = "binomial",
        /// Round k passes everything to the process 2^k further on.
        Dissemination = "dissemination",
        /// Pairs at distance 2^k exchange everything they have.
        RecursiveDoubling = "recursive_doubling",
        /// Pairs exchange halves of what they have.
        RecursiveHalving = "recursive_halving",
        /// Rotated blocks, passed on in rounds of 2^k.
        Bruck = "bruck",
        /// Blocks go round, each process talks to two others only.
        Ring = "ring",
        /// One partner after another.
        Pairwise = "pairwise",
        /// The root's data in pieces, one for each process, then a ring (van de Geijn).
        ScatterAllgather = "scatter_allgather",
        /// Segments go down a line of processes.
        Chain = "chain",
        /// Reduction of halves of halves, then the pieces are put together.
        Rabenseifner = "rabenseifner",
        /// Inside a node: the others copy from a region of the root's memory, or to it; or all from that of all.
        Region = "region",
    }
}

impl Collective {
    /// Whether it reduces.
    pub fn reduces(self) -> bool {
        matches!(self, Collective::Reduce | Collective::Allreduce | Collective::ReduceScatter | Collective::Scan)
    }

    /// Whether it may go along a tree of lines, or in two levels where its members are on several nodes.
    pub fn has_levels(self) -> bool {
        use Collective::{Allgather, Allreduce, Barrier, Bcast, Reduce};
        matches!(self, Barrier | Bcast | Allgather | Reduce | Allreduce)
    }

    /// Whether messages may be replaced by copies from the members' memory, or to the root's, in a schedule.
    pub(super) fn has_regions(self) -> bool {
        !self.reduces() && self != Collective::Barrier
    }
}
