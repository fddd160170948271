//! Control lines under loom: groups that publish, wait for each other and read, turn by turn.
//!
//! Payloads are plain memory, which loom does not see; each cell has a shadow that it does see.

use super::{AtomicU64, Cell, ControlSlots, DEPTH, INLINE, Occupied};
use loom::cell::UnsafeCell;
use loom::thread;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of half a buffer.
const HALF: usize = 2048;
const BUFFER: usize = 2 * HALF;

/// How often a process looks for a turn before it gives up.
const LOOKS: usize = 3;

/// The memory of one process's area.
struct Memory {
    base: *mut u8,
    /// The turn that the payload in each cell, and in each half of each buffer, belongs to.
    cells: [UnsafeCell<u64>; DEPTH as usize],
    halves: [UnsafeCell<u64>; 4],
}

// SAFETY: used through the line area alone, whose rules are what is tested here.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

fn layout() -> Layout {
    Layout::from_size_align(ControlSlots::total(1, BUFFER), 4096).unwrap()
}

impl Memory {
    fn new() -> Memory {
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc_zeroed(layout()) };
        for index in 0..DEPTH as usize {
            let cell = Cell { turn: AtomicU64::new(0), label: AtomicU64::new(0), inline: [0; INLINE] };
            // SAFETY: the cells come first.
            unsafe { base.cast::<Cell>().add(index).write(cell) };
        }
        Memory {
            base,
            cells: std::array::from_fn(|_| UnsafeCell::new(0)),
            halves: std::array::from_fn(|_| UnsafeCell::new(0)),
        }
    }

    /// What stands for the memory of a payload.
    fn shadows(&self, turn: u64, len: usize) -> &[UnsafeCell<u64>] {
        if len <= INLINE {
            return std::slice::from_ref(&self.cells[(turn % DEPTH) as usize]);
        }
        let at = self.area().payload(turn, len) as usize - self.area().buffers as usize;
        &self.halves[at / HALF..(at + len).div_ceil(HALF)]
    }

    fn area(&self) -> ControlSlots {
        // SAFETY: set up in `new`; self outlives what the model does with it.
        unsafe { ControlSlots::new(self.base, 0, 1, BUFFER) }
    }

    fn publish(&self, turn: u64, len: usize) {
        self.area().publish_with(turn, label(turn), len, |out| {
            // SAFETY: loom checks that nobody reads it at the same time.
            self.shadows(turn, len).iter().for_each(|part| part.with_mut(|shadow| unsafe { *shadow = turn }));
            out.fill(turn as u8);
        });
    }

    /// Waits for `turn`; false when it does not come soon.
    fn comes(&self, turn: u64) -> bool {
        let mut looks = 0;
        while !self.area().reached(turn) {
            looks += 1;
            if looks == LOOKS {
                return false;
            }
            thread::yield_now();
        }
        true
    }

    /// Reads `turn`; false when it does not come soon.
    fn read(&self, turn: u64, len: usize) -> bool {
        if !self.comes(turn) {
            return false;
        }
        assert_eq!(self.area().label(turn), label(turn));
        // SAFETY: loom checks that nobody writes it at the same time.
        let shadow = |part: &UnsafeCell<u64>| part.with(|shadow| unsafe { *shadow });
        assert!(self.shadows(turn, len).iter().all(|part| shadow(part) == turn));
        let area = self.area();
        // SAFETY: reached, of this length, and dropped before this process publishes again.
        let payload = unsafe { area.read(turn, len) };
        assert!(payload.len() == len && payload.iter().all(|&byte| byte == turn as u8));
        true
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: from `alloc_zeroed` with the same layout.
        unsafe { dealloc(self.base, layout()) };
    }
}

fn label(turn: u64) -> u64 {
    turn + 100
}

/// `processes` of them exchange `lengths.len()` turns; turn `t` has `lengths[t - 1]` bytes. All
/// that can happen, or the first so many `runs`.
///
/// A process that misses a turn for long gives up, for loom cannot tell waiting from hanging:
/// the same process a little later is another run of the model, and looking has no effect that
/// others could see.
fn exchange(processes: usize, lengths: &'static [usize], runs: Option<usize>) {
    let mut model = loom::model::Builder::new();
    model.max_permutations = runs;
    let finished = Arc::new(AtomicUsize::new(0));
    let count = finished.clone();
    model.check(move || {
        let group: loom::sync::Arc<Vec<Memory>> = loom::sync::Arc::new((0..processes).map(|_| Memory::new()).collect());
        let run = move |group: &[Memory], me: usize| {
            (1..).zip(lengths).all(|(turn, &len)| {
                group[me].publish(turn, len);
                (0..processes).filter(|&peer| peer != me).all(|peer| group[peer].read(turn, len))
            })
        };
        let threads: Vec<_> = (1..processes)
            .map(|me| {
                let group = group.clone();
                thread::spawn(move || run(&group, me))
            })
            .collect();
        let mut all = run(&group, 0);
        for thread in threads {
            all &= thread.join().unwrap();
        }
        count.fetch_add(all as usize, Relaxed);
    });
    assert!(finished.load(Relaxed) > 0, "no run of the model came to its end");
}

#[test]
fn two_processes_take_turns() {
    exchange(2, &[8, 200, 4000, 0], None);
}

#[test]
fn three_processes_take_turns() {
    exchange(3, &[8, 8, 8], Some(100_000));
}

/// A root that gives turn after turn, of `lengths`, and waits only for what it would overwrite; its
/// peer takes them one by one.
fn broadcast(lengths: &'static [usize]) {
    let finished = Arc::new(AtomicUsize::new(0));
    let count = finished.clone();
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let root = loom::sync::Arc::new(Memory::new());
        let peer = loom::sync::Arc::new(Memory::new());
        let (from, own) = (root.clone(), peer.clone());
        let reader = thread::spawn(move || {
            (1..).zip(lengths).all(|(turn, &len)| {
                own.area().publish(turn, label(turn));
                from.read(turn, len)
            })
        });
        let occupied = Occupied::default();
        let gave = (1..).zip(lengths).all(|(turn, &len)| {
            let free = peer.comes(occupied.occupy(&root.area(), turn, len));
            if free {
                root.publish(turn, len);
            }
            free
        });
        let took = reader.join().unwrap();
        count.fetch_add((gave && took) as usize, Relaxed);
    });
    assert!(finished.load(Relaxed) > 0, "no run of the model came to its end");
}

#[test]
fn a_root_is_turns_ahead() {
    broadcast(&[8, 8, 8, 8, 8, 8]);
}

#[test]
fn a_root_with_longer_payloads_is_turns_ahead() {
    broadcast(&[200, 200, 8, 200, 200, 200]);
}

#[test]
fn a_root_with_the_longest_payloads_is_one_turn_ahead() {
    broadcast(&[4000, 8, 4000, 4000]);
}

#[test]
fn a_root_goes_over_to_other_lengths() {
    broadcast(&[200, 4000, 200, 200, 4000]);
}

/// A process that never waits for its peer overwrites what the peer reads.
#[test]
#[should_panic(expected = "Causality violation")]
fn going_on_alone_is_caught() {
    loom::model(|| {
        let memory = loom::sync::Arc::new(Memory::new());
        let other = memory.clone();
        let owner = thread::spawn(move || {
            other.publish(1, 8);
            other.publish(1 + DEPTH, 8);
        });
        while !memory.area().reached(1) {
            thread::yield_now();
        }
        // SAFETY: loom is to find that this is not so.
        memory.cells[1].with(|shadow| unsafe { *shadow });
        owner.join().unwrap();
    });
}
