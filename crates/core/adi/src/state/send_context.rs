//! Composer: the context of a send, by which the policy chooses who copies. The context says whether the send blocks, and whether it is part of an
//! exchange.

use super::State;
use crate::Proc;
use tern_policy::Pattern;

impl State {
    /// What the program does around a send of `len` bytes.
    pub(super) fn pattern(&self, to: Proc, len: usize, waits: bool) -> Pattern {
        let exchanged = self.call_exchanges(to, len) || (!waits && self.exchanges_with(to, len));
        match exchanged {
            true => Pattern::Exchange,
            false if waits => Pattern::Plain,
            false => Pattern::Left,
        }
    }

    /// Whether the call that is under way exchanges messages of `len` bytes with `peer`.
    pub(super) fn call_exchanges(&self, peer: Proc, len: usize) -> bool {
        self.call.exchanges(len, || self.eager_limit(peer))
    }

    /// Whether the program most likely exchanges messages of `len` bytes with `peer`. Where it computes before it waits, long ones had better
    /// be copied while the other side computes; of shorter ones the copy takes less than what it costs to write to memory that the other
    /// core has in its cache: on a Xeon 8 to 64 KiB that are written anew cost either side 1.2 to 6.4 us so, else 2.3 to 8.5.
    pub(super) fn exchanges_with(&self, peer: Proc, len: usize) -> bool {
        self.learned.habits.exchanges()
            || (len <= self.eager_limit(peer) && self.learned.habits.exchanges_and_computes())
    }
}
