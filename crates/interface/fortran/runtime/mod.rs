//! What the external procedures share, for any binary interface: `face` tells what the C functions take.
//!
//! Each library takes these files as a module of its own (`#[path]`). A crate with a trait in place of `face` would have to be generic in the type of
//! handles, in every C function that is declared, and in statics and exported procedures, which Rust does not let be generic.
//!
//! Every argument of a Fortran procedure is an address. The program vouches for them as MPI asks; that is the reason
//! for the `unsafe` blocks here and in the generated bodies.

use crate::face::{self, Handle};
use std::ffi::{c_int, c_void};

pub mod attribute;
pub mod callback;
pub mod copied;
pub mod custom;
pub mod error;
pub mod handles;
pub mod logical;
pub mod probe;
pub mod removed;
pub mod section;
pub mod spawn;
pub mod text;

/// Exports a body under several names.
macro_rules! names {
    ($body:path: $($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!("jmp {}", sym $body);
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!("b {}", sym $body);
            #[cfg(target_arch = "riscv64")]
            std::arch::naked_asm!("tail {}", sym $body);
        }
    )* };
}
pub(crate) use names;

#[global_allocator]
static MEMORY: tern_memory::Checked = tern_memory::Checked::ending(lack);

/// The core ends the job, if the C library is Tern's; else this library ends the process.
fn lack(bytes: usize) -> ! {
    let end = find(c"tern_out_of_memory");
    if end.is_null() {
        tern_memory::end(bytes);
    }
    // SAFETY: the core's function of that name.
    unsafe { std::mem::transmute::<P, extern "C" fn(usize) -> !>(end)(bytes) }
}

/// The address that a name has for the program.
pub fn find(name: &std::ffi::CStr) -> P {
    // SAFETY: a text that ends with a null.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Tells C where Fortran's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE lie (MPI 5.0 section 19.3.5). The variables are
/// those of a library that is `ours`, or the program's copies of them, but not those of another MPI library.
pub fn tell_ignored(one: P, many: P, ours: impl Fn(&str) -> bool) {
    let variables = [
        (c"MPI_F_STATUS_IGNORE", one),
        (c"MPI_F08_STATUS_IGNORE", one),
        (c"MPI_F_STATUSES_IGNORE", many),
        (c"MPI_F08_STATUSES_IGNORE", many),
    ];
    for (name, address) in variables {
        let variable = find(name);
        let library = object_of(variable).unwrap_or_default();
        if !variable.is_null() && (ours(&library) || !library.starts_with("libmpi")) {
            // SAFETY: a pointer that is there to be set at load.
            unsafe { put(variable, address) }
        }
    }
}

/// The file name of the program or library that an address is in.
fn object_of(address: P) -> Option<String> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the call writes into `info`, and names end with a null.
    let path = unsafe {
        if libc::dladdr(address, info.as_mut_ptr()) == 0 || info.assume_init_ref().dli_fname.is_null() {
            return None;
        }
        std::ffi::CStr::from_ptr(info.assume_init_ref().dli_fname)
    };
    path.to_str().ok()?.rsplit('/').next().map(String::from)
}

/// True for MPI_CONVERSION_FN_NULL, by the address that the program knows it by.
pub fn is_conversion_null(function: P) -> bool {
    const NAMES: [&std::ffi::CStr; 4] = [
        c"mpi_conversion_fn_null_",
        c"mpi_conversion_fn_null",
        c"mpi_conversion_fn_null_c_",
        c"mpi_conversion_fn_null__",
    ];
    NAMES.iter().any(|name| find(name) == function)
}

/// An address that the program gives.
pub type P = *mut c_void;

pub const fn null() -> P {
    std::ptr::null_mut()
}

/// The value at an address.
#[inline(always)]
pub unsafe fn get<T: Copy>(at: P) -> T {
    // SAFETY: the program vouches for it.
    unsafe { *at.cast::<T>() }
}

