//! Long payloads: lent where the device wants that, and read to where they belong where it asks for that.

use super::pattern::bytes;
use super::{Factory, everybody, patience};
use crate::{Channel, Cut, Header, Lending, Payload, Place, Sink};

/// Keeps all bytes in the order in which they come. Every other packet has a place, if it is asked for.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    packets: u64,
    /// Memory for the payload on its way, by the number of its packet.
    place: Option<(u64, Vec<u8>)>,
    placed: u32,
    /// Payloads of this process that have gone.
    sent: Vec<u32>,
}

impl Stream {
    fn note(&mut self, header: &Header) {
        assert!(self.place.is_none(), "a packet comes while the one before has not come whole");
        assert_eq!(header[3], 77, "the header of packet {}", self.packets);
        self.packets += 1;
    }
}

impl Sink for Stream {
    fn packet(&mut self, _from: u32, header: &Header, payload: &[u8]) {
        self.note(header);
        self.bytes.extend_from_slice(payload);
    }

    fn place(&mut self, _from: u32, header: &Header, len: usize) -> Option<Place> {
        if self.packets.is_multiple_of(2) {
            return None;
        }
        self.note(header);
        let (_, memory) = self.place.insert((self.packets, vec![0; len]));
        // SAFETY: the memory stays where it is until `placed`.
        Some(unsafe { Place::new(memory.as_mut_ptr(), self.packets as u32) })
    }

    fn placed(&mut self, token: u32, len: usize) {
        let (number, memory) = self.place.take().expect("a place was given");
        assert_eq!((token, len), (number as u32, memory.len()));
        self.bytes.extend_from_slice(&memory);
        self.placed += 1;
    }

    fn sent(&mut self, sender: u32) {
        self.sent.push(sender);
    }
}

/// Sends all of `payload`, lent if the device wants that; what comes meanwhile goes to `streams`.
fn send_whole(ends: [&dyn Channel; 2], streams: &mut [Stream; 2], payload: &[u8], number: u32) {
    let header = [u64::from(number), 1, 2, 77];
    let mut gone = 0;
    let mut lent = false;
    for _ in patience() {
        if streams[0].sent.last() == Some(&number) || (gone == payload.len() && gone > 0 && !lent) {
            return;
        }
        if !lent && gone == 0 && ends[0].lending(1, payload) == Lending::Always {
            let len = ends[0].abilities().piece.unwrap_or(ends[0].abilities().packet);
            let cut = Cut { first: header, rest: [0, 0, u64::from(number), 77], len };
            // SAFETY: the payload stays as it is until this function returns.
            lent = unsafe { ends[0].send_from(1, &cut, payload, number) };
        }
        if !lent && let Some(more) = ends[0].copy_and_send(1, &header, Payload::Bytes(&payload[gone..])) {
            gone += more;
        }
        ends[0].poll(&mut streams[0]);
        ends[1].poll(&mut streams[1]);
    }
    panic!("payload {number} of {} bytes has not gone", payload.len());
}

pub fn long_payloads_find_their_place(factory: Factory) {
    let devices = everybody(factory, 2);
    let ends = [&*devices[0], &*devices[1]];
    let mut streams = [Stream::default(), Stream::default()];
    let mut sent = Vec::new();
    let sizes = [1, 8, 9000, 40_000, 100_000, 300_000, 3_000_000, 40, 65_536, 70_000, 500_001, 2];
    for number in 0..4 * sizes.len() as u32 {
        let payload = bytes(u64::from(number), sizes[number as usize % sizes.len()]);
        send_whole(ends, &mut streams, &payload, number);
        sent.extend_from_slice(&payload);
    }
    for _ in patience() {
        if streams[1].bytes.len() >= sent.len() {
            break;
        }
        ends[1].poll(&mut streams[1]);
        ends[0].poll(&mut streams[0]);
    }
    assert_eq!(streams[1].bytes.len(), sent.len());
    assert!(streams[1].bytes == sent, "other bytes, or in another order");
    if ends[0].lending(1, &sent) == Lending::Always && ends[0].abilities().piece.is_some() {
        assert!(streams[1].placed > 0, "nothing is read to its place");
    }
}
