//! Functions for which no rule by kinds of parameters does. Each returns a standard error code.

use crate::core;
use crate::scratch::{Handles, Scratch};
use crate::types::{Face, Handle, Kind, Ptr};
use crate::values::*;
use std::ffi::{CStr, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};
use tern_memory::Lack;

/// MPI_T_ERR_MEMORY
pub const T_ERR_MEMORY: c_int = 1005;

/// A call cannot be converted for want of memory: raises MPI_ERR_NO_MEM on `comm`, or where that is 0 as for calls without one.
#[cold]
pub fn no_memory(comm: Handle, function: &'static CStr, lack: Lack) -> c_int {
    // SAFETY: a name, for ever.
    unsafe { crate::refuse(comm, function.as_ptr(), lack.bytes) }
}

/// MPI_Abi_get_version: -1, since this is not the standard ABI (MPI 5.0 section 20.2).
///
/// # Safety
/// Both are null or places for ints.
pub unsafe fn abi_get_version(abi_major: Ptr, abi_minor: Ptr) -> c_int {
    // SAFETY: the caller's; the core refuses null.
    unsafe {
        let code = (core().abi_get_version)(abi_major, abi_minor);
        if code == 0 {
            *abi_major.cast::<c_int>() = -1;
            *abi_minor.cast::<c_int>() = -1;
        }
        code
    }
}

/// MPI_Get_version: that of the interface, by which programs tell which names it has.
///
/// # Safety
/// Both are null or places for ints.
pub unsafe fn get_version<F: Values>(version: Ptr, subversion: Ptr) -> c_int {
    // SAFETY: the caller's; the core refuses null.
    unsafe {
        let code = (core().get_version)(version, subversion);
        if code == 0 {
            *version.cast::<c_int>() = F::VERSION;
            *subversion.cast::<c_int>() = F::SUBVERSION;
        }
        code
    }
}

/// MPI_Abi_get_fortran_info: MPI_INFO_NULL, since what the core knows is of the standard ABI's Fortran.
///
/// # Safety
/// `info` is null or a place for a standard handle.
pub unsafe fn abi_get_fortran_info(info: Ptr) -> c_int {
    const STANDARD_INFO_NULL: usize = 0x130;
    // SAFETY: the caller's; the core refuses null.
    unsafe {
        let code = (core().abi_get_fortran_info)(info);
        if code == 0 {
            (core().info_free)(info);
            *info.cast::<usize>() = STANDARD_INFO_NULL;
        }
        code
    }
}

// -- Attributes

/// Predefined attributes whose value is a constant, at the address that the program gets.
static HELD: [AtomicI32; 5] = [const { AtomicI32::new(0) }; 5];

/// The keys of the standard ABI for them.
const IO: c_int = 502;
const HOST: c_int = 503;
const LASTUSEDCODE: c_int = 506;
const WIN_CREATE_FLAVOR: c_int = 604;
const WIN_MODEL: c_int = 605;

/// Standard last code that is predefined.
const STANDARD_LASTCODE: c_int = 0x3fff;

/// Converts the value of a predefined attribute that is a constant: the program gets the address of the converted one.
///
/// # Safety
/// `value` is where MPI_Comm_get_attr and its like have put the address, of an int for these keys; `flag` its result.
pub unsafe fn convert_attribute<F: Values>(keyval: c_int, value: Ptr, flag: Ptr) {
    let convert: (usize, fn(c_int) -> c_int) = match keyval {
        IO => (0, rank_out::<F>),
        HOST => (1, rank_out::<F>),
        LASTUSEDCODE => (2, |code| if code == STANDARD_LASTCODE { F::ERR_LASTCODE } else { code_out::<F>(code) }),
        WIN_CREATE_FLAVOR => (3, flavor_out::<F>),
        WIN_MODEL => (4, model_out::<F>),
        _ => return,
    };
    // SAFETY: the caller's.
    unsafe {
        if *flag.cast::<c_int>() != 0 {
            let place = value.cast::<*mut c_int>();
            let held = &HELD[convert.0];
            // Relaxed: a number for whoever asks.
            held.store(convert.1(**place), Ordering::Relaxed);
            *place = held.as_ptr();
        }
    }
}

