//! Flow: what happens when packets are sent faster than they are taken.

use super::packets::take_one;
use super::*;

/// A device that takes so much without a poll has no bound.
const TOO_MUCH: usize = 1 << 30;

/// Sends until there is no room; returns the (number, length) of what went.
fn fill(device: &dyn Channel, to: u32, size: usize) -> VecDeque<(u64, usize)> {
    let mut sent = VecDeque::new();
    let mut total = 0;
    for number in 0.. {
        let payload = bytes(number, size);
        let taken = match device.copy_and_send(to, &[number; 4], Payload::Bytes(&payload)) {
            Some(taken) => taken,
            None if sent.is_empty() => send(device, to, &[number; 4], &payload),
            None => break,
        };
        sent.push_back((number, taken));
        total += size_of::<Header>() + taken;
        assert!(total < TOO_MUCH, "a device must say when its peer does not take packets");
    }
    assert!(!sent.is_empty());
    sent
}

pub fn a_full_peer_says_so_and_recovers(factory: Factory) {
    let devices = everybody(factory, 2);
    let mut inbox = Inbox::default();
    for size in [0, 1, devices[0].abilities().inline, 1000] {
        for _ in 0..3 {
            let mut sent = fill(&*devices[0], 1, size);
            // It stays full while nobody polls (though for shorter packets there may be room).
            // Over a network, room that was made before may be known only now.
            let number = sent.len() as u64;
            let again = bytes(number, size);
            if let Some(taken) = devices[0].copy_and_send(1, &[number; 4], Payload::Bytes(&again)) {
                assert!(!devices[0].abilities().lines, "shared memory was full");
                sent.push_back((number, taken));
            }
            while !sent.is_empty() {
                take_one(&*devices[1], &mut inbox, &mut sent);
            }
            assert_eq!(devices[1].poll(&mut inbox), 0, "what was refused has not been sent");
        }
    }
}

pub fn a_full_peer_does_not_stop_others(factory: Factory) {
    let devices = everybody(factory, 3);
    let mut inbox = Inbox::default();
    let mut sent = fill(&*devices[0], 1, 64);
    send(&*devices[0], 2, &[7; 4], b"past it");
    assert_eq!(receive(&*devices[2], &mut inbox), (0, [7; 4], b"past it".to_vec()));
    send(&*devices[2], 1, &[8; 4], b"from elsewhere");
    let mut elsewhere = 0;
    while !sent.is_empty() || elsewhere == 0 {
        let (from, header, payload) = receive(&*devices[1], &mut inbox);
        if from == 2 {
            assert_eq!((header, &payload[..]), ([8; 4], &b"from elsewhere"[..]));
            elsewhere += 1;
        } else {
            let (number, size) = sent.pop_front().expect("no more than was sent");
            assert_eq!((header, payload.len()), ([number; 4], size));
            check(number, &payload);
        }
    }
    assert_eq!(elsewhere, 1);
}

pub fn long_payloads_fill_and_drain(factory: Factory) {
    let devices = everybody(factory, 2);
    let mut inbox = Inbox::default();
    let packet = devices[0].abilities().packet;
    let mut under_way = VecDeque::new();
    let mut refused = 0;
    for number in 0..2000u64 {
        // Lengths that leave gaps of all sizes in whatever holds the data.
        let size = (number as usize * 7919) % (packet + 1);
        let payload = bytes(number, size);
        loop {
            match devices[0].copy_and_send(1, &[number; 4], Payload::Bytes(&payload)) {
                Some(taken) => {
                    under_way.push_back((number, taken));
                    break;
                }
                None if under_way.is_empty() => {
                    let taken = send(&*devices[0], 1, &[number; 4], &payload);
                    under_way.push_back((number, taken));
                    break;
                }
                None => {
                    refused += 1;
                    take_one(&*devices[1], &mut inbox, &mut under_way);
                }
            }
        }
    }
    while !under_way.is_empty() {
        take_one(&*devices[1], &mut inbox, &mut under_way);
    }
    assert!(refused > 0, "the device was never full");
}

pub fn threads_at_both_ends(factory: Factory) {
    const PACKETS: u64 = 20_000;
    let group = factory(2);
    let size = |number: u64, packet: usize| {
        match number % 4 {
            0 => number as usize % 200,
            1 => number as usize * 31 % 3000,
            _ => number as usize % 90,
        }
        .min(packet)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let device = group.join(0);
            let packet = device.abilities().packet;
            for number in 0..PACKETS {
                let payload = bytes(number, size(number, packet));
                while device.copy_and_send(1, &[number; 4], Payload::Bytes(&payload)).is_none() {
                    std::thread::yield_now();
                }
            }
        });
        let device = group.join(1);
        let packet = device.abilities().packet;
        let mut inbox = Inbox::default();
        for number in 0..PACKETS {
            let (_, header, payload) = receive(&*device, &mut inbox);
            assert_eq!(header, [number; 4]);
            assert!(payload.len() <= size(number, packet));
            check(number, &payload);
        }
        assert_eq!(device.poll(&mut inbox), 0);
    });
}
