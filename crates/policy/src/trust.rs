//! Whether a peer that was seen to wait several times is trusted to wait.

use crate::streak::Streak;

/// Messages in a row for which a peer was seen to hope, after which the next ones go so unseen: at first, and at most.
const TRUSTED_AFTER: u32 = 16;
const LEAST_TRUSTED: u32 = 1 << 16;
/// Who was trusted for so many rightly soon is again.
const WELL_TRUSTED: u32 = 64;
/// Looks at everything by one that waits until its message is fetched, of a receiver that waits as well. In the caches and beyond, 64 KiB
/// take some hundred.
const IN_TIME: u32 = 1000;

/// Whether a peer is going to wait for what is sent to it. To see it takes a line from its cache, 0.3 us of a message of 16 KiB on an Intel
/// Xeon with what there is to wait for it.
#[derive(Clone, Copy, Debug)]
pub struct Trust {
    /// It was seen to.
    seen: Streak,
    /// Messages for which it has waited, as was trusted.
    right: u32,
}

impl Default for Trust {
    fn default() -> Trust {
        Trust { seen: Streak::of(TRUSTED_AFTER), right: 0 }
    }
}

impl Trust {
    /// Whether that was so often enough.
    pub fn trusts(self) -> bool {
        self.seen.holds()
    }

    /// A look has shown whether it does.
    pub fn see(&mut self, hoped: bool) {
        self.seen.note(hoped);
    }

    /// Whether one that waits has got its message after so many looks at everything of its sender's.
    pub fn is_in_time(looks: u32) -> bool {
        looks <= IN_TIME
    }

    /// Whether it did as was trusted. If not, its sender was held up, which must not come often.
    pub fn judge(&mut self, waited: bool) {
        if waited {
            self.right = self.right.saturating_add(1);
            return;
        }
        let enough =
            if self.right < WELL_TRUSTED { (2 * self.seen.enough()).min(LEAST_TRUSTED) } else { TRUSTED_AFTER };
        *self = Trust { seen: Streak::of(enough), right: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times in a row that one has to be seen to wait.
    fn needs(trust: &mut Trust) -> u32 {
        (0..)
            .find(|_| {
                trust.trusts() || {
                    trust.see(true);
                    false
                }
            })
            .expect("it comes")
    }

    #[test]
    fn who_waits_is_trusted_until_it_holds_a_sender_up() {
        let mut trust = Trust::default();
        for round in 0..4 {
            assert_eq!(needs(&mut trust), TRUSTED_AFTER << round);
            trust.judge(false);
        }
        assert_eq!(needs(&mut trust), TRUSTED_AFTER << 4);
        (0..WELL_TRUSTED).for_each(|_| trust.judge(true));
        trust.judge(false);
        assert_eq!(needs(&mut trust), TRUSTED_AFTER, "once in a while is no reason");
        trust.see(false);
        assert!(!trust.trusts(), "seen not to");
        (0..40).for_each(|_| trust.judge(false));
        assert_eq!(needs(&mut trust), LEAST_TRUSTED, "never for good");
    }
}
