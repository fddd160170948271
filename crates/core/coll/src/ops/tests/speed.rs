//! Throughput, for a person to read: `cargo test --release -p tern-coll speed -- --ignored --nocapture`.

use crate::ops::Op;
use crate::ops::loops::Level;
use crate::ops::select::kernels;
use std::hint::black_box;
use std::time::Instant;
use tern_layout::Basic;

/// Bytes of operands and result that all calls move, for each figure.
const TRAFFIC: usize = 3 << 28;
const REPEATS: usize = 5;

/// The median of a few runs, in GB/s of memory read and written: 3 times the buffer.
fn rate(mut call: impl FnMut(), buffer: usize) -> f64 {
    let calls = TRAFFIC / (3 * buffer);
    let mut rates: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| call());
            (3 * buffer * calls) as f64 / start.elapsed().as_secs_f64() / 1e9
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[REPEATS / 2]
}

#[test]
#[ignore = "prints throughput; nothing to check"]
fn speed() {
    let cases = [
        (Op::Sum, Basic::Float64),
        (Op::Sum, Basic::Float32),
        (Op::Sum, Basic::Int32),
        (Op::Max, Basic::Float64),
        (Op::Max, Basic::Int8),
        (Op::Prod, Basic::Int64),
        (Op::Prod, Basic::ComplexDouble),
        (Op::Land, Basic::Int32),
        (Op::Sum, Basic::Float16),
        (Op::Sum, Basic::LongDouble),
        (Op::MaxLoc, Basic::DoubleInt),
        (Op::Replace, Basic::Byte),
    ];
    println!("{:<22} {:>9} {:>8} {:>11} {:>11}", "GB/s read and written", "bytes", "level", "two", "three");
    for (op, basic) in cases {
        for bytes in [4 << 10, 64 << 10, 1 << 20] {
            let n = bytes / basic.extent() as usize;
            let (a, mut b, mut out) = (vec![0u8; bytes], vec![0u8; bytes], vec![0u8; bytes]);
            for level in Level::here() {
                let Some(k) = kernels(op, basic, level) else { continue };
                // SAFETY: all buffers have n elements; zeros are values of every type.
                let two = rate(|| unsafe { (k.two)(black_box(a.as_ptr()), b.as_mut_ptr(), n) }, bytes);
                // SAFETY: as above.
                let three =
                    rate(|| unsafe { (k.three)(black_box(a.as_ptr()), b.as_ptr(), out.as_mut_ptr(), n) }, bytes);
                println!("{:<22} {bytes:>9} {level:>8?} {two:>11.1} {three:>11.1}", format!("{op:?} {basic:?}"));
            }
        }
    }
}
