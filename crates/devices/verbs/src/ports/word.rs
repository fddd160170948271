//! What processes tell each other about their ports, over the channel.

/// The addresses of the speaker's queue pairs, if they have not been told; whether it has connected them; and which of its ends
/// have gone down, a bit for each port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub connected: bool,
    pub down: u8,
    pub addresses: Vec<Vec<u8>>,
}

impl Word {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.connected), self.down];
        for address in &self.addresses {
            bytes.push(address.len() as u8);
            bytes.extend_from_slice(address);
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Word {
        let Some((&[connected, down], mut rest)) = bytes.split_first_chunk() else { return Word::default() };
        let mut addresses = Vec::new();
        while let Some((&len, tail)) = rest.split_first()
            && let Some((address, tail)) = tail.split_at_checked(len as usize)
        {
            addresses.push(address.to_vec());
            rest = tail;
        }
        Word { connected: connected != 0, down, addresses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_survive(
            connected: bool, down: u8, addresses in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..8),
        ) {
            let word = Word { connected, down, addresses };
            prop_assert_eq!(Word::decode(&word.encode()), word);
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let word = Word::decode(&bytes);
            prop_assert_eq!(Word::decode(&word.encode()), word);
        }
    }
}
