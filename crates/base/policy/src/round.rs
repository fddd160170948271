//! Where a round of long transfers ends.

/// Which long transfers make a round: those that the program starts together and then waits for, with what is copied for them until it starts
/// something else. Were the wait the end of it, and some of them copied before and some after, the time from these to those would be
/// taken for that of a round.
#[derive(Debug, Default)]
pub struct Round {
    /// Something was transferred.
    begun: bool,
    /// The program has waited.
    waited: bool,
}

impl Round {
    /// Something long is transferred.
    #[inline]
    pub fn transfer(&mut self) {
        self.begun = true;
    }

    /// The program has waited for requests.
    #[inline]
    pub fn wait(&mut self) {
        self.waited = true;
    }

    /// Something long is started. True when a round ends by that; `alone`: it belongs to none that was begun before.
    #[inline]
    pub fn ends(&mut self, alone: bool) -> bool {
        let waited = core::mem::take(&mut self.waited);
        (waited || alone) && core::mem::take(&mut self.begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_while_the_program_waits_belongs_to_what_it_waits_for() {
        let mut round = Round::default();
        for iteration in 0..4 {
            // With neighbours: receives and sends, some of which are copied at once and some while it waits, for each by itself.
            assert_eq!(round.ends(false), iteration > 0);
            round.transfer();
            assert!(!round.ends(false));
            for _ in 0..3 {
                round.wait();
                round.transfer();
            }
        }
        for _ in 0..3 {
            assert!(round.ends(true), "each call by itself");
            round.transfer();
        }
        assert!(round.ends(true));
        assert!(!round.ends(true), "nothing was transferred");
    }
}
