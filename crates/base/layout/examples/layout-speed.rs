//! Prints how fast layouts are packed, unpacked and copied, beside a plain copy of as many
//! bytes: `cargo run --release -p tern-layout --example layout-speed`.
//!
//! GB/s counts the data bytes once. Medians of several rounds.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use tern_layout::*;

const ROUNDS: usize = 9;
/// Bytes of memory that the elements may span.
const LARGEST: i64 = 256 << 20;

/// Seconds that one call of `work` takes: the median over rounds of at least 4 MB each.
fn seconds(bytes: usize, mut work: impl FnMut()) -> f64 {
    let repeat = (4_000_000 / bytes.max(1)).max(1);
    work();
    let mut times = [0.0; ROUNDS];
    for time in &mut times {
        let start = Instant::now();
        (0..repeat).for_each(|_| work());
        *time = start.elapsed().as_secs_f64() / repeat as f64;
    }
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

/// Measures elements of `ty` that hold about `bytes` bytes of data.
fn line(name: &str, ty: &Rc<Type>, bytes: usize) {
    let count = (bytes as i64 / ty.size()).min(LARGEST / ty.extent()).max(1);
    let size = ty.pack_size(count).expect("a small size") as usize;
    let room = (ty.extent() * (count - 1) + ty.true_ub().max(ty.ub())) as usize;
    let mut memory = vec![1u8; room];
    let mut other = vec![2u8; room];
    let mut packed = vec![3u8; size];
    let mut target = vec![4u8; size];
    let plain = seconds(size, || {
        target.copy_from_slice(black_box(&packed));
        black_box(&mut target);
    });
    let pack = seconds(size, || {
        // SAFETY: memory has room for all elements.
        unsafe { ty.pack(black_box(memory.as_ptr()), count, 0, &mut packed) };
        black_box(&mut packed);
    });
    let unpack = seconds(size, || {
        // SAFETY: memory has room for all elements.
        unsafe { ty.unpack(black_box(memory.as_mut_ptr()), count, 0, &packed) };
        black_box(&mut memory);
    });
    let copy = seconds(size, || {
        let from = black_box(memory.as_ptr());
        // SAFETY: both have room for all elements.
        unsafe { Type::copy(ty, from, count, ty, other.as_mut_ptr(), count) };
        black_box(&mut other);
    });
    let rate = |time: f64| size as f64 / time / 1e9;
    println!(
        "{name:<34} {size:>9} B {:>8.2} {:>8.2} {:>8.2} {:>8.2}   {:>9.0} ns",
        rate(plain),
        rate(pack),
        rate(unpack),
        rate(copy),
        pack * 1e9
    );
}

fn main() {
    println!(
        "{:<34} {:>11} {:>8} {:>8} {:>8} {:>8}   {:>12}",
        "layout", "data", "memcpy", "pack", "unpack", "copy", "pack time"
    );
    let byte = Type::basic(Basic::Byte);
    let double = Type::basic(Basic::Float64);
    let int = Type::basic(Basic::Int32);
    for bytes in [256, 16 << 10, 1 << 20, 32 << 20] {
        for block in [1i64, 2, 4, 8, 12, 16, 20, 40, 64, 100, 1024] {
            let ty = Type::vector(bytes / block, block, 2 * block, &byte).expect("a vector");
            if bytes >= block {
                line(&format!("vector, blocks of {block} B"), &ty, bytes as usize);
            }
        }
        let bytes = bytes as usize;
        let column = Type::vector(64, 1, 64, &double).expect("a vector");
        let column = Type::resized(0, 8, &column).expect("a column");
        line("columns of 64 x 64 doubles", &column, bytes);
        let sizes = [66, 66, 66];
        let face = |subsizes| Type::subarray(&sizes, subsizes, &[1, 1, 1], Order::C, &double);
        line("face 64 x 64 x 1", &face(&[64, 64, 1]).expect("a face"), bytes);
        line("face 64 x 2 x 2", &face(&[64, 2, 2]).expect("a face"), bytes);
        line("block 16 x 16 x 16", &face(&[16, 16, 16]).expect("a block"), bytes);
        let places: Vec<i64> = (0..1000).map(|i| i * 7 % 1000 * 2).collect();
        let spread = Type::indexed_block(1, &places, &double).expect("an indexed type");
        line("indexed_block of doubles", &spread, bytes);
        let lengths: Vec<i64> = (0..1000).map(|i| 1 + i % 3).collect();
        let places: Vec<i64> = (0..1000).map(|i| i * 4).collect();
        let ragged = Type::indexed(&lengths, &places, &double).expect("an indexed type");
        line("indexed, 1 to 3 doubles", &ragged, bytes);
        let record = Type::structure(&[1, 1], &[0, 8], &[int.clone(), double.clone()]);
        line("struct { int; double; }", &record.expect("a struct"), bytes);
        let parts = [int.clone(), double.clone(), byte.clone()];
        let record = Type::structure(&[1, 3, 2], &[0, 8, 34], &parts);
        line("struct { int; double[3]; char[2]; }", &record.expect("a struct"), bytes);
        println!();
    }
}
