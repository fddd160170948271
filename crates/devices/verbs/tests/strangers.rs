//! Strangers at the port where processes of the RDMA device call each other: those who know no secret, those who say once more
//! what they have heard, and those in the middle of a call. The device is over the software HCA here; the port is the same with a
//! card.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tern_damage::{Flip, Heard, Relay, say};
use tern_device::{Channel, Header, Payload, Sink};
use tern_proof::Knock;
use tern_verbs::{Endpoint, Settings, Verbs};

/// Far longer than a stranger may stay.
const TIME: Duration = Duration::from_secs(60);
/// Bytes of the handshake, from the caller and to it.
const UP: usize = 36 + 32;
const DOWN: usize = 48 + 1;
/// What the called side says to everybody who begins as a caller does.
const CHALLENGE: usize = 48;

/// What a process has heard.
#[derive(Default)]
struct Told {
    packets: Vec<(u32, u64)>,
    lost: Vec<(u32, String)>,
}

impl Sink for Told {
    fn packet(&mut self, from: u32, header: &Header, _payload: &[u8]) {
        self.packets.push((from, header[0]));
    }
    fn lost(&mut self, peer: u32, why: &str) {
        self.lost.push((peer, why.into()));
    }
}

/// Where a process is called, and its secret.
#[derive(Clone, Copy)]
struct Place {
    port: SocketAddr,
    secret: [u8; 32],
}

/// Two processes on nodes of their own, the second of which is called through what `stands` for it.
fn pair(stands: impl FnOnce(SocketAddr) -> SocketAddr) -> (Verbs, Verbs, Place) {
    let open = |me| {
        let settings = Settings { node: me, patience: Duration::from_secs(3), ..Settings::default() };
        Endpoint::open(me, 2, &settings).expect("an endpoint")
    };
    let (first, second) = (open(0), open(1));
    let mut addresses = [first.address(), second.address()];
    let port = u16::from_le_bytes([addresses[1][0], addresses[1][1]]);
    let secret = addresses[1][2..34].try_into().expect("a secret");
    let place = Place { port: SocketAddr::from(([127, 0, 0, 1], port)), secret };
    let second = second.join(&addresses).expect("buffers");
    addresses[1][..2].copy_from_slice(&stands(place.port).port().to_le_bytes());
    (first.join(&addresses).expect("buffers"), second, place)
}

/// A packet goes from the one to the other. Errors: why not.
fn talk(from: &Verbs, to: &Verbs, number: u64) -> Result<(), String> {
    let (mut here, mut there) = (Told::default(), Told::default());
    let end = Instant::now() + TIME;
    let mut sent = false;
    while there.packets.is_empty() {
        assert!(Instant::now() < end, "a packet was sent and never came");
        sent = sent || from.copy_and_send(1, &[number; 4], Payload::Bytes(&[])).is_some();
        from.poll(&mut here);
        to.poll(&mut there);
        if let Some((_, why)) = here.lost.pop() {
            return Err(why);
        }
        std::thread::yield_now();
    }
    assert_eq!(there.packets, [(0, number)]);
    Ok(())
}

/// A call through somebody in the middle, and what he has heard.
fn through(flip: Option<Flip>) -> (Result<(), String>, Verbs, Verbs, Place, Heard) {
    let mut relay = None;
    let (first, second, place) = pair(|port| relay.insert(Relay::new(port, flip)).address);
    let came = talk(&first, &second, 7);
    let heard = relay.expect("it was made").heard().pop().expect("the first has called the second");
    (came, first, second, place, heard)
}

#[test]
fn who_only_listens_sees_no_secret() {
    let (came, _first, _second, place, heard) = through(None);
    assert_eq!(came, Ok(()));
    assert!(heard.up.len() > UP + 20 && heard.down.len() > DOWN + 20);
    assert!(!place.secret.chunks(8).any(|part| heard.saw(part)), "a part of the secret crosses the wire");
}

#[test]
fn a_change_in_a_call_is_the_end_of_it() {
    let changes = [(true, UP), (false, DOWN)].into_iter().flat_map(|(up, len)| (0..len).map(move |at| (up, at)));
    // And in the first words of both.
    let words = [(true, UP + 2), (true, UP + 30), (false, DOWN + 2), (false, DOWN + 30)];
    let ends = [0, 8, 12, 16, 20, 35, 36, 47, 48, 67];
    for (up, at) in changes.filter(|(_, at)| at % 5 == 0 || ends.contains(at)).chain(words) {
        let (came, ..) = through(Some(Flip { up, at, bits: 1 << (at % 8) }));
        assert!(came.is_err(), "byte {at} {}", if up { "from the caller" } else { "to it" });
    }
}

#[test]
fn what_was_said_is_of_no_use_once_more() {
    let (came, first, second, place, heard) = through(None);
    assert_eq!(came, Ok(()));
    let (_one, _other, another) = pair(|port| port);
    for port in [place.port, another.port] {
        for pieces in [&[&heard.up[..36], &heard.up[36..UP], &heard.up[UP..]][..], &[&heard.up[..]]] {
            let caller = TcpStream::connect(port).expect("it listens");
            let answer = say(caller, pieces, TIME).expect("the end of the connection");
            assert!(answer.len() <= CHALLENGE, "{} bytes of answer to a handshake that is over", answer.len());
        }
    }
    assert_eq!(talk(&first, &second, 8), Ok(()), "the connection has taken harm");
}

#[test]
fn who_knows_no_secret_is_refused_and_counted() {
    let (first, second, place) = pair(|port| port);
    let before = tern_counters::NETWORK_STRANGERS.get();
    let call = || TcpStream::connect(place.port).expect("it listens");
    let silent = call();
    drop(call());
    for words in [&b"GET / HTTP/1.1\r\nHost: tern\r\n\r\n\r\n\r\n\r\n\r\n"[..], &[0; 200], &[255; 36]] {
        assert_eq!(say(call(), &[words], TIME).as_deref(), Some(&b""[..]));
    }
    assert!(Knock::over(call().into(), [9; 32], 0, TIME).wait().is_err());
    assert_eq!(talk(&first, &second, 1), Ok(()));
    let end = Instant::now() + TIME;
    while tern_counters::NETWORK_STRANGERS.get() < before + 5 {
        assert!(Instant::now() < end, "strangers are counted");
        std::thread::yield_now();
    }
    assert!(say(silent, &[], TIME).is_some(), "who says nothing has to go");
    assert_eq!(talk(&first, &second, 2), Ok(()));
}

#[test]
fn many_silent_callers_keep_no_process_out() {
    let (first, second, place) = pair(|port| port);
    let crowd: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(place.port).expect("it listens")).collect();
    assert_eq!(talk(&first, &second, 1), Ok(()));
    drop(crowd);
}

#[test]
fn who_answers_in_place_of_the_peer_learns_nothing() {
    let earlier = through(None).4;
    for answer in [vec![5; 100], earlier.down] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let called = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let (mut caller, _) = listener.accept().expect("the first calls");
            let mut bytes = [0; 36];
            caller.read_exact(&mut bytes).and_then(|()| caller.write_all(&answer)).expect("room");
            let mut rest = Vec::new();
            let _ = caller.read_to_end(&mut rest);
            rest
        });
        let (first, second, _) = pair(|_| address);
        let why = talk(&first, &second, 1).expect_err("nobody has proven anything");
        assert!(why.contains("somebody else answers"), "{why}");
        assert!(called.join().expect("no panic").is_empty(), "it was told something");
    }
}
