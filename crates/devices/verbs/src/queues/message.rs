//! What the two sides of a tuple's queue say to each other in the order of the stream.

use tern_device::Key;

/// A message of [`crate::wire::Kind::Queue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// From a receiver: it has something to grant and asks where to.
    Want,
    /// From a sender: where the words for this receiver lie, by which key.
    Table { address: u64, key: u32 },
    /// From a receiver: the tuple `key` has a queue at that address, whose words have that index. It takes the
    /// place of what had the index before.
    Queue { index: u32, queue: u32, key: Key, address: Vec<u8> },
}

impl Message {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Message::Want => vec![1],
            Message::Table { address, key } => [&[2][..], &address.to_le_bytes(), &key.to_le_bytes()].concat(),
            Message::Queue { index, queue, key, address } => {
                let words = [*index, *queue, key.context, key.source as u32, key.tag as u32];
                let words = words.map(u32::to_le_bytes);
                [&[3][..], words.as_flattened(), address].concat()
            }
        }
    }

    /// The reverse; `None` when it is none.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let (kind, rest) = bytes.split_first()?;
        Some(match kind {
            1 => Message::Want,
            2 => {
                let (address, key) = rest.split_first_chunk()?;
                Message::Table { address: u64::from_le_bytes(*address), key: u32::from_le_bytes(key.try_into().ok()?) }
            }
            3 => {
                let (words, address) = rest.split_at_checked(20)?;
                let mut words =
                    words.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
                let (index, queue, context) = (words.next()?, words.next()?, words.next()?);
                let (source, tag) = (words.next()? as i32, words.next()? as i32);
                Message::Queue { index, queue, key: Key { context, source, tag }, address: address.into() }
            }
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
        let key = Key { context: u32::MAX, source: -2, tag: -3 };
        let queue = Message::Queue { index: 31, queue: 1 << 31, key, address: vec![7; 40] };
        for message in [Message::Want, Message::Table { address: u64::MAX - 1, key: u32::MAX - 2 }, queue] {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
        assert_eq!(Message::decode(&[3; 20]), None);
        assert_eq!(Message::decode(&[]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Message::decode(&bytes);
        }
    }
}
