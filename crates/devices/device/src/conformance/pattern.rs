//! Payloads that tell where they belong.

/// `len` bytes that differ for each `seed` and from place to place.
pub fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(len);
    for _ in 0..len {
        // A xorshift generator: quick, and the period is long enough.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.push((state >> 32) as u8);
    }
    out
}

/// Panics unless `got` is what [`bytes`] makes.
pub fn check(seed: u64, got: &[u8]) {
    let expected = bytes(seed, got.len());
    if let Some(at) = (0..got.len()).find(|&at| got[at] != expected[at]) {
        panic!("byte {at} of {} is {}, expected {}", got.len(), got[at], expected[at]);
    }
}
