//! What MPI-3.0 removed, for programs that still call it through `mpif.h`: INTEGER in place of addresses.

use super::error::{Fault, Scope, refuse};
use super::handles::Handles;
use super::{P, get, length, put, set_ierror};
use crate::face::{self, sentinel};
use std::ffi::c_int;

/// MPI_Address: what an INTEGER holds of it; differences of near addresses are right.
pub unsafe extern "C" fn address(location: P, address: P, ierror: P) {
    let mut found = 0i64;
    // SAFETY: as for every argument.
    unsafe {
        let code = crate::c::PMPI_Get_address(sentinel::buffer(location), (&raw mut found).cast());
        give_number(code, address, found as c_int, ierror);
    }
}

/// Gives a result unless the call failed.
unsafe fn give_number(code: c_int, at: P, number: c_int, ierror: P) {
    // SAFETY: as above.
    unsafe {
        if code == 0 {
            put(at, number);
        }
        set_ierror(ierror, code);
    }
}

/// Gives what `choose` makes of the lower bound and the extent of a datatype.
unsafe fn bound(datatype: P, result: P, ierror: P, choose: impl Fn(i64, i64) -> i64) {
    let (mut lb, mut extent) = (0i64, 0i64);
    // SAFETY: as above.
    unsafe {
        let datatype = face::datatype_in(get(datatype));
        let code = crate::c::PMPI_Type_get_extent(datatype, (&raw mut lb).cast(), (&raw mut extent).cast());
        give_number(code, result, choose(lb, extent) as c_int, ierror);
    }
}

/// MPI_Type_extent
pub unsafe extern "C" fn type_extent(datatype: P, extent: P, ierror: P) {
    // SAFETY: as above.
    unsafe { bound(datatype, extent, ierror, |_, extent| extent) }
}

/// MPI_Type_lb
pub unsafe extern "C" fn type_lb(datatype: P, lb: P, ierror: P) {
    // SAFETY: as above.
    unsafe { bound(datatype, lb, ierror, |lb, _| lb) }
}

/// MPI_Type_ub
pub unsafe extern "C" fn type_ub(datatype: P, ub: P, ierror: P) {
    // SAFETY: as above.
    unsafe { bound(datatype, ub, ierror, |lb, extent| lb + extent) }
}

/// MPI_Type_hvector
pub unsafe extern "C" fn type_hvector(count: P, blocklength: P, stride: P, old: P, new: P, ierror: P) {
    let mut made = face::UNSET;
    // SAFETY: as above.
    unsafe {
        let stride = get::<c_int>(stride) as i64;
        let old = face::datatype_in(get(old));
        let made_at = (&raw mut made).cast();
        let code = crate::c::PMPI_Type_create_hvector(get(count), get(blocklength), stride, old, made_at);
        give(code, new, made, ierror);
    }
}

unsafe fn give(code: c_int, new: P, made: face::Handle, ierror: P) {
    // SAFETY: as above.
    unsafe {
        if made != face::UNSET {
            put(new, face::datatype_out(made));
        }
        set_ierror(ierror, code);
    }
}

/// INTEGER displacements as addresses.
///
/// Errors: there is no memory for them.
unsafe fn wide(displacements: P, count: P) -> Result<Vec<i64>, Fault> {
    const NO_MEMORY: &str = "has so many elements that there is no memory to convert them";
    // SAFETY: as above.
    let all = unsafe { (0..length(get::<c_int>(count))).map(|i| *displacements.cast::<c_int>().add(i) as i64) };
    tern_memory::collect(all).map_err(|lack| Fault { class: face::ERR_NO_MEM, why: NO_MEMORY, bytes: lack.bytes })
}

/// MPI_Type_hindexed
pub unsafe extern "C" fn type_hindexed(count: P, lengths: P, displacements: P, old: P, new: P, ierror: P) {
    let mut made = face::UNSET;
    // SAFETY: as above.
    unsafe {
        let mut wide = match wide(displacements, count) {
            Ok(wide) => wide,
            Err(fault) => return refuse("MPI_TYPE_HINDEXED", "array_of_displacements", fault, Scope::None, ierror),
        };
        let (wide, old) = (wide.as_mut_ptr().cast(), face::datatype_in(get(old)));
        let code = crate::c::PMPI_Type_create_hindexed(get(count), lengths, wide, old, (&raw mut made).cast());
        give(code, new, made, ierror);
    }
}

/// MPI_Type_struct
pub unsafe extern "C" fn type_struct(count: P, lengths: P, displacements: P, types: P, new: P, ierror: P) {
    let mut made = face::UNSET;
    // SAFETY: as above.
    unsafe {
        let mut wide = match wide(displacements, count) {
            Ok(wide) => wide,
            Err(fault) => return refuse("MPI_TYPE_STRUCT", "array_of_displacements", fault, Scope::None, ierror),
        };
        let mut types = Handles::read(types, wide.len(), face::datatype_in);
        if let Some(fault) = types.fault() {
            return refuse("MPI_TYPE_STRUCT", "array_of_types", fault, Scope::None, ierror);
        }
        let (wide, types) = (wide.as_mut_ptr().cast(), types.address());
        let code = crate::c::PMPI_Type_create_struct(get(count), lengths, wide, types, (&raw mut made).cast());
        give(code, new, made, ierror);
    }
}

/// MPI_Errhandler_create
pub unsafe extern "C" fn errhandler_create(function: P, errhandler: P, ierror: P) {
    let mut made = face::UNSET;
    // SAFETY: as above.
    unsafe {
        let code = crate::c::PMPI_Comm_create_errhandler(face::comm_error_function(function), (&raw mut made).cast());
        if made != face::UNSET {
            put(errhandler, face::errhandler_out(made));
        }
        set_ierror(ierror, code);
    }
}

/// MPI_Errhandler_get
pub unsafe extern "C" fn errhandler_get(comm: P, errhandler: P, ierror: P) {
    let mut found = face::UNSET;
    // SAFETY: as above.
    unsafe {
        let code = crate::c::PMPI_Comm_get_errhandler(face::comm_in(get(comm)), (&raw mut found).cast());
        if found != face::UNSET {
            put(errhandler, face::errhandler_out(found));
        }
        set_ierror(ierror, code);
    }
}

/// MPI_Errhandler_set
pub unsafe extern "C" fn errhandler_set(comm: P, errhandler: P, ierror: P) {
    // SAFETY: as above.
    unsafe {
        let errhandler = face::errhandler_in(get(errhandler));
        set_ierror(ierror, crate::c::PMPI_Comm_set_errhandler(face::comm_in(get(comm)), errhandler));
    }
}
