//! The packets of the point-to-point protocols, and their headers. Each kind has one meaning.
//!
//! | packet | sent by | says | answered by |
//! |---|---|---|---|
//! | `Eager` | sender | here is a message, whole or its beginning | nothing; `Ack` if it is synchronous |
//! | `More` | sender | the next bytes of the last `Eager` message | nothing |
//! | `Rts` | sender | request to send: a message waits here, in this memory | one of `Cts`, `Rtr`, `Join`, `Ats`, `AtsKept`, `AtsUnconfirmed` |
//! | `RtsConfirm` | sender | whether the memory of an unconfirmed `Rts` was right | nothing; `Cts` if it was wrong and copied from |
//! | `Cts` | receiver | clear to send: the first bytes are wanted in packets | `Data` |
//! | `Data` | sender | the next bytes for a receive | nothing |
//! | `Rtr` | receiver | ready to receive: put the first bytes into this memory | `Fin`, or `Data` if they cannot be put |
//! | `Fin` | sender | the bytes of an `Rtr` are in their place | nothing |
//! | `Join` | receiver | a copy has begun that the sender may take part in | nothing: the copy tells of its end |
//! | `Ats` | receiver | acknowledges an `Rts`: the receive has the message | nothing |
//! | `AtsKept` | receiver | acknowledges an `Rts`: no receive has matched, and the message is kept | nothing |
//! | `AtsUnconfirmed` | receiver | acknowledges an `Rts`: the bytes are copied, and count once `RtsConfirm` says that they are right | nothing |
//! | `Ack` | receiver | a synchronous message has matched | nothing |
//! | `Cancel` | sender | take a message back that may not have matched | `Cancelled` |
//! | `Cancelled` | receiver | whether the message was taken back | nothing |
//! | `Missing` | sender | stands for a message that will not come | nothing |
//! | `Full` | receiver | too much is kept here: send nothing without an `Rts` | nothing |
//! | `Room` | receiver | that is over | nothing |
//! | `Notice` | either | the next bytes of a notice for the layer above, of processes that fail | nothing |
//!
//! Sender and receiver are those of the message. The same table stands in `docs/parts/messages.md`.

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

/// What a request to send says beside where the message lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RtsFlags {
    /// The sender tells a speculative address: [`Packet::RtsConfirm`] follows.
    pub unconfirmed: bool,
    /// The sender counts on the message to be kept if no receive wants it yet. Never of an unconfirmed one.
    pub may_buffer: bool,
    /// The message lies in private memory, and the receiver had better have the kernel copy it alone (CMA).
    pub cma_get: bool,
}

impl RtsFlags {
    fn bits(self) -> u64 {
        let bit = |is: bool, bit: u64| if is { bit } else { 0 };
        bit(self.unconfirmed, UNCONFIRMED) | bit(self.may_buffer, MAY_BUFFER) | bit(self.cma_get, CMA_GET)
    }

    fn of(bits: u64) -> RtsFlags {
        RtsFlags {
            unconfirmed: bits & UNCONFIRMED != 0,
            may_buffer: bits & MAY_BUFFER != 0,
            cma_get: bits & CMA_GET != 0,
        }
    }
}

/// What a packet is for. `sender` and `receiver` are numbers of requests at the two processes; sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A message of `size` bytes, whole or its beginning, which is the payload. `sync`: the sender's request to acknowledge when it has matched.
    /// `preferred`: the receiver could have fetched it, and has it sooner so.
    Eager { tuple: Tuple, size: u64, sync: Option<Synchronous>, preferred: bool },
    /// The payload has the next bytes of the last eager message on this stream.
    More,
    /// A message of `size` bytes waits at the sender. The payload is the memory that it lies in ([`tern_mcm::Memory`]).
    Rts { tuple: Tuple, size: u64, sender: Synchronous, flags: RtsFlags },
    /// Whether the memory was right that an unconfirmed request to send has told.
    RtsConfirm { sender: u32, right: bool },
    /// The first `bytes` of the message, which are not 0, are wanted in packets.
    Cts { sender: u32, receiver: u32, bytes: u64 },
    /// The payload has the next bytes for a receive, of a message of `size` bytes.
    Data { receiver: u32, size: u64 },
    /// The first `bytes` of the message are wanted in the memory that the payload tells, if the sender can write there.
    Rtr { sender: u32, receiver: u32, bytes: u64 },
    /// They are there.
    Fin { receiver: u32 },
    /// The receiver has begun to copy the message, and the sender may take part in copy `number`.
    Join { sender: u32, number: u64 },
    /// The receive has the message.
    Ats { sender: u32 },
    /// No receive has matched the message yet, and the receiver has a copy of it.
    AtsKept { sender: u32 },
    /// The receive has the bytes, from a speculative address.
    AtsUnconfirmed { sender: u32 },
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
    /// The payload has the next bytes of a notice of `size` bytes for the layer above, which is no message and matches nothing.
    Notice { size: u64 },
}

