//! Published receives whose pages are about to be replaced ([`crate::fork`]): by any thread, so that only posted receives are looked at.
//!
//! A sender that dies leaves its claim, and a receiver that dies leaves a receive that is held. Neither is open again: the receiver gives such a
//! claim up once the sender is gone, for nobody writes there any more, and the sender goes another way past a receive that is held.

use crate::posted_receives::{PostedReceives, Stage};
use crate::state::Shm;
use std::ops::Range;
use std::sync::atomic::Ordering;
use tern_device::Memory;

/// Looks at a receive that is being filled, between two questions whether its sender is still there.
const ROUNDS: u32 = 64;

impl Shm {
    /// Closes the receives in these pages that are open, and waits for those that are being filled; the held ones, by peer and
    /// slot. Nobody publishes meanwhile.
    pub(crate) fn hold_receives(&self, pages: &[Range<usize>]) -> Vec<(u32, u32)> {
        let mut held = Vec::new();
        // Relaxed: a thread that publishes keeps forks out.
        let peers = self.direct.posted.iter().enumerate().filter(|(_, used)| used.load(Ordering::Relaxed));
        for (peer, _) in peers {
            let posted = self.own_posted(peer as u32);
            let slots = (0..posted.used()).filter(|&slot| self.hold(peer as u32, posted, slot, pages));
            held.extend(slots.map(|slot| (peer as u32, slot)));
        }
        held
    }

    /// True when the receive is held; false when its sender has no part in it any more, or never had, or has ended.
    fn hold(&self, peer: u32, posted: &PostedReceives, slot: u32, pages: &[Range<usize>]) -> bool {
        let mut round = 0u32;
        loop {
            let word = posted.word(slot);
            match word.stage() {
                Stage::Free | Stage::Filled | Stage::Packets => return false,
                _ if !meets(&posted.target(slot), pages) => return false,
                Stage::Open if posted.hold(slot) => return true,
                Stage::Shared => self.help_anywhere(peer, posted, slot, word),
                Stage::Open | Stage::Claimed | Stage::Held => {}
            }
            round = round.wrapping_add(1);
            if round.is_multiple_of(ROUNDS) && self.has_gone(peer) {
                return false;
            }
            tern_atomics::yield_now();
        }
    }

    /// Opens these receives again, which lie in private memory now.
    pub(crate) fn release_receives(&self, held: &[(u32, u32)]) {
        for &(peer, slot) in held {
            self.own_posted(peer).reopen(slot);
        }
    }
}

/// Whether one of the pages holds some of that memory.
fn meets(memory: &Memory, pages: &[Range<usize>]) -> bool {
    let (low, len) = memory.span();
    let start = memory.address.wrapping_add_signed(low) as usize;
    pages.iter().any(|pages| pages.start < start + len as usize && start < pages.end)
}
