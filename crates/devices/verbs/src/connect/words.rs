//! What two processes say to each other on a socket when they connect their queue pairs.

use crate::transport::Transport;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use tern_proof::Token;

/// Where a process listens. As bytes: port (2), token (32), node (4), transport (1), IPv6 address or IPv4 address mapped
/// into one (16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub host: IpAddr,
    pub port: u16,
    /// The secret of the process: whoever calls it proves to know this, and the process proves the same.
    pub token: Token,
    /// The node that it is on.
    pub node: u32,
    pub transport: Transport,
}

impl Address {
    pub fn encode(&self) -> Vec<u8> {
        let host = match self.host {
            IpAddr::V4(host) => host.to_ipv6_mapped(),
            IpAddr::V6(host) => host,
        };
        let transport = [self.transport as u8];
        let (port, node) = (self.port.to_le_bytes(), self.node.to_le_bytes());
        [&port[..], &self.token, &node, &transport, &host.octets()].concat()
    }

    pub fn decode(bytes: &[u8]) -> Option<Address> {
        let mut bytes = Bytes(bytes);
        let (port, token) = (u16::from_le_bytes(bytes.take()?), bytes.take()?);
        let node = u32::from_le_bytes(bytes.take()?);
        let transport = if bytes.take() == Some([Transport::Xrc as u8]) { Transport::Xrc } else { Transport::Rc };
        let host = Ipv6Addr::from(bytes.take::<16>()?).to_canonical();
        bytes.0.is_empty().then_some(Address { host, port, token, node, transport })
    }
}

/// What a process grants to a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Receive buffers.
    pub credits: u32,
    /// Bytes of each.
    pub buffer: u32,
}

/// The beginning of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Where the caller is.
    pub node: u32,
    pub terms: Terms,
    /// The address of the caller's end.
    pub pair: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    Hello(Hello),
    /// With the address of the called process's end.
    Welcome(Terms, Vec<u8>),
    Declined,
    /// The call cannot be answered, for this reason.
    Refused(String),
    Ready,
    /// The process ends as it should.
    Bye,
    /// The process has sent all that it had to send.
    Settled,
}

impl Word {
    /// As bytes: kind (1), what belongs to it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |kind: u8, parts: &[&[u8]]| {
            bytes.push(kind);
            parts.iter().for_each(|part| bytes.extend_from_slice(part));
        };
        let terms = |terms: &Terms| [terms.credits.to_le_bytes(), terms.buffer.to_le_bytes()].concat();
        match self {
            Word::Hello(hello) => {
                let Hello { node, terms: granted, pair } = hello;
                put(1, &[&node.to_le_bytes(), &terms(granted), pair]);
            }
            Word::Welcome(granted, pair) => put(2, &[&terms(granted), pair]),
            Word::Declined => put(3, &[]),
            Word::Ready => put(4, &[]),
            Word::Bye => put(5, &[]),
            Word::Settled => put(6, &[]),
            Word::Refused(why) => put(7, &[why.as_bytes()]),
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Word> {
        let mut bytes = Bytes(bytes);
        Some(match bytes.take::<1>()?[0] {
            1 => Word::Hello(Hello {
                node: u32::from_le_bytes(bytes.take()?),
                terms: bytes.terms()?,
                pair: bytes.0.to_vec(),
            }),
            2 => Word::Welcome(bytes.terms()?, bytes.0.to_vec()),
            3 => Word::Declined,
            4 => Word::Ready,
            5 => Word::Bye,
            6 => Word::Settled,
            7 => Word::Refused(String::from_utf8_lossy(bytes.0).into_owned()),
            _ => return None,
        })
    }
}

pub fn nonsense() -> io::Error {
    io::Error::other("what comes is no word of Tern's")
}

/// Bytes that are taken from the front.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn terms(&mut self) -> Option<Terms> {
        Some(Terms { credits: u32::from_le_bytes(self.take()?), buffer: u32::from_le_bytes(self.take()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    fn hello() -> Word {
        Word::Hello(Hello { node: 3, terms: Terms { credits: 5, buffer: 8192 }, pair: vec![7; 40] })
    }

    #[test]
    fn words_survive() {
        let welcome = Word::Welcome(Terms { credits: 5, buffer: 8192 }, vec![1]);
        let refused = Word::Refused("no descriptor".into());
        for word in [hello(), welcome, refused, Word::Declined, Word::Ready, Word::Bye, Word::Settled] {
            assert_eq!(Word::decode(&word.encode()), Some(word));
        }
        assert_eq!(Word::decode(&[9]), None);
    }

    #[test]
    fn addresses_survive() {
        for (host, transport) in [("127.0.0.1", Transport::Rc), ("::1", Transport::Xrc), ("10.1.2.3", Transport::Rc)] {
            let host = host.parse().expect("an address");
            let address = Address { host, port: 7, token: [9; 32], node: 1 << 30, transport };
            assert_eq!(Address::decode(&address.encode()), Some(address));
        }
        assert_eq!(Address::decode(&[0; 50]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Address::decode(&bytes);
            let _ = Word::decode(&bytes);
        }

        #[test]
        fn damaged_words_are_refused_or_survive(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            for word in [hello(), Word::Welcome(Terms::default(), vec![1, 2])] {
                if let Some(word) = Word::decode(&damage(&word.encode(), &changes)) {
                    prop_assert_eq!(Word::decode(&word.encode()), Some(word));
                }
            }
            let host = "10.1.2.3".parse().expect("an address");
            let address = Address { host, port: 7, token: [9; 32], node: 1 << 30, transport: Transport::Xrc };
            if let Some(read) = Address::decode(&damage(&address.encode(), &changes)) {
                prop_assert_eq!(Address::decode(&read.encode()), Some(read));
            }
        }
    }
}
