//! Callbacks of the program: Fortran procedures that C functions call.
//!
//! Those that have extra state get a record of the procedures as theirs. Reductions and error handlers have none;
//! `user_function` and its like, in the face of each library, tell what C gets for them.

use super::{P, attribute, get, logical, put};
use crate::face::{self, Handle};
use std::ffi::c_int;

// ---- Attributes -------------------------------------------------------------------------------------------------

/// The extra state of a key that Fortran has made.
struct Key {
    copy: P,
    delete: P,
    /// The program's own extra state.
    state: isize,
    /// Values are INTEGER, as MPI_Keyval_create has them.
    narrow: bool,
}

/// The extra state for C. It is never freed: attributes outlive their key's name, and keys are few.
pub fn key(copy: P, delete: P, state: isize, narrow: bool) -> P {
    Box::into_raw(Box::new(Key { copy, delete, state, narrow })).cast()
}

type Copy = unsafe extern "C" fn(P, P, P, P, P, P, P);
type Delete = unsafe extern "C" fn(P, P, P, P, P);

impl Key {
    unsafe fn copy(&self, object: c_int, keyval: c_int, attribute: P, result: P, flag: *mut c_int) -> c_int {
        let (mut object, mut keyval, mut state, mut code) = (object, keyval, self.state, 0 as c_int);
        let ((mut value, in_cell), mut copied, mut flagged) = (attribute::value(attribute), 0isize, logical::of(0));
        // SAFETY: the program gave the procedure for this.
        unsafe {
            let copy = std::mem::transmute::<P, Copy>(self.copy);
            copy(
                (&raw mut object).cast(),
                (&raw mut keyval).cast(),
                (&raw mut state).cast(),
                (&raw mut value).cast(),
                (&raw mut copied).cast(),
                (&raw mut flagged).cast(),
                (&raw mut code).cast(),
            );
            *flag = logical::get((&raw mut flagged).cast());
            if code == 0 && *flag != 0 {
                let copied = if self.narrow { copied as c_int as isize } else { copied };
                // What C has set stays what it is.
                let same = !in_cell && copied == value;
                put(result, if same { attribute } else { attribute::cell(copied) });
            }
        }
        code
    }

    unsafe fn delete(&self, object: c_int, keyval: c_int, attribute: P) -> c_int {
        let (mut object, mut keyval, mut state, mut code) = (object, keyval, self.state, 0 as c_int);
        let (mut value, _) = attribute::value(attribute);
        // SAFETY: as above.
        unsafe {
            let delete = std::mem::transmute::<P, Delete>(self.delete);
            delete(
                (&raw mut object).cast(),
                (&raw mut keyval).cast(),
                (&raw mut value).cast(),
                (&raw mut state).cast(),
                (&raw mut code).cast(),
            );
        }
        if code == 0 {
            attribute::forget(attribute);
        }
        code
    }
}

macro_rules! attributes {
    ($($copy:ident $delete:ident $out:ident)*) => { $(
        pub unsafe extern "C" fn $copy(
            object: Handle, keyval: c_int, state: P, attribute: P, result: P, flag: *mut c_int,
        ) -> c_int {
            // SAFETY: `key` made the state.
            unsafe { (*state.cast::<Key>()).copy(face::$out(object), keyval, attribute, result, flag) }
        }
        pub unsafe extern "C" fn $delete(object: Handle, keyval: c_int, attribute: P, state: P) -> c_int {
            // SAFETY: as above.
            unsafe { (*state.cast::<Key>()).delete(face::$out(object), keyval, attribute) }
        }
    )* };
}
attributes! {
    comm_copy comm_delete comm_out
    type_copy type_delete datatype_out
    win_copy win_delete win_out
}

/// MPI_X_NULL_COPY_FN, MPI_X_DUP_FN and MPI_X_NULL_DELETE_FN: procedures that a program may also call.
macro_rules! predefined {
    ($($null:ident $dup:ident $delete:ident $value:ty)*) => { $(
        pub unsafe extern "C" fn $null(_: P, _: P, _: P, _: P, _: P, flag: P, ierror: P) {
            // SAFETY: the caller has room for the results.
            unsafe {
                logical::set(flag, 0);
                super::set_ierror(ierror, 0);
            }
        }
        pub unsafe extern "C" fn $dup(_: P, _: P, _: P, value: P, result: P, flag: P, ierror: P) {
            // SAFETY: as above.
            unsafe {
                put(result, get::<$value>(value));
                logical::set(flag, 1);
                super::set_ierror(ierror, 0);
            }
        }
        pub unsafe extern "C" fn $delete(_: P, _: P, _: P, _: P, ierror: P) {
            // SAFETY: as above.
            unsafe { super::set_ierror(ierror, 0) }
        }
    )* };
}
predefined! {
    comm_null_copy_fn comm_dup_fn comm_null_delete_fn isize
    type_null_copy_fn type_dup_fn type_null_delete_fn isize
    win_null_copy_fn win_dup_fn win_null_delete_fn isize
    null_copy_fn dup_fn null_delete_fn c_int
}

