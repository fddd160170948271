//! Which private memory is made shared memory in place: the rule `promote`.
//!
//! The rule is the frequent-buffer rule ("Improving RDMA-based MPI Eager Protocol for
//! Frequently-used Buffers", 2009). What costs R once saves C, for a look-up of V, at each use after that.
//! So it pays from the n-th use on when n > R / (C - V). Buffers that lie side by side may pay together.

pub(crate) mod usage;

use crate::costs::Warmth;
use crate::rules;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use usage::{Row, Usage, is_short};

/// Bytes that are promoted to be pinned, all in all. A program that pins some memory for long gains by it. One that pins
/// fresh memory again and again loses some tenths of a second, once (1.5 ms for a MiB on an AMD EPYC).
const MOST_PINNED: usize = 256 << 20;

/// What promotion costs and saves, in nanoseconds, by length in bytes.
pub struct Costs {
    /// R: promoting that many bytes.
    pub promote: Box<dyn Fn(usize) -> f64>,
    /// C: what a transfer of that many bytes costs less from promoted memory.
    pub saved: Box<dyn Fn(usize, Warmth) -> f64>,
    /// V: looking up, and asking the kernel, at each use.
    pub look_up: f64,
}

impl Costs {
    /// The number of uses from which on promotion pays: the least n > R / (C - V). `None`: never. For messages of `len` bytes whose data lies in `all`
    /// bytes, which are promoted as one: a column of a matrix, or buffers that lie side by side and are counted together. Most of what promotion costs
    /// is the same for one buffer and for many.
    fn break_even(&self, len: usize, warmth: Warmth, all: usize) -> Option<u32> {
        crate::break_even((self.promote)(all), (self.saved)(len, warmth), self.look_up)
    }
}

/// Uses of a buffer that promotion pays for.
#[derive(Clone, Copy, Default)]
struct Needed {
    /// The buffer's bytes, and those of a message, that were asked about last.
    of: (usize, usize),
    /// `None`: any number of them is too few.
    uses: Option<u32>,
}

/// One use of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// Its address.
    pub start: usize,
    /// Its bytes.
    pub len: usize,
    /// Bytes of it that the message has moved: fewer if that is a column of a matrix.
    pub moved: usize,
    /// The number of what it is used for, in the order of [`BufferUses::add_costs`].
    pub way: usize,
}

/// What is to be promoted now.
#[derive(Debug)]
pub struct Due {
    /// Its address.
    pub start: usize,
    /// Its bytes.
    pub len: usize,
    /// Uses that this pays for.
    pub needed: u32,
    what: What,
}

#[derive(Debug)]
enum What {
    Buffer,
    Row(Row),
    Pinned,
}

impl Due {
    /// Several buffers, which lie side by side.
    pub fn is_row(&self) -> bool {
        matches!(self.what, What::Row(_))
    }
}

/// The uses of a process's buffers, and from which use on it pays to promote one.
pub struct BufferUses {
    /// At the first use, whatever it costs.
    always: bool,
    /// Bytes of a page.
    page: usize,
    /// By what the memory is used for.
    costs: Vec<Costs>,
    /// By what it is used for, and by [`Warmth`].
    needed: Vec<[Needed; Warmth::ALL.len()]>,
    usage: Usage,
    /// What is left of [`MOST_PINNED`].
    may_pin: usize,
}

impl BufferUses {
    /// With what promotion costs and saves for single messages. `always`: every buffer at its first use. `page`: bytes of a page.
    pub fn new(always: bool, page: usize, costs: Costs) -> BufferUses {
        let (costs, needed) = (vec![costs], vec![Default::default()]);
        BufferUses { always, page, costs, needed, usage: Usage::new(), may_pin: MOST_PINNED }
    }

    /// What promotion costs and saves where memory is used in another way than for a single message. Ways have numbers, in this order,
    /// from 1 on.
    pub fn add_costs(&mut self, costs: Costs) {
        self.costs.push(costs);
        self.needed.push(Default::default());
    }

