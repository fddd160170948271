//! Packets whose payload stays in the caller's buffer. A device that copies passes by saying no.

use super::pattern::bytes;
use super::{Factory, Inbox, everybody, patience};
use crate::{Cut, Header, Lending, Payload, Sink};

/// Takes what comes back to a sender.
#[derive(Default)]
struct Ended(Vec<u32>);

impl Sink for Ended {
    fn packet(&mut self, _from: u32, _header: &Header, _payload: &[u8]) {
        panic!("a packet that nobody has sent");
    }
    fn sent(&mut self, sender: u32) {
        self.0.push(sender);
    }
}

/// Lent, in one packet or in several, or copied, payloads arrive whole and in order, and whoever lends is told once that it
/// is over.
pub fn lent_payloads_arrive_in_order(factory: Factory) {
    let everybody = everybody(factory, 2);
    let (sender, receiver) = (&*everybody[0], &*everybody[1]);
    let mut buffers: Vec<Vec<u8>> = [100, 128, 500, 1000, 3000].map(|len| vec![0; len]).into();
    let (mut ended, mut inbox) = (Ended::default(), Inbox::default());
    let (mut lent, mut in_parts, mut sent) = (0, 0, Vec::new());
    for number in 0..600_u64 {
        let at = number as usize % buffers.len();
        let header: Header = [number, number >> 3, 7, 0];
        let rest: Header = [number, 1, 2, 3];
        let len = buffers[at].len().min(sender.abilities().packet);
        buffers[at][..len].copy_from_slice(&bytes(number, len));
        let cut = Cut { first: header, rest, len: if number % 2 == 0 { len } else { 800 } };
        let before = ended.0.len();
        let pays = sender.lending(1, &buffers[at][..len]) != Lending::No;
        // SAFETY: the buffer is changed again only when the end was told.
        let goes = pays && unsafe { sender.send_from(1, &cut, &buffers[at][..len], number as u32) };
        lent += usize::from(goes);
        in_parts += usize::from(goes && len > cut.len);
        for (part, payload) in bytes(number, len).chunks(if goes { cut.len } else { len }).enumerate() {
            sent.push((if part == 0 { header } else { rest }, payload.to_vec()));
        }
        for _ in patience() {
            if goes && ended.0.len() > before {
                assert_eq!(ended.0.last(), Some(&(number as u32)));
                break;
            }
            if !goes && sender.copy_and_send(1, &header, Payload::Bytes(&buffers[at][..len])).is_some() {
                break;
            }
            sender.poll(&mut ended);
            receiver.poll(&mut inbox);
        }
    }
    for (header, payload) in sent {
        let (_, came, bytes) = super::receive(receiver, &mut inbox);
        assert_eq!((came, bytes.len()), (header, payload.len()));
        assert!(bytes == payload, "packet {header:?} has other bytes");
    }
    sender.poll(&mut ended);
    assert_eq!(ended.0.len(), lent, "each lent payload is told of once");
    if sender.sends_from() < 128 {
        assert!(lent > 0, "buffers that are used 120 times are never lent");
        assert!(in_parts > 0, "they are never lent in several packets");
    }
}
