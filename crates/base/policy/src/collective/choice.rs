//! The choice of a way, and of the algorithm of its messages.

use super::algorithm::{Messages, choose, fits};
use super::limits::{self, Levels};
use super::names::{Algorithm, Collective};
use super::plan::{CollPlan, CollReason, CollStep, CollWay};
use super::read_in_place::InPlace;
use super::selection::{Forced, Selection};
use super::shape::{Beside, Members, Operands, Shape};
use tern_settings::Mechanism;

/// What `what` does: all members know the arguments, and come to the same.
pub fn collective(
    what: Collective, members: &Members, shape: &Shape, selection: &Selection, learned: InPlace,
) -> CollPlan {
    let forced = selection.forced(what);
    let choice = Choice { what, members, shape, forced };
    let first = choice.first();
    let tried = first.filter(|&way| choice.is_asked(way) || !reads(way) || learned == InPlace::Ask);
    CollPlan {
        first: tried.map(|way| CollStep { way, reason: choice.why_first(way) }),
        last: choice.last(selection, first.map(|way| (way, tried.is_some())), learned),
        uses_memory: first.is_some() && tried.is_none(),
    }
}

/// Whether members may read each other's memory in such a call, if they have [learned](InPlace) nothing else: to be asked before what they have
/// learned is, since asking counts. Not where the user asks for that, so that nothing need be learned.
pub fn may_read_in_place(what: Collective, members: &Members, shape: &Shape, selection: &Selection) -> bool {
    let choice = Choice { what, members, shape, forced: selection.forced(what) };
    choice.first().is_some_and(|way| reads(way) && !choice.is_asked(way))
}

/// The algorithm for `collective`: what the user forces, where that can do the job, else the cheapest.
pub fn algorithm(selection: &Selection, collective: Collective, messages: Messages) -> Algorithm {
    match selection.forced(collective) {
        Some(Forced::Schedule(algorithm)) if fits(collective, algorithm, messages) => return algorithm,
        Some(Forced::Region) if collective.has_regions() && !messages.two_groups => return Algorithm::Region,
        _ => {}
    }
    match choose(collective, messages) {
        // Each segment that is passed on costs a change of processes.
        Algorithm::Chain if messages.crowded => Algorithm::Region,
        other => other,
    }
}

/// Whether members read each other's memory where it lies.
fn reads(way: CollWay) -> bool {
    matches!(way, CollWay::InPlace | CollWay::Shares)
}

struct Choice<'a> {
    what: Collective,
    members: &'a Members,
    shape: &'a Shape,
    forced: Option<Forced>,
}

