//! Checks of arguments by kind, and their conversion to what the core's functions take. The
//! kinds in `table/kinds.txt` name these functions.
//!
//! Every check has its error in a function of its own, out of the way of the calls that pass.

use crate::face::{self, Ptr};
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use tern_mpi::advice::COMMIT;
use tern_mpi::args::{Counts, Handles, OptionalOut, Out, OutArray, OutCount, StatusOut, TextOut};
use tern_mpi::constants::*;
use tern_mpi::error::{Error, Result};
use tern_mpi::file::File;
use tern_mpi::objects::{Comm, Datatype, Group, Info, Operation, Session, objects};
use tern_mpi::scope::Errhandler;
use tern_mpi::win::Win;

#[cold]
fn refuse<T>(class: i32, message: String) -> Result<T> {
    Err(Error::new(class, message))
}

// -- Handles --

/// Adds to an error of the core which argument it is about.
#[cold]
fn about(name: &str, mut error: Box<Error>) -> Box<Error> {
    error.message = format!("argument {name}: {}", error.message);
    error
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident -> $object:ty, $lookup:path;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(name: &str, handle: usize) -> Result<$object> {
            $lookup(handle).map_err(|error| about(name, error))
        }
    )* };
}
handles! {
    comm -> Rc<Comm>, tern_mpi::comm::lookup;
    group -> Rc<Group>, tern_mpi::group::lookup;
    /// A datatype, committed or not.
    datatype -> Rc<Datatype>, tern_mpi::datatype::lookup;
    op -> Rc<Operation>, tern_mpi::op::lookup;
    info -> Rc<Info>, tern_mpi::info::lookup;
    info_or_null -> Option<Rc<Info>>, tern_mpi::info::lookup_optional;
    errhandler -> Rc<Errhandler>, tern_mpi::errhandler::lookup;
    file -> Rc<File>, tern_mpi::file::lookup;
    win -> Rc<Win>, tern_mpi::win::lookup;
}

pub fn session(name: &str, handle: usize) -> Result<Rc<Session>> {
    match objects().sessions.borrow().get(handle) {
        Some(session) => Ok(session.clone()),
        None if handle == MPI_SESSION_NULL => refuse(MPI_ERR_SESSION, format!("argument {name} is MPI_SESSION_NULL")),
        None => refuse(
            MPI_ERR_SESSION,
            format!("argument {name} is {handle:#x}, which is not a session, or one that was finalized"),
        ),
    }
}

/// A datatype for communication of `count` elements.
#[inline(always)]
pub fn committed(name: &str, handle: usize, count: i64) -> Result<Rc<Datatype>> {
    match datatype(name, handle) {
        Ok(datatype) if datatype.committed.get() => Ok(datatype),
        Ok(datatype) => not_committed(name, &datatype),
        Err(_) if count == 0 && handle == MPI_DATATYPE_NULL => Ok(unused_type()),
        Err(error) => Err(error),
    }
}

#[cold]
fn not_committed<T>(name: &str, datatype: &Datatype) -> Result<T> {
    let label = datatype.name.borrow();
    if datatype.predefined {
        return refuse(
            MPI_ERR_TYPE,
            format!("argument {name} is {label}, which the Fortran compiler of this program lacks"),
        );
    }
    let text = format!("argument {name} is a datatype that is not committed: call MPI_Type_commit first");
    Err(Error::new(MPI_ERR_TYPE, text).advise(COMMIT))
}

/// What stands for a datatype that is not significant.
#[cold]
pub fn unused_type() -> Rc<Datatype> {
    tern_mpi::datatype::lookup(MPI_BYTE).expect("MPI_BYTE is predefined")
}

/// What stands for an operation that is not significant.
#[cold]
pub fn unused_op() -> Rc<Operation> {
    tern_mpi::op::lookup(MPI_SUM).expect("MPI_SUM is predefined")
}

/// The handle behind a pointer, for the error handler's sake; 0 for null.
///
/// # Safety
/// `pointer` is null or valid for reads.
#[inline(always)]
pub unsafe fn peek(pointer: Ptr) -> usize {
    // SAFETY: passed on to the caller.
    if pointer.is_null() { 0 } else { unsafe { pointer.cast::<usize>().read_unaligned() } }
}

// -- Numbers, ranks, tags --

#[inline(always)]
pub fn count(name: &str, count: i64) -> Result<i64> {
    if count >= 0 { Ok(count) } else { negative(MPI_ERR_COUNT, name, count) }
}

