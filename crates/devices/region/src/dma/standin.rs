//! An engine in software for tests: a ring of descriptors that a thread reads as the hardware would, and failures on demand.

use super::{Descriptor, FLAGS, MOVE, PAGE_FAULT, Portal, Record, SUCCESS};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Statuses of descriptors that the engine does not understand.
pub const BAD_OPERATION: u8 = 0x10;
const BAD_FLAGS: u8 = 0x11;
const NOT_ZERO: u8 = 0x12;
const TOO_LONG: u8 = 0x13;
const BAD_RECORD: u8 = 0x16;

/// What becomes of a copy.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    Done,
    /// A page is missing after so many bytes, but no more than the copy has.
    Missing(usize),
    Refused(u8),
}

/// By the number of the copy, from 0.
type Plan = fn(usize) -> Fate;

pub struct Standin {
    shared: Arc<Ring>,
    longest: usize,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Ring {
    places: Mutex<VecDeque<Option<Descriptor>>>,
    room: usize,
    news: Condvar,
    /// Descriptors taken, and copies whose end was noticed.
    taken: AtomicUsize,
    landed: AtomicUsize,
}

impl Standin {
    pub fn new(room: usize, longest: usize, plan: Plan) -> Arc<Standin> {
        let shared = Arc::new(Ring {
            places: Mutex::default(),
            room,
            news: Condvar::new(),
            taken: AtomicUsize::new(0),
            landed: AtomicUsize::new(0),
        });
        let ring = shared.clone();
        let run = move || {
            let mut number = 0;
            while let Some(descriptor) = ring.next() {
                execute(&descriptor, plan(number), longest);
                number += 1;
            }
        };
        let thread = (room > 0).then(|| std::thread::spawn(run));
        Arc::new(Standin { shared, longest, thread })
    }

    pub fn taken(&self) -> usize {
        self.shared.taken.load(Ordering::Relaxed)
    }

    pub fn landed_so_far(&self) -> usize {
        self.shared.landed.load(Ordering::Relaxed)
    }
}

impl Ring {
    /// The next descriptor; `None` at the end.
    fn next(&self) -> Option<Descriptor> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match places.pop_front() {
                Some(place) => return place,
                None => places = self.news.wait(places).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn put(&self, place: Option<Descriptor>) -> bool {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let free = place.is_none() || places.len() < self.room;
        if free {
            places.push_back(place);
            self.news.notify_one();
        }
        free
    }
}

impl Portal for Standin {
    unsafe fn submit(&self, descriptor: &Descriptor) -> bool {
        let taken = self.shared.put(Some(descriptor.clone()));
        self.shared.taken.fetch_add(usize::from(taken), Ordering::Relaxed);
        taken
    }

    fn landed(&self) {
        self.shared.landed.fetch_add(1, Ordering::Relaxed);
    }

    fn longest(&self) -> usize {
        self.longest
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        self.shared.put(None);
        self.thread.take().into_iter().for_each(|thread| thread.join().expect("the stand-in"));
    }
}

/// What is wrong with a descriptor of a move.
fn wrong(descriptor: &Descriptor, longest: usize) -> Option<u8> {
    let checks = [
        (descriptor.operation >> 24 != MOVE, BAD_OPERATION),
        (descriptor.operation & 0xff_ffff != FLAGS, BAD_FLAGS),
        (descriptor.space != 0 || descriptor.none != 0 || descriptor.reserved != [0; 3], NOT_ZERO),
        (descriptor.len == 0 || descriptor.len as usize > longest, TOO_LONG),
        (!descriptor.record.is_multiple_of(32), BAD_RECORD),
    ];
    checks.iter().find(|(wrong, _)| *wrong).map(|(_, status)| *status)
}

fn execute(descriptor: &Descriptor, fate: Fate, longest: usize) {
    let len = descriptor.len as usize;
    let (moved, status) = match (wrong(descriptor, longest), fate) {
        (Some(status), _) | (None, Fate::Refused(status)) => (0, status),
        (None, Fate::Missing(after)) if after < len => (after, PAGE_FAULT),
        (None, _) => (len, SUCCESS),
    };
    // SAFETY: who has submitted the descriptor keeps the record and the memory until the status is there.
    unsafe {
        std::ptr::copy_nonoverlapping(descriptor.source as *const u8, descriptor.target as *mut u8, moved);
        let record = &*(descriptor.record as *const Record);
        record.fault.store(descriptor.target + moved as u64, Ordering::Relaxed);
        record.moved.store(if status == SUCCESS { 0 } else { moved as u32 }, Ordering::Relaxed);
        // Release: pairs with the acquire in `Flight::outcome`. The highest bit says that the fault was a write.
        let write = if status == PAGE_FAULT { 0x80 } else { 0 };
        record.status.store(u32::from(status) | write, Ordering::Release);
    }
}
