//! What MPI-3.0 removed and libraries of the old interfaces still export.

use crate::core;
use crate::scratch::Scratch;
use crate::special::no_memory;
use crate::types::{Face, Handle, Kind, Ptr};
use std::ffi::c_int;

/// The bounds that MPI_LB and MPI_UB set (MPI 2.2 section 4.1.6).
#[derive(Clone, Copy, Default)]
struct Bounds {
    lower: Option<i64>,
    upper: Option<i64>,
}

/// MPI_Type_create_struct, where entries may be MPI_LB and MPI_UB, which the core does not have: the datatype is made
/// from the others and then gets the bounds.
///
/// # Safety
/// As MPI asks for; the arrays have `count` elements.
pub unsafe fn type_create_struct<F: Face>(
    count: c_int, lengths: Ptr, displacements: Ptr, types: Ptr, newtype: *mut Handle,
) -> c_int {
    let n = usize::try_from(count).unwrap_or(0);
    let mut all = Scratch::<usize, 32>::new(if types.is_null() { 0 } else { n as i64 });
    if let Err(lack) = all.has_room() {
        return no_memory(0, c"MPI_Type_create_struct", lack);
    }
    let mut bounds = Bounds::default();
    let mut kept: Option<(Vec<c_int>, Vec<i64>, Vec<usize>)> = None;
    // SAFETY: the caller's.
    unsafe {
        if !types.is_null() && !lengths.is_null() && !displacements.is_null() {
            let handle = |at: usize| types.cast::<F::Handle>().add(at).read();
            let has_bounds = (0..n).any(|at| F::bound(handle(at)).is_some());
            if has_bounds {
                kept = Some(Default::default());
            }
            for at in 0..n {
                let (length, displacement) = (*lengths.cast::<c_int>().add(at), *displacements.cast::<i64>().add(at));
                match F::bound(handle(at)) {
                    Some(true) => bounds.upper = Some(bounds.upper.map_or(displacement, |u| u.max(displacement))),
                    Some(false) => bounds.lower = Some(bounds.lower.map_or(displacement, |l| l.min(displacement))),
                    None => {
                        let own = F::handle_in(Kind::Datatype, handle(at));
                        match &mut kept {
                            Some((a, b, c)) => {
                                a.push(length);
                                b.push(displacement);
                                c.push(own);
                            }
                            None => all.set(at, own),
                        }
                    }
                }
            }
        }
        let Some((mut lengths, mut displacements, mut types)) = kept else {
            let place = if types.is_null() { types } else { all.pointer().cast() };
            return (core().type_create_struct)(count, lengths, displacements, place, newtype.cast());
        };
        let mut made: Handle = 0;
        let code = (core().type_create_struct)(
            types.len() as c_int,
            lengths.as_mut_ptr().cast(),
            displacements.as_mut_ptr().cast(),
            types.as_mut_ptr().cast(),
            (&raw mut made).cast(),
        );
        if code != 0 || newtype.is_null() {
            return code;
        }
        let (mut lower, mut extent) = (0_i64, 0_i64);
        (core().type_get_extent)(made, (&raw mut lower).cast(), (&raw mut extent).cast());
        let upper = bounds.upper.unwrap_or(lower + extent);
        let lower = bounds.lower.unwrap_or(lower);
        let code = (core().type_create_resized)(made, lower, upper - lower, newtype.cast());
        (core().type_free)((&raw mut made).cast());
        code
    }
}
