//! How a queue pair, or a box for datagrams, is found.

use crate::{Error, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;

pub const LEN: usize = 40;
const VERSION: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub socket: SocketAddr,
    /// A random number of the HCA, so that a process which has got the port since is not taken for it.
    pub token: u64,
    /// Says which machine, of this boot: its processes share a clock.
    pub machine: u64,
    /// Queue pair or box.
    pub number: u32,
}

impl Address {
    pub fn encode(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
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
        bytes[20..28].copy_from_slice(&self.token.to_le_bytes());
        bytes[28..36].copy_from_slice(&self.machine.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Address> {
        let wrong = || Error::Invalid(format!("{} bytes that are no address of a software HCA", bytes.len()));
        let bytes: &[u8; LEN] = bytes.try_into().map_err(|_| wrong())?;
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let ip = match (bytes[0], bytes[1]) {
            (VERSION, 4) => IpAddr::from(Ipv4Addr::new(bytes[2], bytes[3], bytes[4], bytes[5])),
            (VERSION, 6) => {
                let octets: [u8; 16] = bytes[2..18].try_into().expect("sixteen bytes");
                IpAddr::from(Ipv6Addr::from(octets))
            }
            _ => return Err(wrong()),
        };
        Ok(Address {
            socket: SocketAddr::new(ip, u16::from_le_bytes([bytes[18], bytes[19]])),
            token: word(20),
            machine: word(28),
            number: u32::from_le_bytes(bytes[36..40].try_into().expect("four bytes")),
        })
    }
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

    #[test]
    fn addresses_survive_their_encoding() {
        for socket in ["10.1.2.3:456", "[fe80::1]:7"] {
            let address =
                Address { socket: socket.parse().unwrap(), token: 5, machine: machine(), number: 0x00ab_cdef };
            assert_eq!(Address::decode(&address.encode()).unwrap(), address);
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(Address::decode(b"").is_err());
        assert!(Address::decode(&[9; LEN]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Address::decode(&bytes);
        }
    }
}
