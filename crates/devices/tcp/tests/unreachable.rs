//! Peers that cannot be reached: what was taken for them is told, and a way that leads from there is used.

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tern_device::{Channel, Header, Payload, Sink};
use tern_tcp::{Endpoint, Settings, Tcp};

#[derive(Debug, PartialEq, Eq)]
enum Event {
    Packet(u64),
    Undeliverable(u32),
    Lost(u32),
}

#[derive(Default)]
struct Heard(Vec<Event>, String);

impl Sink for Heard {
    fn packet(&mut self, _from: u32, header: &Header, _payload: &[u8]) {
        self.0.push(Event::Packet(header[0]));
    }
    fn undeliverable(&mut self, peer: u32) {
        self.0.push(Event::Undeliverable(peer));
    }
    fn lost(&mut self, peer: u32, why: &str) {
        self.0.push(Event::Lost(peer));
        self.1 = why.into();
    }
}

fn open(me: u32) -> Endpoint {
    let settings = Settings { silence: Duration::from_secs(1), ..Settings::default() };
    Endpoint::open(me, 2, &settings).expect("a port")
}

/// A process, with a peer that has gone.
fn alone() -> Tcp {
    let (first, second) = (open(0), open(1));
    let addresses = [first.address(), second.address()];
    drop(second);
    first.join(&addresses).expect("a thread")
}

fn send(from: &Tcp, to: u32, number: u64) {
    assert!(from.copy_and_send(to, &[number; 4], Payload::Bytes(&[])).is_some(), "it has room");
}

fn until(all: &[&Tcp], heard: &mut [Heard], done: impl Fn(&[Heard]) -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done(heard) {
        assert!(Instant::now() < end, "this has come: {:?}", heard.iter().map(|heard| &heard.0).collect::<Vec<_>>());
        all.iter().zip(heard.iter_mut()).for_each(|(one, heard)| _ = one.poll(heard));
        std::thread::yield_now();
    }
}

#[test]
fn what_was_taken_for_a_peer_that_cannot_be_reached_is_told() {
    let first = alone();
    send(&first, 1, 7);
    let mut heard = [Heard::default()];
    until(&[&first], &mut heard, |heard| !heard[0].1.is_empty());
    assert_eq!(heard[0].0, [Event::Undeliverable(1), Event::Lost(1)]);
    assert!(heard[0].1.contains("127.0.0.1:"), "{}", heard[0].1);
}

#[test]
fn a_process_that_ends_waits_until_it_knows() {
    let first = alone();
    send(&first, 1, 7);
    first.settle(true, &|| ());
    let mut heard = [Heard::default()];
    first.poll(&mut heard[0]);
    assert_eq!(heard[0].0, [Event::Undeliverable(1), Event::Lost(1)]);
}

#[test]
fn who_only_waits_finds_out_too() {
    let first = alone();
    let mut heard = [Heard::default()];
    until(&[&first], &mut heard, |heard| {
        // As a wait does that goes on. One call that fails is no loss: the peer may call by itself.
        first.reach(1);
        !heard[0].1.is_empty()
    });
    assert_eq!(heard[0].0, [Event::Lost(1)]);
}

/// A process that knows another port of its peer, where nobody is, and that peer, which can call it.
fn one_way() -> [Tcp; 2] {
    let (first, second, gone) = (open(0), open(1), open(1));
    let addresses = [first.address(), second.address()];
    let mut seen = addresses.clone();
    let port = gone.address().len() - 2;
    seen[1].truncate(port);
    seen[1].extend_from_slice(&gone.address()[port..]);
    drop(gone);
    [first.join(&seen).expect("a thread"), second.join(&addresses).expect("a thread")]
}

#[test]
fn who_calls_a_process_that_has_given_it_up_is_told() {
    let [first, second] = one_way();
    send(&first, 1, 7);
    let mut heard = [Heard::default()];
    until(&[&first], &mut heard, |heard| !heard[0].1.is_empty());
    send(&second, 0, 8);
    let mut heard = [Heard::default(), Heard::default()];
    until(&[&first, &second], &mut heard, |heard| !heard[1].1.is_empty());
    assert_eq!([&heard[0].0[..], &heard[1].0[..]], [&[][..], &[Event::Undeliverable(0), Event::Lost(0)]]);
    assert!(heard[1].1.contains("has given it up"), "{}", heard[1].1);
}

/// A port that answers nobody: there is no room for another caller. With what keeps it so.
fn mute() -> (u16, Vec<OwnedFd>) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = || rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).expect("a socket");
    let listener = socket();
    rustix::net::bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port");
    rustix::net::listen(&listener, 0).expect("a listener");
    let address = SocketAddr::try_from(rustix::net::getsockname(&listener).expect("a name")).expect("an address");
    let mut kept: Vec<OwnedFd> = (0..4).map(|_| socket()).collect();
    kept.iter().for_each(|caller| _ = rustix::net::connect(caller, &address));
    kept.push(listener);
    (address.port(), kept)
}

/// The call of the lower rank goes on where both call, but not for ever where nobody answers it: the other's may come through.
#[test]
fn a_call_that_nobody_has_heard_gives_way() {
    let (first, second) = (open(0), open(1));
    let addresses = [first.address(), second.address()];
    let (port, _kept) = mute();
    let mut seen = addresses.clone();
    let len = seen[1].len();
    seen[1][len - 2..].copy_from_slice(&port.to_le_bytes());
    let (first, second) = (first.join(&seen).expect("a thread"), second.join(&addresses).expect("a thread"));
    send(&first, 1, 7);
    send(&second, 0, 8);
    let mut heard = [Heard::default(), Heard::default()];
    until(&[&first, &second], &mut heard, |heard| heard.iter().all(|heard| !heard.0.is_empty()));
    assert_eq!([&heard[0].0[..], &heard[1].0[..]], [[Event::Packet(8)], [Event::Packet(7)]]);
}
