//! Who has a lock on one member's memory, where the members share no words: its owner decides, in the order
//! in which they ask.
//!
//! A plain state machine. `Who` is whatever the owner answers to.

use std::collections::VecDeque;

/// A request for the lock, or the lock itself.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Turn<Who> {
    /// The rank of whose it is.
    origin: u32,
    who: Who,
    alone: bool,
}

pub struct Turns<Who> {
    /// The rank of who has it alone.
    alone: Option<u32>,
    /// The ranks of those that share it.
    sharing: Vec<u32>,
    waiting: VecDeque<Turn<Who>>,
}

impl<Who> Turns<Who> {
    pub fn new() -> Turns<Who> {
        Turns { alone: None, sharing: Vec::new(), waiting: VecDeque::new() }
    }

    fn is_free(&self, alone: bool) -> bool {
        self.alone.is_none() && (!alone || self.sharing.is_empty())
    }

    fn take(&mut self, origin: u32, alone: bool) {
        if alone { self.alone = Some(origin) } else { self.sharing.push(origin) }
    }

    /// `origin` wants it; true if it is theirs now. Otherwise [`next`](Self::next) gives it to them some time.
    pub fn ask(&mut self, origin: u32, who: Who, alone: bool) -> bool {
        // Behind those that wait, or who wants it alone would wait for ever.
        let granted = self.waiting.is_empty() && self.is_free(alone);
        if granted {
            self.take(origin, alone);
        } else {
            self.waiting.push_back(Turn { origin, who, alone });
        }
        granted
    }

    /// `origin` gives it up. Then [`next`](Self::next) is to be asked until it says nobody. False: it does not have it.
    pub fn give_up(&mut self, origin: u32, alone: bool) -> bool {
        if alone {
            return self.alone.take_if(|has| *has == origin).is_some();
        }
        let at = self.sharing.iter().position(|&has| has == origin);
        at.map(|at| self.sharing.swap_remove(at)).is_some()
    }

    /// `origin` is lost: it has nothing and waits for nothing any more. True where that changes something; then [`next`](Self::next) is to be asked.
    pub fn lose(&mut self, origin: u32) -> bool {
        let before = (self.alone, self.sharing.len(), self.waiting.len());
        self.alone.take_if(|has| *has == origin);
        self.sharing.retain(|has| *has != origin);
        self.waiting.retain(|turn| turn.origin != origin);
        before != (self.alone, self.sharing.len(), self.waiting.len())
    }

    /// Who gets it now.
    pub fn next(&mut self) -> Option<Who> {
        let &Turn { origin, alone, .. } = self.waiting.front()?;
        if !self.is_free(alone) {
            return None;
        }
        self.take(origin, alone);
        self.waiting.pop_front().map(|turn| turn.who)
    }

    /// Whether a request of `origin` waits.
    pub fn awaits(&self, origin: u32) -> bool {
        self.waiting.iter().any(|turn| turn.origin == origin)
    }

    /// The ranks of those that have it, and whether it is one that has it alone.
    pub fn holders(&self) -> (&[u32], bool) {
        (self.alone.as_ref().map_or(&self.sharing[..], std::slice::from_ref), self.alone.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn who_is_lost_holds_up_nobody() {
        let mut turns = Turns::new();
        assert!(turns.ask(0, 'a', true) && !turns.ask(1, 'b', true) && !turns.ask(2, 'c', false));
        assert!(turns.lose(1) && !turns.lose(1));
        assert_eq!(turns.next(), None, "another one has it");
        assert!(turns.lose(0));
        assert_eq!((turns.next(), turns.next()), (Some('c'), None));
        assert!(turns.ask(3, 'd', false) && turns.ask(3, 'e', false) && !turns.ask(4, 'f', true));
        assert!(turns.lose(3) && turns.lose(2));
        assert_eq!(turns.next(), Some('f'));
    }

    proptest! {
        /// Nobody shares it with one who has it alone; all get it, in the order in which they asked.
        #[test]
        fn turns_are_taken_in_order(steps in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<prop::sample::Index>()), 0..200)) {
            let mut turns = Turns::new();
            let (mut holders, mut order, mut asked) = (Vec::<(usize, bool)>::new(), Vec::new(), Vec::new());
            let give_up = |turns: &mut Turns<usize>, holders: &mut Vec<(usize, bool)>, order: &mut Vec<usize>, asked: &[bool], at: usize| {
                let (who, alone) = holders.swap_remove(at);
                assert!(turns.give_up(who as u32, alone) && !turns.give_up(who as u32, alone));
                while let Some(who) = turns.next() {
                    holders.push((who, asked[who]));
                    order.push(who);
                }
            };
            for (ask, alone, index) in steps {
                if ask {
                    let who = asked.len();
                    asked.push(alone);
                    if turns.ask(who as u32, who, alone) {
                        holders.push((who, alone));
                        order.push(who);
                    }
                    prop_assert!(turns.awaits(who as u32) != order.contains(&who));
                } else if !holders.is_empty() {
                    let at = index.index(holders.len());
                    give_up(&mut turns, &mut holders, &mut order, &asked, at);
                }
                prop_assert!(holders.len() <= 1 || holders.iter().all(|(_, alone)| !alone));
                let (ranks, alone) = turns.holders();
                let (mut ranks, mut known) = (ranks.to_vec(), holders.iter().map(|(who, _)| *who as u32).collect::<Vec<_>>());
                ranks.sort_unstable();
                known.sort_unstable();
                prop_assert_eq!((ranks, alone), (known, holders.iter().any(|(_, alone)| *alone)));
            }
            while !holders.is_empty() {
                give_up(&mut turns, &mut holders, &mut order, &asked, 0);
            }
            prop_assert_eq!(order, (0..asked.len()).collect::<Vec<_>>());
        }
    }
}
