//! The types of the message queue interface that TotalView has defined and other debuggers use (`mpi_interface.h`, compatibility 2),
//! as far as this library calls what they name.

use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};

/// An address in the process.
pub type Address = c_ulong;
/// A number that is as long as an address.
pub type Word = c_long;

/// What most functions return; a text for each comes from `mqs_dll_error_string`.
pub const OK: c_int = 0;
pub const NO_INFORMATION: c_int = 1;
pub const END_OF_LIST: c_int = 2;
/// Errors of this library.
pub const NO_QUEUES: c_int = 100;
pub const UNREADABLE: c_int = 101;
pub const NO_COMMUNICATOR: c_int = 102;

/// Version of the interface.
pub const COMPATIBILITY: c_int = 2;

/// Queues that a debugger may ask for (`mqs_op_class`).
pub const PENDING_RECEIVES: c_int = 1;
pub const UNEXPECTED_MESSAGES: c_int = 2;

/// States of an operation (`mqs_status`).
pub const PENDING: c_int = 0;
pub const COMPLETE: c_int = 2;

/// What belongs to the debugger: an executable file, and a process of it.
#[repr(C)]
pub struct Image([u8; 0]);
#[repr(C)]
pub struct Process([u8; 0]);
/// What this library keeps for a process, as the debugger has it.
#[repr(C)]
pub struct ProcessInfo([u8; 0]);

/// Calls that the debugger offers for all its objects (`mqs_basic_callbacks`).
#[repr(C)]
pub struct Basic {
    pub malloc: unsafe extern "C" fn(usize) -> *mut c_void,
    pub free: unsafe extern "C" fn(*mut c_void),
    pub prints: unsafe extern "C" fn(*const c_char),
    pub error_string: unsafe extern "C" fn(c_int) -> *mut c_char,
    pub put_image_info: unsafe extern "C" fn(*mut Image, *mut ImageInfo),
    pub get_image_info: unsafe extern "C" fn(*mut Image) -> *mut ImageInfo,
    pub put_process_info: unsafe extern "C" fn(*mut Process, *mut ProcessInfo),
    pub get_process_info: unsafe extern "C" fn(*mut Process) -> *mut ProcessInfo,
}

/// Calls for an executable file (`mqs_image_callbacks`).
#[repr(C)]
pub struct ImageCalls {
    pub get_type_sizes: *const c_void,
    pub find_function: *const c_void,
    pub find_symbol: unsafe extern "C" fn(*mut Image, *const c_char, *mut Address) -> c_int,
    pub find_type: *const c_void,
    pub field_offset: *const c_void,
    pub size_of: *const c_void,
}

/// Calls for a process (`mqs_process_callbacks`).
#[repr(C)]
pub struct ProcessCalls {
    pub get_global_rank: unsafe extern "C" fn(*mut Process) -> c_int,
    pub get_image: unsafe extern "C" fn(*mut Process) -> *mut Image,
    pub fetch_data: unsafe extern "C" fn(*mut Process, Address, c_int, *mut c_void) -> c_int,
    pub target_to_host: *const c_void,
}

/// What this library keeps for an executable file.
pub struct ImageInfo {
    pub calls: *const ImageCalls,
}

/// A communicator (`mqs_communicator`).
#[repr(C)]
pub struct Communicator {
    pub unique_id: Address,
    pub local_rank: Word,
    pub size: Word,
    pub name: [u8; 64],
}

/// A receive or a message (`mqs_pending_operation`).
#[repr(C)]
pub struct Operation {
    pub status: c_int,
    pub desired_local_rank: Word,
    pub desired_global_rank: Word,
    pub tag_wild: c_int,
    pub desired_tag: Word,
    pub desired_length: Word,
    pub system_buffer: c_int,
    pub buffer: Address,
    pub actual_local_rank: Word,
    pub actual_global_rank: Word,
    pub actual_tag: Word,
    pub actual_length: Word,
    pub extra_text: [[u8; 64]; 5],
}

/// As much of a text as there is room for, with a zero behind it.
pub fn put_text<const N: usize>(to: &mut [u8; N], text: &str) {
    let mut end = text.len().min(N - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    to.fill(0);
    to[..end].copy_from_slice(&text.as_bytes()[..end]);
}
