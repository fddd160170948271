//! What the faces share. A face is a library with the functions, handles, constants and layouts of another binary
//! interface (MPICH's, Open MPI's): each of its functions converts what it is given to the values of the standard ABI,
//! calls the core through its table of functions ([`core()`]), and converts what comes back. It knows nothing else.
//!
//! - `Face` is what a face says of itself: handles, the status. `Values` are its constants, which the generator
//!   writes from the face's facts (`facts/constants.txt`).
//! - The generator (feature `generate`, for build scripts) writes the functions from the tables of `tern-table`: a rule
//!   for each kind of parameter. What has no rule stands in [`special`].
//!
//! A result that is a handle or a status goes to a place of the call's own first, which begins with a mark; only what
//! the core has written is converted and handed on. Numbers are converted where they lie, after a success.

#[cfg(feature = "generate")]
pub mod generator;

#[cfg(not(feature = "generate"))]
mod runtime {
    pub mod callbacks;
    pub mod exports;
    pub mod foreign;
    pub mod old;
    pub mod scratch;
    pub mod special;
    pub mod status;
    pub mod text;
    pub mod types;
    pub mod values;
}

#[cfg(not(feature = "generate"))]
pub use runtime::*;

#[cfg(not(feature = "generate"))]
mod core_table {
    use crate::types::{Handle, Ptr};
    use std::ffi::{c_char, c_int};

    include!(concat!(env!("OUT_DIR"), "/core.rs"));

    unsafe extern "C" {
        static tern_core_3: Core;
        safe fn tern_out_of_memory(bytes: usize) -> !;
        fn tern_no_memory(comm: Handle, function: *const c_char, bytes: usize) -> c_int;
    }

    /// The functions of the core, in libmpi_abi.so.1.
    #[inline(always)]
    pub fn core() -> &'static Core {
        // SAFETY: a constant of the library that this one needs.
        unsafe { &tern_core_3 }
    }

    /// Raises MPI_ERR_NO_MEM of that function, which needs so many bytes, on a communicator, or as for calls without one.
    ///
    /// # Safety
    /// The name is there for ever.
    pub(crate) unsafe fn refuse(comm: Handle, function: *const c_char, bytes: usize) -> c_int {
        // SAFETY: the caller's.
        unsafe { tern_no_memory(comm, function, bytes) }
    }

    /// The global allocator of a face: the core ends the job, where the face cannot have the memory that it needs.
    pub const ALLOCATOR: tern_memory::Checked = tern_memory::Checked::ending(end);

    fn end(bytes: usize) -> ! {
        tern_out_of_memory(bytes)
    }
}

#[cfg(not(feature = "generate"))]
pub(crate) use core_table::refuse;
#[cfg(not(feature = "generate"))]
pub use core_table::{ALLOCATOR, Core, core};
