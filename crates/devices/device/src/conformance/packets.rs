//! Packets: whole, in order, of every size.

use super::*;
use crate::Gather;

pub fn it_reaches_the_peers_that_there_are(factory: Factory) {
    let devices = everybody(factory, 3);
    for (me, device) in devices.iter().enumerate() {
        let reached: Vec<u32> = (0..5).filter(|&peer| device.reaches(peer)).collect();
        let others: Vec<u32> = (0..3).filter(|&peer| peer != me as u32).collect();
        assert_eq!(reached, others, "what process {me} of 3 reaches");
    }
}

pub fn nothing_has_arrived_at_first(factory: Factory) {
    let devices = everybody(factory, 2);
    let mut inbox = Inbox::default();
    for device in &devices {
        assert_eq!(device.poll(&mut inbox), 0);
    }
    assert!(inbox.0.is_empty());
    // A poll says how many packets it brought, and brings each of them once.
    send(&*devices[0], 1, &[1; 4], b"x");
    let mut packets = 0;
    while packets == 0 {
        packets = devices[1].poll(&mut inbox);
    }
    assert_eq!((packets, inbox.0.len()), (1, 1));
    assert_eq!(devices[1].poll(&mut inbox), 0);
    assert_eq!(inbox.0.len(), 1);
}

/// Sizes at which a device may change its ways.
fn sizes(device: &dyn Channel) -> Vec<usize> {
    let able = device.abilities();
    assert!(able.inline <= able.packet, "what travels inline fits into a packet");
    assert!(able.packet > 0);
    let mut sizes = vec![0, 1, 2, 63, 64, 65];
    for limit in [able.inline, able.packet] {
        sizes.extend([limit.saturating_sub(1), limit, limit + 1]);
    }
    sizes.retain(|&size| size <= able.packet);
    sizes
}

pub fn packets_of_every_size_arrive_whole(factory: Factory) {
    let devices = everybody(factory, 2);
    let mut inbox = Inbox::default();
    for size in sizes(&*devices[0]) {
        let seed = size as u64 + 1;
        let taken = send(&*devices[0], 1, &[seed; 4], &bytes(seed, size));
        // Alone on its way, a payload that fits into a packet goes in one.
        assert_eq!(taken, size);
        let (from, header, payload) = receive(&*devices[1], &mut inbox);
        assert_eq!((from, header, payload.len()), (0, [seed; 4], size));
        check(seed, &payload);
    }
}

pub fn packets_of_a_pair_stay_in_order(factory: Factory) {
    let devices = everybody(factory, 2);
    let sizes = sizes(&*devices[0]);
    let mut inbox = Inbox::default();
    // Two packets are under way at any time, so that a long one could be overtaken.
    let mut expected = VecDeque::new();
    for number in 0..500u64 {
        let size = sizes[(number * 7 % sizes.len() as u64) as usize];
        let payload = bytes(number, size);
        while let Some(taken) = {
            let taken = devices[0].copy_and_send(1, &[number; 4], Payload::Bytes(&payload));
            if expected.len() > 1 || taken.is_none() && !expected.is_empty() {
                take_one(&*devices[1], &mut inbox, &mut expected);
            }
            Some(taken)
        } {
            if let Some(taken) = taken {
                expected.push_back((number, taken));
                break;
            }
        }
    }
    while !expected.is_empty() {
        take_one(&*devices[1], &mut inbox, &mut expected);
    }
    assert!(inbox.0.is_empty());
}

/// Receives one packet, which must be the oldest of `expected` (number, length).
pub(super) fn take_one(device: &dyn Channel, inbox: &mut Inbox, expected: &mut VecDeque<(u64, usize)>) {
    let (number, size) = expected.pop_front().expect("no packet refused while none is under way");
    let (_, header, payload) = receive(device, inbox);
    assert_eq!((header, payload.len()), ([number; 4], size), "packets in the order of sending");
    check(number, &payload);
}

pub fn headers_are_not_touched(factory: Factory) {
    let devices = everybody(factory, 2);
    let mut inbox = Inbox::default();
    for header in [[0; 4], [u64::MAX; 4], [1, 2, 3, 4], [0, u64::MAX, 0, 1 << 63]] {
        send(&*devices[1], 0, &header, &[]);
        assert_eq!(receive(&*devices[0], &mut inbox), (1, header, vec![]));
    }
}

/// A gather that must be asked for no more than it has.
struct Gathered<'a>(&'a [u8]);

impl Gather for Gathered<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn write_to(&mut self, out: &mut [u8]) {
        out.copy_from_slice(&self.0[..out.len()]);
    }
}

