//! What peers tell each other, as bytes, and the path that follows from it.

use super::context::Port;
use super::ffi::{ibv_ah_attr, ibv_gid, ibv_global_route};
use crate::{Error, Result};

/// So that addresses of another maker, or another kind, are refused.
const MARK: u8 = b'r';
const LEN: usize = 32;

/// Where a queue pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub gid: [u8; 16],
    pub lid: u16,
    /// As verbs count: 1 is 256 bytes, 5 is 4096.
    pub mtu: u8,
    pub ethernet: bool,
    pub queue_pair: u32,
    /// Of a connected queue pair the number of its first packet, of a datagram's its key.
    pub number: u32,
}

impl Address {
    pub fn of(port: &Port, queue_pair: u32, number: u32) -> Address {
        Address { gid: port.gid, lid: port.lid, mtu: port.mtu, ethernet: port.ethernet, queue_pair, number }
    }

    pub fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[0] = MARK;
        bytes[1] = self.ethernet.into();
        bytes[2] = self.mtu;
        bytes[4..6].copy_from_slice(&self.lid.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.queue_pair.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.number.to_be_bytes());
        bytes[16..].copy_from_slice(&self.gid);
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Address> {
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if bytes.len() != LEN || bytes[0] != MARK {
            return Err(Error::Invalid(format!("{} bytes that are no address of a card", bytes.len())));
        }
        let mut gid = [0; 16];
        gid.copy_from_slice(&bytes[16..]);
        Ok(Address {
            gid,
            lid: u16::from_be_bytes([bytes[4], bytes[5]]),
            mtu: bytes[2],
            ethernet: bytes[1] != 0,
            queue_pair: word(8),
            number: word(12),
        })
    }

    /// The way to this address from `port`.
    ///
    /// # Errors
    /// [`Invalid`](Error::Invalid) when one of them is Ethernet and the other InfiniBand.
    pub fn path_from(&self, port: &Port) -> Result<ibv_ah_attr> {
        if self.ethernet != port.ethernet {
            return Err(Error::Invalid("one end is on Ethernet, the other on InfiniBand".into()));
        }
        // Inside a subnet of InfiniBand the LID is enough; Ethernet has none.
        let global = self.ethernet || self.lid == 0;
        Ok(ibv_ah_attr {
            grh: ibv_global_route {
                dgid: ibv_gid::new(if global { self.gid } else { [0; 16] }),
                flow_label: 0,
                sgid_index: port.gid_index,
                hop_limit: 64,
                traffic_class: 0,
            },
            dlid: self.lid,
            sl: 0,
            src_path_bits: 0,
            static_rate: 0,
            is_global: global.into(),
            port_num: port.number,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Address =
        Address { gid: [7; 16], lid: 513, mtu: 3, ethernet: true, queue_pair: 0xabcdef, number: 0x123456 };

    #[test]
    fn bytes_say_everything() {
        assert_eq!(Address::from_bytes(&HERE.to_bytes()), Ok(HERE));
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(Address::from_bytes(&[]).is_err());
        assert!(Address::from_bytes(&HERE.to_bytes()[1..]).is_err());
        assert!(Address::from_bytes(&[0; LEN]).is_err());
    }

    #[test]
    fn a_lid_is_enough_on_infiniband() {
        let mut port =
            Port { number: 1, gid: [1; 16], gid_index: 3, lid: 4, mtu: 5, ethernet: false, message: 0, bandwidth: 1.0 };
        let there = Address { ethernet: false, ..HERE };
        assert_eq!(there.path_from(&port).unwrap().is_global, 0);
        assert!(HERE.path_from(&port).is_err());
        port.ethernet = true;
        let path = HERE.path_from(&port).unwrap();
        assert_eq!((path.is_global, path.grh.sgid_index, path.grh.dgid.raw), (1, 3, [7; 16]));
    }
}
