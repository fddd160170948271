//! What the C functions of the standard ABI take: handles, constants, addresses with a meaning.

use crate::runtime::copied::RequestAround;
use crate::runtime::{P, find, get, logical};
use std::ffi::c_int;

pub mod sentinel;

/// A pointer to an incomplete struct, whose value the library chooses.
pub type Handle = usize;
pub type File = Handle;

/// No handle.
pub const UNSET: Handle = 0;

pub const FILE_UNSET: File = 0;

/// MPI_COMM_SELF
pub fn comm_self() -> Handle {
    0x102
}

/// MPI_BYTE
pub fn byte() -> Handle {
    0x247
}

pub const ERR_BUFFER: c_int = 1;
pub const ERR_NO_MEM: c_int = 39;
pub const ERR_TYPE: c_int = 3;
pub const UNDEFINED: c_int = -32766;
pub const ROOT: c_int = -4;
pub const CART: c_int = 211;
pub const GRAPH: c_int = 212;
pub const DIST_GRAPH: c_int = 213;
pub const MAX_INFO_VAL: c_int = 1024;
/// INTEGERs of a status.
pub const STATUS_SIZE: usize = 8;
pub const ARGV_NULL: P = std::ptr::null_mut();
pub const ARGVS_NULL: P = std::ptr::null_mut();

/// A handle's INTEGER is what MPI_X_toint gives: the handle itself, for as many objects as fit.
macro_rules! handles {
    ($($read:ident $give:ident)*) => { $(
        #[inline(always)]
        pub fn $read(value: c_int) -> Handle {
            value as u32 as Handle
        }
        #[inline(always)]
        pub fn $give(handle: Handle) -> c_int {
            if handle > c_int::MAX as usize {
                too_many();
            }
            handle as c_int
        }
    )* };
}
handles! {
    comm_in comm_out group_in group_out datatype_in datatype_out op_in op_out errhandler_in errhandler_out
    info_in info_out request_in request_out message_in message_out win_in win_out file_in file_out
    session_in session_out
}

#[cold]
fn too_many() -> ! {
    eprintln!(
        "tern: more than 1,048,576 objects of one kind are in use, which is more than Fortran's INTEGER handles can \
         name: free or complete some first"
    );
    std::process::abort();
}

/// Puts steps around the rounds of a request, if the C library is Tern's.
pub fn request_around() -> Option<RequestAround> {
    let core = find(c"tern_core_3").cast::<crate::core::Core>();
    // SAFETY: the symbol is such a table, whose number says what it has (`tern_table::core`).
    unsafe { core.as_ref() }.map(|core| core.request_around)
}

/// The value of a predefined attribute in Fortran (MPI 5.0 section 19.3.7), where C has a pointer to it.
pub unsafe fn predefined_attribute(keyval: c_int, attribute: P) -> Option<isize> {
    // SAFETY: C gave the attribute of this key.
    unsafe {
        match keyval {
            // MPI_TAG_UB and the others of MPI_COMM_WORLD; MPI_WIN_DISP_UNIT, _CREATE_FLAVOR and _MODEL.
            501..=508 | 602 | 604 | 605 => Some(get::<c_int>(attribute) as isize),
            // MPI_WIN_BASE is an address in both languages.
            601 => Some(attribute as isize),
            // MPI_WIN_SIZE
            603 => Some(get::<isize>(attribute)),
            _ => None,
        }
    }
}

/// The key as C has it.
pub fn keyval_in(keyval: c_int) -> c_int {
    keyval
}

/// What C calls for a procedure of the program. A handle's lower half is its INTEGER, so that C's function, which gets
/// the addresses of handles, may be Fortran's procedure itself.
macro_rules! same {
    ($($name:ident)*) => { $(
        pub fn $name(procedure: P) -> P {
            procedure
        }
    )* };
}
same!(user_function comm_error_function win_error_function file_error_function session_error_function);

unsafe extern "C" {
    /// The address of the procedure `ternlogicals` of the program's modules, or null.
    static tern_logicals_place: P;
}

// A weak reference, because of which a linker lets a program export the procedure to this library.
std::arch::global_asm!(
    ".weak ternlogicals_",
    ".pushsection .data.rel.ro.tern_logicals,\"aw\"",
    ".balign 8",
    ".globl tern_logicals_place",
    ".hidden tern_logicals_place",
    "tern_logicals_place: .quad ternlogicals_",
    ".popsection",
);

/// At load: the addresses and values that the program's own modules know.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    sentinel::learn();
    // SAFETY: the loader has set it.
    let logicals = unsafe { std::ptr::read_volatile(&raw const tern_logicals_place) };
    let (mut yes, mut no): (c_int, c_int) = (1, 0);
    if !logicals.is_null() {
        // SAFETY: it is a procedure of the modules' source, which sets two LOGICALs.
        unsafe {
            let call = std::mem::transmute::<P, unsafe extern "C" fn(P, P)>(logicals);
            call((&raw mut yes).cast(), (&raw mut no).cast());
        }
        logical::learn(yes, no);
    }
    let (mut known, mut room) = (0 as c_int, [0u64; 4]);
    let (first, second) = ((&raw mut room).cast::<std::ffi::c_void>(), (&raw mut room[2]).cast());
    // SAFETY: results lie here; the functions may be called at any time.
    unsafe {
        if crate::c::PMPI_Abi_get_fortran_booleans(4, first, second, (&raw mut known).cast()) == 0 && known == 0 {
            crate::c::PMPI_Abi_set_fortran_booleans(4, (&raw mut yes).cast(), (&raw mut no).cast());
        }
    }
}
