//! The ring under loom: every order of the two ends' steps, and every value that the memory
//! model lets a load return.
//!
//! Payloads are plain memory, which loom does not see. So each cell and each unit of data has a
//! shadow that loom does see: the sender writes it where it fills the payload, the receiver
//! reads it while it holds the packet, and loom fails when the two are not ordered.

use super::blocks::{Blocks, Division, UNIT};
use super::{CELLS, INLINE, Receiver, Ring, Sender, Slot, Taken};
use crate::doorbell::{Barrier, Doorbell};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::rc::Rc;
use tern_atomics::{AtomicU32, Ordering};
use tern_device::{Gather, Payload};

/// Two blocks for short payloads and three for long ones for each side.
const PART: usize = 16 * UNIT;
const SHORT: usize = 2 * UNIT;
const LONG: usize = 3 * UNIT;

/// Two rings, one each way, and what belongs to them. All tests but one use the first ring only.
struct Memory {
    ring: Ring,
    back: Ring,
    data: std::cell::UnsafeCell<[u8; 2 * PART]>,
    cells: [UnsafeCell<u8>; 2 * CELLS as usize],
    units: [UnsafeCell<u8>; 2 * PART / UNIT],
}

// SAFETY: `data` is only touched through the ring, whose rules are what is tested here.
unsafe impl Sync for Memory {}

impl Memory {
    fn new() -> Arc<Memory> {
        let slot = || Slot { turn: AtomicU32::new(0), size: 0, told: 0, header: [0; 4], inline: [0; INLINE] };
        let ring = || Ring {
            slots: std::array::from_fn(|_| slot()),
            taken: Taken {
                cells: AtomicU32::new(0),
                wanted: AtomicU32::new(0),
                blocks: std::array::from_fn(|_| AtomicU32::new(0)),
            },
        };
        Arc::new(Memory {
            ring: ring(),
            back: ring(),
            data: [0; 2 * PART].into(),
            cells: std::array::from_fn(|_| UnsafeCell::new(0)),
            units: std::array::from_fn(|_| UnsafeCell::new(0)),
        })
    }

    fn base(&self) -> *mut u8 {
        self.data.get().cast()
    }

    /// The blocks, as the one or the other side knows them.
    fn blocks(&self, lower: bool) -> Rc<Blocks> {
        let parts = [self.base(), self.base().wrapping_add(PART)];
        // SAFETY: the memory outlives what is made of it.
        Rc::new(unsafe { Blocks::new(Division::new(PART), parts, lower) })
    }

    /// The shadows of the units that `len` bytes at `start` lie in; none for inline payloads.
    fn shadows(&self, start: *const u8, len: usize) -> &[UnsafeCell<u8>] {
        match (start as usize).checked_sub(self.base() as usize) {
            Some(offset) if offset < 2 * PART => &self.units[offset / UNIT..(offset + len).div_ceil(UNIT)],
            _ => &[],
        }
    }
}

/// Fills a payload with one value, and its shadows with it.
struct Fill<'a> {
    memory: &'a Memory,
    cell: usize,
    len: usize,
    value: u8,
}

impl Gather for Fill<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn write_to(&mut self, out: &mut [u8]) {
        let shadows = self.memory.shadows(out.as_ptr(), out.len());
        for shadow in shadows.iter().chain([&self.memory.cells[self.cell]]) {
            // SAFETY: loom checks that nobody reads or writes it at the same time.
            shadow.with_mut(|shadow| unsafe { *shadow = self.value });
        }
        out.fill(self.value);
    }
}

/// Sends packets of the lengths given, the first with value 1, the next with 2, and so on.
fn send_all(memory: &Memory, lengths: &[usize]) {
    // SAFETY: the memory outlives the sender; there is one.
    let sender = unsafe { Sender::new(&memory.ring, memory.blocks(true)) };
    for (number, &len) in lengths.iter().enumerate() {
        send_one(memory, &sender, 0, number, len);
    }
}

/// `cells`: where the shadows of the ring's cells begin.
fn send_one(memory: &Memory, sender: &Sender, cells: usize, number: usize, len: usize) {
    let value = number as u8 + 1;
    let mut fill = Fill { memory, cell: cells + number % CELLS as usize, len, value };
    while sender.send(&[value as u64; 4], Payload::Gather(&mut fill)).is_none() {
        thread::yield_now();
    }
}

