//! Composer: the kernel copies for the receiver, alone (CMA): between private memories, where the sender had better not take part.

use super::Wanted;
use crate::state::State;
use tern_mcm::{Pull, PullTo};

impl State {
    /// Has the kernel copy the message into its place. False if it cannot.
    pub(super) fn get_by_kernel(&mut self, wanted: &Wanted) -> bool {
        let target = self.requests.get(wanted.request).data.memory();
        let done = self.direct().pull(wanted.from, &wanted.source, PullTo::ByKernel(&target)) == Pull::Done;
        if done {
            self.end_copied(wanted);
        }
        done
    }
}
