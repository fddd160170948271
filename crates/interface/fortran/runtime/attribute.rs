//! Attributes seen from both languages (MPI 5.0 section 19.3.7).
//!
//! In C an attribute is a pointer, in Fortran an integer. A value that Fortran sets lies in a cell of its own, and
//! the attribute is the cell's address: that is what C sees. Fortran gets the value of a cell, and the address itself
//! of what C has set.

use super::{P, UNSET, get, null, put, set_ierror};
use crate::face;
use std::collections::HashSet;
use std::ffi::c_int;
use std::sync::Mutex;

/// The cells there are.
static CELLS: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

fn with_cells<R>(f: impl FnOnce(&mut HashSet<usize>) -> R) -> R {
    f(CELLS.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert_default())
}

/// A new cell with `value`.
pub fn cell(value: isize) -> P {
    let address = Box::into_raw(Box::new(value));
    with_cells(|cells| cells.insert(address as usize));
    address.cast()
}

/// The value that Fortran sees, and whether it lies in a cell.
pub fn value(attribute: P) -> (isize, bool) {
    match with_cells(|cells| cells.contains(&(attribute as usize))) {
        // SAFETY: it is a cell.
        true => (unsafe { get(attribute) }, true),
        false => (attribute as isize, false),
    }
}

/// Frees the cell of a deleted attribute, if it has one.
pub fn forget(attribute: P) {
    if with_cells(|cells| cells.remove(&(attribute as usize))) {
        // SAFETY: `cell` made it, and nobody names it any more.
        drop(unsafe { Box::from_raw(attribute.cast::<isize>()) });
    }
}

/// MPI_X_set_attr: `narrow` for the INTEGER of MPI_Attr_put, else INTEGER(KIND=MPI_ADDRESS_KIND).
pub unsafe fn set(call: impl FnOnce(P) -> c_int, given: P, narrow: bool, ierror: P) {
    // SAFETY: the program gives the value.
    unsafe {
        let cell = cell(if narrow { get::<c_int>(given) as isize } else { get(given) });
        let code = call(cell);
        if code != 0 {
            forget(cell);
        }
        set_ierror(ierror, code);
    }
}

/// MPI_X_get_attr.
pub unsafe fn get_attr(call: impl FnOnce(P, P) -> c_int, keyval: P, result: P, narrow: bool, flag: P, ierror: P) {
    let (mut attribute, mut found): (P, c_int) = (null(), UNSET);
    let code = call((&raw mut attribute).cast(), (&raw mut found).cast());
    // SAFETY: the program has room for the results.
    unsafe {
        super::logical::give(flag, found);
        if code == 0 && found > 0 {
            let value = face::predefined_attribute(get(keyval), attribute).unwrap_or_else(|| value(attribute).0);
            if narrow { put(result, value as c_int) } else { put(result, value) }
        }
        set_ierror(ierror, code);
    }
}
