//! Part of the engine: messages at speculative addresses. Their senders did not confirm the addresses yet, or have found them to be wrong.

use crate::Proc;
use crate::transfer::NONE;
use tern_mcm::Memory;

/// A message whose sender has not said yet whether it is where the receiver was told.
#[derive(Clone, Copy, Debug)]
struct Speculative {
    from: Proc,
    /// The sender's request.
    sender: u32,
    /// The receive that has copied it; `NONE` while there is none.
    receiver: u32,
    bytes: u64,
    /// It is not, and no receive has asked for it.
    wrong: bool,
}

/// What follows from the word of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// Nothing, as yet.
    Nothing,
    /// This receive has its message.
    Complete { receiver: u32 },
    /// This receive has copied the wrong bytes: it wants so many in packets.
    CopyAgain { receiver: u32, bytes: u64 },
}

/// Messages at speculative addresses.
#[derive(Debug, Default)]
pub struct Unconfirmed {
    /// Those of peers.
    offered: Vec<Speculative>,
    /// Own sends that are not where their receivers were told.
    misplaced: Vec<u32>,
}

impl Unconfirmed {
    fn position(&self, from: Proc, sender: u32) -> Option<usize> {
        self.offered.iter().position(|offered| (offered.from, offered.sender) == (from, sender))
    }

    // ---- the sender

    /// The receiver of send `request` was told a wrong address.
    pub fn misplace(&mut self, request: u32) {
        self.misplaced.push(request);
    }

    /// A send is answered, or taken back. True if its receiver was told a wrong address: its word that it has the message is not to
    /// be believed.
    #[inline]
    pub fn end_misplaced(&mut self, request: u32) -> bool {
        let found = self.misplaced.iter().position(|&other| other == request);
        found.map(|at| self.misplaced.swap_remove(at)).is_some()
    }

    // ---- the receiver

    /// A sender will say whether its message is where it has told.
    pub fn expect(&mut self, from: Proc, sender: u32) {
        // One that was taken back, and of which nobody has asked, may have left its word.
        self.forget(from, sender);
        self.offered.push(Speculative { from, sender, receiver: NONE, bytes: 0, wrong: false });
    }

    /// Where a message lies that a receive is about to ask for, of which its sender has told `source`.
    pub fn source_of(&mut self, from: Proc, sender: u32, source: &Memory) -> Memory {
        match self.position(from, sender) {
            Some(at) if self.offered[at].wrong => {
                self.offered.swap_remove(at);
                Memory::opaque(source.len as usize)
            }
            _ => *source,
        }
    }

    /// Receive `receiver` has copied the `bytes` bytes of a message: true when the sender has not said yet that they are the right ones.
    pub fn awaits(&mut self, from: Proc, sender: u32, receiver: u32, bytes: u64) -> bool {
        let Some(at) = self.position(from, sender) else { return false };
        let offered = &mut self.offered[at];
        (offered.receiver, offered.bytes) = (receiver, bytes);
        true
    }

    /// The bytes of a message come otherwise: what its sender says of its address does not matter any more.
    pub fn forget(&mut self, from: Proc, sender: u32) {
        if let Some(at) = self.position(from, sender) {
            self.offered.swap_remove(at);
        }
    }

    /// The sender of a message says whether it is where it has told.
    pub fn confirm(&mut self, from: Proc, sender: u32, right: bool) -> Confirmed {
        let Some(at) = self.position(from, sender) else { return Confirmed::Nothing };
        let Speculative { receiver, bytes, .. } = self.offered[at];
        if receiver == NONE && !right {
            self.offered[at].wrong = true;
            return Confirmed::Nothing;
        }
        self.offered.swap_remove(at);
        match right {
            _ if receiver == NONE => Confirmed::Nothing,
            true => Confirmed::Complete { receiver },
            false => Confirmed::CopyAgain { receiver, bytes },
        }
    }

    /// `peer` is lost: it says nothing any more, and hears nothing. `is_for`: whether a send is for it.
    pub fn forget_peer(&mut self, peer: Proc, is_for: impl Fn(u32) -> bool) {
        self.offered.retain(|offered| offered.from != peer);
        self.misplaced.retain(|&request| !is_for(request));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Memory = Memory { address: 64, len: 100, block: 100, stride: 0, place: 64, key: 0, cookie: 0 };

    #[test]
    fn a_receive_that_has_copied_waits_for_the_word() {
        let mut unconfirmed = Unconfirmed::default();
        assert!(!unconfirmed.awaits(1, 5, 8, 100), "its sender was sure");
        for (right, expected) in
            [(true, Confirmed::Complete { receiver: 8 }), (false, Confirmed::CopyAgain { receiver: 8, bytes: 100 })]
        {
            unconfirmed.expect(1, 5);
            assert_eq!(unconfirmed.source_of(1, 5, &SOURCE).place, 64);
            assert!(unconfirmed.awaits(1, 5, 8, 100));
            assert_eq!(unconfirmed.confirm(1, 5, right), expected);
            assert_eq!(unconfirmed.confirm(1, 5, right), Confirmed::Nothing, "once");
        }
    }

    #[test]
    fn a_receive_that_comes_after_the_word_knows() {
        let mut unconfirmed = Unconfirmed::default();
        for (right, place) in [(true, 64), (false, 0)] {
            unconfirmed.expect(1, 5);
            assert_eq!(unconfirmed.confirm(1, 5, right), Confirmed::Nothing);
            assert_eq!(unconfirmed.source_of(1, 5, &SOURCE).place, place);
            assert!(!unconfirmed.awaits(1, 5, 8, 100), "nothing is awaited any more");
        }
    }

    #[test]
    fn what_was_taken_back_or_comes_otherwise_leaves_nothing() {
        let mut unconfirmed = Unconfirmed::default();
        unconfirmed.expect(1, 5);
        assert_eq!(unconfirmed.confirm(1, 5, false), Confirmed::Nothing);
        unconfirmed.expect(1, 5);
        assert_eq!(unconfirmed.source_of(1, 5, &SOURCE).place, 64, "another message of that number");
        unconfirmed.forget(1, 5);
        assert!(!unconfirmed.awaits(1, 5, 8, 100));
        unconfirmed.expect(2, 5);
        unconfirmed.misplace(3);
        unconfirmed.misplace(4);
        unconfirmed.forget_peer(2, |request| request == 3);
        assert!(!unconfirmed.awaits(2, 5, 8, 100));
        assert_eq!([3, 4, 4].map(|request| unconfirmed.end_misplaced(request)), [false, true, false]);
    }
}