#[inline(always)]
pub fn size(name: &str, size: c_int) -> Result<i32> {
    if size >= 0 { Ok(size) } else { negative(MPI_ERR_ARG, name, size as i64) }
}

#[cold]
fn negative<T>(class: i32, name: &str, value: i64) -> Result<T> {
    refuse(class, format!("argument {name} is {value}, but must not be negative"))
}

#[inline(always)]
pub fn dest(name: &str, rank: i32, comm: &Comm) -> Result<i32> {
    let size = comm.target().size();
    if (rank as u32) < size as u32 || rank == MPI_PROC_NULL {
        return Ok(rank);
    }
    bad_rank(MPI_ERR_RANK, name, rank, size, "; or MPI_PROC_NULL")
}

#[inline(always)]
pub fn source(name: &str, rank: i32, comm: &Comm) -> Result<i32> {
    let size = comm.target().size();
    if (rank as u32) < size as u32 || rank == MPI_ANY_SOURCE || rank == MPI_PROC_NULL {
        return Ok(rank);
    }
    bad_rank(MPI_ERR_RANK, name, rank, size, "; or MPI_ANY_SOURCE or MPI_PROC_NULL")
}

#[inline(always)]
pub fn rank(name: &str, rank: i32, comm: &Comm) -> Result<i32> {
    let size = comm.size();
    if (rank as u32) < size as u32 { Ok(rank) } else { bad_rank(MPI_ERR_RANK, name, rank, size, "") }
}

#[inline(always)]
pub fn root(name: &str, root: i32, comm: &Comm) -> Result<i32> {
    let size = comm.target().size();
    if (root as u32) < size as u32 {
        return Ok(root);
    }
    if !comm.is_inter() {
        return bad_rank(MPI_ERR_ROOT, name, root, size, "");
    }
    if root == MPI_ROOT || root == MPI_PROC_NULL {
        return Ok(root);
    }
    bad_rank(MPI_ERR_ROOT, name, root, size, "; or MPI_ROOT or MPI_PROC_NULL")
}

#[cold]
fn bad_rank<T>(class: i32, name: &str, rank: i32, size: i32, others: &str) -> Result<T> {
    refuse(class, format!("argument {name} is {rank}, but ranks go from 0 to {} here{others}", size - 1))
}

#[inline(always)]
pub fn send_tag(name: &str, tag: i32) -> Result<i32> {
    if tag >= 0 { Ok(tag) } else { bad_tag(name, tag, "") }
}

#[inline(always)]
pub fn recv_tag(name: &str, tag: i32) -> Result<i32> {
    if tag >= 0 || tag == MPI_ANY_TAG { Ok(tag) } else { bad_tag(name, tag, "; or MPI_ANY_TAG") }
}

#[cold]
fn bad_tag<T>(name: &str, tag: i32, others: &str) -> Result<T> {
    refuse(MPI_ERR_TAG, format!("argument {name} is {tag}, but tags go from 0 to {}{others}", i32::MAX))
}

// -- Where parameters of rooted collectives are significant --

/// At the root.
#[inline(always)]
pub fn at_root(root: i32, comm: &Comm) -> bool {
    if comm.is_inter() { root == MPI_ROOT } else { root == comm.rank }
}

/// At all but the root's group of an intercommunicator.
#[inline(always)]
pub fn at_leaf(root: i32, comm: &Comm) -> bool {
    !comm.is_inter() || root >= 0
}

/// At all but the root's fellows in its group of an intercommunicator.
#[inline(always)]
pub fn at_taker(root: i32, _comm: &Comm) -> bool {
    root != MPI_PROC_NULL
}

// -- Buffers --

#[inline(always)]
pub fn send_buffer(name: &str, buffer: *mut u8, count: i64, datatype: Option<&Rc<Datatype>>) -> Result<*const u8> {
    recv_buffer(name, buffer, count, datatype).map(|buffer| buffer.cast_const())
}

#[inline(always)]
pub fn recv_buffer(name: &str, buffer: *mut u8, count: i64, datatype: Option<&Rc<Datatype>>) -> Result<*mut u8> {
    if !buffer.is_null() || count == 0 || datatype.is_some_and(|t| !t.predefined) {
        return Ok(buffer);
    }
    refuse(MPI_ERR_BUFFER, format!("argument {name} is a null pointer, but {count} elements are to be there"))
}

#[inline(always)]
pub fn send_buffer_or_in_place(
    name: &str, buffer: *mut u8, count: i64, datatype: Option<&Rc<Datatype>>, comm: &Comm,
) -> Result<*const u8> {
    recv_buffer_or_in_place(name, buffer, count, datatype, comm).map(|buffer| buffer.cast_const())
}

