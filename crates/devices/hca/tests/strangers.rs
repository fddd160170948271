//! Strangers at the sockets of a software HCA: those who know no secret, those who say once more what they have heard, and those in
//! the middle of a connection.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as Name, UnixListener, UnixStream};
use std::time::{Duration, Instant};
use tern_damage::{Flip, Heard, Relay, between, say};
use tern_hca::conformance::{Side, SideOptions, eventually, next, pattern};
use tern_hca::{Connection, Faults, Hca, Operation, Options, Status};
use tern_proof::{Knock, Progress, Token};

/// Far longer than a stranger may stay.
const TIME: Duration = Duration::from_secs(60);
/// Bytes of the handshake and of the hello that follows, from the caller; and of the handshake, to it.
const UP: usize = 36 + 32 + 64;
const DOWN: usize = 48 + 1;
/// What the called side says to everybody who begins as a caller does.
const CHALLENGE: usize = 48;

fn side(tcp: bool) -> Side {
    let faults = Faults { tcp, ..Faults::default() };
    let hca = Hca::open(&Options { faults, ..Options::default() }).expect("the software HCA is always there");
    Side::new(hca, &SideOptions::default())
}

/// Two of them; the first one calls the second.
fn two(tcp: bool) -> [Side; 2] {
    let [one, other] = [side(tcp), side(tcp)];
    if number(&one) > number(&other) { [one, other] } else { [other, one] }
}

/// The number by which everybody on the machine knows it.
fn number(side: &Side) -> u64 {
    u64::from_le_bytes(side.pair.open_address()[32..].try_into().expect("a name"))
}

/// Where the HCA listens, and its secret.
fn port(side: &Side) -> SocketAddr {
    let address = side.pair.address();
    SocketAddr::from(([127, 0, 0, 1], u16::from_le_bytes([address[18], address[19]])))
}

fn secret(side: &Side) -> Token {
    side.pair.address()[32..].try_into().expect("a secret")
}

/// Its socket for processes of this machine.
fn name(side: &Side) -> Name {
    Name::from_abstract_name(format!("tern-hca-{:016x}", number(side))).expect("a name")
}

/// The address of a queue pair as if its HCA listened elsewhere.
fn moved(side: &Side, port: SocketAddr) -> Vec<u8> {
    let mut address = side.pair.address();
    address[18..20].copy_from_slice(&port.port().to_le_bytes());
    address
}

/// Connects two sides that find each other at these ports.
fn connect(sides: &[Side; 2], ports: [SocketAddr; 2]) {
    for at in [0, 1] {
        sides[at].pair.connect(&moved(&sides[1 - at], ports[1 - at]), &Connection::default()).expect("connected");
    }
}

/// Sends a message from the one to the other.
fn talk(sides: &[Side; 2]) -> Status {
    let (mut from, to) = (sides[0].buffer(5000), sides[1].buffer(5000));
    from.fill(&pattern(3, 5000));
    sides[1].receive(1, &[to.whole()]);
    let status = sides[0].execute(Operation::Send, &[from.whole()]).status;
    if status == Status::Success {
        next(&sides[1].receives);
        assert!(to.bytes() == pattern(3, 5000), "a message came otherwise than it was sent");
    }
    status
}

/// Two sides with a relay between them.
fn between_sides(flip: Option<Flip>) -> (Status, [Side; 2], Heard) {
    let sides = two(true);
    let relay = Relay::new(port(&sides[1]), flip);
    connect(&sides, [port(&sides[0]), relay.address]);
    let status = talk(&sides);
    let heard = relay.heard().pop().expect("one has called the other");
    (status, sides, heard)
}

#[test]
fn who_only_listens_sees_no_secret() {
    let (status, sides, heard) = between_sides(None);
    assert_eq!(status, Status::Success);
    assert!(heard.up.len() > UP && heard.down.len() > DOWN);
    for side in &sides {
        let secret = secret(side);
        assert!(!secret.chunks(8).any(|part| heard.saw(part)), "a part of a secret crosses the wire");
    }
}

#[test]
fn a_change_in_the_handshake_is_the_end_of_it() {
    let changes = [(true, UP), (false, DOWN)].into_iter().flat_map(|(up, len)| (0..len).map(move |at| (up, at)));
    // Each byte takes its turn with others than the last time: every fifth of them, and the ends of the messages.
    let ends = [0, 8, 12, 16, 20, 35, 36, 47, 48, 67, 68, 131];
    for (up, at) in changes.filter(|(_, at)| at % 5 == 0 || ends.contains(at)) {
        let (status, ..) = between_sides(Some(Flip { up, at, bits: 1 << (at % 8) }));
        assert_ne!(status, Status::Success, "byte {at} {}", if up { "from the caller" } else { "to it" });
    }
}

/// What a caller of this machine says, and hears, through a relay.
fn near_handshake(side: &Side, secret: Token, flip: Option<Flip>) -> (Result<(), std::io::Error>, Heard) {
    let (caller, relayed) = UnixStream::pair().expect("sockets");
    let called = UnixStream::connect_addr(&name(side)).expect("it listens");
    let kept = between(&relayed, &called, flip);
    let met = Knock::over(caller.into(), secret, 7, TIME).wait().map(drop);
    let heard = kept.lock().expect("no panic").clone();
    (met, heard)
}

#[test]
fn a_change_on_the_way_inside_a_machine_is_the_end_of_it() {
    let side = side(false);
    assert!(near_handshake(&side, secret(&side), None).0.is_ok());
    for (up, at) in (0..68).map(|at| (true, at)).chain((0..DOWN).map(|at| (false, at))) {
        let flip = Flip { up, at, bits: 1 << (at % 8) };
        assert!(near_handshake(&side, secret(&side), Some(flip)).0.is_err(), "{flip:?}");
    }
}

