//! Agreement of processes of which some may die: a state machine without input or output.
//!
//! The caller gives each [`Agreement`] what happens (a message, a death) and sends the messages that it answers with. The machine relies on
//! three things: messages of a pair keep their order, every death is told to all living at last, and nobody is told dead who lives. Who lives and
//! answers no more has [left](Agreement::left): the others go on without it as without a dead one, but no decision counts it among the failed.
//!
//! The way follows Herault et al., "Practical scalable consensus for pseudo-synchronous distributed systems" (SC 2015). Contributions go up
//! a binary tree, the root decides, and the decision goes down, which takes two messages for each process but the root. A process whose
//! parent dies turns to the nearest living ancestor. When the root dies, the lowest living rank opens a new *ballot*, and everybody
//! contributes again, with the decision if there is one. Who has contributed to a ballot refuses decisions of earlier ones.
//!
//! A process keeps its machine after it has decided, because others may still need its answer. Where the value does not matter, it may drop the
//! machine and answer each contribution by a decision of the same ballot. Those who wait [ask](Agreement::ask) at each death then, because
//! whoever has dropped its machine contributes to no ballot.

use crate::context::join_offers;
use std::collections::BTreeSet;

#[cfg(test)]
mod tests;

/// Ranks in the group that agrees.
pub type Ranks = BTreeSet<usize>;

/// How values are joined, in whatever order and as often as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Join {
    /// There are none.
    Nothing,
    /// Bitwise AND.
    And,
    /// Offers of context ids.
    Offers,
}

impl Join {
    fn join(self, all: &mut Vec<u8>, more: &[u8]) {
        match self {
            Join::Nothing => {}
            Join::And => all.iter_mut().zip(more).for_each(|(a, b)| *a &= b),
            Join::Offers => join_offers(all, more),
        }
    }
}

/// What all living processes get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Decision {
    /// The values of all who contributed, joined.
    pub value: Vec<u8>,
    /// Dead processes that a contributor or the root knew of.
    pub failed: Ranks,
    /// Whether a contributor had not acknowledged all of `failed`, which makes the call an error at all.
    pub unacknowledged: bool,
}

/// What a process, or a subtree, brings to a ballot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Contribution {
    pub value: Vec<u8>,
    pub failed: Ranks,
    pub acknowledged: Ranks,
    /// Whose contributions these are.
    pub covered: Ranks,
    /// A decision of an earlier ballot, with the ballot.
    pub decided: Option<(usize, Decision)>,
}

/// A message between two processes; the ballot is the rank of its root.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Message {
    Up(usize, Contribution),
    Down(usize, Decision),
}

/// One process's part in one agreement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agreement {
    join: Join,
    me: usize,
    size: usize,
    /// Those that answer no more: they have died or left.
    dead: Ranks,
    /// Those of them that are known to have died.
    lost: Ranks,
    /// Value and acknowledged ranks, once the process has called.
    own: Option<(Vec<u8>, Ranks)>,
    ballot: usize,
    gathered: Option<Contribution>,
    /// Who has sent a contribution to the ballot: children, and others that know of more deaths.
    heard: Ranks,
    /// Parent that has this process's contribution to the ballot.
    told: Option<usize>,
    decided: Option<(usize, Decision)>,
}

impl Agreement {
    /// The part of rank `me` among `size`, which may answer to nothing before [`Agreement::call`].
    pub fn new(me: usize, size: usize, join: Join) -> Self {
        assert!(me < size);
        Self {
            join,
            me,
            size,
            dead: Ranks::new(),
            lost: Ranks::new(),
            own: None,
            ballot: 0,
            gathered: None,
            heard: Ranks::new(),
            told: None,
            decided: None,
        }
    }

    /// The decision, once there is one.
    pub fn decision(&self) -> Option<&Decision> {
        self.decided.as_ref().map(|(_, decision)| decision)
    }

    /// The process contributes `value`, and the failed ranks that it has acknowledged. Returns messages with their destinations.
    pub fn call(&mut self, value: Vec<u8>, acknowledged: Ranks) -> Vec<(usize, Message)> {
        assert!(self.own.is_none(), "a process contributes once");
        self.own = Some((value, acknowledged));
        let mine = self.mine();
        self.gather(mine);
        self.advance()
    }

    /// Rank `rank` has died.
    pub fn died(&mut self, rank: usize) -> Vec<(usize, Message)> {
        if rank != self.me {
            self.lost.insert(rank);
        }
        self.left(rank)
    }

    /// Rank `rank` answers no more, though it may live.
    pub fn left(&mut self, rank: usize) -> Vec<(usize, Message)> {
        let before = self.children();
        if rank == self.me || !self.dead.insert(rank) {
            return Vec::new();
        }
        if self.told == Some(rank) {
            self.told = None;
        }
        let lowest = (0..self.size).find(|r| !self.dead.contains(r)).expect("this process lives");
        self.enter(lowest);
        let mut out = self.advance();
        // A decision that was on its way through the dead process goes to those who have become children.
        if let Some((ballot, decision)) = self.decided.clone().filter(|(ballot, _)| *ballot == self.ballot) {
            let new = self.children().into_iter().filter(|child| !before.contains(child));
            out.extend(new.map(|child| (child, Message::Down(ballot, decision.clone()))));
        }
        out
    }

