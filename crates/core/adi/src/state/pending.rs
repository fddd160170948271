//! Composer: a list of what is under way, for people who wonder why nothing moves.

use super::State;
use crate::transfer::{EXPECTED, Side, Transfer};
use crate::{Pattern, Pending, PendingKind, Request, Tuple};
use std::collections::HashMap;

fn exactly(tuple: Tuple) -> Pattern {
    Pattern { context: tuple.context, source: tuple.source, tag: tuple.tag }
}

impl State {
    /// Sends first, then receives and messages, both by age.
    pub fn pending(&self) -> Vec<Pending> {
        let posted = self.matching.posted().into_iter().enumerate();
        // Those that have matched come first: they are the older ones.
        let posted: HashMap<u32, (usize, Pattern)> =
            posted.map(|(age, (request, pattern))| (request, (age + 1, pattern))).collect();
        let open = self.requests.numbered().filter(|(request, transfer)| *request != EXPECTED && !transfer.done);
        let mut all: Vec<_> = open
            .map(|(request, transfer)| {
                let (age, pattern) = posted.get(&request).copied().unzip();
                (age.unwrap_or(0), entry(request, transfer, pattern))
            })
            .collect();
        all.sort_by_key(|(age, entry)| (entry.what == PendingKind::Receive, *age));
        let mut all: Vec<Pending> = all.into_iter().map(|(_, entry)| entry).collect();
        all.extend(self.matching.kept().map(|(_, id, tuple)| {
            let arrival = self.unexpected.get(id);
            Pending {
                what: PendingKind::Message,
                request: None,
                named: false,
                peer: Some(arrival.from),
                pattern: Some(exactly(tuple)),
                bytes: arrival.size,
            }
        }));
        all
    }
}

/// A transfer; `posted` is what a receive asks for, if it is posted.
fn entry(request: u32, transfer: &Transfer, posted: Option<Pattern>) -> Pending {
    let (what, peer, pattern) = match &transfer.side {
        Side::Send { to, tuple, .. } => (PendingKind::Send, Some(*to), Some(exactly(*tuple))),
        Side::Receive { .. } => (PendingKind::Receive, None, posted),
    };
    Pending {
        what,
        request: Some(Request(request)),
        named: transfer.owner.is_some(),
        peer,
        pattern,
        bytes: transfer.data.len() as u64,
    }
}
