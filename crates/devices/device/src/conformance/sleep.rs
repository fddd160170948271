//! Sleeping until a peer rings. No check asks how fast a wake-up is; a sleep that ends only by
//! its own time limit was a lost one.

use super::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longer than any machine delays a thread that has work.
const LONG: Duration = Duration::from_secs(60);

/// Sleeps as a waiting process does, until `inbox` has a packet.
fn sleep_until_packet(device: &dyn Channel, inbox: &mut Inbox) -> Packet {
    loop {
        device.poll(inbox);
        if inbox.0.is_empty() {
            let token = device.prepare_sleep();
            if device.poll(inbox) == 0 {
                let start = Instant::now();
                device.sleep(token, LONG);
                assert!(start.elapsed() < LONG, "a wake-up was lost");
            }
            device.end_sleep();
        }
        if let Some(packet) = inbox.0.pop_front() {
            return packet;
        }
    }
}

pub fn a_packet_wakes_a_sleeper(factory: Factory) {
    const ROUNDS: u64 = 3000;
    let group = factory(2);
    let group = &*group;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let device = group.join(1);
            let mut inbox = Inbox::default();
            for round in 0..ROUNDS {
                let packet = sleep_until_packet(&*device, &mut inbox);
                assert_eq!(packet, (0, [round; 4], vec![]));
                send(&*device, 0, &[round; 4], &bytes(round, 300));
            }
        });
        let device = group.join(0);
        let mut inbox = Inbox::default();
        for round in 0..ROUNDS {
            send(&*device, 1, &[round; 4], &[]);
            let (_, header, payload) = sleep_until_packet(&*device, &mut inbox);
            assert_eq!((header, payload.len()), ([round; 4], 300));
            check(round, &payload);
        }
        // The peer has sent, and this one has received: nobody sleeps now.
        // Of processes that share no memory nothing is known, but that this one is awake.
        let awake = device.awake();
        assert!(if device.abilities().lines { awake == 2 } else { awake >= 1 }, "{awake} processes are awake");
    });
}

pub fn room_wakes_a_sleeper(factory: Factory) {
    const PACKETS: u64 = 5000;
    // So many at a time that they do not fit, and nobody takes one before the sender sleeps.
    const BATCH: u64 = 500;
    let group = factory(2);
    let group = &*group;
    let size = |number: u64| if number.is_multiple_of(7) { 1000 } else { 20 };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let device = group.join(0);
            for number in 0..PACKETS {
                let payload = bytes(number, size(number));
                let try_send = || device.copy_and_send(1, &[number; 4], Payload::Bytes(&payload));
                while try_send().is_none() {
                    let token = device.prepare_sleep();
                    let taken = try_send();
                    if taken.is_none() {
                        let start = Instant::now();
                        device.sleep(token, LONG);
                        assert!(start.elapsed() < LONG, "room was made and nobody said so");
                    }
                    device.end_sleep();
                    if taken.is_some() {
                        break;
                    }
                }
            }
        });
        let device = group.join(1);
        let mut inbox = Inbox::default();
        for number in 0..PACKETS {
            if number.is_multiple_of(BATCH) {
                // As one that computes: the sender has filled the ring by the time.
                std::thread::sleep(Duration::from_millis(5));
            }
            let (_, header, payload) = receive(&*device, &mut inbox);
            assert_eq!((header, payload.len()), ([number; 4], size(number)));
            check(number, &payload);
        }
    });
}

pub fn a_ring_before_sleeping_counts(factory: Factory) {
    let devices = everybody(factory, 2);
    for _ in 0..100 {
        let token = devices[0].prepare_sleep();
        devices[1].ring(0);
        let start = Instant::now();
        devices[0].sleep(token, LONG);
        assert!(start.elapsed() < LONG, "a ring after the token was lost");
        devices[0].end_sleep();
    }
    // Nobody sleeps any more: a ring has nothing to do, and hurts nobody.
    devices[1].ring(0);
    devices[1].ring(1);
}

pub fn work_before_sleeping_is_seen(factory: Factory) {
    let devices = everybody(factory, 2);
    let mut inbox = Inbox::default();
    for number in 0..100 {
        let token = devices[0].prepare_sleep();
        send(&*devices[1], 0, &[number; 4], &[]);
        let start = Instant::now();
        devices[0].sleep(token, LONG);
        assert!(start.elapsed() < LONG, "a packet after the token did not wake its receiver");
        devices[0].end_sleep();
        assert_eq!(receive(&*devices[0], &mut inbox), (1, [number; 4], vec![]));
    }
}

/// A device that threads share as the library's do: all but sleeping under one lock.
struct Shared {
    device: Box<dyn Channel>,
    lock: Mutex<()>,
}

// SAFETY: every call but `sleep` is made under the lock; `sleep` may be made without it.
unsafe impl Sync for Shared {}

pub fn a_process_wakes_its_own_threads(factory: Factory) {
    const SLEEPERS: usize = 3;
    let device = everybody(factory, 2).remove(0);
    let shared = Shared { device, lock: Mutex::new(()) };
    // Not just its fields: the whole of it is what may be shared.
    let shared = &shared;
    for _ in 0..50 {
        let ready = AtomicBool::new(false);
        let ready = &ready;
        std::thread::scope(|scope| {
            for _ in 0..SLEEPERS {
                scope.spawn(move || {
                    loop {
                        let token = {
                            let _held = shared.lock.lock().unwrap();
                            shared.device.prepare_sleep()
                        };
                        let seen = {
                            let _held = shared.lock.lock().unwrap();
                            ready.load(Ordering::Relaxed)
                        };
                        if !seen {
                            let start = Instant::now();
                            shared.device.sleep(token, LONG);
                            assert!(start.elapsed() < LONG, "a thread was not woken");
                        }
                        let _held = shared.lock.lock().unwrap();
                        shared.device.end_sleep();
                        if ready.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                });
            }
            std::thread::yield_now();
            let _held = shared.lock.lock().unwrap();
            ready.store(true, Ordering::Relaxed);
            shared.device.ring(0);
        });
    }
}
