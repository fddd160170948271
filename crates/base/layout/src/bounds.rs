//! Bounds of a type map: data, explicit markers, alignment (MPI 5.0, sections 5.1.6 to 5.1.8).

use crate::error::Error;

/// What is known of the bounds of a sequence of basic types at displacements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// First byte of data and the byte after the last one. None: no data.
    pub data: Option<(i64, i64)>,
    /// Lower and upper bound markers, as set by resized, subarray and darray. They win over
    /// the data, in every type that contains them.
    pub marks: Option<(i64, i64)>,
    /// The strictest alignment of a basic type in it.
    pub align: i64,
}

impl Bounds {
    pub const EMPTY: Bounds = Bounds { data: None, marks: None, align: 1 };

    /// The bounds of copies at displacements of which `low` is the least and `high` the
    /// greatest.
    pub fn placed(self, low: i64, high: i64) -> Result<Bounds, Error> {
        let shift = |pair: Option<(i64, i64)>| match pair {
            None => Ok(None),
            Some((from, to)) => match (from.checked_add(low), to.checked_add(high)) {
                (Some(from), Some(to)) => Ok(Some((from, to))),
                _ => Err(Error::TooLarge),
            },
        };
        Ok(Bounds { data: shift(self.data)?, marks: shift(self.marks)?, align: self.align })
    }

    /// The bounds of both together.
    pub fn join(self, other: Bounds) -> Bounds {
        let both = |a: Option<(i64, i64)>, b: Option<(i64, i64)>| match (a, b) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        Bounds {
            data: both(self.data, other.data),
            marks: both(self.marks, other.marks),
            align: self.align.max(other.align),
        }
    }

    /// Lower bound and extent. Without markers the extent is rounded up to a multiple of the
    /// alignment, as a C compiler pads a struct.
    pub fn lb_extent(self) -> Result<(i64, i64), Error> {
        match (self.marks, self.data) {
            (Some((lb, ub)), _) => Ok((lb, ub.checked_sub(lb).ok_or(Error::TooLarge)?)),
            (None, Some((from, to))) => {
                let span = to.checked_sub(from).ok_or(Error::TooLarge)?;
                let padded = span.checked_add(self.align - 1).ok_or(Error::TooLarge)?;
                let extent = padded / self.align * self.align;
                from.checked_add(extent).ok_or(Error::TooLarge)?;
                Ok((from, extent))
            }
            (None, None) => Ok((0, 0)),
        }
    }
}

/// The least and greatest displacement of `count` copies at `first`, `first + stride`, …
/// `count` is at least 1.
pub(crate) fn span(first: i64, count: i64, stride: i64) -> Result<(i64, i64), Error> {
    let last = (count - 1).checked_mul(stride).and_then(|way| first.checked_add(way)).ok_or(Error::TooLarge)?;
    Ok((first.min(last), first.max(last)))
}
