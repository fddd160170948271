//! The constructors of MPI 5.0, section 5.1, but for the array types.

use std::rc::Rc;

use crate::bounds::{Bounds, span};
use crate::program::{ListBuilder, Program};
use crate::signature::Signature;
use crate::types::Draft;
use crate::{Argument, Basic, Constructor, Count, Error, Type};

/// `what` as a number of copies.
fn copies(what: Count, argument: Argument, index: usize) -> Result<u64, Error> {
    u64::try_from(what).map_err(|_| Error::entry(argument, index))
}

fn times(a: i64, b: i64) -> Result<i64, Error> {
    a.checked_mul(b).ok_or(Error::TooLarge)
}

/// A list as the constructor keeps it.
fn kept(list: &[Count]) -> Result<Box<[Count]>, Error> {
    Ok(tern_memory::copy(list)?.into())
}

/// A type without data.
fn nothing() -> Draft {
    Draft { program: Program::empty(), signature: Signature::empty(), bounds: Bounds::EMPTY, uniform: None }
}

/// `count` blocks, `stride` bytes apart, of `blocklength` children each.
fn blocks(count: Count, blocklength: Count, stride: i64, child: &Type) -> Result<Draft, Error> {
    let rows = copies(count, Argument::Count, 0)?;
    let cols = copies(blocklength, Argument::Blocklength, 0)?;
    if rows == 0 || cols == 0 {
        return Ok(nothing());
    }
    let (low, high) = span(0, count, stride)?;
    let (first, last) = span(0, blocklength, child.extent())?;
    let bounds = child.bounds().placed(first, last)?.placed(low, high)?;
    let elements = rows.checked_mul(cols).ok_or(Error::TooLarge)?;
    let signature = Signature::repeat(child.sequence(), elements)?;
    let block = Program::repeat(child.program(), cols, child.extent());
    let program = Program::repeat(&block, rows, stride);
    Ok(Draft { program, signature, bounds, uniform: child.uniform_basic() })
}

/// Appends `count` children from displacement `at` on to a list. `block` remembers the last
/// program that was made for more than one child, so that equal blocks share it.
fn append(list: &mut ListBuilder, child: &Type, count: u64, at: i64, block: &mut Option<(u64, Rc<Program>)>) {
    match child.program().as_dense() {
        Some((offset, len)) if count == 1 || child.extent() == child.size() => {
            list.run(at.wrapping_add(offset), len * count);
        }
        _ => {
            let program = match block {
                Some((last, program)) if *last == count => program,
                _ => {
                    let program = Program::repeat(child.program(), count, child.extent());
                    &mut block.insert((count, program)).1
                }
            };
            list.child(at, program);
        }
    }
}

/// Blocks of children at byte displacements: (blocklength, displacement) each.
fn scattered(child: &Type, parts: impl Iterator<Item = Result<(u64, i64), Error>>) -> Result<Draft, Error> {
    let mut bounds = Bounds::EMPTY;
    let mut list = ListBuilder::default();
    let mut block = None;
    let mut elements = 0u64;
    for part in parts {
        let (count, at) = part?;
        if count == 0 {
            continue;
        }
        let (low, high) = span(at, count as i64, child.extent())?;
        bounds = bounds.join(child.bounds().placed(low, high)?);
        elements = elements.checked_add(count).ok_or(Error::TooLarge)?;
        // Before the list is built, so that its sizes cannot overflow.
        elements.checked_mul(child.size() as u64).filter(|&n| n <= i64::MAX as u64).ok_or(Error::TooLarge)?;
        append(&mut list, child, count, at, &mut block);
    }
    if elements == 0 {
        return Ok(nothing());
    }
    let signature = Signature::repeat(child.sequence(), elements)?;
    Ok(Draft { program: list.build()?, signature, bounds, uniform: child.uniform_basic() })
}

/// Pairs block lengths with displacements, which are multiplied by `unit`.
fn zip<'a>(
    blocklengths: &'a [Count], displacements: &'a [Count], unit: i64,
) -> Result<impl Iterator<Item = Result<(u64, i64), Error>> + 'a, Error> {
    if blocklengths.len() != displacements.len() {
        return Err(Error::Lengths);
    }
    let parts = blocklengths.iter().zip(displacements).enumerate();
    Ok(parts.map(move |(index, (&length, &at))| Ok((copies(length, Argument::Blocklength, index)?, times(at, unit)?))))
}

impl Type {
    /// A predefined type.
    pub fn basic(basic: Basic) -> Rc<Type> {
        Type::of_basic(basic, Constructor::Named(basic))
    }