impl Choice<'_> {
    fn lines(&self) -> Option<limits::Lines> {
        match self.members.beside {
            Beside::Lines { capacity, .. } => Some(limits::Lines { members: self.members.size, capacity }),
            _ => None,
        }
    }

    /// Whether the user asks for that way.
    fn is_asked(&self, way: CollWay) -> bool {
        match self.forced {
            Some(Forced::Schedule(algorithm)) => way == CollWay::Schedule(algorithm),
            Some(Forced::Lines) => matches!(way, CollWay::Lines { .. }),
            Some(Forced::Tree) => matches!(way, CollWay::Tree { .. }),
            Some(Forced::Levels) => matches!(way, CollWay::Levels { .. }),
            // By regions in whatever form there is.
            Some(Forced::Region) => {
                let by_messages = CollWay::Schedule(Algorithm::Region);
                matches!(way, CollWay::Region | CollWay::InPlace | CollWay::Shares) || way == by_messages
            }
            Some(Forced::InPlace) => way == CollWay::InPlace,
            Some(Forced::Shares) => way == CollWay::Shares,
            None => false,
        }
    }

    /// Whether messages are asked for, or are all that there is for such operands.
    fn takes_messages(&self) -> bool {
        matches!(self.forced, Some(Forced::Schedule(_))) || matches!(self.shape.operands, Operands::Others { .. })
    }

    /// The way that a member may refuse, if one comes before the others.
    fn first(&self) -> Option<CollWay> {
        let (what, len) = (self.what, self.shape.bytes);
        let lines = self.lines().filter(|lines| !self.takes_messages() && self.asked_part(lines).is_none())?;
        if self.tree_part().is_some() {
            return None;
        }
        if lines.reads(what, len) {
            return Some(CollWay::InPlace);
        }
        if self.shape.persistent {
            return None;
        }
        let asked = self.is_asked(CollWay::Region);
        let declares = self.members.asked != Mechanism::Pipe && lines.declares(what, len, asked);
        match () {
            () if lines.splits(what, len) => Some(CollWay::Shares),
            () if declares => Some(CollWay::Region),
            () => None,
        }
    }

    fn why_first(&self, way: CollWay) -> CollReason {
        match way {
            _ if self.is_asked(way) => CollReason::Asked,
            _ if reads(way) => CollReason::Read,
            _ => CollReason::Size,
        }
    }

    /// The way that nobody refuses. `first`: what comes before it, and whether that is tried.
    fn last(&self, selection: &Selection, first: Option<(CollWay, bool)>, learned: InPlace) -> CollStep {
        let way = self.beside_messages().unwrap_or_else(|| {
            CollWay::Schedule(algorithm(selection, self.what, self.shape.messages(self.what, self.members)))
        });
        let reason = match first {
            _ if self.is_asked(way) => CollReason::Asked,
            Some((CollWay::Region, _)) => CollReason::NoRegion(None),
            Some((_, true)) => CollReason::NotReached,
            Some((_, false)) if learned == InPlace::Otherwise => CollReason::Tried,
            Some((_, false)) => CollReason::NotAsked,
            None => self.why_last(way),
        };
        CollStep { way, reason }
    }

    fn why_last(&self, way: CollWay) -> CollReason {
        let left = self.lines().is_some_and(|lines| lines.are_left(self.shape.bytes));
        match (way, self.members.beside) {
            (CollWay::Schedule(_), Beside::Nothing(without)) => CollReason::Without(without),
            _ if matches!(self.shape.operands, Operands::Others { .. }) => CollReason::Operands,
            (CollWay::Schedule(_), _) if left => CollReason::LeftByTwo,
            _ => CollReason::Size,
        }
    }

    /// Bytes of the parts in which the lines serve the call; `asked`: whatever the costs are.
    fn part(&self, lines: &limits::Lines, asked: bool) -> Option<usize> {
        let Shape { bytes, persistent, .. } = *self.shape;
        if persistent { lines.turn(self.what, bytes, asked) } else { lines.part(self.what, bytes, asked) }
    }

    /// The same if the user asks for the lines.
    fn asked_part(&self, lines: &limits::Lines) -> Option<usize> {
        (self.forced == Some(Forced::Lines)).then(|| self.part(lines, true)).flatten()
    }

    /// Bytes of the parts in which a tree serves the call, if the members have one, or one is asked for. Members that are more than
    /// the cores have none: each step of a tree would cost them a change of processes.
    fn tree_part(&self) -> Option<usize> {
        let Beside::Lines { capacity, tree } = self.members.beside else { return None };
        let asked = self.forced == Some(Forced::Tree);
        let serves = asked || tree && self.forced.is_none() && !self.members.crowded;
        let tree = limits::Tree { members: self.members.size, capacity };
        (serves && !self.shape.persistent).then(|| tree.part(self.what, self.shape.bytes, asked)).flatten()
    }

    /// Lines, a tree of them, or levels, if they serve the call.
    fn beside_messages(&self) -> Option<CollWay> {
        if self.takes_messages() {
            return None;
        }
        if let Some(part) = self.tree_part() {
            return Some(CollWay::Tree { part });
        }
        let (what, Shape { bytes, persistent, .. }) = (self.what, *self.shape);
        match self.members.beside {
            Beside::Lines { .. } => {
                let lines = self.lines()?;
                let part = self.asked_part(&lines).or_else(|| self.part(&lines, false));
                part.map(|part| CollWay::Lines { part })
            }
            Beside::Levels { capacity, widest } if !persistent => {
                let levels = Levels { members: self.members.size, capacity, widest };
                let asked = self.forced == Some(Forced::Levels);
                levels.part(what, bytes, asked).map(|part| CollWay::Levels { part })
            }
            Beside::Levels { .. } | Beside::Nothing(_) => None,
        }
    }
}