#[inline(always)]
pub fn recv_buffer_or_in_place(
    name: &str, buffer: *mut u8, count: i64, datatype: Option<&Rc<Datatype>>, comm: &Comm,
) -> Result<*mut u8> {
    if buffer as usize != MPI_IN_PLACE {
        return recv_buffer(name, buffer, count, datatype);
    }
    if !comm.is_inter() {
        return Ok(buffer);
    }
    let text = format!("argument {name} is MPI_IN_PLACE, which intercommunicators do not have");
    Err(Error::new(MPI_ERR_BUFFER, text).advise(""))
}

// -- Pointers --

#[cold]
fn null<T>(name: &str) -> Result<T> {
    refuse(MPI_ERR_ARG, format!("argument {name} is a null pointer"))
}

/// # Safety
/// `pointer` is null or valid for reads and writes of a `T`.
#[inline(always)]
pub unsafe fn out<T: Copy>(name: &str, pointer: Ptr) -> Result<Out<T>> {
    // SAFETY: passed on to the caller.
    if pointer.is_null() { null(name) } else { Ok(unsafe { Out::new(pointer.cast()) }) }
}

/// # Safety
/// As for [`out`], of 8 bytes when `wide`, else 4.
#[inline(always)]
pub unsafe fn out_count(name: &str, pointer: Ptr, wide: bool) -> Result<OutCount> {
    // SAFETY: passed on to the caller.
    if pointer.is_null() { null(name) } else { Ok(unsafe { OutCount::new(pointer.cast(), wide) }) }
}

/// A result of 8 bytes, which the core takes as one of these.
pub trait Wide {
    /// # Safety
    /// `pointer` is valid for reads and writes of 8 bytes.
    unsafe fn at(pointer: Ptr) -> Self;
}

impl Wide for Out<i64> {
    #[inline(always)]
    unsafe fn at(pointer: Ptr) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { Out::new(pointer.cast()) }
    }
}

impl Wide for OutCount {
    #[inline(always)]
    unsafe fn at(pointer: Ptr) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { OutCount::new(pointer.cast(), true) }
    }
}

/// # Safety
/// `pointer` is null or valid for reads and writes of 8 bytes.
#[inline(always)]
pub unsafe fn wide_out<T: Wide>(name: &str, pointer: Ptr) -> Result<T> {
    // SAFETY: passed on to the caller.
    if pointer.is_null() { null(name) } else { Ok(unsafe { T::at(pointer) }) }
}

/// An array of results; null is refused unless `len` is 0.
///
/// # Safety
/// `array` is null or valid for as many elements as the function writes.
pub unsafe fn out_array<T: Copy>(name: &str, array: Ptr, len: i64) -> Result<OutArray<T>> {
    // SAFETY: passed on to the caller.
    if array.is_null() && len > 0 { null(name) } else { Ok(unsafe { OutArray::new(array.cast()) }) }
}

/// An array of integers; null is refused unless `len` is 0.
///
/// # Safety
/// `array` is null or valid for as many elements as the function reads.
pub unsafe fn counts(name: &str, array: Ptr, wide: bool, len: i64) -> Result<Counts> {
    // SAFETY: passed on to the caller.
    if array.is_null() && len > 0 { null(name) } else { Ok(unsafe { Counts::new(array.cast(), wide) }) }
}

/// One count for each peer of `comm`, none of them negative.
///
/// # Safety
/// `array` is null or valid for that many elements.
pub unsafe fn peer_counts(name: &str, array: Ptr, wide: bool, comm: &Comm) -> Result<Counts> {
    // SAFETY: passed on to the caller.
    let counts = unsafe { counts(name, array, wide, 1)? };
    for peer in 0..comm.target().size() as usize {
        if counts.get(peer) < 0 {
            return negative(MPI_ERR_COUNT, &format!("{name}[{peer}]"), counts.get(peer));
        }
    }
    Ok(counts)
}

/// # Safety
/// As for [`counts`].
pub unsafe fn peer_displs(name: &str, array: Ptr, wide: bool) -> Result<Counts> {
    // SAFETY: passed on to the caller.
    unsafe { counts(name, array, wide, 1) }
}

/// What stands for an array of counts that is not significant.
pub fn no_counts() -> Counts {
    // SAFETY: nothing is read from it.
    unsafe { Counts::new(std::ptr::null(), false) }
}

