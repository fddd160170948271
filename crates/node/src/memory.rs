//! Memory for data of any length that the program chooses: buffers that hold a message, or what a collective combines.

use std::alloc::{GlobalAlloc, Layout, System};

/// So many zeros. `None`: there is no memory for them, which the caller makes an error of its own, or does without.
///
/// It asks the system's allocator, which the program's other allocations come from too; so a failure here ends nothing.
pub fn zeroed(len: usize) -> Option<Vec<u8>> {
    // SAFETY: `made` gives a layout that is not empty.
    let mut bytes = made(len, |layout| unsafe { System.alloc_zeroed(layout) })?;
    // SAFETY: there is room for them, and they are zeros.
    unsafe { bytes.set_len(len) };
    Some(bytes)
}

/// No bytes yet, and room for so many. `None`: as for [`zeroed`].
pub fn room(len: usize) -> Option<Vec<u8>> {
    // SAFETY: `made` gives a layout that is not empty.
    made(len, |layout| unsafe { System.alloc(layout) })
}

fn made(len: usize, allocate: impl FnOnce(Layout) -> *mut u8) -> Option<Vec<u8>> {
    if len == 0 {
        return Some(Vec::new());
    }
    let start = allocate(Layout::array::<u8>(len).ok()?);
    // SAFETY: what the system's allocator gave for that layout. It is freed by the global one, which is the system's or hands all on
    // to it.
    if start.is_null() { None } else { Some(unsafe { Vec::from_raw_parts(start, 0, len) }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_none() {
        assert_eq!(zeroed(3), Some(vec![0; 3]));
        assert_eq!(zeroed(0), Some(Vec::new()));
        assert_eq!(zeroed(isize::MAX as usize), None);
        assert_eq!(zeroed(usize::MAX), None);
        assert!(
            room(usize::MAX / 4).is_none() && room(9).is_some_and(|bytes| bytes.is_empty() && bytes.capacity() == 9)
        );
    }
}
