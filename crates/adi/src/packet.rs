//! The packets of the point-to-point protocols, and their headers.

use crate::{ANY_TAG, Pattern, Tuple};
use tern_mcm::Header;

/// A send that waits for its match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synchronous {
    /// The sender's request.
    pub request: u32,
    /// What the layer above has marked it with, or 0.
    pub mark: u32,
}

impl Synchronous {
    fn word(self) -> u64 {
        pair(self.request, self.mark)
    }

    fn of(word: u64) -> Synchronous {
        Synchronous { request: word as u32, mark: (word >> 32) as u32 }
    }
}

/// On what terms a message waits at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The sender is sure of where it has told that its memory is; if not, [`Packet::Sure`] follows.
    pub sure: bool,
    /// It is, and counts on the message to be kept if no receive wants it yet.
    pub kept: bool,
    /// The message lies in private memory, and its receiver had better have the kernel copy it alone.
    pub alone: bool,
}

impl Terms {
    pub const PLAIN: Terms = Terms { sure: true, kept: false, alone: false };

    fn bits(self) -> u64 {
        let bit = |is: bool, bit: u64| if is { bit } else { 0 };
        bit(!self.sure, PRESUMED) | bit(self.kept, KEPT) | bit(self.alone, ALONE)
    }

    fn of(bits: u64) -> Terms {
        Terms { sure: bits & PRESUMED == 0, kept: bits & KEPT != 0, alone: bits & ALONE != 0 }
    }
}

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A message of `size` bytes, whole or its beginning. With `sync`, the sender's request to
    /// acknowledge when it has matched. `chosen`: its receiver could have fetched it, and has it sooner so.
    Eager { tuple: Tuple, size: u64, sync: Option<Synchronous>, chosen: bool },
    /// The next bytes of the last eager message on this channel.
    More,
    /// Request to send: a message of `size` bytes that waits at the sender.
    Rts { tuple: Tuple, size: u64, sender: Synchronous, terms: Terms },
    /// Whether the place was right that the request to send has told.
    Sure { sender: u32, right: bool },
    /// Clear to send: the receiver wants the first `bytes` of it for its request `receiver`. None, and no request: it has copied them
    /// from where its sender was not sure that they are.
    Cts { sender: u32, receiver: u32, bytes: u64 },
    /// The same; the payload says where the receiver's memory is, if the sender can write there.
    Put { sender: u32, receiver: u32, bytes: u64 },
    /// The message of request `receiver` has been put into its memory.
    Fin { receiver: u32 },
    /// The receiver has begun to copy the message, and the sender may take part in copy `number`.
    Join { sender: u32, number: u64 },
    /// The next bytes for request `receiver`, of a message of `size` bytes.
    Data { receiver: u32, size: u64 },
    /// The synchronous send has matched.
    Ack { sender: u32 },
    /// Take back a message that may not have matched yet.
    Cancel { tuple: Tuple, sender: u32 },
    /// Whether it was taken back.
    Cancelled { sender: u32, success: bool },
    /// Stands for a message that its sender cannot give, since somebody is lost; `word` is for the layer above.
    Missing { tuple: Tuple, word: u32 },
    /// Too much is kept here that no receive has asked for: send nothing without asking.
    Full,
    /// That is over.
    Room,
}

const EAGER: u64 = 1;
const MORE: u64 = 2;
const RTS: u64 = 3;
const CTS: u64 = 4;
const DATA: u64 = 5;
const ACK: u64 = 6;
const CANCEL: u64 = 7;
const CANCELLED: u64 = 8;
const PUT: u64 = 9;
const FIN: u64 = 10;
const JOIN: u64 = 11;
const FULL: u64 = 12;
const ROOM: u64 = 13;
const MISSING: u64 = 14;
const SURE: u64 = 15;
const SYNC: u64 = 1 << 8;
const PRESUMED: u64 = 1 << 9;
const KEPT: u64 = 1 << 10;
const ALONE: u64 = 1 << 11;
const CHOSEN: u64 = 1 << 12;

#[inline]
fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

impl Packet {
    #[inline(always)]
    pub fn encode(&self) -> Header {
        let with = |kind: u64, tuple: &Tuple, size: u64, id: u64| {
            let first = kind | (tuple.context as u64) << 32;
            [first, pair(tuple.source as u32, tuple.tag as u32), size, id]
        };
        match *self {
            Packet::Eager { ref tuple, size, sync, chosen } => {
                let bits = if chosen { CHOSEN } else { 0 } | if sync.is_some() { SYNC } else { 0 };
                with(EAGER | bits, tuple, size, sync.map_or(0, Synchronous::word))
            }
            Packet::More => [MORE, 0, 0, 0],
            Packet::Rts { ref tuple, size, sender, terms } => with(RTS | terms.bits(), tuple, size, sender.word()),
            Packet::Sure { sender, right } => [SURE, 0, right as u64, sender as u64],
            Packet::Cts { sender, receiver, bytes } => [CTS, 0, bytes, pair(sender, receiver)],
            Packet::Put { sender, receiver, bytes } => [PUT, 0, bytes, pair(sender, receiver)],
            Packet::Fin { receiver } => [FIN, 0, 0, receiver as u64],
            Packet::Join { sender, number } => [JOIN, 0, number, sender as u64],
            Packet::Data { receiver, size } => [DATA, 0, size, receiver as u64],
            Packet::Ack { sender } => [ACK, 0, 0, sender as u64],
            Packet::Cancel { ref tuple, sender } => with(CANCEL, tuple, 0, sender.into()),
            Packet::Cancelled { sender, success } => [CANCELLED, 0, success as u64, sender as u64],
            Packet::Missing { ref tuple, word } => with(MISSING, tuple, 0, word.into()),
            Packet::Full => [FULL, 0, 0, 0],
            Packet::Room => [ROOM, 0, 0, 0],
        }
    }

