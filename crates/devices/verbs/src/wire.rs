//! The first eight bytes of every packet on a queue pair.

/// What a packet is. The numbers travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A packet of the layer above: its header, as [`crate::header`] writes it, and its payload.
    Packet = 1,
    /// Credits and ring cells returned, and nothing else.
    Return = 2,
    /// Wakes the receiver if it sleeps.
    Bell = 3,
    /// About rings for eager packets ([`crate::rings::Word`]).
    Ring = 4,
    /// A message of the rendezvous part.
    Rendezvous = 5,
    /// A message of the tuple queues.
    Tuple = 6,
    /// A message about queues of the card for tuples.
    Queue = 7,
    /// About further ports ([`crate::ports`]).
    Ports = 8,
}

impl Kind {
    /// Nobody has sent anything by it.
    #[inline]
    pub fn is_upkeep(self) -> bool {
        matches!(self, Kind::Return | Kind::Bell | Kind::Ring | Kind::Ports)
    }

    fn of(number: u8) -> Option<Kind> {
        Some(match number {
            1 => Kind::Packet,
            2 => Kind::Return,
            3 => Kind::Bell,
            4 => Kind::Ring,
            5 => Kind::Rendezvous,
            6 => Kind::Tuple,
            7 => Kind::Queue,
            8 => Kind::Ports,
            _ => return None,
        })
    }
}

/// The prefix of a packet: in front of what travels through a shared receive queue, behind what is written
/// into a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub kind: Kind,
    /// In a ring, which time round this is: 1, 2 or 3. Elsewhere 0.
    pub lap: u8,
    /// Receive buffers that the sender has free again for the receiver.
    pub credits: u8,
    /// Ring cells that the sender has free again for the receiver.
    pub cells: u8,
    /// The mask of the header ([`crate::header`]).
    pub mask: u8,
    /// Number of the packet on this direction of the channel: rings and queues are read apart.
    pub sequence: u16,
    /// In a ring, the bytes in front of the prefix, [`LONGEST`] at most. Elsewhere 0.
    pub len: u16,
}

/// The most bytes in front of the prefix in a ring.
pub const LONGEST: u16 = (1 << 14) - 1;

/// Bytes of a prefix.
pub const PREFIX: usize = 8;

impl Prefix {
    #[inline]
    pub fn encode(&self) -> [u8; PREFIX] {
        // The lap in the byte that is written last.
        let word = self.kind as u64
            | (self.credits as u64) << 8
            | (self.cells as u64) << 16
            | (self.mask as u64) << 24
            | (self.sequence as u64) << 32
            | (self.len as u64) << 48
            | (self.lap as u64) << 62;
        word.to_le_bytes()
    }

    /// The reverse; `None` when there are too few bytes or the kind is unknown.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Prefix> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        Some(Prefix {
            kind: Kind::of(word as u8)?,
            lap: (word >> 62) as u8,
            credits: (word >> 8) as u8,
            cells: (word >> 16) as u8,
            mask: (word >> 24) as u8,
            sequence: (word >> 32) as u16,
            len: (word >> 48) as u16 & LONGEST,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn prefixes_survive_the_wire(
            kind in 1..=8u8, lap in 0..4u8, credits: u8, cells: u8, mask: u8, sequence: u16, len in 0..=LONGEST,
        ) {
            let kind = Kind::of(kind).expect("a kind");
            let prefix = Prefix { kind, lap, credits, cells, mask, sequence, len };
            prop_assert_eq!(Prefix::decode(&prefix.encode()), Some(prefix));
        }
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        assert_eq!(Prefix::decode(&[0; 8]), None);
        assert_eq!(Prefix::decode(&[1; 7]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Prefix::decode(&bytes);
        }
    }
}
