//! Sections that C takes as contiguous arrays: of reductions, of collectives with a count for each process, and of other
//! calls where no datatype describes them.
//!
//! Such a section is copied into a contiguous array before the call, and what C has changed there is copied back: after
//! a blocking call at once, else when the round of the request is complete. Of the program's array nothing else is
//! written, since the program may use it meanwhile.

use super::P;
use super::error::Fault;
use super::section::{Descriptor, section};
use crate::face::{self, Handle, sentinel};
use std::ffi::c_int;
use tern_memory::Lack;

const NO_MEMORY: &str = "is a section that is not contiguous, and there is no memory for a copy of it";
const NOT_LASTING: &str = "is a section that is not contiguous: this library cannot copy it for a call that goes on. \
                           Copy it into a contiguous array";

/// A step around the rounds of a request; see `request_around` of `tern_table::core`.
pub type Step = unsafe extern "C" fn(P);
pub type RequestAround = unsafe extern "C" fn(Handle, Option<Step>, Step, P, Option<Step>) -> c_int;

/// A buffer as C takes it.
pub struct Copied {
    address: P,
    copy: Option<Box<Copy>>,
}

impl Copied {
    /// The buffer itself if it is contiguous, or not `significant`; else a copy. C `writes` into it; `lasting` calls go
    /// on after they have returned.
    #[inline]
    pub unsafe fn open(buffer: P, writes: bool, significant: bool, lasting: bool) -> Result<Copied, Fault> {
        // SAFETY: mpi_f08 gives descriptors.
        unsafe {
            let descriptor = &*section(buffer);
            if descriptor.is_contiguous() || !significant {
                return Ok(Copied::uncopied(sentinel::buffer(descriptor.address)));
            }
            Copied::copy(descriptor, writes, lasting)
        }
    }

    /// A buffer that C takes as it is.
    #[inline(always)]
    pub fn uncopied(address: P) -> Copied {
        Copied { address, copy: None }
    }

    #[cold]
    unsafe fn copy(descriptor: &Descriptor, writes: bool, lasting: bool) -> Result<Copied, Fault> {
        if lasting && face::request_around().is_none() {
            return Err(Fault { class: face::ERR_BUFFER, why: NOT_LASTING, bytes: 0 });
        }
        // SAFETY: mpi_f08 gives descriptors.
        let copy = unsafe { Copy::of(descriptor, writes) };
        let lacking = |lack: Lack| Fault { class: face::ERR_NO_MEM, why: NO_MEMORY, bytes: lack.bytes };
        let mut copy = Box::new(copy.map_err(lacking)?);
        // SAFETY: as above.
        unsafe { copy.read() };
        Ok(Copied { address: copy.data.as_mut_ptr().cast(), copy: Some(copy) })
    }

    #[inline(always)]
    pub fn address(&self) -> P {
        self.address
    }

    /// Copies back after a blocking call.
    #[inline]
    pub unsafe fn give(self) {
        if let Some(copy) = self.copy {
            // SAFETY: the program's array is there until the procedure returns.
            unsafe { copy.give() }
        }
    }

    /// Leaves the copies to the request of a call that has begun, if there are any.
    #[inline]
    pub unsafe fn keep<const N: usize>(buffers: [Copied; N], code: c_int, request: Handle) {
        if code == 0 && buffers.iter().any(|buffer| buffer.copy.is_some()) {
            // SAFETY: as above.
            unsafe { leave(buffers.into_iter().filter_map(|buffer| buffer.copy).collect(), request) }
        }
    }
}

/// The copies of one call, which are the state of its request.
type Copies = Vec<Box<Copy>>;

#[cold]
unsafe fn leave(copies: Copies, request: Handle) {
    // `Copied::copy` has seen that it is there.
    let Some(around) = face::request_around() else { return };
    // SAFETY: C has made the request, and `release` takes the state back.
    unsafe { around(request, Some(before), after, Box::into_raw(Box::new(copies)).cast(), Some(release)) };
}

unsafe extern "C" fn before(state: P) {
    // SAFETY: `leave` made the state; the program keeps its arrays while the request lives.
    unsafe { (*state.cast::<Copies>()).iter_mut().for_each(|copy| copy.read()) }
}

unsafe extern "C" fn after(state: P) {
    // SAFETY: as above.
    unsafe { (*state.cast::<Copies>()).iter().for_each(|copy| copy.give()) }
}

unsafe extern "C" fn release(state: P) {
    // SAFETY: `leave` made the state; this is the last use.
    drop(unsafe { Box::from_raw(state.cast::<Copies>()) });
}

/// A section of the program's and its contiguous copy.
struct Copy {
    place: *mut u8,
    /// Bytes of an element.
    element: usize,
    /// Number and stride in bytes of each dimension, innermost first.
    dims: Vec<(usize, isize)>,
    /// The elements for C, aligned for any type.
    data: Vec<u128>,
    /// The elements as they were, if C writes.
    was: Vec<u128>,
}

impl Copy {
    /// Room for a copy.
    ///
    /// Errors: there is no memory for it.
    unsafe fn of(descriptor: &Descriptor, writes: bool) -> Result<Copy, Lack> {
        // SAFETY: the compiler made the descriptor.
        let dims: Vec<(usize, isize)> = unsafe { descriptor.extents() }.collect();
        let bytes = dims.iter().fold(descriptor.element, |bytes, dim| bytes.saturating_mul(dim.0));
        let room = |bytes: usize| {
            let mut room = Vec::new();
            tern_memory::resize(&mut room, bytes.div_ceil(size_of::<u128>()), 0u128)?;
            Ok(room)
        };
        let (data, was) = (room(bytes)?, room(if writes { bytes } else { 0 })?);
        Ok(Copy { place: descriptor.address.cast(), element: descriptor.element, dims, data, was })
    }

    /// Calls `one` for each element with its place in the program's array and its offset in the copy.
    fn each(&self, mut one: impl FnMut(*mut u8, usize)) {
        if self.dims.iter().any(|dim| dim.0 == 0) {
            return;
        }
        let mut index = vec![0; self.dims.len()];
        let (mut place, mut offset) = (self.place, 0);
        loop {
            one(place, offset);
            offset += self.element;
            let mut at = 0;
            loop {
                let Some(&(n, stride)) = self.dims.get(at) else { return };
                index[at] += 1;
                place = place.wrapping_offset(stride);
                if index[at] < n {
                    break;
                }
                place = place.wrapping_offset(-stride * n as isize);
                index[at] = 0;
                at += 1;
            }
        }
    }

    /// Copies the program's elements.
    unsafe fn read(&mut self) {
        let (data, element) = (self.data.as_mut_ptr().cast::<u8>(), self.element);
        // SAFETY: the section has these elements, and the copy has room for them.
        self.each(|place, offset| unsafe { data.add(offset).copy_from_nonoverlapping(place, element) });
        if !self.was.is_empty() {
            self.was.copy_from_slice(&self.data);
        }
    }

    /// Copies back what C has changed.
    unsafe fn give(&self) {
        if self.was.is_empty() || self.was == self.data {
            return;
        }
        let (data, was) = (self.data.as_ptr().cast::<u8>(), self.was.as_ptr().cast::<u8>());
        self.each(|place, offset| {
            for byte in 0..self.element {
                // SAFETY: as above.
                unsafe {
                    let new = *data.add(offset + byte);
                    if new != *was.add(offset + byte) {
                        *place.add(byte) = new;
                    }
                }
            }
        });
    }
}
