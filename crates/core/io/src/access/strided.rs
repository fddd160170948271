//! Several runs of the file: one by one, or by windows with their holes (data sieving).

use std::ops::Range;

use tern_counters::{FILE_WINDOWS_READ, FILE_WINDOWS_WRITTEN};

use super::Access;
use crate::memory::Walk;
use crate::{Error, Sharing, View};

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
        let windows = Windows::new(self.view, position, walk.left(), self.hints.read_buffer.min(READ));
        let mut buffer = self.file.buffer();
        let mut done = 0;
        for window in windows {
            let start = window.file.start;
            if window.is_dense() {
                let got = self.read_run(start, walk, window.bytes())?;
                done += got;
                if got < window.bytes() {
                    break;
                }
                continue;
            }
            FILE_WINDOWS_READ.add(1);
            let bytes = buffer.room(window.span())?;
            let got = self.file.read_at(start, bytes)?;
            let there = match got < bytes.len() {
                true => self.view.bytes_before(start + got as u64).clamp(window.stream.start, window.stream.end),
                false => window.stream.end,
            };
            let from = window.stream.start..there;
            done += there - from.start;
            // SAFETY: what lies before the end of the file is in `bytes`, and is not the program's memory, for which
            // the maker of the walk vouches.
            unsafe {
                walk.copy_in(
                    &mut self.view.cursor(&from),
                    self.view.origin(bytes.as_mut_ptr(), start),
                    there - from.start,
                )
            };
            if got < bytes.len() {
                break;
            }
        }
        Ok(done)
    }

    /// Reads windows, changes what is to be written, and writes them back, each under a lock.
    pub(super) fn write_windows(&self, position: u64, walk: &mut Walk) -> Result<(), Error> {
        let windows = Windows::new(self.view, position, walk.left(), self.hints.write_buffer);
        let mut buffer = self.file.buffer();
        for window in windows {
            let start = window.file.start;
            let dense = window.is_dense();
            let sharing = if dense { Sharing::Shared } else { Sharing::Exclusive };
            let lock = match self.hints.atomic {
                true => None,
                false => self.file.lock(sharing, window.file.clone())?,
            };
            // Without a lock somebody's bytes in the holes could be lost.
            if dense || lock.is_none() && !self.hints.atomic {
                for (offset, len) in self.view.segments(window.stream.start, window.bytes()) {
                    self.write_run(offset, walk, len)?;
                }
                continue;
            }
            FILE_WINDOWS_WRITTEN.add(1);
            let bytes = buffer.room(window.span())?;
            let got = self.file.read_at(start, bytes)?;
            bytes[got..].fill(0);
            // SAFETY: the part of the stream lies in `bytes`, which is not the program's memory.
            unsafe {
                walk.copy_out(
                    &mut self.view.cursor(&window.stream),
                    self.view.origin(bytes.as_mut_ptr(), start),
                    window.bytes(),
                )
            };
            self.file.put(start, bytes)?;
        }
        Ok(())
    }
}

/// Longer windows to read leave the cache of the core before they are taken apart.
const READ: usize = 512 << 10;

/// An ordered part of the stream in windows, which end at multiples of `room` in the file: so those of several
/// processes whose blocks lie between each other have the same bounds, and each one's is in the way of one other's only.
struct Windows<'a> {
    view: &'a View,
    /// What is left.
    stream: Range<u64>,
    room: u64,
}

struct Window {
    /// Its part of the stream.
    stream: Range<u64>,
    /// From the first of these bytes to the last, in the file.
    file: Range<u64>,
}

impl Window {
    fn bytes(&self) -> u64 {
        self.stream.end - self.stream.start
    }

    fn span(&self) -> usize {
        (self.file.end - self.file.start) as usize
    }

    /// Without holes.
    fn is_dense(&self) -> bool {
        self.bytes() == self.file.end - self.file.start
    }
}

impl<'a> Windows<'a> {
    fn new(view: &'a View, position: u64, len: u64, room: usize) -> Windows<'a> {
        Windows { view, stream: position..position + len, room: room as u64 }
    }
}

impl Iterator for Windows<'_> {
    type Item = Window;

    fn next(&mut self) -> Option<Window> {
        if self.stream.is_empty() {
            return None;
        }
        let at = self.stream.start;
        let start = self.view.offset(at)?;
        let bound = start - start % self.room;
        let next = self.view.bytes_before(bound.saturating_add(self.room)).clamp(at + 1, self.stream.end);
        self.stream.start = next;
        Some(Window { stream: at..next, file: self.view.range(at, next - at)? })
    }
}
