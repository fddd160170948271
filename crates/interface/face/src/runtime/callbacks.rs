//! Functions of the program's, which the core calls with the standard ABI's values: in between stands one of these, and
//! gives them the face's.

use crate::types::{Face, Handle, Kind, Ptr};
use crate::values::{code_in, code_out, keyval_out};
use crate::{core, status};
use std::ffi::c_int;
use std::mem::transmute;

/// The address of a function of the program's as it stands in C: null is none.
pub type Function = Ptr;

// -- Operations: the state is the program's function itself.

type IntOp<F> = unsafe extern "C" fn(Ptr, Ptr, *mut c_int, *mut <F as Face>::Handle);
type LargeOp<F> = unsafe extern "C" fn(Ptr, Ptr, *mut i64, *mut <F as Face>::Handle);

unsafe extern "C" fn call_int_op<F: Face>(state: Ptr, input: Ptr, inout: Ptr, len: i64, datatype: Handle) {
    let mut datatype = F::handle_out(Kind::Datatype, datatype);
    let mut len = len as c_int;
    // SAFETY: the state is the function that MPI_Op_create got.
    unsafe { transmute::<Ptr, IntOp<F>>(state)(input, inout, &mut len, &mut datatype) }
}

unsafe extern "C" fn call_large_op<F: Face>(state: Ptr, input: Ptr, inout: Ptr, mut len: i64, datatype: Handle) {
    let mut datatype = F::handle_out(Kind::Datatype, datatype);
    // SAFETY: the state is the function that MPI_Op_create_c got.
    unsafe { transmute::<Ptr, LargeOp<F>>(state)(input, inout, &mut len, &mut datatype) }
}

/// MPI_Op_create and MPI_Op_create_c, to a standard handle.
///
/// # Safety
/// `function` is null or such a function; `op` is a place for a handle.
pub unsafe fn create_op<F: Face>(function: Function, commute: c_int, op: *mut Handle, large: bool) -> c_int {
    // SAFETY: the caller's; the core refuses null.
    unsafe {
        match (function.is_null() || op.is_null(), large) {
            (true, false) => (core().op_create)(function, commute, op.cast()),
            (true, true) => (core().op_create_c)(function, commute, op.cast()),
            (false, false) => {
                (core().op_create_stated)(call_int_op::<F>, function, None, c_int::MAX as i64, commute, op)
            }
            (false, true) => (core().op_create_stated)(call_large_op::<F>, function, None, i64::MAX, commute, op),
        }
    }
}

// -- Error handlers: the state is the program's function itself.

type ErrorFunction<H> = unsafe extern "C" fn(*mut H, *mut c_int, ...);

unsafe extern "C" fn call_errhandler<F: Face, const KIND: i32>(state: Ptr, object: *mut Handle, code: *mut c_int) {
    let kind = [Kind::Comm, Kind::Win, Kind::File, Kind::Session][KIND as usize];
    // SAFETY: the state is the function that MPI_..._create_errhandler got; the core gives places of its own.
    unsafe {
        let mut own = code_out::<F>(*code);
        let before = own;
        if kind == Kind::File {
            let mut file = F::file_out(*object);
            transmute::<Ptr, ErrorFunction<F::File>>(state)(&mut file, &mut own);
        } else {
            let mut handle = F::handle_out(kind, *object);
            transmute::<Ptr, ErrorFunction<F::Handle>>(state)(&mut handle, &mut own);
        }
        if own != before {
            *code = code_in::<F>(own);
        }
    }
}

/// MPI_Comm_create_errhandler (kind 0), MPI_Win_... (1), MPI_File_... (2), MPI_Session_... (3), to a standard handle.
///
/// # Safety
/// `function` is null or such a function; `errhandler` is null or a place for a handle.
pub unsafe fn create_errhandler<F: Face, const KIND: i32>(function: Function, errhandler: *mut Handle) -> c_int {
    // SAFETY: the caller's; the core refuses null.
    unsafe {
        if !function.is_null() && !errhandler.is_null() {
            return (core().errhandler_create_stated)(KIND, call_errhandler::<F, KIND>, function, None, errhandler);
        }
        match KIND {
            0 => (core().comm_create_errhandler)(function, errhandler.cast()),
            1 => (core().win_create_errhandler)(function, errhandler.cast()),
            2 => (core().file_create_errhandler)(function, errhandler.cast()),
            _ => (core().session_create_errhandler)(function, errhandler.cast()),
        }
    }
}

