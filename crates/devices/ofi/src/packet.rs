//! What stands in front of a payload, and how a packet proves that it belongs to the job.
//!
//! Endpoints have no connections, and anybody may send to them. So each packet shows a pass: a number that only the two
//! processes can make, from the tokens that went by the launcher to the processes of the job alone. It is one compare for
//! the receiver. A pass holds for one direction of one pair, and is not secret from somebody who reads the network: no
//! more is meant than with a connection that proves itself once.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tern_device::Header;

/// A random secret of a process, which all of its job know.
pub type Token = [u8; 32];

/// Bytes in front of a payload.
pub const HEAD: usize = 24 + size_of::<Header>();

/// What a packet is. All but data have no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Data = 1,
    /// Tells how many packets were taken, and no more.
    Credit = 2,
    /// Wakes its receiver.
    Bell = 3,
    /// The sender ends: that is no loss. It waits for an answer.
    Farewell = 4,
    /// The answer.
    Goodbye = 5,
    /// The sender has lost its receiver, which has called all the same: nothing of it is taken, and nothing goes to it.
    Lost = 6,
}

/// The head of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub pass: u64,
    pub from: u32,
    pub kind: Kind,
    /// How many packets with data went before it.
    pub number: u32,
    /// How many packets with data of its receiver the sender has taken.
    pub taken: u32,
    pub header: Header,
}

impl Head {
    pub fn encode(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&self.pass.to_le_bytes());
        // Ranks have at most 24 bits here: the kind shares their word.
        bytes[8..12].copy_from_slice(&(self.from << 8 | self.kind as u32).to_le_bytes());
        bytes[12..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.taken.to_le_bytes());
        for (at, word) in self.header.iter().enumerate() {
            bytes[24 + 8 * at..][..8].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// `None`: these bytes begin no packet.
    pub fn decode(bytes: &[u8]) -> Option<Head> {
        let head = bytes.first_chunk::<HEAD>()?;
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let long = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
        let kind = match head[8] {
            1 => Kind::Data,
            2 => Kind::Credit,
            3 => Kind::Bell,
            4 => Kind::Farewell,
            5 => Kind::Goodbye,
            6 => Kind::Lost,
            _ => return None,
        };
        if kind != Kind::Data && bytes.len() != HEAD {
            return None;
        }
        let header = [long(24), long(32), long(40), long(48)];
        Some(Head { pass: long(0), from: word(8) >> 8, kind, number: word(12), taken: word(16), header })
    }
}

/// What packets from one process to another show.
pub fn pass(from: u32, to: u32, tokens: &[Token]) -> u64 {
    let key = [tokens[from as usize], tokens[to as usize]].concat();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key may have any length");
    mac.update(b"TERNOFI1");
    mac.update(&from.to_le_bytes());
    mac.update(&to.to_le_bytes());
    let bytes = mac.finalize().into_bytes();
    u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn heads_survive_the_wire_and_others_are_refused() {
        for kind in [Kind::Data, Kind::Credit, Kind::Bell, Kind::Farewell, Kind::Goodbye, Kind::Lost] {
            let head =
                Head { pass: 1 << 63 | 5, from: 77, kind, number: u32::MAX, taken: 3, header: [1, u64::MAX, 0, 9] };
            let bytes = head.encode();
            assert_eq!(Head::decode(&bytes), Some(head));
            assert_eq!(Head::decode(&bytes[..HEAD - 1]), None);
            let longer = [&bytes[..], &[0]].concat();
            assert_eq!(Head::decode(&longer).is_some(), kind == Kind::Data, "a payload where none may be");
        }
        assert_eq!(Head::decode(&[9; HEAD]), None);
    }

    #[test]
    fn a_pass_holds_for_one_direction_of_one_pair_of_one_job() {
        let tokens = [[1; 32], [2; 32], [3; 32]];
        let all: Vec<u64> =
            [(0, 1), (1, 0), (0, 2), (2, 1)].iter().map(|&(from, to)| pass(from, to, &tokens)).collect();
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one));
        }
        assert_eq!(pass(0, 1, &tokens), all[0]);
        assert_ne!(pass(0, 1, &[[1; 32], [9; 32], [3; 32]]), all[0]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Head::decode(&bytes);
        }

        #[test]
        fn a_damaged_head_is_refused_or_survives(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let valid = Head { pass: 5, from: 77, kind: Kind::Bell, number: 1, taken: 3, header: [1, 2, 3, 4] };
            if let Some(head) = Head::decode(&damage(&valid.encode(), &changes)) {
                prop_assert_eq!(Head::decode(&head.encode()), Some(head));
            }
        }
    }
}
