//! How Tern stands beside the best of its peers: in each cell, and in all of those up to a level of the node.

use super::results::Results;
use crate::figures::{Row, Summary, summarise};
use crate::report::best;

/// Within this share of each other two medians are even.
const EVEN: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Ahead,
    Even,
    Behind,
}

/// Tern beside the best peer in one row.
pub struct Cell<'a> {
    pub row: &'a Row,
    pub own: Summary,
    pub peer: Summary,
    /// The heading of the best peer.
    pub name: &'a str,
    /// The peer's time by Tern's: above 1 Tern is ahead.
    pub ratio: f64,
    pub standing: Standing,
}

/// Even are figures whose medians are within [`EVEN`], or no further apart than both spread.
fn standing(own: Summary, peer: Summary) -> Standing {
    let apart = peer.median - own.median;
    match () {
        () if apart.abs() <= (own.spread + peer.spread).max(EVEN * own.median.min(peer.median)) => Standing::Even,
        () if apart > 0.0 => Standing::Ahead,
        () => Standing::Behind,
    }
}

/// All rows in which both Tern and a peer have a figure that counts.
pub fn cells(results: &Results) -> Vec<Cell<'_>> {
    let Some(own) = results.own() else { return Vec::new() };
    let peers = results.peers();
    let mut cells = Vec::new();
    for (row, summary) in results.figures.rows() {
        let all: Vec<Option<Summary>> = peers.iter().map(|peer| summary(&peer.name)).collect();
        let own = summary(&own.name).filter(|own| !own.bad);
        let Some((own, (place, _))) = own.zip(best(row, &all)) else { continue };
        let Some(peer) = all[place] else { continue };
        let (ratio, standing) = (peer.median / own.median, standing(own, peer));
        cells.push(Cell { row, own, peer, name: &peers[place].label, ratio, standing });
    }
    cells
}

/// Numbers of ranks that end at the same level.
pub struct Range {
    /// Where they run, such as `within a package`.
    pub place: String,
    /// The least and the greatest number of ranks.
    pub ranks: [usize; 2],
}

impl Range {
    pub fn has(&self, cell: &Cell) -> bool {
        (self.ranks[0]..=self.ranks[1]).contains(&cell.row.ranks)
    }
}

/// The levels with those of the ranks that fill them, but not a smaller one; at the end those with more ranks than cores.
pub fn ranges(results: &Results) -> Vec<Range> {
    let (ranks, last) = (results.ranks(), results.levels.len().saturating_sub(1));
    let mut ranges = Vec::new();
    let mut add = |place: String, from: usize, to: usize| {
        let within: Vec<usize> = ranks.iter().copied().filter(|ranks| (from..=to).contains(ranks)).collect();
        if let (Some(least), Some(most)) = (within.first(), within.last()) {
            ranges.push(Range { place, ranks: [*least, *most] });
        }
    };
    let mut from = 1;
    for (number, level) in results.levels.iter().enumerate() {
        let place = if number == last { "on the whole node" } else { "within a " };
        let name = if number == last { "" } else { level.name.as_str() };
        add(format!("{place}{name}"), from, level.cores);
        from = level.cores + 1;
    }
    add("more ranks than cores".into(), from, usize::MAX);
    ranges
}

/// How many cells are ahead, even and behind, and the median of their ratios. `None`: there are none.
pub struct Sum {
    pub ahead: usize,
    pub even: usize,
    pub behind: usize,
    pub median: f64,
}

pub fn sum<'a>(cells: impl Iterator<Item = &'a Cell<'a>>) -> Option<Sum> {
    let cells: Vec<&Cell> = cells.collect();
    let count = |wanted| cells.iter().filter(|cell| cell.standing == wanted).count();
    let ratios: Vec<f64> = cells.iter().map(|cell| cell.ratio).collect();
    let median = summarise(&ratios)?.median;
    let [ahead, even, behind] = [Standing::Ahead, Standing::Even, Standing::Behind].map(count);
    Some(Sum { ahead, even, behind, median })
}

/// Where Tern is behind, the worst first.
pub fn losses<'a>(cells: &'a [Cell<'a>]) -> Vec<&'a Cell<'a>> {
    let mut losses: Vec<&Cell> = cells.iter().filter(|cell| cell.standing == Standing::Behind).collect();
    losses.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    losses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::tests::{add, results};

    fn of(median: f64, spread: f64) -> Summary {
        Summary { median, spread, count: 3, bad: false }
    }

    #[test]
    fn figures_that_are_close_or_spread_are_even() {
        assert_eq!(standing(of(1.0, 0.0), of(1.04, 0.0)), Standing::Even);
        assert_eq!(standing(of(1.0, 0.0), of(1.1, 0.0)), Standing::Ahead);
        assert_eq!(standing(of(1.0, 0.2), of(1.1, 0.0)), Standing::Even);
        assert_eq!(standing(of(2.0, 0.1), of(1.0, 0.1)), Standing::Behind);
    }

    #[test]
    fn cells_are_compared_with_the_best_peer() {
        let mut results = results();
        results.lines.push(crate::scale::results::LineOf {
            name: "mpich".into(),
            label: "MPICH 5".into(),
            settings: String::new(),
            is_tern: false,
        });
        add(&mut results.figures, ("bcast", 96, 8), "mpich", &[2.5; 3]);
        add(&mut results.figures, ("alltoall", 96, 8), "tern", &[2.5; 3]);
        let cells = cells(&results);
        assert_eq!(cells.len(), 5, "an alltoall of Tern alone is none");
        let cell = cells.iter().find(|cell| cell.row.ranks == 96 && cell.row.size == 8).unwrap();
        assert_eq!((cell.name, cell.ratio, cell.standing), ("MPICH 5", 1.25, Standing::Ahead));
        let losses = losses(&cells);
        assert_eq!(losses.len(), 1);
        assert_eq!((losses[0].row.size, losses[0].name, losses[0].ratio), (1024, "openmpi-xhc", 0.5));
    }

    #[test]
    fn ranks_belong_to_the_level_that_they_fill() {
        let mut results = results();
        for ranks in [2, 9, 48, 192, 384] {
            add(&mut results.figures, ("barrier", ranks, 0), "tern", &[1.0]);
        }
        let told: Vec<(String, [usize; 2])> = ranges(&results).into_iter().map(|one| (one.place, one.ranks)).collect();
        let expected = [
            ("within a third-level cache", [2, 8]),
            ("within a NUMA node, package", [9, 48]),
            ("on the whole node", [96, 96]),
            ("more ranks than cores", [192, 384]),
        ];
        assert_eq!(told, expected.map(|(place, ranks)| (place.to_string(), ranks)));
    }

    #[test]
    fn standings_are_counted_by_range() {
        let results = results();
        let (cells, ranges) = (cells(&results), ranges(&results));
        let sums: Vec<Sum> =
            ranges.iter().filter_map(|range| sum(cells.iter().filter(|cell| range.has(cell)))).collect();
        let counts: Vec<[usize; 3]> = sums.iter().map(|sum| [sum.ahead, sum.even, sum.behind]).collect();
        assert_eq!(counts, [[1, 1, 0], [2, 0, 1]]);
        assert_eq!((sums[0].median, sums[1].median), (1.5, 1.5));
        assert!(sum([].iter()).is_none());
    }
}
