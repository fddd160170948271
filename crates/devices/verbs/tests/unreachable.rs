//! Peers that cannot be reached: nothing is taken for them that cannot arrive, and a way that leads from there is used.

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::time::{Duration, Instant};
use tern_device::{Channel, Header, Payload, Sink};
use tern_hca::Faults;
use tern_verbs::{Endpoint, Settings, Verbs};

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

fn open(me: u32, settings: &Settings) -> Endpoint {
    Endpoint::open(me, 2, &Settings { node: me, ..settings.clone() }).expect("an endpoint")
}

/// A process, with a peer that has gone.
fn alone() -> Verbs {
    let settings = Settings::default();
    let (first, second) = (open(0, &settings), open(1, &settings));
    let addresses = [first.address(), second.address()];
    drop(second);
    first.join(&addresses).expect("buffers")
}

/// Two processes, of which the first looks for the second at that port.
fn pair(port: u16, settings: &Settings) -> [Verbs; 2] {
    let (first, second) = (open(0, settings), open(1, settings));
    let addresses = [first.address(), second.address()];
    let mut seen = addresses.clone();
    seen[1][..2].copy_from_slice(&port.to_le_bytes());
    [first.join(&seen).expect("buffers"), second.join(&addresses).expect("buffers")]
}

fn send(from: &Verbs, to: u32, number: u64) -> bool {
    from.copy_and_send(to, &[number; 4], Payload::Bytes(&[])).is_some()
}

fn until(all: &[&Verbs], heard: &mut [Heard], mut done: impl FnMut(&[Heard]) -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !done(heard) {
        assert!(Instant::now() < end, "this has come: {:?}", heard.iter().map(|heard| &heard.0).collect::<Vec<_>>());
        all.iter().zip(heard.iter_mut()).for_each(|(one, heard)| _ = one.poll(heard));
        std::thread::yield_now();
    }
}

#[test]
fn nothing_is_taken_for_a_peer_that_cannot_be_reached() {
    let first = alone();
    assert!(!send(&first, 1, 7), "a packet was taken that cannot arrive");
    let mut heard = [Heard::default()];
    until(&[&first], &mut heard, |heard| !heard[0].1.is_empty());
    assert_eq!(heard[0].0, [Event::Lost(1)]);
    assert!(heard[0].1.contains("cannot be reached at 127.0.0.1:"), "{}", heard[0].1);
    assert!(!send(&first, 1, 8), "a packet was taken for a peer that is lost");
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

/// An idle queue pair does not tell that the network is cut.
#[test]
fn who_only_waits_for_a_connected_peer_finds_out_too() {
    let faults = Faults::from_str("cut-after=5").expect("a fault");
    let (first, second) = (open(0, &Settings::default()), open(1, &Settings { faults, ..Settings::default() }));
    let addresses = [first.address(), second.address()];
    let (first, second) = (first.join(&addresses).expect("buffers"), second.join(&addresses).expect("buffers"));
    let mut heard = [Heard::default(), Heard::default()];
    assert!(send(&first, 1, 7));
    until(&[&first, &second], &mut heard, |heard| !heard[1].0.is_empty());
    until(&[&first, &second], &mut heard, |heard| {
        second.reach(0);
        !heard[1].1.is_empty()
    });
    assert_eq!(heard[1].0, [Event::Packet(7), Event::Lost(0)]);
}

/// A process that was stopped answers nothing, though its machine does.
#[test]
fn who_only_waits_loses_nobody_whose_machine_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let [first, _second] = pair(port, &Settings { patience: Duration::from_millis(20), ..Settings::default() });
    listener.set_nonblocking(true).expect("a socket");
    let (mut heard, mut calls) = ([Heard::default()], Vec::new());
    until(&[&first], &mut heard, |_| {
        first.reach(1);
        calls.extend(listener.accept());
        // Each of them was given up before the next one.
        calls.len() > 5
    });
    assert_eq!(heard[0].0, []);
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

/// The call of the lower rank goes on where both call, but not where nobody has heard it: the other's may come through.
#[test]
fn a_call_that_nobody_has_heard_gives_way() {
    let (port, _kept) = mute();
    let [first, second] = pair(port, &Settings::default());
    first.reach(1);
    second.reach(0);
    assert!(send(&first, 1, 7) && send(&second, 0, 8), "there is a way");
    let mut heard = [Heard::default(), Heard::default()];
    until(&[&first, &second], &mut heard, |heard| heard.iter().all(|heard| !heard.0.is_empty()));
    assert_eq!([&heard[0].0[..], &heard[1].0[..]], [[Event::Packet(8)], [Event::Packet(7)]]);
}

/// What was lost on the way to a peer would be missing there: the peer learns it when it calls, with the reason.
#[test]
fn a_peer_that_was_given_up_is_told_so() {
    let (port, _kept) = mute();
    let [first, second] = pair(port, &Settings { silence: Duration::from_millis(50), ..Settings::default() });
    let mut heard = [Heard::default(), Heard::default()];
    assert!(!send(&first, 1, 7));
    until(&[&first], &mut heard, |heard| !heard[0].1.is_empty());
    second.reach(0);
    until(&[&first, &second], &mut heard, |heard| !heard[1].1.is_empty());
    assert_eq!([&heard[0].0[..], &heard[1].0[..]], [[Event::Lost(1)], [Event::Lost(0)]]);
    for part in ["refuses", "given this process up", &format!("127.0.0.1:{port}")] {
        assert!(heard[1].1.contains(part), "{part}: {}", heard[1].1);
    }
}

/// A port that leads to another one, until a side has ended: that does not get through, as over a network that is cut.
fn leads_to(target: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        let here = listener.accept().expect("a caller").0;
        let there = TcpStream::connect(target).expect("it listens");
        let ways = [(&here, &there), (&there, &here)];
        std::thread::scope(|scope| ways.map(|(from, to)| _ = scope.spawn(move || pass_on(from, to))));
        std::thread::park();
        drop((here, there));
    });
    address
}

