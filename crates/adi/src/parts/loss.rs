//! Part of the engine: processes that cannot be reached any more, and whom that concerns.

use crate::{Members, Proc, UNKNOWN};
use std::collections::HashMap;

/// The lost ones.
#[derive(Default)]
pub struct Loss {
    /// Why each of them is lost.
    lost: HashMap<Proc, String>,
    /// Which processes take part in a context, if anybody knows.
    members: Option<Members>,
}

impl Loss {
    /// True while no process is lost.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.lost.is_empty()
    }

    /// Whether `peer` is lost.
    #[inline]
    pub fn has(&self, peer: Proc) -> bool {
        !self.lost.is_empty() && self.lost.contains_key(&peer)
    }

    /// `peer` is lost. False when that was known.
    pub fn note(&mut self, peer: Proc, why: &str) -> bool {
        self.lost.insert(peer, why.to_string()).is_none()
    }

    /// From now on it is known which processes take part in a context.
    pub fn know_members(&mut self, members: Members) {
        self.members = Some(members);
    }

    /// Why that process cannot be reached any more; `None` when it can.
    pub fn why(&self, peer: Proc) -> Option<&str> {
        self.lost.get(&peer).map(String::as_str)
    }

    /// The lost process without which a receive in `context` may never get a message: `from`, or for a wildcard any
    /// that takes part.
    pub fn hits(&self, from: Proc, context: u32) -> Option<Proc> {
        if from != UNKNOWN {
            return self.lost.contains_key(&from).then_some(from);
        }
        let member = |peer: &&Proc| self.members.as_ref().is_none_or(|members| members(context, **peer));
        self.lost.keys().find(member).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn a_loss_concerns_those_who_name_the_process_or_might_mean_it() {
        let mut loss = Loss::default();
        assert!(loss.is_none() && loss.hits(UNKNOWN, 0).is_none());
        assert!(loss.note(4, "its node is down") && !loss.note(4, "again"));
        assert!(loss.has(4) && !loss.has(5));
        assert_eq!((loss.hits(4, 0), loss.hits(5, 0)), (Some(4), None));
        assert_eq!(loss.hits(UNKNOWN, 0), Some(4), "nobody knows who takes part");
        loss.know_members(Rc::new(|context, peer| context == 7 && peer == 4));
        assert_eq!((loss.hits(UNKNOWN, 0), loss.hits(UNKNOWN, 7)), (None, Some(4)));
        assert_eq!((loss.why(4), loss.why(5)), (Some("again"), None));
    }
}