fn receive_all(memory: &Memory, lengths: &[usize]) {
    let blocks = memory.blocks(false);
    // SAFETY: the memory outlives the receiver; there is one.
    let receiver = unsafe { Receiver::new(&memory.ring, blocks) };
    for (number, &len) in lengths.iter().enumerate() {
        receive_one(memory, &receiver, 0, number, len);
    }
    assert!(receiver.peek().is_none());
}

fn receive_one(memory: &Memory, receiver: &Receiver, cells: usize, number: usize, len: usize) {
    let value = number as u8 + 1;
    let (header, payload) = loop {
        match receiver.peek() {
            Some(packet) => break packet,
            None => thread::yield_now(),
        }
    };
    assert_eq!(*header, [value as u64; 4]);
    assert_eq!(payload.len(), len);
    assert!(payload.iter().all(|&byte| byte == value));
    let cell = &memory.cells[cells + number % CELLS as usize];
    for shadow in memory.shadows(payload.as_ptr(), payload.len()).iter().chain([cell]) {
        // SAFETY: loom checks that nobody writes it at the same time.
        assert_eq!(shadow.with(|shadow| unsafe { *shadow }), value);
    }
    receiver.advance();
    receiver.release();
}

fn pass(lengths: &'static [usize]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let memory = Memory::new();
        let other = memory.clone();
        let sender = thread::spawn(move || send_all(&other, lengths));
        receive_all(&memory, lengths);
        sender.join().unwrap();
    });
}

#[test]
fn short_packets_share_cells() {
    pass(&[0, 1, INLINE, 7, 2]);
}

#[test]
fn blocks_for_short_payloads_go_round() {
    // Five: four blocks, and the first again.
    pass(&[SHORT; 5]);
}

#[test]
fn short_and_long_packets_mix() {
    pass(&[LONG, 0, SHORT, 3, LONG]);
}

#[test]
fn blocks_go_round() {
    // Seven: six blocks, and the first again.
    pass(&[LONG; 7]);
}

/// Each side answers in the blocks that have come, and gives others back.
#[test]
fn blocks_are_kept_for_the_answer() {
    const TURNS: usize = 3;
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let memory = Memory::new();
        let other = memory.clone();
        let answering = thread::spawn(move || {
            let blocks = other.blocks(false);
            // SAFETY: the memory outlives both; there is one of each.
            let (sender, receiver) =
                unsafe { (Sender::new(&other.back, blocks.clone()), Receiver::new(&other.ring, blocks)) };
            for number in 0..TURNS {
                receive_one(&other, &receiver, 0, 2 * number, LONG);
                receive_one(&other, &receiver, 0, 2 * number + 1, LONG);
                send_one(&other, &sender, CELLS as usize, number, LONG);
            }
        });
        let blocks = memory.blocks(true);
        // SAFETY: as above.
        let (sender, receiver) =
            unsafe { (Sender::new(&memory.ring, blocks.clone()), Receiver::new(&memory.back, blocks)) };
        for number in 0..TURNS {
            send_one(&memory, &sender, 0, 2 * number, LONG);
            send_one(&memory, &sender, 0, 2 * number + 1, LONG);
            receive_one(&memory, &receiver, CELLS as usize, number, LONG);
        }
        answering.join().unwrap();
    });
}

/// A sender that sleeps since its ring is full has seen the room, or is rung.
#[test]
fn room_wakes_a_sleeping_sender() {
    loom::model(|| {
        let (memory, bell) = (Memory::new(), Arc::new(Doorbell::new()));
        // SAFETY: the memory outlives the sender; there is one.
        let sender = unsafe { Sender::new(&memory.ring, memory.blocks(true)) };
        for _ in 0..CELLS {
            sender.send(&[0; 4], Payload::Bytes(&[])).expect("room");
        }
        let (other, sleeper) = (memory.clone(), bell.clone());
        let receiving = thread::spawn(move || {
            // SAFETY: as above, for the one receiver.
            let receiver = unsafe { Receiver::new(&other.ring, other.blocks(false)) };
            for _ in 0..2 {
                receiver.peek().expect("the ring is full");
                receiver.advance();
                receiver.release();
                if receiver.is_room_wanted() {
                    sleeper.ring();
                }
            }
        });
        let mut token = None;
        if sender.send(&[0; 4], Payload::Bytes(&[])).is_none() {
            sender.want_room();
            let prepared = bell.prepare(Barrier::Expedited);
            token = sender.send(&[0; 4], Payload::Bytes(&[])).is_none().then_some(prepared);
        }
        receiving.join().unwrap();
        assert!(token.is_none_or(|token| bell.rung_since(token)), "it sleeps though there is room");
    });
}

