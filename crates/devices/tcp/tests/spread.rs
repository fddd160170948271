//! Long messages over several connections of a pair.

use std::time::{Duration, Instant};
use tern_device::{Channel, Cut, Header, Payload, Place, Sink};
use tern_tcp::{Endpoint, Settings, Tcp};

/// Keeps what has come in order. Every other long payload has a place.
#[derive(Default)]
struct Heard {
    came: Vec<(u64, Vec<u8>)>,
    place: Option<(Header, Vec<u8>)>,
    asked: u32,
    placed: u32,
    sent: Vec<u32>,
}

impl Sink for Heard {
    fn packet(&mut self, _from: u32, header: &Header, payload: &[u8]) {
        assert!(self.place.is_none(), "a packet comes before the one before has come whole");
        self.came.push((header[0], payload.to_vec()));
    }
    fn place(&mut self, _from: u32, header: &Header, len: usize) -> Option<Place> {
        self.asked += 1;
        if self.asked.is_multiple_of(2) {
            return None;
        }
        let (_, memory) = self.place.insert((*header, vec![0; len]));
        // SAFETY: the memory stays where it is until `placed`.
        Some(unsafe { Place::new(memory.as_mut_ptr(), 5) })
    }
    fn placed(&mut self, token: u32, len: usize) {
        let (header, memory) = self.place.take().expect("a place was given");
        assert_eq!((token, len), (5, memory.len()));
        self.placed += 1;
        self.came.push((header[0], memory));
    }
    fn sent(&mut self, sender: u32) {
        self.sent.push(sender);
    }
    fn lost(&mut self, peer: u32, why: &str) {
        panic!("process {peer} is lost: {why}");
    }
}

/// Two processes that reach each other at three addresses.
fn pair(together: bool) -> [Tcp; 2] {
    let addresses = vec!["127.0.0.1".parse().expect("an address"); 3];
    let settings = Settings { together, addresses, ..Settings::default() };
    let ends = [0, 1].map(|me| Endpoint::open(me, 2, &settings).expect("a port"));
    let addresses = ends.each_ref().map(Endpoint::address);
    ends.map(|end| end.join(&addresses).expect("a thread"))
}

fn bytes(number: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at * 7 + (at >> 9) + number * 31) as u8).collect()
}

/// Sends `payload`, long ones from where they lie, and one short packet behind it.
fn send(ends: &[Tcp; 2], heard: &mut [Heard; 2], from: usize, number: u64, payload: &[u8]) {
    let (to, until) = (1 - from, Instant::now() + Duration::from_secs(60));
    let header = [number, 0, 0, 0];
    let long = payload.len() >= ends[from].sends_from();
    let (mut begun, mut ended) = (false, false);
    while !ended {
        assert!(Instant::now() < until, "payload {number} has not gone");
        if !begun {
            let cut = Cut { first: header, rest: header, len: 256 << 10 };
            begun = match long {
                // SAFETY: the payload stays until all of it has gone: what is behind it goes then.
                true => unsafe { ends[from].send_from(to as u32, &cut, payload, number as u32) },
                false => ends[from].copy_and_send(to as u32, &header, Payload::Bytes(payload)).is_some(),
            };
        }
        ended = begun && ends[from].copy_and_send(to as u32, &[u64::MAX; 4], Payload::Bytes(b"behind")).is_some();
        poll(ends, heard);
    }
}

fn poll(ends: &[Tcp; 2], heard: &mut [Heard; 2]) {
    ends.iter().zip(heard).for_each(|(end, heard)| {
        end.poll(heard);
    });
}

#[test]
fn messages_keep_their_order_and_bytes() {
    let ends = pair(true);
    let mut heard = [Heard::default(), Heard::default()];
    let before = tern_counters::TCP_SPREAD.get();
    // The first one makes the connection, and goes by copy.
    let sizes = [40, 600 << 10, 5 << 20, 100_000, (9 << 20) + 3, 4 << 20, 512 << 10];
    let (mut sent, until) = (0, Instant::now() + Duration::from_secs(60));
    // Until the other connections are there, all goes by one.
    while tern_counters::TCP_SPREAD.get() < before + 40 {
        assert!(Instant::now() < until, "long messages are never spread");
        let payload = bytes(sent, sizes[sent as usize % sizes.len()]);
        for from in [0, 1] {
            send(&ends, &mut heard, from, sent, &payload);
        }
        sent += 1;
    }
    for (me, from) in [(1, 0), (0, 1)] {
        while heard[me].came.iter().filter(|(number, _)| *number == u64::MAX).count() < sent as usize
            || heard[from].sent.is_empty()
        {
            poll(&ends, &mut heard);
        }
    }
    for heard in &heard {
        let mut parts = heard.came.iter();
        for number in 0..sent {
            let wanted = bytes(number, sizes[number as usize % sizes.len()]);
            let mut came = Vec::new();
            loop {
                match parts.next().expect("all messages") {
                    (u64::MAX, behind) => break assert_eq!(behind, b"behind"),
                    (other, part) => {
                        assert_eq!(*other, number);
                        came.extend_from_slice(part);
                    }
                }
            }
            assert!(came == wanted, "message {number} has {} bytes, or others", came.len());
        }
        assert!(heard.placed > 10, "{} payloads went to their place", heard.placed);
    }
}

#[test]
fn one_interface_is_one_connection() {
    let ends = pair(false);
    let mut heard = [Heard::default(), Heard::default()];
    let payload = bytes(1, 5 << 20);
    send(&ends, &mut heard, 0, 9, b"the connection");
    (0..3).for_each(|number| send(&ends, &mut heard, 0, number, &payload));
    assert!(heard[1].came.iter().filter(|(number, _)| *number < 3).all(|(_, part)| part.len() <= 256 << 10));
}
