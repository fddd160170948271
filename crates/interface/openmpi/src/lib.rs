//! Open MPI's binary interface: `libmpi.so.40`.
//!
//! Handles are addresses. Those of predefined objects are addresses of data that the library exports, and that a program
//! may have copied to itself (a COPY relocation): their first word is the standard handle ([`handles`]). Any other is
//! the core's handle with the highest bit set, which no address has. The functions come from the tables (build.rs);
//! what the interface has besides stands in [`extras`].

mod extras;
mod handles;

use std::ffi::c_int;
use tern_face::status::Standard;
use tern_face::types::{Face, Kind, Ptr};
use tern_face::values::{rank_in, rank_out, tag_in, tag_out};

/// Open MPI's ABI.
pub enum OpenMpi {}

#[global_allocator]
static MEMORY: tern_memory::Checked = tern_face::ALLOCATOR;

include!(concat!(env!("OUT_DIR"), "/values.rs"));

/// `MPI_Status`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    cancelled: c_int,
    /// In bytes.
    count: usize,
}

/// Addresses with a meaning, here and in the standard ABI.
const IN_PLACE: usize = 1;
const UNWEIGHTED: usize = 2;
const WEIGHTS_EMPTY: usize = 3;
const STANDARD_UNWEIGHTED: usize = 10;
const STANDARD_WEIGHTS_EMPTY: usize = 11;

impl Face for OpenMpi {
    type Handle = usize;
    type File = usize;
    type Status = Status;

    const NAME: &'static str = "Open MPI's ABI (libmpi.so.40)";
    const MPICH_IS_FOREIGN: bool = true;

    #[inline(always)]
    fn handle_in(kind: Kind, handle: usize) -> usize {
        handles::to_standard(kind, handle)
    }

    #[inline(always)]
    fn loose_in(_: Kind, handle: usize) -> usize {
        handles::to_standard_if_known(handle)
    }

    #[inline(always)]
    fn handle_out(_: Kind, handle: usize) -> usize {
        handles::from_standard(handle)
    }

    #[inline(always)]
    fn file_in(file: usize) -> usize {
        handles::to_standard(Kind::File, file)
    }

    #[inline(always)]
    fn file_out(file: usize) -> usize {
        handles::from_standard(file)
    }

    fn bound(datatype: usize) -> Option<bool> {
        match handles::to_standard_if_known(datatype) {
            handles::LB => Some(false),
            handles::UB => Some(true),
            _ => None,
        }
    }

    fn to_int(kind: Kind, handle: usize) -> c_int {
        handles::to_fortran(kind, handle)
    }

    fn from_int(kind: Kind, value: c_int) -> usize {
        handles::from_fortran(kind, value)
    }

    fn file_to_int(file: usize) -> c_int {
        handles::to_fortran(Kind::File, file)
    }

    fn file_from_int(value: c_int) -> usize {
        handles::from_fortran(Kind::File, value)
    }

    #[inline(always)]
    fn status_in(status: &Status) -> Standard {
        let (source, tag) = (rank_in::<OpenMpi>(status.source), tag_in::<OpenMpi>(status.tag));
        Standard::new(source, tag, 0, status.count as u64, status.cancelled != 0)
    }

    #[inline(always)]
    fn status_out(standard: &Standard, status: &mut Status) {
        status.source = rank_out::<OpenMpi>(standard.source);
        status.tag = tag_out::<OpenMpi>(standard.tag);
        status.cancelled = standard.internal[2];
        status.count = standard.bytes() as usize;
    }

    #[inline(always)]
    fn status_error(status: &mut Status) -> &mut c_int {
        &mut status.error
    }

    #[inline(always)]
    fn is_ignore(status: *const Status) -> bool {
        status.is_null()
    }

    /// MPI_BOTTOM and MPI_IN_PLACE are the standard's, and MPI_BUFFER_AUTOMATIC is not known here.
    #[inline(always)]
    fn buffer_in(address: Ptr) -> Ptr {
        address
    }

    fn buffer_out(address: Ptr) -> Ptr {
        address
    }

    #[inline(always)]
    fn is_in_place(address: Ptr) -> bool {
        address as usize == IN_PLACE
    }

    fn weights_in(weights: Ptr) -> Ptr {
        match weights as usize {
            UNWEIGHTED => STANDARD_UNWEIGHTED as Ptr,
            WEIGHTS_EMPTY => STANDARD_WEIGHTS_EMPTY as Ptr,
            _ => weights,
        }
    }
}

/// The functions. Only these, [`extras`] and the objects of [`handles`] are exported.
#[allow(
    unused,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated code: the safety of all of it is what MPI asks of its callers"
)]
pub mod entries {
    use crate::OpenMpi as F;
    use std::ffi::c_int;
    use tern_face::scratch::*;
    use tern_face::status::Standard;
    use tern_face::types::*;
    use tern_face::values::*;
    use tern_face::{callbacks, core, old, special, status, text};

    type H = usize;
    type FH = usize;

    include!(concat!(env!("OUT_DIR"), "/entries.rs"));

    tern_face::old_functions!();
}
