//! Windows of a collective access: a part of the file in memory, of which many want or have bytes.

use std::ops::Range;

use tern_counters::{FILE_WINDOWS_READ, FILE_WINDOWS_WRITTEN};

use crate::cost::Shape;
use crate::error::Error;
use crate::file::File;
use crate::grid::Grid;
use crate::hints::{AccessKind, Hints};
use crate::lock::Sharing;
use tern_memory::Lack;

/// Which bytes of a part of the file somebody has asked for: what an aggregator of a collective access
/// collects in a round.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// As they were added; joined where one run continues the one before.
    added: Vec<Grid>,
}

/// More grids than these are sorted at once.
const FEW: usize = 64;

impl Window {
    pub fn new() -> Window {
        Window::default()
    }

    /// Somebody asks for `len` bytes at `offset` of the file.
    ///
    /// Errors: as of [`Window::add_grid`].
    pub fn add(&mut self, offset: u64, len: u64) -> Result<(), Error> {
        match self.added.last_mut() {
            Some(last) if last.count == 1 && last.end() == offset => last.len += len,
            _ => self.add_grid(Grid { offset, len, stride: 0, count: 1 })?,
        }
        Ok(())
    }

    /// Somebody asks for these bytes.
    ///
    /// Errors: there is no memory to note it, and it is not in the window.
    pub fn add_grid(&mut self, grid: Grid) -> Result<(), Error> {
        if grid.len > 0 && grid.count > 0 {
            tern_memory::push(&mut self.added, grid).map_err(listing)?;
        }
        Ok(())
    }

    /// From the first byte that somebody asks for to the end of the last; empty without any.
    pub fn range(&self) -> Range<u64> {
        let start = self.added.iter().map(|grid| grid.offset).min();
        let end = self.added.iter().map(Grid::end).max();
        start.unwrap_or(0)..end.unwrap_or(0)
    }

    /// The bytes asked for, as runs in the order of the file that neither overlap nor touch.
    ///
    /// Errors: there is no memory for the list.
    pub fn runs(&self) -> Result<Vec<Range<u64>>, Error> {
        if self.is_joined() {
            return Ok(vec![self.range()]);
        }
        let mut runs = tern_memory::collect(self.added.iter().flat_map(Grid::runs)).map_err(listing)?;
        // What the sort takes besides.
        tern_memory::probe(size_of_val(&runs[..])).map_err(listing)?;
        // Stable: it takes what each process has added, in order, as it is.
        runs.sort_by_key(|run| run.start);
        runs.dedup_by(|run, last| {
            let joined = run.start <= last.end;
            if joined {
                last.end = last.end.max(run.end);
            }
            joined
        });
        Ok(runs)
    }

    /// Whether it has no holes, as far as that is seen without sorting: mostly the grids take turns.
    fn is_joined(&self) -> bool {
        let grids = &self.added[..];
        if grids.is_empty() || grids.len() > FEW {
            return false;
        }
        let range = self.range();
        let mut next = [0; FEW];
        let (mut end, mut turn) = (range.start, 0);
        while end < range.end {
            let fits = |&at: &usize| next[at] < grids[at].count && grids[at].run(next[at]).start <= end;
            let Some(found) = (turn..grids.len()).chain(0..turn).find(fits) else { return false };
            end = end.max(grids[found].run(next[found]).end);
            next[found] += 1;
            turn = (found + 1) % grids.len();
        }
        true
    }
}

fn listing(lack: Lack) -> Error {
    Error::memory("the list of what processes ask for in a part of the file", lack)
}

fn shape(runs: &[Range<u64>], range: &Range<u64>) -> Shape {
    let bytes = runs.iter().map(|run| run.end - run.start).sum();
    Shape { bytes, runs: runs.len() as u64, span: range.end - range.start }
}

/// Where `run` lies in a buffer that begins at `start`.
fn part(run: &Range<u64>, start: u64) -> Range<usize> {
    (run.start - start) as usize..(run.end - start) as usize
}

