//! Events: what a tool can be told of when it happens (MPI 5.0 section 15.3.8).
//!
//! Where an event happens, [`raise`] keeps it with its time, if somebody listens: one load otherwise. It is
//! handed on later, from a place where user code may run, by whoever was named by [`listen`].

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message came before its receive.
    Unexpected,
    /// A published receive was filled by its sender.
    Filled,
    /// Memory was promoted.
    Promoted,
}

/// One element of an event's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    pub name: &'static str,
    /// True for an unsigned integer of 8 bytes, else an int of 4.
    pub wide: bool,
}

const fn int(name: &'static str) -> Element {
    Element { name, wide: false }
}

const fn wide(name: &'static str) -> Element {
    Element { name, wide: true }
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Unexpected, Kind::Filled, Kind::Promoted];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Unexpected => "unexpected_message",
            Kind::Filled => "receive_filled",
            Kind::Promoted => "memory_promoted",
        }
    }

    /// Name of its category.
    pub fn category(self) -> &'static str {
        match self {
            Kind::Unexpected => "receiving",
            Kind::Filled => "publishing",
            Kind::Promoted => "promotion",
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Kind::Unexpected => {
                "A message came before its receive. The source is the sender's rank in the communicator of the message."
            }
            Kind::Filled => {
                "A published receive got its message without one on the stream. The source is the rank that it names."
            }
            Kind::Promoted => "Private memory became shared memory in place.",
        }
    }

    /// What its data consists of, in order.
    pub fn elements(self) -> &'static [Element] {
        const MESSAGE: [Element; 3] = [int("source"), int("tag"), wide("bytes")];
        const MEMORY: [Element; 2] = [wide("address"), wide("bytes")];
        match self {
            Kind::Unexpected | Kind::Filled => &MESSAGE,
            Kind::Promoted => &MEMORY,
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// Something that has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: Kind,
    /// When, by [`now`].
    pub time: u64,
    /// One value for each element, the rest 0.
    pub values: [u64; 3],
}

/// Events that wait to be handed on, at most.
const MOST: usize = 4096;

struct Queue {
    events: VecDeque<Event>,
    /// For each kind: how many had no room.
    dropped: [u64; Kind::ALL.len()],
}

static WANTED: AtomicU32 = AtomicU32::new(0);
static QUEUE: Mutex<Queue> = Mutex::new(Queue { events: VecDeque::new(), dropped: [0; Kind::ALL.len()] });
static HERALD: OnceLock<fn()> = OnceLock::new();

/// Nanoseconds of the clock that events carry: CLOCK_MONOTONIC.
pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Says which kinds somebody listens to, and what is called when the first of them waits to be
/// handed on. The function stays the same for the life of the process.
pub fn listen(kinds: &[Kind], herald: fn()) {
    HERALD.get_or_init(|| herald);
    WANTED.store(kinds.iter().fold(0, |bits, kind| bits | kind.bit()), Relaxed);
}

/// It happens now.
#[inline]
pub fn raise(kind: Kind, values: [u64; 3]) {
    if WANTED.load(Relaxed) & kind.bit() != 0 {
        keep(kind, values);
    }
}

#[cold]
fn keep(kind: Kind, values: [u64; 3]) {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    if queue.events.len() == MOST {
        queue.dropped[kind as usize] += 1;
        return;
    }
    queue.events.push_back(Event { kind, time: now(), values });
    drop(queue);
    if let Some(herald) = HERALD.get() {
        herald();
    }
}

/// Takes all events that wait, oldest first, and for each kind how many later ones were dropped.
pub fn take() -> (VecDeque<Event>, [u64; Kind::ALL.len()]) {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    (std::mem::take(&mut queue.events), std::mem::take(&mut queue.dropped))
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test: the queue is the process's.
    #[test]
    fn only_what_is_wanted_is_kept_and_not_too_much_of_it() {
        static HERALDED: AtomicU32 = AtomicU32::new(0);
        raise(Kind::Filled, [1, 2, 3]);
        assert!(take().0.is_empty());
        listen(&[Kind::Unexpected], || _ = HERALDED.fetch_add(1, Relaxed));
        raise(Kind::Filled, [1, 2, 3]);
        raise(Kind::Unexpected, [4, 5, 6]);
        let (events, dropped) = take();
        assert_eq!((events.len(), events[0].kind, events[0].values), (1, Kind::Unexpected, [4, 5, 6]));
        assert_eq!((dropped, HERALDED.load(Relaxed)), ([0; 3], 1));
        (0..MOST as u64 + 7).for_each(|at| raise(Kind::Unexpected, [at, 0, 0]));
        let (events, dropped) = take();
        assert_eq!((events.len(), events[0].values[0], dropped), (MOST, 0, [7, 0, 0]));
        assert!(events.iter().is_sorted_by_key(|event| event.time));
        assert_eq!(take(), (VecDeque::new(), [0; 3]));
        listen(&[], || {});
        raise(Kind::Unexpected, [0; 3]);
        assert!(take().0.is_empty());
    }
}
