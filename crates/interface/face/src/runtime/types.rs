//! What a face says of itself.

use crate::status::Standard;
use crate::values::Values;
use std::ffi::{c_int, c_void};

/// Any pointer of the program's.
pub type Ptr = *mut c_void;

/// A handle of the standard ABI.
pub type Handle = usize;

/// Handles of the standard ABI that the conversions know.
pub mod null {
    pub const COMM: usize = 0x100;
    pub const DATATYPE: usize = 0x200;
    pub const REQUEST: usize = 0x180;
}

/// Predefined handles of the standard ABI lie below this.
pub const PREDEFINED: usize = 0x300;

/// What kind of object a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Comm,
    Group,
    Datatype,
    Op,
    Errhandler,
    Info,
    Request,
    Message,
    Win,
    File,
    Session,
}

/// A binary interface.
pub trait Face: Values + Sized + 'static {
    /// All handles but files.
    type Handle: Copy + Eq;
    type File: Copy + Eq;
    /// `MPI_Status`.
    type Status: Copy;

    /// The name for messages: "MPICH's ABI (libmpi.so.12)".
    const NAME: &'static str;

    /// Whether a handle that looks like one of MPICH's is a foreign one.
    const MPICH_IS_FOREIGN: bool;

    /// The standard handle of a handle of this face. What is none becomes one that the core refuses.
    fn handle_in(kind: Kind, handle: Self::Handle) -> usize;
    /// The same for what may be garbage, because it is not significant at this process.
    fn loose_in(kind: Kind, handle: Self::Handle) -> usize;
    fn handle_out(kind: Kind, handle: usize) -> Self::Handle;
    fn file_in(file: Self::File) -> usize;
    fn file_out(file: usize) -> Self::File;

    /// Whether a datatype is MPI_UB (true) or MPI_LB (false), which MPI-3.0 removed.
    fn bound(datatype: Self::Handle) -> Option<bool>;

    /// Handles as Fortran's integers.
    fn to_int(kind: Kind, handle: Self::Handle) -> c_int;
    fn from_int(kind: Kind, value: c_int) -> Self::Handle;
    fn file_to_int(file: Self::File) -> c_int;
    fn file_from_int(value: c_int) -> Self::File;

    fn status_in(status: &Self::Status) -> Standard;
    /// All but MPI_ERROR.
    fn status_out(standard: &Standard, status: &mut Self::Status);
    fn status_error(status: &mut Self::Status) -> &mut i32;
    /// True for MPI_STATUS_IGNORE.
    fn is_ignore(status: *const Self::Status) -> bool;

    /// A buffer's address, with MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC.
    fn buffer_in(address: Ptr) -> Ptr;
    /// The address that the program gave to a call that attached it.
    fn buffer_out(address: Ptr) -> Ptr;
    fn is_in_place(address: Ptr) -> bool;
    /// Weights of edges, with MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY.
    fn weights_in(weights: Ptr) -> Ptr;
}

macro_rules! handles {
    ($($in:ident $out:ident $kind:ident)*) => { $(
        #[inline(always)]
        pub fn $in<F: Face>(handle: F::Handle) -> usize {
            F::handle_in(Kind::$kind, handle)
        }
        #[inline(always)]
        pub fn $out<F: Face>(handle: usize) -> F::Handle {
            F::handle_out(Kind::$kind, handle)
        }
    )* };
}
handles! {
    comm_in comm_out Comm
    group_in group_out Group
    datatype_in datatype_out Datatype
    op_in op_out Op
    errhandler_in errhandler_out Errhandler
    info_in info_out Info
    request_in request_out Request
    message_in message_out Message
    win_in win_out Win
    session_in session_out Session
}

/// Converts the address that MPI_Buffer_detach and its like give back.
///
/// # Safety
/// `place` holds an address.
pub unsafe fn give_buffer<F: Face>(place: Ptr) {
    let place = place.cast::<Ptr>();
    // SAFETY: the caller's.
    unsafe { *place = F::buffer_out(*place) }
}

#[inline(always)]
pub fn file_in<F: Face>(file: F::File) -> usize {
    F::file_in(file)
}

#[inline(always)]
pub fn file_out<F: Face>(file: usize) -> F::File {
    F::file_out(file)
}
