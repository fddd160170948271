//! Streaming stores or ordinary ones for a long copy: the rule `stores`.
//!
//! Streaming stores pass the caches. They write memory best that is in no cache and is not read soon, which only the program knows, so both kinds
//! of stores are tried on its own transfers.

use crate::coordinator::{Cell, SharedCoordinator};
use crate::rounds::Rounds;
use crate::rules;
use crate::trial::Trial;

/// From so many bytes on the copy of a message out of packets to its place is a long one: off cache 28 KiB take a seventh less by streaming stores, and
/// exchanges a third.
pub const LONG_IN_PACKETS: usize = 16 << 10;
/// The same of one copy from memory to memory: in a cache, streaming stores take a third longer at this length, and no longer from 256 KiB on; in none,
/// two thirds of the time.
pub const LONG_IN_ONE_COPY: usize = 64 << 10;
/// The same of a put or a get of mapped memory: windows of such puts do not fit into a cache, and streaming stores are twice as fast then.
pub const LONG_ACCESS: usize = 256 << 10;

/// Finds out what the memory of long transfers is, by trying both answers on all transfers of a round.
#[derive(Debug, Default)]
pub struct Gauge(Rounds);

impl Gauge {
    /// Nothing was tried so far.
    pub fn new(coordinator: &SharedCoordinator) -> Gauge {
        Gauge(Rounds::new(coordinator))
    }

    /// Whether the target of a transfer of `len` bytes, which begins at `now`, seems to be in no cache and not to be read soon, so that streaming
    /// stores write it best: by power of two, by the rule `stores`.
    pub fn streams(&mut self, len: usize, now: impl FnOnce() -> u64) -> bool {
        rules::STORES.departs(|| self.0.way(Gauge::kind(len), Cell::of(len), now, Trial::hasty) == 1)
    }

    /// Transfers of `len` bytes begin to come otherwise: a trial of their sender's may be finding out whether there are to be such at all. It would
    /// count what is tried here for its own, so this process tries nothing for the next `transfers`.
    pub fn yield_to_peer(&mut self, len: usize, transfers: u32) {
        let id = self.0.id(Gauge::kind(len));
        self.0.coordinator().with(|coordinator| coordinator.yield_to_peer(Cell::of(len), id, transfers));
    }

    fn kind(len: usize) -> usize {
        (len | 1).ilog2() as usize
    }

    /// See [`Rounds::end_round`].
    pub fn end_round(&mut self) {
        self.0.end_round();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::TURN;

    #[test]
    fn what_a_sender_tries_is_not_measured_by_its_receiver() {
        let mut gauge = Gauge::default();
        let streams = |gauge: &mut Gauge, now: u64| {
            let streams = gauge.streams(20_000, || now);
            gauge.end_round();
            streams
        };
        (0..10).for_each(|now| _ = streams(&mut gauge, now));
        gauge.yield_to_peer(20_000, 40);
        let tried = (0..200).position(|number| streams(&mut gauge, 10 + number));
        assert_eq!(tried, Some(40 + TURN as usize), "after the 40, and a turn of its better way");
    }
}
