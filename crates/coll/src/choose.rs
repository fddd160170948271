//! Which algorithm a collective uses: a pure function of what all members know.
//!
//! Members choose each for themselves, so everything that a choice looks at must be the same on
//! all of them: the number of processes, the amount of data where the standard makes all agree
//! on it, and the operation. TERN_COLL must be the same in all processes.

use std::fmt;
use std::sync::OnceLock;

/// Declares an enum whose members have the names that users write and see.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$item:meta])* $member:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$item])* $member),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$member),+];

            pub const fn name(self) -> &'static str {
                match self { $($name::$member => $text),+ }
            }

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
    /// The collectives that have more than one algorithm.
    Collective {
        Barrier = "barrier",
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
        Reduce = "reduce",
        Allreduce = "allreduce",
        /// Also reduce_scatter_block.
        ReduceScatter = "reduce_scatter",
        /// MPI_Scan and MPI_Exscan.
        Scan = "scan",
    }
}

named! {
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

/// What a choice may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Processes in the group.
    pub processes: usize,
    /// bcast, reduce, allreduce, scan: the vector. gather, scatter, alltoall: one block.
    /// allgather: the blocks of all together. reduce_scatter: the whole input vector.
    /// barrier, alltoallv: 0.
    pub bytes: u64,
    /// Whether operands may change places; true where nothing is reduced.
    pub commutative: bool,
}

/// Up to here a broadcast is bound by the number of messages on the way; above, cutting it into
/// segments keeps several processes copying at once, from data that is still in the cache.
const BCAST_WHOLE: u64 = 256 << 10;
/// With so many processes the line of a chain takes longer to fill than a scatter.
const BCAST_CHAIN_PROCESSES: usize = 16;
/// A gather or scatter tree copies a block once for each level: good while a message costs more
/// than the copy.
const GATHER_TREE_BLOCK: u64 = 2 << 10;
/// In all, an allgather moves the same bytes whatever the algorithm; the ring needs no temporary
/// and touches each block once, the others need fewer rounds.
const ALLGATHER_ROUNDS: u64 = 64 << 10;
/// Bruck's alltoall sends each block log2(p)/2 times on average, with two copies each.
const ALLTOALL_BRUCK_BLOCK: u64 = 256;
const ALLTOALL_BRUCK_PROCESSES: usize = 8;
/// Above, one partner at a time: the blocks under way fit the cache.
const ALLTOALL_AT_ONCE_BLOCK: u64 = 64 << 10;
/// A tree sends the whole vector at each level; Rabenseifner's sends it twice in all, in twice
/// the rounds.
const REDUCE_TREE: u64 = 32 << 10;
const ALLREDUCE_DOUBLING: u64 = 16 << 10;
/// The ring needs 2(p-1) rounds, but its pieces are 1/p of the vector throughout, which stay in
/// the cache between the receive and the reduction.
const ALLREDUCE_RING: u64 = 4 << 20;
/// Halving takes log2(p) rounds, one partner after another p-1 rounds with no byte sent twice.
const REDUCE_SCATTER_HALVING: u64 = 256 << 10;

/// The algorithm for `collective`, from costs alone. Every choice is one that [`fits`].
pub fn choose(collective: Collective, shape: Shape) -> Algorithm {
    use Algorithm::*;
    let Shape { processes, bytes, commutative } = shape;
    match collective {
        Collective::Barrier => Dissemination,
        Collective::Bcast if processes <= 2 || bytes <= BCAST_WHOLE => Binomial,
        Collective::Bcast if processes < BCAST_CHAIN_PROCESSES => Chain,
        Collective::Bcast => ScatterAllgather,
        Collective::Gather | Collective::Scatter => {
            if bytes <= GATHER_TREE_BLOCK {
                Binomial
            } else {
                Linear
            }
        }
        Collective::Allgather if bytes > ALLGATHER_ROUNDS || processes <= 2 => Ring,
        Collective::Allgather if processes.is_power_of_two() => RecursiveDoubling,
        Collective::Allgather => Bruck,
        Collective::Alltoall if bytes <= ALLTOALL_BRUCK_BLOCK && processes >= ALLTOALL_BRUCK_PROCESSES => Bruck,
        Collective::Alltoall if bytes <= ALLTOALL_AT_ONCE_BLOCK => Linear,
        Collective::Alltoall => Pairwise,
        // Members do not know each other's counts.
        Collective::Alltoallv => Linear,
        Collective::Reduce if bytes <= REDUCE_TREE || processes <= 2 => Binomial,
        Collective::Reduce => Rabenseifner,
        Collective::Allreduce if bytes <= ALLREDUCE_DOUBLING => RecursiveDoubling,
        Collective::Allreduce if bytes > ALLREDUCE_RING && processes > 2 && commutative => Ring,
        Collective::Allreduce => Rabenseifner,
        Collective::ReduceScatter if !commutative => Linear,
        Collective::ReduceScatter if bytes <= REDUCE_SCATTER_HALVING => RecursiveHalving,
        Collective::ReduceScatter => Pairwise,
        Collective::Scan => RecursiveDoubling,
    }
}

