//! Requests and answers as bytes. They come from another process: a request or an answer that no correct one sends is not decoded.
//!
//! | word of a request | what |
//! |---|---|
//! | 0 | kind, operation, basic type, a byte each |
//! | 1 | the ticket |
//! | 2 | where in the stream of the origin's data the part begins, in bytes |
//! | 3 | length of the part in bytes |
//! | 4 | runs of target memory, each of which follows as address and length (in elements, when they are combined) |
//! | 5 | bytes of data behind the runs |
//!
//! An answer has the ticket, the position, the length, and the data that was asked for.

use crate::combine::Combination;
use tern_coll::ops::Op;
use tern_layout::Basic;

/// Bytes of data in a request or answer at most.
pub const PART: usize = 16 << 10;
/// Ranks in what tells who has a lock at most; of more, the first ones.
pub const HOLDERS: usize = 64;
/// Runs in a request at most.
pub const RUNS: usize = 1024;
/// The longest element of an accumulate, in bytes.
const ELEMENT: usize = 32;

/// Bytes of a request before its runs, and of an answer before its data.
const HEAD: usize = 48;
pub const ANSWER_HEAD: usize = 24;
/// Bytes of a message at most.
pub const LONGEST: usize = HEAD + RUNS * 16 + PART;
/// The ticket of what is only told.
pub const NO_ANSWER: u64 = u64::MAX;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Put,
    Get,
    /// Combine elements.
    Combine,
    /// Combine, and send what was there.
    Fetch,
    /// Compare and swap: the data is what to compare with and then what to put.
    Swap,
    // What windows ask whose members share no words: see `apart`.
    Lock,
    Unlock,
    Post,
    Complete,
    /// Whether the run is attached: answered by a byte.
    Find,
    /// Who has the lock that the origin waits for, of the target's memory: told by [`Kind::Held`].
    Holders,
    /// Who has the lock of the sender's memory that the receiver waits for: the data is the ranks, 4 bytes each. `from`: 0 they share it,
    /// 1 one has it alone, 2 it has changed hands since it was told.
    Held,
}

impl Kind {
    const ALL: [Kind; 12] = [
        Kind::Put,
        Kind::Get,
        Kind::Combine,
        Kind::Fetch,
        Kind::Swap,
        Kind::Lock,
        Kind::Unlock,
        Kind::Post,
        Kind::Complete,
        Kind::Find,
        Kind::Holders,
        Kind::Held,
    ];

    /// True for what moves bytes to or from memory of the target.
    pub fn is_access(self) -> bool {
        matches!(self, Kind::Put | Kind::Get | Kind::Combine | Kind::Fetch | Kind::Swap)
    }

    /// True for what is told, and not answered.
    fn is_told(self) -> bool {
        matches!(self, Kind::Post | Kind::Complete | Kind::Holders | Kind::Held)
    }
}

/// What to ask for.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    pub kind: Kind,
    pub op: Op,
    pub basic: Basic,
}

/// A request, and where its parts lie in its bytes.
#[derive(Debug)]
pub struct Asked<'a> {
    pub kind: Kind,
    pub op: Op,
    pub basic: Basic,
    /// Who asks.
    pub origin: u32,
    pub ticket: u64,
    /// Where in the origin's data the part begins; or what else goes with the request.
    pub from: u64,
    /// Bytes of the part.
    pub len: usize,
    runs: &'a [u8],
    pub data: &'a [u8],
}

