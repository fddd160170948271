//! Which buffers are used so often that registering them with a network card pays: the rule `frequent` ("Improving RDMA-based MPI Eager Protocol for
//! Frequently-used Buffers", 2009).
//!
//! An eager message is copied into memory that is registered already, at a cost C. Sent from where it lies it needs none
//! of that, but a registration once, R, and a look-up each time, V. So that pays from the n-th use on when
//! n > R / (C - V): the *break-even count*, which depends on the size. Nobody knows how often a buffer will be used; one
//! that was used often will be used again, so buffers are registered at a part of that count.
//!
//! [`Uses`] counts in a hash table with chains, by multiplication of the address and the length. A program that uses each
//! buffer a few times would make it grow without end and gain nothing: when the chains have grown, and less than a
//! fifth of the buffers have come to their count, the table takes no more.
//!
//! A program may come to use other buffers, which such a table knows nothing of. So it also counts what it is asked
//! for from then on: when less than a fifth of that was for a buffer that has come to its count, it starts afresh. Each
//! time that this was in vain, it waits twice as long with the next.

use crate::rules;
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

/// What a size costs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// R: registering, and giving that up in the end.
    pub register: f64,
    /// C: copying to registered memory.
    pub copy: f64,
    /// V: looking up.
    pub look_up: f64,
}

impl Costs {
    /// The least n > R / (C - V); `None`: never.
    pub fn break_even(&self) -> Option<u32> {
        crate::break_even(self.register, self.copy, self.look_up)
    }
}

/// The least length, in bytes, of messages that are looked at: shorter ones cost nothing to copy.
pub const SHORTEST: usize = 128;
/// Sizes for which costs are known: [`SHORTEST`], and each the double of the one before.
pub const CLASSES: usize = 14;

/// The size that stands for class `class`, in bytes.
pub fn size_of(class: usize) -> usize {
    SHORTEST << class
}

/// The class of a length: of the sizes the largest that is not above it.
fn class_of(len: usize) -> usize {
    ((len / SHORTEST).max(1).ilog2() as usize).min(CLASSES - 1)
}

/// From which use on a buffer is registered, by size.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    costs: [Costs; CLASSES],
    needed: [Option<u32>; CLASSES],
    share: u32,
}

impl Counts {
    /// With what each size costs, at `share` percent of the break-even count. 0: at the first use, whether it pays or
    /// not.
    pub fn new(costs: impl FnMut(usize) -> Costs, share: u32) -> Counts {
        let costs = core::array::from_fn(size_of).map(costs);
        if share == 0 {
            return Counts { costs, needed: [Some(1); CLASSES], share };
        }
        let part = |even: u32| (u64::from(even) * u64::from(share)).div_ceil(100).clamp(1, u32::MAX.into()) as u32;
        Counts { costs, needed: costs.map(|costs| costs.break_even().map(part)), share }
    }

    /// The use of a buffer of that length at which it is registered; `None`: it is not worth a look.
    #[inline]
    pub fn needed(&self, len: usize) -> Option<u32> {
        if len < SHORTEST { None } else { self.needed[class_of(len)] }
    }

    /// What each use of a registered buffer of that length saves, in nanoseconds, or less than that.
    #[inline]
    pub fn saves(&self, len: usize) -> u32 {
        let Costs { copy, look_up, .. } = self.costs[class_of(len)];
        (copy - look_up) as u32
    }
}

/// A table for people.
impl core::fmt::Display for Counts {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(f, "frequently used buffers, registered at {} % of the break-even count R / (C - V):", self.share)?;
        write!(
            f,
            "{:>9} {:>12} {:>10} {:>10} {:>10} {:>10}",
            "bytes", "register ns", "copy ns", "look ns", "even", "at use"
        )?;
        let show = |count: Option<u32>| count.map_or("never".to_string(), |count| count.to_string());
        for (class, (costs, needed)) in self.costs.iter().zip(self.needed).enumerate() {
            let Costs { register, copy, look_up } = *costs;
            let (even, at) = (show(costs.break_even()), show(needed));
            write!(f, "\n{:>9} {register:>12.0} {copy:>10.1} {look_up:>10.1} {even:>10} {at:>10}", size_of(class))?;
        }
        Ok(())
    }
}

