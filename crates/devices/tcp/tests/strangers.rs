//! Callers that do not belong to the job change nothing, and are counted.

use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tern_damage::{Flip, Heard as Seen, Relay, say};
use tern_device::{Channel, Header, Payload, Sink};
use tern_tcp::{Endpoint, Settings, Tcp};

#[derive(Default)]
struct Heard(Vec<(u32, u64)>);

impl Sink for Heard {
    fn packet(&mut self, from: u32, header: &Header, _payload: &[u8]) {
        self.0.push((from, header[0]));
    }
    fn lost(&mut self, peer: u32, why: &str) {
        panic!("process {peer} is lost: {why}");
    }
}

/// Two processes, and the port of the second.
fn pair() -> (Tcp, Tcp, u16) {
    let (first, second, port, _) = pair_through(|port| port);
    (first, second, port)
}

/// The same where the first one finds another port in place of that of the second; and the address that it is told.
fn pair_through(stands: impl FnOnce(u16) -> u16) -> (Tcp, Tcp, u16, Vec<u8>) {
    let open = |me| Endpoint::open(me, 2, &Settings::default()).expect("a port");
    let (first, second) = (open(0), open(1));
    let mut addresses = [first.address(), second.address()];
    let port = addresses[1].last_chunk().map(|port| u16::from_le_bytes(*port)).expect("an address");
    let second = second.join(&addresses).expect("a thread");
    let place = addresses[1].len() - 2;
    addresses[1][place..].copy_from_slice(&stands(port).to_le_bytes());
    (first.join(&addresses).expect("a thread"), second, port, addresses[1].clone())
}

/// Somebody in the middle of a connection.
fn relayed(flip: Option<Flip>) -> (Tcp, Tcp, u16, Vec<u8>, Relay) {
    let mut relay = None;
    let between = |port| relay.insert(Relay::new(SocketAddr::from(([127, 0, 0, 1], port)), flip)).address.port();
    let (first, second, port, address) = pair_through(between);
    (first, second, port, address, relay.expect("it was made"))
}

/// Bytes of the handshake, from the caller and to it; what the called side says to everybody who begins as a caller does.
const UP: usize = 36 + 32;
const DOWN: usize = 48 + 1;
const CHALLENGE: usize = 48;

#[test]
fn who_only_listens_sees_no_secret() {
    let (first, second, _, address, relay) = relayed(None);
    talk(&first, &second, 5);
    let seen: Seen = relay.heard().pop().expect("the first has called");
    assert!(seen.up.len() > UP && seen.down.len() >= DOWN);
    // The secret is all but the addresses and the port: no eight bytes of it cross the wire.
    assert!(!address[..32].chunks(8).any(|part| seen.saw(part)), "a part of the secret crosses the wire");
}

/// Packets that came through, whatever becomes of the peer.
struct Through(usize);

impl Sink for Through {
    fn packet(&mut self, _from: u32, _header: &Header, _payload: &[u8]) {
        self.0 += 1;
    }
    fn lost(&mut self, _peer: u32, _why: &str) {}
}

#[test]
fn a_change_in_the_handshake_is_the_end_of_it() {
    // In each field of each message; a caller takes its time before it calls again.
    let changes = [(true, 0), (true, 8), (true, 12), (true, 16), (true, 20), (true, 36), (true, UP - 1)];
    for (up, at) in changes.into_iter().chain([(false, 0), (false, 16), (false, 47), (false, DOWN - 1)]) {
        let (first, second, _, _, relay) = relayed(Some(Flip { up, at, bits: 1 << (at % 8) }));
        let end = Instant::now() + Duration::from_secs(60);
        let mut through = Through(0);
        // It calls again where somebody else seems to answer.
        while relay.heard().len() < 2 {
            assert!(Instant::now() < end, "byte {at}: the call was not given up");
            first.copy_and_send(1, &[1; 4], Payload::Bytes(&[]));
            second.poll(&mut through);
            assert_eq!(through.0, 0, "byte {at}: a packet came through");
            std::thread::yield_now();
        }
        // It would go on calling until it may give up.
        std::mem::forget(first);
    }
}

#[test]
fn what_was_said_is_of_no_use_once_more() {
    let (first, second, port, _, relay) = relayed(None);
    talk(&first, &second, 6);
    let up = relay.heard().pop().expect("the first has called").up;
    let (_one, _other, another) = pair();
    for port in [port, another] {
        for pieces in [&[&up[..36], &up[36..UP], &up[UP..]][..], &[&up[..]]] {
            let caller = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
            let answer = say(caller, pieces, Duration::from_secs(60)).expect("the end of the connection");
            assert!(answer.len() <= CHALLENGE, "{} bytes of answer to a handshake that is over", answer.len());
        }
    }
    talk(&first, &second, 7);
}

/// A packet goes from the one to the other.
fn talk(from: &Tcp, to: &Tcp, number: u64) {
    let mut heard = Heard::default();
    let end = Instant::now() + Duration::from_secs(60);
    let mut sent = false;
    while heard.0.is_empty() {
        assert!(Instant::now() < end, "a packet was sent and never came");
        sent = sent || from.copy_and_send(1, &[number; 4], Payload::Bytes(&[])).is_some();
        to.poll(&mut heard);
        std::thread::yield_now();
    }
    assert_eq!(heard.0, [(0, number)]);
}

#[test]
fn scanners_and_old_jobs_are_refused() {
    let (first, second, port) = pair();
    let before = tern_counters::NETWORK_STRANGERS.get();
    let call = || TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    // Who says nothing, who goes at once, who speaks of something else, and who knows the words but not the secret.
    let silent = call();
    drop(call());
    call().write_all(b"GET / HTTP/1.1\r\nHost: tern\r\n\r\n").expect("room");
    let mut hello = b"TERNTCP2".to_vec();
    hello.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    hello.extend_from_slice(&[7; 16]);
    hello.extend_from_slice(&[9; 32]);
    call().write_all(&hello).expect("room");
    talk(&first, &second, 1);
    let end = Instant::now() + Duration::from_secs(60);
    while tern_counters::NETWORK_STRANGERS.get() < before + 3 {
        assert!(Instant::now() < end, "strangers are counted");
        std::thread::yield_now();
    }
    talk(&first, &second, 2);
    drop(silent);
}

#[test]
fn the_oldest_of_many_silent_callers_goes_and_not_the_newest() {
    let (first, second, port) = pair();
    let mut crowd: Vec<TcpStream> = Vec::new();
    // More than there are places for.
    for _ in 0..300 {
        crowd.push(TcpStream::connect(("127.0.0.1", port)).expect("it listens"));
    }
    assert_eq!(crowd[0].read(&mut [0]).expect("the end of the connection"), 0);
    let newest = crowd.last_mut().expect("there are some");
    newest.set_nonblocking(true).expect("a socket");
    assert!(newest.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
    talk(&first, &second, 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes_change_nothing(garbage in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..20)) {
        let (first, second, port) = pair();
        for bytes in &garbage {
            let mut stranger = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
            // It may have been refused by now.
            let _ = stranger.write_all(bytes);
        }
        talk(&first, &second, 3);
    }
}
