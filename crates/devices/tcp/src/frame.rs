//! The bytes in front of a payload on a connection.

use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::IoSlice;
use tern_device::Header;

/// Bytes of a head: payload length and kind (4 bytes each), then the packet's header.
pub const HEAD: usize = 8 + size_of::<Header>();

/// Bytes of a piece: a slow connection keeps the others waiting for one at the end.
pub const PIECE: usize = 128 << 10;

/// What a frame is. Bells and farewells have no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Packet = 1,
    /// Wakes its receiver.
    Bell = 2,
    /// The last frame: the sender's end is not a loss.
    Farewell = 3,
    /// A packet whose payload follows in pieces; its own one is their length in bytes, as 8 bytes.
    Split = 4,
    /// A part of such a payload. Its header: number of the segment, offset in it.
    Piece = 5,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    pub len: usize,
    pub header: Header,
}

impl Head {
    pub fn encode(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..4].copy_from_slice(&(self.len as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&(self.kind as u32).to_le_bytes());
        for (at, word) in self.header.iter().enumerate() {
            bytes[8 + 8 * at..][..8].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The head at the front of `bytes`. `Ok(None)`: it has not come whole. `most`: payload bytes of a packet.
    ///
    /// Errors: these bytes begin no frame.
    pub fn decode(bytes: &[u8], most: usize) -> Result<Option<Head>, Garbage> {
        let Some((head, _)) = bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let (len, kind) = (word(0) as usize, word(4));
        let kind = match kind {
            1 => Kind::Packet,
            2 => Kind::Bell,
            3 => Kind::Farewell,
            4 => Kind::Split,
            5 => Kind::Piece,
            _ => return Err(Garbage),
        };
        let longest = match kind {
            Kind::Packet => most,
            Kind::Bell | Kind::Farewell => 0,
            Kind::Split => 8,
            Kind::Piece => PIECE,
        };
        if len > longest {
            return Err(Garbage);
        }
        let long = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
        Ok(Some(Head { kind, len, header: [long(8), long(16), long(24), long(32)] }))
    }

    /// Bytes of the whole frame.
    pub fn total(&self) -> usize {
        HEAD + self.len
    }
}

/// Bytes that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbage;

/// Writes parts of frames without waiting, and without a signal where the peer is gone.
pub fn write(socket: &OwnedFd, parts: &[IoSlice<'_>]) -> Result<usize, Errno> {
    let mut no_files = SendAncillaryBuffer::default();
    retry_on_intr(|| sendmsg(socket, parts, &mut no_files, SendFlags::NOSIGNAL | SendFlags::DONTWAIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn heads_survive_the_wire_and_others_are_refused() {
        for kind in [Kind::Packet, Kind::Bell, Kind::Farewell] {
            let len = if kind == Kind::Packet { 100 } else { 0 };
            let head = Head { kind, len, header: [1, u64::MAX, 0, 1 << 63] };
            let bytes = head.encode();
            assert_eq!(Head::decode(&bytes, 100), Ok(Some(head)));
            assert_eq!(Head::decode(&bytes[..HEAD - 1], 100), Ok(None));
        }
        let long = Head { kind: Kind::Packet, len: 101, header: [0; 4] }.encode();
        assert_eq!(Head::decode(&long, 100), Err(Garbage), "longer than a packet");
        let bell = Head { kind: Kind::Bell, len: 1, header: [0; 4] }.encode();
        assert_eq!(Head::decode(&bell, 100), Err(Garbage), "a payload where none may be");
        assert_eq!(Head::decode(&[9; HEAD], 100), Err(Garbage));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Head::decode(&bytes, 100);
        }

        #[test]
        fn a_damaged_head_is_refused_or_survives(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let valid = Head { kind: Kind::Packet, len: 90, header: [1, u64::MAX, 0, 1 << 63] }.encode();
            if let Ok(Some(head)) = Head::decode(&damage(&valid, &changes), 100) {
                prop_assert!(head.len <= PIECE.max(100));
                prop_assert_eq!(Head::decode(&head.encode(), 100), Ok(Some(head)));
            }
        }
    }
}
