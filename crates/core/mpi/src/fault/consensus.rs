//! Agreement of processes of which some may die: a state machine without input or output.
//!
//! The caller gives each [`Agreement`] what happens (a message, a death) and sends the messages that it answers with. The machine relies on
//! three things: messages of a pair keep their order, every death is told to all living at last, and nobody is told dead who lives. Who lives and
//! answers no more has [left](Agreement::left): the others go on without it as without a dead one, but no decision counts it among the failed.
//!
//! The way follows Herault et al., "Practical scalable consensus for pseudo-synchronous distributed systems" (SC 2015). Contributions go up
//! a [tree](super::tree), the root decides, and the decision goes down, which takes two messages for each process but the root. A process whose
//! parent dies turns to the nearest living ancestor. When the root dies, the lowest living rank opens a new *ballot*, and everybody
//! contributes again, with the decision if there is one. Who has contributed to a ballot refuses decisions of earlier ones.
//!
//! A process keeps its machine after it has decided, because others may still need its answer. Where the value does not matter, it may drop the
//! machine and answer each contribution by a decision of the same ballot. Those who wait [ask](Agreement::ask) at each death then, because
//! whoever has dropped its machine contributes to no ballot.

use super::ranks::Ranks;
use super::tree::Place;
use crate::context::join_offers;
use std::rc::Rc;

#[cfg(test)]
mod tests;

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
    pub decided: Option<(usize, Rc<Decision>)>,
}

/// A message between two processes; the ballot is the rank of its root.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Message {
    Up(usize, Contribution),
    Down(usize, Rc<Decision>),
}

/// One process's part in one agreement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agreement {
    join: Join,
    place: Rc<Place>,
    /// Those that answer no more: they have died or left.
    dead: Ranks,
    /// Those of them that are known to have died.
    lost: Ranks,
    /// Value and acknowledged ranks, once the process has called.
    own: Option<(Vec<u8>, Ranks)>,
    ballot: usize,
    /// What has come to the ballot, until it is decided.
    gathered: Option<Contribution>,
    /// Who has sent a contribution to the ballot: children, and others that know of more deaths.
    heard: Ranks,
    /// Parent that has this process's contribution to the ballot.
    told: Option<usize>,
    decided: Option<(usize, Rc<Decision>)>,
}

impl Agreement {
    /// The part of a rank that has this place as long as all live. It may answer to nothing before [`Agreement::call`].
    pub fn new(place: Rc<Place>, join: Join) -> Self {
        Self {
            join,
            place,
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
    pub fn decision(&self) -> Option<&Rc<Decision>> {
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
        if rank != self.place.me {
            self.lost.insert(rank);
        }
        self.left(rank)
    }

    /// Rank `rank` answers no more, though it may live.
    pub fn left(&mut self, rank: usize) -> Vec<(usize, Message)> {
        if rank == self.place.me || self.dead.contains(rank) {
            return Vec::new();
        }
        self.dead.insert(rank);
        let now = Rc::new(self.place.tree.place(self.place.me, &self.dead));
        let before = std::mem::replace(&mut self.place, now);
        if self.told == Some(rank) {
            self.told = None;
        }
        self.enter(self.dead.lowest_missing());
        let mut out = self.advance();
        // A decision that was on its way through the dead process goes to those who have become children.
        if let Some((ballot, decision)) = self.decided_here() {
            let mut new = self.place.children.clone();
            new.subtract(&before.children);
            out.extend(new.iter().map(|child| (child, Message::Down(*ballot, decision.clone()))));
        }
        out
    }

    /// Contributions to all that live, from which those that have dropped their machines make an answer. Nothing once there is a decision.
    pub fn ask(&self) -> Vec<(usize, Message)> {
        if self.own.is_none() || self.decided.is_some() {
            return Vec::new();
        }
        let others = (0..self.place.tree.size).filter(|rank| *rank != self.place.me && !self.dead.contains(*rank));
        others.map(|rank| (rank, Message::Up(self.ballot, self.mine()))).collect()
    }

    /// `message` has come from `from`. What dead processes have left and what belongs to earlier ballots is dropped.
    pub fn receive(&mut self, from: usize, message: Message) -> Vec<(usize, Message)> {
        let ballot = match &message {
            Message::Up(ballot, _) | Message::Down(ballot, _) => *ballot,
        };
        if self.dead.contains(from) {
            return Vec::new();
        }
        // The root of a ballot has seen all lower ranks dead, or seen them leave.
        let mut out: Vec<_> = (0..ballot).flat_map(|rank| self.left(rank)).collect();
        if ballot < self.ballot {
            return out;
        }
        let more = match message {
            Message::Up(_, contribution) => match self.decided_here() {
                Some((_, decision)) => vec![(from, Message::Down(ballot, decision.clone()))],
                None => {
                    self.heard.insert(from);
                    self.gather(contribution);
                    self.advance()
                }
            },
            Message::Down(_, decision) => self.decide(decision),
        };
        if out.is_empty() {
            return more;
        }
        out.extend(more);
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
        let mut covered = Ranks::new();
        covered.insert(self.place.me);
        Contribution { value, failed: self.lost.clone(), acknowledged, covered, decided: self.decided.clone() }
    }

    fn gather(&mut self, more: Contribution) {
        let Some(all) = &mut self.gathered else {
            self.gathered = Some(more);
            return;
        };
        self.join.join(&mut all.value, &more.value);
        all.failed.extend(&more.failed);
        all.acknowledged.intersect(&more.acknowledged);
        all.covered.extend(&more.covered);
        if more.decided.as_ref().map(|d| d.0) > all.decided.as_ref().map(|d| d.0) {
            all.decided = more.decided;
        }
    }

    /// The decision of the current ballot, with the ballot.
    fn decided_here(&self) -> Option<&(usize, Rc<Decision>)> {
        self.decided.as_ref().filter(|(ballot, _)| *ballot == self.ballot)
    }

    /// Sends the contribution up, or decides, when all living of the subtree have contributed.
    fn advance(&mut self) -> Vec<(usize, Message)> {
        if self.own.is_none() || self.decided_here().is_some() {
            return Vec::new();
        }
        let Some(all) = self.gathered.take_if(|all| self.place.below.is_subset(&all.covered)) else {
            return Vec::new();
        };
        let Some(parent) = self.place.parent else {
            let Contribution { value, mut failed, acknowledged, decided, .. } = all;
            failed.extend(&self.lost);
            let unacknowledged = !failed.is_subset(&acknowledged);
            let new = || Rc::new(Decision { value, failed, unacknowledged });
            return self.decide(decided.map_or_else(new, |(_, decision)| decision));
        };
        let out = match self.told.replace(parent) == Some(parent) {
            true => Vec::new(),
            false => vec![(parent, Message::Up(self.ballot, all.clone()))],
        };
        self.gathered = Some(all);
        out
    }

    /// Takes the decision of the current ballot and passes it down, and to all who have asked, once.
    fn decide(&mut self, decision: Rc<Decision>) -> Vec<(usize, Message)> {
        if self.decided_here().is_some() {
            return Vec::new();
        }
        self.gathered = None;
        self.decided = Some((self.ballot, decision.clone()));
        let mut to = self.heard.clone();
        to.subtract(&self.dead);
        to.extend(&self.place.children);
        to.iter().map(|rank| (rank, Message::Down(self.ballot, decision.clone()))).collect()
    }
}
