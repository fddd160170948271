//! Whether memory of graphics cards may be sent: no. `mpi.h` answers programs that include it by itself; these are for those that declare the names
//! themselves, or look them up at run time, as they do with other libraries.

use std::ffi::c_int;

macro_rules! no {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the name that programs know")]
        pub extern "C" fn $name() -> c_int {
            0
        }
    )* };
}
no! { MPIX_Query_cuda_support MPIX_Query_hip_support MPIX_Query_rocm_support MPIX_Query_ze_support }

/// Stores 0 for any kind of card.
///
/// # Safety
/// `is_supported` is null or a place for an int.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that programs know")]
pub unsafe extern "C" fn MPIX_GPU_query_support(_gpu_type: c_int, is_supported: *mut c_int) -> c_int {
    if !is_supported.is_null() {
        // SAFETY: the caller's.
        unsafe { *is_supported = 0 }
    }
    0
}
