//! MPICH's binary interface: `libmpi.so.12`, which Debian names `libmpich.so.12`; also what Intel MPI and others follow.
//!
//! Handles are ints; those of files are pointers. A predefined handle is one of [`handles`]' table; any other is the
//! core's handle, whose lower 30 bits tell it, with the two highest bits set, which no predefined handle has. The
//! functions come from the tables (build.rs); what the interface has besides stands in [`extras`].

mod extras;
mod handles;

use std::ffi::c_int;
use tern_face::status::Standard;
use tern_face::types::{Face, Kind, Ptr};
use tern_face::values::{rank_in, rank_out, tag_in, tag_out};

/// MPICH's ABI.
pub enum Mpich {}

#[global_allocator]
static MEMORY: tern_memory::Checked = tern_face::ALLOCATOR;

include!(concat!(env!("OUT_DIR"), "/values.rs"));

/// `MPI_Status`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Status {
    count_lower: c_int,
    /// The count's upper part, shifted by one; the lowest bit says whether the operation was cancelled.
    count_upper_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

/// Addresses with a meaning.
const IN_PLACE: usize = -1_isize as usize;
const BUFFER_AUTOMATIC: usize = -2_isize as usize;
const STATUS_IGNORE: usize = 1;

/// The same in the standard ABI.
const STANDARD_IN_PLACE: usize = 1;
const STANDARD_BUFFER_AUTOMATIC: usize = 2;
const STANDARD_FILE_NULL: usize = 0x118;

impl Face for Mpich {
    type Handle = c_int;
    type File = usize;
    type Status = Status;

    const NAME: &'static str = "MPICH's ABI (libmpi.so.12)";
    const MPICH_IS_FOREIGN: bool = false;

    #[inline(always)]
    fn handle_in(kind: Kind, handle: c_int) -> usize {
        handles::to_standard(kind, handle as u32)
    }

    #[inline(always)]
    fn loose_in(kind: Kind, handle: c_int) -> usize {
        handles::to_standard_quietly(kind, handle as u32)
    }

    #[inline(always)]
    fn handle_out(kind: Kind, handle: usize) -> c_int {
        handles::from_standard(kind, handle) as c_int
    }

    #[inline(always)]
    fn file_in(file: usize) -> usize {
        if file == 0 { STANDARD_FILE_NULL } else { file }
    }

    #[inline(always)]
    fn file_out(file: usize) -> usize {
        if file == STANDARD_FILE_NULL { 0 } else { file }
    }

    fn bound(datatype: c_int) -> Option<bool> {
        const LB: c_int = 0x4c00_0010;
        const UB: c_int = 0x4c00_0011;
        match datatype {
            LB => Some(false),
            UB => Some(true),
            _ => None,
        }
    }

    fn to_int(_: Kind, handle: c_int) -> c_int {
        handle
    }

    fn from_int(_: Kind, value: c_int) -> c_int {
        value
    }

    fn file_to_int(file: usize) -> c_int {
        file as c_int
    }

    fn file_from_int(value: c_int) -> usize {
        value as u32 as usize
    }

    #[inline(always)]
    fn status_in(status: &Status) -> Standard {
        let upper = (status.count_upper_and_cancelled as u32 >> 1) as u64;
        let bytes = status.count_lower as u32 as u64 | upper << 32;
        let cancelled = status.count_upper_and_cancelled & 1 != 0;
        let (source, tag) = (rank_in::<Mpich>(status.source), tag_in::<Mpich>(status.tag));
        Standard::new(source, tag, 0, bytes, cancelled)
    }

    #[inline(always)]
    fn status_out(standard: &Standard, status: &mut Status) {
        status.count_lower = standard.internal[0];
        status.count_upper_and_cancelled = standard.internal[1] << 1 | (standard.internal[2] != 0) as c_int;
        status.source = rank_out::<Mpich>(standard.source);
        status.tag = tag_out::<Mpich>(standard.tag);
    }

    #[inline(always)]
    fn status_error(status: &mut Status) -> &mut c_int {
        &mut status.error
    }

    #[inline(always)]
    fn is_ignore(status: *const Status) -> bool {
        status as usize <= STATUS_IGNORE
    }

    #[inline(always)]
    fn buffer_in(address: Ptr) -> Ptr {
        match address as usize {
            IN_PLACE => STANDARD_IN_PLACE as Ptr,
            BUFFER_AUTOMATIC => STANDARD_BUFFER_AUTOMATIC as Ptr,
            _ => address,
        }
    }

    fn buffer_out(address: Ptr) -> Ptr {
        if address as usize == STANDARD_BUFFER_AUTOMATIC { BUFFER_AUTOMATIC as Ptr } else { address }
    }

    #[inline(always)]
    fn is_in_place(address: Ptr) -> bool {
        address as usize == IN_PLACE
    }

    /// MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are objects of the library ([`extras`]) whose values are the standard's.
    fn weights_in(weights: Ptr) -> Ptr {
        weights
    }
}

/// The functions. Only these, and [`extras`], are exported.
#[allow(
    unused,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated code: the safety of all of it is what MPI asks of its callers"
)]
pub mod entries {
    use crate::Mpich as F;
    use std::ffi::c_int;
    use tern_face::scratch::*;
    use tern_face::status::Standard;
    use tern_face::types::*;
    use tern_face::values::*;
    use tern_face::{callbacks, core, old, special, status, text};

    type H = c_int;
    type FH = usize;

    include!(concat!(env!("OUT_DIR"), "/entries.rs"));

    tern_face::old_functions!();
}