    /// Contributions to all that live, from which those that have dropped their machines make an answer. Nothing once there is a decision.
    pub fn ask(&self) -> Vec<(usize, Message)> {
        if self.own.is_none() || self.decided.is_some() {
            return Vec::new();
        }
        let others = (0..self.size).filter(|rank| *rank != self.me && !self.dead.contains(rank));
        others.map(|rank| (rank, Message::Up(self.ballot, self.mine()))).collect()
    }

    /// `message` has come from `from`. What dead processes have left and what belongs to earlier ballots is dropped.
    pub fn receive(&mut self, from: usize, message: Message) -> Vec<(usize, Message)> {
        let ballot = match &message {
            Message::Up(ballot, _) | Message::Down(ballot, _) => *ballot,
        };
        if self.dead.contains(&from) {
            return Vec::new();
        }
        // The root of a ballot has seen all lower ranks dead, or seen them leave.
        let mut out: Vec<_> = (0..ballot).flat_map(|rank| self.left(rank)).collect();
        if ballot < self.ballot {
            return out;
        }
        match message {
            Message::Up(_, contribution) => match &self.decided {
                Some((at, decision)) if *at == ballot => out.push((from, Message::Down(ballot, decision.clone()))),
                _ => {
                    self.heard.insert(from);
                    self.gather(contribution);
                    out.extend(self.advance());
                }
            },
            Message::Down(_, decision) => out.extend(self.decide(decision)),
        }
        out
    }

    fn enter(&mut self, ballot: usize) {
        if ballot > self.ballot {
            self.ballot = ballot;
            self.gathered = None;
            self.heard.clear();
            self.told = None;
            if self.own.is_some() {
                let mine = self.mine();
                self.gather(mine);
            }
        }
    }

    fn mine(&self) -> Contribution {
        let (value, acknowledged) = self.own.clone().expect("the process has called");
        let covered = Ranks::from([self.me]);
        Contribution { value, failed: self.lost.clone(), acknowledged, covered, decided: self.decided.clone() }
    }

    fn gather(&mut self, more: Contribution) {
        let Some(all) = &mut self.gathered else {
            self.gathered = Some(more);
            return;
        };
        self.join.join(&mut all.value, &more.value);
        all.failed.extend(more.failed);
        all.acknowledged.retain(|rank| more.acknowledged.contains(rank));
        all.covered.extend(more.covered);
        if more.decided.as_ref().map(|d| d.0) > all.decided.as_ref().map(|d| d.0) {
            all.decided = more.decided;
        }
    }

    /// Sends the contribution up, or decides, when all living of the subtree have contributed.
    fn advance(&mut self) -> Vec<(usize, Message)> {
        let decided_here = self.decided.as_ref().is_some_and(|(ballot, _)| *ballot == self.ballot);
        let Some(all) = self.gathered.as_ref().filter(|_| self.own.is_some() && !decided_here) else {
            return Vec::new();
        };
        let waits = |rank: &usize| !self.dead.contains(rank) && !all.covered.contains(rank) && self.is_below(*rank);
        if (0..self.size).any(|rank| waits(&rank)) {
            return Vec::new();
        }
        let Some(parent) = self.parent(self.me) else {
            let mut failed = all.failed.clone();
            failed.extend(self.lost.iter().copied());
            let unacknowledged = !failed.is_subset(&all.acknowledged);
            let new = Decision { value: all.value.clone(), failed, unacknowledged };
            let decision = all.decided.clone().map_or(new, |(_, decision)| decision);
            return self.decide(decision);
        };
        if self.told == Some(parent) {
            return Vec::new();
        }
        self.told = Some(parent);
        vec![(parent, Message::Up(self.ballot, all.clone()))]
    }

    /// Takes the decision of the current ballot and passes it down, and to all who have asked, once.
    fn decide(&mut self, decision: Decision) -> Vec<(usize, Message)> {
        if self.decided.as_ref().is_some_and(|(ballot, _)| *ballot == self.ballot) {
            return Vec::new();
        }
        self.decided = Some((self.ballot, decision.clone()));
        let mut to: Ranks = self.children().into_iter().collect();
        to.extend(self.heard.iter().filter(|rank| !self.dead.contains(rank)));
        to.into_iter().map(|rank| (rank, Message::Down(self.ballot, decision.clone()))).collect()
    }

    /// Nearest living ancestor of `rank`, else the lowest living rank; `None` for that rank itself.
    fn parent(&self, rank: usize) -> Option<usize> {
        let ancestors = std::iter::successors(Some(rank), |r| r.checked_sub(1).map(|r| r / 2)).skip(1);
        let living = ancestors.into_iter().find(|r| !self.dead.contains(r));
        living.or_else(|| (0..self.size).find(|r| !self.dead.contains(r)).filter(|&lowest| lowest != rank))
    }

    fn children(&self) -> Vec<usize> {
        (0..self.size).filter(|&r| r != self.me && !self.dead.contains(&r) && self.parent(r) == Some(self.me)).collect()
    }

    /// Whether `rank` contributes by this process.
    fn is_below(&self, rank: usize) -> bool {
        std::iter::successors(Some(rank), |&r| self.parent(r)).any(|r| r == self.me)
    }
}
