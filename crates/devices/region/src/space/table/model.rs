//! Regions under loom: nobody uses memory that the owner has taken back, and one use is one use.

use super::*;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

struct Shared {
    slot: Slot,
    holds: [Hold; 2],
    /// The declared memory: used by users while they hold it, by the owner afterwards.
    memory: UnsafeCell<u64>,
}

// SAFETY: that the uses of `memory` do not overlap is what the tests are about; loom checks it.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

const ABOUT: About = About { len: 100, access: 3, pieces: 1, first: 7, module: 9 };

fn zero() -> AtomicU64 {
    AtomicU64::new(0)
}

fn shared() -> Arc<Shared> {
    Arc::new(Shared {
        slot: Slot { state: zero(), about: [zero(), zero(), zero(), zero()] },
        holds: [Hold(zero()), Hold(zero())],
        memory: UnsafeCell::new(0),
    })
}

fn cookie() -> Cookie {
    Cookie::new(0, 0, 1)
}

impl Shared {
    /// One use; true when it took place.
    fn use_region(&self, user: usize) -> bool {
        match self.slot.enter(&self.holds[user], cookie()) {
            Some(Found::Region(about)) => assert_eq!(about, ABOUT),
            Some(Found::Once(about)) => {
                assert_eq!(about, ABOUT);
                if !self.slot.claim(cookie()) {
                    self.holds[user].release();
                    return false;
                }
            }
            None => return false,
        }
        // SAFETY: held; many users may read.
        self.memory.with(|memory| unsafe { memory.read() });
        self.holds[user].release();
        true
    }

    fn await_holds(&self) {
        while self.holds.iter().any(|hold| hold.is_on(cookie())) {
            thread::yield_now();
        }
    }

    fn destroy(&self) {
        assert!(self.slot.close(cookie()));
        self.await_holds();
        self.slot.free(cookie());
        // SAFETY: nobody holds it.
        self.memory.with_mut(|memory| unsafe { memory.write(1) });
    }
}

#[test]
fn memory_comes_back_when_nobody_uses_it() {
    loom::model(|| {
        let shared = shared();
        shared.slot.open(cookie(), ABOUT, false);
        let other = shared.clone();
        let user = thread::spawn(move || other.use_region(0));
        shared.destroy();
        user.join().unwrap();
        assert!(!shared.use_region(0));
        assert_eq!(shared.slot.next_generation(), Some(2));
    });
}

#[test]
fn one_use_is_one_use() {
    loom::model(|| {
        let shared = shared();
        shared.slot.open(cookie(), ABOUT, true);
        let users = [0, 1].map(|user| {
            let other = shared.clone();
            thread::spawn(move || other.use_region(user))
        });
        let uses = users.map(|user| user.join().unwrap());
        assert_eq!(uses.iter().filter(|used| **used).count(), 1);
        assert!(shared.slot.is_used(cookie()));
    });
}

#[test]
fn the_owner_finds_a_used_up_region_and_takes_it_back() {
    loom::model(|| {
        let shared = shared();
        shared.slot.open(cookie(), ABOUT, true);
        let other = shared.clone();
        let user = thread::spawn(move || assert!(other.use_region(0)));
        while !shared.slot.is_used(cookie()) {
            thread::yield_now();
        }
        shared.await_holds();
        // SAFETY: nobody holds it, and nobody can use it again.
        shared.memory.with_mut(|memory| unsafe { memory.write(1) });
        user.join().unwrap();
    });
}

#[test]
fn a_region_is_seen_whole_or_not() {
    loom::model(|| {
        let shared = shared();
        let other = shared.clone();
        let user = thread::spawn(move || other.use_region(0));
        shared.slot.open(cookie(), ABOUT, false);
        user.join().unwrap();
    });
}

/// A user ends at some step of its use, and leaves its hold behind: the owner, which knows whose it is, takes its memory back all the same.
#[test]
fn a_user_that_ends_at_any_step_keeps_no_memory() {
    for steps in 0..=3 {
        loom::model(move || {
            let (shared, gone) = (shared(), Arc::new(zero()));
            shared.slot.open(cookie(), ABOUT, true);
            let (other, last) = (shared.clone(), gone.clone());
            let user = thread::spawn(move || {
                if steps > 0
                    && other.slot.enter(&other.holds[0], cookie()).is_some()
                    && steps > 1
                    && other.slot.claim(cookie())
                    && steps > 2
                {
                    // SAFETY: held; many users may read.
                    other.memory.with(|memory| unsafe { memory.read() });
                }
                // Release: pairs with the acquire below.
                last.store(1, Ordering::Release);
            });
            assert!(shared.slot.close(cookie()));
            // Acquire: pairs with the release of the kernel, which says that nothing comes of the user any more.
            while shared.holds[0].is_on(cookie()) && gone.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
            shared.slot.free(cookie());
            // SAFETY: nobody holds it who lives.
            shared.memory.with_mut(|memory| unsafe { memory.write(1) });
            user.join().unwrap();
            assert!(!shared.use_region(1));
        });
    }
}

/// The model must be able to fail: an owner that looks at the holds first.
#[test]
#[should_panic]
fn an_owner_that_looks_too_early_is_caught() {
    loom::model(|| {
        let shared = shared();
        shared.slot.open(cookie(), ABOUT, false);
        let other = shared.clone();
        let user = thread::spawn(move || other.use_region(0));
        shared.await_holds();
        assert!(shared.slot.close(cookie()));
        // SAFETY: none; this is what loom finds.
        shared.memory.with_mut(|memory| unsafe { memory.write(1) });
        user.join().unwrap();
    });
}
