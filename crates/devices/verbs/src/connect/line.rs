//! A socket on which two processes talk that have proven themselves: words that nobody else can read or change.

use super::words::{Word, nonsense};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use tern_proof::{Proven, Sealer, TAG};

/// Bytes in front of each word: the length of what is sealed.
const HEAD: usize = 2;

/// A socket, and what has been read of a word that is not whole yet.
pub struct Line {
    pub socket: TcpStream,
    sends: Sealer,
    receives: Sealer,
    bytes: Vec<u8>,
}

impl Line {
    pub fn new(proven: Proven) -> io::Result<Line> {
        let socket = TcpStream::from(proven.socket);
        socket.set_nonblocking(false)?;
        let (sends, receives) = (Sealer::new(&proven.session.sends), Sealer::new(&proven.session.receives));
        Ok(Line { socket, sends, receives, bytes: Vec::new() })
    }

    /// Says words, in one go.
    pub fn say(&mut self, words: &[Word]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for word in words {
            let word = word.encode();
            let head = u16::try_from(word.len() + TAG).map_err(|_| nonsense())?.to_le_bytes();
            bytes.extend_from_slice(&head);
            bytes.extend_from_slice(&self.sends.seal(&head, &word).map_err(|_| nonsense())?);
        }
        self.socket.write_all(&bytes)
    }

    /// Reads what there is, once; false when nothing more comes.
    pub fn read(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 1024];
        let len = self.socket.read(&mut bytes)?;
        self.bytes.extend_from_slice(&bytes[..len]);
        Ok(len > 0)
    }

    /// Takes the first word out of what was read; `None` when it has not come whole.
    ///
    /// Errors: it is none that the other side has said as its next one.
    pub fn take(&mut self) -> io::Result<Option<Word>> {
        let Some(head) = self.bytes.first_chunk::<HEAD>().copied() else { return Ok(None) };
        let end = HEAD + u16::from_le_bytes(head) as usize;
        let Some(sealed) = self.bytes.get(HEAD..end) else { return Ok(None) };
        let word = self.receives.open(&head, sealed).ok().and_then(|word| Word::decode(&word)).ok_or_else(nonsense)?;
        self.bytes.drain(..end);
        Ok(Some(word))
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::Terms;
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use tern_proof::Session;

    /// A line, and the socket of the other end.
    fn line(sends: u8, receives: u8) -> (Line, UnixStream) {
        let (here, there) = UnixStream::pair().expect("sockets");
        let session = Session { sends: [sends; 32], receives: [receives; 32] };
        let proven = Proven { socket: OwnedFd::from(here), number: 0, session };
        (Line::new(proven).expect("a line"), there)
    }

    /// What a line says, as bytes.
    fn said(words: &[Word]) -> Vec<u8> {
        let (mut here, mut there) = line(1, 2);
        here.say(words).expect("room");
        drop(here);
        let mut bytes = Vec::new();
        there.read_to_end(&mut bytes).expect("all of it");
        bytes
    }

    fn words() -> Vec<Word> {
        vec![Word::Welcome(Terms { credits: 5, buffer: 8192 }, vec![7; 40]), Word::Ready, Word::Settled, Word::Bye]
    }

    /// What a line hears of these bytes, until something is wrong.
    fn heard(bytes: &[u8]) -> (Vec<Word>, bool) {
        let (mut line, mut there) = line(2, 1);
        there.write_all(bytes).expect("room");
        drop(there);
        let mut words = Vec::new();
        while line.read().expect("bytes") {
            loop {
                match line.take() {
                    Ok(Some(word)) => words.push(word),
                    Ok(None) => break,
                    Err(_) => return (words, false),
                }
            }
        }
        (words, true)
    }

    #[test]
    fn words_are_heard_and_not_seen() {
        let bytes = said(&words());
        assert_eq!(heard(&bytes), (words(), true));
        assert!(!bytes.windows(4).any(|window| window == [7; 4]), "an address is in the open");
    }

    #[test]
    fn words_that_are_left_out_repeated_or_exchanged_end_the_line() {
        let bytes = said(&words());
        let first = HEAD + u16::from_le_bytes([bytes[0], bytes[1]]) as usize;
        let second = first + HEAD + u16::from_le_bytes([bytes[first], bytes[first + 1]]) as usize;
        assert_eq!(heard(&bytes[first..]), (vec![], false));
        let (one, other) = (&bytes[..first], &bytes[first..second]);
        assert_eq!(heard(&[one, one, other].concat()), (words()[..1].to_vec(), false));
        assert_eq!(heard(&[other, one].concat()), (vec![], false));
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found(at in 0..100usize, change in 1..=255u8) {
            let mut bytes = said(&words());
            let at = at % bytes.len();
            bytes[at] ^= change;
            let (words_heard, _) = heard(&bytes);
            // A longer length waits for what does not come; all else is an error. No word comes as it was not said.
            prop_assert!(words_heard.len() < words().len());
            prop_assert_eq!(&words_heard[..], &words()[..words_heard.len()]);
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            prop_assert!(heard(&bytes).0.is_empty());
        }
    }
}
