//! Composer: the context of a send, by which the policy chooses who copies. The context says whether the send blocks, and whether it is part of an
//! exchange.

use super::State;
use crate::Proc;
use tern_policy::Habit;

impl State {
    /// What the program does around a send of `len` bytes.
    pub(super) fn habit(&self, to: Proc, len: usize, waits: bool) -> Habit {
        Habit::of(self.call_exchanges(to, len) || (!waits && self.exchanges_with(to, len)), waits)
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
