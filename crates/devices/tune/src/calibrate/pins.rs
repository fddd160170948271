//! What the kernel module takes to declare memory, to give that up, and to map what a peer has declared.

use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use tern_region::Run;
use tern_region::module::{Module, READ, WRITE};

use super::PINNED;
use super::roles::{Process, clock_cost};

/// How often each.
const TIMES: usize = 8;
const PAGE: usize = 4096;

/// Declares memory of this process, and maps that of the sender.
pub(super) fn measure(own: &Process<'_>) {
    let (words, clock) = (own.arena.words(), clock_cost());
    let Some(module) = own.module.as_ref().filter(|_| own.has_module()) else { return };
    for (number, size) in PINNED.into_iter().enumerate() {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..TIMES {
            let begin = Instant::now();
            let Ok(declared) = module.create(&[Run::new(own.private, size)], READ | WRITE) else { return };
            let pinned = begin.elapsed();
            let begin = Instant::now();
            module.destroy(declared);
            for (best, took) in best.iter_mut().zip([pinned, begin.elapsed()]) {
                *best = best.min((took.as_nanos() as f64 - clock).max(1.0));
            }
        }
        let cookie = words.module[0].load(Relaxed);
        let attached = (0..TIMES).map(|_| attach(module, cookie, size));
        let attached = attached.reduce(|best, took| Some(best?.min(took?))).flatten();
        words.set_pins(number, best, attached.map(|ns| (ns - clock).max(1.0)));
    }
}

/// Nanoseconds to map so many bytes of a region, to touch each page, and to unmap them.
fn attach(module: &Module, cookie: u64, size: usize) -> Option<f64> {
    let begin = Instant::now();
    let at = module.attach(cookie, 0, size as u64, false).ok()?;
    for offset in (0..size).step_by(PAGE) {
        // SAFETY: mapped above for reading. The sender keeps the memory while this process measures.
        black_box(unsafe { at.add(offset).read_volatile() });
    }
    // SAFETY: the mapping of above, which nothing refers to.
    let unmapped = unsafe { rustix::mm::munmap(at.cast(), size) };
    unmapped.ok()?;
    Some(begin.elapsed().as_nanos() as f64)
}
