//! Peers that are lost: the sink is told once, and everybody else goes on.

use std::str::FromStr;
use tern_device::{Channel, Direction, Header, Payload, Run, Sink, Word};
use tern_hca::Faults;
use tern_verbs::{Endpoint, Settings, Transport, Verbs};

/// What a process has heard.
#[derive(Default)]
struct Heard {
    packets: Vec<(u32, u64)>,
    lost: Vec<(u32, String)>,
}

impl Sink for Heard {
    fn packet(&mut self, from: u32, header: &Header, _payload: &[u8]) {
        self.packets.push((from, header[0]));
    }
    fn lost(&mut self, peer: u32, why: &str) {
        self.lost.push((peer, why.into()));
    }
}

/// Processes of which one has these faults, each on a node of its own.
fn world(processes: u32, faulty: u32, faults: &str) -> Vec<Option<Verbs>> {
    world_of(Transport::Rc, |me| me, processes, faulty, faults)
}

fn world_of(
    transport: Transport, node: fn(u32) -> u32, processes: u32, faulty: u32, faults: &str,
) -> Vec<Option<Verbs>> {
    let open = |me| {
        let faults = Faults::from_str(if me == faulty { faults } else { "" }).expect("faults");
        let settings = Settings { faults, transport, node: node(me), ..Settings::default() };
        Endpoint::open(me, processes, &settings).expect("an endpoint")
    };
    let endpoints: Vec<Endpoint> = (0..processes).map(open).collect();
    let addresses: Vec<Vec<u8>> = endpoints.iter().map(Endpoint::address).collect();
    endpoints.into_iter().map(|endpoint| Some(endpoint.join(&addresses).expect("buffers"))).collect()
}

fn send(device: &Verbs, to: u32, number: u64) -> bool {
    device.copy_and_send(to, &[number; 4], Payload::Bytes(&[1; 300])).is_some()
}

/// Polls until `done`; far more often than it can take.
fn until(devices: &[Option<Verbs>], heard: &mut [Heard], done: impl Fn(&[Heard]) -> bool) {
    for _ in 0..2_000_000 {
        for (device, heard) in devices.iter().zip(heard.iter_mut()) {
            if let Some(device) = device {
                device.poll(heard);
            }
        }
        if done(heard) {
            return;
        }
        std::thread::yield_now();
    }
    let lost: Vec<_> = heard.iter().map(|heard| (heard.packets.len(), &heard.lost)).collect();
    panic!("it does not come: {lost:?}");
}

fn heard(processes: usize) -> Vec<Heard> {
    (0..processes).map(|_| Heard::default()).collect()
}

#[test]
fn a_cut_connection_is_told_once_and_others_go_on() {
    cut(Transport::Rc);
}

#[test]
fn with_xrc_too_if_they_are_on_another_node() {
    cut(Transport::Xrc);
}

fn cut(transport: Transport) {
    let devices = world_of(transport, |me| me, 3, 0, "cut-after=20");
    let mut heard = heard(3);
    let (zero, two) = (devices[0].as_ref().expect("it lives"), devices[2].as_ref().expect("it lives"));
    for number in 0..200 {
        send(zero, 1, number);
        until(&devices, &mut heard, |_| true);
    }
    until(&devices, &mut heard, |heard| !heard[0].lost.is_empty() && !heard[1].lost.is_empty());
    // What came is the beginning of what was sent.
    let came: Vec<u64> = heard[1].packets.iter().map(|packet| packet.1).collect();
    assert_eq!(came, (0..came.len() as u64).collect::<Vec<_>>());
    assert!(send(two, 1, 7) && send(zero, 2, 8), "others go on");
    until(&devices, &mut heard, |heard| heard[1].packets.contains(&(2, 7)) && heard[2].packets == [(0, 8)]);
    assert!(!send(zero, 1, 9), "nothing is taken for a lost peer");
    for _ in 0..1000 {
        until(&devices, &mut heard, |_| true);
    }
    let lost: Vec<Vec<u32>> = heard.iter().map(|heard| heard.lost.iter().map(|lost| lost.0).collect()).collect();
    assert_eq!(lost, [vec![1], vec![0], vec![]]);
}

