//! Runs of a file as two processes tell each other: what follows a regular pattern takes one entry,
//! however many runs that are.

use crate::constants::MPI_ERR_INTERN;
use crate::error::{Error, Result, no_memory};
use std::rc::Rc;
use tern_io::plan::Request;
use tern_io::{Grid, View, Window};
use tern_layout::{Basic, Type};
use tern_memory::Lack;

/// Runs in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<Grid>);

impl Runs {
    /// The runs of `len` bytes of the stream of a view from `position` on, which is ordered.
    ///
    /// Errors: MPI_ERR_NO_MEM.
    pub fn of(view: &View, position: u64, len: u64) -> Result<Runs> {
        match view.regular(position, len) {
            Some(grids) => tern_memory::collect(grids).map(Runs).map_err(listing),
            None => Runs::new(view.segments(position, len)),
        }
    }

    /// These runs, given in the order of the file as offset and length.
    ///
    /// Errors: MPI_ERR_NO_MEM.
    pub fn new(runs: impl Iterator<Item = (u64, u64)>) -> Result<Runs> {
        let mut grids: Vec<Grid> = Vec::new();
        for (offset, len) in runs {
            match grids.last_mut() {
                Some(grid) if grid.len == len && grid.count == 1 => {
                    grid.stride = offset - grid.offset;
                    grid.count = 2;
                }
                Some(grid) if grid.len == len && grid.offset + grid.count * grid.stride == offset => grid.count += 1,
                _ => tern_memory::push(&mut grids, Grid { offset, len, stride: 0, count: 1 }).map_err(listing)?,
            }
        }
        Ok(Runs(grids))
    }

    /// Offset and length of each.
    pub fn each(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().flat_map(Grid::runs).map(|run| (run.start, run.end - run.start))
    }

    /// Asks for them.
    ///
    /// Errors: MPI_ERR_NO_MEM.
    pub fn add_to(&self, window: &mut Window) -> Result<()> {
        Ok(self.0.iter().try_for_each(|grid| window.add_grid(*grid))?)
    }

    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|grid| grid.len * grid.count).sum()
    }

    /// What of them lies before `end`.
    ///
    /// Errors: MPI_ERR_NO_MEM.
    pub fn before(&self, end: u64) -> Result<Runs> {
        if self.0.last().is_none_or(|grid| grid.end() <= end) {
            return tern_memory::copy(&self.0).map(Runs).map_err(listing);
        }
        let within = self.each().take_while(|&(offset, _)| offset < end);
        Runs::new(within.map(|(offset, len)| (offset, len.min(end - offset))))
    }

    /// A datatype for them in a buffer that begins at offset `base` of the file.
    pub fn layout(&self, base: u64) -> Result<Rc<Type>> {
        let byte = Type::basic(Basic::Byte);
        let grid = |grid: &Grid| Type::hvector(grid.count as i64, grid.len as i64, grid.stride as i64, &byte);
        let single = self.0.iter().all(|grid| grid.count == 1);
        let numbers = |of: &dyn Fn(&Grid) -> u64| tern_memory::collect(self.0.iter().map(|grid| of(grid) as i64));
        let displacements = numbers(&|grid| grid.offset - base).map_err(listing)?;
        let made = if single {
            Type::hindexed(&numbers(&|grid| grid.len).map_err(listing)?, &displacements, &byte)
        } else {
            let ones = numbers(&|_| 1).map_err(listing)?;
            let mut grids = tern_memory::room(self.0.len()).map_err(listing)?;
            let made = self.0.iter().try_for_each(|each| grid(each).map(|grid| grids.push(grid)));
            made.and_then(|()| Type::structure(&ones, &displacements, &grids))
        };
        made.map_err(|error| match error {
            tern_layout::Error::NoMemory { bytes } => listing(Lack { bytes }),
            error => Error::new(MPI_ERR_INTERN, format!("a list of {} runs: {error}", self.0.len())),
        })
    }
}

fn listing(lack: Lack) -> Box<Error> {
    no_memory("a list of the parts of the file that a process accesses", lack)
}

