//! What two processes say to each other on a socket when they connect their queue pairs.

use crate::transport::Transport;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read};
use std::net::{IpAddr, Ipv6Addr, TcpStream};

/// Where a process listens. As bytes: port (2), token (8), node (4), transport (1), IPv6 address or IPv4 address mapped
/// into one (16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub host: IpAddr,
    pub port: u16,
    /// Tells the process from others that had its address before.
    pub token: u64,
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
        let (port, token, node) = (self.port.to_le_bytes(), self.token.to_le_bytes(), self.node.to_le_bytes());
        [&port[..], &token, &node, &transport, &host.octets()].concat()
    }

    pub fn decode(bytes: &[u8]) -> Option<Address> {
        let mut bytes = Bytes(bytes);
        let (port, token) = (u16::from_le_bytes(bytes.take()?), u64::from_le_bytes(bytes.take()?));
        let node = u32::from_le_bytes(bytes.take()?);
        let transport = if bytes.take() == Some([Transport::Xrc as u8]) { Transport::Xrc } else { Transport::Rc };
        let host = Ipv6Addr::from(bytes.take::<16>()?).to_canonical();
        bytes.0.is_empty().then_some(Address { host, port, token, node, transport })
    }
}

/// A number that no two processes share.
pub fn token() -> u64 {
    RandomState::new().build_hasher().finish()
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
    /// Of the process that is called.
    pub token: u64,
    pub from: u32,
    pub to: u32,
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
    /// As bytes: length of the rest (2), kind (1), what belongs to it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0, 0];
        let mut put = |kind: u8, parts: &[&[u8]]| {
            bytes.push(kind);
            parts.iter().for_each(|part| bytes.extend_from_slice(part));
        };
        let terms = |terms: &Terms| [terms.credits.to_le_bytes(), terms.buffer.to_le_bytes()].concat();
        match self {
            Word::Hello(hello) => {
                let Hello { token, from, to, node, terms: granted, pair } = hello;
                let (from, to, node) = (from.to_le_bytes(), to.to_le_bytes(), node.to_le_bytes());
                put(1, &[&token.to_le_bytes(), &from, &to, &node, &terms(granted), pair]);
            }
            Word::Welcome(granted, pair) => put(2, &[&terms(granted), pair]),
            Word::Declined => put(3, &[]),
            Word::Ready => put(4, &[]),
            Word::Bye => put(5, &[]),
            Word::Settled => put(6, &[]),
            Word::Refused(why) => put(7, &[why.as_bytes()]),
        }
        let len = bytes.len() as u16 - 2;
        bytes[..2].copy_from_slice(&len.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Word> {
        let mut bytes = Bytes(bytes);
        Some(match bytes.take::<1>()?[0] {
            1 => Word::Hello(Hello {
                token: u64::from_le_bytes(bytes.take()?),
                from: u32::from_le_bytes(bytes.take()?),
                to: u32::from_le_bytes(bytes.take()?),
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

/// Takes the first word out of what was read; `None` when it has not come whole.
///
/// Errors: it is none.
pub fn take(bytes: &mut Vec<u8>) -> io::Result<Option<Word>> {
    let Some(len) = bytes.first_chunk().map(|len| u16::from_le_bytes(*len) as usize) else { return Ok(None) };
    let Some(word) = bytes.get(2..2 + len) else { return Ok(None) };
    let word = Word::decode(word).ok_or_else(nonsense)?;
    bytes.drain(..2 + len);
    Ok(Some(word))
}

/// Waits for a word.
pub fn read(socket: &mut TcpStream) -> io::Result<Word> {
    let mut len = [0; 2];
    socket.read_exact(&mut len)?;
    let mut bytes = vec![0; u16::from_le_bytes(len) as usize];
    socket.read_exact(&mut bytes)?;
    Word::decode(&bytes).ok_or_else(nonsense)
}

fn nonsense() -> io::Error {
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

    #[test]
    fn words_survive_a_socket_that_cuts_them() {
        let terms = Terms { credits: 5, buffer: 8192 };
        let hello = Hello { token: u64::MAX, from: 1, to: 2, node: 3, terms, pair: vec![7; 40] };
        let words =
            [Word::Hello(hello), Word::Welcome(terms, vec![1]), Word::Declined, Word::Ready, Word::Bye, Word::Settled];
        let (mut bytes, mut heard) = (Vec::new(), Vec::new());
        for byte in words.iter().flat_map(Word::encode) {
            bytes.push(byte);
            heard.extend(take(&mut bytes).expect("words"));
        }
        assert_eq!(heard, words);
        assert!(take(&mut vec![1, 0, 9]).is_err());
    }

    #[test]
    fn addresses_survive() {
        for (host, transport) in [("127.0.0.1", Transport::Rc), ("::1", Transport::Xrc), ("10.1.2.3", Transport::Rc)] {
            let host = host.parse().expect("an address");
            let address = Address { host, port: 7, token: 1 << 60, node: 1 << 30, transport };
            assert_eq!(Address::decode(&address.encode()), Some(address));
        }
        assert_eq!(Address::decode(&[0; 25]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Address::decode(&bytes);
            let _ = Word::decode(&bytes);
            let mut bytes = bytes;
            while let Ok(Some(_)) = take(&mut bytes) {}
        }

        #[test]
        fn damaged_words_are_refused_or_survive(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let terms = Terms { credits: 5, buffer: 8192 };
            let hello = Word::Hello(Hello { token: u64::MAX, from: 1, to: 2, node: 3, terms, pair: vec![7; 40] });
            let mut bytes = damage(&[hello.encode(), Word::Welcome(terms, vec![1, 2]).encode()].concat(), &changes);
            while let Ok(Some(word)) = take(&mut bytes) {
                prop_assert_eq!(take(&mut word.encode()).expect("a word"), Some(word));
            }
            let host = "10.1.2.3".parse().expect("an address");
            let address = Address { host, port: 7, token: 1 << 60, node: 1 << 30, transport: Transport::Xrc };
            if let Some(read) = Address::decode(&damage(&address.encode(), &changes)) {
                prop_assert_eq!(Address::decode(&read.encode()), Some(read));
            }
        }
    }
}