// -- Arrays of datatypes whose length is a communicator's

/// MPI_Alltoallw and its like: the types for a communicator's processes. Those of a buffer that is MPI_IN_PLACE are not
/// looked at.
///
/// # Safety
/// As MPI asks for.
pub unsafe fn peer_types<F: Face>(buffer: Ptr, types: Ptr, comm: Handle) -> Handles {
    // SAFETY: the caller's.
    unsafe {
        if types.is_null() || F::is_in_place(buffer) {
            return Handles::new::<F>(Kind::Datatype, null_mut(), 0);
        }
        Handles::new::<F>(Kind::Datatype, types, (core().peers)(comm))
    }
}

/// MPI_Neighbor_alltoallw and its like: the types to send with, and those to receive with.
///
/// # Safety
/// As MPI asks for.
pub unsafe fn neighbor_types<F: Face>(send: Ptr, receive: Ptr, comm: Handle) -> (Handles, Handles) {
    let (mut sources, mut destinations) = (0, 0);
    // SAFETY: the caller's.
    unsafe {
        (core().neighbors)(comm, &mut sources, &mut destinations);
        let types = |array, len| Handles::new::<F>(Kind::Datatype, array, len);
        (types(send, destinations), types(receive, sources))
    }
}

// -- Datatypes

/// Which of a datatype's integers are constants (MPI 5.0 section 5.1.13), converted where they lie.
///
/// # Safety
/// `integers` has as many as the datatype's envelope says.
unsafe fn convert_contents<F: Values>(combiner: c_int, integers: *mut c_int, have: i64) {
    const SUBARRAY: c_int = 111;
    const DARRAY: c_int = 112;
    // SAFETY: the caller's; the first integers tell how many there are.
    unsafe {
        let change = |at: i64, convert: fn(c_int) -> c_int| {
            if at < have {
                let place = integers.offset(at as isize);
                *place = convert(*place);
            }
        };
        match combiner {
            SUBARRAY => change(have - 1, order_out::<F>),
            DARRAY => {
                // size, rank, ndims, gsizes, distribs, dargs, psizes, order; gsizes stand elsewhere where counts are large.
                let ndims = *integers.add(2) as i64;
                let distribs = have - 1 - 3 * ndims;
                for d in 0..ndims {
                    change(distribs + d, distribution_out::<F>);
                    change(distribs + ndims + d, darg_out::<F>);
                }
                change(have - 1, order_out::<F>);
            }
            _ => {}
        }
    }
}

/// MPI_Type_get_contents.
///
/// # Safety
/// As MPI asks for.
pub unsafe fn type_get_contents<F: Face>(
    datatype: Handle, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int, integers: Ptr, addresses: Ptr,
    datatypes: Ptr,
) -> c_int {
    let mut types = Scratch::<usize, 32>::new(max_datatypes as i64);
    let place = if datatypes.is_null() { datatypes } else { types.pointer().cast() };
    let [mut have, mut rest, mut count, mut combiner] = [0 as c_int; 4];
    // SAFETY: the caller's.
    unsafe {
        let code = (core().type_get_contents)(
            datatype,
            max_integers,
            max_addresses,
            max_datatypes,
            integers,
            addresses,
            place,
        );
        if code != 0 {
            return code;
        }
        let out = |place: &mut c_int| (place as *mut c_int).cast();
        (core().type_get_envelope)(datatype, out(&mut have), out(&mut rest), out(&mut count), out(&mut combiner));
        convert_contents::<F>(combiner, integers.cast(), have as i64);
        for at in 0..count as usize {
            datatypes.cast::<F::Handle>().add(at).write(F::handle_out(Kind::Datatype, *types.get(at)));
        }
        code
    }
}

