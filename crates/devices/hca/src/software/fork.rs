//! What a fork means: the child has neither the engine's thread nor a right to the sockets.

use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use tern_threads::{Mutex, MutexGuard};

/// How often this process's line has forked. Objects remember theirs.
static GENERATION: AtomicU32 = AtomicU32::new(0);
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Held by whoever makes or ends the engine, and over a fork.
static GATE: Mutex<()> = Mutex::new(());

/// No fork until it is dropped.
pub fn hold_off() -> MutexGuard<'static, ()> {
    GATE.lock()
}

#[inline]
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// This process's number, without asking the kernel.
#[inline]
pub fn process() -> i32 {
    match PROCESS.load(Ordering::Relaxed) {
        0 => std::process::id() as i32,
        process => process,
    }
}

/// Has forks noticed from now on.
pub fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        PROCESS.store(std::process::id() as i32, Ordering::Relaxed);
        // SAFETY: the handlers only touch atomics and the gate.
        unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    });
}

/// No other thread is just making or ending the engine.
extern "C" fn prepare() {
    std::mem::forget(GATE.lock());
}

extern "C" fn parent() {
    // SAFETY: `prepare` has locked it in this thread.
    unsafe { GATE.force_unlock() };
}

extern "C" fn child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    PROCESS.store(std::process::id() as i32, Ordering::Relaxed);
    parent();
}