// -- Attributes

type CopyFunction<F> = unsafe extern "C" fn(<F as Face>::Handle, c_int, Ptr, Ptr, Ptr, *mut c_int) -> c_int;
type DeleteFunction<F> = unsafe extern "C" fn(<F as Face>::Handle, c_int, Ptr, Ptr) -> c_int;

/// What a keyval was made from. It lives as long as the process: attributes may outlive their keyval.
struct Keyval {
    kind: Kind,
    copy: Function,
    delete: Function,
    extra_state: Ptr,
}

unsafe extern "C" fn call_copy<F: Face>(
    object: Handle, keyval: c_int, state: Ptr, value: Ptr, new: Ptr, flag: *mut c_int,
) -> c_int {
    // SAFETY: the state is a `Keyval` with such a function.
    unsafe {
        let own = &*state.cast::<Keyval>();
        let copy = transmute::<Ptr, CopyFunction<F>>(own.copy);
        let object = F::handle_out(own.kind, object);
        code_in::<F>(copy(object, keyval_out::<F>(keyval), own.extra_state, value, new, flag))
    }
}

unsafe extern "C" fn call_delete<F: Face>(object: Handle, keyval: c_int, value: Ptr, state: Ptr) -> c_int {
    // SAFETY: as above.
    unsafe {
        let own = &*state.cast::<Keyval>();
        let delete = transmute::<Ptr, DeleteFunction<F>>(own.delete);
        code_in::<F>(delete(F::handle_out(own.kind, object), keyval_out::<F>(keyval), value, own.extra_state))
    }
}

/// MPI_Comm_create_keyval and its like.
///
/// # Safety
/// The functions are null or such functions; `keyval` is null or a place for an int.
pub unsafe fn create_keyval<F: Face>(
    kind: Kind, copy: Function, delete: Function, keyval: Ptr, extra_state: Ptr,
) -> c_int {
    let state: Ptr = Box::into_raw(Box::new(Keyval { kind, copy, delete, extra_state })).cast();
    let copy = if copy.is_null() { copy } else { call_copy::<F> as *const () as Ptr };
    let delete = if delete.is_null() { delete } else { call_delete::<F> as *const () as Ptr };
    let create = match kind {
        Kind::Datatype => core().type_create_keyval,
        Kind::Win => core().win_create_keyval,
        _ => core().comm_create_keyval,
    };
    // SAFETY: the caller's.
    unsafe { create(copy, delete, keyval, state) }
}

// -- Generalized requests

type QueryFunction = unsafe extern "C" fn(Ptr, Ptr) -> c_int;
type FreeFunction = unsafe extern "C" fn(Ptr) -> c_int;
type CancelFunction = unsafe extern "C" fn(Ptr, c_int) -> c_int;

/// The functions of a generalized request; the free function, which is the last to be called, ends it.
struct Generalized {
    query: Function,
    free: Function,
    cancel: Function,
    extra_state: Ptr,
}

unsafe extern "C" fn call_query<F: Face>(state: Ptr, status: *mut status::Standard) -> c_int {
    // SAFETY: the state is a `Generalized` with such a function; the core gives a status of its own.
    unsafe {
        let own = &*state.cast::<Generalized>();
        let mut given = std::mem::MaybeUninit::<F::Status>::zeroed().assume_init();
        F::status_out(&*status, &mut given);
        let query = transmute::<Ptr, QueryFunction>(own.query);
        let code = query(own.extra_state, (&raw mut given).cast());
        let error = code_in::<F>(*F::status_error(&mut given));
        *status = status::Standard { error, ..F::status_in(&given) };
        code_in::<F>(code)
    }
}

unsafe extern "C" fn call_free<F: Face>(state: Ptr) -> c_int {
    // SAFETY: as above; MPI calls the function once.
    unsafe {
        let own = Box::from_raw(state.cast::<Generalized>());
        code_in::<F>(transmute::<Ptr, FreeFunction>(own.free)(own.extra_state))
    }
}

unsafe extern "C" fn call_cancel<F: Face>(state: Ptr, complete: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let own = &*state.cast::<Generalized>();
        code_in::<F>(transmute::<Ptr, CancelFunction>(own.cancel)(own.extra_state, complete))
    }
}

