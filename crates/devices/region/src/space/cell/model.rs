//! Cells under loom: the data has one user at a time.

use super::*;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

struct Shared {
    cell: Cell,
    data: UnsafeCell<u64>,
}

// SAFETY: that the uses of `data` do not overlap is what the tests are about; loom checks it.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

fn shared() -> Arc<Shared> {
    let cell = Cell {
        state: AtomicU32::new(0),
        len: AtomicU32::new(0),
        cookie: AtomicU64::new(0),
        offset: AtomicU64::new(0),
        answer: AtomicU32::new(0),
    };
    Arc::new(Shared { cell, data: UnsafeCell::new(0) })
}

fn question(offset: u64) -> Question {
    Question { cookie: Cookie::new(1, 2, 3), offset, len: 8, write: true }
}

/// Serves one question if there is one: adds one to the data.
fn serve(shared: &Shared) -> bool {
    let Some(asked) = shared.cell.take(1) else { return false };
    assert_eq!(asked, question(asked.offset));
    // SAFETY: ours while served.
    shared.data.with_mut(|data| unsafe { data.write(data.read() + asked.offset) });
    shared.cell.answer(9);
    true
}

fn ask(shared: &Shared, offset: u64) {
    // SAFETY: a free cell is the asker's.
    shared.data.with_mut(|data| unsafe { data.write(100) });
    shared.cell.ask(question(offset));
}

fn data(shared: &Shared) -> u64 {
    // SAFETY: an answered cell is the asker's.
    shared.data.with(|data| unsafe { data.read() })
}

#[test]
fn two_questions_are_answered_in_turn() {
    loom::model(|| {
        let shared = shared();
        let other = shared.clone();
        let server = thread::spawn(move || {
            let mut served = 0;
            while served < 2 {
                served += u32::from(serve(&other));
                thread::yield_now();
            }
        });
        for offset in [1, 2] {
            ask(&shared, offset);
            let answer = loop {
                match shared.cell.answered() {
                    Some(answer) => break answer,
                    None => thread::yield_now(),
                }
            };
            assert_eq!((answer, data(&shared)), (9, 100 + offset));
        }
        server.join().unwrap();
    });
}

#[test]
fn two_threads_of_the_owner_serve_a_question_once() {
    loom::model(|| {
        let shared = shared();
        ask(&shared, 5);
        let servers = [0, 1].map(|_| {
            let other = shared.clone();
            thread::spawn(move || serve(&other))
        });
        let served = servers.map(|server| server.join().unwrap());
        assert_eq!(served.iter().filter(|served| **served).count(), 1);
        assert_eq!(shared.cell.answered(), Some(9));
        assert_eq!(data(&shared), 105);
    });
}

#[test]
fn a_withdrawn_cell_is_the_askers_again() {
    loom::model(|| {
        let shared = shared();
        ask(&shared, 5);
        let other = shared.clone();
        let server = thread::spawn(move || serve(&other));
        while !shared.cell.withdraw() {
            thread::yield_now();
        }
        // Ours again, whether it was served or not.
        ask(&shared, 7);
        server.join().unwrap();
    });
}

/// How a process of the models ends: nothing comes of it any more, and the kernel says so.
#[derive(Default)]
struct End(AtomicU32);

impl End {
    fn come(&self) {
        // Release: pairs with the acquire in `has_come`.
        self.0.store(1, Ordering::Release);
    }

    fn has_come(&self) -> bool {
        // Acquire: pairs with the release in `come`.
        self.0.load(Ordering::Acquire) != 0
    }
}

/// An owner ends at some step of its service: the asker has an answer, or its cell back.
#[test]
fn an_owner_that_ends_at_any_step_keeps_no_cell() {
    for steps in 0..=2 {
        loom::model(move || {
            let (shared, end) = (shared(), Arc::new(End::default()));
            ask(&shared, 5);
            let (other, last) = (shared.clone(), end.clone());
            let owner = thread::spawn(move || {
                if steps > 0 && other.cell.take(1).is_some() && steps > 1 {
                    // SAFETY: ours while served.
                    other.data.with_mut(|data| unsafe { data.write(7) });
                }
                last.come();
            });
            while shared.cell.answered().is_none() {
                if end.has_come() {
                    if !shared.cell.withdraw() {
                        shared.cell.clear();
                    }
                    break;
                }
                thread::yield_now();
            }
            // Ours again.
            ask(&shared, 7);
            owner.join().unwrap();
        });
    }
}

/// An asker ends after it has asked, while the owner serves it: whoever withdraws the question on its behalf has the cell, or the owner answers.
#[test]
fn an_asker_that_ends_leaves_a_cell_that_becomes_free() {
    loom::model(|| {
        let shared = shared();
        ask(&shared, 5);
        // It has ended here.
        let other = shared.clone();
        let owner = thread::spawn(move || serve(&other));
        while !shared.cell.withdraw() {
            thread::yield_now();
        }
        assert!(shared.cell.answered().is_none());
        ask(&shared, 7);
        owner.join().unwrap();
    });
}