/// An array of handles; null is refused unless `len` is 0.
///
/// # Safety
/// `array` is null or valid for as many elements as the function reads or writes.
pub unsafe fn handles(name: &str, array: Ptr, len: i64) -> Result<Handles> {
    // SAFETY: passed on to the caller.
    if array.is_null() && len > 0 { null(name) } else { Ok(unsafe { Handles::new(array.cast()) }) }
}

/// What stands for an array of handles that is not significant.
pub fn no_handles() -> Handles {
    // SAFETY: nothing is read from it.
    unsafe { Handles::new(std::ptr::null_mut()) }
}

/// A status that must be there.
///
/// # Safety
/// `status` is MPI_STATUS_IGNORE or valid for reads and writes of a status.
pub unsafe fn status(name: &str, status: Ptr) -> Result<StatusOut> {
    if status.is_null() {
        return refuse(MPI_ERR_ARG, format!("argument {name} is MPI_STATUS_IGNORE, but a status is needed"));
    }
    // SAFETY: passed on to the caller.
    Ok(unsafe { face::status(status) })
}

/// # Safety
/// `string` is null or null-terminated, and lives during the call.
pub unsafe fn string<'a>(name: &str, string: Ptr) -> Result<&'a str> {
    if string.is_null() {
        return null(name);
    }
    // SAFETY: passed on to the caller.
    let string = unsafe { CStr::from_ptr(string.cast::<c_char>()) };
    string.to_str().or_else(|_| refuse(MPI_ERR_ARG, format!("argument {name} is {string:?}, which is not UTF-8")))
}

/// A string of the tool interface.
///
/// # Safety
/// As for [`string`].
pub unsafe fn optional_string<'a>(pointer: Ptr) -> Option<&'a str> {
    // SAFETY: passed on to the caller.
    unsafe { string("", pointer) }.ok()
}

/// Where a result of the tool interface goes.
///
/// # Safety
/// `pointer` is null or valid for as many `T` as the function uses.
pub unsafe fn place<T: Copy>(pointer: Ptr) -> OptionalOut<T> {
    // SAFETY: passed on to the caller.
    unsafe { OptionalOut::new(pointer.cast()) }
}

/// # Safety
/// `name` is null or null-terminated, and lives during the call.
pub unsafe fn filename<'a>(name: &str, filename: Ptr) -> Result<&'a Path> {
    if filename.is_null() {
        return refuse(MPI_ERR_BAD_FILE, format!("argument {name} is a null pointer"));
    }
    // SAFETY: passed on to the caller.
    let filename = unsafe { CStr::from_ptr(filename.cast::<c_char>()) };
    Ok(Path::new(OsStr::from_bytes(filename.to_bytes())))
}

/// # Safety
/// `text` is null or has room for as many characters as the standard says.
pub unsafe fn text(name: &str, text: Ptr) -> Result<TextOut> {
    // SAFETY: passed on to the caller.
    if text.is_null() { null(name) } else { Ok(unsafe { TextOut::new(text.cast()) }) }
}

/// # Safety
/// As for [`text`].
pub unsafe fn text_or_null(text: Ptr) -> TextOut {
    // SAFETY: passed on to the caller.
    unsafe { TextOut::new(text.cast()) }
}

/// The arguments of a program.
///
/// # Safety
/// `argv` is null or has `argc` strings, as for [`string`].
pub unsafe fn arguments<'a>(name: &str, argc: c_int, argv: Ptr) -> Result<Vec<&'a str>> {
    if argv.is_null() || argc <= 0 {
        return Ok(Vec::new());
    }
    // SAFETY: passed on to the caller.
    let argument = |i| unsafe { argv.cast::<Ptr>().add(i).read_unaligned() };
    // SAFETY: passed on to the caller.
    (0..argc as usize).map(|i| unsafe { string(&format!("{name}[{i}]"), argument(i)) }).collect()
}

/// The address of a function that must be there.
pub fn function_address(name: &str, function: Ptr) -> Result<usize> {
    if function.is_null() { null(name) } else { Ok(function as usize) }
}

macro_rules! functions {
    ($($name:ident -> $type:ident;)*) => { $(
        /// # Safety
        /// `function` is null or a function of that type.
        pub unsafe fn $name(name: &str, function: Ptr) -> Result<tern_mpi::request::generalized::$type> {
            // SAFETY: passed on to the caller; null becomes None.
            let function = unsafe { std::mem::transmute::<Ptr, Option<tern_mpi::request::generalized::$type>>(function) };
            function.map_or_else(|| null(name), Ok)
        }
    )* };
}
functions! {
    query_function -> QueryFunction;
    free_function -> FreeFunction;
    cancel_function -> CancelFunction;
}
