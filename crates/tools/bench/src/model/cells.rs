//! What is measured in the model: operations and sizes, the calls of each, and what came of them.

use tern_model::server::Mark;

/// The collectives.
pub const OPERATIONS: [&str; 8] =
    ["barrier", "bcast", "reduce", "allreduce", "allgather", "gather", "scatter", "alltoall"];

/// Sizes in bytes, where the user names none.
const SIZES: [u64; 8] = [8, 64, 512, 4 << 10, 32 << 10, 128 << 10, 512 << 10, 1 << 20];

/// Most bytes that the buffers of all ranks may take together.
pub const MOST: u64 = 2 << 30;

/// Turns after which a cell of control lines is used again: a call that follows as many is as all later ones.
const TURNS: u64 = 66;

/// Calls that count: all of them are equal once steady, and the mean evens out those that look back at earlier ones.
const CALLS: u64 = 8;

/// The operation of that name.
pub fn known(name: &str) -> Result<&'static str, String> {
    let known = OPERATIONS.into_iter().find(|known| *known == name);
    known.ok_or_else(|| format!("{name} is none of {}", OPERATIONS.join(", ")))
}

/// One operation and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub operation: &'static str,
    /// Of a vector, or of the block of one rank.
    pub bytes: u64,
    /// Calls that do not count.
    pub before: u64,
    pub calls: u64,
}

impl Cell {
    pub fn new(operation: &'static str, bytes: u64, ranks: usize) -> Cell {
        // Longer payloads have fewer places, which are all used after fewer calls; and each call takes longer. Some are for what the library learns.
        let moved = bytes * blocks(operation, ranks);
        let (before, calls) = match moved {
            0..16_385 => (TURNS, CALLS),
            16_385..262_145 => (20, 4),
            _ => (12, 2),
        };
        Cell { operation, bytes, before, calls }
    }

    /// As the program reads it.
    pub fn word(&self) -> String {
        let Cell { operation, bytes, before, calls } = self;
        format!("{operation}:{bytes}:{before}:{calls}")
    }
}

/// How many blocks a rank has of each buffer at most.
fn blocks(operation: &str, ranks: usize) -> u64 {
    match operation {
        "allgather" | "gather" | "scatter" | "alltoall" => ranks as u64,
        _ => 1,
    }
}

/// The cells of an operation, and the first size for which there is too little memory.
pub fn of(operation: &'static str, sizes: &[u64], ranks: usize) -> (Vec<Cell>, Option<u64>) {
    let all: &[u64] = match (operation, sizes) {
        ("barrier", _) => &[0],
        (_, []) => &SIZES,
        (_, given) => given,
    };
    let takes = |bytes: u64| 2 * bytes * blocks(operation, ranks) * ranks as u64;
    let (fit, rest): (Vec<u64>, Vec<u64>) = all.iter().partition(|&&bytes| takes(bytes) <= MOST);
    (fit.into_iter().map(|bytes| Cell::new(operation, bytes, ranks)).collect(), rest.into_iter().min())
}

/// What came of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub operation: &'static str,
    pub bytes: u64,
    /// For a call that all ranks begin at once, until the last has ended it.
    pub microseconds: f64,
    /// Lines that cross each kind of border in the last call, readers' transfers and owners' requests; with the border's name.
    pub crossings: Vec<(&'static str, usize)>,
}

impl Figure {
    /// `allreduce 8 1.93 package=2 numa=6 l3=24`.
    pub fn plain(&self) -> String {
        let crossings: String = self.crossings.iter().map(|(border, lines)| format!(" {border}={lines}")).collect();
        format!("{} {} {:.2}{crossings}", self.operation, self.bytes, self.microseconds)
    }
}

fn crossings(from: &Mark, to: &Mark) -> Vec<(&'static str, usize)> {
    let (before, after) = (from.crossings, to.crossings);
    let since = after.since(before);
    vec![("package", since.package), ("numa", since.numa), ("l3", since.cache)]
}

/// A line for each pair of levels that two marks in a row have: the time and the lines of the last such pair.
pub fn between(marks: &[Mark]) -> Vec<String> {
    let mut told: Vec<((i32, i32), String)> = Vec::new();
    for pair in marks.windows(2) {
        let levels = (pair[0].level, pair[1].level);
        let lines: String =
            crossings(&pair[0], &pair[1]).iter().map(|(border, lines)| format!(" {border}={lines}")).collect();
        let line = format!("from {} to {}: {:.2} us{lines}", levels.0, levels.1, (pair[1].time - pair[0].time) / 1e3);
        told.retain(|(known, _)| *known != levels);
        told.push((levels, line));
    }
    told.into_iter().map(|(_, line)| line).collect()
}

/// The figures of the cells, from the marks of the program that ran them: one in front of each call, and one behind it.
pub fn figures(cells: &[Cell], marks: &[Mark]) -> Result<Vec<Figure>, String> {
    let mut calls = marks.chunks_exact(2);
    let figure = |cell: &Cell| {
        let of_cell: Vec<&[Mark]> = calls.by_ref().take(cell.calls as usize).collect();
        let [.., last] = of_cell.as_slice() else { return None };
        let nanoseconds: f64 = of_cell.iter().map(|call| call[1].time - call[0].time).sum();
        let complete =
            of_cell.len() as u64 == cell.calls && of_cell.iter().all(|call| (call[0].level, call[1].level) == (1, 2));
        complete.then(|| Figure {
            operation: cell.operation,
            bytes: cell.bytes,
            microseconds: nanoseconds / cell.calls as f64 / 1e3,
            crossings: crossings(&last[0], &last[1]),
        })
    };
    cells.iter().map(figure).collect::<Option<_>>().ok_or_else(|| "the program has not made all calls".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_model::lines::Crossings;

    #[test]
    fn marks_become_figures() {
        let mark =
            |level, time, package| Mark { level, time, crossings: Crossings { package, ..Crossings::default() } };
        let marks = [mark(1, 0.0, 0), mark(2, 1000.0, 5), mark(1, 1000.0, 5), mark(2, 3000.0, 8)];
        let cell = Cell { calls: 2, ..Cell::new("bcast", 8, 4) };
        let figures = figures(&[cell], &marks).expect("all calls");
        assert_eq!(figures[0].plain(), "bcast 8 1.50 package=3 numa=0 l3=0");
        assert!(super::figures(&[cell], &marks[..2]).is_err(), "a call is missing");
    }

    #[test]
    fn what_takes_too_much_memory_is_left_out() {
        let (cells, left_out) = of("alltoall", &[8, 1 << 20], 96);
        assert_eq!((cells.len(), left_out), (1, Some(1 << 20)));
        assert_eq!(of("barrier", &[8, 64], 96).0.len(), 1);
    }
}
