//! Prints what promotion costs here: R by size, and V, the question to the kernel before each use.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;
use tern_region::Heap;
use tern_region::promote::{Costs, Policy, Promoter};

fn main() {
    let file = rustix::fs::memfd_create("tern", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd_create");
    let heap = Rc::new(Heap::new(file, 1 << 21, 1 << 52));
    // As if it paid at once.
    let costs = Costs { promote: Box::new(|_| 0.0), saved: Box::new(|_, _| 2.0), look_up: 1.0 };
    let mut promoter = Promoter::new(heap, Policy::Auto, costs);
    // What is found out once.
    let first = Instant::now();
    promoter.used([0u8; 64].as_ptr(), 64);
    println!("once          {:9.1} us", first.elapsed().as_secs_f64() * 1e6);
    println!("     bytes    promote us   touch again us   per use ns");
    for shift in 12..=24 {
        measure(&mut promoter, 1 << shift);
    }
}

fn measure(promoter: &mut Promoter, len: usize) {
    const ROUNDS: usize = 9;
    let (mut promote, mut touch, mut look) = (vec![], vec![], vec![]);
    // All at once, for an address where promotion was undone is tried less often.
    let mut buffers = vec![vec![1u8; len]; ROUNDS];
    for buffer in &mut buffers {
        let time = |samples: &mut Vec<f64>, action: &mut dyn FnMut()| {
            let start = Instant::now();
            action();
            samples.push(start.elapsed().as_secs_f64());
        };
        let address = buffer.as_ptr();
        time(&mut promote, &mut || {
            if promoter.used(address, len).is_none() {
                println!("{len:10}    refused: {:?}", promoter.refusal());
            }
        });
        time(&mut touch, &mut || buffer.iter_mut().step_by(4096).for_each(|byte| *black_box(byte) += 1));
        let place = promoter.speculative_place(address, len);
        time(&mut look, &mut || {
            for _ in 0..1000 {
                black_box(place.is_some_and(|place| promoter.verify(address, len, place)));
            }
        });
    }
    let median = |mut samples: Vec<f64>| {
        samples.sort_by(f64::total_cmp);
        samples[samples.len() / 2] * 1e6
    };
    let (promote, touch, look) = (median(promote), median(touch), median(look));
    println!("{len:10} {promote:13.1} {touch:16.1} {look:12.0}");
}
