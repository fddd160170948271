//! Composer: a message of an irregular datatype is a region of segments of its sender's, which the receiver copies out of. The region is open until the
//! send is over, as memory that a peer has a key to. An irregular receive copies so out of other memory that it sees.

use super::Wanted;
use crate::state::State;
use crate::{Data, Proc};
use tern_mcm::{Exposure, Memory, Pull, PullTo};

impl State {
    /// Opens a region of a message, which lies within `span`. `None`: there is no room for one.
    pub(in crate::state) fn open_region(&self, to: Proc, data: &Data, span: &Memory) -> Option<Memory> {
        self.direct().expose(span, Exposure::Segments(to, &data.runs(data.len() as u64)))
    }

    /// Copies the message out of its region, or out of the memory that the request has told, into whatever blocks the receive has. False if that
    /// is not possible.
    pub(super) fn copy_segments(&mut self, wanted: &Wanted) -> bool {
        self.learned.transfer();
        let target = self.requests.get(wanted.request).data.runs(wanted.bytes);
        let done = self.direct().pull(wanted.from, &wanted.source, PullTo::Runs(&target)) == Pull::Done;
        if done {
            self.end_copied(wanted);
        }
        done
    }
}
