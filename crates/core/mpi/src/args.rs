//! Arguments of MPI functions as the functions of [`crate::api`] take them.
//!
//! The C entry points are generated; they check and convert their arguments by kind and call
//! the function of the same name here, with its arguments in the standard's order:
//!
//! | kind in the table | C | Rust |
//! |---|---|---|
//! | sendbuf, recvbuf | `(const) void *` | `*const u8`, `*mut u8` |
//! | count, rank, tag, int | `int` / `MPI_Count` | `i64` for counts, `i32` else |
//! | array of counts or displacements | `int[]` / `MPI_Count[]` / `MPI_Aint[]` | [`Counts`] |
//! | comm, group, datatype, op, … | handle | `Rc<Comm>` and so on, checked |
//! | array of datatypes | `MPI_Datatype[]` | [`Handles`] |
//! | array of results | `T[]` | [`OutArray`]`<T>` |
//! | string, string result | `const char *`, `char *` | `&str`, [`TextOut`] |
//! | logical, flag | `int`, `int *` | `i32`, `Out<i32>` |
//! | info that may be MPI_INFO_NULL | `MPI_Info` | `Option<Rc<Info>>` |
//! | function pointer | `…_function *` | `usize` |
//! | extra state, attribute value | `void *` | `*mut u8` |
//! | attribute or pointer result | `void *` | `Out<usize>` |
//! | out parameter | `T *` | [`Out`]`<T>`; counts [`OutCount`]; handles `Out<usize>` |
//! | handle that the call frees or replaces | `MPI_Comm *` | [`Out`]`<usize>`, read with `get` |
//! | status, statuses | `MPI_Status *` | [`StatusOut`], [`StatusesOut`] |

use crate::constants::{MPI_ERR_ARG, MPI_UNDEFINED};
use crate::error::{Result, no_memory};
use std::ffi::c_int;
use tern_mcm::as_stored;

/// A result parameter: a checked, non-null pointer of the caller's.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// # Safety
    /// `ptr` is valid for reads and writes of a `T` during the MPI call.
    pub unsafe fn new(ptr: *mut T) -> Out<T> {
        Out(ptr)
    }
    pub fn set(&self, value: T) {
        // SAFETY: valid by the contract of `new`; C may give any alignment that it uses itself.
        unsafe { self.0.write_unaligned(value) }
    }
    pub fn get(&self) -> T {
        // SAFETY: as in `set`; parameters that are read are initialised by the caller.
        unsafe { self.0.read_unaligned() }
    }
    pub fn as_ptr(&self) -> *mut T {
        self.0
    }
}

/// A result parameter of the tool interface, or an array of results: null where the caller does not
/// want it (MPI 5.0 section 15.3).
#[derive(Clone, Copy, Debug)]
pub struct OptionalOut<T>(*mut T);

impl<T: Copy> OptionalOut<T> {
    /// # Safety
    /// `ptr` is null, or valid for reads and writes of as many `T` as the function uses.
    pub unsafe fn new(ptr: *mut T) -> OptionalOut<T> {
        OptionalOut(ptr)
    }
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
    pub fn set(&self, value: T) {
        self.set_at(0, value);
    }
    pub fn set_at(&self, index: usize, value: T) {
        if !self.0.is_null() {
            // SAFETY: valid by the contract of `new`.
            unsafe { self.0.add(index).write_unaligned(value) }
        }
    }
    /// What is there before the call.
    pub fn get(&self) -> Option<T> {
        // SAFETY: valid by the contract of `new`; read only where the caller initialises it.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }
}

/// A result array of the caller's.
#[derive(Clone, Copy, Debug)]
pub struct OutArray<T>(*mut T);

impl<T: Copy> OutArray<T> {
    /// # Safety
    /// `ptr` is valid for as many elements as the function reads or writes; may be null when
    /// there are none.
    pub unsafe fn new(ptr: *mut T) -> OutArray<T> {
        OutArray(ptr)
    }
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
    pub fn set(&self, index: usize, value: T) {
        // SAFETY: valid by the contract of `new`.
        unsafe { self.0.add(index).write_unaligned(value) }
    }
    pub fn get(&self, index: usize) -> T {
        // SAFETY: valid by the contract of `new`; arrays that are read are initialised.
        unsafe { self.0.add(index).read_unaligned() }
    }
}

/// Where a string result goes.
#[derive(Clone, Copy, Debug)]
pub struct TextOut(*mut u8);

impl TextOut {
    /// # Safety
    /// `ptr` has room for as many characters as the standard says of this parameter. It is not null, unless the
    /// function asks [`TextOut::check_room`] first.
    pub unsafe fn new(ptr: *mut u8) -> TextOut {
        TextOut(ptr)
    }

