//! Whether a peer that was seen to be ready several times is predicted to be: the rule `expect-ready`.

use crate::rules;
use crate::streak::Streak;

/// Messages in a row for which a peer was seen to be ready, after which the next ones go unseen: at first, and at most.
const PREDICTED_AFTER: u32 = 16;
const LEAST_PREDICTED: u32 = 1 << 16;
/// A peer that was rightly predicted so often is predicted again soon.
const WELL_KNOWN: u32 = 64;
/// Looks at everything by one that waits until its message is fetched, of a receiver that waits as well. In the caches and beyond, 64 KiB
/// take some hundred.
const IN_TIME: u32 = 1000;

/// Whether a peer is going to wait for what is sent to it. To see it takes a line from its cache, 0.3 us of a message of 16 KiB on an Intel
/// Xeon with what there is to wait for it.
#[derive(Clone, Copy, Debug)]
pub struct ReadyPredictor {
    /// It was seen to be ready.
    seen: Streak,
    /// Messages for which it was, as predicted.
    right: u32,
}

impl Default for ReadyPredictor {
    fn default() -> ReadyPredictor {
        ReadyPredictor { seen: Streak::of(PREDICTED_AFTER), right: 0 }
    }
}

impl ReadyPredictor {
    /// Whether it was seen to be ready so often that it is taken to be.
    pub fn predicts(self) -> bool {
        self.seen.holds() && rules::EXPECT_READY.applies()
    }

    /// A look has shown whether it is ready.
    pub fn see(&mut self, ready: bool) {
        self.seen.note(ready);
    }

    /// Whether one that waits has got its message after so many looks at everything of its sender's.
    pub fn is_in_time(looks: u32) -> bool {
        looks <= IN_TIME
    }

    /// Whether it waited as predicted. If not, its sender was held up, which must not come often.
    pub fn judge(&mut self, waited: bool) {
        if waited {
            self.right = self.right.saturating_add(1);
            return;
        }
        let enough =
            if self.right < WELL_KNOWN { (2 * self.seen.enough()).min(LEAST_PREDICTED) } else { PREDICTED_AFTER };
        *self = ReadyPredictor { seen: Streak::of(enough), right: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times in a row that one has to be seen to wait.
    fn needs(predictor: &mut ReadyPredictor) -> u32 {
        (0..)
            .find(|_| {
                predictor.predicts() || {
                    predictor.see(true);
                    false
                }
            })
            .expect("it comes")
    }

    #[test]
    fn a_peer_is_predicted_to_wait_until_it_holds_a_sender_up() {
        let mut predictor = ReadyPredictor::default();
        for round in 0..4 {
            assert_eq!(needs(&mut predictor), PREDICTED_AFTER << round);
            predictor.judge(false);
        }
        assert_eq!(needs(&mut predictor), PREDICTED_AFTER << 4);
        (0..WELL_KNOWN).for_each(|_| predictor.judge(true));
        predictor.judge(false);
        assert_eq!(needs(&mut predictor), PREDICTED_AFTER, "once in a while is no reason");
        predictor.see(false);
        assert!(!predictor.predicts(), "seen not to");
        (0..40).for_each(|_| predictor.judge(false));
        assert_eq!(needs(&mut predictor), LEAST_PREDICTED, "never for good");
    }
}