/// The bytes of a request, the last `data` of them gathered.
pub fn encode(
    Question { kind, op, basic }: Question, ticket: u64, from: usize, len: usize, runs: &[(u64, u64)], data: usize,
    gather: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let what = u64::from_le_bytes([kind as u8, op as u8, basic as u8, 0, 0, 0, 0, 0]);
    let mut bytes = Vec::with_capacity(HEAD + runs.len() * 16 + data);
    let head = [what, ticket, from as u64, len as u64, runs.len() as u64, data as u64];
    for word in head.into_iter().chain(runs.iter().flat_map(|run| [run.0, run.1])) {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let start = bytes.len();
    bytes.resize(start + data, 0);
    gather(&mut bytes[start..]);
    bytes
}

fn word(bytes: &[u8], index: usize) -> u64 {
    let at = index * 8;
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// A number of at most `most`.
fn number(word: u64, most: usize) -> Option<usize> {
    usize::try_from(word).ok().filter(|&number| number <= most)
}

impl<'a> Asked<'a> {
    /// What member `origin` asks; `None`: no member asks that.
    pub fn decode(origin: u32, bytes: &'a [u8]) -> Option<Asked<'a>> {
        if bytes.len() < HEAD {
            return None;
        }
        let [kind, op, basic, 0, 0, 0, 0, 0] = word(bytes, 0).to_le_bytes() else { return None };
        let (runs, data) = (number(word(bytes, 4), RUNS)? * 16, number(word(bytes, 5), PART)?);
        if bytes.len() != HEAD + runs + data {
            return None;
        }
        let (runs, data) = bytes[HEAD..].split_at(runs);
        let asked = Asked {
            kind: *Kind::ALL.get(usize::from(kind))?,
            op: *Op::ALL.get(usize::from(op))?,
            basic: *Basic::ALL.get(usize::from(basic))?,
            origin,
            ticket: word(bytes, 1),
            from: word(bytes, 2),
            len: number(word(bytes, 3), PART)?,
            runs,
            data,
        };
        asked.can_be().then_some(asked)
    }

    /// Whether its lengths agree with each other and with its kind.
    fn can_be(&self) -> bool {
        let (runs, data) = (self.runs.len() / 16, self.data.len());
        let lengths = match self.kind {
            Kind::Put => self.has_units(1) && data == self.len,
            Kind::Get => self.has_units(1) && data == 0,
            Kind::Combine | Kind::Fetch => {
                let size = self.basic.size() as usize;
                let operand = if self.op == Op::NoOp { 0 } else { self.len };
                Combination::find(self.op, self.basic).is_ok() && self.has_units(size) && data == operand
            }
            Kind::Swap => (1..=ELEMENT).contains(&self.len) && runs == 1 && data == 2 * self.len,
            Kind::Lock | Kind::Unlock => self.from <= 1 && (self.len, runs, data) == (0, 0, 0),
            Kind::Post | Kind::Complete | Kind::Holders => (self.len, runs, data) == (0, 0, 0),
            Kind::Find => (self.len, data) == (1, 0),
            Kind::Held => self.from <= 2 && (self.len, runs) == (0, 0) && data <= 4 * HOLDERS && data.is_multiple_of(4),
        };
        lengths && self.kind.is_told() == (self.ticket == NO_ANSWER)
    }

    /// Whether the runs have as many units of `size` bytes as the part.
    fn has_units(&self, size: usize) -> bool {
        let units = self.pairs().try_fold(0u64, |sum, (_, units)| sum.checked_add(units));
        units.and_then(|units| units.checked_mul(size as u64)) == Some(self.len as u64)
    }

    fn pairs(&self) -> impl Iterator<Item = (u64, u64)> + Clone + use<'a> {
        self.runs.chunks_exact(16).map(|run| (word(run, 0), word(run, 1)))
    }

    /// Address and length of each run of target memory.
    pub fn runs(&self) -> impl Iterator<Item = (*mut u8, usize)> + Clone + use<'a> {
        self.pairs().map(|(address, len)| (address as *mut u8, len as usize))
    }

    /// Address and bytes of the target memory that an access is at.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let (kind, len, basic) = (self.kind, self.len as u64, self.basic);
        let bytes = move |units: u64| match kind {
            Kind::Swap => len,
            // The padding behind the last pair is nobody's.
            Kind::Combine | Kind::Fetch if units > 0 => (units - 1) * basic.extent() as u64 + end(basic),
            _ => units,
        };
        self.pairs().map(move |(address, units)| (address, bytes(units)))
    }
}

