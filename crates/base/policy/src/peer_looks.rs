//! How often a sender looks at what a peer may be about to do: the rule `expect-ready`. A peer that has done so the last time is looked at a while, any
//! other once.

use crate::rules;
use core::cell::Cell;

/// For so many bytes of a message a sender looks once more for a receive that is about to be published, and so often at most.
const LOOK: u64 = 256;
const MOST_LOOKS: u64 = 256;
/// Looks at a process that has not begun to wait yet.
const NEARLY: u32 = 25;
/// Looks at a process that may be about to say that it is ready to receive, which take about as long as a copy of 16 KiB.
const SOON: u32 = 50;
/// Looks in vain until a peer is not expected to be ready any more, and messages until it is looked at so long again.
const PATIENCE: i8 = 16;
const REST: i8 = -64;

/// Looks of a sender at a message that it has left to the receiver, before it copies the message itself.
pub const LOOKS_AT_LEFT: u32 = 200;

/// What a sender has seen of one peer.
#[derive(Clone, Debug)]
pub struct PeerLooks {
    /// The last message that looked for a published receive has found one.
    found: Cell<bool>,
    /// The peer waited in the library after the last message had been moved.
    waited: Cell<bool>,
    /// Above 0: looks in vain that are left. Else the messages that rest, below 0.
    ready: Cell<i8>,
}

impl Default for PeerLooks {
    /// Of a peer of which nothing is known.
    fn default() -> PeerLooks {
        PeerLooks { found: Cell::new(false), waited: Cell::new(false), ready: Cell::new(PATIENCE) }
    }
}

impl PeerLooks {
    /// Looks after the first, in vain, for the published receive of a message of `len` bytes. Two processes that answer each other come to their next
    /// calls at the same time: where the last message has found its receive, this one waits for it a little, less than the copy will take. `crowded`:
    /// more processes are awake than there are cores.
    #[inline]
    pub fn further_for_published(&self, len: u64, crowded: impl FnOnce() -> bool) -> u64 {
        let several = self.found.get() && !crowded() && rules::EXPECT_READY.applies();
        if several { (len / LOOK).min(MOST_LOOKS) } else { 0 }
    }

    /// A message has found its published receive, or none.
    #[inline]
    pub fn note_published(&self, found: bool) {
        self.found.set(found);
    }

    /// Looks whether the peer waits. One that has waited before may be about to.
    pub fn for_waiting(&self) -> u32 {
        let several = self.waited.get() && rules::EXPECT_READY.applies();
        if several { NEARLY } else { 1 }
    }

    /// After a copy: whether the peer waits, or copies too.
    pub fn note_waiting(&self, waits: bool) {
        self.waited.set(waits);
    }

    /// Looks whether the peer is ready to receive. One that answers is about to begin to wait.
    pub fn for_ready(&self) -> u32 {
        let several = self.ready.get() > 0 && rules::EXPECT_READY.applies();
        if several { SOON } else { 1 }
    }

    /// These looks have shown whether it is.
    pub fn note_ready(&self, seen: bool) {
        self.ready.set(match self.ready.get() {
            _ if seen => PATIENCE,
            REST => 1,
            left => left - 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_never_ready_is_seldom_waited_for() {
        let looks = PeerLooks::default();
        let mut waits = 0;
        for _ in 0..1000 {
            waits += u32::from(looks.for_ready() == SOON);
            looks.note_ready(false);
        }
        assert!((16..40).contains(&waits), "{waits}");
        looks.note_ready(true);
        assert_eq!(looks.for_ready(), SOON, "once is enough");
    }

    #[test]
    fn a_peer_that_has_waited_is_looked_at_a_while() {
        let looks = PeerLooks::default();
        assert_eq!(looks.for_waiting(), 1);
        looks.note_waiting(true);
        assert_eq!(looks.for_waiting(), NEARLY);
        looks.note_waiting(false);
        assert_eq!(looks.for_waiting(), 1);
    }

    #[test]
    fn a_published_receive_is_looked_for_as_long_as_the_copy_takes_at_most() {
        let looks = PeerLooks::default();
        assert_eq!(looks.further_for_published(1 << 20, || false), 0, "nothing was found yet");
        looks.note_published(true);
        assert_eq!(looks.further_for_published(16 << 10, || false), 64);
        assert_eq!(looks.further_for_published(1 << 20, || false), MOST_LOOKS);
        assert_eq!(looks.further_for_published(1 << 20, || true), 0, "the peer may need this core");
        looks.note_published(false);
        assert_eq!(looks.further_for_published(1 << 20, || unreachable!("nobody needs to know")), 0);
    }
}