/// Runs as bytes, for another process.
///
/// Errors: MPI_ERR_NO_MEM.
pub fn encode(runs: &Runs) -> Result<Vec<u8>> {
    let words = runs.0.iter().flat_map(|grid| [grid.offset, grid.len, grid.stride, grid.count]);
    let mut bytes = tern_memory::room(size_of_val(&runs.0[..])).map_err(listing)?;
    bytes.extend(words.flat_map(u64::to_ne_bytes));
    Ok(bytes)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
}

/// The reverse.
///
/// Errors: MPI_ERR_NO_MEM.
pub fn decode(bytes: &[u8]) -> Result<Runs> {
    let grid = |bytes: &[u8]| {
        let mut words = words(bytes);
        let mut next = || words.next().expect("four words");
        Grid { offset: next(), len: next(), stride: next(), count: next() }
    };
    tern_memory::collect(bytes.chunks_exact(32).map(grid)).map(Runs).map_err(listing)
}

/// What all have to know of a process's part, as bytes.
pub fn encode_request(request: &Request) -> Vec<u8> {
    let Request { first, end, bytes, runs, ordered, call } = *request;
    [first, end, bytes, runs, ordered, call].into_iter().flat_map(u64::to_ne_bytes).collect()
}

/// The reverse; a process that has said nothing has no part.
pub fn decode_request(bytes: &[u8]) -> Request {
    let mut words = words(bytes);
    let mut next = || words.next().unwrap_or(0);
    Request { first: next(), end: next(), bytes: next(), runs: next(), ordered: next(), call: next() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists() -> Vec<Vec<(u64, u64)>> {
        vec![
            vec![],
            vec![(7, 3)],
            (0..100).map(|i| (i * 4096 + 5, 1024)).collect(),
            vec![(0, 8), (16, 8), (32, 8), (48, 4), (64, 8), (80, 8), (200, 1)],
            vec![(0, 4), (4, 4), (100, 4), (196, 4)],
        ]
    }

    #[test]
    fn runs_survive_and_regular_ones_are_short() {
        for list in lists() {
            let runs = Runs::new(list.iter().copied()).unwrap();
            assert_eq!(runs.each().collect::<Vec<_>>(), list);
            assert_eq!(decode(&encode(&runs).unwrap()).unwrap(), runs);
            assert_eq!(runs.bytes(), list.iter().map(|&(_, len)| len).sum::<u64>());
        }
        assert_eq!(Runs::new((0..100).map(|i| (i * 4096, 1024))).unwrap().0.len(), 1);
    }

    #[test]
    fn runs_are_cut_at_the_end_of_the_file() {
        for list in lists() {
            let runs = Runs::new(list.iter().copied()).unwrap();
            for end in [0, 1, 8, 20, 50, 81, 199, 5000, 1 << 30] {
                let expected: Vec<_> = list
                    .iter()
                    .filter(|(offset, _)| *offset < end)
                    .map(|&(offset, len)| (offset, len.min(end - offset)))
                    .collect();
                assert_eq!(runs.before(end).unwrap().each().collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn the_layout_is_that_of_the_runs() {
        for list in lists().into_iter().skip(1) {
            let runs = Runs::new(list.iter().copied()).unwrap();
            let base = list[0].0;
            let layout = runs.layout(base).unwrap();
            assert_eq!(layout.size() as u64, runs.bytes());
            let mut at: Vec<u64> = Vec::new();
            for (offset, len) in layout.segments(0, 1, 0, runs.bytes()) {
                at.extend((0..len).map(|byte| base + offset as u64 + byte));
            }
            let expected: Vec<u64> = list.iter().flat_map(|&(offset, len)| offset..offset + len).collect();
            assert_eq!(at, expected);
        }
    }

    #[test]
    fn requests_survive() {
        let request = Request { first: 1, end: 2, bytes: 3, runs: 4, ordered: 1, call: 5 };
        assert_eq!(decode_request(&encode_request(&request)), request);
        assert_eq!(decode_request(&[]), Request::default());
    }
}
