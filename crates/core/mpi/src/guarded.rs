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
        #[cfg(test)]
        one_test_at_a_time();
        // SAFETY: only shared borrows are ever given out, and threads are kept apart (see above).
        unsafe { &*self.0.get() }
    }
}

/// Unit tests run side by side, each on a thread of its own: from its first look at guarded state to its end, no other test looks.
/// A test must not wait for a thread of its own that looks, too.
#[cfg(test)]
fn one_test_at_a_time() {
    use std::sync::{Mutex, MutexGuard, PoisonError};
    static TURN: Mutex<()> = Mutex::new(());
    thread_local! {
        // Poisoned: a test has failed, and says so itself.
        static HELD: MutexGuard<'static, ()> = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    }
    // Gone while the thread ends: what is dropped then and looks is of the test whose turn it was.
    let _ = HELD.try_with(|_| ());
}

#[cfg(test)]
mod tests {
    use super::Guarded;
    use std::cell::RefCell;
    use std::sync::Barrier;
    use std::thread;

    /// Both begin at once; were they not kept apart, a borrow would meet a mutable one.
    #[test]
    fn threads_take_turns_until_they_end() {
        static LIST: Guarded<RefCell<Vec<usize>>> = Guarded::new(RefCell::new(Vec::new()));
        let begin = &Barrier::new(2);
        thread::scope(|scope| {
            for number in 0..2 {
                scope.spawn(move || {
                    begin.wait();
                    for _ in 0..1000 {
                        LIST.get().borrow_mut().push(number);
                        thread::yield_now();
                    }
                });
            }
        });
        let list = LIST.get().borrow();
        assert_eq!(list.len(), 2000);
        assert!(list[..1000].iter().all(|&n| n == list[0]), "one after the other");
    }
}
