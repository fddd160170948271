//! One run of the file.

use std::io::{IoSlice, IoSliceMut};
use std::slice;

use super::Access;
use crate::hints::AccessKind;
use crate::memory::{Walk, readable, writable};
use crate::{Error, File};

/// Bytes that are packed before they are written: they stay in the cache.
const PACKED: u64 = 256 << 10;
/// Bytes of one list of segments: fewer than a system call moves at most.
const LISTED: u64 = 1 << 30;

impl Access<'_> {
    /// Reads the next `len` bytes of the walk from `offset` on; returns how many there were.
    pub(super) fn read_run(&self, offset: u64, walk: &mut Walk, len: u64) -> Result<u64, Error> {
        if let Some(run) = walk.run(len as usize) {
            // SAFETY: whoever made the walk vouches for its memory.
            let out = unsafe { slice::from_raw_parts_mut(run, len as usize) };
            return Ok(self.file.read_at(offset, out)? as u64);
        }
        let mut done = 0;
        let mut buffer = self.file.buffer();
        while done < len {
            let at = offset + done;
            let (asked, got) = if walk.listed() {
                let segments = walk.segments((len - done).min(LISTED));
                // SAFETY: as above.
                self.file.read_list(at, &mut unsafe { writable(&segments) })?
            } else {
                let part = buffer.room((len - done).min(PACKED) as usize)?;
                let got = self.file.read_at(at, part)?;
                walk.unpack(&part[..got]);
                (part.len(), got)
            };
            done += got as u64;
            if got < asked {
                break;
            }
        }
        Ok(done)
    }

    /// Writes the next `len` bytes of the walk at `offset`.
    pub(super) fn write_run(&self, offset: u64, walk: &mut Walk, len: u64) -> Result<(), Error> {
        if let Some(run) = walk.run(len as usize) {
            // SAFETY: whoever made the walk vouches for its memory.
            return self.file.put(offset, unsafe { slice::from_raw_parts(run, len as usize) });
        }
        let mut done = 0;
        let mut buffer = self.file.buffer();
        while done < len {
            let at = offset + done;
            if walk.listed() {
                let segments = walk.segments((len - done).min(LISTED));
                // SAFETY: as above.
                done += self.file.put_list(at, &mut unsafe { readable(&segments) })?;
            } else {
                let part = buffer.room((len - done).min(PACKED) as usize)?;
                walk.pack(part);
                self.file.put(at, part)?;
                done += part.len() as u64;
            }
        }
        Ok(())
    }
}

impl File {
    /// Reads into all of `list`; returns its bytes and how many there were, fewer at the end of the file.
    fn read_list(&self, offset: u64, mut list: &mut [IoSliceMut<'_>]) -> Result<(usize, usize), Error> {
        let asked = list.iter().map(|part| part.len()).sum();
        let mut done = 0;
        while done < asked {
            match self.transfer(AccessKind::Read, offset + done as u64, asked - done, |fd, at| {
                rustix::io::preadv(fd, list, at)
            })? {
                0 => break,
                some => {
                    done += some;
                    IoSliceMut::advance_slices(&mut list, some);
                }
            }
        }
        Ok((asked, done))
    }

    /// Writes all of `list` and returns its bytes.
    fn put_list(&self, offset: u64, mut list: &mut [IoSlice<'_>]) -> Result<u64, Error> {
        let all: usize = list.iter().map(|part| part.len()).sum();
        let mut done = 0;
        while done < all {
            let some = self.transfer(AccessKind::Write, offset + done as u64, all - done, |fd, at| {
                rustix::io::pwritev(fd, list, at)
            })?;
            done += some;
            IoSlice::advance_slices(&mut list, some);
        }
        Ok(all as u64)
    }
}