// ---- Generalized requests ---------------------------------------------------------------------------------------

/// The extra state of a generalized request.
pub struct Grequest {
    pub query: P,
    pub free: P,
    pub cancel: P,
    pub state: isize,
}

pub unsafe extern "C" fn grequest_query(state: P, status: P) -> c_int {
    let mut code: c_int = 0;
    // SAFETY: `custom::grequest_start` made the state.
    unsafe {
        let request = &mut *state.cast::<Grequest>();
        let query = std::mem::transmute::<P, unsafe extern "C" fn(P, P, P)>(request.query);
        query((&raw mut request.state).cast(), status, (&raw mut code).cast());
    }
    code
}

pub unsafe extern "C" fn grequest_free(state: P) -> c_int {
    let mut code: c_int = 0;
    // SAFETY: as above; this is the last call for the request.
    unsafe {
        let mut request = Box::from_raw(state.cast::<Grequest>());
        let free = std::mem::transmute::<P, unsafe extern "C" fn(P, P)>(request.free);
        free((&raw mut request.state).cast(), (&raw mut code).cast());
    }
    code
}

pub unsafe extern "C" fn grequest_cancel(state: P, complete: c_int) -> c_int {
    let (mut code, mut complete): (c_int, c_int) = (0, logical::of(complete));
    // SAFETY: as above.
    unsafe {
        let request = &mut *state.cast::<Grequest>();
        let cancel = std::mem::transmute::<P, unsafe extern "C" fn(P, P, P)>(request.cancel);
        cancel((&raw mut request.state).cast(), (&raw mut complete).cast(), (&raw mut code).cast());
    }
    code
}

// ---- Data representations ---------------------------------------------------------------------------------------

/// The extra state of a data representation, which lives as long as the process.
pub struct Datarep {
    pub read: P,
    pub write: P,
    pub extent: P,
    pub state: isize,
}

pub unsafe extern "C" fn datarep_extent(datatype: Handle, extent: P, state: P) -> c_int {
    let (mut code, mut datatype): (c_int, c_int) = (0, face::datatype_out(datatype));
    // SAFETY: `custom::register_datarep` made the state.
    unsafe {
        let datarep = &mut *state.cast::<Datarep>();
        let function = std::mem::transmute::<P, unsafe extern "C" fn(P, P, P, P)>(datarep.extent);
        let state = (&raw mut datarep.state).cast();
        function((&raw mut datatype).cast(), extent, state, (&raw mut code).cast());
    }
    code
}

type Convert = unsafe extern "C" fn(P, P, P, P, P, P, P);

macro_rules! conversions {
    ($($name:ident $way:ident $count:ty)*) => { $(
        pub unsafe extern "C" fn $name(
            userbuf: P, datatype: Handle, count: $count, filebuf: P, position: i64, state: P,
        ) -> c_int {
            let (mut code, mut datatype): (c_int, c_int) = (0, face::datatype_out(datatype));
            let (mut count, mut position) = (count, position);
            // SAFETY: as above.
            unsafe {
                let datarep = &mut *state.cast::<Datarep>();
                let convert = std::mem::transmute::<P, Convert>(datarep.$way);
                convert(
                    userbuf,
                    (&raw mut datatype).cast(),
                    (&raw mut count).cast(),
                    filebuf,
                    (&raw mut position).cast(),
                    (&raw mut datarep.state).cast(),
                    (&raw mut code).cast(),
                );
            }
            code
        }
    )* };
}
conversions! {
    datarep_read read c_int
    datarep_write write c_int
    datarep_read_c read i64
    datarep_write_c write i64
}

/// MPI_CONVERSION_FN_NULL: a name for no conversion, never called.
pub unsafe extern "C" fn conversion_fn_null() {}

/// MPI_CONVERSION_FN_NULL_C
pub unsafe extern "C" fn conversion_fn_null_c() {}