    /// MPI_ERR_ARG where the caller says that there is room for `room` characters, but not where: null is for those
    /// who only ask for the length.
    pub fn check_room(&self, room: i32) -> Result<()> {
        if room < 0 {
            return err!(MPI_ERR_ARG, "the room for the text is {room}");
        }
        if room > 0 && self.0.is_null() {
            return err!(MPI_ERR_ARG, "the room for the text is {room}, but its address is a null pointer");
        }
        Ok(())
    }
    /// Stores `text` and a final 0 into room for `room` characters, the 0 included; what does not
    /// fit is cut at a character's boundary. Returns the length stored, without the 0.
    pub fn set(&self, text: &str, room: i32) -> i32 {
        let Some(most) = usize::try_from(room).ok().and_then(|room| room.checked_sub(1)) else { return 0 };
        let length = text.floor_char_boundary(most);
        // SAFETY: valid by the contract of `new`, for `length` + 1 <= `room` characters.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.0, length);
            *self.0.add(length) = 0;
        }
        length as i32
    }
}

/// A result parameter that is `int *` in one form of a function and `MPI_Count *` (or
/// `MPI_Aint *`, the same size here) in the other.
#[derive(Clone, Copy, Debug)]
pub struct OutCount {
    ptr: *mut u8,
    wide: bool,
}

impl OutCount {
    /// # Safety
    /// As for [`Out::new`], of 8 bytes when `wide`, else 4.
    pub unsafe fn new(ptr: *mut u8, wide: bool) -> OutCount {
        OutCount { ptr, wide }
    }
    /// Stores `value`; what an `int` cannot hold becomes MPI_UNDEFINED, the standard's rule for
    /// sizes and counts (MPI 5.0 section 5.1.5).
    pub fn set(&self, value: i64) {
        // SAFETY: valid by the contract of `new`.
        unsafe {
            if self.wide {
                self.ptr.cast::<i64>().write_unaligned(value);
            } else {
                let narrow = c_int::try_from(value).unwrap_or(MPI_UNDEFINED);
                self.ptr.cast::<c_int>().write_unaligned(narrow);
            }
        }
    }
    pub fn get(&self) -> i64 {
        // SAFETY: valid by the contract of `new`; read only where the caller initialises it.
        unsafe {
            if self.wide {
                self.ptr.cast::<i64>().read_unaligned()
            } else {
                self.ptr.cast::<c_int>().read_unaligned() as i64
            }
        }
    }
}

/// An array of integers of the caller's, `int` or 8 bytes wide.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    ptr: *const u8,
    wide: bool,
}

impl Counts {
    /// # Safety
    /// `ptr` is valid for as many elements as the function reads; may be null when it reads none.
    pub unsafe fn new(ptr: *const u8, wide: bool) -> Counts {
        Counts { ptr, wide }
    }
    pub fn is_null(&self) -> bool {
        self.ptr.is_null()
    }
    pub fn get(&self, index: usize) -> i64 {
        // SAFETY: valid by the contract of `new`.
        unsafe {
            if self.wide {
                self.ptr.cast::<i64>().add(index).read_unaligned()
            } else {
                self.ptr.cast::<c_int>().add(index).read_unaligned() as i64
            }
        }
    }
    /// The first `len` of them.
    ///
    /// Errors: MPI_ERR_NO_MEM.
    pub fn list(&self, len: usize) -> Result<Vec<i64>> {
        let all = tern_memory::collect((0..len).map(|i| self.get(i)));
        all.map_err(|lack| no_memory("a copy of an array of the call", lack))
    }
}

/// An array of handles of the caller's.
#[derive(Clone, Copy, Debug)]
pub struct Handles(*mut usize);

impl Handles {
    /// # Safety
    /// As for [`Counts::new`]; writable where the function writes.
    pub unsafe fn new(ptr: *mut usize) -> Handles {
        Handles(ptr)
    }
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
    pub fn get(&self, index: usize) -> usize {
        // SAFETY: valid by the contract of `new`.
        unsafe { self.0.add(index).read_unaligned() }
    }
    pub fn set(&self, index: usize, handle: usize) {
        // SAFETY: valid by the contract of `new`.
        unsafe { self.0.add(index).write_unaligned(handle) }
    }
    pub fn slot(&self, index: usize) -> Out<usize> {
        // SAFETY: valid by the contract of `new`.
        unsafe { Out::new(self.0.add(index)) }
    }
}

/// `MPI_Status` of the standard ABI (MPI 5.0 chapter 20): 8 ints, the last five the library's:
/// `internal[0..2]` the byte count, `internal[2]` whether cancelled.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct RawStatus {
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
    pub internal: [c_int; 5],
}

