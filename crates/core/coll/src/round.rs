//! What is started, and then goes on by itself.

use crate::operation::Operation;
use tern_adi::Adi;

/// What goes on with any progress, once or in one round after the other.
pub trait Round {
    /// Begins; it must not be active.
    fn start(&self, adi: &Adi);
    /// Does what can be done now; true when it is not active, or not any more.
    fn advance(&self, adi: &Adi) -> bool;
    fn is_done(&self) -> bool;
    /// Another number when it has got on.
    fn step(&self) -> usize;
}

impl Round for Operation {
    fn start(&self, _: &Adi) {
        Operation::start(self);
    }

    fn advance(&self, adi: &Adi) -> bool {
        let _together = adi.go_on_together(self.exchanges());
        Operation::advance(self, adi)
    }

    fn is_done(&self) -> bool {
        Operation::is_done(self)
    }

    fn step(&self) -> usize {
        Operation::step(self)
    }
}