/// Below how many bytes data goes over control lines in one turn and with no other way before it: what the short paths of collectives look
/// at. It is made once for each communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// A broadcast.
    pub bcast: usize,
    /// A block of a gather.
    pub gather: usize,
    /// A block of a scatter.
    pub scatter: usize,
    /// A vector of a reduction to one.
    pub reduce: usize,
    /// A vector of a reduction to all.
    pub allreduce: usize,
}

impl Short {
    /// That of so many members with lines of that capacity.
    pub fn new(members: usize, capacity: usize) -> Short {
        let longest = limits::Lines { members, capacity }.short();
        let [bcast, gather, scatter, reduce, allreduce] = longest.map(|len| len + 1);
        Short { bcast, gather, scatter, reduce, allreduce }
    }

    /// The same of members with a tree: nothing that may go along it.
    pub fn beside_tree(members: usize, capacity: usize) -> Short {
        Short { bcast: 0, reduce: 0, allreduce: 0, ..Short::new(members, capacity) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Messages> {
        (1..=40).flat_map(|processes| {
            (0..28).flat_map(move |power| {
                [true, false].map(|commutative| Messages {
                    processes,
                    bytes: 1 << power,
                    commutative,
                    ..Messages::default()
                })
            })
        })
    }

    #[test]
    fn a_forced_algorithm_is_used_where_it_can_be() {
        let selection = Selection::parse("allreduce=ring, allgather=recursive_doubling").unwrap();
        let four = Messages { processes: 4, bytes: 8, commutative: true, ..Messages::default() };
        assert_eq!(algorithm(&selection, Collective::Allreduce, four), Algorithm::Ring);
        let ordered = Messages { commutative: false, ..four };
        assert_eq!(algorithm(&selection, Collective::Allreduce, ordered), choose(Collective::Allreduce, ordered));
        let odd = Messages { processes: 5, ..four };
        assert_eq!(algorithm(&selection, Collective::Allgather, odd), Algorithm::Bruck);
    }

    #[test]
    fn regions_are_taken_within_one_group_where_schedules_have_them() {
        let selection = Selection::parse("gather=region,reduce=region").unwrap();
        let four = Messages { processes: 4, bytes: 8, commutative: true, ..Messages::default() };
        assert_eq!(algorithm(&selection, Collective::Gather, four), Algorithm::Region);
        let across = Messages { two_groups: true, ..four };
        assert_eq!(algorithm(&selection, Collective::Gather, across), choose(Collective::Gather, across));
        assert_eq!(algorithm(&selection, Collective::Reduce, four), choose(Collective::Reduce, four));
    }

    #[test]
    fn crowded_members_pass_on_no_segments() {
        let selection = Selection::default();
        for messages in all() {
            let usual = choose(Collective::Bcast, messages);
            let expected = if usual == Algorithm::Chain { Algorithm::Region } else { usual };
            let crowded = Messages { crowded: true, ..messages };
            assert_eq!(algorithm(&selection, Collective::Bcast, crowded), expected, "{messages:?}");
        }
        let forced = Selection::parse("bcast=chain").unwrap();
        let four = Messages { processes: 4, bytes: 1 << 20, crowded: true, ..Messages::default() };
        assert_eq!(algorithm(&forced, Collective::Bcast, four), Algorithm::Chain);
    }
}
