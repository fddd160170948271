//! Subarrays and distributed arrays (MPI 5.0, sections 5.1.3 and 5.1.4).

use std::rc::Rc;

use crate::bounds::{Bounds, span};
use crate::program::{ListBuilder, Program};
use crate::signature::Signature;
use crate::types::Draft;
use crate::{Argument, Constructor, Count, DistArg, Distribution, Error, Order, Type};

/// The indices of a dimension that are selected: blocks of `len`, `period` apart, from `start`
/// on, and then `rest` more indices in a last short block.
struct Selection {
    start: Count,
    len: Count,
    period: Count,
    blocks: Count,
    rest: Count,
}

impl Selection {
    fn interval(start: Count, len: Count) -> Selection {
        Selection { start, len, period: 0, blocks: i64::from(len > 0), rest: 0 }
    }

    fn count(&self) -> Count {
        self.blocks * self.len + self.rest
    }

    /// The last index; there is one.
    fn last(&self) -> Count {
        match self.rest {
            0 => self.start + (self.blocks - 1) * self.period + self.len - 1,
            rest => self.start + self.blocks * self.period + rest - 1,
        }
    }

    /// The children that it selects, one for each index, `stride` bytes apart. The caller has
    /// checked that the last index does not overflow.
    fn apply(&self, child: &Rc<Program>, stride: i64) -> Result<Rc<Program>, Error> {
        let period = self.period.wrapping_mul(stride);
        let full = Program::repeat(&Program::repeat(child, self.len as u64, stride), self.blocks as u64, period);
        let mut list = ListBuilder::default();
        list.child(0, &full);
        list.child(self.blocks.wrapping_mul(period), &Program::repeat(child, self.rest as u64, stride));
        Ok(list.build()?.shifted(self.start.wrapping_mul(stride)))
    }
}

/// The children that the selections pick from an array; dimensions from the fastest to the
/// slowest, each with its size.
fn select(child: &Type, dimensions: impl Iterator<Item = (Count, Selection)>) -> Result<Draft, Error> {
    let mut program = child.program().clone();
    let mut stride = child.extent();
    let mut elements: Count = 1;
    let (mut low, mut high): (i64, i64) = (0, 0);
    let large = Error::TooLarge;
    for (size, selection) in dimensions {
        let count = selection.count();
        elements = elements.checked_mul(count).ok_or(large)?;
        if count > 0 {
            let first = selection.start.checked_mul(stride).ok_or(large)?;
            let (from, to) = span(first, selection.last() - selection.start + 1, stride)?;
            low = low.checked_add(from).ok_or(large)?;
            high = high.checked_add(to).ok_or(large)?;
            elements.checked_mul(child.size()).ok_or(large)?;
        }
        program = selection.apply(&program, stride)?;
        stride = stride.checked_mul(size).ok_or(large)?;
    }
    let signature = Signature::repeat(child.sequence(), elements as u64)?;
    let bounds = if elements == 0 { Bounds::EMPTY } else { child.bounds().placed(low, high)? };
    let bounds = Bounds { marks: Some((0, stride)), ..bounds };
    let uniform = if elements == 0 { None } else { child.uniform_basic() };
    Ok(Draft { program, signature, bounds, uniform })
}

/// Dimension numbers from the fastest to the slowest.
fn fastest_first(ndims: usize, order: Order) -> Box<dyn Iterator<Item = usize>> {
    match order {
        Order::C => Box::new((0..ndims).rev()),
        Order::Fortran => Box::new(0..ndims),
    }
}

impl Type {
    /// MPI_TYPE_CREATE_SUBARRAY.
    pub fn subarray(
        sizes: &[Count], subsizes: &[Count], starts: &[Count], order: Order, child: &Rc<Type>,
    ) -> Result<Rc<Type>, Error> {
        let ndims = sizes.len();
        if subsizes.len() != ndims || starts.len() != ndims {
            return Err(Error::Lengths);
        }
        if ndims == 0 {
            return Err(Error::scalar(Argument::Ndims));
        }
        for i in 0..ndims {
            if sizes[i] < 1 {
                return Err(Error::entry(Argument::Sizes, i));
            }
            if subsizes[i] < 1 || subsizes[i] > sizes[i] {
                return Err(Error::entry(Argument::Subsizes, i));
            }
            if starts[i] < 0 || starts[i] > sizes[i] - subsizes[i] {
                return Err(Error::entry(Argument::Starts, i));
            }
        }
        let dimension = |i: usize| (sizes[i], Selection::interval(starts[i], subsizes[i]));
        let draft = select(child, fastest_first(ndims, order).map(dimension))?;
        draft.finish(Constructor::Subarray {
            sizes: sizes.into(),
            subsizes: subsizes.into(),
            starts: starts.into(),
            order,
            child: child.clone(),
        })
    }

