//! external32: the canonical big-endian form (MPI 5.0, section 15.5.2).

use std::ptr;

use crate::basic::Coding;
use crate::cursor::Cursor;
use crate::quad;
use crate::{Basic, Count, Type};

/// Which way data is converted.
#[derive(Clone, Copy)]
enum Way {
    Out,
    In,
}

impl Type {
    /// Bytes that `count` elements take in external32, for MPI_PACK_EXTERNAL_SIZE. None if
    /// that does not fit 64 bits.
    pub fn external_size(&self, count: Count) -> Option<i64> {
        i64::try_from(self.sequence().external).ok()?.checked_mul(count.max(0))
    }

    /// Converts `count` elements at `base` to external32 in `out`, as many whole basic
    /// elements as fit; returns the bytes written.
    ///
    /// # Safety
    /// All data of the elements is readable and does not lie in `out`.
    pub unsafe fn pack_external(&self, base: *const u8, count: Count, out: &mut [u8]) -> usize {
        // SAFETY: data is only read with Way::Out.
        unsafe { self.external(base.cast_mut(), count, out.as_mut_ptr(), out.len(), Way::Out) }
    }

    /// Converts external32 data in `input` to `count` elements at `base`, as many whole basic
    /// elements as there are; returns the bytes read.
    ///
    /// # Safety
    /// All data of the elements is writable and does not lie in `input`.
    pub unsafe fn unpack_external(&self, base: *mut u8, count: Count, input: &[u8]) -> usize {
        // SAFETY: the external side is only read with Way::In.
        unsafe { self.external(base, count, input.as_ptr().cast_mut(), input.len(), Way::In) }
    }

    /// # Safety
    /// As `pack_external` or `unpack_external`; `outside` has `room` bytes.
    unsafe fn external(&self, base: *mut u8, count: Count, outside: *mut u8, room: usize, way: Way) -> usize {
        let mut cursor = Cursor::new(self, count);
        let mut done = 0;
        for (basic, repeat) in self.signature(count) {
            let size = basic.size() as u64;
            let external = basic.external_size() as u64;
            let fit = repeat.min((room - done) as u64 / external);
            let mut left = fit * size;
            while let Some(piece) = cursor.take_piece(left) {
                left -= piece.size();
                // A run of equal elements consists of whole ones, and so does each block.
                let each = piece.block / size;
                for row in 0..piece.rows as i64 {
                    for col in 0..piece.count as i64 {
                        let at = piece.at + row * piece.row_stride + col * piece.stride;
                        let native = base.wrapping_offset(at as isize);
                        // SAFETY: `each` elements at `native` are data; `fit` keeps to `room`.
                        unsafe { convert(basic, native, outside.add(done), each as usize, way) };
                        done += (each * external) as usize;
                    }
                }
            }
            if fit < repeat {
                break;
            }
        }
        done
    }
}

/// Converts `n` elements between native and external memory.
///
/// # Safety
/// Both sides have room for `n` elements and do not overlap; the source is readable, the
/// target writable.
unsafe fn convert(basic: Basic, native: *mut u8, external: *mut u8, n: usize, way: Way) {
    let size = basic.size() as usize;
    let (from, to) = match way {
        Way::Out => (native.cast_const(), external),
        Way::In => (external.cast_const(), native),
    };
    // SAFETY: the caller vouches for `n` elements on both sides, whose sizes the coding tells.
    unsafe {
        match basic.coding() {
            Coding::Plain => ptr::copy_nonoverlapping(from, to, n * size),
            Coding::Swap(2) => swap::<2>(from, to, n * size / 2),
            Coding::Swap(4) => swap::<4>(from, to, n * size / 4),
            Coding::Swap(8) => swap::<8>(from, to, n * size / 8),
            Coding::Swap(_) => swap::<16>(from, to, n * size / 16),
            Coding::Narrow { signed } => each::<8, 4>(native, external, n, way, |bytes, way| match way {
                Way::Out => Unit { external: (u64::from_ne_bytes(bytes.native) as u32).to_be_bytes(), ..bytes },
                Way::In => {
                    let value = u32::from_be_bytes(bytes.external);
                    let wide = if signed { i64::from(value as i32) as u64 } else { u64::from(value) };
                    Unit { native: wide.to_ne_bytes(), ..bytes }
                }
            }),
            Coding::Wide => each::<4, 2>(native, external, n, way, |bytes, way| match way {
                Way::Out => Unit { external: (u32::from_ne_bytes(bytes.native) as u16).to_be_bytes(), ..bytes },
                Way::In => {
                    let value = u32::from(u16::from_be_bytes(bytes.external));
                    Unit { native: value.to_ne_bytes(), ..bytes }
                }
            }),
            Coding::Extended(parts) => each::<16, 16>(native, external, n * parts, way, extended),
        }
    }
}

/// Copies `n` units of N bytes, each with its bytes reversed.
///
/// # Safety
/// Both sides have `n * N` bytes and do not overlap.
unsafe fn swap<const N: usize>(from: *const u8, to: *mut u8, n: usize) {
    for i in 0..n {
        // SAFETY: unit i lies within both sides; byte arrays need no alignment.
        unsafe {
            let mut unit = from.add(i * N).cast::<[u8; N]>().read_unaligned();
            unit.reverse();
            to.add(i * N).cast::<[u8; N]>().write_unaligned(unit);
        }
    }
}

/// One element on both sides.
struct Unit<const N: usize, const E: usize> {
    native: [u8; N],
    external: [u8; E],
}

/// Converts `n` elements of N bytes inside and E bytes outside.
///
/// # Safety
/// The sides have `n * N` and `n * E` bytes and do not overlap.
unsafe fn each<const N: usize, const E: usize>(
    native: *mut u8, external: *mut u8, n: usize, way: Way, code: impl Fn(Unit<N, E>, Way) -> Unit<N, E>,
) {
    for i in 0..n {
        let inside = native.wrapping_add(i * N).cast::<[u8; N]>();
        let outside = external.wrapping_add(i * E).cast::<[u8; E]>();
        let mut unit = Unit { native: [0; N], external: [0; E] };
        // SAFETY: element i lies within both sides; byte arrays need no alignment.
        unsafe {
            match way {
                Way::Out => {
                    unit.native = inside.read_unaligned();
                    outside.write_unaligned(code(unit, way).external);
                }
                Way::In => {
                    unit.external = outside.read_unaligned();
                    inside.write_unaligned(code(unit, way).native);
                }
            }
        }
    }
}

/// Long double: x87 extended inside, binary128 outside. The 6 spare bytes become 0.
fn extended(unit: Unit<16, 16>, way: Way) -> Unit<16, 16> {
    match way {
        Way::Out => {
            let bits = u128::from_le_bytes(unit.native);
            let quad = quad::from_x87(bits as u64, (bits >> 64) as u16);
            Unit { external: quad.to_be_bytes(), ..unit }
        }
        Way::In => {
            let (mantissa, head) = quad::to_x87(u128::from_be_bytes(unit.external));
            let bits = u128::from(mantissa) | u128::from(head) << 64;
            Unit { native: bits.to_le_bytes(), ..unit }
        }
    }
}
