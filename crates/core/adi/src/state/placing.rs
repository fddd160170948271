//! Composer: payloads that a device writes straight into the memory of their receive.

use super::State;
use crate::packet::{Packet, Synchronous};
use crate::parts::stream::Incoming;
use crate::transfer::Side;
use crate::{Data, Proc, Tuple};
use tern_mcm::{Header, Place};

impl State {
    /// Where the payload of a packet belongs, `len` bytes, if its receive is known and has room for them in one run. An eager message
    /// matches its receive then.
    pub(super) fn place_payload(&mut self, from: Proc, header: &Header, len: usize) -> Option<Place> {
        if self.loss.has(from) {
            return None;
        }
        let packet = Packet::decode(header)?;
        let request = match packet {
            Packet::Eager { tuple, size, sync, preferred } => {
                self.match_ahead(from, &tuple, size, sync, preferred, len)?
            }
            Packet::More => match self.stream.incoming(from) {
                Incoming::Transfer(request) => request,
                _ => return None,
            },
            Packet::Data { receiver, .. } => receiver,
            _ => return None,
        };
        // One that is published, or that the packet names by mistake, has no place for it.
        let (transfer, received) = match packet {
            Packet::Eager { .. } => self.requests.receiving(from, request, len),
            _ => self.receiving(from, request, len, &packet),
        }?;
        let at = room(&transfer.data, received, len)?;
        if received == 0 {
            self.learned.transfer();
        }
        // SAFETY: the caller of the receive keeps the memory valid until the request is complete (see `Data`): it completes with its last
        // byte, or when its sender is lost. Only one message of a sender is on its way in pieces.
        Some(unsafe { Place::new(at, request) })
    }

    /// Matches an eager message of which the first packet is on its way, with `len` bytes, if it then has its place.
    fn match_ahead(
        &mut self, from: Proc, tuple: &Tuple, size: u64, sync: Option<Synchronous>, preferred: bool, len: usize,
    ) -> Option<u32> {
        if State::flaw_of_eager(size, len).is_some() {
            return None;
        }
        let found = self.requests.get(self.matching.find_posted(tuple)?);
        if matches!(found.side, Side::Receive { published, .. } if published.is_published()) {
            return None;
        }
        room(&found.data, 0, size as usize)?;
        let request = self.match_arrival(from, tuple)?;
        self.begin(request, from, tuple, size);
        if (len as u64) < size {
            self.expect_rest(from, request);
        }
        self.note_packets(from, size, preferred);
        if let Some(sender) = sync {
            self.acknowledge(from, request, sender);
        }
        Some(request)
    }

    /// The next `len` bytes of the message are in the memory of request `request`, which completes with the last.
    pub(super) fn end_placing(&mut self, request: u32, len: usize) {
        if self.requests.get_mut(request).count_bytes(len) {
            self.complete(request);
        }
    }
}

/// Where the `len` bytes from byte `from` on lie, if all of them do in one run.
fn room(data: &Data, from: usize, len: usize) -> Option<*mut u8> {
    match data {
        // The sum of two lengths of memory.
        Data::Bytes(base, room) if from + len <= *room => Some(base.wrapping_add(from)),
        _ => None,
    }
}
