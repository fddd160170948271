//! Where a process is found: its addresses, its port, and its part of the job's secret, as bytes.

use std::io::{Error, Result};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use tern_proof::Token;

const VERSION: u8 = 1;
/// Most addresses of one process.
const MOST: usize = 16;

/// What a process tells its peers, by way of the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub token: Token,
    /// The most likely one first.
    pub sockets: Vec<SocketAddr>,
}

impl Address {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.token);
        for socket in self.sockets.iter().take(MOST) {
            let octets = match socket.ip() {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            };
            out.extend_from_slice(&octets);
            out.extend_from_slice(&socket.port().to_le_bytes());
        }
        out
    }

    /// Errors: the bytes are something else.
    pub fn decode(bytes: &[u8]) -> Result<Address> {
        let wrong = || Error::other(format!("{} bytes that are no address of the TCP device", bytes.len()));
        let (&VERSION, rest) = bytes.split_first().ok_or_else(wrong)? else { return Err(wrong()) };
        let (token, rest) = rest.split_first_chunk().ok_or_else(wrong)?;
        let (sockets, []) = rest.as_chunks::<18>() else { return Err(wrong()) };
        if sockets.len() > MOST {
            return Err(wrong());
        }
        let socket = |bytes: &[u8; 18]| {
            let (octets, port) = bytes.split_at(16);
            let ip = Ipv6Addr::from(<[u8; 16]>::try_from(octets).expect("16 bytes")).to_canonical();
            SocketAddr::new(ip, u16::from_le_bytes([port[0], port[1]]))
        };
        Ok(Address { token: *token, sockets: sockets.iter().map(socket).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn an_address_survives_the_wire() {
        let sockets = ["10.0.0.1:80", "[fd00::1]:65535", "127.0.0.1:1"].map(|text| text.parse().expect("an address"));
        let address = Address { token: [7; 32], sockets: sockets.into() };
        let bytes = address.encode();
        assert_eq!(Address::decode(&bytes).expect("what was encoded"), address);
        for cut in 0..bytes.len() {
            // A list may be shorter by a whole entry.
            let whole = cut >= 33 && (cut - 33) % 18 == 0;
            assert_eq!(Address::decode(&bytes[..cut]).is_ok(), whole, "{cut}");
        }
        assert!(Address::decode(&[bytes, vec![0; 18 * MOST]].concat()).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Address::decode(&bytes);
        }

        #[test]
        fn a_damaged_address_is_refused_or_survives(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let sockets = ["10.0.0.1:80", "[fd00::1]:65535"].map(|text| text.parse().expect("an address"));
            let address = Address { token: [7; 32], sockets: sockets.into() };
            if let Ok(read) = Address::decode(&damage(&address.encode(), &changes)) {
                prop_assert_eq!(Address::decode(&read.encode()).expect("what was read"), read);
            }
        }
    }
}
