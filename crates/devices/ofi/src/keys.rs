//! Keys of registered memory. What this process hands out names a registration and, where the provider counts from its start,
//! where that is. Who has the key but not the secret of its owner, which all of the job know, cannot tell what the provider
//! is to be shown: anybody can send requests to an endpoint.

use crate::packet::Token;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::HashMap;

/// Registrations whose keys this crate chooses begin at a multiple of this.
pub const ALIGN: u64 = 4096;
/// Bits of their numbers. The rest has room for a page below 2^48.
const NUMBER: u32 = 28;
/// Keys of other processes that are remembered.
const KNOWN: usize = 4096;

/// The key that a number stands for at the owner of a token.
pub fn secret(token: &Token, number: u32, mask: u64) -> u64 {
    let mut mac = Hmac::<Sha256>::new_from_slice(token).expect("a key may have any length");
    mac.update(b"TERNKEY1");
    mac.update(&number.to_le_bytes());
    let bytes = mac.finalize().into_bytes();
    u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes")) & mask
}

/// What is handed out for registration `number`, which begins at `start`. `None`: it does not fit.
pub fn encode(start: u64, number: u32) -> Option<u64> {
    let fits = start.is_multiple_of(ALIGN) && start >> 48 == 0 && number != 0 && number >> NUMBER == 0;
    fits.then_some((start / ALIGN) << NUMBER | u64::from(number))
}

/// The start and the number.
fn decode(key: u64) -> (u64, u32) {
    ((key >> NUMBER) * ALIGN, (key & ((1 << NUMBER) - 1)) as u32)
}

/// The number after that one.
pub fn after(number: u32) -> u32 {
    (number + 1) % (1 << NUMBER)
}

/// How keys are made, which is the same in all processes of a job.
pub struct Keys {
    /// The provider makes them, and they are handed out as they are.
    pub theirs: bool,
    /// Addresses are those of the owner; otherwise they count from the start of what is registered.
    pub absolute: bool,
    /// Bits of a key.
    pub mask: u64,
    known: HashMap<(u32, u32), u64>,
}

impl Keys {
    pub fn new(theirs: bool, absolute: bool, mask: u64) -> Keys {
        Keys { theirs, absolute, mask, known: HashMap::new() }
    }

    /// What the provider is shown for an address of a peer that has handed out this key: an address and a key.
    pub fn of_peer(&mut self, peer: u32, token: &Token, address: u64, key: u64) -> (u64, u64) {
        if self.theirs {
            return (address, key);
        }
        let (start, number) = decode(key);
        if self.known.len() >= KNOWN {
            self.known.clear();
        }
        let mask = self.mask;
        let shown = *self.known.entry((peer, number)).or_insert_with(|| secret(token, number, mask));
        (if self.absolute { address } else { address.wrapping_sub(start) }, shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_a_registration_and_its_start() {
        let start = (1 << 48) - ALIGN;
        let key = encode(start, 77).expect("it fits");
        assert_eq!(decode(key), (start, 77));
        assert_eq!(encode(1 << 48, 1), None);
        assert_eq!(encode(4097, 1), None);
        assert_eq!(encode(4096, 0), None, "it would stand for no key");
        assert_eq!(after((1 << NUMBER) - 1), 0);
    }

    #[test]
    fn a_peer_is_asked_as_its_provider_wants_it() {
        let token = [3; 32];
        let key = encode(0x7000, 9).expect("it fits");
        let mut keys = Keys::new(false, false, u64::MAX);
        assert_eq!(keys.of_peer(1, &token, 0x7010, key), (0x10, secret(&token, 9, u64::MAX)));
        let mut keys = Keys::new(false, true, 0xffff_ffff);
        let (address, shown) = keys.of_peer(1, &token, 0x7010, key);
        assert_eq!(address, 0x7010);
        assert!(shown >> 32 == 0 && shown != 0);
        assert_ne!(secret(&token, 9, u64::MAX), secret(&[4; 32], 9, u64::MAX));
        assert_eq!(Keys::new(true, true, u64::MAX).of_peer(1, &token, 0x7010, 55), (0x7010, 55));
    }
}
