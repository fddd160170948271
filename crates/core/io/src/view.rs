//! File views (MPI 5.0, section 14.3): which bytes of a file a process sees, and in which order.

use std::ops::Range;
use std::rc::Rc;

use tern_layout::{Basic, Cursor, Spread, Type};

use crate::error::{Class, Error};
use crate::grid::Grid;
use crate::representation::Representation;

/// A view: from `displacement` on the file is tiled with the filetype; the bytes where it has data are
/// the *stream* of the view, in its order. A clone shares the types.
#[derive(Clone, Debug)]
pub struct View {
    displacement: u64,
    etype: Rc<Type>,
    filetype: Rc<Type>,
    representation: Representation,
    /// Bytes of an etype in the file.
    unit: u64,
    /// The filetype in the file.
    tile: Rc<Type>,
    spread: Spread,
    /// Where the stream begins, if it is one run.
    dense: Option<u64>,
}

/// The runs of a part of the stream, in its order: offset in the file and length, both in bytes.
/// Runs that follow each other are merged.
pub struct Segments {
    runs: tern_layout::Segments,
}

impl Iterator for Segments {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        self.runs.next().map(|(at, len)| (at as u64, len))
    }
}

impl View {
    /// Checks what MPI 5.0, section 14.3 asks of a view. `written`: the file is open for writing, so
    /// that the view must not name a byte twice. A filetype without data is a view of nothing.
    pub fn new(
        displacement: i64, etype: &Rc<Type>, filetype: &Rc<Type>, representation: Representation, written: bool,
    ) -> Result<View, Error> {
        let Ok(displacement) = u64::try_from(displacement) else {
            return Err(Error::new(Class::Argument, format!("the displacement {displacement} is negative")));
        };
        let tile = representation.file_type(filetype)?;
        check("etype", &*representation.file_type(etype)?, written)?;
        check("filetype", &tile, written)?;
        let unit = representation.file_bytes(etype, 1)?;
        if unit == 0 {
            return Err(Error::new(Class::Type, "the etype has no data".into()));
        }
        if !(tile.size() as u64).is_multiple_of(unit) {
            let sizes = format!("the filetype has {} bytes of data, the etype {unit}", tile.size());
            return Err(Error::new(Class::Type, format!("{sizes}: not a whole number of etypes")));
        }
        Ok(View::of(displacement, etype.clone(), filetype.clone(), representation, unit, tile))
    }

    /// The view of a file that was just opened: all its bytes.
    pub fn bytes() -> View {
        let byte = Type::basic(Basic::Byte);
        View::of(0, byte.clone(), byte.clone(), Representation::Native, 1, byte)
    }

    fn of(
        displacement: u64, etype: Rc<Type>, filetype: Rc<Type>, representation: Representation, unit: u64,
        tile: Rc<Type>,
    ) -> View {
        let spread = tile.spread();
        // All tiles join, wherever the data of one begins.
        let joined = tile.size() > 0 && tile.extent() == tile.size();
        let dense = tile.dense_run(1).filter(|_| joined);
        let dense = dense.and_then(|(at, _)| displacement.checked_add_signed(at));
        View { displacement, etype, filetype, representation, unit, tile, spread, dense }
    }

    pub fn displacement(&self) -> u64 {
        self.displacement
    }

    pub fn etype(&self) -> &Rc<Type> {
        &self.etype
    }

    pub fn filetype(&self) -> &Rc<Type> {
        &self.filetype
    }

    pub fn representation(&self) -> &Representation {
        &self.representation
    }

    /// Bytes of an etype in the file, at least 1: an MPI offset times this is a position.
    pub fn etype_size(&self) -> u64 {
        self.unit
    }

