//! What it costs to turn private memory into shared memory, and to look up whether it still is.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use tern_region::Heap;
use tern_region::promote::{Costs, Policy, Promoter};

use super::PROMOTED;
use super::arena::Words;

/// How often each.
const TIMES: usize = 3;
/// Look-ups at a time.
const LOOKS: u32 = 50;

/// Promotes buffers of this process, which must not need them.
pub(super) fn measure(words: &Words) {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let Ok(file) = rustix::fs::memfd_create("tern-tune", flags) else {
        return;
    };
    // As if it paid at once.
    let costs = Costs { promote: Box::new(|_| 0.0), saved: Box::new(|_, _| 2.0), look_up: 1.0 };
    let heap = Rc::new(Heap::new(file, 1 << 21, 1 << 52));
    let mut promoter = Promoter::new(heap, Policy::Always, costs);
    // What is found out once is not counted. The buffer stays, or another would be made of it.
    let first = vec![1u8; PROMOTED[0]];
    if promoter.used(first.as_ptr(), PROMOTED[0]).is_none() {
        return;
    }
    for (number, size) in PROMOTED.into_iter().enumerate() {
        let mut best = f64::INFINITY;
        // All at once, for an address where promotion was undone is tried less often.
        let mut buffers = vec![vec![1u8; size]; TIMES];
        for buffer in &mut buffers {
            let begin = Instant::now();
            let Some(place) = promoter.used(buffer.as_ptr(), size) else {
                return;
            };
            // The new pages are found anew.
            for byte in buffer.iter_mut().step_by(4096) {
                *black_box(byte) += 1;
            }
            best = best.min(begin.elapsed().as_nanos() as f64);
            let begin = Instant::now();
            for _ in 0..LOOKS {
                black_box(promoter.verify(buffer.as_ptr(), size, place));
            }
            words.set_lookup(begin.elapsed().as_nanos() as f64 / f64::from(LOOKS));
        }
        words.set_promote(number, best);
    }
}
