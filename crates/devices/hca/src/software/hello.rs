//! What a caller says first, when both sides have proven to know the secret of the HCA that is called.

use super::address::{Address, NAMED};
use super::rings::Rings;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tern_proof::{Sealer, Session, TAG};

/// Bytes of a hello, and of one that is sealed.
const WORDS: usize = 8 + NAMED;
pub const HELLO: usize = WORDS + TAG;

/// A connection that brings nothing through for so long is lost. Not less: a stopped process is not a dead one.
pub const SILENCE: Duration = Duration::from_secs(30);

/// Whom a caller wants to speak to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The queue pair that is wanted.
    pub pair: u32,
    /// Or, if it is not 0, a receive queue: the engine there makes the queue pair.
    pub receive_queue: u32,
    /// The queue pair of the caller.
    pub from: Address,
}

impl Hello {
    /// As the first message of a connection that nobody else can read or change.
    pub fn seal(&self, session: &Session) -> Option<[u8; HELLO]> {
        let words = [&self.pair.to_le_bytes()[..], &self.receive_queue.to_le_bytes(), &self.from.named()].concat();
        Sealer::new(&session.sends).seal(b"", &words).ok()?.try_into().ok()
    }

    /// `None` for what is none.
    pub fn open(session: &Session, sealed: &[u8; HELLO]) -> Option<Hello> {
        let words = Sealer::new(&session.receives).open(b"", sealed).ok()?;
        let (pair, rest) = words.split_first_chunk()?;
        let (receive_queue, from) = rest.split_first_chunk()?;
        Some(Hello {
            pair: u32::from_le_bytes(*pair),
            receive_queue: u32::from_le_bytes(*receive_queue),
            from: Address::decode(from).ok()?,
        })
    }
}

/// A connection that somebody has made to here.
pub struct Caller {
    pub from: Address,
    pub socket: OwnedFd,
    pub rings: Option<Rings>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hello() -> Hello {
        let socket = "10.1.2.3:456".parse().expect("an address");
        Hello { pair: 7, receive_queue: 9, from: Address { socket, name: 1, token: None, machine: 2, number: 3 } }
    }

    fn sessions() -> (Session, Session) {
        let (one, other) = ([1; 32], [2; 32]);
        (Session { sends: one, receives: other }, Session { sends: other, receives: one })
    }

    #[test]
    fn a_hello_comes_as_it_was_said() {
        let (here, there) = sessions();
        let sealed = hello().seal(&here).expect("sealed");
        assert_eq!(Hello::open(&there, &sealed), Some(hello()));
        assert_eq!(Hello::open(&here, &sealed), None, "it is of the other direction");
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found(at in 0..HELLO, change in 1..=255u8) {
            let (here, there) = sessions();
            let mut sealed = hello().seal(&here).expect("sealed");
            sealed[at] ^= change;
            prop_assert_eq!(Hello::open(&there, &sealed), None);
        }
    }
}
