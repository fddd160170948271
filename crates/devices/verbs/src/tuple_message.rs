//! What the two sides of the tuple queues say to each other in the order of the stream.

/// A message of [`crate::wire::Kind::Tuple`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// From a receiver: it has something to publish and asks for a table.
    Want,
    /// From a sender: where its table for this receiver lies, by which key, with how many slots.
    Table { address: u64, key: u32, slots: u32 },
    /// From a sender: the receive in that slot holds its message of `size` bytes.
    Filled { slot: u32, size: u64 },
    /// From a sender: it has claimed the receive in that slot, and sends packets for it.
    Claimed { slot: u32 },
}

/// Bytes of a message.
pub const LEN: usize = 16;

impl Message {
    pub fn encode(&self) -> [u8; LEN] {
        let (kind, small, large): (u32, u32, u64) = match *self {
            Message::Want => (1, 0, 0),
            Message::Table { address, key, slots } => (2 | slots << 8, key, address),
            Message::Filled { slot, size } => (3, slot, size),
            Message::Claimed { slot } => (4, slot, 0),
        };
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&small.to_le_bytes());
        bytes[8..].copy_from_slice(&large.to_le_bytes());
        bytes
    }

    /// The reverse; `None` when it is none.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let (first, rest) = bytes.split_first_chunk::<4>()?;
        let (second, rest) = rest.split_first_chunk::<4>()?;
        let (kind, small) = (u32::from_le_bytes(*first), u32::from_le_bytes(*second));
        let large = u64::from_le_bytes(rest.try_into().ok()?);
        Some(match kind & 0xff {
            1 => Message::Want,
            2 => Message::Table { address: large, key: small, slots: kind >> 8 },
            3 => Message::Filled { slot: small, size: large },
            4 => Message::Claimed { slot: small },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_survive_the_wire() {
        let table = Message::Table { address: u64::MAX - 1, key: u32::MAX - 2, slots: 32 };
        for message in [Message::Want, table, Message::Filled { slot: 31, size: 1 << 40 }, Message::Claimed { slot: 7 }]
        {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
        assert_eq!(Message::decode(&[0; LEN]), None);
        assert_eq!(Message::decode(&[1; LEN - 1]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Message::decode(&bytes);
        }
    }
}
