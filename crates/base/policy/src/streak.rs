//! The streak: what has been so several times in a row will most likely be so again.

/// How often something was so in a row, and how often is enough to count on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streak {
    count: u32,
    enough: u32,
}

impl Streak {
    /// One that `enough` times make; nothing was seen yet.
    pub const fn of(enough: u32) -> Streak {
        Streak { count: 0, enough }
    }

    /// It was so once more, or it was not.
    #[inline]
    pub fn note(&mut self, so: bool) {
        self.count = if so { self.count.saturating_add(1).min(self.enough) } else { 0 };
    }

    /// Whether it has been so often enough.
    #[inline]
    pub fn holds(self) -> bool {
        self.count >= self.enough
    }

    /// How many times in a row are enough.
    pub fn enough(self) -> u32 {
        self.enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_after_enough_in_a_row_and_until_it_breaks() {
        let mut streak = Streak::of(3);
        let seen = [true, true, false, true, true, true, true, false, true];
        let holds = seen.map(|so| {
            streak.note(so);
            streak.holds()
        });
        assert_eq!(holds, [false, false, false, false, false, true, true, false, false]);
    }

    #[test]
    fn it_never_overflows() {
        let mut streak = Streak::of(u32::MAX);
        streak.count = u32::MAX - 1;
        streak.note(true);
        assert!(streak.holds());
        streak.note(true);
        assert!(streak.holds());
    }
}
