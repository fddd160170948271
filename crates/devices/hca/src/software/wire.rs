//! What travels between two queue pairs: frames of a header and a payload. A message longer than a frame may be is
//! several frames.

/// Bytes of a header.
pub const HEADER: usize = 64;

/// What a frame is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// First on a connection: the caller has been given to its queue pair.
    #[default]
    Welcome,
    Send,
    Write,
    Read,
    /// With 8 bytes of operand, or 16: compare, then swap.
    FetchAdd,
    CompareSwap,
    /// Data of a read, or 8 bytes that an atomic has found.
    Answer,
    /// Carries `executed` alone.
    Acknowledge,
    /// No receive was there for this request, and all behind it were dropped.
    ReceiverNotReady,
    /// This request failed, with a [`Refusal`] as code.
    Refused,
}

const KINDS: [Kind; 10] = [
    Kind::Welcome,
    Kind::Send,
    Kind::Write,
    Kind::Read,
    Kind::FetchAdd,
    Kind::CompareSwap,
    Kind::Answer,
    Kind::Acknowledge,
    Kind::ReceiverNotReady,
    Kind::Refused,
];

impl Kind {
    /// True for requests, which are counted and executed in order.
    pub fn is_request(self) -> bool {
        matches!(self, Kind::Send | Kind::Write | Kind::Read | Kind::FetchAdd | Kind::CompareSwap)
    }
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    InvalidRequest = 1,
    Access = 2,
    Operation = 3,
}

impl Refusal {
    pub fn from_code(code: u8) -> Refusal {
        match code {
            1 => Refusal::InvalidRequest,
            2 => Refusal::Access,
            _ => Refusal::Operation,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    /// The number that comes with the completion is there.
    pub has_immediate: bool,
    pub code: u8,
    /// Bytes behind the header.
    pub len: u32,
    /// Which request this is, or is about.
    pub sequence: u64,
    /// How many requests of the other side have been executed.
    pub executed: u64,
    /// Bytes of the whole message, and where in it the payload begins.
    pub total: u32,
    pub offset: u32,
    /// In the other side's memory.
    pub address: u64,
    pub key: u32,
    pub immediate: u32,
    pub receive_queue: u32,
    /// When the link would have brought it; 0 for at once.
    pub due: u64,
}

impl Frame {
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = self.kind as u8;
        bytes[1] = u8::from(self.has_immediate);
        bytes[2] = self.code;
        let words = [
            (8, self.sequence),
            (16, self.executed),
            (24, pair(self.total, self.offset)),
            (32, self.address),
            (40, pair(self.key, self.immediate)),
            (48, u64::from(self.receive_queue)),
            (56, self.due),
        ];
        bytes[4..8].copy_from_slice(&self.len.to_le_bytes());
        for (at, word) in words {
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// `None` for what is no frame.
    pub fn decode(bytes: &[u8; HEADER]) -> Option<Frame> {
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let frame = Frame {
            kind: *KINDS.get(usize::from(bytes[0]))?,
            has_immediate: bytes[1] != 0,
            code: bytes[2],
            len: short(4),
            sequence: long(8),
            executed: long(16),
            total: short(24),
            offset: short(28),
            address: long(32),
            key: short(40),
            immediate: short(44),
            receive_queue: short(48),
            due: long(56),
        };
        let fits = match frame.kind {
            // Their totals are not about the payload.
            Kind::Read => frame.len == 0,
            Kind::FetchAdd => frame.len == 8,
            Kind::CompareSwap => frame.len == 16,
            _ => frame.offset.checked_add(frame.len)? <= frame.total || frame.total == 0 && frame.offset == 0,
        };
        fits.then_some(frame)
    }
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_are_their_numbers() {
        for (number, kind) in KINDS.iter().enumerate() {
            assert_eq!(*kind as usize, number);
        }
    }

    proptest! {
        #[test]
        fn frames_survive_their_encoding(
            numbers in any::<(u64, u64, u64, u64)>(),
            words in any::<(u32, u32, u32, u8, bool)>(),
            len in 0u32..1000,
            offset in 0u32..1000,
        ) {
            let frame = Frame {
                kind: Kind::Write,
                has_immediate: words.4,
                code: words.3,
                len,
                sequence: numbers.0,
                executed: numbers.1,
                total: len + offset,
                offset,
                address: numbers.2,
                key: words.0,
                immediate: words.1,
                receive_queue: words.2,
                due: numbers.3,
            };
            prop_assert_eq!(Frame::decode(&frame.encode()), Some(frame));
        }

        #[test]
        fn nonsense_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), HEADER)) {
            let _ = Frame::decode(bytes[..].try_into().unwrap());
        }
    }
}
