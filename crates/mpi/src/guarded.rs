//! State that is reached only under the library's lock.

use std::cell::UnsafeCell;

/// A value of the library's single-threaded core, kept in a static.
///
/// Every access goes through [`Guarded::get`], by code that holds the library's lock
/// (`tern_mcm::lock`), or runs while only one thread may call MPI.
pub struct Guarded<T>(UnsafeCell<T>);

// SAFETY: the lock, or MPI's own rule for thread levels below MULTIPLE, keeps threads apart.
unsafe impl<T> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub const fn new(value: T) -> Guarded<T> {
        Guarded(UnsafeCell::new(value))
    }

    /// A shared borrow: `T` uses `Cell` and `RefCell` for what changes.
    #[inline]
    pub fn get(&self) -> &T {
        // SAFETY: only shared borrows are ever given out, and threads are kept apart (see above).
        unsafe { &*self.0.get() }
    }
}