/// The shadows must be able to fail: a receiver that gives a packet back before it has read it.
#[test]
#[should_panic(expected = "Causality violation")]
fn releasing_too_early_is_caught() {
    loom::model(|| {
        let memory = Memory::new();
        let other = memory.clone();
        let sender = thread::spawn(move || send_all(&other, &[1; 5]));
        // SAFETY: as in `receive_all`.
        let receiver = unsafe { Receiver::new(&memory.ring, memory.blocks(false)) };
        while receiver.peek().is_none() {
            thread::yield_now();
        }
        receiver.advance();
        receiver.release();
        // SAFETY: loom is to find that this is not so.
        memory.cells[0].with(|shadow| unsafe { *shadow });
        sender.join().unwrap();
    });
}

/// How a process of the models ends: nothing comes of it any more, and the kernel says so.
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

/// A sender ends in the midst of a packet: those before it come whole, and it never does.
#[test]
fn a_sender_that_ends_leaves_whole_packets() {
    for whole in 0..=2usize {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let (memory, end) = (Memory::new(), Arc::new(End(AtomicU32::new(0))));
            let (other, last) = (memory.clone(), end.clone());
            let sender = thread::spawn(move || {
                send_all(&other, &[3, LONG][..whole]);
                // It has begun to fill the next cell.
                other.cells[whole].with_mut(|shadow| unsafe { *shadow = 99 });
                last.come();
            });
            // SAFETY: the memory outlives the receiver; there is one.
            let receiver = unsafe { Receiver::new(&memory.ring, memory.blocks(false)) };
            let mut received = 0;
            loop {
                // First, so that nothing comes after the last look.
                let is_over = end.has_come();
                if receiver.peek().is_some() {
                    receive_one(&memory, &receiver, 0, received, [3, LONG][received]);
                    received += 1;
                } else if is_over {
                    break;
                } else {
                    thread::yield_now();
                }
            }
            assert_eq!(received, whole);
            sender.join().unwrap();
        });
    }
}

/// A receiver ends while it reads a packet, or has given it up and has not said so: its sender fills what is free, touches nothing that the receiver
/// may have been reading, and then knows that nobody takes more.
#[test]
fn a_receiver_that_ends_keeps_its_sender_from_nothing() {
    for advances in [false, true] {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let (memory, end) = (Memory::new(), Arc::new(End(AtomicU32::new(0))));
            let (other, last) = (memory.clone(), end.clone());
            let receiver = thread::spawn(move || {
                // SAFETY: the memory outlives the receiver; there is one.
                let receiver = unsafe { Receiver::new(&other.ring, other.blocks(false)) };
                if receiver.peek().is_some() {
                    assert_eq!(other.cells[0].with(|shadow| unsafe { *shadow }), 1);
                    if advances {
                        receiver.advance();
                    }
                }
                last.come();
            });
            // SAFETY: the memory outlives the sender; there is one.
            let sender = unsafe { Sender::new(&memory.ring, memory.blocks(true)) };
            let mut sent = 0;
            loop {
                let (is_over, value) = (end.has_come(), sent as u8 + 1);
                let mut fill = Fill { memory: &memory, cell: sent % CELLS as usize, len: 1, value };
                if sender.send(&[value as u64; 4], Payload::Gather(&mut fill)).is_some() {
                    sent += 1;
                } else if is_over {
                    break;
                } else {
                    thread::yield_now();
                }
            }
            assert_eq!(sent, CELLS as usize);
            receiver.join().unwrap();
        });
    }
}
