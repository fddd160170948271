//! Procedures that do not fit the common way. They take the C function to call, and Fortran's arguments.

use super::text::{Room, Text};
use super::{P, UNSET, attribute, callback, get, logical, null, put, set_ierror};
use crate::face::{self, Handle};
use std::ffi::c_int;

pub use super::spawn::{comm_spawn, comm_spawn_multiple};

// ---- Functions with a result; MPI_Pcontrol has none ---------------------------------------------------------------

pub unsafe fn wtime(call: unsafe extern "C" fn() -> f64) -> f64 {
    // SAFETY: it takes nothing.
    unsafe { call() }
}
pub use wtime as wtick;

pub unsafe fn aint_add(call: unsafe extern "C" fn(i64, i64) -> i64, a: P, b: P) -> i64 {
    // SAFETY: as for every argument.
    unsafe { call(get(a), get(b)) }
}
pub use aint_add as aint_diff;

pub unsafe fn pcontrol(call: unsafe extern "C" fn(c_int) -> c_int, level: P) {
    // SAFETY: as above.
    unsafe { call(get(level)) };
}

// ---- Attributes ---------------------------------------------------------------------------------------------------

type Attr = unsafe extern "C" fn(Handle, c_int, P) -> c_int;
type GetAttr = unsafe extern "C" fn(Handle, c_int, P, P) -> c_int;
type Keyval = unsafe extern "C" fn(P, P, P, P) -> c_int;

macro_rules! attributes {
    ($($set:ident $get:ident $handle:ident $narrow:literal)*) => { $(
        pub unsafe fn $set(call: Attr, object: P, keyval: P, value: P, ierror: P) {
            // SAFETY: as for every argument.
            unsafe {
                let call = |cell| call(face::$handle(get(object)), get(keyval), cell);
                attribute::set(call, value, $narrow, ierror)
            }
        }
        pub unsafe fn $get(call: GetAttr, object: P, keyval: P, value: P, flag: P, ierror: P) {
            // SAFETY: as above.
            unsafe {
                let key = face::keyval_in(get(keyval));
                let call = |value, flag| call(face::$handle(get(object)), key, value, flag);
                attribute::get_attr(call, keyval, value, $narrow, flag, ierror)
            }
        }
    )* };
}
attributes! {
    comm_set_attr comm_get_attr comm_in false
    type_set_attr type_get_attr datatype_in false
    win_set_attr win_get_attr win_in false
    attr_put attr_get comm_in true
}

macro_rules! keyvals {
    ($($name:ident $copy:ident $delete:ident $narrow:literal)*) => { $(
        pub unsafe fn $name(call: Keyval, copy: P, delete: P, keyval: P, state: P, ierror: P) {
            // SAFETY: as above.
            unsafe {
                let state = if $narrow { get::<c_int>(state) as isize } else { get(state) };
                let key = callback::key(copy, delete, state, $narrow);
                let code = call(callback::$copy as P, callback::$delete as P, keyval, key);
                set_ierror(ierror, code);
            }
        }
    )* };
}
keyvals! {
    comm_create_keyval comm_copy comm_delete false
    type_create_keyval type_copy type_delete false
    win_create_keyval win_copy win_delete false
    keyval_create comm_copy comm_delete true
}

// ---- Callbacks ----------------------------------------------------------------------------------------------------

/// MPI_Grequest_start
pub unsafe fn grequest_start(
    call: unsafe extern "C" fn(P, P, P, P, P) -> c_int, query: P, free: P, cancel: P, state: P, request: P, ierror: P,
) {
    // SAFETY: as above.
    unsafe {
        let state = Box::into_raw(Box::new(callback::Grequest { query, free, cancel, state: get(state) }));
        let mut new = face::UNSET;
        let code = call(
            callback::grequest_query as P,
            callback::grequest_free as P,
            callback::grequest_cancel as P,
            state.cast(),
            (&raw mut new).cast(),
        );
        match code {
            0 => put(request, face::request_out(new)),
            _ => drop(Box::from_raw(state)),
        }
        set_ierror(ierror, code);
    }
}

type RegisterDatarep = unsafe extern "C" fn(P, P, P, P, P) -> c_int;

macro_rules! datareps {
    ($($name:ident $read:ident $write:ident)*) => { $(
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            call: RegisterDatarep, datarep: P, read: P, write: P, extent: P, state: P, ierror: P, length: usize,
        ) {
            let c_function = |given: P, ours: P| if super::is_conversion_null(given) { null() } else { ours };
            // SAFETY: as above.
            unsafe {
                let state = Box::into_raw(Box::new(callback::Datarep { read, write, extent, state: get(state) }));
                let code = call(
                    Text::read(datarep, length).address(),
                    c_function(read, callback::$read as P),
                    c_function(write, callback::$write as P),
                    callback::datarep_extent as P,
                    state.cast(),
                );
                if code != 0 {
                    drop(Box::from_raw(state));
                }
                set_ierror(ierror, code);
            }
        }
    )* };
}
datareps! {
    register_datarep datarep_read datarep_write
    register_datarep_c datarep_read_c datarep_write_c
}

// ---- Texts whose length the program gives --------------------------------------------------------------------------

