//! Bytes with damage, for tests of what reads bytes from outside: packets, handshakes, messages of launchers, files.
//!
//! Bytes at random seldom get past the first field of a format. Valid bytes with a few changes do. A test asks for [`Change`]s
//! at random, applies them by [`damage`], and has the result read: that must neither panic nor take much memory.
//!
//! [`Relay`] is somebody in the middle of connections, and [`say`] one who says what he has heard there.

mod middle;

pub use middle::{Flip, Heard, Relay, Stream, between, say};

/// What happens to bytes: what it is, where, and with which byte. Any values are good.
pub type Change = (u8, u16, u8);

/// The bytes after these changes, one after the other. A change replaces a byte, flips a bit, leaves a byte out, puts one in, repeats
/// what follows, or cuts the rest off.
pub fn damage(valid: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for &(what, place, byte) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = usize::from(place) % bytes.len();
        match what % 8 {
            0 | 1 => bytes[at] = byte,
            2 | 3 => bytes[at] ^= 1 << (byte % 8),
            // All ones are the largest length.
            4 => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = u8::MAX),
            5 => _ = bytes.remove(at),
            6 => bytes.insert(at, byte),
            _ if byte % 2 == 0 => bytes.truncate(at),
            _ => bytes.extend_from_within(at..),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_made() {
        let change = |what, place, byte| damage(b"abcd", &[(what, place, byte)]);
        assert_eq!(change(0, 5, b'x'), b"axcd");
        assert_eq!(change(2, 0, 1), b"cbcd");
        assert_eq!(change(4, 1, 0), b"a\xff\xff\xff");
        assert_eq!(change(5, 2, 0), b"abd");
        assert_eq!(change(6, 2, b'x'), b"abxcd");
        assert_eq!(change(7, 2, 0), b"ab");
        assert_eq!(change(7, 2, 1), b"abcdcd");
        assert_eq!(damage(b"", &[(0, 0, 0)]), b"");
    }
}