    /// True for a packet that ends send `request`: its receiver has the message, or has matched it.
    #[inline]
    pub fn ends(header: &Header, request: u32) -> bool {
        let [kind, _, bytes, ids] = *header;
        (kind == CTS && bytes == 0 || kind == ACK) && ids as u32 == request
    }

    /// The tag of a message that is whole in its packet with `len` bytes of payload, asks for no
    /// answer, and is what `pattern` wants, whose source is no wildcard.
    #[inline]
    pub fn wanted(header: &Header, pattern: &Pattern, len: usize) -> Option<i32> {
        let [first, who, size, _] = *header;
        let tag = (who >> 32) as i32;
        let wanted = first & !CHOSEN == EAGER | (pattern.context as u64) << 32
            && who as i32 == pattern.source
            && (tag == pattern.tag || pattern.tag == ANY_TAG)
            && size == len as u64;
        wanted.then_some(tag)
    }

    /// Whether its sender has chosen packets for a message of one packet.
    #[inline]
    pub fn is_chosen(header: &Header) -> bool {
        header[0] & CHOSEN != 0
    }

    #[inline]
    pub fn decode(header: &Header) -> Packet {
        let [first, who, size, ids] = *header;
        let tuple = Tuple { context: (first >> 32) as u32, source: who as u32 as i32, tag: (who >> 32) as u32 as i32 };
        let low = ids as u32;
        match first & 0xff {
            EAGER => Packet::Eager {
                tuple,
                size,
                sync: (first & SYNC != 0).then_some(Synchronous::of(ids)),
                chosen: first & CHOSEN != 0,
            },
            MORE => Packet::More,
            RTS => Packet::Rts { tuple, size, sender: Synchronous::of(ids), terms: Terms::of(first) },
            SURE => Packet::Sure { sender: low, right: size != 0 },
            CTS => Packet::Cts { sender: low, receiver: (ids >> 32) as u32, bytes: size },
            PUT => Packet::Put { sender: low, receiver: (ids >> 32) as u32, bytes: size },
            FIN => Packet::Fin { receiver: low },
            JOIN => Packet::Join { sender: low, number: size },
            DATA => Packet::Data { receiver: low, size },
            ACK => Packet::Ack { sender: low },
            CANCEL => Packet::Cancel { tuple, sender: low },
            CANCELLED => Packet::Cancelled { sender: low, success: size != 0 },
            MISSING => Packet::Missing { tuple, word: low },
            FULL => Packet::Full,
            ROOM => Packet::Room,
            kind => unreachable!("packet of unknown kind {kind}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_survives_its_header() {
        let tuple = Tuple { context: 7, source: 3, tag: i32::MAX };
        let any = u32::MAX - 1;
        for packet in [
            Packet::Eager { tuple, size: 1 << 40, sync: None, chosen: true },
            Packet::Eager { tuple, size: 0, sync: Some(Synchronous { request: any, mark: 7 }), chosen: false },
            Packet::More,
            Packet::Rts {
                tuple,
                size: u64::MAX,
                sender: Synchronous { request: 5, mark: any },
                terms: Terms { kept: true, alone: true, ..Terms::PLAIN },
            },
            Packet::Rts {
                tuple,
                size: 1,
                sender: Synchronous { request: any, mark: 0 },
                terms: Terms { sure: false, ..Terms::PLAIN },
            },
            Packet::Sure { sender: any, right: true },
            Packet::Sure { sender: 1, right: false },
            Packet::Cts { sender: 1, receiver: any, bytes: 9 },
            Packet::Put { sender: any, receiver: 1, bytes: 1 << 50 },
            Packet::Fin { receiver: any },
            Packet::Join { sender: any, number: u64::MAX },
            Packet::Data { receiver: any, size: 1 << 33 },
            Packet::Ack { sender: any },
            Packet::Cancel { tuple, sender: 0 },
            Packet::Cancelled { sender: 2, success: true },
            Packet::Cancelled { sender: 2, success: false },
            Packet::Missing { tuple, word: any },
            Packet::Full,
            Packet::Room,
        ] {
            assert_eq!(Packet::decode(&packet.encode()), packet);
        }
    }
}
