//! How a queue pair, or a box for datagrams, is found, and by which secret.

use crate::{Error, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;
use tern_proof::{Token, derive};

/// Bytes of an address with the name of its HCA; one with the secret is longer.
pub const NAMED: usize = PLACE + 8;
/// Of what both begin with.
const PLACE: usize = 32;
const VERSION: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub socket: SocketAddr,
    /// Tells the HCA from all others, also from one of a process that has got the port since. Anybody may know it.
    pub name: u64,
    /// The secret of the HCA, of which the name follows. Whoever calls it proves to know this.
    pub token: Option<Token>,
    /// Says which machine, of this boot: its processes share a clock.
    pub machine: u64,
    /// Queue pair or box.
    pub number: u32,
}

impl Address {
    /// With the secret if it is known; so this is for a line that nobody else can read.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.place().to_vec();
        match &self.token {
            Some(token) => bytes.extend_from_slice(token),
            None => bytes.extend_from_slice(&self.name.to_le_bytes()),
        }
        bytes
    }

    /// Without the secret.
    pub fn named(&self) -> [u8; NAMED] {
        let mut bytes = [0; NAMED];
        bytes[..PLACE].copy_from_slice(&self.place());
        bytes[PLACE..].copy_from_slice(&self.name.to_le_bytes());
        bytes
    }

    /// Why it cannot be called.
    pub fn unknown(&self) -> Error {
        Error::Invalid(format!(
            "the address of an HCA at {} without its secret, which nobody has told here",
            self.socket
        ))
    }

    fn place(&self) -> [u8; PLACE] {
        let mut bytes = [0; PLACE];
        bytes[0] = VERSION;
        match self.socket.ip() {
            IpAddr::V4(ip) => {
                bytes[1] = 4;
                bytes[2..6].copy_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                bytes[1] = 6;
                bytes[2..18].copy_from_slice(&ip.octets());
            }
        }
        bytes[18..20].copy_from_slice(&self.socket.port().to_le_bytes());
        bytes[20..28].copy_from_slice(&self.machine.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Address> {
        let wrong = || Error::Invalid(format!("{} bytes that are no address of a software HCA", bytes.len()));
        let (place, who) = bytes.split_first_chunk::<PLACE>().ok_or_else(wrong)?;
        let token = Token::try_from(who).ok();
        let name = match &token {
            Some(token) => name(token),
            None => u64::from_le_bytes(who.try_into().map_err(|_| wrong())?),
        };
        let ip = match (place[0], place[1]) {
            (VERSION, 4) => IpAddr::from(Ipv4Addr::new(place[2], place[3], place[4], place[5])),
            (VERSION, 6) => {
                let octets: [u8; 16] = place[2..18].try_into().expect("sixteen bytes");
                IpAddr::from(Ipv6Addr::from(octets))
            }
            _ => return Err(wrong()),
        };
        Ok(Address {
            socket: SocketAddr::new(ip, u16::from_le_bytes([place[18], place[19]])),
            name,
            token,
            machine: u64::from_le_bytes(place[20..28].try_into().expect("eight bytes")),
            number: u32::from_le_bytes(place[28..].try_into().expect("four bytes")),
        })
    }
}

/// The name of the HCA with that secret, from which the secret does not follow.
pub fn name(token: &Token) -> u64 {
    let told = derive(token, b"name of a software HCA", b"");
    u64::from_le_bytes(told[..8].try_into().expect("eight bytes"))
}

/// This machine's number, the same for all its processes until it is booted again.
pub fn machine() -> u64 {
    static MACHINE: OnceLock<u64> = OnceLock::new();
    *MACHINE.get_or_init(|| {
        let id = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        // FNV-1a: the same in every program.
        id.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    })
}

/// A random number.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // Seeded by the operating system, and different with each call.
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u64(super::clock::now());
    hasher.write_u32(std::process::id());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(socket: &str) -> Address {
        let token = [5; 32];
        let socket = socket.parse().expect("an address");
        Address { socket, name: name(&token), token: Some(token), machine: machine(), number: 0x00ab_cdef }
    }

    #[test]
    fn addresses_survive_their_encoding() {
        for address in ["10.1.2.3:456", "[fe80::1]:7"].map(address) {
            assert_eq!(Address::decode(&address.encode()).expect("an address"), address);
            let named = Address { token: None, ..address };
            assert_eq!(Address::decode(&address.named()).expect("an address"), named);
            assert_eq!(named.encode(), address.named());
        }
    }

    #[test]
    fn the_secret_is_in_no_address_that_anybody_may_read() {
        let address = address("10.1.2.3:456");
        assert!(!address.named().windows(4).any(|window| window == [5; 4]));
        assert_ne!(name(&[5; 32]), name(&[6; 32]));
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(Address::decode(b"").is_err());
        for len in 0..2 * NAMED {
            assert!(Address::decode(&vec![9; len]).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Address::decode(&bytes);
        }
    }
}
