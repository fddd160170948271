//! Part of the engine: what to do about a transfer that is to be cancelled (MPI 5.0 section 3.8.4). Nothing is kept for that.

use crate::matching::EntryId;
use crate::transfer::{Side, Transfer};
use crate::{Proc, Tuple};

/// What follows from a wish to cancel a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// Nothing: it is over, or its message has matched.
    Late,
    /// The receive is to be taken back from its sender's sight, and then out of matching.
    Recall(EntryId),
    /// The message is this process's own: it is cancelled if no receive has matched it.
    Own(Tuple),
    /// The receiver is asked to give the message back.
    Ask(Proc, Tuple),
}

impl Cancellation {
    /// The wish to cancel `transfer` of process `me`.
    pub fn of(transfer: &Transfer, me: Proc) -> Cancellation {
        match transfer.side {
            _ if transfer.done => Cancellation::Late,
            Side::Receive { place: Some(place), .. } => Cancellation::Recall(place),
            Side::Receive { .. } => Cancellation::Late,
            Side::Send { to, tuple, .. } if to == me => Cancellation::Own(tuple),
            Side::Send { to, tuple, .. } => Cancellation::Ask(to, tuple),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;

    #[test]
    fn what_is_over_or_matched_is_not_cancelled() {
        let tuple = Tuple { context: 1, source: 0, tag: 2 };
        let send = |to| Transfer::new(Data::none(), Side::Send { to, tuple, awaits_match: false, unsent: true });
        assert_eq!(Cancellation::of(&send(3), 3), Cancellation::Own(tuple));
        assert_eq!(Cancellation::of(&send(4), 3), Cancellation::Ask(4, tuple));
        assert_eq!(Cancellation::of(&Transfer { done: true, ..send(4) }, 3), Cancellation::Late);
        let mut receive = Transfer::new(Data::none(), Side::receive(4));
        assert_eq!(Cancellation::of(&receive, 3), Cancellation::Late, "its message has matched");
        let mut matching = crate::matching::Matching::new();
        let posted = matching.post(crate::Pattern { context: 1, source: 0, tag: 2 }, 7);
        if let Side::Receive { place, .. } = &mut receive.side {
            *place = Some(posted);
        }
        assert_eq!(Cancellation::of(&receive, 3), Cancellation::Recall(posted));
    }
}