/// Reads what `window` asks for into `buffer`, which begins at the offset `window.range().start`; bytes
/// of holes may come, too. Returns the offset up to which the file had bytes; what lies beyond is left
/// as it was.
pub fn read_window(file: &File, window: &Window, buffer: &mut [u8], hints: &Hints) -> Result<u64, Error> {
    let (range, runs) = (window.range(), window.runs()?);
    let shape = shape(&runs, &range);
    if shape.runs < 2
        || shape.sieve(hints.read_sieving, buffer.len(), AccessKind::Read, file.calls.cost(AccessKind::Read))
    {
        FILE_WINDOWS_READ.add(u64::from(shape.runs > 1));
        let len = (range.end - range.start) as usize;
        return Ok(range.start + file.read_at(range.start, &mut buffer[..len])? as u64);
    }
    for run in &runs {
        let part = &mut buffer[part(run, range.start)];
        let got = file.read_at(run.start, part)?;
        if got < part.len() {
            return Ok(run.start + got as u64);
        }
    }
    Ok(range.end)
}

/// Writes what `window` asks for from `buffer`, likewise. Bytes of holes in `buffer` may change.
pub fn write_window(file: &File, window: &Window, buffer: &mut [u8], hints: &Hints) -> Result<(), Error> {
    let (range, runs) = (window.range(), window.runs()?);
    let shape = shape(&runs, &range);
    file.check_limit(range.end, shape.bytes, &|| format!("write {} bytes at offset {}", shape.bytes, range.start))?;
    let sieve = file.readable()
        && shape.sieve(hints.write_sieving, buffer.len(), AccessKind::Write, file.calls.cost(AccessKind::Write));
    if sieve
        && file.may_have_windows()
        && let Some(_lock) = file.lock(Sharing::Exclusive, range.clone())?
    {
        FILE_WINDOWS_WRITTEN.add(1);
        for pair in runs.windows(2) {
            let hole = &mut buffer[part(&(pair[0].end..pair[1].start), range.start)];
            let got = file.read_at(pair[0].end, hole)?;
            hole[got..].fill(0);
        }
        return file.put(range.start, &buffer[part(&range, range.start)]);
    }
    let _lock = if hints.guarded && !file.is_plain() { file.lock(Sharing::Shared, range.clone())? } else { None };
    for run in &runs {
        file.put(run.start, &buffer[part(run, range.start)])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grids() -> impl Strategy<Value = Vec<Grid>> {
        let grid = (0..60u64, 0..12u64, 0..8u64, 0..9u64).prop_map(|(offset, len, hole, count)| Grid {
            offset,
            len,
            stride: len + hole,
            count,
        });
        prop::collection::vec(grid, 0..6)
    }

    proptest! {
        #[test]
        fn runs_are_the_bytes_that_were_added(grids in grids()) {
            let mut wanted = vec![false; 400];
            let mut window = Window::new();
            for grid in &grids {
                window.add_grid(*grid).unwrap();
                grid.runs().flatten().for_each(|at| wanted[at as usize] = true);
            }
            let runs = window.runs().unwrap();
            prop_assert!(runs.iter().all(|run| run.start < run.end));
            prop_assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start));
            let mut got = vec![false; 400];
            runs.into_iter().flatten().for_each(|at| got[at as usize] = true);
            prop_assert_eq!(got, wanted);
        }
    }

    #[test]
    fn blocks_in_turns_are_one_run() {
        let mut window = Window::new();
        let grids = (0..4).map(|turn| Grid { offset: 100 + turn * 8, len: 8, stride: 32, count: 50 });
        grids.for_each(|grid| window.add_grid(grid).unwrap());
        assert!(window.is_joined());
        window.add_grid(Grid { offset: 1701, len: 8, stride: 32, count: 1 }).unwrap();
        assert!(!window.is_joined());
    }
}
