//! Strings, whose room is another in each interface.

use crate::types::Ptr;
use std::ffi::{c_char, c_int};

/// Copies a string of the core into room for `room` characters with the final null, and corrects its length.
///
/// # Safety
/// `to` has so much room, and `length` is null or an int.
pub unsafe fn give(text: &[u8], to: Ptr, room: usize, length: Ptr) {
    if to.is_null() {
        return;
    }
    let whole = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    let mut len = whole.min(room - 1);
    while len < whole && len > 0 && text[len] & 0xc0 == 0x80 {
        len -= 1;
    }
    // SAFETY: the caller's.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), len);
        to.cast::<c_char>().add(len).write(0);
        if !length.is_null() {
            length.cast::<c_int>().write(len as c_int);
        }
    }
}