/// MPI_Type_get_contents_c.
///
/// # Safety
/// As MPI asks for.
#[allow(clippy::too_many_arguments)]
pub unsafe fn type_get_contents_c<F: Face>(
    datatype: Handle, max_integers: i64, max_addresses: i64, max_large_counts: i64, max_datatypes: i64, integers: Ptr,
    addresses: Ptr, large_counts: Ptr, datatypes: Ptr,
) -> c_int {
    let mut types = Scratch::<usize, 32>::new(max_datatypes);
    let place = if datatypes.is_null() { datatypes } else { types.pointer().cast() };
    let ([mut have, mut rest, mut large, mut count], mut combiner) = ([0_i64; 4], 0 as c_int);
    // SAFETY: the caller's.
    unsafe {
        let code = (core().type_get_contents_c)(
            datatype,
            max_integers,
            max_addresses,
            max_large_counts,
            max_datatypes,
            integers,
            addresses,
            large_counts,
            place,
        );
        if code != 0 {
            return code;
        }
        let out = |place: &mut i64| (place as *mut i64).cast();
        (core().type_get_envelope_c)(
            datatype,
            out(&mut have),
            out(&mut rest),
            out(&mut large),
            out(&mut count),
            (&raw mut combiner).cast(),
        );
        convert_contents::<F>(combiner, integers.cast(), have);
        for at in 0..count as usize {
            datatypes.cast::<F::Handle>().add(at).write(F::handle_out(Kind::Datatype, *types.get(at)));
        }
        code
    }
}

// -- Processes

/// MPI_Comm_spawn.
///
/// # Safety
/// As MPI asks for.
#[allow(clippy::too_many_arguments)]
pub unsafe fn comm_spawn<F: Face>(
    command: Ptr, argv: Ptr, maxprocs: c_int, info: F::Handle, root: c_int, comm: Handle, intercomm: Ptr, codes: Ptr,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let info = F::loose_in(Kind::Info, info);
        let code = (core().comm_spawn)(command, argv, maxprocs, info, root, comm, intercomm, codes);
        crate::scratch::convert_ints(codes, (core().spawn_codes)(), code_out::<F>);
        code
    }
}

/// MPI_Comm_spawn_multiple, whose arrays are significant at the root only.
///
/// # Safety
/// As MPI asks for.
#[allow(clippy::too_many_arguments)]
pub unsafe fn comm_spawn_multiple<F: Face>(
    count: c_int, commands: Ptr, argvs: Ptr, maxprocs: Ptr, infos: Ptr, root: c_int, comm: Handle, intercomm: Ptr,
    codes: Ptr,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let at_root = (core().own_rank)(comm) == root;
        let given = if at_root { infos } else { null_mut() };
        let mut own = Handles::new::<F>(Kind::Info, given, count as i64);
        if let Err(lack) = own.has_room() {
            return no_memory(comm, c"MPI_Comm_spawn_multiple", lack);
        }
        let code = (core().comm_spawn_multiple)(
            count,
            commands,
            argvs,
            maxprocs,
            own.place(given),
            root,
            comm,
            intercomm,
            codes,
        );
        crate::scratch::convert_ints(codes, (core().spawn_codes)(), code_out::<F>);
        code
    }
}

// -- Tool interface

/// The datatypes of MPI_T_event_get_info, an array that may be null.
///
/// # Safety
/// `types` is null or has `count` handles.
pub unsafe fn give_types<F: Face>(own: &Scratch<usize, 32>, types: Ptr, count: Ptr) {
    if types.is_null() || count.is_null() {
        return;
    }
    // SAFETY: the caller's; the core has set so many.
    unsafe {
        let count = (*count.cast::<c_int>()).max(0) as usize;
        for at in 0..count.min(own.len()) {
            types.cast::<F::Handle>().add(at).write(F::handle_out(Kind::Datatype, *own.get(at)));
        }
    }
}
