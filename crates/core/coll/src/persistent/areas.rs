//! Memory of the lines of persistent collectives, used again and again.

use crate::group::Group;
use crate::lines::{Farewell, Lines};
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::Adi;
use tern_mcm::{AfterFork, ControlSlots, Direct, Lease, Memory};

/// Bytes of each of the two buffers of a member's area. What is not used takes no memory.
const BUFFER: usize = 32 << 10;

/// Bytes of such an area, which has one owner.
const LEN: usize = ControlSlots::total(1, BUFFER);

/// An area of this process, and the last turn that was published in it.
#[derive(Clone, Copy, Debug)]
struct Free {
    base: *mut u8,
    turn: u64,
}

/// Lines that this process has closed, whose areas others may still read.
struct Closed {
    lines: Rc<Lines>,
    farewell: Farewell,
}

/// What this process has of such memory. Its own areas go back to it, never to anybody else, since their cells keep numbers.
#[derive(Default)]
pub struct Areas {
    free: RefCell<Vec<Free>>,
    closed: RefCell<Vec<Closed>>,
}

impl Areas {
    /// Lines for a collective of `peers` beside their main ones. All members ask at the same time, and either all get them or none.
    pub fn open(&self, adi: &Adi, main: &Lines, peers: &Group) -> Option<Lines> {
        let direct = adi.mcm().direct()?;
        self.tidy();
        let own = self.free.borrow_mut().pop().or_else(|| allocate(direct));
        let place = own.map_or(0, |own| direct.place(own.base, LEN).unwrap_or(0));
        let told = tell_all(adi, main, [place, own.map_or(0, |own| own.turn)])?;
        let opened = told.iter().all(|[place, _]| *place != 0).then(|| {
            let rank = peers.rank as usize;
            let map = |place| direct.map(&Memory::at_place(place, LEN), Lease::Lasting);
            let base = |at: usize| if at == rank { own.map(|own| own.base) } else { map(told[at][0]) };
            (0..told.len()).map(base).collect::<Vec<_>>()
        });
        let opened = opened.unwrap_or_default();
        let good = !opened.is_empty() && opened.iter().all(Option::is_some);
        let all_good = tell_all(adi, main, [good.into(), 0])?.iter().all(|[good, _]| *good == 1);
        if !all_good {
            let others = opened.into_iter().enumerate().filter(|(at, _)| *at != peers.rank as usize);
            // SAFETY: mapped just now, and given to nobody.
            others.filter_map(|(_, base)| base).for_each(|base| unsafe { tern_mcm::unmap(base, LEN) });
            self.free.borrow_mut().extend(own);
            return None;
        }
        // SAFETY: own areas began as zeros and are nobody else's; all of them stay mapped until the lines are closed.
        let areas = opened.into_iter().flatten().map(|base| unsafe { ControlSlots::new(base, 0, 1, BUFFER) }).collect();
        let last = told.iter().map(|[_, turn]| *turn).max().unwrap_or(0);
        Some(Lines::over(adi, areas, peers, last))
    }

    /// The collective is freed at this process, which reads nothing more of the others.
    pub fn close(&self, lines: &Rc<Lines>) {
        self.closed.borrow_mut().push(Closed { lines: lines.clone(), farewell: lines.leave() });
    }

    /// Takes back what nobody reads any more.
    fn tidy(&self) {
        self.closed.borrow_mut().retain(|Closed { lines, farewell }| {
            let over = farewell.is_over();
            if over {
                let me = lines.rank();
                // SAFETY: mapped by `open`; all members have closed these lines, so that nobody uses them.
                let unmap = |rank| unsafe { tern_mcm::unmap(lines.area(rank).memory(), LEN) };
                (0..lines.size()).filter(|rank| *rank != me).for_each(unmap);
                self.free.borrow_mut().push(Free { base: lines.area(me).memory(), turn: farewell.turn });
            }
            !over
        });
    }
}

/// Zeros that all processes of the node reach.
fn allocate(direct: &dyn Direct) -> Option<Free> {
    direct.allocate(LEN, AfterFork::Shared).map(|base| Free { base, turn: 0 })
}

/// Tells all members two words, over the lines of their communicator.
fn tell_all(adi: &Adi, lines: &Lines, words: [u64; 2]) -> Option<Vec<[u64; 2]>> {
    let mut told = vec![words; lines.size()];
    let give = |out: &mut [u8]| {
        let (first, second) = out.split_at_mut(8);
        first.copy_from_slice(&words[0].to_le_bytes());
        second.copy_from_slice(&words[1].to_le_bytes());
    };
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let take = |rank: usize, bytes: &[u8]| told[rank] = [word(&bytes[..8]), word(&bytes[8..])];
    lines.allgather(adi, 16, 16, give, take).ok()?;
    Some(told)
}