    /// MPI_TYPE_CREATE_DARRAY: the part of a global array that process `rank` of `size` has.
    /// The process grid is in row-major order whatever `order` is.
    #[expect(clippy::too_many_arguments, reason = "those of the standard")]
    pub fn darray(
        size: i32, rank: i32, gsizes: &[Count], distribs: &[Distribution], dargs: &[DistArg], psizes: &[Count],
        order: Order, child: &Rc<Type>,
    ) -> Result<Rc<Type>, Error> {
        let ndims = gsizes.len();
        if distribs.len() != ndims || dargs.len() != ndims || psizes.len() != ndims {
            return Err(Error::Lengths);
        }
        if ndims == 0 {
            return Err(Error::scalar(Argument::Ndims));
        }
        let coordinates = grid_coordinates(size, rank, psizes)?;
        let mut selections = Vec::with_capacity(ndims);
        for i in 0..ndims {
            let share = Share { gsize: gsizes[i], processes: psizes[i], coordinate: coordinates[i] };
            selections.push(Some(share.select(distribs[i], dargs[i], i)?));
        }
        let dimension = |i: usize| selections[i].take().map(|selection| (gsizes[i], selection));
        let draft = select(child, fastest_first(ndims, order).filter_map(dimension))?;
        draft.finish(Constructor::Darray {
            size,
            rank,
            gsizes: gsizes.into(),
            distribs: distribs.into(),
            dargs: dargs.into(),
            psizes: psizes.into(),
            order,
            child: child.clone(),
        })
    }
}

/// Where `rank` stands in the process grid.
fn grid_coordinates(size: i32, rank: i32, psizes: &[Count]) -> Result<Vec<Count>, Error> {
    if size < 1 {
        return Err(Error::scalar(Argument::Size));
    }
    if rank < 0 || rank >= size {
        return Err(Error::scalar(Argument::Rank));
    }
    if let Some(i) = psizes.iter().position(|&n| n < 1) {
        return Err(Error::entry(Argument::Psizes, i));
    }
    let product = psizes.iter().try_fold(1i64, |product, &n| product.checked_mul(n));
    if product != Some(i64::from(size)) {
        return Err(Error::scalar(Argument::Psizes));
    }
    let (mut processes, mut rest) = (i64::from(size), i64::from(rank));
    let coordinate = |&n: &Count| {
        processes /= n;
        let coordinate = rest / processes;
        rest %= processes;
        coordinate
    };
    Ok(psizes.iter().map(coordinate).collect())
}

/// A dimension of a distributed array and the place of a process in it.
struct Share {
    gsize: Count,
    processes: Count,
    coordinate: Count,
}

impl Share {
    /// The indices of dimension `i` that the process has.
    fn select(&self, distribution: Distribution, darg: DistArg, i: usize) -> Result<Selection, Error> {
        if self.gsize < 1 {
            return Err(Error::entry(Argument::Gsizes, i));
        }
        let block = match (darg, distribution) {
            (_, Distribution::None) => self.gsize,
            (DistArg::Default, Distribution::Cyclic) => 1,
            (DistArg::Default, Distribution::Block) => (self.gsize - 1) / self.processes + 1,
            (DistArg::Size(block), _) if block > 0 => block,
            (DistArg::Size(_), _) => return Err(Error::entry(Argument::Dargs, i)),
        };
        match distribution {
            Distribution::None if self.processes != 1 => Err(Error::entry(Argument::Psizes, i)),
            Distribution::None => Ok(Selection::interval(0, self.gsize)),
            Distribution::Block if block.saturating_mul(self.processes) < self.gsize => {
                Err(Error::entry(Argument::Dargs, i))
            }
            Distribution::Block => {
                let start = block.saturating_mul(self.coordinate).min(self.gsize);
                Ok(Selection::interval(start, block.min(self.gsize - start)))
            }
            Distribution::Cyclic => Ok(self.cyclic(block)),
        }
    }

    fn cyclic(&self, block: Count) -> Selection {
        let start = block.saturating_mul(self.coordinate).min(self.gsize);
        let period = block.saturating_mul(self.processes);
        let left = self.gsize - start;
        // The last period may hold a whole block, a part of one, or nothing.
        let tail = (left % period).min(block);
        let whole = i64::from(tail == block);
        let blocks = left / period + whole;
        let len = if blocks > 0 { block } else { 0 };
        Selection { start, len, period, blocks, rest: if whole == 1 { 0 } else { tail } }
    }
}
