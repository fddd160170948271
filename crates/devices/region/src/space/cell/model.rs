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
