//! CHARACTER: blank-padded in Fortran, null-terminated in C.

use super::P;
use std::ffi::c_int;

/// The characters at an address.
unsafe fn bytes<'a>(at: P, length: usize) -> &'a [u8] {
    // SAFETY: the program gives so many.
    if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(at.cast(), length) } }
}

/// Without the blanks at the end.
pub fn stripped(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&c| c != b' ').map_or(0, |last| last + 1);
    &text[..end]
}

/// The characters of an argument, without the blanks at the end.
pub unsafe fn given<'a>(at: P, length: usize) -> &'a [u8] {
    // SAFETY: as above.
    stripped(unsafe { bytes(at, length) })
}

/// Gives `text`, cut or filled with blanks.
pub unsafe fn give(text: &[u8], at: P, length: usize) {
    let n = text.len().min(length);
    // SAFETY: the program has room for `length` characters.
    unsafe {
        at.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), n);
        at.cast::<u8>().add(n).write_bytes(b' ', length - n);
    }
}

/// A text of the program's as C takes it.
pub struct Text(Vec<u8>);

impl Text {
    /// Without the blanks at the end (MPI 5.0 section 2.6.2).
    pub unsafe fn read(at: P, length: usize) -> Text {
        // SAFETY: as above.
        Text::of(unsafe { given(at, length) })
    }

    /// Without the blanks at both ends, as keys and values of info objects are taken (chapter 10).
    pub unsafe fn trimmed(at: P, length: usize) -> Text {
        // SAFETY: as above.
        Text::of(unsafe { given(at, length) }.trim_ascii_start())
    }

    pub fn of(text: &[u8]) -> Text {
        let mut text = text.to_vec();
        text.push(0);
        Text(text)
    }

    pub fn address(&self) -> P {
        self.0.as_ptr().cast_mut().cast()
    }
}

/// Room for the longest text of any C function.
pub struct Room(Vec<u8>);

/// MPI_MAX_LIBRARY_VERSION_STRING, the largest of its kind in any binary interface.
const LONGEST: usize = 8192;

impl Room {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Room {
        Room(vec![0; LONGEST])
    }

    pub fn address(&mut self) -> P {
        self.0.as_mut_ptr().cast()
    }

    /// What C has written.
    pub fn text(&self) -> &[u8] {
        self.0.split(|&c| c == 0).next().unwrap_or_default()
    }

    /// Gives the text unless the call failed.
    pub unsafe fn give(&self, code: c_int, at: P, length: usize) {
        if code == 0 {
            // SAFETY: as above.
            unsafe { give(self.text(), at, length) }
        }
    }
}