const EAGER: u64 = 1;
const MORE: u64 = 2;
const RTS: u64 = 3;
const CTS: u64 = 4;
const DATA: u64 = 5;
const ACK: u64 = 6;
const CANCEL: u64 = 7;
const CANCELLED: u64 = 8;
const RTR: u64 = 9;
const FIN: u64 = 10;
const JOIN: u64 = 11;
const FULL: u64 = 12;
const ROOM: u64 = 13;
const MISSING: u64 = 14;
const RTS_CONFIRM: u64 = 15;
const ATS: u64 = 16;
const ATS_KEPT: u64 = 17;
const ATS_UNCONFIRMED: u64 = 18;
const NOTICE: u64 = 19;
// Flags, above the kind.
const SYNC: u64 = 1 << 8;
const UNCONFIRMED: u64 = 1 << 9;
const MAY_BUFFER: u64 = 1 << 10;
const CMA_GET: u64 = 1 << 11;
const PREFERRED: u64 = 1 << 12;

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
            Packet::Eager { ref tuple, size, sync, preferred } => {
                let bits = if preferred { PREFERRED } else { 0 } | if sync.is_some() { SYNC } else { 0 };
                with(EAGER | bits, tuple, size, sync.map_or(0, Synchronous::word))
            }
            Packet::More => [MORE, 0, 0, 0],
            Packet::Rts { ref tuple, size, sender, flags } => with(RTS | flags.bits(), tuple, size, sender.word()),
            Packet::RtsConfirm { sender, right } => [RTS_CONFIRM, 0, right as u64, sender as u64],
            Packet::Cts { sender, receiver, bytes } => [CTS, 0, bytes, pair(sender, receiver)],
            Packet::Rtr { sender, receiver, bytes } => [RTR, 0, bytes, pair(sender, receiver)],
            Packet::Fin { receiver } => [FIN, 0, 0, receiver as u64],
            Packet::Join { sender, number } => [JOIN, 0, number, sender as u64],
            Packet::Data { receiver, size } => [DATA, 0, size, receiver as u64],
            Packet::Ats { sender } => [ATS, 0, 0, sender as u64],
            Packet::AtsKept { sender } => [ATS_KEPT, 0, 0, sender as u64],
            Packet::AtsUnconfirmed { sender } => [ATS_UNCONFIRMED, 0, 0, sender as u64],
            Packet::Ack { sender } => [ACK, 0, 0, sender as u64],
            Packet::Cancel { ref tuple, sender } => with(CANCEL, tuple, 0, sender.into()),
            Packet::Cancelled { sender, success } => [CANCELLED, 0, success as u64, sender as u64],
            Packet::Missing { ref tuple, word } => with(MISSING, tuple, 0, word.into()),
            Packet::Full => [FULL, 0, 0, 0],
            Packet::Room => [ROOM, 0, 0, 0],
            Packet::Notice { size } => [NOTICE, 0, size, 0],
        }
    }

    /// True for a packet that ends send `request`: its receiver has the message, or has matched it.
    #[inline]
    pub fn ends(header: &Header, request: u32) -> bool {
        let [kind, _, _, ids] = *header;
        matches!(kind, ATS | ATS_KEPT | ATS_UNCONFIRMED | ACK) && ids as u32 == request
    }

    /// The tag of a message that is whole in its packet with `len` bytes of payload, asks for no
    /// answer, and is what `pattern` wants, whose source is no wildcard.
    #[inline]
    pub fn wanted(header: &Header, pattern: &Pattern, len: usize) -> Option<i32> {
        let [first, who, size, _] = *header;
        let tag = (who >> 32) as i32;
        let wanted = first & !PREFERRED == EAGER | (pattern.context as u64) << 32
            && who as i32 == pattern.source
            && (tag == pattern.tag || pattern.tag == ANY_TAG)
            && size == len as u64;
        wanted.then_some(tag)
    }

    /// Whether its sender has chosen packets for a message of one packet.
    #[inline]
    pub fn is_preferred(header: &Header) -> bool {
        header[0] & PREFERRED != 0
    }

    /// The number of the kind that a header tells, known or not.
    pub fn kind(header: &Header) -> u8 {
        header[0] as u8
    }

    /// The name of a kind by its number, as in the table above. `None`: no kind of packet has that number.
    pub fn name(kind: u8) -> Option<String> {
        let shown = format!("{:?}", Packet::decode(&[kind.into(), 0, 0, 0])?);
        shown.split(' ').next().map(str::to_owned)
    }

    /// `None`: no kind of packet has that number, so the header is damaged.
    #[inline]
    pub fn decode(header: &Header) -> Option<Packet> {
        let [first, who, size, ids] = *header;
        let tuple = Tuple { context: (first >> 32) as u32, source: who as u32 as i32, tag: (who >> 32) as u32 as i32 };
        let low = ids as u32;
        Some(match first & 0xff {
            EAGER => Packet::Eager {
                tuple,
                size,
                sync: (first & SYNC != 0).then_some(Synchronous::of(ids)),
                preferred: first & PREFERRED != 0,
            },
            MORE => Packet::More,
            RTS => Packet::Rts { tuple, size, sender: Synchronous::of(ids), flags: RtsFlags::of(first) },
            RTS_CONFIRM => Packet::RtsConfirm { sender: low, right: size != 0 },
            CTS => Packet::Cts { sender: low, receiver: (ids >> 32) as u32, bytes: size },
            RTR => Packet::Rtr { sender: low, receiver: (ids >> 32) as u32, bytes: size },
            FIN => Packet::Fin { receiver: low },
            JOIN => Packet::Join { sender: low, number: size },
            DATA => Packet::Data { receiver: low, size },
            ATS => Packet::Ats { sender: low },
            ATS_KEPT => Packet::AtsKept { sender: low },
            ATS_UNCONFIRMED => Packet::AtsUnconfirmed { sender: low },
            ACK => Packet::Ack { sender: low },
            CANCEL => Packet::Cancel { tuple, sender: low },
            CANCELLED => Packet::Cancelled { sender: low, success: size != 0 },
            MISSING => Packet::Missing { tuple, word: low },
            FULL => Packet::Full,
            ROOM => Packet::Room,
            NOTICE => Packet::Notice { size },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use tern_damage::{Change, damage};

    /// The bytes of a header as a header.
    fn header(bytes: &[u8]) -> Header {
        let mut words = [0; size_of::<Header>()];
        let len = bytes.len().min(words.len());
        words[..len].copy_from_slice(&bytes[..len]);
        std::array::from_fn(|at| u64::from_le_bytes(words[8 * at..][..8].try_into().expect("8 bytes")))
    }

    proptest! {
        #[test]
        fn any_header_is_read(words in any::<Header>()) {
            // The flags of one kind mean nothing in another.
            let known = words[0] as u8 >= EAGER as u8 && words[0] as u8 <= NOTICE as u8;
            prop_assert_eq!(Packet::decode(&words).is_some(), known);
        }

        #[test]
        fn a_damaged_header_is_refused_or_survives(
            kind in EAGER..=NOTICE,
            words in any::<[u64; 3]>(),
            changes in prop::collection::vec(any::<Change>(), 1..4),
        ) {
            let valid: Vec<u8> = [kind, words[0], words[1], words[2]].iter().flat_map(|word| word.to_le_bytes()).collect();
            if let Some(packet) = Packet::decode(&header(&damage(&valid, &changes))) {
                prop_assert_eq!(Packet::decode(&packet.encode()), Some(packet));
            }
        }
    }

    #[test]
    fn every_packet_survives_its_header() {
        let tuple = Tuple { context: 7, source: 3, tag: i32::MAX };
        let any = u32::MAX - 1;
        for packet in [
            Packet::Eager { tuple, size: 1 << 40, sync: None, preferred: true },
            Packet::Eager { tuple, size: 0, sync: Some(Synchronous { request: any, mark: 7 }), preferred: false },
            Packet::More,
            Packet::Rts {
                tuple,
                size: u64::MAX,
                sender: Synchronous { request: 5, mark: any },
                flags: RtsFlags { may_buffer: true, cma_get: true, ..RtsFlags::default() },
            },
            Packet::Rts {
                tuple,
                size: 1,
                sender: Synchronous { request: any, mark: 0 },
                flags: RtsFlags { unconfirmed: true, ..RtsFlags::default() },
            },
            Packet::RtsConfirm { sender: any, right: true },
            Packet::RtsConfirm { sender: 1, right: false },
            Packet::Cts { sender: 1, receiver: any, bytes: 9 },
            Packet::Rtr { sender: any, receiver: 1, bytes: 1 << 50 },
            Packet::Fin { receiver: any },
            Packet::Join { sender: any, number: u64::MAX },
            Packet::Data { receiver: any, size: 1 << 33 },
            Packet::Ats { sender: any },
            Packet::AtsKept { sender: any },
            Packet::AtsUnconfirmed { sender: any },
            Packet::Ack { sender: any },
            Packet::Cancel { tuple, sender: 0 },
            Packet::Cancelled { sender: 2, success: true },
            Packet::Cancelled { sender: 2, success: false },
            Packet::Missing { tuple, word: any },
            Packet::Full,
            Packet::Room,
            Packet::Notice { size: 1 << 20 },
        ] {
            assert_eq!(Packet::decode(&packet.encode()), Some(packet));
        }
    }

    #[test]
    fn every_kind_has_the_name_of_its_row() {
        let names = (0..=u8::MAX).filter_map(Packet::name);
        let named: BTreeSet<String> = names.map(|name| format!("| `{name}` |")).collect();
        let rows = rows(include_str!("packet.rs"));
        let firsts = rows.iter().skip(2).map(|row| row.split_inclusive('|').take(2).collect());
        assert_eq!(named, firsts.collect());
    }

    /// The rows of a table, by the name in their first column.
    fn rows(text: &str) -> Vec<String> {
        let rows = text.lines().map(|line| line.trim_start_matches("//! ").trim());
        let start = "| packet | sent by | says | answered by |";
        rows.skip_while(|row| *row != start).take_while(|row| row.starts_with('|')).map(str::to_owned).collect()
    }

    #[test]
    fn the_page_shows_the_table_of_packets() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/parts/messages.md");
        let page = std::fs::read_to_string(page).expect("the page of messages is there");
        let table = rows(include_str!("packet.rs"));
        assert_eq!(table.len(), 2 + 19, "a row for each kind");
        assert_eq!(rows(&page), table);
    }

    #[test]
    fn what_ends_a_send_is_told_from_the_header() {
        for packet in [
            Packet::Ats { sender: 7 },
            Packet::AtsKept { sender: 7 },
            Packet::AtsUnconfirmed { sender: 7 },
            Packet::Ack { sender: 7 },
        ] {
            assert!(Packet::ends(&packet.encode(), 7) && !Packet::ends(&packet.encode(), 8), "{packet:?}");
        }
        for packet in [
            Packet::Cts { sender: 7, receiver: 7, bytes: 1 },
            Packet::Rtr { sender: 7, receiver: 7, bytes: 1 },
            Packet::Fin { receiver: 7 },
            Packet::Join { sender: 7, number: 0 },
        ] {
            assert!(!Packet::ends(&packet.encode(), 7), "{packet:?}");
        }
    }
}