pub fn gathered_payloads_arrive_as_bytes_do(factory: Factory) {
    let devices = everybody(factory, 2);
    let mut inbox = Inbox::default();
    let beyond = devices[0].abilities().packet * 2;
    for size in sizes(&*devices[0]).into_iter().chain([beyond]) {
        let whole = bytes(9, size);
        let taken = taken_at_last(&*devices[0], || {
            devices[0].copy_and_send(1, &[size as u64; 4], Payload::Gather(&mut Gathered(&whole)))
        });
        let (_, header, payload) = receive(&*devices[1], &mut inbox);
        assert_eq!(header, [size as u64; 4]);
        assert_eq!(payload, whole[..taken], "a gather of {size} bytes");
    }
}

pub fn long_payloads_go_in_parts(factory: Factory) {
    let devices = everybody(factory, 2);
    let packet = devices[0].abilities().packet;
    let whole = bytes(5, 10 * packet + 17);
    let (mut sent, mut came) = (0, Vec::new());
    let mut inbox = Inbox::default();
    while came.len() < whole.len() {
        if sent < whole.len() {
            let payload = Payload::Bytes(&whole[sent..]);
            if let Some(taken) = devices[0].copy_and_send(1, &[sent as u64; 4], payload) {
                sent += taken;
                assert!(taken > 0 && sent <= whole.len(), "{taken} bytes, and {sent} in all");
            }
        }
        devices[1].poll(&mut inbox);
        for (_, header, payload) in inbox.0.drain(..) {
            assert_eq!(header[0], came.len() as u64);
            came.extend_from_slice(&payload);
        }
    }
    assert_eq!(came, whole);
}

/// More processes than a word has bits. Fewer where each pair has a connection: one process holds both ends of all of
/// them here, several descriptors each.
fn many(factory: Factory) -> u32 {
    let devices = everybody(factory, 3);
    if devices[0].abilities().lines { 70 } else { 20 }
}

pub fn everybody_sends_to_everybody(factory: Factory) {
    let many = many(factory);
    let devices = everybody(factory, many);
    let seed = |from: u32, to: u32| (from * many + to) as u64;
    for round in 0..2 {
        for from in 0..many {
            for to in (0..many).filter(|&to| to != from) {
                let payload = bytes(seed(from, to), (from + to + round) as usize);
                send(&*devices[from as usize], to, &[seed(from, to); 4], &payload);
            }
        }
        for (to, device) in (0..).zip(&devices) {
            let mut inbox = Inbox::default();
            let mut seen = vec![0; many as usize];
            for _ in 1..many {
                let (from, header, payload) = receive(&**device, &mut inbox);
                assert_eq!(header, [seed(from, to); 4]);
                assert_eq!(payload.len(), (from + to + round) as usize);
                check(seed(from, to), &payload);
                seen[from as usize] += 1;
            }
            assert_eq!(device.poll(&mut inbox), 0);
            assert!(seen.iter().enumerate().all(|(from, &n)| n == (from as u32 != to) as u32));
        }
    }
}

pub fn a_peer_may_begin_late(factory: Factory) {
    let devices = everybody(factory, 4);
    let mut inbox = Inbox::default();
    for from in [2, 1, 3] {
        // The receiver has looked before, and has heard from others.
        assert_eq!(devices[0].poll(&mut inbox), 0);
        for number in 0..3 {
            send(&*devices[from], 0, &[number; 4], &[from as u8]);
        }
        for number in 0..3 {
            let packet = receive(&*devices[0], &mut inbox);
            assert_eq!(packet, (from as u32, [number; 4], vec![from as u8]));
        }
    }
}

/// Sends every packet back to where it came from.
struct Echo<'a>(&'a dyn Channel);

impl Sink for Echo<'_> {
    fn packet(&mut self, from: u32, header: &Header, payload: &[u8]) {
        send(self.0, from, header, payload);
    }
}

pub fn a_sink_may_send(factory: Factory) {
    let devices = everybody(factory, 3);
    let mut inbox = Inbox::default();
    for number in 0..50u64 {
        for from in [1usize, 2] {
            let payload = bytes(number + from as u64, 100);
            send(&*devices[from], 0, &[number; 4], &payload);
        }
        let mut packets = 0;
        while packets < 2 {
            packets += devices[0].poll(&mut Echo(&*devices[0]));
        }
        for from in [1usize, 2] {
            let (_, header, payload) = receive(&*devices[from], &mut inbox);
            assert_eq!((header, payload.len()), ([number; 4], 100));
            check(number + from as u64, &payload);
        }
    }
}