    /// Whether promotion can pay for such a use at all. Where it cannot, the saving never pays for a look-up of promoted memory either.
    #[inline]
    pub fn can_pay(&mut self, buffer: &Use) -> bool {
        self.needed(buffer, Warmth::Warm).is_some()
    }

    /// Counts one use, and says what is to be promoted, if anything is: the buffer, or it and those beside it, if that pays sooner. `is_late`: whether
    /// so many bytes, used in between, have driven memory out of the caches. `is_free`: whether no peer writes into a row, by its address and bytes.
    pub fn used(
        &mut self, buffer: &Use, is_late: impl FnOnce(u64) -> bool, is_free: impl FnOnce(usize, usize) -> bool,
    ) -> Option<Due> {
        let &Use { start, len, moved, way } = buffer;
        if !is_short(len, moved) {
            return None;
        }
        let warmth = self.usage.warmth(start, len, is_late);
        let needed = self.needed(buffer, warmth).unwrap_or(u32::MAX);
        if self.usage.used(start, len, moved, needed) {
            return rules::PROMOTE.applies().then_some(Due { start, len, needed, what: What::Buffer });
        }
        // The windows and slots of a program, of which each would have to be used very often by itself.
        let row = self.usage.row(start, len, self.page)?;
        let needed = self.costs[way].break_even(moved, warmth, row.len)?;
        let pays = row.uses >= u64::from(needed) * u64::from(row.patience);
        // Some may be receives that are open: soon none is.
        let due = pays && is_free(row.start, row.len) && rules::PROMOTE.applies();
        due.then_some(Due { start: row.start, len: row.len, needed, what: What::Row(row) })
    }

    /// Memory that peers will be at any time, whenever they like: whether it is to be promoted before they come.
    pub fn pinned(&self, start: usize, len: usize) -> Option<Due> {
        let due = (len <= self.may_pin || self.always) && rules::PROMOTE.applies();
        due.then_some(Due { start, len, needed: 1, what: What::Pinned })
    }

    /// Uses of a buffer that promotion pays for.
    #[inline]
    fn needed(&mut self, &Use { len, moved, way, .. }: &Use, warmth: Warmth) -> Option<u32> {
        let needed = &mut self.needed[way][warmth as usize];
        if needed.of != (len, moved) {
            let break_even = || self.costs[way].break_even(moved, warmth, len);
            let uses = if self.always { Some(1) } else { break_even() };
            *needed = Needed { of: (len, moved), uses };
        }
        needed.uses
    }

    /// It was promoted.
    pub fn promoted(&mut self, due: &Due) {
        match &due.what {
            What::Buffer => {}
            What::Row(row) => self.usage.restart(row),
            What::Pinned => self.may_pin = self.may_pin.saturating_sub(due.len),
        }
    }

    /// The attempt was in vain, or what it won was lost before it paid: wait twice as long.
    pub fn failed(&mut self, start: usize, len: usize) {
        self.usage.failed(start, len);
    }

