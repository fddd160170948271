//! Errors as numbers, and numbers as text.

use std::ffi::{CStr, c_char, c_int};
use tern_region::space::Error;

/// The negative errno of an error.
pub fn number(error: &Error) -> c_int {
    -match error {
        Error::NoRegion => libc::ENOENT,
        Error::Bounds { .. } => libc::ERANGE,
        Error::Protection => libc::EACCES,
        Error::NotOwner => libc::EPERM,
        Error::Busy => libc::EAGAIN,
        Error::Full => libc::ENOSPC,
        Error::PeerGone { .. } => libc::ESRCH,
        Error::Fault { .. } => libc::EFAULT,
        Error::Taken { .. } => libc::EEXIST,
        Error::Shape => libc::EINVAL,
        Error::System { errno } => *errno,
        _ => libc::EIO,
    }
}

fn text(error: c_int) -> &'static CStr {
    match -error {
        0 => c"no error",
        libc::ENOENT => c"no region has this cookie (any more)",
        libc::ERANGE => c"the bytes do not lie in the region, or the local segments are too short",
        libc::EACCES => c"the region is not declared for this access, or a file belongs to another user",
        libc::EPERM => c"the region belongs to another process",
        libc::EAGAIN => c"too many copies are under way in this process: try again when some have ended",
        libc::ENOSPC => c"this process has as many regions or segments as there is room for: destroy some",
        libc::ESRCH => c"the process that the region belongs to has ended",
        libc::EFAULT => c"declared memory is not there, or not for this access",
        libc::EEXIST => c"another process has joined as this member",
        libc::EINVAL => {
            c"an argument is wrong: a null pointer, unknown flags, a member out of range, or another shape of the space"
        }
        libc::EBUSY => c"asynchronous copies of this space were not released yet",
        libc::EINPROGRESS => c"the copy is under way",
        libc::ENOMEM => c"no memory",
        libc::EFBIG => c"the file of the space may not be so long (RLIMIT_FSIZE)",
        libc::ENAMETOOLONG => c"the name is longer than 200 bytes",
        _ => c"the system refuses (see errno(3))",
    }
}

/// What an error means.
#[unsafe(no_mangle)]
pub extern "C" fn tern_region_text(error: c_int) -> *const c_char {
    text(error).as_ptr()
}
