//! Who has a lock on one member's memory, where the members share no words: its owner decides, in the order
//! in which they ask.
//!
//! A plain state machine. `Who` is whatever the owner answers to.

use std::collections::VecDeque;

pub struct Turns<Who> {
    /// Somebody has it alone.
    alone: bool,
    /// So many share it.
    sharing: u32,
    waiting: VecDeque<(Who, bool)>,
}

impl<Who> Turns<Who> {
    pub fn new() -> Turns<Who> {
        Turns { alone: false, sharing: 0, waiting: VecDeque::new() }
    }

    fn is_free(&self, alone: bool) -> bool {
        !self.alone && (!alone || self.sharing == 0)
    }

    fn take(&mut self, alone: bool) {
        if alone { self.alone = true } else { self.sharing += 1 }
    }

    /// Somebody wants it; true if it is theirs now. Otherwise [`next`](Self::next) gives it to them some time.
    pub fn ask(&mut self, who: Who, alone: bool) -> bool {
        // Behind those that wait, or who wants it alone would wait for ever.
        let granted = self.waiting.is_empty() && self.is_free(alone);
        if granted {
            self.take(alone);
        } else {
            self.waiting.push_back((who, alone));
        }
        granted
    }

    /// Whether somebody has it, alone or shared.
    pub fn is_held(&self, alone: bool) -> bool {
        if alone { self.alone } else { self.sharing > 0 }
    }

    /// Somebody gives it up. Then [`next`](Self::next) is to be asked until it says nobody.
    pub fn give_up(&mut self, alone: bool) {
        if alone { self.alone = false } else { self.sharing -= 1 }
    }

    /// Who gets it now.
    pub fn next(&mut self) -> Option<Who> {
        let &(_, alone) = self.waiting.front()?;
        if !self.is_free(alone) {
            return None;
        }
        self.take(alone);
        self.waiting.pop_front().map(|(who, _)| who)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Nobody shares it with one who has it alone; all get it, in the order in which they asked.
        #[test]
        fn turns_are_taken_in_order(steps in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<prop::sample::Index>()), 0..200)) {
            let mut turns = Turns::new();
            let (mut holders, mut order, mut asked) = (Vec::<(usize, bool)>::new(), Vec::new(), Vec::new());
            let give_up = |turns: &mut Turns<usize>, holders: &mut Vec<(usize, bool)>, order: &mut Vec<usize>, asked: &[bool], at: usize| {
                let (_, alone) = holders.swap_remove(at);
                turns.give_up(alone);
                while let Some(who) = turns.next() {
                    holders.push((who, asked[who]));
                    order.push(who);
                }
            };
            for (ask, alone, index) in steps {
                if ask {
                    let who = asked.len();
                    asked.push(alone);
                    if turns.ask(who, alone) {
                        holders.push((who, alone));
                        order.push(who);
                    }
                } else if !holders.is_empty() {
                    let at = index.index(holders.len());
                    give_up(&mut turns, &mut holders, &mut order, &asked, at);
                }
                prop_assert!(holders.len() <= 1 || holders.iter().all(|(_, alone)| !alone));
            }
            while !holders.is_empty() {
                give_up(&mut turns, &mut holders, &mut order, &asked, 0);
            }
            prop_assert_eq!(order, (0..asked.len()).collect::<Vec<_>>());
        }
    }
}
