//! The back-off: what was tried in vain is tried again after a pause, which doubles each time.

use core::cell::Cell;
use core::ops::RangeInclusive;

/// How many chances go by before something is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    /// Chances that still go by.
    left: u32,
    /// How many they were after the last attempt in vain.
    pause: u32,
}

impl Backoff {
    /// Whether it would be tried now.
    #[inline]
    pub fn may_try(self) -> bool {
        self.left == 0
    }

    /// Whether to try now. The chance is counted.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        let due = self.left == 0;
        self.left = self.left.saturating_sub(1);
        due
    }

    /// The attempt was in vain: `pauses` has the first pause and the longest.
    pub fn in_vain(&mut self, pauses: RangeInclusive<u32>) {
        self.pause = self.pause.saturating_mul(2).clamp(*pauses.start(), *pauses.end());
        self.left = self.pause;
    }

    /// The attempt has paid: the next pause is a first one.
    pub fn paid(&mut self) {
        self.pause = 0;
    }
}

/// One that several calls share.
#[derive(Debug, Default)]
pub struct SharedBackoff(Cell<Backoff>);

impl SharedBackoff {
    /// As [`Backoff::may_try`].
    #[inline]
    pub fn may_try(&self) -> bool {
        self.0.get().may_try()
    }

    /// As [`Backoff::is_due`].
    #[inline]
    pub fn is_due(&self) -> bool {
        let mut backoff = self.0.get();
        let due = backoff.is_due();
        self.0.set(backoff);
        due
    }

    /// The attempt has paid, or was in vain.
    pub fn note(&self, paid: bool, pauses: RangeInclusive<u32>) {
        let mut backoff = self.0.get();
        if paid {
            backoff.paid()
        } else {
            backoff.in_vain(pauses)
        }
        self.0.set(backoff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chances until the next attempt.
    fn pause(backoff: &mut Backoff) -> usize {
        (0..).find(|_| backoff.is_due()).expect("it comes")
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew() {
        let mut backoff = Backoff::default();
        assert!(backoff.may_try());
        assert_eq!(pause(&mut backoff), 0, "nothing was tried yet");
        for expected in [3, 6, 12, 20, 20] {
            backoff.in_vain(3..=20);
            assert!(!backoff.may_try());
            assert_eq!(pause(&mut backoff), expected);
        }
        backoff.paid();
        assert_eq!(pause(&mut backoff), 0);
        backoff.in_vain(3..=20);
        assert_eq!(pause(&mut backoff), 3);
    }
}