    /// What the last attempt won has paid: wait no longer than the rule says.
    pub fn paid(&mut self, start: usize, len: usize) {
        self.usage.paid(start, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(promote: f64, saved: f64, look_up: f64) -> Costs {
        Costs { promote: Box::new(move |_| promote), saved: Box::new(move |_, _| saved), look_up }
    }

    #[test]
    fn break_even_is_the_least_n_above_r_by_c_minus_v() {
        assert_eq!(costs(100.0, 30.0, 10.0).break_even(1, Warmth::Warm, 1), Some(6));
        assert_eq!(costs(99.0, 30.0, 10.0).break_even(1, Warmth::Warm, 1), Some(5));
        assert_eq!(costs(0.0, 30.0, 10.0).break_even(1, Warmth::Warm, 1), Some(1));
    }

    #[test]
    fn what_saves_no_more_than_the_look_up_never_pays() {
        assert_eq!(costs(100.0, 10.0, 10.0).break_even(1, Warmth::Warm, 1), None);
        assert_eq!(costs(100.0, 5.0, 10.0).break_even(1, Warmth::Warm, 1), None);
        assert_eq!(costs(0.0, 10.0, 10.0).break_even(1, Warmth::Warm, 1), None);
        assert_eq!(costs(f64::INFINITY, 10.0, 1.0).break_even(1, Warmth::Warm, 1), None);
        assert_eq!(costs(f64::NAN, 10.0, 1.0).break_even(1, Warmth::Warm, 1), None);
    }

    #[test]
    fn a_row_shares_what_does_not_depend_on_the_length() {
        let costs = Costs { promote: Box::new(|len| 1000.0 + len as f64), saved: Box::new(|_, _| 60.0), look_up: 10.0 };
        assert_eq!(costs.break_even(100, Warmth::Warm, 100), Some(23));
        // Of ten buffers each is used five times.
        assert_eq!(costs.break_even(100, Warmth::Warm, 1000), Some(41));
    }

    #[test]
    fn memory_is_promoted_to_be_pinned_up_to_a_limit() {
        let mut uses = BufferUses::new(false, 4096, costs(100.0, 30.0, 10.0));
        let half = MOST_PINNED / 2 + 1;
        let due = uses.pinned(1 << 20, half).expect("it is the first");
        assert!(uses.pinned(1 << 20, half).is_some(), "the first was not promoted");
        uses.promoted(&due);
        assert!(uses.pinned(1 << 20, half).is_none());
        assert!(uses.pinned(1 << 20, half - 2).is_some());
        assert!(BufferUses::new(true, 4096, costs(0.0, 1.0, 0.0)).pinned(1 << 20, usize::MAX).is_some());
    }

    const BUFFER: Use = Use { start: 1 << 20, len: 4800, moved: 4800, way: 0 };

    /// Uses of the buffer until it is due, in a table that counts each so.
    fn until(uses: &mut BufferUses, buffer: Use) -> u32 {
        (1..).find(|_| uses.used(&buffer, |_| false, |_, _| true).is_some()).expect("it is due some time")
    }

    #[test]
    fn a_buffer_is_due_when_its_way_pays() {
        let mut uses = BufferUses::new(false, 4096, costs(100.0, 30.0, 10.0));
        uses.add_costs(costs(200.0, 30.0, 10.0));
        assert_eq!(until(&mut uses, BUFFER), 6);
        assert_eq!(until(&mut uses, Use { start: 2 << 20, way: 1, ..BUFFER }), 11);
        let mut always = BufferUses::new(true, 4096, costs(100.0, 10.0, 10.0));
        assert!(always.can_pay(&BUFFER));
        assert_eq!(until(&mut always, BUFFER), 1);
        assert!(!BufferUses::new(false, 4096, costs(100.0, 10.0, 10.0)).can_pay(&BUFFER));
    }

    #[test]
    fn a_row_is_due_sooner_once_it_is_free_and_begins_anew() {
        let mut uses = BufferUses::new(false, 4096, costs(1000.0, 60.0, 10.0));
        let mut round = |free: bool| {
            let starts = (0..4).map(|at| BUFFER.start + at * 5000);
            starts.filter_map(|start| uses.used(&Use { start, ..BUFFER }, |_| false, |_, _| free)).last()
        };
        assert!((0..7).all(|_| round(true).is_none()), "alone each needs 21 uses");
        assert!(round(false).is_none(), "a peer writes to it");
        let due = (0..8).find_map(|_| round(true)).expect("it is free");
        assert!(due.is_row());
        assert_eq!((due.start, due.len), (BUFFER.start, 3 * 5000 + 4800));
        uses.promoted(&due);
        assert!(uses.used(&BUFFER, |_| false, |_, _| true).is_none());
    }
}