#[inline(always)]
pub unsafe fn put<T>(at: P, value: T) {
    // SAFETY: the program vouches for it.
    unsafe { *at.cast::<T>() = value }
}

/// `ierror` is optional in mpi_f08, where its address may be null.
#[inline(always)]
pub unsafe fn set_ierror(ierror: P, code: c_int) {
    if !ierror.is_null() {
        // SAFETY: it is there.
        unsafe { put(ierror, code) }
    }
}

/// A number of elements, none for a negative one, which the C function refuses.
pub fn length<T: TryInto<usize>>(count: T) -> usize {
    count.try_into().unwrap_or(0)
}

/// True for a count that the ordinary form of a C function takes.
pub fn is_int(count: i64) -> bool {
    c_int::try_from(count).is_ok()
}

/// A result that C has not set: no number that it gives.
pub const UNSET: c_int = c_int::MIN;

/// Gives a number that C has set.
#[inline]
pub unsafe fn give(at: P, number: c_int) {
    if number != UNSET {
        // SAFETY: the program has room for it.
        unsafe { put(at, number) }
    }
}

/// Gives an index that C has set, which counts from 1 in Fortran; MPI_UNDEFINED is negative.
#[inline]
pub unsafe fn give_index(at: P, index: c_int) {
    // SAFETY: as above.
    unsafe { give(at, if index >= 0 { index + 1 } else { index }) }
}

/// The same for the indices that C has put there, as many as `count` says; none where C has set no count.
pub unsafe fn indices_from_1(indices: P, count: c_int) {
    for i in 0..length(count) {
        // SAFETY: as above.
        unsafe {
            let at = indices.cast::<c_int>().add(i).cast();
            give_index(at, get(at));
        }
    }
}

/// How many processes a collective of `comm` sends to; none if the array is not looked at.
pub unsafe fn peers(comm: Handle, significant: bool) -> usize {
    let (mut inter, mut size): (c_int, c_int) = (0, 0);
    if !significant {
        return 0;
    }
    // SAFETY: results lie here.
    unsafe {
        if crate::c::PMPI_Comm_test_inter(comm, (&raw mut inter).cast()) != 0 {
            return 0;
        }
        match inter {
            0 => crate::c::PMPI_Comm_size(comm, (&raw mut size).cast()),
            _ => crate::c::PMPI_Comm_remote_size(comm, (&raw mut size).cast()),
        };
    }
    length(size)
}

/// How many neighbours a process of `comm` receives from, or sends to.
pub unsafe fn neighbours(comm: Handle, _significant: bool, sources: bool) -> usize {
    let (mut topology, mut n, mut other, mut rank): (c_int, c_int, c_int, c_int) = (0, 0, 0, 0);
    // SAFETY: results lie here.
    unsafe {
        crate::c::PMPI_Topo_test(comm, (&raw mut topology).cast());
        let (n, other) = ((&raw mut n).cast(), (&raw mut other).cast());
        match topology {
            face::CART => {
                crate::c::PMPI_Cartdim_get(comm, n);
                put(n, 2 * get::<c_int>(n));
            }
            face::GRAPH => {
                crate::c::PMPI_Comm_rank(comm, (&raw mut rank).cast());
                crate::c::PMPI_Graph_neighbors_count(comm, rank, n);
            }
            face::DIST_GRAPH if sources => {
                crate::c::PMPI_Dist_graph_neighbors_count(comm, n, other, (&raw mut rank).cast());
            }
            face::DIST_GRAPH => {
                crate::c::PMPI_Dist_graph_neighbors_count(comm, other, n, (&raw mut rank).cast());
            }
            _ => {}
        }
    }
    length(n)
}

/// True at the root of a collective, where its buffer counts.
pub unsafe fn is_root(comm: Handle, root: c_int) -> bool {
    let mut rank: c_int = face::UNDEFINED;
    // SAFETY: the result lies here.
    unsafe { crate::c::PMPI_Comm_rank(comm, (&raw mut rank).cast()) };
    root == rank || root == face::ROOT
}