    /// Whether the stream has no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.tile.size() == 0
    }

    /// Whether the stream is one run of the file.
    pub fn is_contiguous(&self) -> bool {
        self.dense.is_some()
    }

    /// Whether `len` bytes of the stream from `position` on are in the order of the file and name no byte twice. If
    /// not, the view is for reading, or its tiles overlap or lie within each other, and needs care. Parts of the first
    /// tile have no other tile: programs make filetypes for one access and do not care for their extents.
    pub fn is_ordered(&self, position: u64, len: u64) -> bool {
        let Spread { disjoint, first, end, .. } = self.spread;
        let one_tile = position.checked_add(len).is_some_and(|last| last <= self.tile.size() as u64);
        disjoint && (one_tile || self.tile.extent() >= end - first)
    }

    /// The position of an MPI offset, which counts etypes.
    pub fn position(&self, etypes: i64) -> Result<u64, Error> {
        let position = u64::try_from(etypes).ok().and_then(|etypes| etypes.checked_mul(self.unit));
        let position = position.filter(|&position| i64::try_from(position).is_ok());
        position.ok_or_else(|| {
            Error::new(Class::Argument, format!("the offset {etypes}, in etypes of {} bytes, is none", self.unit))
        })
    }

    /// The offset in the file of the byte at `position` of the stream (MPI_FILE_GET_BYTE_OFFSET).
    /// None if the view has no data, or if that does not fit 63 bits.
    pub fn offset(&self, position: u64) -> Option<u64> {
        let fits = |offset: &u64| i64::try_from(*offset).is_ok();
        if let Some(start) = self.dense {
            return start.checked_add(position).filter(fits);
        }
        let size = self.tile.size() as u64;
        let whole = position.checked_div(size)?;
        let skipped = i64::try_from(whole).ok()?.checked_mul(self.tile.extent())?;
        let within = skipped.checked_add(self.in_tile(position % size))?;
        self.displacement.checked_add_signed(within).filter(fits)
    }

    /// Where byte `position` of a tile lies in it.
    fn in_tile(&self, position: u64) -> i64 {
        self.tile.segments(0, 1, position, 1).next().map_or(0, |(at, _)| at)
    }

    /// The offset after the last of `len` bytes of the stream from `position` on; None as `offset`.
    /// Only for ordered parts that is the greatest one.
    pub fn end(&self, position: u64, len: u64) -> Option<u64> {
        let last = position.checked_add(len.checked_sub(1)?)?;
        self.offset(last)?.checked_add(1)
    }

    /// The part of the file that `len` bytes of the stream from `position` on lie in. None as `offset`.
    pub fn range(&self, position: u64, len: u64) -> Option<Range<u64>> {
        if self.is_ordered(position, len) {
            return Some(self.offset(position)?..self.end(position, len)?);
        }
        let last = position.checked_add(len)?.checked_sub(1)?.checked_div(self.tile.size() as u64)?;
        let way = i64::try_from(last).ok()?.checked_mul(self.tile.extent())?;
        let end = self.displacement.checked_add_signed(way.checked_add(self.tile.true_ub())?);
        Some(self.displacement..end.filter(|&end| i64::try_from(end).is_ok())?)
    }

    /// How many bytes of the stream lie before `offset` in the file, if it is ordered. Where only a part is, that is
    /// right after clamping to the part; else this is the place where the order first passes the offset, more or less.
    pub fn bytes_before(&self, offset: u64) -> u64 {
        if let Some(start) = self.dense {
            return offset.saturating_sub(start);
        }
        let (size, extent) = (self.tile.size() as u64, self.tile.extent());
        let relative = offset.saturating_sub(self.displacement).min(i64::MAX as u64) as i64;
        if size == 0 || relative <= self.spread.first {
            return 0;
        }
        // Tiles that end before the offset; only the one after them can be cut by it.
        let whole = if relative < self.spread.end { 0 } else { (relative - self.spread.end) / extent + 1 };
        let rest = relative.saturating_sub(whole.saturating_mul(extent));
        let (mut low, mut high) = (0, size);
        if rest <= self.spread.first {
            high = 0;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.in_tile(middle) < rest { low = middle + 1 } else { high = middle }
        }
        (whole as u64).saturating_mul(size).saturating_add(low)
    }

    /// Where MPI_SEEK_END is in a file of `size` bytes, in etypes: the first etype that begins at or
    /// after the end.
    pub fn position_of_end(&self, size: u64) -> i64 {
        self.bytes_before(size).div_ceil(self.unit) as i64
    }

    /// The places of a part of the stream, for copies to and from memory in which the file begins at
    /// [`View::origin`].
    pub(crate) fn cursor(&self, part: &Range<u64>) -> Cursor {
        let tiles = part.end.div_ceil(self.tile.size().max(1) as u64);
        Cursor::at(&self.tile, tiles as i64, part.start)
    }

    /// Where the first tile would be in memory, if the file's bytes from offset `start` on lie at `base`.
    pub(crate) fn origin(&self, base: *mut u8, start: u64) -> *mut u8 {
        base.wrapping_offset((self.displacement as i64 - start as i64) as isize)
    }

    /// The runs of the bytes `from` to `from + len` of the stream.
    pub fn segments(&self, from: u64, len: u64) -> Segments {
        let size = self.tile.size().max(1) as u64;
        let tiles = from.saturating_add(len).div_ceil(size);
        let runs = self.tile.segments(self.displacement as i64, tiles as i64, from, len);
        Segments { runs }
    }

    /// The same, if they follow a pattern that is known without walking them: what is left of a block, whole blocks,
    /// and a part of one.
    pub fn regular(&self, from: u64, len: u64) -> Option<impl Iterator<Item = Grid> + use<>> {
        let size = self.tile.size() as u64;
        let (at, blocks) = self.tile.blocks(1)?;
        let (tile, within) = (from / size, from % size);
        // Within one tile, or of tiles of one block each.
        let (tile, within, stride) = match blocks.block == size {
            true => (0, from, self.tile.extent()),
            false if within + len <= size => (tile, within, blocks.stride),
            false => return None,
        };
        let base =
            self.displacement.checked_add_signed(self.tile.extent().checked_mul(tile as i64)?.checked_add(at)?)?;
        let (block, stride) = (blocks.block, u64::try_from(stride).ok()?);
        if stride <= block {
            return None;
        }
        let grid = move |at: u64, len: u64, count: u64| {
            let offset = base + at / block * stride + at % block;
            Grid { offset, len, stride, count }
        };
        let head = (within.next_multiple_of(block) - within).min(len);
        let whole = (len - head) / block;
        let tail = len - head - whole * block;
        let parts = [(within, head, 1), (within + head, block, whole), (within + len - tail, tail, 1)];
        Some(
            parts
                .into_iter()
                .filter(|&(_, len, count)| len > 0 && count > 0)
                .map(move |(at, len, count)| grid(at, len, count)),
        )
    }

    /// About how many runs `len` bytes of the stream are.
    pub fn runs(&self, len: u64) -> u64 {
        if self.dense.is_some() || len == 0 {
            return len.min(1);
        }
        let runs = u128::from(len) * u128::from(self.spread.runs) / (self.tile.size().max(1) as u128);
        (runs as u64).max(1)
    }
}

/// The rules for etypes and filetypes alike. What overlaps within a type is forbidden for writing; tiles of a filetype
/// may, since who accesses one alone never sees the others.
fn check(name: &str, ty: &Type, written: bool) -> Result<(), Error> {
    let Spread { first, ascending, disjoint, .. } = ty.spread();
    let fault = if ty.size() == 0 {
        return Ok(());
    } else if first < 0 {
        format!("begins at the negative displacement {first}")
    } else if !ascending {
        "has displacements that decrease".into()
    } else if ty.extent() <= 0 {
        format!("has the extent {}", ty.extent())
    } else if written && !disjoint {
        "has regions that overlap, and the file is open for writing".into()
    } else {
        return Ok(());
    };
    Err(Error::new(Class::Type, format!("the {name} {fault}")))
}
