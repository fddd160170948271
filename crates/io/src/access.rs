//! Reading and writing: between a part of a view's stream and a layout in memory.

use std::ops::Range;
use std::rc::Rc;

use tern_layout::Type;

use crate::{Class, Error, File, View};

/// Elements of a type in memory, at a buffer address.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    pub base: *mut u8,
    pub count: i64,
    pub ty: &'a Rc<Type>,
}

/// Whether to use a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Where it is faster.
    #[default]
    Auto,
    /// Wherever it can be used ("enable").
    Always,
    /// "disable".
    Never,
}

/// What the caller wishes and knows of the accesses to a file.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// Reading windows of the file with their holes (`romio_ds_read`).
    pub read_sieving: Choice,
    /// Reading windows, changing them, and writing them back, under a lock (`romio_ds_write`).
    pub write_sieving: Choice,
    /// Bytes of a window for reading (`ind_rd_buffer_size`).
    pub read_buffer: usize,
    /// Bytes of a window for writing (`ind_wr_buffer_size`).
    pub write_buffer: usize,
    /// Others may change windows of this file while we write: plain writes take a shared lock, so that
    /// no window is written back over them. Not needed while all views of the file are contiguous, or
    /// with one process.
    pub guarded: bool,
    /// Atomic mode: each access happens under one lock.
    pub atomic: bool,
}

impl Default for Hints {
    fn default() -> Hints {
        Hints {
            read_sieving: Choice::Auto,
            write_sieving: Choice::Auto,
            read_buffer: 4 << 20,
            write_buffer: 512 << 10,
            guarded: true,
            atomic: false,
        }
    }
}

/// Reads the stream of `view` from `position` on into `memory`. Returns how many bytes of data came
/// into memory: fewer than it has room for only at the end of the file.
///
/// # Safety
/// All data of `memory` is writable, and nobody else uses it meanwhile.
pub unsafe fn read(file: &File, view: &View, position: u64, memory: &Memory<'_>, hints: &Hints) -> Result<u64, Error> {
    let _ = (file, view, position, memory, hints);
    Err(Error::new(Class::UnsupportedOperation, "not built yet".into()))
}

/// Writes all data of `memory` to the stream of `view` from `position` on. Returns how many bytes of
/// memory that was.
///
/// # Safety
/// All data of `memory` is readable, and nobody changes it meanwhile.
pub unsafe fn write(file: &File, view: &View, position: u64, memory: &Memory<'_>, hints: &Hints) -> Result<u64, Error> {
    let _ = (file, view, position, memory, hints);
    Err(Error::new(Class::UnsupportedOperation, "not built yet".into()))
}

/// A part of the file in memory, and which bytes of it somebody has asked for: what an aggregator of
/// a collective access collects in a round.
#[derive(Debug, Default)]
pub struct Window {
    /// The bytes asked for, as disjoint runs in the order of the file.
    runs: Vec<Range<u64>>,
}

impl Window {
    pub fn new() -> Window {
        Window::default()
    }

    /// Somebody asks for `len` bytes at `offset` of the file.
    pub fn add(&mut self, offset: u64, len: u64) {
        let _ = (offset, len);
    }

    /// From the first byte that somebody asks for to the end of the last; empty without any.
    pub fn range(&self) -> Range<u64> {
        0..0
    }

    /// The bytes asked for, as disjoint runs in the order of the file.
    pub fn runs(&self) -> &[Range<u64>] {
        &self.runs
    }
}

/// Reads what `window` asks for into `buffer`, which begins at the offset `window.range().start`.
/// Returns the offset up to which the file had bytes; what lies beyond is left as it was.
pub fn read_window(file: &File, window: &Window, buffer: &mut [u8], hints: &Hints) -> Result<u64, Error> {
    let _ = (file, window, buffer, hints);
    Err(Error::new(Class::UnsupportedOperation, "not built yet".into()))
}

/// Writes what `window` asks for from `buffer`, likewise. Bytes of holes in `buffer` may change.
pub fn write_window(file: &File, window: &Window, buffer: &mut [u8], hints: &Hints) -> Result<(), Error> {
    let _ = (file, window, buffer, hints);
    Err(Error::new(Class::UnsupportedOperation, "not built yet".into()))
}
