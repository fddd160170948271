//! Messages that their receiver copies alone, where they could go in packets: those between private memories it has the kernel copy.
//!
//! Packets are copied twice, the kernel copies once and takes its time to begin: which of the two is sooner depends on the machine, and on
//! where in which cache the program has its data. So both are tried on the program's own messages. What counts is how soon the
//! program comes to send again: of messages that it starts together and then waits for, the time from one such round to the next, since
//! starting one says little of what it costs.
//!
//! Two processes that send each other messages at the same time had better go the same way: if one sends packets and the other asks,
//! the first makes two of the three copies, both wait for it (off cache on a Xeon, 1.7 times as long as by either way), and neither finds
//! out by trying alone. So one of the two tries, and the other does what it sees of it.

use super::State;
use super::course::Course;
use crate::{Proc, Tuple};
use tern_mcm::{Likely, Memory};
use tern_region::trial::Trial;

/// What a message is sent along with.
#[derive(Clone, Copy, Debug)]
enum Along {
    /// Nothing: its receiver waits for nothing else.
    Alone,
    /// Others that the program starts with it, and then waits for.
    Window,
    /// What a call that waits for something else sends meanwhile.
    Call,
    /// What both processes send each other, and wait for.
    Exchange,
    /// What is left to its receiver: the sender computes meanwhile, and most likely the receiver, too.
    Left,
}

/// How many there are.
const ALONG: usize = 5;

/// What its receiver copies, if asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copied {
    /// Private memory in one piece, by the kernel.
    ByKernel,
    /// Memory that it sees, in one piece.
    Dense,
    /// Memory that it sees, in blocks at a stride.
    InBlocks,
}

/// How many there are.
const COPIED: usize = 3;

impl Copied {
    fn is_seen(self) -> bool {
        self != Copied::ByKernel
    }
}

/// Bytes of long messages in packets until a device uses the same memory again, at most. Of a message whose memory was in no cache, packets of 256 KiB
/// took 35 to 70 us on a Xeon, else 19.
const ROUND: usize = 2 << 20;

/// Messages in a row in packets that their sender has chosen, before it is tried how these are best copied out: as many as a trial of the sender's
/// takes of 80 KiB and more.
const GAUGED_AFTER: u32 = 64;

/// How a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In one copy, after its sender has asked, or into a published receive.
    Once,
    Packets,
    /// In packets, which its sender has chosen: it could have gone in one copy.
    ChosenPackets,
}

/// How the last messages of a peer have come, by the power of two of their length.
#[derive(Clone, Copy, Debug)]
pub struct Ways([Option<Way>; usize::BITS as usize]);

impl Default for Ways {
    fn default() -> Ways {
        Ways([None; usize::BITS as usize])
    }
}

impl Ways {
    /// Notes it, and tells how the one before came.
    fn note(&mut self, len: usize, way: Way) -> Option<Way> {
        self.0[len.ilog2() as usize].replace(way)
    }

    fn of(&self, len: usize) -> Option<Way> {
        self.0[len.ilog2() as usize]
    }
}

impl State {
    /// A message of `len` bytes, that could have gone either way, has come from a peer.
    #[inline]
    pub(super) fn note_way(&mut self, from: Proc, len: u64, way: Way) {
        if len == 0 {
            return;
        }
        let last = self.ways[from as usize].note(len as usize, way);
        if last != Some(way) && way == Way::ChosenPackets {
            self.gauge.put_off(len as usize, GAUGED_AFTER);
        }
    }

    /// Whether the last message of about `len` bytes from a peer has come in packets although it could have gone in one copy.
    pub(super) fn chooses_packets(&self, from: Proc, len: usize) -> bool {
        len > 0 && self.ways[from as usize].of(len) == Some(Way::ChosenPackets)
    }

    /// A message of `len` bytes has come in packets for a receive that waited for it; `chosen`: by its sender.
    #[inline]
    pub fn note_packets(&mut self, from: Proc, len: u64, chosen: bool) {
        if len >= self.direct_from as u64 {
            self.note_way(from, len, if chosen { Way::ChosenPackets } else { Way::Packets });
        }
    }