/// Whether `algorithm` can do `collective` in this shape.
pub fn fits(collective: Collective, algorithm: Algorithm, shape: Shape) -> bool {
    use Algorithm::*;
    match collective {
        Collective::Barrier => matches!(algorithm, Dissemination | Binomial),
        Collective::Bcast => matches!(algorithm, Binomial | ScatterAllgather | Chain),
        Collective::Gather | Collective::Scatter => matches!(algorithm, Binomial | Linear),
        Collective::Allgather => match algorithm {
            RecursiveDoubling => shape.processes.is_power_of_two(),
            other => matches!(other, Bruck | Ring),
        },
        Collective::Alltoall => matches!(algorithm, Bruck | Pairwise | Linear),
        Collective::Alltoallv => matches!(algorithm, Pairwise | Linear),
        Collective::Reduce => matches!(algorithm, Binomial | Rabenseifner),
        Collective::Allreduce => match algorithm {
            Ring => shape.commutative,
            other => matches!(other, RecursiveDoubling | Rabenseifner),
        },
        Collective::ReduceScatter => match algorithm {
            RecursiveHalving | Pairwise => shape.commutative,
            other => other == Linear,
        },
        Collective::Scan => algorithm == RecursiveDoubling,
    }
}

/// The algorithm that the user forces, where it can do the job, else the cheapest.
pub fn choose_with(selection: &Selection, collective: Collective, shape: Shape) -> Algorithm {
    let forced = selection.forced(collective).filter(|&algorithm| fits(collective, algorithm, shape));
    forced.unwrap_or_else(|| match choose(collective, shape) {
        // Each segment that is passed on costs a change of processes.
        Algorithm::Chain if selection.crowded => Algorithm::Region,
        other => other,
    })
}

/// Algorithms that the user forces: the setting TERN_COLL, `bcast=binomial,allreduce=ring`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    forced: [Option<Algorithm>; Collective::ALL.len()],
    /// Shortest block that a schedule moves by a region. All members must have the same.
    pub regions_from: usize,
    /// See [`Selection::on_one_node`].
    pub(crate) crowded: bool,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection { forced: [None; Collective::ALL.len()], regions_from: REGIONS_FROM, crowded: false }
    }
}

/// Shortest block that is moved by a region: shorter ones are copied in the time that it takes to tell of it.
pub(crate) const REGIONS_FROM: usize = 16 << 10;

/// A part of TERN_COLL that means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionError {
    /// The part, as written.
    pub part: String,
    /// What would have been right.
    pub expected: String,
}

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TERN_COLL: \"{}\" is not {}", self.part, self.expected)
    }
}

impl std::error::Error for SelectionError {}

impl Selection {
    /// Reads pairs of collective and algorithm, separated by commas.
    pub fn parse(text: &str) -> Result<Selection, SelectionError> {
        let mut selection = Selection::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let error = |expected: String| SelectionError { part: part.to_string(), expected };
            let (collective, algorithm) =
                part.split_once('=').ok_or_else(|| error("a pair collective=algorithm".to_string()))?;
            let collective = Collective::from_name(collective.trim())
                .ok_or_else(|| error(format!("for one of: {}", names(Collective::ALL))))?;
            let able = able(collective);
            let algorithm = Algorithm::from_name(algorithm.trim())
                .filter(|algorithm| able.contains(algorithm))
                .ok_or_else(|| error(format!("one of: {}", names(&able))))?;
            selection.force(collective, algorithm);
        }
        Ok(selection)
    }

    /// What TERN_COLL says; where it is wrong, a warning once and nothing forced.
    pub fn from_settings() -> Selection {
        static READ: OnceLock<Selection> = OnceLock::new();
        *READ.get_or_init(|| {
            Selection::check_settings().unwrap_or_else(|error| {
                tern_settings::warn!("{error}");
                Selection::default()
            })
        })
    }

    /// Reads TERN_COLL, to tell the user what is wrong with it.
    pub fn check_settings() -> Result<Selection, SelectionError> {
        Selection::parse(tern_settings::COLL.get())
    }

    /// The same for members that are all on one node: `crowded` if they are more than it has cores. All must know alike.
    pub fn on_one_node(self, crowded: bool) -> Selection {
        Selection { crowded, ..self }
    }

    /// The members are more than their node has cores.
    pub fn is_crowded(&self) -> bool {
        self.crowded
    }

    pub fn force(&mut self, collective: Collective, algorithm: Algorithm) {
        self.forced[collective as usize] = Some(algorithm);
    }

    pub fn forced(&self, collective: Collective) -> Option<Algorithm> {
        self.forced[collective as usize]
    }

    /// Whether an algorithm of messages is forced: then neither control lines nor two levels serve the collective.
    pub fn forces_messages(&self, collective: Collective) -> bool {
        self.forced(collective).is_some_and(|algorithm| algorithm != Algorithm::Region)
    }

    /// Whether this is so for some collective: then none takes the short ways of [`crate::dense`], which do not ask.
    pub fn forces_any_messages(&self) -> bool {
        Collective::ALL.iter().any(|&collective| self.forces_messages(collective))
    }
}