#[test]
fn a_peer_that_ends_is_lost_when_somebody_sends_to_it() {
    let mut devices = world(2, 9, "");
    let mut heard = heard(2);
    assert!(send(devices[0].as_ref().expect("it lives"), 1, 1));
    until(&devices, &mut heard, |heard| !heard[1].packets.is_empty());
    devices[1] = None;
    for _ in 0..1000 {
        until(&devices, &mut heard, |_| true);
    }
    assert!(heard[0].lost.is_empty(), "it has ended as it should: {:?}", heard[0].lost);
    for number in 0..100 {
        send(devices[0].as_ref().expect("it lives"), 1, number);
        until(&devices, &mut heard, |_| true);
    }
    until(&devices, &mut heard, |heard| heard[0].lost.len() == 1);
}

#[test]
fn a_peer_that_was_never_there_is_lost() {
    let mut devices = world(3, 9, "");
    devices[1] = None;
    let mut heard = heard(3);
    assert!(!send(devices[0].as_ref().expect("it lives"), 1, 1));
    assert!(send(devices[0].as_ref().expect("it lives"), 2, 2));
    until(&devices, &mut heard, |heard| heard[0].lost.len() == 1 && heard[2].packets == [(0, 2)]);
    assert!(heard[0].lost[0].1.contains("cannot be reached at 127.0.0.1"), "{:?}", heard[0].lost);
}

/// Everything that was sent arrives although its sender ends at once.
#[test]
fn what_was_sent_arrives_after_the_end_of_its_sender() {
    let mut devices = world(2, 9, "");
    let mut heard = heard(2);
    for number in 0..20 {
        assert!(send(devices[0].as_ref().expect("it lives"), 1, number));
    }
    devices[0] = None;
    until(&devices, &mut heard, |heard| heard[1].packets.len() == 20);
    assert!(heard[1].lost.is_empty(), "{:?}", heard[1].lost);
}

/// Full queues and peers without receives delay, and nothing more.
#[test]
fn full_queues_and_missing_receives_lose_nothing() {
    for faults in ["full=1/3", "rnr=1/4", "full=3/4,rnr=1/2"] {
        let devices = world(2, 0, faults);
        let mut heard = heard(2);
        let (mut there, mut back) = (0, 0);
        while there < 500 || back < 500 {
            there += u64::from(there < 500 && send(devices[0].as_ref().expect("it lives"), 1, there));
            back += u64::from(back < 500 && send(devices[1].as_ref().expect("it lives"), 0, back));
            until(&devices, &mut heard, |_| true);
        }
        until(&devices, &mut heard, |heard| heard.iter().all(|heard| heard.packets.len() == 500));
        for heard in &heard {
            assert!(heard.packets.iter().map(|packet| packet.1).eq(0..500), "in order with {faults}");
            assert!(heard.lost.is_empty());
        }
    }
}

/// The way to a node serves all of it.
#[test]
fn with_xrc_a_node_is_lost_as_a_whole() {
    let devices = world_of(Transport::Xrc, |me| me.min(1), 4, 0, "cut-after=20");
    let mut heard = heard(4);
    let zero = devices[0].as_ref().expect("it lives");
    for number in 0..200 {
        for peer in 1..4 {
            send(zero, peer, number);
        }
        until(&devices, &mut heard, |_| true);
    }
    until(&devices, &mut heard, |heard| heard[0].lost.len() == 3 && (1..4).all(|peer| heard[peer].lost.len() == 1));
    assert!((1..4).all(|peer| heard[peer].lost[0].0 == 0));
    // They reach each other.
    assert!(send(devices[1].as_ref().expect("it lives"), 2, 5));
    until(&devices, &mut heard, |heard| heard[2].packets.contains(&(1, 5)));
}

/// Accesses to a node that is cut off end with an error for each of its processes, and move nothing after that.
#[test]
fn accesses_end_when_a_peer_is_lost() {
    for transport in [Transport::Rc, Transport::Xrc] {
        accesses_are_cut(transport);
    }
}

