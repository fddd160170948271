//! The account: what is paid once, and what each use saves then.
//!
//! The rule is that of frequently used buffers ("Improving RDMA-based MPI Eager Protocol for Frequently-used Buffers", 2009): what
//! costs R once, and then saves C for a look-up of V at each use, pays from the n-th use on when n > R / (C - V).

/// What was saved, or would have been, since the account was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    saved: u64,
}

impl Account {
    /// One use saves so much, in nanoseconds.
    #[inline]
    pub fn save(&mut self, nanoseconds: u32) {
        self.saved = self.saved.saturating_add(u64::from(nanoseconds));
    }

    /// Whether that comes to one part in `share` of `cost` nanoseconds.
    pub fn covers(self, cost: u64, share: u64) -> bool {
        self.saved.saturating_mul(share) >= cost
    }
}

/// The use from which on it pays to have spent `once`, if each use then saves `saved` and takes `look_up`: the least
/// n > R / (C - V). All in the same unit of time. `None`: it never pays.
pub fn break_even(once: f64, saved: f64, look_up: f64) -> Option<u32> {
    let gain = saved - look_up;
    let uses = once / gain;
    (gain > 0.0 && uses < f64::from(u32::MAX)).then(|| uses.max(0.0) as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_pays_when_what_was_saved_exceeds_what_was_spent() {
        assert_eq!(break_even(1000.0, 110.0, 10.0), Some(11));
        assert_eq!(break_even(1001.0, 110.0, 10.0), Some(11));
        assert_eq!(break_even(0.0, 110.0, 10.0), Some(1));
        assert_eq!(break_even(-5.0, 110.0, 10.0), Some(1));
        assert_eq!(break_even(1000.0, 10.0, 10.0), None, "nothing is gained");
        assert_eq!(break_even(1000.0, 9.0, 10.0), None);
        assert_eq!(break_even(1e12, 11.0, 10.0), None, "more uses than are counted");
    }

    #[test]
    fn an_account_covers_a_share_of_a_cost() {
        let mut account = Account::default();
        assert!(account.covers(0, 1) && !account.covers(1, 1000));
        (0..3).for_each(|_| account.save(100));
        assert!(account.covers(300, 1) && !account.covers(301, 1));
        assert!(account.covers(3000, 10) && !account.covers(3001, 10));
    }
}
