//! Peers that cannot be reached: what was taken for them is told, with how much it was and what to try.

use std::time::{Duration, Instant};
use tern_device::{Channel, Header, Payload, Sink};
use tern_ofi::{Endpoint, Ofi, Settings};

#[derive(Debug, PartialEq, Eq)]
enum Event {
    Undeliverable(u32),
    Lost(u32),
}

#[derive(Default)]
struct Heard(Vec<Event>, String);

impl Sink for Heard {
    fn packet(&mut self, _from: u32, _header: &Header, _payload: &[u8]) {
        panic!("a packet that nobody has sent");
    }
    fn undeliverable(&mut self, peer: u32) {
        self.0.push(Event::Undeliverable(peer));
    }
    fn lost(&mut self, peer: u32, why: &str) {
        self.0.push(Event::Lost(peer));
        self.1 = why.into();
    }
}

const PROVIDER: &str = "tcp;ofi_rxm";

fn open(me: u32) -> Option<Endpoint> {
    let library = std::env::var("TERN_LIBFABRIC").ok();
    let settings = Settings {
        library,
        provider: Some(PROVIDER.into()),
        silence: Duration::from_millis(500),
        ..Settings::default()
    };
    Endpoint::open(me, 2, &settings).inspect_err(|why| eprintln!("skipped: {why}")).ok()
}

/// A process whose peer has gone, by a provider whose messages wait for a connection. `None`, aloud: it is not there.
fn alone() -> Option<Ofi> {
    let (first, second) = (open(0)?, open(1)?);
    let addresses = [first.address(), second.address()];
    drop(second);
    Some(first.join(&addresses).expect("a thread"))
}

/// A process that knows another name of its peer's endpoint, where nobody is, and that peer, which can call it.
fn one_way() -> Option<[Ofi; 2]> {
    let (first, second, gone) = (open(0)?, open(1)?, open(1)?);
    let addresses = [first.address(), second.address()];
    // An address begins with its version and the token.
    let seen = [addresses[0].clone(), [&addresses[1][..33], &gone.address()[33..]].concat()];
    drop(gone);
    Some([first.join(&seen).expect("a thread"), second.join(&addresses).expect("a thread")])
}

/// Sends packets that nobody will take.
fn send(from: &Ofi, count: u64) {
    for number in 0..count {
        assert!(from.copy_and_send(1, &[number; 4], Payload::Bytes(&[])).is_some(), "it has room");
    }
}

fn until_lost(device: &Ofi, mut also: impl FnMut()) -> Heard {
    let (mut heard, end) = (Heard::default(), Instant::now() + Duration::from_secs(30));
    while heard.1.is_empty() {
        assert!(Instant::now() < end, "nothing was told");
        also();
        device.poll(&mut heard);
        std::thread::yield_now();
    }
    heard
}

#[test]
fn what_was_taken_for_a_peer_that_cannot_be_reached_is_told() {
    let Some(first) = alone() else { return };
    send(&first, 3);
    let heard = until_lost(&first, || ());
    assert_eq!(heard.0, [Event::Undeliverable(1), Event::Lost(1)]);
    for part in [PROVIDER, "3 packets", "firewall", "TERN_INTERFACE"] {
        assert!(heard.1.contains(part), "{part}: {}", heard.1);
    }
}

#[test]
fn a_process_that_ends_waits_until_it_knows() {
    let Some(first) = alone() else { return };
    send(&first, 1);
    first.settle(true, &|| ());
    let mut heard = Heard::default();
    first.poll(&mut heard);
    assert_eq!(heard.0, [Event::Undeliverable(1), Event::Lost(1)]);
    assert!(heard.1.contains("1 packet still waits"), "{}", heard.1);
}

#[test]
fn a_peer_that_others_have_lost_keeps_nobody() {
    let Some(first) = alone() else { return };
    send(&first, 3);
    first.forget(1);
    first.settle(true, &|| ());
    let mut heard = Heard::default();
    first.poll(&mut heard);
    assert_eq!(heard.0, [], "it has not waited until it had to give the peer up");
    assert!(first.copy_and_send(1, &[7; 4], Payload::Bytes(&[])).is_none(), "nothing more goes there");
}

#[test]
fn who_only_waits_finds_out_too_and_has_sent_nothing() {
    let Some(first) = alone() else { return };
    let heard = until_lost(&first, || first.reach(1));
    assert_eq!(heard.0, [Event::Lost(1)]);
    assert!(!heard.1.contains("packet"), "{}", heard.1);
}

#[test]
fn who_has_reached_a_peer_that_gave_it_up_and_ended_finds_out() {
    let Some([first, second]) = one_way() else { return };
    until_lost(&first, || first.reach(1));
    let (mut told, mut heard) = (Heard::default(), Heard::default());
    assert!(second.copy_and_send(0, &[7; 4], Payload::Bytes(&[])).is_some(), "it has room");
    second.settle(true, &|| ());
    while first.poll(&mut told) + second.poll(&mut heard) > 0 {}
    assert_eq!((&told.0, &heard.0), (&Vec::new(), &Vec::new()), "a packet of a peer that is lost is not taken");
    drop(first);
    // Mostly the provider has seen by then that the connection has ended, and refuses what follows.
    let seen = Instant::now() + Duration::from_millis(500);
    while Instant::now() < seen && heard.1.is_empty() {
        second.poll(&mut heard);
    }
    let heard = until_lost(&second, || second.reach(0));
    assert_eq!(heard.0.last(), Some(&Event::Lost(0)));
}
