//! Part of the engine: processes that cannot be reached any more, and whom that concerns.

use crate::{Concerned, Members, Proc, REVOKED, UNKNOWN};
use std::collections::HashMap;

/// The lost ones.
#[derive(Default)]
pub struct Loss {
    /// Why each of them is lost.
    lost: HashMap<Proc, String>,
    /// The same in the order in which that was learned.
    order: Vec<Proc>,
    /// Contexts in which nothing is received any more, a bit for each.
    ended: Vec<u64>,
    /// Those for which messages had left that will not arrive, and in which contexts the next call fails for that.
    untold: Vec<(Proc, Concerned)>,
    /// Which processes take part in a context, if anybody knows.
    members: Option<Members>,
    /// A process is lost or was, or a context has ended: one word for the path of short messages.
    any: bool,
    /// The job goes on without them: a receive with a wildcard goes on, and nobody fails for messages that have left.
    pub survives: bool,
}

impl Loss {
    /// True while no process is lost.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.lost.is_empty()
    }

    /// True while no process is lost, and something is received in `context`.
    #[inline]
    pub fn spares(&self, context: u32) -> bool {
        self.lost.is_empty() && !self.has_ended(context)
    }

    /// Who is lost for a send to `peer` in `context`: that one, or [`REVOKED`] where nothing is received in the context any more.
    #[inline]
    pub fn of_send(&self, peer: Proc, context: u32) -> Option<Proc> {
        if !self.any {
            return None;
        }
        let ended = self.has_ended(context).then_some(REVOKED);
        ended.or_else(|| self.has(peer).then_some(peer))
    }

    /// Nothing is received in `context` any more.
    pub fn end(&mut self, context: u32) {
        self.any = true;
        let word = context as usize / 64;
        if self.ended.len() <= word {
            self.ended.resize(word + 1, 0);
        }
        self.ended[word] |= 1 << (context % 64);
    }

    /// Whether nothing is received in `context` any more.
    #[inline]
    pub fn has_ended(&self, context: u32) -> bool {
        self.ended.get(context as usize / 64).is_some_and(|word| word >> (context % 64) & 1 != 0)
    }

    /// Whether `peer` is lost.
    #[inline]
    pub fn has(&self, peer: Proc) -> bool {
        !self.lost.is_empty() && self.lost.contains_key(&peer)
    }

    /// `peer` is lost. False when that was known.
    pub fn note(&mut self, peer: Proc, why: &str) -> bool {
        self.any = true;
        let is_new = self.lost.insert(peer, why.to_string()).is_none();
        if is_new {
            self.order.push(peer);
        }
        is_new
    }

    /// Messages had left for `peer`, which is lost, that will not arrive: the next call in one of these contexts is to fail for that.
    pub fn owe(&mut self, peer: Proc, concerned: Concerned) {
        if self.survives {
            return;
        }
        self.untold.push((peer, concerned));
    }

    /// A call fails because of `peer`.
    pub fn told(&mut self, peer: Proc) {
        self.untold.retain(|untold| untold.0 != peer);
    }

    /// For whom messages had left that will not arrive, if no call has failed for that.
    pub fn untold(&self) -> Option<Proc> {
        self.untold.first().map(|untold| untold.0)
    }

    /// The same, if that concerns this context.
    fn untold_in(&self, context: u32) -> Option<Proc> {
        self.untold.iter().find(|untold| untold.1(context)).map(|untold| untold.0)
    }

    /// From now on it is known which processes take part in a context.
    pub fn know_members(&mut self, members: Members) {
        self.members = Some(members);
    }

    /// Why that process cannot be reached any more; `None` when it can.
    pub fn why(&self, peer: Proc) -> Option<&str> {
        self.lost.get(&peer).map(String::as_str)
    }

    /// All lost processes, in the order in which that was learned.
    pub fn all(&self) -> &[Proc] {
        &self.order
    }

    /// The lost process without which a receive in `context` may never get a message: `from`, or for a wildcard any
    /// that takes part; [`REVOKED`] where the context has ended. Else one that a call in `context` is to fail for.
    pub fn hits(&self, from: Proc, context: u32) -> Option<Proc> {
        if self.has_ended(context) {
            return Some(REVOKED);
        }
        let untold = || self.untold_in(context);
        if from != UNKNOWN {
            return self.lost.contains_key(&from).then_some(from).or_else(untold);
        }
        let member = |peer: &&Proc| self.members.as_ref().is_none_or(|members| members(context, **peer));
        self.lost.keys().find(member).copied().or_else(untold)
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

    #[test]
    fn a_context_that_has_ended_concerns_its_own_receives() {
        let mut loss = Loss::default();
        [130, 4].into_iter().for_each(|context| loss.end(context));
        assert!(loss.is_none() && loss.spares(5) && !loss.spares(130) && loss.spares(u32::MAX));
        assert_eq!([4, 5, 130, 131].map(|context| loss.has_ended(context)), [true, false, true, false]);
        assert_eq!((loss.hits(UNKNOWN, 4), loss.hits(7, 6)), (Some(REVOKED), None));
    }

    #[test]
    fn what_will_not_arrive_concerns_one_call_of_whoever_meets_the_process() {
        let mut loss = Loss::default();
        loss.note(4, "its node is down");
        loss.owe(4, Rc::new(|context| context == 7));
        assert_eq!((loss.hits(5, 0), loss.hits(5, 7)), (None, Some(4)));
        loss.told(5);
        assert_eq!(loss.untold(), Some(4));
        loss.note(6, "its node is down");
        loss.owe(6, Rc::new(|context| context == 8));
        assert_eq!((loss.hits(5, 7), loss.hits(5, 8)), (Some(4), Some(6)), "one loss does not hide another");
        loss.told(4);
        loss.told(6);
        assert_eq!((loss.hits(5, 7), loss.untold()), (None, None));
    }
}
