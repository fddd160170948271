//! Callers that do not belong to the job change nothing, and are counted.

use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
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
    let open = |me| Endpoint::open(me, 2, &Settings::default()).expect("a port");
    let (first, second) = (open(0), open(1));
    let addresses = [first.address(), second.address()];
    let port = addresses[1].last_chunk().map(|port| u16::from_le_bytes(*port)).expect("an address");
    (first.join(&addresses).expect("a thread"), second.join(&addresses).expect("a thread"), port)
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
