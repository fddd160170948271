//! What processes tell each other about failures, as bytes of a notice of the engine ([`tern_adi::Adi::send_notice`]).

use super::consensus::{Contribution, Decision, Message};
use super::ranks::Ranks;
use std::rc::Rc;

/// A communicator by its context id and epoch, which are alike at all its members, and no other communicator of theirs has both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    pub id: u32,
    pub epoch: u32,
}

/// One of its agreements: the number of the call there, and the round of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub comm: Name,
    pub number: u64,
    pub round: u32,
}

/// A notice.
#[derive(Debug, PartialEq, Eq)]
pub enum Notice {
    /// The communicator is revoked.
    Revoked(Name),
    /// A message of an agreement.
    Agree(Key, Message),
}

const REVOKED: u8 = 1;
const UP: u8 = 2;
const DOWN: u8 = 3;

/// Bytes of bits of a set of ranks, at most, with those left out: of more ranks than any job has. What is more is damaged.
const MOST: usize = 1 << 21;

impl Notice {
    /// Writes the notice into `out`, in place of what is there. Numbers take as many bytes as they need, so that an agreement of few
    /// processes fits into a cell of a ring.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        match self {
            Notice::Revoked(comm) => {
                out.push(REVOKED);
                put_name(comm, out);
            }
            Notice::Agree(key, Message::Up(ballot, contribution)) => {
                out.push(UP);
                put_place(key, *ballot, out);
                put_contribution(contribution, out);
            }
            Notice::Agree(key, Message::Down(ballot, decision)) => {
                out.push(DOWN);
                put_place(key, *ballot, out);
                put_decision(decision, out);
            }
        }
    }

    /// `None`: the bytes are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Notice> {
        let (kind, bytes) = bytes.split_first()?;
        let mut read = Reader(bytes);
        let comm = Name { id: read.number()?.try_into().ok()?, epoch: read.number()?.try_into().ok()? };
        let notice = match *kind {
            REVOKED => Notice::Revoked(comm),
            UP | DOWN => {
                let key = Key { comm, number: read.number()?, round: read.number()?.try_into().ok()? };
                let ballot = read.rank()?;
                let message = match *kind {
                    UP => Message::Up(ballot, read.contribution()?),
                    _ => Message::Down(ballot, Rc::new(read.decision()?)),
                };
                Notice::Agree(key, message)
            }
            _ => return None,
        };
        read.0.is_empty().then_some(notice)
    }
}

impl Message {
    /// The largest rank that it names, or the ballot.
    pub fn largest(&self) -> usize {
        let last = |ranks: &Ranks| ranks.last().unwrap_or(0);
        match self {
            Message::Down(ballot, decision) => last(&decision.failed).max(*ballot),
            Message::Up(ballot, Contribution { failed, acknowledged, covered, decided, .. }) => {
                let decided = decided.as_ref().map_or(0, |(ballot, decision)| last(&decision.failed).max(*ballot));
                [last(failed), last(acknowledged), last(covered), *ballot].into_iter().fold(decided, usize::max)
            }
        }
    }
}

/// Seven bits of the number in each byte, from the lowest on; the last byte has no eighth bit.
fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_name(comm: &Name, out: &mut Vec<u8>) {
    put_number(comm.id.into(), out);
    put_number(comm.epoch.into(), out);
}

fn put_place(key: &Key, ballot: usize, out: &mut Vec<u8>) {
    put_name(&key.comm, out);
    put_number(key.number, out);
    put_number(key.round.into(), out);
    put_number(ballot as u64, out);
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// How many bytes the bits take, and where there are some, how many bytes of zeros before them are left out.
fn put_ranks(ranks: &Ranks, out: &mut Vec<u8>) {
    let Some(last) = ranks.last() else { return put_number(0, out) };
    let (before, bytes) = ranks.bytes();
    put_number((last / 8 + 1 - before) as u64, out);
    put_number(before as u64, out);
    out.extend(bytes);
}

fn put_contribution(contribution: &Contribution, out: &mut Vec<u8>) {
    let Contribution { value, failed, acknowledged, covered, decided } = contribution;
    put_bytes(value, out);
    [failed, acknowledged, covered].into_iter().for_each(|ranks| put_ranks(ranks, out));
    out.push(decided.is_some().into());
    if let Some((ballot, decision)) = decided {
        put_number(*ballot as u64, out);
        put_decision(decision, out);
    }
}

fn put_decision(decision: &Decision, out: &mut Vec<u8>) {
    put_bytes(&decision.value, out);
    put_ranks(&decision.failed, out);
    out.push(decision.unacknowledged.into());
}

/// Takes the parts out again; `None` when there is no such part.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn rank(&mut self) -> Option<usize> {
        self.number()?.try_into().ok()
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.byte()? != 0)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.rank()?;
        self.take(len)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn ranks(&mut self) -> Option<Ranks> {
        let len = self.rank()?;
        if len == 0 {
            return Some(Ranks::new());
        }
        let before = self.rank()?;
        let bytes = self.take(len)?;
        (before < MOST - bytes.len().min(MOST)).then(|| Ranks::of_bytes(before, bytes))
    }

    fn contribution(&mut self) -> Option<Contribution> {
        Some(Contribution {
            value: self.bytes()?.to_vec(),
            failed: self.ranks()?,
            acknowledged: self.ranks()?,
            covered: self.ranks()?,
            decided: match self.flag()? {
                false => None,
                true => Some((self.rank()?, Rc::new(self.decision()?))),
            },
        })
    }

    fn decision(&mut self) -> Option<Decision> {
        Some(Decision { value: self.bytes()?.to_vec(), failed: self.ranks()?, unacknowledged: self.flag()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_ranks() -> impl Strategy<Value = Ranks> {
        prop::collection::vec(0usize..600, 0..9).prop_map(|ranks| ranks.into_iter().collect())
    }

    prop_compose! {
        fn some_decision()(value in any::<Vec<u8>>(), failed in some_ranks(), unacknowledged in any::<bool>()) -> Decision {
            Decision { value, failed, unacknowledged }
        }
    }

    prop_compose! {
        fn some_contribution()(
            value in any::<Vec<u8>>(),
            (failed, acknowledged, covered) in (some_ranks(), some_ranks(), some_ranks()),
            decided in prop::option::of((0usize..600, some_decision().prop_map(Rc::new))),
        ) -> Contribution {
            Contribution { value, failed, acknowledged, covered, decided }
        }
    }

    proptest! {
        #[test]
        fn a_notice_is_read_as_it_was_written(
            (id, epoch, number, round, ballot) in (any::<u32>(), any::<u32>(), any::<u64>(), any::<u32>(), 0usize..600),
            (up, down) in (some_contribution(), some_decision()),
            cut in any::<prop::sample::Index>(),
        ) {
            let comm = Name { id, epoch };
            let key = Key { comm, number, round };
            let agree = [Message::Up(ballot, up), Message::Down(ballot, Rc::new(down))].map(|message| Notice::Agree(key, message));
            for notice in agree.into_iter().chain([Notice::Revoked(comm)]) {
                let mut bytes = b"what was there".to_vec();
                notice.encode(&mut bytes);
                prop_assert_eq!(Notice::decode(&bytes), Some(notice));
                prop_assert_eq!(Notice::decode(&bytes[..cut.index(bytes.len())]), None);
            }
        }

        #[test]
        fn any_bytes_are_read(bytes in any::<Vec<u8>>()) {
            if let Some(Notice::Agree(_, message)) = Notice::decode(&bytes) {
                message.largest();
            }
        }
    }
}
