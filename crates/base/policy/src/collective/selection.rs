//! What the user asks for: TERN_COLL, as data.

use super::algorithm::{Messages, fits};
use super::names::{Algorithm, Collective};
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

/// A way that the user forces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forced {
    /// Messages, by that algorithm: without control lines and without two levels.
    Schedule(Algorithm),
    /// Control lines.
    Lines,
    /// Control lines along a tree.
    Tree,
    /// The members read each other's memory in place.
    InPlace,
    /// They copy from each other's memory, or to the root's, in whatever form there is: by one region of the root's, in place, by shares, or in the
    /// steps of a schedule.
    Region,
    /// Each member combines a share.
    Shares,
    /// Two levels.
    Levels,
}

impl Forced {
    /// The name in TERN_COLL.
    pub const fn name(self) -> &'static str {
        match self {
            Forced::Schedule(algorithm) => algorithm.name(),
            Forced::Lines => "lines",
            Forced::Tree => "tree",
            Forced::InPlace => "in_place",
            Forced::Region => "region",
            Forced::Shares => "shares",
            Forced::Levels => "levels",
        }
    }

    /// Whether there is such a way of `collective`, for some members and lengths.
    fn is_of(self, collective: Collective) -> bool {
        use Collective::*;
        let any = Messages { processes: 2, commutative: true, ..Messages::default() };
        match self {
            Forced::Schedule(algorithm) => fits(collective, algorithm, any),
            Forced::Lines => collective != Alltoallv,
            Forced::Tree | Forced::Levels => collective.has_levels(),
            Forced::InPlace => matches!(collective, Allgather | Alltoall | Allreduce | ReduceScatter),
            Forced::Region => collective != Barrier,
            Forced::Shares => matches!(collective, Reduce | Scan),
        }
    }
}

impl fmt::Display for Forced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What may be forced for `collective`. Where it cannot serve a call, the usual choice is taken.
pub fn able(collective: Collective) -> Vec<Forced> {
    let ways = [Forced::Region, Forced::Lines, Forced::Tree, Forced::InPlace, Forced::Shares, Forced::Levels];
    let all = Algorithm::ALL.iter().copied().map(Forced::Schedule).chain(ways);
    all.filter(|forced| forced.is_of(collective)).collect()
}

/// Ways that the user forces: the setting TERN_COLL, `bcast=binomial,allreduce=in_place`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    forced: [Option<Forced>; Collective::ALL.len()],
    /// Shortest block that a schedule moves by a region. All members must have the same.
    pub regions_from: usize,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection { forced: [None; Collective::ALL.len()], regions_from: REGIONS_FROM }
    }
}

/// Shortest block that is moved by a region: shorter ones are copied in the time that it takes to tell of it.
const REGIONS_FROM: usize = 16 << 10;

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

impl core::error::Error for SelectionError {}

impl Selection {
    /// Reads pairs of collective and way, separated by commas.
    pub fn parse(text: &str) -> Result<Selection, SelectionError> {
        let mut selection = Selection::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let error = |expected: String| SelectionError { part: part.to_string(), expected };
            let (collective, way) = part.split_once('=').ok_or_else(|| error("a pair collective=way".to_string()))?;
            let collective = Collective::from_name(collective.trim())
                .ok_or_else(|| error(format!("for one of: {}", names(Collective::ALL))))?;
            let able = able(collective);
            let forced = able.iter().find(|forced| forced.name() == way.trim());
            selection.force(collective, *forced.ok_or_else(|| error(format!("one of: {}", names(&able))))?);
        }
        Ok(selection)
    }

    /// Forces a way.
    pub fn force(&mut self, collective: Collective, forced: Forced) {
        self.forced[collective as usize] = Some(forced);
    }

    /// What is forced.
    pub fn forced(&self, collective: Collective) -> Option<Forced> {
        self.forced[collective as usize]
    }

    /// Whether a tree is forced for some collective: then one is made for members that would have none.
    pub fn forces_any_tree(&self) -> bool {
        self.forced.contains(&Some(Forced::Tree))
    }

    /// Whether messages are forced for some collective: then none takes the short paths, which do not ask.
    pub fn forces_any_messages(&self) -> bool {
        self.forced.iter().any(|forced| matches!(forced, Some(Forced::Schedule(_))))
    }
}

fn names<T: fmt::Display>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_settings_are_named() {
        assert_eq!(Selection::parse(""), Ok(Selection::default()));
        assert_eq!(Selection::parse("bcast").unwrap_err().part, "bcast");
        assert!(Selection::parse("cast=ring").unwrap_err().expected.contains("allreduce"));
        let error = Selection::parse("bcast=ring").unwrap_err();
        assert_eq!(error.expected, "one of: binomial, scatter_allgather, chain, region, lines, tree, levels");
        assert!(Selection::parse("gather=in_place").is_err() && Selection::parse("alltoall=shares").is_err());
    }

    #[test]
    fn every_way_has_a_name_of_its_own() {
        for &collective in Collective::ALL {
            for forced in able(collective) {
                let text = format!("{collective}={forced}");
                assert_eq!(Selection::parse(&text).unwrap().forced(collective), Some(forced), "{text}");
            }
        }
    }

    #[test]
    fn messages_are_forced_by_algorithms_alone() {
        assert!(Selection::parse("bcast=chain,gather=region").unwrap().forces_any_messages());
        assert!(!Selection::parse("gather=region,bcast=lines,reduce=shares").unwrap().forces_any_messages());
    }
}