fn pass_on(mut from: &TcpStream, mut to: &TcpStream) {
    let mut piece = [0; 4096];
    while let Ok(len @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..len]).is_err() {
            return;
        }
    }
}

/// Sends from the first to the second, over a queue pair that breaks. What both have heard, when packets were taken that have not come.
fn sent_until_it_breaks(through: impl FnOnce(SocketAddr) -> SocketAddr) -> [Heard; 2] {
    let faults = Faults::from_str("cut-after=20").expect("a fault");
    let (first, second) = (open(0, &Settings { faults, ..Settings::default() }), open(1, &Settings::default()));
    let addresses = [first.address(), second.address()];
    let port = u16::from_le_bytes([addresses[1][0], addresses[1][1]]);
    let mut seen = addresses.clone();
    seen[1][..2].copy_from_slice(&through(SocketAddr::from(([127, 0, 0, 1], port))).port().to_le_bytes());
    let (first, second) = (first.join(&seen).expect("buffers"), second.join(&addresses).expect("buffers"));
    let (mut heard, mut taken) = ([Heard::default(), Heard::default()], 0);
    until(&[&first, &second], &mut heard, |heard| {
        taken += usize::from(send(&first, 1, taken as u64));
        !heard[0].1.is_empty()
    });
    let came = heard[1].0.iter().filter(|event| matches!(event, Event::Packet(_))).count();
    assert!(came < taken, "all has come");
    heard
}

/// A queue pair has failed and the peer does not end its side of the socket: it may wait for what was under way.
#[test]
fn what_was_under_way_to_a_peer_that_knows_nothing_is_told() {
    let heard = sent_until_it_breaks(leads_to);
    assert_eq!(heard[0].0, [Event::Undeliverable(1), Event::Lost(1)]);
}

#[test]
fn a_peer_that_ends_its_side_knows() {
    let heard = sent_until_it_breaks(|port| port);
    assert_eq!(heard[0].0, [Event::Lost(1)]);
}