/// MPI_Info_get: `valuelen` does not count C's null.
#[allow(clippy::too_many_arguments)]
pub unsafe fn info_get(
    call: unsafe extern "C" fn(Handle, P, c_int, P, P) -> c_int, info: P, key: P, valuelen: P, value: P, flag: P,
    ierror: P, key_length: usize, value_length: usize,
) {
    let (mut room, mut found) = (Room::new(), UNSET);
    // SAFETY: as above.
    unsafe {
        let key = Text::trimmed(key, key_length);
        // More than any value has room for.
        let wanted = get::<c_int>(valuelen).min(face::MAX_INFO_VAL);
        let code = call(face::info_in(get(info)), key.address(), wanted, room.address(), (&raw mut found).cast());
        logical::give(flag, found);
        if found > 0 {
            room.give(code, value, value_length);
        }
        set_ierror(ierror, code);
    }
}

/// The length that C is asked with and the one that Fortran gets: C's counts the null, 0 only asks.
unsafe fn with_length(length: P, call: impl FnOnce(P) -> c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let asked = get::<c_int>(length);
        let mut counted = if asked > 0 { asked.min(face::MAX_INFO_VAL) + 1 } else { asked };
        let code = call((&raw mut counted).cast());
        if code == 0 && counted > 0 && counted - 1 != asked {
            put(length, counted - 1);
        }
        code
    }
}

/// MPI_Info_get_string
#[allow(clippy::too_many_arguments)]
pub unsafe fn info_get_string(
    call: unsafe extern "C" fn(Handle, P, P, P, P) -> c_int, info: P, key: P, buflen: P, value: P, flag: P, ierror: P,
    key_length: usize, value_length: usize,
) {
    let (mut room, mut found) = (Room::new(), UNSET);
    // SAFETY: as above.
    unsafe {
        let (key, asked) = (Text::trimmed(key, key_length), get::<c_int>(buflen));
        let info = face::info_in(get(info));
        let mut unchanged = asked;
        let code = with_length((&raw mut unchanged).cast(), |length| {
            call(info, key.address(), length, room.address(), (&raw mut found).cast())
        });
        logical::give(flag, found);
        if code == 0 && found > 0 {
            if unchanged != asked {
                put(buflen, unchanged);
            }
            if asked > 0 {
                room.give(code, value, value_length);
            }
        }
        set_ierror(ierror, code);
    }
}

/// MPI_Session_get_nth_pset
#[allow(clippy::too_many_arguments)]
pub unsafe fn session_get_nth_pset(
    call: unsafe extern "C" fn(Handle, Handle, c_int, P, P) -> c_int, session: P, info: P, n: P, length: P, name: P,
    ierror: P, name_length: usize,
) {
    let mut room = Room::new();
    // SAFETY: as above.
    unsafe {
        let asked = get::<c_int>(length);
        let (session, info) = (face::session_in(get(session)), face::info_in(get(info)));
        let code = with_length(length, |length| call(session, info, get(n), length, room.address()));
        if asked > 0 {
            room.give(code, name, name_length);
        }
        set_ierror(ierror, code);
    }
}

// ---- Others ---------------------------------------------------------------------------------------------------------

/// MPI_Cart_sub: as many truth values as the grid has dimensions.
pub unsafe fn cart_sub(
    call: unsafe extern "C" fn(Handle, P, P) -> c_int, comm: P, remain_dims: P, newcomm: P, ierror: P,
) {
    let (mut ndims, mut new) = (0 as c_int, face::UNSET);
    // SAFETY: as above.
    unsafe {
        let comm = face::comm_in(get(comm));
        let mut topology: c_int = face::UNDEFINED;
        // What is no grid is the C function's to refuse.
        if crate::c::PMPI_Topo_test(comm, (&raw mut topology).cast()) == 0 && topology == face::CART {
            crate::c::PMPI_Cartdim_get(comm, (&raw mut ndims).cast());
        }
        let mut remain = logical::Array::read(remain_dims, ndims);
        let code = call(comm, remain.address(), (&raw mut new).cast());
        if new != face::UNSET {
            put(newcomm, face::comm_out(new));
        }
        set_ierror(ierror, code);
    }
}

/// MPI_F_sync_reg (MPI 5.0 section 19.1.17): the compiler must think that it may change the buffer.
pub unsafe extern "C" fn f_sync_reg(_buffer: P) {}
pub use f_sync_reg as f_sync_reg_f08ts;

/// MPI_Sizeof (section 19.1.9): bytes of an element.
pub unsafe extern "C" fn sizeof(x: P, size: P, ierror: P) {
    // SAFETY: the modules give a descriptor.
    unsafe {
        put(size, (*super::section::section(x)).element as c_int);
        set_ierror(ierror, 0);
    }
}

macro_rules! sizeof {
    ($($name:ident: $bytes:literal,)*) => {$(
        /// MPI_Sizeof of a type without a counterpart in C. The descriptor may be one of the compiler's own; nothing reads it.
        pub unsafe extern "C" fn $name(_x: P, size: P, ierror: P) {
            // SAFETY: the modules give an INTEGER, and another one or null.
            unsafe {
                put(size, $bytes as c_int);
                set_ierror(ierror, 0);
            }
        }
    )*};
}

sizeof! {
    sizeof_l4: 4,
    sizeof_l8: 8,
    sizeof_r10: 16,
    sizeof_r16: 16,
    sizeof_c10: 32,
    sizeof_c16: 32,
    sizeof_i16: 16,
}

/// MPI_Status_f2f08 (section 19.3.5): both forms are the same bytes.
pub unsafe extern "C" fn status_f2f08(from: P, to: P, ierror: P) {
    // SAFETY: as above.
    unsafe {
        to.cast::<c_int>().copy_from(from.cast(), face::STATUS_SIZE);
        set_ierror(ierror, 0);
    }
}
pub use status_f2f08 as status_f082f;