/// Chains.
const CHAINS: usize = 1024;
/// The chains have grown when they hold so many buffers each, on average.
const GROWN: usize = 2;
/// The table grows on while one in so many of its buffers has come to its count.
const USEFUL: usize = 5;
/// More are never counted.
const MOST: usize = 64 << 10;
/// Uses after which a full table may start afresh, at first and at most.
const WINDOW: u32 = 4 << 10;
const LONGEST_WINDOW: u32 = 4 << 20;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Buffer {
    address: u64,
    len: u64,
    uses: u32,
    frequent: bool,
    next: u32,
}

/// The uses of buffers.
#[derive(Clone, Debug)]
pub struct Uses {
    chains: Box<[u32; CHAINS]>,
    buffers: Vec<Buffer>,
    /// Those that have come to their count.
    frequent: usize,
    full: bool,
    /// Since the table is full, or since it was last found useful: uses, and those of them of frequent buffers.
    asked: u32,
    served: u32,
    /// So many uses are looked at before it starts afresh.
    window: u32,
}

impl Default for Uses {
    fn default() -> Self {
        Self::new()
    }
}

fn chain_of(address: u64, len: u64) -> usize {
    let mixed = (address ^ len.rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - CHAINS.ilog2())) as usize
}

impl Uses {
    /// Of no buffer yet.
    pub fn new() -> Uses {
        Uses {
            chains: Box::new([NONE; CHAINS]),
            buffers: Vec::new(),
            frequent: 0,
            full: false,
            asked: 0,
            served: 0,
            window: WINDOW,
        }
    }

    /// Counts a use. Whether the buffer is to be registered, or is registered already: from the use `needed` on.
    #[inline]
    pub fn used(&mut self, address: u64, len: u64, needed: u32) -> bool {
        let frequent = self.count(address, len, needed);
        if self.full {
            self.judge(frequent);
        }
        frequent && rules::FREQUENT.applies()
    }

    /// A full table was asked for a buffer: starts afresh if it is of no use any more.
    fn judge(&mut self, frequent: bool) {
        self.asked += 1;
        self.served += u32::from(frequent);
        if self.asked < self.window {
            return;
        }
        if self.served as usize * USEFUL < self.asked as usize {
            let window = (self.window * 2).min(LONGEST_WINDOW);
            *self = Uses { window, ..Uses::new() };
        } else {
            (self.asked, self.served, self.window) = (0, 0, WINDOW);
        }
    }

    #[inline]
    fn count(&mut self, address: u64, len: u64, needed: u32) -> bool {
        let chain = chain_of(address, len);
        let mut at = self.chains[chain];
        while let Some(buffer) = self.buffers.get_mut(at as usize) {
            if buffer.address == address && buffer.len == len {
                buffer.uses = buffer.uses.saturating_add(1);
                if !buffer.frequent && buffer.uses >= needed {
                    buffer.frequent = true;
                    self.frequent += 1;
                }
                return buffer.frequent;
            }
            at = buffer.next;
        }
        self.insert(chain, address, len, needed)
    }

    #[cold]
    fn insert(&mut self, chain: usize, address: u64, len: u64, needed: u32) -> bool {
        let count = self.buffers.len();
        // Once it is full it stays so until it starts afresh: a look-up must not cost more and more.
        self.full |= count >= MOST || (count >= GROWN * CHAINS && self.frequent * USEFUL < count);
        if self.full {
            return false;
        }
        let frequent = needed <= 1;
        self.frequent += usize::from(frequent);
        self.buffers.push(Buffer { address, len, uses: 1, frequent, next: self.chains[chain] });
        self.chains[chain] = count as u32;
        frequent
    }

    /// A buffer that had come to its count could not be registered: it is counted anew.
    pub fn failed(&mut self, address: u64, len: u64) {
        let mut at = self.chains[chain_of(address, len)];
        while let Some(buffer) = self.buffers.get_mut(at as usize) {
            if buffer.address == address && buffer.len == len && buffer.frequent {
                (buffer.frequent, buffer.uses) = (false, 0);
                self.frequent -= 1;
                return;
            }
            at = buffer.next;
        }
    }

    /// Buffers that are counted, and those of them that have come to their count.
    pub fn len(&self) -> (usize, usize) {
        (self.buffers.len(), self.frequent)
    }

    /// No buffer is counted.
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// True when no further buffers are counted.
    pub fn is_full(&self) -> bool {
        self.full
    }
}

#[cfg(test)]
mod tests;
