//! Messages in one direction of a connection that nobody else can read, change, leave out, repeat or put in another order.
//!
//! Each direction of each connection has a key of its own ([`crate::Session`]), and the number of a message is its nonce.
//! A message that does not open is the end: somebody in the middle can only cut the connection.

use crate::proof::Stranger;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce};

/// Bytes that a sealed message is longer.
pub const TAG: usize = 16;

/// One end of one direction: what seals, or what opens.
pub struct Sealer {
    cipher: ChaCha20Poly1305,
    /// The number of the next message; none once one has not opened.
    next: Option<u64>,
}

impl Sealer {
    pub fn new(key: &[u8; 32]) -> Sealer {
        Sealer { cipher: ChaCha20Poly1305::new(key.into()), next: Some(0) }
    }

    fn nonce(number: u64) -> Nonce {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&number.to_le_bytes());
        nonce.into()
    }

    /// The next message, sealed. `head` goes with it in the open, and cannot be changed either.
    ///
    /// Errors: no number is left, or the message is longer than the cipher allows.
    pub fn seal(&mut self, head: &[u8], message: &[u8]) -> Result<Vec<u8>, Stranger> {
        let number = self.next.ok_or(Stranger)?;
        let sealed = self.cipher.encrypt(&Self::nonce(number), Payload { msg: message, aad: head });
        self.next = number.checked_add(1);
        sealed.map_err(|_| Stranger)
    }

    /// What the other end has sealed as the next message.
    ///
    /// Errors: it is something else; nothing opens from then on.
    pub fn open(&mut self, head: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Stranger> {
        let number = self.next.take().ok_or(Stranger)?;
        let opened = self.cipher.decrypt(&Self::nonce(number), Payload { msg: sealed, aad: head });
        let message = opened.map_err(|_| Stranger)?;
        self.next = number.checked_add(1);
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &[u8] = b"head";

    fn both() -> (Sealer, Sealer) {
        (Sealer::new(&[7; 32]), Sealer::new(&[7; 32]))
    }

    #[test]
    fn messages_come_as_they_were_sent_and_are_not_seen() {
        let (mut here, mut there) = both();
        for message in [&b"PATH=/bin"[..], b"", &[3; 100_000]] {
            let sealed = here.seal(HEAD, message).expect("it is not too long");
            assert_eq!(sealed.len(), message.len() + TAG);
            assert!(message.is_empty() || !sealed.windows(message.len()).any(|window| window == message));
            assert_eq!(there.open(HEAD, &sealed).as_deref(), Ok(message));
        }
        let (one, two) = (here.seal(HEAD, b"same"), here.seal(HEAD, b"same"));
        assert_ne!(one, two, "nobody sees that a message is said twice");
    }

    #[test]
    fn what_is_repeated_or_out_of_order_is_refused() {
        let (mut here, mut there) = both();
        let (first, second) = (here.seal(HEAD, b"one").expect("sealed"), here.seal(HEAD, b"two").expect("sealed"));
        assert_eq!(there.open(HEAD, &first).as_deref(), Ok(&b"one"[..]));
        assert_eq!(there.open(HEAD, &first), Err(Stranger), "repeated");
        assert_eq!(there.open(HEAD, &second), Err(Stranger), "nothing is believed from then on");
        assert_eq!(both().1.open(HEAD, &second), Err(Stranger), "the first one is left out");
        assert_eq!(Sealer::new(&[8; 32]).open(HEAD, &first), Err(Stranger), "of another connection");
        assert_eq!(both().1.open(b"Head", &first), Err(Stranger), "the head is changed");
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found(at in 0..3 + TAG, change in 1..=255u8) {
            let (mut here, mut there) = both();
            let mut sealed = here.seal(HEAD, b"one").expect("sealed");
            sealed[at] ^= change;
            prop_assert_eq!(there.open(HEAD, &sealed), Err(Stranger));
        }

        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(both().1.open(HEAD, &bytes), Err(Stranger));
        }
    }
}