    /// Whether the receiver of a message of the stream out of `memory` is to be asked for it, so that it has the kernel copy it alone;
    /// if not, it goes in packets. `None`: neither was found out.
    #[inline]
    pub(super) fn by_kernel(&mut self, to: Proc, tuple: &Tuple, memory: &Memory, course: Course) -> Option<bool> {
        // What is too short for anything but packets is opaque.
        let private = memory.is_dense() && memory.place == 0 && memory.key == 0;
        if private { self.try_kernel(to, tuple, memory, course) } else { None }
    }

    #[cold]
    fn try_kernel(&mut self, to: Proc, tuple: &Tuple, memory: &Memory, course: Course) -> Option<bool> {
        let len = memory.len as usize;
        let likely = self.direct().suits_kernel(to, len);
        if likely == Likely::No {
            return None;
        }
        let (long, waits) = (len > self.eager_limit(to), course.waits);
        let along = match long {
            _ if course.exchanged => Along::Exchange,
            false if self.waits => Along::Call,
            false if waits && self.will_be_hoped(to, tuple, len, true) => Along::Alone,
            false if !waits && self.is_hoped(to, tuple, len) => Along::Alone,
            _ => return None,
        };
        if likely == Likely::Yes {
            return Some(true);
        }
        Some(self.asks_for(to, len, along, Copied::ByKernel))
    }

    /// Whether a message out of `memory`, which its receiver sees and would copy from there, has been there sooner in packets: both ways
    /// are tried.
    ///
    /// Where the program writes its message anew each time, it has to get the lines back that the receiver has read, and the receiver
    /// gets them once more: twice the traffic between the cores of a block that goes to and fro. Where it does not, the receiver has
    /// them in its cache still. On an Intel Xeon 16 to 64 KiB take 1.7 to 2.8 times as long by the one copy, or a third to a half of the time.
    #[cold]
    pub(super) fn suits_copies(&mut self, to: Proc, memory: &Memory, course: Course) -> bool {
        self.copied_once(to, memory, course) == Some(false)
    }

    /// The same where its receiver may have published where it belongs: whether one copy has been sooner. `None`: that is not tried.
    ///
    /// The column of a matrix has a line of its own for each of its elements, and all of them make the journey that is told above, where
    /// packets hold eight doubles in a line.
    pub(super) fn copied_once(&mut self, to: Proc, memory: &Memory, course: Course) -> Option<bool> {
        let len = memory.len as usize;
        let along = if course.exchanged {
            Along::Exchange
        } else if course.left {
            Along::Left
        } else if course.waits || self.habits.waits_for_one_send() {
            Along::Alone
        } else {
            Along::Window
        };
        // Windows of longer ones are in no cache.
        let cached = !matches!(along, Along::Window) || len <= self.eager_limit(to);
        let tries = cached && !memory.is_opaque() && self.direct().suits_both(to, len);
        let copied = if memory.is_dense() { Copied::Dense } else { Copied::InBlocks };
        tries.then(|| self.asks_for(to, len, along, copied))
    }

    /// Whether to ask the receiver for a message, according to trials.
    fn asks_for(&mut self, to: Proc, len: usize, along: Along, copied: Copied) -> bool {
        let shown = if to < self.mcm.me() { self.ways[to as usize].of(len) } else { None };
        if let (Along::Call | Along::Exchange | Along::Left, Some(way)) = (along, shown) {
            return way == Way::Once;
        }
        let kind = (len.ilog2() as usize * ALONG + along as usize) * COPIED + copied as usize;
        // The first ones of a turn in packets find cold memory.
        let longer = if len > self.eager_limit(to) { ROUND.div_ceil(len) as u32 } else { 0 };
        self.asking.way(kind, || Trial::presuming(usize::from(copied.is_seen())).longer(longer)) == 1
    }
}
