//! Many threads at the locks, and threads.

use super::*;
use lock_api::{RawMutex as _, RawMutexFair as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TURNS: u32 = 2000;

#[test]
fn one_at_a_time_has_a_mutex_however_it_is_given_up() {
    static LOCK: RawMutex = RawMutex::INIT;
    static INSIDE: AtomicBool = AtomicBool::new(false);
    let alone = || {
        assert!(!INSIDE.swap(true, Ordering::Relaxed), "two have the lock");
        std::thread::yield_now();
        INSIDE.store(false, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for number in 0..6 {
            scope.spawn(move || {
                for turn in 0..TURNS {
                    LOCK.lock();
                    alone();
                    // SAFETY: this thread has taken the lock in each case.
                    unsafe {
                        match (turn + number) % 3 {
                            0 => LOCK.unlock(),
                            1 => LOCK.unlock_fair(),
                            _ => {
                                LOCK.bump();
                                alone();
                                LOCK.unlock();
                            }
                        }
                    }
                }
            });
        }
    });
    assert!(LOCK.try_lock(), "it is free in the end");
}

fn sleeps(thread: rustix::thread::Pid) -> bool {
    let status =
        std::fs::read_to_string(format!("/proc/self/task/{}/stat", thread.as_raw_nonzero())).expect("a thread");
    status.rsplit_once(") ").expect("a name").1.starts_with('S')
}

/// Without the handing over, the one that bumps would take the lock again at once, nearly always.
#[test]
fn who_waits_gets_the_lock_at_a_bump() {
    static LOCK: RawMutex = RawMutex::INIT;
    static TAKEN: AtomicBool = AtomicBool::new(false);
    for _ in 0..100 {
        TAKEN.store(false, Ordering::Relaxed);
        LOCK.lock();
        let (told, tells) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            told.send(rustix::thread::gettid()).expect("heard");
            LOCK.lock();
            TAKEN.store(true, Ordering::Relaxed);
            // SAFETY: this thread has just taken it.
            unsafe { LOCK.unlock() };
        });
        let waiter = tells.recv().expect("told");
        // Once it is noted it sleeps for the lock alone.
        while LOCK.0.load(Ordering::Relaxed) & 2 == 0 || !sleeps(waiter) {
            std::thread::yield_now();
        }
        // SAFETY: this thread has the lock.
        unsafe { LOCK.bump() };
        assert!(TAKEN.load(Ordering::Relaxed), "the lock was not handed over");
        // SAFETY: it has it again.
        unsafe { LOCK.unlock() };
        waiting.join().expect("no panic");
    }
}

#[test]
fn many_read_or_one_writes() {
    let lock = Arc::new(RwLock::new((0, 0)));
    std::thread::scope(|scope| {
        for number in 0..6 {
            let lock = lock.clone();
            scope.spawn(move || {
                for turn in 0..TURNS {
                    if (turn + number) % 5 == 0 {
                        let mut both = lock.write();
                        both.0 += 1;
                        std::thread::yield_now();
                        both.1 += 1;
                    } else {
                        let both = lock.read();
                        let again = lock.read_recursive();
                        assert!(both.0 == both.1 && again.0 == again.1, "read while another wrote");
                    }
                }
            });
        }
    });
    assert_eq!(*lock.read(), (6 * TURNS / 5, 6 * TURNS / 5));
}

#[test]
fn a_change_ends_a_wait_and_so_does_time() {
    let state = Arc::new((Mutex::new(0), Condvar::new()));
    let changing = Thread::start("changing", 64 << 10, {
        let state = state.clone();
        move || {
            for _ in 0..TURNS {
                *state.0.lock() += 1;
                state.1.notify_all();
            }
        }
    });
    let mut value = state.0.lock();
    let end = Instant::now() + Duration::from_secs(60);
    while *value < TURNS {
        assert!(state.1.wait_until(&mut value, end), "a change was missed");
    }
    assert!(!state.1.wait_for(&mut value, Duration::from_millis(1)));
    changing.expect("a thread").join();
}

#[test]
fn a_thread_has_its_name_its_stack_and_no_signals() {
    let (told, tells) = std::sync::mpsc::channel();
    let thread = Thread::start("tern-test", 64 << 10, move || {
        let name = rustix::thread::name().expect("a name");
        // More than the smallest stack that there is.
        let room = std::hint::black_box([1_u8; 48 << 10]);
        told.send((name.into_string().expect("text"), room.iter().map(|&one| u32::from(one)).sum::<u32>()))
            .expect("heard");
    });
    let thread = thread.expect("a thread");
    assert!(!thread.is_current());
    assert_eq!(tells.recv().expect("told"), ("tern-test".to_string(), 48 << 10));
    thread.join();
}
