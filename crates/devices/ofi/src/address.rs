//! Where a process is found: its part of the job's secret, its provider, and the endpoint's name.

use crate::packet::Token;
use std::io::{Error, Result};

const VERSION: u8 = 1;

/// What a process tells its peers, by way of the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub token: Token,
    /// Providers of two names do not speak to each other.
    pub provider: String,
    /// The endpoint's name, as libfabric gives it.
    pub name: Vec<u8>,
}

impl Address {
    pub fn encode(&self) -> Vec<u8> {
        let provider = self.provider.as_bytes();
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.token);
        out.push(provider.len().min(255) as u8);
        out.extend_from_slice(&provider[..provider.len().min(255)]);
        out.extend_from_slice(&self.name);
        out
    }

    /// Errors: the bytes are something else.
    pub fn decode(bytes: &[u8]) -> Result<Address> {
        let read = || {
            let (&VERSION, rest) = bytes.split_first()? else { return None };
            let (token, rest) = rest.split_first_chunk()?;
            let (&len, rest) = rest.split_first()?;
            let (provider, name) = rest.split_at_checked(len as usize)?;
            let provider = std::str::from_utf8(provider).ok()?.to_owned();
            (!name.is_empty()).then(|| Address { token: *token, provider, name: name.to_owned() })
        };
        read().ok_or_else(|| Error::other(format!("{} bytes that are no address of the ofi device", bytes.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn an_address_survives_the_wire() {
        let address = Address { token: [7; 32], provider: "tcp;ofi_rxm".into(), name: vec![1, 2, 3] };
        let bytes = address.encode();
        assert_eq!(Address::decode(&bytes).expect("what was encoded"), address);
        for cut in 0..bytes.len() - 2 {
            assert!(Address::decode(&bytes[..cut]).is_err(), "{cut}");
        }
        assert!(Address::decode(&[&[VERSION + 1], &bytes[1..]].concat()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Address::decode(&bytes);
        }

        #[test]
        fn a_damaged_address_is_refused_or_survives(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let address = Address { token: [7; 32], provider: "tcp;ofi_rxm".into(), name: vec![1, 2, 3] };
            if let Ok(read) = Address::decode(&damage(&address.encode(), &changes)) {
                prop_assert_eq!(Address::decode(&read.encode()).expect("what was read"), read);
            }
        }
    }
}
