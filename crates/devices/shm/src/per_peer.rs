//! One place per peer, for what is made at first use, in a table that may grow.

use std::cell::{OnceCell, UnsafeCell};

/// The table. Reading it costs what reading a vector costs.
pub struct PerPeer<T>(UnsafeCell<Vec<OnceCell<T>>>);

impl<T> PerPeer<T> {
    /// A table for so many peers.
    pub fn new(len: u32) -> PerPeer<T> {
        PerPeer(UnsafeCell::new((0..len).map(|_| OnceCell::new()).collect()))
    }

    #[inline(always)]
    fn slots(&self) -> &[OnceCell<T>] {
        // SAFETY: changed only by `grow` and `clear`, when no reference from here is in use.
        unsafe { &*self.0.get() }
    }

    /// How many peers there are places for.
    pub fn len(&self) -> u32 {
        self.slots().len() as u32
    }

    /// The place of `peer`.
    #[inline(always)]
    pub fn of(&self, peer: u32) -> &OnceCell<T> {
        &self.slots()[peer as usize]
    }

    /// What has been made so far.
    pub fn made(&self) -> impl Iterator<Item = &T> {
        self.slots().iter().filter_map(OnceCell::get)
    }

    /// Makes room for `more` peers.
    ///
    /// # Safety
    /// Nobody holds a reference that came from this table.
    pub unsafe fn grow(&self, more: u32) {
        // SAFETY: the caller's contract.
        let slots = unsafe { &mut *self.0.get() };
        slots.extend((0..more).map(|_| OnceCell::new()));
    }

    /// Forgets what was made for `peer`.
    ///
    /// # Safety
    /// As for [`PerPeer::grow`].
    pub unsafe fn clear(&self, peer: u32) {
        // SAFETY: the caller's contract.
        let slots = unsafe { &mut *self.0.get() };
        slots[peer as usize].take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_what_it_has_when_it_grows() {
        let slots = PerPeer::new(2);
        assert_eq!(*slots.of(1).get_or_init(|| 7), 7);
        // SAFETY: no reference is held.
        unsafe { slots.grow(1000) };
        assert_eq!(slots.len(), 1002);
        slots.of(1001).get_or_init(|| 8);
        assert_eq!(slots.made().copied().collect::<Vec<_>>(), [7, 8]);
        // SAFETY: as above.
        unsafe { slots.clear(1) };
        assert_eq!(slots.made().copied().collect::<Vec<_>>(), [8]);
    }
}