/// MPI_Grequest_start, to a standard handle.
///
/// # Safety
/// The functions are null or such functions; `request` is null or a place for a handle.
pub unsafe fn start_grequest<F: Face>(
    query: Function, free: Function, cancel: Function, extra_state: Ptr, request: *mut Handle,
) -> c_int {
    if query.is_null() || free.is_null() || cancel.is_null() || request.is_null() {
        // SAFETY: the core refuses null.
        return unsafe { (core().grequest_start)(query, free, cancel, extra_state, request.cast()) };
    }
    let state = Box::into_raw(Box::new(Generalized { query, free, cancel, extra_state }));
    let (query, free) = (call_query::<F> as *const () as Ptr, call_free::<F> as *const () as Ptr);
    // SAFETY: the caller's.
    let code = unsafe {
        (core().grequest_start)(query, free, call_cancel::<F> as *const () as Ptr, state.cast(), request.cast())
    };
    if code != 0 {
        // SAFETY: the core has not taken it.
        drop(unsafe { Box::from_raw(state) });
    }
    code
}

// -- Data representations

type ExtentFunction<F> = unsafe extern "C" fn(<F as Face>::Handle, *mut i64, Ptr) -> c_int;
type IntConversion<F> = unsafe extern "C" fn(Ptr, <F as Face>::Handle, c_int, Ptr, i64, Ptr) -> c_int;
type LargeConversion<F> = unsafe extern "C" fn(Ptr, <F as Face>::Handle, i64, Ptr, i64, Ptr) -> c_int;

/// A data representation; it cannot be unregistered.
struct Representation {
    read: Function,
    write: Function,
    extent: Function,
    extra_state: Ptr,
}

impl Representation {
    fn conversion(&self, writes: bool) -> Function {
        if writes { self.write } else { self.read }
    }
}

unsafe extern "C" fn call_extent<F: Face>(datatype: Handle, extent: *mut i64, state: Ptr) -> c_int {
    // SAFETY: the state is a `Representation` with such a function.
    unsafe {
        let own = &*state.cast::<Representation>();
        let function = transmute::<Ptr, ExtentFunction<F>>(own.extent);
        code_in::<F>(function(F::handle_out(Kind::Datatype, datatype), extent, own.extra_state))
    }
}

unsafe extern "C" fn call_int_conversion<F: Face, const WRITES: bool>(
    user: Ptr, datatype: Handle, count: c_int, file: Ptr, position: i64, state: Ptr,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let own = &*state.cast::<Representation>();
        let function = transmute::<Ptr, IntConversion<F>>(own.conversion(WRITES));
        let datatype = F::handle_out(Kind::Datatype, datatype);
        code_in::<F>(function(user, datatype, count, file, position, own.extra_state))
    }
}

unsafe extern "C" fn call_large_conversion<F: Face, const WRITES: bool>(
    user: Ptr, datatype: Handle, count: i64, file: Ptr, position: i64, state: Ptr,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let own = &*state.cast::<Representation>();
        let function = transmute::<Ptr, LargeConversion<F>>(own.conversion(WRITES));
        let datatype = F::handle_out(Kind::Datatype, datatype);
        code_in::<F>(function(user, datatype, count, file, position, own.extra_state))
    }
}

/// MPI_Register_datarep and MPI_Register_datarep_c. MPI_CONVERSION_FN_NULL is null in all interfaces.
///
/// # Safety
/// `name` is null or a string; the functions are null or such functions.
pub unsafe fn register_datarep<F: Face>(
    name: Ptr, read: Function, write: Function, extent: Function, extra_state: Ptr, large: bool,
) -> c_int {
    let state: Ptr = Box::into_raw(Box::new(Representation { read, write, extent, extra_state })).cast();
    let or_null = |given: Function, call: *const ()| if given.is_null() { given } else { call as Ptr };
    let extent = or_null(extent, call_extent::<F> as *const ());
    // SAFETY: the caller's.
    unsafe {
        if large {
            let read = or_null(read, call_large_conversion::<F, false> as *const ());
            let write = or_null(write, call_large_conversion::<F, true> as *const ());
            (core().register_datarep_c)(name, read, write, extent, state)
        } else {
            let read = or_null(read, call_int_conversion::<F, false> as *const ());
            let write = or_null(write, call_int_conversion::<F, true> as *const ());
            (core().register_datarep)(name, read, write, extent, state)
        }
    }
}
