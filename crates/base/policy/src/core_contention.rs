//! Whether a waiting process may yield its core: the rule `strangers`.
//!
//! To ranks that wait too a yield costs a microsecond. But a process that has nothing to do with the job keeps the core for a turn of the
//! scheduler, which is milliseconds. Who yields gives up its own turn, so a rank that yields in each wait gets next to nothing of a core that it
//! shares so. One that sleeps is let on when it is woken. So a yield is timed. A long one may take more than this process has used its core for
//! since the last one. Then more of the waits to come sleep at once, before one yields again to see whether it still is so; else fewer.
//!
//! Another rank that computes keeps the core for long too. But then this one has mostly computed before, and there are many
//! short waits after it, which had better yield. And where many ranks share a core, each of which copies a little in its turn, a
//! yield takes as long as all of them: so what is long counts by how many there are.

use crate::rules;
use core::cell::Cell;

const LONG: u64 = CoreContention::LONG;
/// Yields at most that sleeps take the place of after a long one.
const SKIPS: u32 = 1024;
/// Ticks of a long yield to each nanosecond of use of the core, for each of those who share it: about twice as long as that.
const SHARE: u64 = 4;

/// What this process has seen of others on its cores. Ticks are those of a processor's clock, two to four in a nanosecond.
#[derive(Debug, Default)]
pub struct CoreContention {
    /// So many yields are left out.
    skip: Cell<u32>,
    /// Left out after the last long one.
    last: Cell<u32>,
    /// Nanoseconds for which this thread had used a core by then.
    used: Cell<u64>,
}

impl CoreContention {
    /// Ticks from which on a yield was long, for each of those who share the core: about a millisecond. Shorter ones are those of ranks
    /// that wait, or copy.
    pub const LONG: u64 = 1 << 21;

    /// True while yields are left out.
    #[inline]
    pub fn is_seen(&self) -> bool {
        self.skip.get() > 0
    }

    /// Whether to yield now. False: sleep instead.
    #[inline]
    pub fn allow_yield(&self) -> bool {
        let skip = self.skip.get();
        self.skip.set(skip.saturating_sub(1));
        skip == 0
    }

    /// A yield has taken so many ticks. `used` says for how many nanoseconds this thread has used a core in all, and `sharers` how many ranks share a core
    /// that are awake, this one counted; both are asked after a long yield alone.
    #[inline]
    pub fn note(&self, took: u64, used: impl FnOnce() -> u64, sharers: impl FnOnce() -> u32) {
        if took >= LONG {
            self.note_long(took, used(), sharers());
        }
    }

    /// Perhaps a long one.
    #[cold]
    fn note_long(&self, took: u64, used: u64, sharers: u32) {
        let each = took / u64::from(sharers.max(1));
        if each < LONG {
            return;
        }
        let own = used.saturating_sub(self.used.replace(used));
        let last = self.last.get();
        let too_long = each > SHARE * own && rules::STRANGERS.applies();
        self.last.set(if too_long { (2 * last).clamp(1, SKIPS) } else { last / 2 });
        self.skip.set(if too_long { self.last.get() } else { 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nanoseconds that a wait uses a core for.
    const WAIT: u64 = 3000;

    /// Waits so often, of which each would yield once; `takes` says how long the yield of that number takes, in ticks, and
    /// `computes` for how long the process computes before that wait, in nanoseconds. Returns the yields, and the ticks of
    /// the long ones.
    fn wait(
        contention: &CoreContention, waits: u32, takes: impl Fn(u32) -> u64, computes: impl Fn(u32) -> u64,
    ) -> (u32, u64) {
        wait_among(1, contention, waits, takes, computes)
    }

    /// The same where so many ranks share the core.
    fn wait_among(
        sharers: u32, contention: &CoreContention, waits: u32, takes: impl Fn(u32) -> u64,
        computes: impl Fn(u32) -> u64,
    ) -> (u32, u64) {
        let (mut yields, mut ticks, mut used) = (0, 0, contention.used.get());
        for at in 0..waits {
            used += WAIT + computes(at);
            if contention.allow_yield() {
                let took = takes(yields);
                contention.note(took, || used, || sharers);
                ticks += if took >= LONG { took } else { 0 };
                yields += 1;
            }
        }
        (yields, ticks)
    }

    #[test]
    fn who_shares_its_core_with_a_stranger_sleeps() {
        let most = 3 * SHARE * 100_000 * WAIT;
        let (yields, ticks) = wait(&CoreContention::default(), 100_000, |_| 4 * LONG, |_| 0);
        assert!(yields < 400 && ticks < most, "{yields}, {ticks}");
        let (yields, ticks) = wait(&CoreContention::default(), 100_000, |_| 40 * LONG, |_| 0);
        assert!(yields < 130, "{yields}, {ticks}");
        // Where another rank has the core in between.
        let (yields, ticks) =
            wait(&CoreContention::default(), 100_000, |at| u64::from(at.is_multiple_of(30)) * 4 * LONG, |_| 0);
        assert!(yields < 20_000 && ticks < most, "{yields}, {ticks}");
    }

    #[test]
    fn ranks_among_themselves_yield() {
        assert_eq!(wait(&CoreContention::default(), 100_000, |_| LONG - 1, |_| 0).0, 100_000);
        // All compute, and then wait for each other some times; the first wait lasts until another one has computed.
        let (turn, compute) = (50, 2 * LONG / SHARE);
        let takes = |at: u32| u64::from(at.is_multiple_of(turn)) * 2 * LONG;
        let computes = |at: u32| u64::from(at.is_multiple_of(turn)) * compute;
        assert_eq!(wait(&CoreContention::default(), 100_000, takes, computes).0, 100_000);
    }

    #[test]
    fn many_ranks_on_a_core_that_copy_in_turn_yield() {
        // Each copies for half of the time that would be long for one, and then waits for the other seven.
        let copies = LONG / 2;
        let nanoseconds = copies / 2;
        let yields = wait_among(8, &CoreContention::default(), 10_000, |_| 7 * copies, |_| nanoseconds).0;
        assert_eq!(yields, 10_000);
        // A stranger among them.
        let yields = wait_among(8, &CoreContention::default(), 10_000, |_| 8 * 4 * LONG, |_| 0).0;
        assert!(yields < 1000, "{yields}");
    }

    #[test]
    fn when_strangers_have_gone_ranks_yield_again() {
        let contention = CoreContention::default();
        wait(&contention, 10_000, |_| 100 * LONG, |_| 0);
        assert!(contention.last.get() == SKIPS);
        let (yields, _) = wait(&contention, 10_000, |_| 0, |_| 0);
        assert!(yields >= 10_000 - SKIPS, "{yields}");
        assert!(!contention.is_seen());
    }
}
