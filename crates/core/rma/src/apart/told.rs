//! Who has a lock of a window whose members lie apart, as its owner tells those that wait for it (TERN_STALL).

use super::question;
use crate::Ticket;
use crate::inquiries::{self, Known};
use crate::messages::{HOLDERS, Kind};
use crate::window::Window;
use tern_adi::{Awaited, Holding};

impl Window {
    // ---- who waits

    /// Whether the lock of `rank` is granted. Who has waited for it long asks who has it.
    pub(super) fn is_granted(&self, rank: u32, ticket: Ticket) -> bool {
        let granted = self.messages.is_done(ticket);
        if self.tells && !granted && self.inquiries.is_due(rank) {
            self.messages.tell(rank, question(Kind::Holders));
        }
        granted
    }

    /// What a call waits for that wants the lock of `rank`.
    pub(super) fn awaits_apart(&self, rank: u32) -> Awaited {
        match self.inquiries.known(rank) {
            Known::Nothing => self.awaits_lock(Some(rank), Holding::Unknown, &[]),
            Known::Unanswered => self.awaits_lock(Some(rank), Holding::Unanswered, &[rank]),
            Known::Holders { ranks, alone } => {
                let held = if alone { Holding::Alone } else { Holding::Shared };
                self.awaits_lock(Some(rank), held, &ranks)
            }
        }
    }

    // ---- the owner

    /// Tells `origin`, if it waits, who has the lock of this member.
    pub(super) fn tell_holders(&self, origin: u32) {
        let turns = self.turns.borrow();
        if !turns.awaits(origin) {
            return;
        }
        let (ranks, alone) = turns.holders();
        let data: Vec<u8> = ranks.iter().take(HOLDERS).flat_map(|rank| rank.to_le_bytes()).collect();
        let how = if alone { inquiries::ALONE } else { inquiries::SHARED };
        self.inquiries.inform(origin);
        self.messages.tell_with(origin, question(Kind::Held), how, &data);
    }

    /// Others have the lock of this member than those that it was told of before.
    pub(super) fn tell_of_change(&self) {
        let turns = self.turns.borrow();
        for origin in self.inquiries.take_informed().into_iter().filter(|&origin| turns.awaits(origin)) {
            self.messages.tell_with(origin, question(Kind::Held), inquiries::CHANGED, &[]);
        }
    }
}
