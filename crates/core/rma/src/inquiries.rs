//! Who asks an owner of memory, and is told, who has the lock that it waits for (TERN_STALL), where the members share no words.
//!
//! Who waits long asks the owner of the lock, which knows it, once. Whoever was told so is told as well when that holds no more, and asks
//! again later if it still waits. So a lock that changes hands quickly causes no messages, and others two or three for each that waits.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a call waits for a lock before it asks or looks who has it, and before it does so again: in time for the picture.
pub(crate) fn patience() -> Duration {
    (tern_settings::STALL.get() / 4).min(Duration::from_millis(250))
}

/// What a waiter was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It has not asked, or just now.
    Nothing,
    /// The owner does not answer.
    Unanswered,
    /// These ranks have it, one of them alone or all shared.
    Holders { ranks: Vec<u32>, alone: bool },
}

struct Inquiry {
    /// Since when the call waits, or what it was told holds no more, or it has asked.
    since: Instant,
    asked: bool,
    known: Option<Known>,
}

impl Inquiry {
    fn new() -> Inquiry {
        Inquiry { since: Instant::now(), asked: false, known: None }
    }
}

/// The inquiries of a member, as one that waits and as one that others wait for.
#[derive(Default)]
pub(crate) struct Inquiries {
    /// By the rank of the owner: of calls that wait.
    own: RefCell<BTreeMap<u32, Inquiry>>,
    /// The ranks that were told who has the lock of this member, since that has changed.
    informed: RefCell<Vec<u32>>,
}

/// What `from` of a [`crate::messages::Kind::Held`] says.
pub(crate) const SHARED: usize = 0;
pub(crate) const ALONE: usize = 1;
pub(crate) const CHANGED: usize = 2;

impl Inquiries {
    /// A call begins to wait for the lock of `owner`.
    pub fn begin(&self, owner: u32) {
        self.own.borrow_mut().insert(owner, Inquiry::new());
    }

    pub fn end(&self, owner: u32) {
        self.own.borrow_mut().remove(&owner);
    }

    /// Whether `owner` is to be asked now. It is taken to be asked then.
    pub fn is_due(&self, owner: u32) -> bool {
        let mut own = self.own.borrow_mut();
        let Some(inquiry) = own.get_mut(&owner).filter(|one| !one.asked && one.since.elapsed() >= patience()) else {
            return false;
        };
        (inquiry.asked, inquiry.since) = (true, Instant::now());
        true
    }

    /// Takes what `owner` says of its lock: how it is held, and ranks of 4 bytes each.
    pub fn told(&self, owner: u32, how: u64, ranks: &[u8]) {
        let mut own = self.own.borrow_mut();
        // What comes too late is of no use.
        let Some(inquiry) = own.get_mut(&owner) else { return };
        if how == CHANGED as u64 {
            *inquiry = Inquiry::new();
            return;
        }
        let ranks = ranks.chunks_exact(4).map(|rank| u32::from_le_bytes(rank.try_into().expect("four bytes")));
        inquiry.known = Some(Known::Holders { ranks: ranks.collect(), alone: how == ALONE as u64 });
    }

    /// What is known of who has the lock of `owner`.
    pub fn known(&self, owner: u32) -> Known {
        match self.own.borrow().get(&owner) {
            Some(Inquiry { known: Some(known), .. }) => known.clone(),
            Some(Inquiry { asked: true, since, .. }) if since.elapsed() >= patience() => Known::Unanswered,
            _ => Known::Nothing,
        }
    }

    /// `origin` is told who has the lock of this member.
    pub fn inform(&self, origin: u32) {
        let mut informed = self.informed.borrow_mut();
        if !informed.contains(&origin) {
            informed.push(origin);
        }
    }

    /// Those that were told, and what they were told holds no more.
    pub fn take_informed(&self) -> Vec<u32> {
        self.informed.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without TERN_STALL all patience is over at once.
    #[test]
    fn an_owner_is_asked_once_until_what_it_told_has_changed() {
        let inquiries = Inquiries::default();
        inquiries.told(3, ALONE as u64, &[5, 0, 0, 0]);
        assert!(!inquiries.is_due(3), "nobody waits");
        inquiries.begin(3);
        assert_eq!(inquiries.known(3), Known::Nothing, "what came before it waited");
        assert!(inquiries.is_due(3) && !inquiries.is_due(3) && !inquiries.is_due(4));
        assert_eq!(inquiries.known(3), Known::Unanswered);
        inquiries.told(3, SHARED as u64, &[5, 0, 0, 0, 1, 1, 0, 0]);
        assert_eq!(inquiries.known(3), Known::Holders { ranks: vec![5, 257], alone: false });
        assert!(!inquiries.is_due(3));
        inquiries.told(3, CHANGED as u64, &[]);
        assert_eq!(inquiries.known(3), Known::Nothing);
        assert!(inquiries.is_due(3));
        inquiries.end(3);
        assert_eq!(inquiries.known(3), Known::Nothing);
    }

    #[test]
    fn who_was_informed_is_told_of_a_change_once() {
        let inquiries = Inquiries::default();
        [2, 7, 2].into_iter().for_each(|origin| inquiries.inform(origin));
        assert_eq!(inquiries.take_informed(), [2, 7]);
        assert!(inquiries.take_informed().is_empty());
    }
}