impl RawStatus {
    /// The status of an inactive request (MPI 5.0 section 3.7.3).
    #[inline]
    pub fn empty() -> RawStatus {
        RawStatus { source: -1, tag: -2, error: 0, internal: [0; 5] }
    }
    /// The status of a receive, as far as it is no error.
    #[inline]
    pub fn received(status: &tern_adi::Status) -> RawStatus {
        let mut raw = RawStatus { source: status.source, tag: status.tag, ..RawStatus::default() };
        raw.set_bytes(status.bytes);
        raw.set_cancelled(status.cancelled);
        raw
    }
    /// A copy, loaded as it was stored a moment ago: see `tern_adi::Status::fresh`.
    #[inline]
    fn fresh(&self) -> RawStatus {
        let internal = [0, 1, 2, 3, 4].map(|at| as_stored(&self.internal[at]));
        RawStatus {
            source: as_stored(&self.source),
            tag: as_stored(&self.tag),
            error: as_stored(&self.error),
            internal,
        }
    }
    pub fn bytes(&self) -> u64 {
        self.internal[0] as u32 as u64 | (self.internal[1] as u32 as u64) << 32
    }
    pub fn set_bytes(&mut self, bytes: u64) {
        self.internal[0] = bytes as u32 as c_int;
        self.internal[1] = (bytes >> 32) as u32 as c_int;
    }
    pub fn cancelled(&self) -> bool {
        self.internal[2] != 0
    }
    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.internal[2] = cancelled as c_int;
    }
}

/// A `MPI_Status *`; null is MPI_STATUS_IGNORE.
#[derive(Clone, Copy, Debug)]
pub struct StatusOut(*mut RawStatus);

impl StatusOut {
    /// # Safety
    /// `ptr` is null or valid for writes of a status.
    pub unsafe fn new(ptr: *mut RawStatus) -> StatusOut {
        StatusOut(ptr)
    }
    /// True for MPI_STATUS_IGNORE.
    #[inline]
    pub fn is_ignore(&self) -> bool {
        self.0.is_null()
    }
    /// Stores all but MPI_ERROR, which only functions that return several statuses set
    /// (MPI 5.0 section 3.2.5).
    pub fn set(&self, status: &RawStatus) {
        if !self.0.is_null() {
            // SAFETY: valid by the contract of `new`.
            unsafe {
                let error = (*self.0).error;
                *self.0 = RawStatus { error, ..status.fresh() };
            }
        }
    }
    /// As [`StatusOut::set`], of a receive without an error.
    #[inline]
    pub fn set_received(&self, status: &tern_adi::Status) {
        if !self.is_ignore() {
            self.set(&RawStatus::received(status));
        }
    }
    /// Stores the status of a null or inactive request, whose MPI_ERROR is MPI_SUCCESS
    /// (MPI 5.0 section 3.7.3).
    pub fn set_empty(&self) {
        self.set_with_error(&RawStatus::empty());
    }
    /// Stores all of it.
    pub fn set_with_error(&self, status: &RawStatus) {
        if !self.0.is_null() {
            // SAFETY: valid by the contract of `new`.
            unsafe { *self.0 = status.fresh() }
        }
    }
    pub fn get(&self) -> Option<RawStatus> {
        // SAFETY: null or valid by the contract of `new`.
        unsafe { self.0.as_ref().copied() }
    }
    pub fn as_ptr(&self) -> *mut RawStatus {
        self.0
    }
}

/// An array of statuses; null is MPI_STATUSES_IGNORE.
#[derive(Clone, Copy, Debug)]
pub struct StatusesOut(*mut RawStatus);

impl StatusesOut {
    /// # Safety
    /// `ptr` is null or valid for as many statuses as the function writes.
    pub unsafe fn new(ptr: *mut RawStatus) -> StatusesOut {
        StatusesOut(ptr)
    }
    pub fn is_ignore(&self) -> bool {
        self.0.is_null()
    }
    pub fn at(&self, index: usize) -> StatusOut {
        if self.0.is_null() {
            return StatusOut(self.0);
        }
        // SAFETY: valid by the contract of `new`.
        StatusOut(unsafe { self.0.add(index) })
    }
}

/// Weights of the edges of a distributed graph (MPI 5.0 section 8.5.4).
#[derive(Clone, Copy, Debug)]
pub enum Weights {
    /// MPI_UNWEIGHTED
    Unweighted,
    /// MPI_WEIGHTS_EMPTY: a weighted graph, no edges here.
    Empty,
    Given(Counts),
}