fn accesses_are_cut(transport: Transport) {
    const LEN: usize = 60_000;
    let devices = world_of(transport, |me| me.min(1), 3, 0, "cut-after=50");
    let mut heard = heard(3);
    let remote = |me: usize| devices[me].as_ref().expect("it lives").remote().expect("the software HCA has atomics");
    let memory: Vec<&mut [u8]> = (0..3).map(|me| vec![me as u8; LEN].leak()).collect();
    // SAFETY: it stays.
    let reveal = |me: usize| unsafe { remote(me).reveal(memory[me].as_ptr().cast_mut(), LEN) }.expect("little memory");
    let keys = [0, reveal(1), reveal(2)];
    let run = |memory: &[u8]| [Run { address: memory.as_ptr() as u64, len: LEN as u64 }];
    let mut back = [0u8; 2].map(|_| vec![0u8; LEN]);
    let mut was = [0u64; 2];
    for _ in 0..200 {
        for peer in [1, 2usize] {
            let theirs = run(memory[peer]);
            let word = Word { peer: peer as u32, address: theirs[0].address, key: keys[peer] };
            // SAFETY: all of it stays; what is moved into is looked at when the accesses are over.
            let _lost = unsafe {
                remote(0).transfer(peer as u32, &run(&back[peer - 1]), &theirs, keys[peer], Direction::Get).is_err()
                    || remote(0).fetch_add(word, 0, &mut was[peer - 1]).is_err()
            };
        }
        until(&devices, &mut heard, |_| {
            [1, 2].iter().all(|&peer| remote(0).is_lost(peer) || remote(0).ended(peer) == remote(0).begun(peer))
        });
    }
    // With RC the one that was asked last is lost, or both.
    assert!(remote(0).is_lost(1) || remote(0).is_lost(2));
    assert!(transport == Transport::Rc || (remote(0).is_lost(1) && remote(0).is_lost(2)), "they share a queue pair");
    // Who is told of a loss has its memory back.
    let lost = [1, 2u32].map(|peer| remote(0).is_lost(peer));
    until(&devices, &mut heard, |heard| heard[0].lost.len() == lost.iter().filter(|lost| **lost).count());
    back.iter_mut().for_each(|back| back.fill(9));
    was.fill(9);
    for _ in 0..2000 {
        until(&devices, &mut heard, |_| true);
    }
    assert!(back.iter().all(|back| back.iter().all(|byte| *byte == 9)), "nothing comes late");
    assert_eq!(was, [9; 2]);
    // They reach each other's memory.
    let mut from = vec![0u8; LEN];
    // SAFETY: as above.
    unsafe { remote(1).transfer(2, &run(&from), &run(memory[2]), keys[2], Direction::Get) }.expect("it lives");
    until(&devices, &mut heard, |_| remote(1).ended(2) == remote(1).begun(2));
    assert!(!remote(1).is_lost(2));
    from.retain(|byte| *byte != 2);
    assert!(from.is_empty());
}

/// A process has one queue pair to a node, and its node one end for each process that sends there.
#[test]
fn with_xrc_queue_pairs_are_few() {
    let nodes = |me| me / 4;
    let pairs = |transport| {
        let devices = world_of(transport, nodes, 8, 9, "");
        let mut heard = heard(8);
        for (from, to) in (0..8).flat_map(|from| (0..8).map(move |to| (from, to))) {
            assert!(nodes(from) == nodes(to) || send(devices[from as usize].as_ref().expect("it lives"), to, 1));
        }
        until(&devices, &mut heard, |heard| heard.iter().all(|heard| heard.packets.len() == 4));
        let all = devices.iter().flatten().map(|device| device.footprint().queue_pairs);
        all.sum::<usize>()
    };
    assert_eq!(pairs(Transport::Rc), 8 * 4);
    // Eight that send, and their targets.
    assert_eq!(pairs(Transport::Xrc), 8 + 8);
}
