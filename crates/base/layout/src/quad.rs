//! x87 extended precision and IEEE binary128: the long double here and in external32.

/// Bits below the x87 fraction in the binary128 fraction.
const DROPPED: u32 = 112 - 63;
const FRACTION: u128 = (1 << 112) - 1;
const INTEGER_BIT: u64 = 1 << 63;
const EXPONENT: u16 = 0x7fff;

/// The binary128 with the value of an x87 number: `mantissa` with its explicit integer bit,
/// `head` the sign and exponent. Exact. Bit patterns that the processor does not accept as
/// numbers give NaN.
pub(crate) fn from_x87(mantissa: u64, head: u16) -> u128 {
    let sign = u128::from(head >> 15) << 127;
    let exponent = head & EXPONENT;
    let fraction = u128::from(mantissa & !INTEGER_BIT) << DROPPED;
    let integer = mantissa & INTEGER_BIT != 0;
    let (exponent, fraction) = match (exponent, integer) {
        // The integer bit with exponent 0 has the weight that exponent 1 gives it.
        (0, true) => (1, fraction),
        (0, false) => (0, fraction),
        (_, false) => (EXPONENT, 1 << 111),
        (exponent, true) => (exponent, fraction),
    };
    sign | u128::from(exponent) << 112 | fraction
}

/// The x87 number nearest to a binary128, ties to even: mantissa, sign and exponent.
pub(crate) fn to_x87(quad: u128) -> (u64, u16) {
    let sign = ((quad >> 127) as u16) << 15;
    let exponent = (quad >> 112) as u16 & EXPONENT;
    let fraction = quad & FRACTION;
    if exponent == EXPONENT {
        let payload = (fraction >> DROPPED) as u64;
        // A NaN stays one (and is made quiet) even if its payload was in the dropped bits.
        let quiet = if fraction == 0 { 0 } else { 1 << 62 };
        return (INTEGER_BIT | quiet | payload, sign | EXPONENT);
    }
    let hidden = if exponent == 0 { 0 } else { INTEGER_BIT };
    let kept = hidden | (fraction >> DROPPED) as u64;
    let rest = fraction & ((1 << DROPPED) - 1);
    let half = 1 << (DROPPED - 1);
    let up = rest > half || (rest == half && kept & 1 == 1);
    match kept.checked_add(u64::from(up)) {
        // A denormal that rounds up to the integer bit has exponent 1.
        Some(mantissa) if exponent == 0 => (mantissa, sign | u16::from(mantissa & INTEGER_BIT != 0)),
        Some(mantissa) => (mantissa, sign | exponent),
        // The carry leaves 1.0 of the next exponent, which may be infinity.
        None => (INTEGER_BIT, sign | (exponent + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // 1.0, -2.5, infinity, the least denormal.
        let pairs = [
            (1 << 63, 0x3fff, 0x3fff_u128 << 112),
            (0xa000_0000_0000_0000, 0xc000, 0xc000_4000_u128 << 96),
            (1 << 63, 0x7fff, 0x7fff_u128 << 112),
            (1, 0, 1_u128 << 49),
            (0, 0x8000, 1 << 127),
        ];
        for (mantissa, head, quad) in pairs {
            assert_eq!(from_x87(mantissa, head), quad);
            assert_eq!(to_x87(quad), (mantissa, head));
        }
    }

    #[test]
    fn rounds_to_nearest_even() {
        let one = 0x3fff_u128 << 112;
        assert_eq!(to_x87(one | 1 << 48), (1 << 63, 0x3fff));
        assert_eq!(to_x87(one | 1 << 48 | 1), ((1 << 63) + 1, 0x3fff));
        assert_eq!(to_x87(one | 3 << 48), ((1 << 63) + 2, 0x3fff));
        assert_eq!(to_x87(one | FRACTION), (1 << 63, 0x4000));
        assert_eq!(to_x87(0x7ffe_u128 << 112 | FRACTION), (1 << 63, 0x7fff));
        assert_eq!(to_x87(FRACTION), (1 << 63, 1));
    }

    #[test]
    fn nan_stays_nan() {
        assert_eq!(to_x87(0x7fff_u128 << 112 | 1), (3 << 62, 0x7fff));
        assert_eq!(from_x87(3 << 62, 0x7fff), 0x7fff_8000_u128 << 96);
        assert_eq!(from_x87(1, 0x3fff), 0x7fff_8000_u128 << 96);
        assert_eq!(from_x87(1 << 63, 0), 1 << 112);
    }
}
