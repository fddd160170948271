//! Passes the lines of a packet to the cache that its receiver shares with its sender, where the policy has found that to be worth it.

use std::cell::{Cell, RefCell};
use tern_device::clock::ticks;
use tern_device::hint::can_demote;
use tern_policy::{Demotion, rules};

/// What is known of one peer.
pub struct Cldemote {
    able: bool,
    demotion: RefCell<Demotion>,
    pays: Cell<bool>,
}

impl Cldemote {
    /// Of a peer of which nothing is known.
    pub fn new() -> Cldemote {
        let able = can_demote() && rules::DEMOTE.is_on();
        Cldemote {
            able,
            demotion: RefCell::new(Demotion::new([super::FIRST_LINE, super::INLINE])),
            pays: Cell::new(able),
        }
    }

    /// See [`Demotion::is_for`].
    #[inline]
    pub fn is_for(&self, len: usize) -> bool {
        self.able && self.try_for(len)
    }

    fn try_for(&self, len: usize) -> bool {
        let pays = self.demotion.borrow_mut().is_for(len, ticks);
        self.pays.set(pays);
        pays
    }

    /// What was done the last time.
    #[inline]
    pub fn pays(&self) -> bool {
        self.pays.get()
    }
}
