//! Composer: the context of a send, by which the policy chooses who copies. The context says whether the send blocks, and whether it is part of an
//! exchange.

use super::State;
use crate::Proc;
use tern_mcm::Then;
use tern_policy::Habit;
use tern_policy::offload::goes_beside;
use tern_policy::pair::Pair;

impl State {
    /// What the program does around a send of `len` bytes to `to`, of which `pair` tells.
    pub(super) fn habit(&self, to: Proc, pair: &Pair, len: usize, waits: bool) -> Habit {
        let exchanges = self.call_exchanges(to, len) || (!waits && self.exchanges_with(to, len));
        let beside = exchanges && goes_beside(pair, len, self.then(waits) == Then::Waits);
        Habit::of(exchanges && !beside, waits)
    }

    /// What the program does after the call that is under way, as far as it is known. `waits`: it waits for this transfer.
    pub(super) fn then(&self, waits: bool) -> Then {
        let waits = waits || self.call.waits || self.learned.habits.waits_at_once();
        if waits { Then::Waits } else { Then::Computes }
    }

    /// Whether the call that is under way exchanges messages of `len` bytes with `peer`.
    pub(super) fn call_exchanges(&self, peer: Proc, len: usize) -> bool {
        self.call.exchanges(len, || self.eager_limit(peer))
    }

    /// Whether the program most likely exchanges messages of `len` bytes with `peer`.
    pub(super) fn exchanges_with(&self, peer: Proc, len: usize) -> bool {
        self.learned.habits.exchanges_such(|| len <= self.eager_limit(peer))
    }
}
