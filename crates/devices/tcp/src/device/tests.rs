//! Tests of ends: the way to a peer is cut behind a message that was taken for it; a process ends together with all others.

use super::{Endpoint, Tcp};
use crate::Settings;
use std::cell::RefCell;
use std::os::fd::AsRawFd;
use std::sync::mpsc;
use std::time::Duration;
use tern_device::{Channel, Cut, Header, Payload, Place, Sink};

/// What came of the last poll: packets, and peers that packets will not arrive at.
#[derive(Default)]
struct Heard {
    packets: usize,
    undeliverable: Vec<u32>,
    lost: Vec<u32>,
}

impl Sink for Heard {
    fn packet(&mut self, _from: u32, _header: &Header, _payload: &[u8]) {
        self.packets += 1;
    }
    fn undeliverable(&mut self, peer: u32) {
        self.undeliverable.push(peer);
    }
    fn lost(&mut self, peer: u32, _why: &str) {
        self.lost.push(peer);
    }
}

/// Has the kernel drop what comes on the connection to `peer`, before it acknowledges anything.
fn deafen(process: &Tcp, peer: u32) {
    let connection = process.connection(peer).expect("it is open");
    // "Take 0 bytes."
    let mut code = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut code };
    // SAFETY: the kernel copies the program.
    let done = unsafe {
        libc::setsockopt(
            connection.outlet.socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of_val(&program) as libc::socklen_t,
        )
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

fn pair() -> [Tcp; 2] {
    let settings = Settings { silence: Duration::from_secs(1), ..Settings::default() };
    let [first, second] = [0, 1].map(|me| Endpoint::open(me, 2, &settings).expect("a port"));
    let addresses = [first.address(), second.address()];
    [first, second].map(|one| one.join(&addresses).expect("a thread"))
}

fn send(process: &Tcp) {
    assert!(process.copy_and_send(1, &[7; 4], Payload::Bytes(&[])).is_some(), "it has room");
}

/// Two, of which the first has sent the second a packet.
fn connected() -> [Tcp; 2] {
    let [first, second] = pair();
    send(&first);
    let mut heard = Heard::default();
    while heard.packets == 0 || first.connection(1).is_none() {
        first.poll(&mut Heard::default());
        second.poll(&mut heard);
    }
    [first, second]
}

/// The kernel goes on sending the bytes again long after the peer counts as lost, so the end must not wait for that.
#[test]
fn who_settles_after_the_way_was_cut_comes_to_an_end() {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let [first, second] = connected();
        deafen(&second, 0);
        // A reset by the other side's kernel does not come either.
        deafen(&first, 1);
        send(&first);
        first.settle(true, &|| ());
        let mut heard = Heard::default();
        first.poll(&mut heard);
        let _ = tell.send((heard.undeliverable, heard.lost));
    });
    let told = told.recv_timeout(Duration::from_secs(60)).expect("it comes to its end");
    assert_eq!(told, (vec![1], vec![1]));
}

#[test]
fn who_ends_with_all_others_is_not_lost() {
    let [first, second] = connected();
    first.settle(false, &|| ());
    // The end of a process closes its connections without a word.
    let _ = rustix::net::shutdown(first.connection(1).expect("it is open").descriptor(), rustix::net::Shutdown::Both);
    let mut heard = Heard::default();
    while second.connection(0).expect("it is known").ended.get().is_none() {
        second.poll(&mut heard);
    }
    assert_eq!(heard.lost, [0; 0], "a farewell came before");
    // Whoever still wants something of it finds out.
    assert!(second.copy_and_send(0, &[8; 4], Payload::Bytes(&[])).is_none());
    second.poll(&mut heard);
    assert_eq!(heard.lost, [0]);
}

/// Both ends have more for each other than their sockets hold, and one of them settles while the other one only polls.
#[test]
fn who_settles_takes_what_others_send_meanwhile() {
    let [first, second] = connected();
    let bytes = vec![9; first.abilities().packet];
    let mut taken = 0;
    for (process, peer) in [(&first, 1), (&second, 0)] {
        while process.copy_and_send(peer, &[7; 4], Payload::Bytes(&bytes)).is_some() {
            taken += peer;
        }
        assert!(!process.has_settled(), "nobody reads yet");
    }
    let [at_first, at_second] = [0, 1].map(|_| RefCell::new(Heard::default()));
    first.settle(true, &|| {
        first.poll(&mut *at_first.borrow_mut());
        second.poll(&mut *at_second.borrow_mut());
    });
    assert!(first.has_settled(), "something is left");
    while at_second.borrow().packets < taken as usize {
        second.poll(&mut *at_second.borrow_mut());
    }
    assert!(at_first.borrow().packets > 0, "it has taken what has come");
}

/// Has a place for a payload of bytes.
struct Room {
    bytes: Vec<u8>,
    asked: usize,
    placed: usize,
}

impl Sink for Room {
    fn packet(&mut self, _from: u32, _header: &Header, _payload: &[u8]) {}
    fn place(&mut self, _from: u32, _header: &Header, len: usize) -> Option<Place> {
        assert!(len <= self.bytes.len());
        self.asked += 1;
        // SAFETY: the test keeps the bytes until the end, and looks at them when the sender is forgotten.
        Some(unsafe { Place::new(self.bytes.as_mut_ptr(), 0) })
    }
    fn placed(&mut self, _token: u32, _len: usize) {
        self.placed += 1;
    }
}

#[test]
fn nothing_is_written_for_a_peer_that_others_have_lost() {
    const LONG: usize = 32 << 20;
    let [first, second] = connected();
    let payload = vec![9_u8; LONG];
    let cut = Cut { first: [1; 4], rest: [1; 4], len: LONG };
    // SAFETY: the payload lives to the end of the test.
    assert!(unsafe { first.send_from(1, &cut, &payload, 3) }, "it is taken");
    let mut room = Room { bytes: vec![0; LONG], asked: 0, placed: 0 };
    // Until one of the packets is on its way to its place.
    while room.asked == room.placed {
        first.poll(&mut Heard::default());
        second.poll(&mut room);
    }
    let placed = room.placed;
    second.forget(0);
    room.bytes.fill(0);
    for _ in 0..200 {
        first.poll(&mut Heard::default());
        second.poll(&mut room);
    }
    assert!(room.bytes.iter().all(|&byte| byte == 0) && room.placed == placed);
    assert!(second.copy_and_send(0, &[8; 4], Payload::Bytes(&[])).is_none(), "nobody sends to it");
    assert!(second.connection(0).is_none());
}
