//! Memory as a stream of bytes: the data of elements of a layout, in the order of the type map.

use std::io::{IoSlice, IoSliceMut};
use std::rc::Rc;
use std::slice;

use tern_layout::{Cursor, Type};

/// Elements of a type in memory, at a buffer address.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    pub base: *mut u8,
    pub count: i64,
    pub ty: &'a Rc<Type>,
}

impl Memory<'_> {
    /// Bytes of data.
    pub fn len(&self) -> u64 {
        self.ty.pack_size(self.count).unwrap_or(0) as u64
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A position in the data of some memory, which goes on as data is moved. Whoever makes one vouches
/// for the memory: its data may be read, or written, whichever is done, as long as the walk lives.
pub(crate) enum Walk {
    Dense { at: *mut u8, left: u64 },
    Typed { base: *mut u8, cursor: Cursor, average: u64 },
}

/// Segments of one system call (IOV_MAX).
const MOST: usize = 1024;
/// From how many bytes of an average run on the kernel's lists of segments beat packing.
const LISTED: u64 = 1024;

impl Walk {
    /// # Safety
    /// See the type.
    pub unsafe fn new(memory: &Memory<'_>) -> Walk {
        match memory.ty.dense_run(memory.count) {
            Some((at, left)) => Walk::Dense { at: memory.base.wrapping_offset(at as isize), left },
            None => Walk::Typed {
                base: memory.base,
                cursor: Cursor::new(memory.ty, memory.count),
                average: memory.ty.size() as u64 / memory.ty.spread().runs.max(1),
            },
        }
    }

    pub fn bytes(bytes: &[u8]) -> Walk {
        Walk::Dense { at: bytes.as_ptr().cast_mut(), left: bytes.len() as u64 }
    }

    pub fn bytes_mut(bytes: &mut [u8]) -> Walk {
        Walk::Dense { at: bytes.as_mut_ptr(), left: bytes.len() as u64 }
    }

    /// Bytes to the end of the data.
    pub fn left(&self) -> u64 {
        match self {
            Walk::Dense { left, .. } => *left,
            Walk::Typed { cursor, .. } => cursor.remaining(),
        }
    }

    /// The next `len` bytes as they lie in memory, if they are one run.
    pub fn run(&mut self, len: usize) -> Option<*mut u8> {
        match self {
            Walk::Dense { at, left } if len as u64 <= *left => {
                let run = *at;
                *at = run.wrapping_add(len);
                *left -= len as u64;
                Some(run)
            }
            _ => None,
        }
    }

    /// Whether its runs are long enough for lists of segments.
    pub fn listed(&self) -> bool {
        matches!(self, Walk::Typed { average, .. } if *average >= LISTED)
    }

    /// The next runs, at most `limit` bytes and as many as a system call takes.
    pub fn segments(&mut self, limit: u64) -> Vec<(*mut u8, usize)> {
        let (mut list, mut left) = (Vec::new(), limit);
        while let Walk::Typed { base, cursor, .. } = self
            && list.len() < MOST
            && let Some((at, len)) = cursor.next_run(left)
        {
            list.push((base.wrapping_offset(at as isize), len as usize));
            left -= len;
        }
        list
    }

    /// Copies the next bytes out.
    pub fn pack(&mut self, out: &mut [u8]) {
        match self {
            Walk::Dense { .. } => {
                if let Some(run) = self.run(out.len()) {
                    // SAFETY: whoever made the walk vouches for its data, and `out` is not part of it.
                    unsafe { run.copy_to_nonoverlapping(out.as_mut_ptr(), out.len()) }
                }
            }
            // SAFETY: as above.
            Walk::Typed { base, cursor, .. } => unsafe {
                cursor.pack(*base, out);
            },
        }
    }

    /// Copies the next `len` bytes to the next places of `to`, whose buffer address is `base`.
    ///
    /// # Safety
    /// These places may be written, and none of them is in the memory of this walk.
    pub unsafe fn copy_out(&mut self, to: &mut Cursor, base: *mut u8, len: u64) {
        // SAFETY: the caller's word, and that of the maker of the walk.
        unsafe {
            match self {
                Walk::Typed { base: own, cursor, .. } => {
                    to.copy_from(base, cursor, *own, len);
                }
                Walk::Dense { .. } => {
                    if let Some(run) = self.run(len as usize) {
                        to.unpack(base, slice::from_raw_parts(run, len as usize));
                    }
                }
            }
        }
    }

    /// Copies `len` bytes from the next places of `from` in.
    ///
    /// # Safety
    /// As `copy_out`, with the places read.
    pub unsafe fn copy_in(&mut self, from: &mut Cursor, base: *mut u8, len: u64) {
        // SAFETY: as in `copy_out`.
        unsafe {
            match self {
                Walk::Typed { base: own, cursor, .. } => {
                    cursor.copy_from(*own, from, base, len);
                }
                Walk::Dense { .. } => {
                    if let Some(run) = self.run(len as usize) {
                        from.pack(base, slice::from_raw_parts_mut(run, len as usize));
                    }
                }
            }
        }
    }

    /// Copies bytes in.
    pub fn unpack(&mut self, input: &[u8]) {
        match self {
            Walk::Dense { .. } => {
                if let Some(run) = self.run(input.len()) {
                    // SAFETY: as in `pack`.
                    unsafe { run.copy_from_nonoverlapping(input.as_ptr(), input.len()) }
                }
            }
            // SAFETY: as above.
            Walk::Typed { base, cursor, .. } => unsafe {
                cursor.unpack(*base, input);
            },
        }
    }
}

/// # Safety
/// The segments may be read as long as the slices live.
pub(crate) unsafe fn readable<'a>(segments: &[(*mut u8, usize)]) -> Vec<IoSlice<'a>> {
    // SAFETY: the caller's word.
    segments.iter().map(|&(at, len)| IoSlice::new(unsafe { slice::from_raw_parts(at, len) })).collect()
}

/// # Safety
/// The segments may be written as long as the slices live, and do not overlap.
pub(crate) unsafe fn writable<'a>(segments: &[(*mut u8, usize)]) -> Vec<IoSliceMut<'a>> {
    // SAFETY: the caller's word.
    segments.iter().map(|&(at, len)| IoSliceMut::new(unsafe { slice::from_raw_parts_mut(at, len) })).collect()
}
