//! Whether the owner of private memory is asked to make an access: the rule `ask-owner`. A process that waits makes it sooner than the kernel does; one that
//! computes does not answer, and is left alone for a while.

use crate::backoff::SharedBackoff;
use crate::rules;
use core::ops::RangeInclusive;

/// Accesses that go by the kernel after an owner has not answered: at first, and at most.
const PAUSES: RangeInclusive<u32> = 16..=128;

/// What an origin has seen of an owner.
#[derive(Debug, Default)]
pub struct Responsiveness {
    /// Accesses that go by the kernel before it is asked again.
    asked: SharedBackoff,
}

impl Responsiveness {
    /// Whether an access now would ask the owner.
    #[inline]
    pub fn would_ask(&self) -> bool {
        self.asked.may_try() || !rules::ASK_OWNER.is_on()
    }

    /// Whether to ask the owner. The access is counted.
    #[inline]
    pub fn asks(&self) -> bool {
        self.asked.is_due() || !rules::ASK_OWNER.applies()
    }

    /// An owner that was asked has answered, or not.
    pub fn note(&self, answered: bool) {
        self.asked.note(answered, PAUSES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_that_does_not_answer_is_left_alone_for_longer_and_longer() {
        let owner = Responsiveness::default();
        let pause = || (0..).find(|_| owner.asks()).expect("it is asked some time");
        assert_eq!(pause(), 0, "nothing is known");
        for expected in [16, 32, 64, 128, 128] {
            owner.note(false);
            assert!(!owner.would_ask());
            assert_eq!(pause(), expected);
        }
        owner.note(true);
        assert!(owner.would_ask());
        assert_eq!(pause(), 0);
    }
}
