//! What the completion of a request is told by: who asked for it, on whose channel, for what.

/// The number of a request, which its completion brings back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A receive buffer.
    Receive { buffer: u32 },
    /// A packet, and the buffer that it was built in, if that is still used.
    Frame { peer: u32, buffer: Option<u32> },
    /// The same, of a packet by which nobody has sent anything: credits, a bell.
    Upkeep { peer: u32, buffer: Option<u32> },
    /// A request of the rendezvous part, with a value of its own.
    Rendezvous { peer: u32, value: u32 },
    /// A part of a message of the rendezvous part, on another port than the first.
    Stripe { peer: u32, port: u8, value: u32 },
    /// A request of the tuple queues, with a value of theirs.
    Tuple { peer: u32, value: u32 },
    /// A receive in a tuple's queue, or the look at its claim, with a value of theirs.
    Queue { peer: u32, value: u32 },
    /// A packet whose payload was lent.
    Frequent { peer: u32, value: u32 },
    /// A request to the memory of a peer, by its number.
    Remote { peer: u32, number: u32 },
}

const RECEIVE: u64 = 0;
const FRAME: u64 = 1;
const RENDEZVOUS: u64 = 2;
const TUPLE: u64 = 3;
const FREQUENT: u64 = 4;
const QUEUE: u64 = 5;
const REMOTE: u64 = 6;
const UPKEEP: u64 = 7;
/// The numbers from here on are for the ports from 1 on.
const STRIPE: u64 = 16;
/// No buffer.
const NONE: u32 = u32::MAX;
/// Peers are numbers of this many bits.
const PEER: u32 = 24;

impl Token {
    #[inline]
    pub fn encode(self) -> u64 {
        let (kind, peer, value) = match self {
            Token::Receive { buffer } => (RECEIVE, 0, buffer),
            Token::Frame { peer, buffer } => (FRAME, peer, buffer.unwrap_or(NONE)),
            Token::Upkeep { peer, buffer } => (UPKEEP, peer, buffer.unwrap_or(NONE)),
            Token::Rendezvous { peer, value } => (RENDEZVOUS, peer, value),
            Token::Stripe { peer, port, value } => (STRIPE + u64::from(port), peer, value),
            Token::Tuple { peer, value } => (TUPLE, peer, value),
            Token::Frequent { peer, value } => (FREQUENT, peer, value),
            Token::Queue { peer, value } => (QUEUE, peer, value),
            Token::Remote { peer, number } => (REMOTE, peer, number),
        };
        debug_assert!(peer < 1 << PEER);
        kind << 56 | (peer as u64) << 32 | value as u64
    }

    #[inline]
    pub fn decode(id: u64) -> Token {
        let (peer, value) = ((id >> 32) as u32 & ((1 << PEER) - 1), id as u32);
        match id >> 56 {
            kind if kind > STRIPE => Token::Stripe { peer, port: (kind - STRIPE) as u8, value },
            RECEIVE => Token::Receive { buffer: value },
            FRAME => Token::Frame { peer, buffer: (value != NONE).then_some(value) },
            UPKEEP => Token::Upkeep { peer, buffer: (value != NONE).then_some(value) },
            RENDEZVOUS => Token::Rendezvous { peer, value },
            TUPLE => Token::Tuple { peer, value },
            QUEUE => Token::Queue { peer, value },
            FREQUENT => Token::Frequent { peer, value },
            _ => Token::Remote { peer, number: value },
        }
    }

    /// Whether a send has succeeded, or may have, though the request with this token has not ended.
    pub fn counts_as_sent(self) -> bool {
        match self {
            Token::Frame { .. } => true,
            Token::Tuple { value, .. } => matches!(Errand::decode(value), Errand::Copy(_)),
            _ => false,
        }
    }
}

/// What a request of the tuple queues is for, as a completion tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    /// The message of that request was written.
    Sender(u32),
    /// A copy of a message was written.
    Copy(u32),
    /// The claim of that slot was read.
    Claim(u32),
    /// The peer's table was written to, or a part of a message.
    Word,
}

const REST: u32 = (1 << 30) - 1;

impl Errand {
    /// As the value of a token. Requests have numbers below 2^30.
    pub fn encode(self) -> u32 {
        let (kind, value) = match self {
            Errand::Sender(request) => (0, request),
            Errand::Copy(place) => (1, place),
            Errand::Claim(slot) => (2, slot),
            Errand::Word => (3, 0),
        };
        debug_assert!(value <= REST);
        kind << 30 | value
    }

    pub fn decode(number: u32) -> Errand {
        let value = number & REST;
        match number >> 30 {
            0 => Errand::Sender(value),
            1 => Errand::Copy(value),
            2 => Errand::Claim(value),
            _ => Errand::Word,
        }
    }
}

/// In the value of [`Token::Queue`]: the claim of a queue is read.
pub const READ: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_survive_their_numbers() {
        for purpose in [Errand::Sender(0), Errand::Sender(REST), Errand::Copy(15), Errand::Claim(31), Errand::Word] {
            assert_eq!(Errand::decode(purpose.encode()), purpose);
        }
    }

    #[test]
    fn tokens_survive() {
        let (peer, value) = ((1 << PEER) - 1, u32::MAX - 1);
        for token in [
            Token::Receive { buffer: value },
            Token::Frame { peer, buffer: None },
            Token::Frame { peer, buffer: Some(value) },
            Token::Upkeep { peer, buffer: None },
            Token::Upkeep { peer: 0, buffer: Some(value) },
            Token::Rendezvous { peer, value },
            Token::Tuple { peer: 0, value },
            Token::Queue { peer, value },
            Token::Stripe { peer, port: 1, value },
            Token::Stripe { peer: 0, port: 7, value: 0 },
            Token::Frequent { peer, value: 0 },
            Token::Remote { peer, number: value },
        ] {
            assert_eq!(Token::decode(token.encode()), token);
        }
    }
}
