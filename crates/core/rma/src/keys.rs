//! The keys of an access. Memory that is attached in pieces has one for each of them. Elements that one access combines may
//! lie in several pieces, and one element too: who combines it follows from its type and the pieces that it lies in.

use crate::attached::{Piece, Placed, cover};
use crate::elements::Side;
use tern_layout::{Basic, Class, Type};

/// Bytes of the elements that the card combines.
pub(crate) const WORD: usize = 8;

/// By which keys the card reaches the memory of one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    One(u64),
    /// Each piece has its own, or none.
    Each,
}

impl Key {
    /// `None`: the card does not reach it.
    #[inline]
    pub fn of(key: u64) -> Option<Key> {
        (key != 0).then_some(Key::One(key))
    }
}

/// The keys themselves.
pub(crate) enum Keys {
    One(u64),
    /// What is attached, in the order of addresses; what is accessed is among it.
    Each(Vec<Piece>),
}

/// Who combines an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// The card.
    Card,
    /// Whoever holds the guard that the card changes.
    Guard,
    /// The owner of the memory, since the card does not reach all of it.
    Owner,
}

/// True for elements that the card combines where they are not divided.
fn is_word(basic: Basic, address: u64) -> bool {
    let class =
        matches!(basic.class(), Class::CInteger | Class::FortranInteger | Class::MultiLanguage | Class::Logical);
    class && basic.size() as usize == WORD && address.is_multiple_of(WORD as u64)
}

impl Keys {
    /// The piece at an address.
    fn piece(pieces: &[Piece], address: u64) -> Piece {
        let behind = pieces.partition_point(|piece| piece.start <= address);
        pieces[..behind].last().copied().expect("what is accessed is attached")
    }

    /// The key of the memory at an address.
    pub(crate) fn at(&self, address: u64) -> u64 {
        match self {
            Keys::One(key) => *key,
            Keys::Each(pieces) => Keys::piece(pieces, address).place,
        }
    }

    /// Calls `each` with the key of each stretch of `len` bytes of data from byte `from` on, where it begins in them, and
    /// its bytes; until it fails.
    pub(crate) fn stretches<E>(
        &self, (theirs, from): (&Side<'_>, usize), len: usize, mut each: impl FnMut(u64, usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let pieces = match self {
            Keys::One(key) => return each(*key, 0, len),
            Keys::Each(pieces) => pieces,
        };
        let mut stretches = Vec::<(u64, usize)>::new();
        theirs.runs(from, len, |mut at, mut len| {
            while len > 0 {
                let piece = Keys::piece(pieces, at);
                let (key, bytes) = (piece.place, len.min((piece.end() - at) as usize));
                match stretches.last_mut() {
                    Some((last, so_far)) if *last == key => *so_far += bytes,
                    _ => stretches.push((key, bytes)),
                }
                (at, len) = (at + bytes as u64, len - bytes);
            }
        });
        let mut done = 0;
        stretches.into_iter().try_for_each(|(key, bytes)| {
            done += bytes;
            each(key, done - bytes, bytes)
        })
    }

    /// Who combines the element at an address, and how many from that on are combined by the same, one at least.
    fn agent(&self, basic: Basic, address: u64) -> (Agent, usize) {
        let undivided = if is_word(basic, address) { Agent::Card } else { Agent::Guard };
        let pieces = match self {
            Keys::One(_) => return (undivided, usize::MAX),
            Keys::Each(pieces) => pieces,
        };
        let piece = Keys::piece(pieces, address);
        let whole = ((piece.end() - address) / basic.extent() as u64) as usize;
        if whole > 0 {
            return (if piece.place == 0 { Agent::Owner } else { undivided }, whole);
        }
        let (mut runs, ty) = (Vec::new(), Type::basic(basic));
        let element = Side::new(address as *mut u8, 1, &ty);
        element.runs(0, element.len(), |at, bytes| runs.push((at, bytes as u64)));
        (if cover(pieces, runs) == Some(Placed::All) { Agent::Guard } else { Agent::Owner }, 1)
    }

