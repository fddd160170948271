//! What a receiver has published in the table of one sender.

use super::{Claim, ENTRY, Entry, Layout, reaches};
use crate::{Key, Memory};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Free,
    /// The sender may claim it.
    Open,
    /// The sender has.
    Claimed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Slot {
    stage: Stage,
    /// A claim is being read. Until it has come, the slot is not used again.
    asked: bool,
    key: Key,
    receiver: u32,
    order: u32,
    seen: u32,
    /// It went to a message of the stream, and the sender still sees it, unless it reads the head.
    stale: bool,
}

/// What to do for a receive that is to be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Nothing: the sender has claimed it.
    Claimed,
    /// Nothing: that is being done.
    Asked,
    /// Write this word to [`Layout::ask`], then read [`Layout::claim`] for [`Publications::answer`].
    Ask(u64),
}

/// What follows from a claim that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The sender is about to decide: read again.
    Again,
    /// The receive of that request is the receiver's own again.
    Won(u32),
    /// It was claimed, or what it was asked for is over.
    Nothing,
}

/// All receives that are published for one sender.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Publications {
    layout: Layout,
    slots: Vec<Slot>,
    pub(super) order: u32,
    /// The last stream message taken that the sender wants to know of, while that was not told.
    untold: Option<u32>,
    /// What the head says.
    told: u32,
}

/// The sender compares numbers that are less than 2^31 apart.
const FAR: u32 = 1 << 30;

impl Publications {
    /// Nothing is published.
    pub fn new(layout: Layout) -> Publications {
        Publications { layout, slots: Vec::new(), order: 0, untold: None, told: 0 }
    }

    /// A receive, when the stream has been taken up to `seen`: its slot, and what to write to [`Layout::entry`].
    /// `None`: there is no room.
    pub fn publish(&mut self, key: &Key, target: &Memory, receiver: u32, seen: u32) -> Option<(u32, [u64; ENTRY])> {
        let index = self.free()?;
        self.order = self.order.wrapping_add(1);
        let slot =
            Slot { stage: Stage::Open, asked: false, key: *key, receiver, order: self.order, seen, stale: false };
        if index == self.slots.len() {
            self.slots.push(slot)
        } else {
            self.slots[index] = slot
        }
        let entry = Entry { key: *key, receiver, target: *target, order: self.order, seen };
        Some((index as u32, entry.encode()))
    }

    /// The slot for the next receive.
    fn free(&self) -> Option<usize> {
        // The lowest: a sender stops at the first slot that was never written.
        let free = self.slots.iter().position(|slot| slot.stage == Stage::Free && !slot.asked);
        free.or((self.slots.len() < self.layout.slots()).then_some(self.slots.len()))
    }

    /// True when [`Publications::publish`] has room.
    pub fn has_room(&self) -> bool {
        self.free().is_some()
    }

    /// A message of the stream has matched the receive; false when the sender had claimed it before.
    pub fn retract(&mut self, slot: u32) -> bool {
        let slot = &mut self.slots[slot as usize];
        let open = slot.stage == Stage::Open;
        if open {
            (slot.stage, slot.stale) = (Stage::Free, true);
        }
        open
    }

    /// The program wants the receive no more.
    pub fn recall(&mut self, slot: u32) -> Request {
        let slot = &mut self.slots[slot as usize];
        match slot.stage {
            Stage::Open if slot.asked => Request::Asked,
            Stage::Open => {
                slot.asked = true;
                Request::Ask(slot.order as u64)
            }
            Stage::Claimed | Stage::Free => Request::Claimed,
        }
    }

    /// A claim that was read after an ask.
    pub fn answer(&mut self, slot: u32, claim: u64) -> Answer {
        let slot = &mut self.slots[slot as usize];
        if slot.stage == Stage::Open {
            match Claim::of(claim, slot.order) {
                Some(Claim::Trying) => return Answer::Again,
                Some(Claim::Taken) => slot.stage = Stage::Claimed,
                Some(Claim::Declined) | None => {
                    (slot.stage, slot.asked) = (Stage::Free, false);
                    return Answer::Won(slot.receiver);
                }
            }
        }
        slot.asked = false;
        Answer::Nothing
    }

    /// The request of a receive that its sender has passed over when it claimed the one in `slot`: it is the
    /// receiver's own again. To be asked until there is none, before [`Publications::filled`] or
    /// [`Publications::claimed`].
    pub fn passed_over(&mut self, slot: u32) -> Option<u32> {
        let Slot { key, order, .. } = self.slots[slot as usize];
        let older = |slot: &&mut Slot| {
            slot.stage == Stage::Open
                && slot.asked
                && slot.key == key
                && slot.order != order
                && reaches(order, slot.order)
        };
        let passed = self.slots.iter_mut().find(older)?;
        passed.stage = Stage::Free;
        Some(passed.receiver)
    }

    /// The receive in `slot` holds its message; returns its request.
    pub fn filled(&mut self, slot: u32) -> u32 {
        let slot = &mut self.slots[slot as usize];
        slot.stage = Stage::Free;
        slot.receiver
    }

    /// The sender sends packets for the receive in `slot`, which is there until [`Publications::forget`].
    pub fn claimed(&mut self, slot: u32) {
        self.slots[slot as usize].stage = Stage::Claimed;
    }

    /// The slot is free again.
    pub fn forget(&mut self, slot: u32) {
        self.slots[slot as usize].stage = Stage::Free;
    }

    /// The stream has been taken up to `seen`, and what that has matched was retracted.
    pub fn raise(&mut self, seen: u32) {
        self.untold = Some(seen);
    }

    /// What to write to [`Layout::head`], if there is anything to tell. Several raises make one write.
    pub fn head(&mut self) -> Option<u64> {
        let seen = self.untold.take()?;
        let held_back = |slot: &Slot| slot.stage == Stage::Open && !reaches(slot.seen, seen);
        self.slots.iter().any(held_back).then(|| self.tell(seen))
    }

    /// What to write to the head before a receive is published, when the stream has been taken up to `seen`: if there is
    /// something to tell; if an older receive that is gone would be in the way of this one; and once in 2^30 messages.
    pub fn overdue(&mut self, seen: u32) -> Option<u64> {
        let due =
            self.untold.is_some() || seen.wrapping_sub(self.told) >= FAR || self.slots.iter().any(|slot| slot.stale);
        due.then(|| self.tell(seen))
    }

    fn tell(&mut self, seen: u32) -> u64 {
        (self.told, self.untold) = (seen, None);
        for slot in &mut self.slots {
            slot.stale &= reaches(slot.seen, seen);
        }
        let open = |(index, slot): (usize, &Slot)| u64::from(slot.stage == Stage::Open) << index;
        seen as u64 | self.slots.iter().enumerate().map(open).sum::<u64>() << 32
    }

    /// The requests of all receives that the sender may still fill.
    pub fn open(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().filter(|slot| slot.stage != Stage::Free).map(|slot| slot.receiver)
    }
}
