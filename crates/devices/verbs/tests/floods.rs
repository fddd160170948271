//! Accesses by the thousand that nobody waits for lose nothing, with cards of both kinds: those that have room for another
//! request when one has ended, and those that have it when its completion was polled.

use std::sync::atomic::{AtomicU64, Ordering};
use tern_device::{Channel, Direction, Header, Payload, Run, Sink, Word};
use tern_verbs::{Endpoint, Settings, Transport, Verbs};

/// More than completion queue and buffers hold.
const FLOOD: u64 = 12_000;

#[derive(Default)]
struct Heard(Vec<u64>);

impl Sink for Heard {
    fn packet(&mut self, _from: u32, header: &Header, _payload: &[u8]) {
        self.0.push(header[0]);
    }
    fn lost(&mut self, peer: u32, why: &str) {
        panic!("{peer} is lost: {why}");
    }
}

fn pair(transport: Transport, faults: &str) -> [Verbs; 2] {
    let open = |me| {
        let faults = faults.parse().expect("faults");
        let settings = Settings { faults, transport, node: me, ..Settings::default() };
        Endpoint::open(me, 2, &settings).expect("an endpoint")
    };
    let endpoints = [0, 1].map(open);
    let addresses = endpoints.each_ref().map(Endpoint::address);
    endpoints.map(|endpoint| endpoint.join(&addresses).expect("buffers"))
}

fn flood(transport: Transport, faults: &str) {
    let devices = pair(transport, faults);
    let mut heard = [Heard::default(), Heard::default()];
    let remotes = devices.each_ref().map(|device| device.remote().expect("the software HCA has atomics"));
    let memory = [0, 1].map(|_| &*Box::leak(Box::new([const { AtomicU64::new(0) }; 2])));
    // SAFETY: it stays.
    let keys =
        [0, 1].map(|me| unsafe { remotes[me].reveal(memory[me].as_ptr().cast_mut().cast(), 16) }.expect("a key"));
    for number in 0..FLOOD {
        for peer in [0, 1usize] {
            let address = memory[peer].as_ptr() as u64;
            let word = Word { peer: peer as u32, address, key: keys[peer] };
            // SAFETY: there is no answer.
            unsafe { remotes[0].fetch_add(word, 1, std::ptr::null_mut()) }.expect("it lives");
            if number % 8 == 0 {
                let own = [Run { address: (&raw const number).addr() as u64, len: 8 }];
                let theirs = [Run { address: address + 8, len: 8 }];
                // SAFETY: so few bytes are copied at once.
                unsafe { remotes[0].transfer(peer as u32, &own, &theirs, keys[peer], Direction::Put) }
                    .expect("it lives");
            }
        }
    }
    let mut polls = 0;
    // The card may have got rid of so little that there is no room.
    while devices[0].copy_and_send(1, &[7; 4], Payload::Bytes(&[1; 300])).is_none() {
        devices.iter().zip(&mut heard).for_each(|(device, heard)| _ = device.poll(heard));
        polls += 1;
        assert!(polls < 2_000_000 && !remotes[0].is_lost(1), "{faults:?}: there is never room for a packet");
        std::thread::yield_now();
    }
    for peer in [0, 1] {
        let mut polls = 0;
        while remotes[0].ended(peer) < remotes[0].begun(peer) || heard[1].0.is_empty() {
            devices.iter().zip(&mut heard).for_each(|(device, heard)| _ = device.poll(heard));
            polls += 1;
            assert!(
                polls < 2_000_000 && !remotes[0].is_lost(peer),
                "{faults:?}: the flood towards {peer} does not end"
            );
            std::thread::yield_now();
        }
        let [sum, last] = memory[peer as usize].each_ref().map(|word| word.load(Ordering::SeqCst));
        assert_eq!((sum, last), (FLOOD, (FLOOD - 1) / 8 * 8), "{faults:?}: what came to {peer}");
    }
    assert_eq!(heard[1].0, [7]);
}

#[test]
fn where_a_request_keeps_its_place_until_it_is_polled() {
    flood(Transport::Rc, "");
}

#[test]
fn where_a_request_has_a_place_until_it_has_ended() {
    flood(Transport::Rc, "early-room");
}

#[test]
fn over_xrc() {
    flood(Transport::Xrc, "early-room");
}