/// Where the data of an element ends, in bytes from where it begins.
fn end(basic: Basic) -> u64 {
    basic.pair().map_or(basic.size(), |(_, at, second)| at + second.size()) as u64
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    pub ticket: u64,
    /// Where in the origin's data the part begins.
    pub from: u64,
    pub data: &'a [u8],
}

impl<'a> Answer<'a> {
    /// `None`: no member answers that.
    pub fn decode(bytes: &'a [u8]) -> Option<Answer<'a>> {
        let data = bytes.get(ANSWER_HEAD..)?;
        let whole = data.len() <= PART && word(bytes, 2) == data.len() as u64;
        whole.then(|| Answer { ticket: word(bytes, 0), from: word(bytes, 1), data })
    }
}

/// What a damaged request is, for the user, by the number of its kind.
pub fn name(kind: u8) -> &'static str {
    match Kind::ALL.get(usize::from(kind)) {
        Some(Kind::Put) => "put to a window",
        Some(Kind::Get) => "get from a window",
        Some(Kind::Combine | Kind::Fetch | Kind::Swap) => "accumulate to a window",
        Some(Kind::Lock | Kind::Unlock | Kind::Holders | Kind::Held) => "lock of a window",
        Some(Kind::Post | Kind::Complete) => "epoch of a window",
        Some(Kind::Find) => "question about a window",
        None => "message of a window",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    fn question(kind: Kind, op: Op, basic: Basic) -> Question {
        Question { kind, op, basic }
    }

    /// One of each kind.
    fn requests() -> Vec<Vec<u8>> {
        let bytes = |kind| question(kind, Op::Replace, Basic::Byte);
        let fetch = question(Kind::Fetch, Op::Sum, Basic::Int64);
        let pairs = question(Kind::Combine, Op::MaxLoc, Basic::DoubleInt);
        let fill = |out: &mut [u8]| out.fill(1);
        vec![
            encode(bytes(Kind::Put), 5, 7, 30, &[(1000, 10), (2000, 20)], 30, fill),
            encode(bytes(Kind::Get), 5, 7, 30, &[(1000, 10), (2000, 20)], 0, fill),
            encode(fetch, 5, 0, 24, &[(1000, 1), (2000, 2)], 24, fill),
            encode(Question { op: Op::NoOp, ..fetch }, 5, 0, 24, &[(1000, 3)], 0, fill),
            encode(pairs, 5, 0, 24, &[(1000, 2)], 24, fill),
            encode(question(Kind::Swap, Op::Replace, Basic::Int32), 5, 0, 4, &[(1000, 1)], 8, fill),
            encode(bytes(Kind::Lock), 5, 1, 0, &[], 0, fill),
            encode(bytes(Kind::Unlock), 5, 0, 0, &[], 0, fill),
            encode(bytes(Kind::Post), NO_ANSWER, 0, 0, &[], 0, fill),
            encode(bytes(Kind::Complete), NO_ANSWER, 0, 0, &[], 0, fill),
            encode(bytes(Kind::Find), 5, 0, 1, &[(1000, 10), (2000, 20)], 0, fill),
            encode(bytes(Kind::Holders), NO_ANSWER, 0, 0, &[], 0, fill),
            encode(bytes(Kind::Held), NO_ANSWER, 1, 0, &[], 8, fill),
        ]
    }

    /// What the target does with it: all lengths hold.
    fn read(bytes: &[u8]) {
        if let Some(answer) = Answer::decode(bytes) {
            assert!(answer.data.len() <= PART);
        }
        let Some(asked) = Asked::decode(1, bytes) else { return };
        assert!(asked.len <= PART && asked.data.len() <= PART);
        let bytes: u64 = asked.ranges().filter(|_| asked.kind.is_access()).map(|(_, bytes)| bytes).sum();
        assert!(bytes <= 2 * PART as u64, "{asked:?}");
        match asked.kind {
            Kind::Put => assert_eq!(asked.runs().map(|(_, len)| len).sum::<usize>(), asked.data.len()),
            Kind::Swap => assert!(asked.data.len() == 2 * asked.len && asked.len <= ELEMENT),
            _ => {}
        }
    }

    #[test]
    fn each_request_is_read_as_it_was_written() {
        for (at, bytes) in requests().iter().enumerate() {
            let asked = Asked::decode(1, bytes).unwrap_or_else(|| panic!("request {at}"));
            assert_eq!(asked.kind as u8, bytes[0]);
            read(bytes);
        }
        let bytes = &requests()[4];
        let pairs = Asked::decode(1, bytes).expect("two pairs");
        assert_eq!(pairs.ranges().collect::<Vec<_>>(), [(1000, 28)], "not the padding behind the second");
    }

    #[test]
    fn what_no_member_asks_is_refused() {
        for (at, bytes) in requests().iter().enumerate() {
            let with = |word: usize, value: u64| {
                let mut bytes = bytes.clone();
                bytes[word * 8..][..8].copy_from_slice(&value.to_le_bytes());
                Asked::decode(1, &bytes).is_some()
            };
            assert!(Asked::decode(1, &bytes[..bytes.len() - 1]).is_none(), "request {at}, cut");
            assert!(Asked::decode(1, &[&bytes[..], &[0]].concat()).is_none(), "request {at}, longer");
            let what = word(bytes, 0);
            for wrong in [what & !0xff | 12, what & !0xff00 | 0xff00, what & !0xff_0000 | 0xff_0000, what | 1 << 24] {
                assert!(!with(0, wrong), "request {at}, {wrong:#x}");
            }
            for word in 3..6 {
                assert!(!with(word, u64::MAX) && !with(word, word_of(bytes, word) + 1), "request {at}, word {word}");
            }
            assert!(!with(1, if word_of(bytes, 1) == NO_ANSWER { 5 } else { NO_ANSWER }), "request {at}, ticket");
        }
        // A run that is longer than the data, also by a sum beyond 64 bits, and an operation that does not take the type.
        let put = question(Kind::Put, Op::Replace, Basic::Byte);
        for runs in [[(0, 5), (0, 4)], [(0, u64::MAX), (0, 9)]] {
            assert!(Asked::decode(1, &encode(put, 5, 0, 8, &runs, 8, |_| ())).is_none(), "{runs:?}");
        }
        let bits = question(Kind::Combine, Op::Band, Basic::Float64);
        assert!(Asked::decode(1, &encode(bits, 5, 0, 8, &[(0, 1)], 8, |_| ())).is_none());
        assert!(Answer::decode(&[0; 23]).is_none() && Answer::decode(&[1; 32]).is_none());
    }

    fn word_of(bytes: &[u8], index: usize) -> u64 {
        word(bytes, index)
    }

    #[test]
    fn any_words_are_read() {
        const WORDS: [u64; 8] = [0, 1, 2, 16, 1 << 32, 1 << 60, 1 << 63, u64::MAX];
        for kind in 0..Kind::ALL.len() as u64 {
            for number in 0..WORDS.len().pow(5) {
                let word = |at: usize| WORDS[number >> (3 * at) & 7];
                let words = [kind, 5, 0, word(0), word(1), word(2), 1000, word(3), 2000, word(4)];
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let len = HEAD as u64 + word(1).min(2) * 16 + word(2).min(16);
                read(&bytes[..bytes.len().min(len as usize)]);
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&bytes);
        }

        #[test]
        fn damaged_requests_are_read(which in 0..13usize, changes in prop::collection::vec(any::<Change>(), 1..4)) {
            read(&damage(&requests()[which], &changes));
        }
    }
}