    fn of_basic(basic: Basic, kind: Constructor) -> Rc<Type> {
        let (program, end) = match basic.pair() {
            None => (Program::dense(0, basic.size() as u64), basic.size()),
            Some((value, offset, index)) => {
                let mut list = ListBuilder::default();
                list.run(0, value.size() as u64);
                list.run(offset, index.size() as u64);
                (list.build().expect("two runs"), offset + index.size())
            }
        };
        let bounds = Bounds { data: Some((0, end)), marks: None, align: basic.align() };
        let draft = Draft { program, signature: Signature::basic(basic), bounds, uniform: Some(basic) };
        draft.finish(kind).expect("a basic type is small")
    }

    /// MPI_TYPE_CREATE_F90_INTEGER: the smallest INTEGER with `range` decimal digits.
    pub fn f90_integer(range: i32) -> Result<Rc<Type>, Error> {
        let basic = match range {
            ..=2 => Basic::Integer1,
            3..=4 => Basic::Integer2,
            5..=9 => Basic::Integer4,
            10..=18 => Basic::Integer8,
            19..=38 => Basic::Integer16,
            _ => return Err(Error::scalar(Argument::Precision)),
        };
        Ok(Type::of_basic(basic, Constructor::F90Integer { range, basic }))
    }

    /// MPI_TYPE_CREATE_F90_REAL: the smallest REAL with `precision` decimal digits and
    /// exponents up to `range`; None stands for MPI_UNDEFINED, at most one of them.
    pub fn f90_real(precision: Option<i32>, range: Option<i32>) -> Result<Rc<Type>, Error> {
        let basic = f90_kind(precision, range, [Basic::Float32, Basic::Float64, Basic::Float128])?;
        Ok(Type::of_basic(basic, Constructor::F90Real { precision, range, basic }))
    }

    /// MPI_TYPE_CREATE_F90_COMPLEX, as `f90_real`.
    pub fn f90_complex(precision: Option<i32>, range: Option<i32>) -> Result<Rc<Type>, Error> {
        let kinds = [Basic::ComplexFloat, Basic::ComplexDouble, Basic::ComplexQuad];
        let basic = f90_kind(precision, range, kinds)?;
        Ok(Type::of_basic(basic, Constructor::F90Complex { precision, range, basic }))
    }

    /// MPI_TYPE_DUP.
    pub fn dup(child: &Rc<Type>) -> Rc<Type> {
        let draft = child.draft(child.bounds());
        draft.finish(Constructor::Dup(child.clone())).expect("as good as the type it repeats")
    }

    /// MPI_TYPE_CONTIGUOUS.
    pub fn contiguous(count: Count, child: &Rc<Type>) -> Result<Rc<Type>, Error> {
        let draft = blocks(count, 1, child.extent(), child)?;
        draft.finish(Constructor::Contiguous { count, child: child.clone() })
    }

    /// MPI_TYPE_VECTOR: `stride` in extents of the child.
    pub fn vector(count: Count, blocklength: Count, stride: Count, child: &Rc<Type>) -> Result<Rc<Type>, Error> {
        // One block has no stride, which may then be anything.
        let bytes = if count > 1 { times(stride, child.extent())? } else { 0 };
        let draft = blocks(count, blocklength, bytes, child)?;
        draft.finish(Constructor::Vector { count, blocklength, stride, child: child.clone() })
    }

    /// MPI_TYPE_CREATE_HVECTOR: `stride` in bytes.
    pub fn hvector(count: Count, blocklength: Count, stride: Count, child: &Rc<Type>) -> Result<Rc<Type>, Error> {
        let draft = blocks(count, blocklength, stride, child)?;
        draft.finish(Constructor::Hvector { count, blocklength, stride, child: child.clone() })
    }

    /// MPI_TYPE_INDEXED: displacements in extents of the child.
    pub fn indexed(blocklengths: &[Count], displacements: &[Count], child: &Rc<Type>) -> Result<Rc<Type>, Error> {
        let draft = scattered(child, zip(blocklengths, displacements, child.extent())?)?;
        draft.finish(Constructor::Indexed {
            blocklengths: kept(blocklengths)?,
            displacements: kept(displacements)?,
            child: child.clone(),
        })
    }

    /// MPI_TYPE_CREATE_HINDEXED: displacements in bytes.
    pub fn hindexed(blocklengths: &[Count], displacements: &[Count], child: &Rc<Type>) -> Result<Rc<Type>, Error> {
        let draft = scattered(child, zip(blocklengths, displacements, 1)?)?;
        draft.finish(Constructor::Hindexed {
            blocklengths: kept(blocklengths)?,
            displacements: kept(displacements)?,
            child: child.clone(),
        })
    }

