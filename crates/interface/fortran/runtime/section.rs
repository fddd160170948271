//! Buffers of mpi_f08: descriptors of arrays and sections (Fortran 2018, ISO_Fortran_binding).
//!
//! A contiguous section is an address. Any other goes uncopied, as a derived datatype that has its strides
//! (MPI_SUBARRAYS_SUPPORTED, MPI 5.0 section 19.1.2). Freeing the datatype right after the call is enough: MPI keeps
//! it until the communication is complete (section 5.1.9).

use super::P;
use super::copied::Copied;
use super::error::{Fault, Scope, refuse};
use crate::c;
use crate::face::{self, Handle, sentinel};
use std::ffi::c_int;

/// The part of `CFI_cdesc_t` that gfortran's and flang's have in common.
#[repr(C)]
pub struct Descriptor {
    pub address: P,
    /// Bytes of an element; of a text its length.
    pub element: usize,
    version: c_int,
    rank: u8,
    /// Attribute and type, in an order that compilers differ in.
    _other: [u8; 3],
    dims: [Dim; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Dim {
    lower_bound: isize,
    /// Elements; -1 for the last dimension of an array of assumed size.
    extent: isize,
    /// Bytes from one element to the next.
    stride: isize,
}

#[inline(always)]
pub fn section(descriptor: P) -> *const Descriptor {
    descriptor.cast()
}

impl Descriptor {
    #[inline]
    unsafe fn dims(&self) -> &[Dim] {
        // SAFETY: the compiler made a descriptor of `rank` dimensions.
        unsafe { std::slice::from_raw_parts(self.dims.as_ptr(), self.rank as usize) }
    }

    /// True if the elements lie one after the other.
    #[inline]
    pub unsafe fn is_contiguous(&self) -> bool {
        let mut next = self.element as isize;
        // SAFETY: as above.
        for dim in unsafe { self.dims() } {
            if dim.stride != next && dim.extent != 1 {
                // Nothing lies anywhere.
                // SAFETY: as above.
                return unsafe { self.dims() }.iter().any(|dim| dim.extent == 0);
            }
            next *= dim.extent;
        }
        true
    }
}

impl Descriptor {
    /// Number of elements and stride in bytes of each dimension, innermost first.
    pub unsafe fn extents(&self) -> impl Iterator<Item = (usize, isize)> {
        // SAFETY: as above.
        unsafe { self.dims() }.iter().map(|dim| (dim.extent.max(0) as usize, dim.stride))
    }

    /// For the probe: address, element, rank, extent and stride of the first dimension.
    pub unsafe fn told(&self) -> [i64; 5] {
        // SAFETY: as above.
        let first = unsafe { self.dims() }.first().copied().unwrap_or(Dim { lower_bound: 0, extent: 0, stride: 0 });
        [self.address as i64, self.element as i64, self.rank as i64, first.extent as i64, first.stride as i64]
    }
}

const GAPS: &str = "is a section that is not contiguous: this procedure takes contiguous buffers only. Copy it \
                    into a contiguous array, or describe it by a derived datatype";

/// The address of a buffer that must be contiguous; else raises an error.
#[inline]
pub unsafe fn whole(buffer: P, function: &str, argument: &str, scope: Scope, ierror: P) -> Option<P> {
    // SAFETY: mpi_f08 gives descriptors.
    unsafe {
        let descriptor = &*section(buffer);
        if descriptor.is_contiguous() {
            return Some(sentinel::buffer(descriptor.address));
        }
        refuse(function, argument, Fault { class: face::ERR_BUFFER, why: GAPS, bytes: 0 }, scope, ierror);
    }
    None
}

/// A buffer with the count and datatype that C gets for it.
pub struct Section {
    pub address: P,
    pub count: i64,
    pub datatype: Handle,
    /// Why it cannot be passed, without a copy.
    pub fault: Option<Fault>,
    /// The datatype was made for it.
    made: bool,
}

impl Section {
    /// `count` elements of `datatype` in a buffer; with `pieces`, as many again from where these end, and so on.
    #[inline]
    pub unsafe fn open(buffer: P, count: i64, datatype: Handle, pieces: bool) -> Section {
        // SAFETY: mpi_f08 gives descriptors.
        unsafe {
            let descriptor = &*section(buffer);
            let address = sentinel::buffer(descriptor.address);
            let whole = Section { address, count, datatype, fault: None, made: false };
            if descriptor.is_contiguous() { whole } else { whole.strided(descriptor, pieces) }
        }
    }

    /// What C gets: this, or a copy of what no datatype describes.
    #[inline]
    pub unsafe fn copied(&self, buffer: P, writes: bool, significant: bool, lasting: bool) -> Result<Copied> {
        // SAFETY: mpi_f08 gives descriptors.
        unsafe {
            match self.fault {
                Some(_) if significant => Copied::open(buffer, writes, true, lasting),
                _ => Ok(Copied::uncopied(self.address)),
            }
        }
    }

    #[cold]
    unsafe fn strided(mut self, descriptor: &Descriptor, pieces: bool) -> Section {
        if self.count <= 0 {
            return self;
        }
        // SAFETY: as above.
        let shape = unsafe { Shape::of(descriptor, self.datatype) };
        match shape.and_then(|shape| shape.datatype(self.count, pieces)) {
            Ok((count, mut datatype)) => {
                // SAFETY: it was made just now.
                unsafe { c::PMPI_Type_commit((&raw mut datatype).cast()) };
                (self.count, self.datatype, self.made) = (count, datatype, true);
            }
            Err(fault) => self.fault = Some(fault),
        }
        self
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        if self.made {
            free(self.datatype);
        }
    }
}

fn free(mut datatype: Handle) {
    // SAFETY: it was made here.
    unsafe { c::PMPI_Type_free((&raw mut datatype).cast()) };
}

/// Units of one datatype in as many dimensions as do not merge: number and stride in bytes, innermost first.
#[derive(Debug)]
struct Shape {
    unit: Handle,
    /// `unit` was made here.
    made: bool,
    /// Units for each of the program's elements.
    per_element: i64,
    dims: Vec<(i64, i64)>,
}

type Result<T> = std::result::Result<T, Fault>;

impl Shape {
    unsafe fn of(descriptor: &Descriptor, datatype: Handle) -> Result<Shape> {
        let (mut lb, mut extent, mut size) = (0i64, 0i64, 0i64);
        // SAFETY: results lie here.
        unsafe {
            let code = c::PMPI_Type_get_extent_c(datatype, (&raw mut lb).cast(), (&raw mut extent).cast());
            made(code)?;
            made(c::PMPI_Type_size_c(datatype, (&raw mut size).cast()))?;
        }
        let element = descriptor.element as i64;
        // SAFETY: the compiler made the descriptor.
        let mut dims: Vec<(i64, i64)> =
            unsafe { descriptor.dims() }.iter().map(|dim| (dim.extent as i64, dim.stride as i64)).collect();
        let mut shape = Shape { unit: datatype, made: false, per_element: 1, dims: Vec::new() };
        if extent > 0 && element % extent == 0 {
            // Several units in each element.
            if element > extent {
                dims.insert(0, (element / extent, extent));
            }
        } else if extent > 0 && extent % element == 0 && size == extent && lb == 0 {
            // Several elements for each unit, which has no gaps.
            shape.per_element = extent / element;
            shape.unit = contiguous(element, face::byte())?;
            shape.made = true;
        } else {
            let why = "is a section that is not contiguous, and the datatype, with gaps of its own, does not divide \
                       its elements: give a datatype whose extent is that of an element";
            return Err(Fault { class: face::ERR_TYPE, why, bytes: 0 });
        }
        for (n, stride) in dims.into_iter().filter(|(n, _)| *n != 1) {
            match shape.dims.last_mut() {
                Some(inner) if stride == inner.0 * inner.1 && inner.0 > 0 => inner.0 *= n,
                _ => shape.dims.push((n, stride)),
            }
        }
        Ok(shape)
    }

    /// Count and datatype for `count` of the program's datatypes.
    fn datatype(&self, count: i64, pieces: bool) -> Result<(i64, Handle)> {
        let count = count * self.per_element;
        match self.dims[..] {
            [] => Ok((count, contiguous(1, self.unit)?)),
            // Units that far apart serve any count, and any number of pieces.
            [(_, stride)] if stride > 0 => Ok((count, resized(self.unit, stride)?)),
            [.., (_, stride)] if pieces => {
                let slab: i64 = self.dims[..self.dims.len() - 1].iter().map(|dim| dim.0).product();
                if count % slab != 0 {
                    let why = "is a section that is not contiguous, and the blocks of the processes do not lie \
                               alike in it: give whole rows for each process, or a contiguous array";
                    return Err(Fault { class: face::ERR_BUFFER, why, bytes: 0 });
                }
                let block = self.first(&self.dims, count)?;
                let datatype = resized(block, count / slab * stride);
                free(block);
                Ok((1, datatype?))
            }
            _ => Ok((1, self.first(&self.dims, count)?)),
        }
    }

    /// A datatype of the first `count` units.
    fn first(&self, dims: &[(i64, i64)], count: i64) -> Result<Handle> {
        let Some((&(_, stride), inner)) = dims.split_last() else {
            return contiguous(count, self.unit);
        };
        let slab: i64 = inner.iter().map(|dim| dim.0).product();
        let (full, rest) = (count / slab, count % slab);
        let whole = self.first(inner, slab)?;
        let rows = strided(full, stride, whole);
        free(whole);
        let rows = rows?;
        if rest == 0 {
            return Ok(rows);
        }
        let part = self.first(inner, rest).inspect_err(|_| free(rows))?;
        let both = two([rows, part], full * stride);
        free(rows);
        free(part);
        both
    }
}

impl Drop for Shape {
    fn drop(&mut self) {
        if self.made {
            free(self.unit);
        }
    }
}

fn contiguous(count: i64, datatype: Handle) -> Result<Handle> {
    // SAFETY: the result lies where `make` says; so in the functions below.
    make(|new| unsafe { c::PMPI_Type_contiguous_c(count, datatype, new) })
}

fn strided(count: i64, stride: i64, datatype: Handle) -> Result<Handle> {
    // SAFETY: as above.
    make(|new| unsafe { c::PMPI_Type_create_hvector_c(count, 1, stride, datatype, new) })
}

fn resized(datatype: Handle, extent: i64) -> Result<Handle> {
    // SAFETY: as above.
    make(|new| unsafe { c::PMPI_Type_create_resized_c(datatype, 0, extent, new) })
}

/// One of each, the second `place` bytes from the first.
fn two(types: [Handle; 2], place: i64) -> Result<Handle> {
    let (lengths, places) = ([1i64, 1], [0i64, place]);
    let address = |array: &[i64; 2]| array.as_ptr().cast_mut().cast();
    let types = types.as_ptr().cast_mut().cast();
    // SAFETY: as above; C reads the arrays.
    make(|new| unsafe { c::PMPI_Type_create_struct_c(2, address(&lengths), address(&places), types, new) })
}

fn made(code: c_int) -> Result<()> {
    let why = "is a section that is not contiguous, for which no datatype could be made";
    if code == 0 { Ok(()) } else { Err(Fault { class: face::ERR_TYPE, why, bytes: 0 }) }
}

/// A new datatype.
fn make(constructor: impl FnOnce(P) -> c_int) -> Result<Handle> {
    let mut new = face::UNSET;
    made(constructor((&raw mut new).cast()))?;
    Ok(new)
}