    /// Who combines the first of `count` elements, one extent apart, and how many of them in a row.
    pub(crate) fn agents(&self, basic: Basic, address: u64, count: usize) -> (Agent, usize) {
        let (agent, mut same) = self.agent(basic, address);
        while same < count {
            let (next, more) = self.agent(basic, address + same as u64 * basic.extent() as u64);
            if next != agent {
                break;
            }
            same += more;
        }
        (agent, same.min(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three with a key, one without, one with, in a row.
    fn pieces() -> Keys {
        let lens_and_keys = [(12, 1), (1, 2), (19, 3), (16, 0), (48, 5)];
        let mut start = 1000;
        let piece = |(len, place)| {
            start += len;
            Piece { start: start - len, len, place, cookie: 0 }
        };
        Keys::Each(lens_and_keys.map(piece).to_vec())
    }

    fn all_agents(basic: Basic, address: u64, count: usize) -> Vec<(Agent, usize)> {
        let (keys, mut done, mut all) = (pieces(), 0, Vec::new());
        while done < count {
            all.push(keys.agents(basic, address + done as u64 * basic.extent() as u64, count - done));
            done += all.last().expect("it was added").1;
        }
        all
    }

    #[test]
    fn who_combines_an_element_follows_from_its_pieces() {
        use Agent::{Card, Guard, Owner};
        // At 1000 and at 1024 in one piece, at 1008 in three; at 1032 where the card does not reach.
        assert_eq!(all_agents(Basic::Int64, 1000, 7), [(Card, 1), (Guard, 1), (Card, 2), (Owner, 2), (Card, 1)]);
        assert_eq!(all_agents(Basic::Float64, 1000, 7), [(Guard, 4), (Owner, 2), (Guard, 1)]);
        // Not aligned: at 1028 and at 1044 divided between the card and the owner.
        assert_eq!(all_agents(Basic::Int64, 1004, 7), [(Guard, 3), (Owner, 3), (Guard, 1)]);
        assert_eq!(all_agents(Basic::Byte, 1000, 96), [(Guard, 32), (Owner, 16), (Guard, 48)]);
        // The padding behind the last pair is not in its piece.
        assert_eq!(all_agents(Basic::DoubleInt, 1084, 1), [(Guard, 1)]);
    }

    #[test]
    fn one_key_is_for_all() {
        assert_eq!(Keys::One(7).agents(Basic::Int64, 8, 100), (Agent::Card, 100));
        assert_eq!(Keys::One(7).agents(Basic::Int64, 4, 100), (Agent::Guard, 100));
        assert_eq!(Keys::One(7).at(5), 7);
    }

    #[test]
    fn bytes_are_divided_at_the_edges() {
        let stretches = |from: usize, len: usize| {
            let mut all = Vec::new();
            let theirs = Side::Dense(1000 as *mut u8, 32);
            let _ = pieces().stretches((&theirs, from), len, |key, at, bytes| {
                all.push((key, at, bytes));
                Ok::<(), ()>(())
            });
            all
        };
        assert_eq!(stretches(0, 32), [(1, 0, 12), (2, 12, 1), (3, 13, 19)]);
        assert_eq!(stretches(12, 5), [(2, 0, 1), (3, 1, 4)]);
        assert_eq!(stretches(3, 9), [(1, 0, 9)]);
    }

    #[test]
    fn gaps_have_no_key() {
        let ty = Type::vector(4, 2, 4, &Type::basic(Basic::Byte)).expect("a column");
        let theirs = Side::new(1000 as *mut u8, 2, &ty);
        let mut all = Vec::new();
        let _ = pieces().stretches((&theirs, 0), 16, |key, at, bytes| {
            all.push((key, at, bytes));
            Ok::<(), ()>(())
        });
        assert_eq!(all, [(1, 0, 6), (2, 6, 1), (3, 7, 9)]);
    }
}