#[test]
fn what_was_said_is_of_no_use_once_more() {
    let (status, sides, heard) = between_sides(None);
    assert_eq!(status, Status::Success);
    let another = side(true);
    let pieces = [&heard.up[..36], &heard.up[36..68], &heard.up[68..]];
    for port in [port(&sides[0]), port(&sides[1]), port(&another)] {
        for pieces in [&pieces[..], &[&heard.up[..]]] {
            let caller = TcpStream::connect(port).expect("it listens");
            let answer = say(caller, pieces, TIME).expect("the end of the connection");
            assert!(answer.len() <= CHALLENGE, "{} bytes of answer to a handshake that is over", answer.len());
        }
    }
    assert_eq!(talk(&sides), Status::Success, "the connection has taken harm");
}

#[test]
fn what_was_said_inside_a_machine_is_of_no_use_once_more() {
    let sides = two(false);
    let (met, heard) = near_handshake(&sides[0], secret(&sides[0]), None);
    assert!(met.is_ok() && heard.up.len() == 68 && heard.down.len() == DOWN);
    for side in &sides {
        for pieces in [&[&heard.up[..36], &heard.up[36..]][..], &[&heard.up[..]]] {
            let caller = UnixStream::connect_addr(&name(side)).expect("it listens");
            let answer = say(caller, pieces, TIME).expect("the end of the connection");
            assert!(answer.len() <= CHALLENGE, "{} bytes of answer to a handshake that is over", answer.len());
        }
    }
    connect(&sides, [port(&sides[0]), port(&sides[1])]);
    assert_eq!(talk(&sides), Status::Success);
}

#[test]
fn who_knows_no_secret_is_refused_and_counted() {
    let side = side(false);
    let before = tern_counters::NETWORK_STRANGERS.get();
    for words in [&b"GET / HTTP/1.1\r\nHost: tern\r\n\r\n\r\n\r\n\r\n\r\n"[..], &[0; 200], &[255; 36]] {
        let far = TcpStream::connect(port(&side)).expect("it listens");
        assert_eq!(say(far, &[words], TIME).as_deref(), Some(&b""[..]));
        let near = UnixStream::connect_addr(&name(&side)).expect("it listens");
        assert_eq!(say(near, &[words], TIME).as_deref(), Some(&b""[..]));
    }
    assert!(near_handshake(&side, [9; 32], None).0.is_err());
    let far = TcpStream::connect(port(&side)).expect("it listens");
    assert!(Knock::over(far.into(), [9; 32], 7, TIME).wait().is_err());
    eventually("strangers are counted", || tern_counters::NETWORK_STRANGERS.get() >= before + 8);
}

#[test]
fn who_says_nothing_has_to_go() {
    let side = side(false);
    let begun = Instant::now();
    let far = TcpStream::connect(port(&side)).expect("it listens");
    let near = UnixStream::connect_addr(&name(&side)).expect("it listens");
    // One that has proven itself and says nothing then.
    let mut proven = Knock::over(TcpStream::connect(port(&side)).expect("it listens").into(), secret(&side), 7, TIME);
    while proven.step().expect("it knows the secret") != Progress::Proven {}
    let proven = TcpStream::from(proven.into_proven().expect("both have proven themselves").socket);
    proven.set_nonblocking(false).expect("a socket");
    assert!(say(far, &[], TIME).is_some() && say(near, &[], TIME).is_some() && say(proven, &[], TIME).is_some());
    assert!(begun.elapsed() >= Duration::from_secs(5), "a caller has some seconds");
}

/// Somebody who answers every caller with these bytes, or with what he hears.
fn impostor(answer: Option<Vec<u8>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for mut caller in listener.incoming().flatten() {
            let mut bytes = [0; 256];
            let len = caller.read(&mut bytes).unwrap_or(0);
            let _ = caller.write_all(answer.as_deref().unwrap_or(&[bytes[..len].to_vec(), vec![0; 64]].concat()));
            std::thread::spawn(move || while let Ok(1..) = caller.read(&mut bytes) {});
        }
    });
    address
}

#[test]
fn who_answers_in_place_of_the_peer_learns_nothing() {
    let (_, _, earlier) = between_sides(None);
    for answer in [Some(vec![5; 100]), Some(earlier.down), None] {
        let sides = two(true);
        let port = impostor(answer);
        connect(&sides, [port, port]);
        assert_ne!(talk(&sides), Status::Success);
        let reason = sides[0].pair.reason().expect("it has called");
        assert!(reason.contains("somebody else answers there"), "{reason}");
    }
}

#[test]
fn who_has_the_socket_of_a_peer_in_this_machine_keeps_nobody_from_it() {
    // Without a socket for processes of this machine: there is somebody else who has that.
    let sides = [side(false), side(true)];
    if number(&sides[0]) < number(&sides[1]) {
        // It is to be called.
        return who_has_the_socket_of_a_peer_in_this_machine_keeps_nobody_from_it();
    }
    let squatter = UnixListener::bind_addr(&name(&sides[1])).expect("nobody has it");
    let called = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut caller, _) = squatter.accept().expect("the other side tries it first");
        let mut bytes = [0; 36];
        caller.read_exact(&mut bytes).and_then(|()| caller.write_all(&[1; 100])).expect("room");
        let mut rest = Vec::new();
        let _ = caller.read_to_end(&mut rest);
        rest
    });
    connect(&sides, [port(&sides[0]), port(&sides[1])]);
    assert_eq!(talk(&sides), Status::Success, "the other way was not taken");
    assert!(called.join().expect("no panic").is_empty(), "it was told something");
}
