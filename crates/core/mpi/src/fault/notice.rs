//! What processes tell each other about failures, as bytes of a notice of the engine ([`tern_adi::Adi::send_notice`]).

use super::consensus::{Contribution, Decision, Message, Ranks};
use tern_pmi::parcel::{Reader, Writer};

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

const REVOKED: u64 = 1;
const UP: u64 = 2;
const DOWN: u64 = 3;

impl Notice {
    pub fn encode(&self) -> Box<[u8]> {
        let mut out = Writer::default();
        let name = |kind: u64, name: &Name, out: &mut Writer| {
            out.number(kind).number(name.id.into()).number(name.epoch.into());
        };
        match self {
            Notice::Revoked(comm) => name(REVOKED, comm, &mut out),
            Notice::Agree(key, Message::Up(ballot, contribution)) => {
                name(UP, &key.comm, &mut out);
                out.number(key.number).number(key.round.into()).number(*ballot as u64);
                put_contribution(contribution, &mut out);
            }
            Notice::Agree(key, Message::Down(ballot, decision)) => {
                name(DOWN, &key.comm, &mut out);
                out.number(key.number).number(key.round.into()).number(*ballot as u64);
                put_decision(decision, &mut out);
            }
        }
        out.0.into()
    }

    /// `None`: the bytes are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Notice> {
        let read = &mut Reader(bytes);
        let kind = read.number()?;
        let comm = Name { id: read.number()?.try_into().ok()?, epoch: read.number()?.try_into().ok()? };
        let place = |read: &mut Reader<'_>| {
            let key = Key { comm, number: read.number()?, round: read.number()?.try_into().ok()? };
            Some((key, read.number()?.try_into().ok()?))
        };
        let notice = match kind {
            REVOKED => Notice::Revoked(comm),
            UP => {
                let (key, ballot) = place(read)?;
                Notice::Agree(key, Message::Up(ballot, contribution(read)?))
            }
            DOWN => {
                let (key, ballot) = place(read)?;
                Notice::Agree(key, Message::Down(ballot, decision(read)?))
            }
            _ => return None,
        };
        read.0.is_empty().then_some(notice)
    }

    /// The largest rank that it names, or the ballot.
    pub fn largest(&self) -> usize {
        let last = |ranks: &Ranks| ranks.last().copied().unwrap_or(0);
        match self {
            Notice::Revoked(_) => 0,
            Notice::Agree(_, Message::Down(ballot, decision)) => last(&decision.failed).max(*ballot),
            Notice::Agree(_, Message::Up(ballot, contribution)) => {
                let decided = contribution.decided.as_ref();
                let decided = decided.map_or(0, |(ballot, decision)| last(&decision.failed).max(*ballot));
                let Contribution { failed, acknowledged, covered, .. } = contribution;
                [last(failed), last(acknowledged), last(covered), *ballot].into_iter().fold(decided, usize::max)
            }
        }
    }
}

fn put_contribution(contribution: &Contribution, out: &mut Writer) {
    let Contribution { value, failed, acknowledged, covered, decided } = contribution;
    out.bytes(value);
    [failed, acknowledged, covered].into_iter().for_each(|ranks| _ = out.bytes(&bits(ranks)));
    out.number(decided.is_some().into());
    if let Some((ballot, decision)) = decided {
        out.number(*ballot as u64);
        put_decision(decision, out);
    }
}

fn contribution(read: &mut Reader<'_>) -> Option<Contribution> {
    Some(Contribution {
        value: read.bytes()?.to_vec(),
        failed: ranks(read.bytes()?),
        acknowledged: ranks(read.bytes()?),
        covered: ranks(read.bytes()?),
        decided: match read.number()? {
            0 => None,
            _ => Some((read.number()?.try_into().ok()?, decision(read)?)),
        },
    })
}

fn put_decision(decision: &Decision, out: &mut Writer) {
    out.bytes(&decision.value).bytes(&bits(&decision.failed)).number(decision.unacknowledged.into());
}

fn decision(read: &mut Reader<'_>) -> Option<Decision> {
    let (value, failed) = (read.bytes()?.to_vec(), ranks(read.bytes()?));
    Some(Decision { value, failed, unacknowledged: read.number()? != 0 })
}

/// Ranks as bits, without trailing zero bytes.
fn bits(ranks: &Ranks) -> Vec<u8> {
    let mut bytes = vec![0; ranks.last().map_or(0, |last| last / 8 + 1)];
    ranks.iter().for_each(|rank| bytes[rank / 8] |= 1 << (rank % 8));
    bytes
}

fn ranks(bytes: &[u8]) -> Ranks {
    (0..8 * bytes.len()).filter(|rank| bytes[rank / 8] & 1 << (rank % 8) != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some_ranks() -> impl Strategy<Value = Ranks> {
        prop::collection::btree_set(0usize..600, 0..9)
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
            decided in prop::option::of((0usize..600, some_decision())),
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
            let agree = [Message::Up(ballot, up), Message::Down(ballot, down)].map(|message| Notice::Agree(key, message));
            for notice in agree.into_iter().chain([Notice::Revoked(comm)]) {
                let bytes = notice.encode();
                prop_assert_eq!(Notice::decode(&bytes), Some(notice));
                prop_assert_eq!(Notice::decode(&bytes[..cut.index(bytes.len())]), None);
            }
        }

        #[test]
        fn any_bytes_are_read(bytes in any::<Vec<u8>>()) {
            if let Some(notice) = Notice::decode(&bytes) {
                notice.largest();
            }
        }
    }
}