/// The algorithms that can do `collective` in some shape. Where regions cannot be, another one is chosen.
pub fn able(collective: Collective) -> Vec<Algorithm> {
    let any = Shape { processes: 2, bytes: 0, commutative: true };
    let can = |a| fits(collective, a, any) || a == Algorithm::Region && has_regions(collective);
    Algorithm::ALL.iter().copied().filter(|&a| can(a)).collect()
}

/// Whether members may copy from each other's memory, or to the root's.
fn has_regions(collective: Collective) -> bool {
    use Collective::*;
    !matches!(collective, Barrier)
}

fn names<T: fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// What TERN_EXPLAIN prints: for every collective the algorithm at some sizes ([`Shape::bytes`]), one behind the other.
pub fn explain(selection: &Selection, processes: usize) -> String {
    const SIZES: [u64; 5] = [8, 1 << 10, 16 << 10, 128 << 10, 1 << 20];
    let mut text = format!(
        "Algorithms of collectives, {processes} processes, 8 B, 1 KiB, 16 KiB, 128 KiB, 1 MiB. Where TERN_COLL forces none, blocking calls\n\
         inside a node go over control lines or by regions as long as these serve (docs/parts/collectives.md):\n"
    );
    for &collective in Collective::ALL {
        let at = |bytes| match selection.forced(collective) {
            Some(Algorithm::Region) if bytes >= selection.regions_from as u64 => Algorithm::Region,
            _ => choose_with(selection, collective, Shape { processes, bytes, commutative: true }),
        };
        let forced = if selection.forced(collective).is_some() { " (forced)" } else { "" };
        text += &format!("  {:<15}{}{forced}\n", collective.name(), names(&SIZES.map(at)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> impl Iterator<Item = Shape> {
        (1..=40).flat_map(|processes| {
            (0..28).flat_map(move |power| {
                [true, false].map(|commutative| Shape { processes, bytes: 1 << power, commutative })
            })
        })
    }

    #[test]
    fn every_choice_can_do_the_job() {
        for shape in shapes() {
            for &collective in Collective::ALL {
                let algorithm = choose(collective, shape);
                assert!(fits(collective, algorithm, shape), "{collective} {algorithm} {shape:?}");
            }
        }
    }

    #[test]
    fn a_forced_algorithm_is_used_where_it_can_be() {
        let selection = Selection::parse("allreduce=ring, allgather=recursive_doubling").unwrap();
        let shape = Shape { processes: 4, bytes: 8, commutative: true };
        assert_eq!(choose_with(&selection, Collective::Allreduce, shape), Algorithm::Ring);
        let ordered = Shape { commutative: false, ..shape };
        assert_eq!(choose_with(&selection, Collective::Allreduce, ordered), choose(Collective::Allreduce, ordered));
        let odd = Shape { processes: 5, ..shape };
        assert_eq!(choose_with(&selection, Collective::Allgather, odd), Algorithm::Bruck);
    }

    #[test]
    fn crowded_members_pass_on_no_segments() {
        let crowded = Selection { crowded: true, ..Selection::default() };
        for shape in shapes() {
            let usual = choose(Collective::Bcast, shape);
            let expected = if usual == Algorithm::Chain { Algorithm::Region } else { usual };
            assert_eq!(choose_with(&crowded, Collective::Bcast, shape), expected, "{shape:?}");
        }
        let forced = Selection { crowded: true, ..Selection::parse("bcast=chain").unwrap() };
        let shape = Shape { processes: 4, bytes: 1 << 20, commutative: true };
        assert_eq!(choose_with(&forced, Collective::Bcast, shape), Algorithm::Chain);
    }

    #[test]
    fn wrong_settings_are_named() {
        assert_eq!(Selection::parse(""), Ok(Selection::default()));
        assert_eq!(Selection::parse("bcast").unwrap_err().part, "bcast");
        assert!(Selection::parse("cast=ring").unwrap_err().expected.contains("allreduce"));
        let error = Selection::parse("bcast=ring").unwrap_err();
        assert!(error.expected.contains("binomial") && !error.expected.contains("ring"));
    }

    #[test]
    fn the_explanation_names_every_collective_and_what_is_forced() {
        let selection = Selection::parse("bcast=chain,gather=region").unwrap();
        let text = explain(&selection, 8);
        for &collective in Collective::ALL {
            assert_eq!(text.lines().filter(|line| line.trim_start().starts_with(&format!("{collective} "))).count(), 1);
        }
        assert!(text.contains("chain, chain, chain, chain, chain (forced)"), "{text}");
        assert!(text.contains("region, region, region (forced)"), "{text}");
    }

    #[test]
    fn messages_are_forced_by_any_algorithm_but_regions() {
        let selection = Selection::parse("bcast=chain,gather=region").unwrap();
        let forces = |collective| selection.forces_messages(collective);
        assert_eq!([Collective::Bcast, Collective::Gather, Collective::Scan].map(forces), [true, false, false]);
        assert!(selection.forces_any_messages() && !Selection::parse("gather=region").unwrap().forces_any_messages());
    }
}
