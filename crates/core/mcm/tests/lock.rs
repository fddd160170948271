//! The library's lock. In a process of its own: with several threads, who waits gives up the lock, which it must hold, and
//! tests of waiting in the same process do not.

use std::sync::atomic::{AtomicUsize, Ordering};
use tern_mcm::lock::{bump, enable, enter_locked, outside};

#[test]
fn threads_keep_apart_and_entries_nest() {
    enable();
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let work = || {
        for round in 0..2000 {
            let _outer = enter_locked();
            let _inner = enter_locked();
            let seen = COUNT.load(Ordering::Relaxed);
            if round % 7 == 0 {
                bump();
                outside(std::thread::yield_now);
                COUNT.fetch_add(1, Ordering::Relaxed);
            } else {
                std::hint::spin_loop();
                COUNT.store(seen + 1, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    assert_eq!(COUNT.load(Ordering::Relaxed), 8000);
}