    /// MPI_TYPE_CREATE_INDEXED_BLOCK: displacements in extents of the child.
    pub fn indexed_block(blocklength: Count, displacements: &[Count], child: &Rc<Type>) -> Result<Rc<Type>, Error> {
        let length = copies(blocklength, Argument::Blocklength, 0)?;
        let unit = child.extent();
        let draft = scattered(child, displacements.iter().map(|&at| Ok((length, times(at, unit)?))))?;
        let displacements = kept(displacements)?;
        draft.finish(Constructor::IndexedBlock { blocklength, displacements, child: child.clone() })
    }

    /// MPI_TYPE_CREATE_HINDEXED_BLOCK: displacements in bytes.
    pub fn hindexed_block(blocklength: Count, displacements: &[Count], child: &Rc<Type>) -> Result<Rc<Type>, Error> {
        let length = copies(blocklength, Argument::Blocklength, 0)?;
        let draft = scattered(child, displacements.iter().map(|&at| Ok((length, at))))?;
        let displacements = kept(displacements)?;
        draft.finish(Constructor::HindexedBlock { blocklength, displacements, child: child.clone() })
    }

    /// MPI_TYPE_CREATE_STRUCT: displacements in bytes.
    pub fn structure(
        blocklengths: &[Count], displacements: &[Count], children: &[Rc<Type>],
    ) -> Result<Rc<Type>, Error> {
        if children.len() != blocklengths.len() {
            return Err(Error::Lengths);
        }
        let mut bounds = Bounds::EMPTY;
        let mut list = ListBuilder::default();
        let mut uniform: Option<Option<Basic>> = None;
        // What each part may take by itself.
        let each = 2 * size_of::<Signature>() + size_of::<Program>() + 64;
        tern_memory::probe(children.len().saturating_mul(each))?;
        let mut parts = tern_memory::room(children.len())?;
        // What blocks share, and for which child.
        let mut block = None;
        let mut last: Option<&Rc<Type>> = None;
        for (part, child) in zip(blocklengths, displacements, 1)?.zip(children) {
            let (count, at) = part?;
            if count == 0 {
                continue;
            }
            let (low, high) = span(at, count as i64, child.extent())?;
            bounds = bounds.join(child.bounds().placed(low, high)?);
            // Fails before the list is built, so that its sizes cannot overflow.
            parts.push((1, Signature::repeat(child.sequence(), count)?));
            if child.size() > 0 {
                let basic = child.uniform_basic();
                uniform = Some(uniform.map_or(basic, |before| before.filter(|_| before == basic)));
            }
            if last.is_none_or(|last| !Rc::ptr_eq(last, child)) {
                block = None;
                last = Some(child);
            }
            append(&mut list, child, count, at, &mut block);
        }
        let signature = Signature::list(parts.into_iter())?;
        let draft = Draft { program: list.build()?, signature, bounds, uniform: uniform.flatten() };
        draft.finish(Constructor::Struct {
            blocklengths: kept(blocklengths)?,
            displacements: kept(displacements)?,
            children: tern_memory::collect(children.iter().cloned())?.into(),
        })
    }

    /// MPI_TYPE_CREATE_RESIZED.
    pub fn resized(lb: Count, extent: Count, child: &Rc<Type>) -> Result<Rc<Type>, Error> {
        let ub = lb.checked_add(extent).ok_or(Error::TooLarge)?;
        let draft = child.draft(Bounds { marks: Some((lb, ub)), ..child.bounds() });
        draft.finish(Constructor::Resized { lb, extent, child: child.clone() })
    }

    /// The same data with other bounds.
    fn draft(&self, bounds: Bounds) -> Draft {
        Draft {
            program: self.program().clone(),
            signature: self.sequence().clone(),
            bounds,
            uniform: self.uniform_basic(),
        }
    }
}

/// The smallest of three kinds (4, 8 and 16 bytes) with the precision and range asked for.
fn f90_kind(precision: Option<i32>, range: Option<i32>, kinds: [Basic; 3]) -> Result<Basic, Error> {
    if precision.is_none() && range.is_none() {
        return Err(Error::scalar(Argument::Precision));
    }
    let limits = [(6, 37), (15, 307), (33, 4931)];
    let fits = |&(digits, exponent): &(i32, i32)| precision.unwrap_or(0) <= digits && range.unwrap_or(0) <= exponent;
    limits.iter().position(fits).map(|kind| kinds[kind]).ok_or(Error::scalar(Argument::Precision))
}
