//! Several runs of the file: one by one, or by windows with their holes (data sieving).

use tern_counters::{FILE_WINDOWS_READ, FILE_WINDOWS_WRITTEN};

use super::Access;
use crate::memory::Walk;
use crate::view::Segments;
use crate::{Error, Sharing};

impl Access<'_> {
    /// Reads run by run.
    pub(super) fn read_each(&self, position: u64, walk: &mut Walk) -> Result<u64, Error> {
        let mut done = 0;
        for (offset, len) in self.view.segments(position, walk.left()) {
            let got = self.read_run(offset, walk, len)?;
            done += got;
            if got < len {
                break;
            }
        }
        Ok(done)
    }

    /// Writes run by run.
    pub(super) fn write_each(&self, position: u64, walk: &mut Walk) -> Result<(), Error> {
        for (offset, len) in self.view.segments(position, walk.left()) {
            self.write_run(offset, walk, len)?;
        }
        Ok(())
    }

    /// Reads windows with their holes, and takes from them what is wanted.
    pub(super) fn read_windows(&self, position: u64, walk: &mut Walk) -> Result<u64, Error> {
        let mut windows = Windows::new(self.view.segments(position, walk.left()), self.hints.read_buffer);
        let mut buffer = self.file.buffer();
        let mut done = 0;
        while let Some((start, end)) = windows.next() {
            if let [(offset, len)] = windows.runs[..] {
                let got = self.read_run(offset, walk, len)?;
                done += got;
                if got < len {
                    break;
                }
                continue;
            }
            FILE_WINDOWS_READ.add(1);
            let window = buffer.room((end - start) as usize);
            let got = self.file.read_at(start, window)?;
            for &(offset, len) in &windows.runs {
                let from = ((offset - start) as usize).min(got);
                let to = ((offset - start + len) as usize).min(got);
                walk.unpack(&window[from..to]);
                done += (to - from) as u64;
            }
            if got < window.len() {
                break;
            }
        }
        Ok(done)
    }

    /// Reads windows, changes what is to be written, and writes them back, each under a lock.
    pub(super) fn write_windows(&self, position: u64, walk: &mut Walk) -> Result<(), Error> {
        let mut windows = Windows::new(self.view.segments(position, walk.left()), self.hints.write_buffer);
        let mut buffer = self.file.buffer();
        while let Some((start, end)) = windows.next() {
            let single = windows.runs.len() == 1;
            let sharing = if single { Sharing::Shared } else { Sharing::Exclusive };
            let lock = match self.hints.atomic {
                true => None,
                false => self.file.lock(sharing, start..end)?,
            };
            // Without a lock somebody's bytes in the holes could be lost.
            if single || lock.is_none() && !self.hints.atomic {
                for &(offset, len) in &windows.runs {
                    self.write_run(offset, walk, len)?;
                }
                continue;
            }
            FILE_WINDOWS_WRITTEN.add(1);
            let window = buffer.room((end - start) as usize);
            let got = self.file.read_at(start, window)?;
            window[got..].fill(0);
            for &(offset, len) in &windows.runs {
                let from = (offset - start) as usize;
                walk.pack(&mut window[from..from + len as usize]);
            }
            self.file.put(start, window)?;
        }
        Ok(())
    }
}

/// Runs in the order of the file, gathered into windows.
struct Windows {
    segments: Segments,
    /// What is left of a run that reached out of a window.
    rest: Option<(u64, u64)>,
    room: u64,
    /// The runs of the window: offset and length.
    runs: Vec<(u64, u64)>,
}

impl Windows {
    fn new(segments: Segments, room: usize) -> Windows {
        Windows { segments, rest: None, room: room as u64, runs: Vec::new() }
    }

    /// Goes on to the next window: begin and end, where its first run begins and its last one ends.
    fn next(&mut self) -> Option<(u64, u64)> {
        self.runs.clear();
        let (offset, len) = self.rest.take().or_else(|| self.segments.next())?;
        let start = offset;
        let mut end = offset + len;
        self.runs.push((offset, len));
        while end - start < self.room
            && let Some((offset, len)) = self.segments.next()
        {
            if offset - start >= self.room {
                self.rest = Some((offset, len));
                break;
            }
            let fit = len.min(self.room - (offset - start));
            self.runs.push((offset, fit));
            end = offset + fit;
            if fit < len {
                self.rest = Some((end, len - fit));
            }
        }
        Some((start, end))
    }
}
