//! Rings are used by busy peers, are not by those that sleep, and come back.

use tern_counters::NETWORK_RING;
use tern_device::{Channel, Header, Payload, Sink};
use tern_verbs::{Endpoint, Settings, Verbs};

#[derive(Default)]
struct Inbox(Vec<u64>);

impl Sink for Inbox {
    fn packet(&mut self, _from: u32, header: &Header, payload: &[u8]) {
        assert!(payload.iter().all(|&byte| byte == header[0] as u8));
        self.0.push(header[0]);
    }
}

fn pair(settings: &Settings) -> [Verbs; 2] {
    let endpoints = [0, 1].map(|me| Endpoint::open(me, 2, settings).expect("an endpoint"));
    let addresses = endpoints.each_ref().map(Endpoint::address);
    endpoints.map(|endpoint| endpoint.join(&addresses).expect("buffers"))
}

/// Sends a packet and waits for it; returns how many packets went through a ring.
fn exchange(from: &Verbs, to: &Verbs, peer: u32, number: u64) -> u64 {
    let before = NETWORK_RING.get();
    let payload = [number as u8; 100];
    while from.copy_and_send(peer, &[number; 4], Payload::Bytes(&payload)).is_none() {
        from.poll(&mut Inbox::default());
    }
    let mut inbox = Inbox::default();
    while inbox.0.is_empty() {
        to.poll(&mut inbox);
        from.poll(&mut Inbox::default());
    }
    assert_eq!(inbox.0, [number]);
    NETWORK_RING.get() - before
}

#[test]
fn rings_serve_busy_peers_and_pause_for_sleepers() {
    let settings = Settings { ring_after: 4, ..Settings::default() };
    let [zero, one] = pair(&settings);
    let first: u64 = (0..4).map(|number| exchange(&zero, &one, 1, number)).sum();
    assert_eq!(first, 0, "nobody is busy yet");
    // The offer takes a while.
    let mut number = 4;
    while exchange(&zero, &one, 1, number) == 0 {
        number += 1;
        assert!(number < 100_000, "no ring is used");
    }
    assert_eq!(one.footprint().ring_memory, 32 * 1024);
    assert_eq!(zero.footprint().ring_memory, 0);
    assert!(exchange(&one, &zero, 0, 1) == 0, "each direction has its own");

    let token = one.prepare_sleep();
    one.sleep(token, std::time::Duration::from_secs(60));
    one.end_sleep();
    // The sender hears of the pause when it looks.
    let mut paused = 0;
    while exchange(&zero, &one, 1, 7) == 1 {
        paused += 1;
        assert!(paused < 100_000, "the ring is used for a sleeper");
    }
    while exchange(&zero, &one, 1, 8) == 0 {
        number += 1;
        assert!(number < 200_000, "the ring is never used again");
    }

    let without = Settings { rings: 0, ring_after: 1, ..Settings::default() };
    let [zero, one] = pair(&without);
    assert_eq!((0..50).map(|number| exchange(&zero, &one, 1, number)).sum::<u64>(), 0);
}
