//! An exchange for making what all members must have, such as a window: either a member gets what all have given, or it
//! learns that one is lost, and no member waits for one that has given up.
//!
//! Contributions go up a tree and all of them down again. What does not come leaves a hole, which goes along to
//! all who are below. A member that has a hole, and calls this no more, is missed in the next exchange only by
//! members that have a hole too, or have lost it: for both ways, and each call, the tree is the same.

use crate::group::{Group, Member};
use crate::operation::{Failure, run_for_data};
use crate::schedule::{Builder, Schedule};
use std::rc::Rc;
use tern_adi::{Adi, Data, Proc};

/// What the members give, by rank, in words of the same number each. Behind each contribution stands a word that says
/// that it is there.
struct Table {
    words: Vec<u64>,
    width: usize,
}

impl Table {
    fn new(peers: &Group, mine: &[u64]) -> Table {
        let width = mine.len() + 1;
        let mut words = vec![0; width * peers.procs.len()];
        let own = &mut words[peers.rank as usize * width..][..width];
        own[..mine.len()].copy_from_slice(mine);
        own[mine.len()] = 1;
        Table { words, width }
    }

    /// Contributions from `first` to `end` (excluded).
    fn part(&mut self, first: usize, end: usize) -> Data {
        let part = &mut self.words[first * self.width..end * self.width];
        Data::Bytes(part.as_mut_ptr().cast(), size_of_val(part))
    }

    /// The schedule that fills the table, which stays where it is meanwhile.
    fn schedule(&mut self, peers: &Group) -> Schedule {
        let mut b = Builder::new(peers);
        let (me, size) = (b.rank, b.size);
        let children: Vec<usize> = (0..usize::BITS)
            .map(|bit| 1 << bit)
            .take_while(|bit| *bit < size && me & bit == 0)
            .filter(|bit| me + bit < size)
            .collect();
        for bit in &children {
            b.recv(me + bit, self.part(me + bit, size.min(me + 2 * bit)));
        }
        b.fence();
        if me != 0 {
            let parent = me & (me - 1);
            b.send(parent, self.part(me, size.min(me + (me & me.wrapping_neg()))));
            b.fence();
            b.recv(parent, self.part(0, size));
            b.fence();
        }
        for bit in children.iter().rev() {
            b.send(me + bit, self.part(0, size));
        }
        b.finish()
    }

    /// The rank of the first that is missing.
    fn hole(&self) -> Option<usize> {
        self.words.chunks(self.width).position(|part| part.last() != Some(&1))
    }
}

/// What every member gives, by rank. All call it, with as many words.
///
/// Errors: this process is lost to a member, perhaps not to this one.
pub fn together<const N: usize>(adi: &Adi, peers: &Rc<impl Member>, mine: [u64; N]) -> Result<Vec<[u64; N]>, Proc> {
    let mut table = Table::new(peers.group(), &mine);
    let schedule = table.schedule(peers.group());
    let done = run_for_data(adi, peers, schedule);
    outcome(&table, peers.group(), done.err())
}

/// A receive may fail when all of its data has come. Its process has sent nothing on then, and so has no outcome, though it has no hole.
fn outcome<const N: usize>(table: &Table, peers: &Group, failure: Option<Failure>) -> Result<Vec<[u64; N]>, Proc> {
    match (table.hole(), failure) {
        (None, None) => Ok(table.words.chunks(N + 1).map(|part| std::array::from_fn(|at| part[at])).collect()),
        (_, Some(Failure::Lost(process))) => Err(process),
        (hole, _) => Err(peers.procs[hole.unwrap_or(peers.rank as usize)]),
    }
}

#[cfg(test)]
mod tests;
