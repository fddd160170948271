//! Windows of a collective access: a part of the file in memory, of which many want or have bytes.

use std::ops::Range;

use tern_counters::{FILE_WINDOWS_READ, FILE_WINDOWS_WRITTEN};

use crate::cost::Shape;
use crate::file::Way;
use crate::{Error, File, Hints, Sharing};

/// Which bytes of a part of the file somebody has asked for: what an aggregator of a collective access
/// collects in a round.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// As they were added; joined where one continues the one before.
    added: Vec<Range<u64>>,
}

impl Window {
    pub fn new() -> Window {
        Window::default()
    }

    /// Somebody asks for `len` bytes at `offset` of the file.
    pub fn add(&mut self, offset: u64, len: u64) {
        match self.added.last_mut() {
            _ if len == 0 => {}
            Some(last) if last.end == offset => last.end += len,
            _ => self.added.push(offset..offset + len),
        }
    }

    /// From the first byte that somebody asks for to the end of the last; empty without any.
    pub fn range(&self) -> Range<u64> {
        let start = self.added.iter().map(|run| run.start).min();
        let end = self.added.iter().map(|run| run.end).max();
        start.unwrap_or(0)..end.unwrap_or(0)
    }

    /// The bytes asked for, as runs in the order of the file that neither overlap nor touch.
    pub fn runs(&self) -> Vec<Range<u64>> {
        let mut sorted = self.added.clone();
        // Stable: it takes what each process has added, in order, as it is.
        sorted.sort_by_key(|run| run.start);
        let mut runs: Vec<Range<u64>> = Vec::new();
        for run in sorted {
            match runs.last_mut() {
                Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
                _ => runs.push(run),
            }
        }
        runs
    }
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
    let (range, runs) = (window.range(), window.runs());
    let shape = shape(&runs, &range);
    if shape.runs < 2 || shape.sieve(hints.read_sieving, buffer.len(), Way::Read, file.calls.cost(Way::Read)) {
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
    let (range, runs) = (window.range(), window.runs());
    let shape = shape(&runs, &range);
    file.check_limit(range.end, shape.bytes, &|| format!("write {} bytes at offset {}", shape.bytes, range.start))?;
    let sieve = file.readable() && shape.sieve(hints.write_sieving, buffer.len(), Way::Write, file.calls.cost(Way::Write));
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
