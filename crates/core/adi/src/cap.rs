//! How much memory messages may take that no receive has asked for.
//!
//! Past the cap those who fill it are told to ask before each message, so that what else they send waits
//! in their own memory. When enough has been received, they are told that they need not ask any more. A
//! sender that has less than its part of the cap here is left alone, so that one that floods does not slow the others.
//!
//! Plain numbers, without I/O.

use crate::Proc;

/// What a kept message takes beside its bytes, or at least: its entries in matching and among the arrivals, and what the
/// allocator needs. So empty messages count too.
pub const BESIDE: u64 = 128;

/// What is kept for whom. A peer holds at most the cap and what it had sent before it was told; all together hold at most
/// one and a half caps and that.
#[derive(Clone, Debug)]
pub struct Cap {
    limit: u64,
    total: u64,
    /// By peer: the bytes of it that are kept, and whether it was told to ask.
    peers: Vec<(u64, bool)>,
    /// Who was told to ask.
    asking: Vec<Proc>,
}

impl Cap {
    /// No cap, as yet.
    pub fn new(peers: usize) -> Cap {
        Cap { limit: u64::MAX, total: 0, peers: vec![(0, false); peers], asking: Vec::new() }
    }

    /// From now on no more than `limit` bytes are kept before senders are told to ask.
    pub fn set(&mut self, limit: u64) {
        self.limit = limit;
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// True when `bytes` more are beyond the cap.
    #[inline]
    pub fn is_short_of(&self, bytes: u64) -> bool {
        self.total + bytes > self.limit
    }

    /// Makes room for further peers.
    pub fn grow(&mut self, peers: usize) {
        self.peers.resize(peers, (0, false));
    }

    /// What each peer may have here before it is told to ask, when all is full.
    fn share(&self) -> u64 {
        self.limit / (2 * self.peers.len() as u64)
    }

    /// `bytes` of `peer` are kept. True when it must be told to ask.
    pub fn keep(&mut self, peer: Proc, bytes: u64) -> bool {
        self.total += bytes;
        let share = self.share();
        let (kept, asks) = &mut self.peers[peer as usize];
        *kept += bytes;
        if *asks || self.total <= self.limit || *kept <= share {
            return false;
        }
        *asks = true;
        self.asking.push(peer);
        true
    }

    /// `bytes` of `peer` are not kept any more. `release` is told of each peer that need not ask any more.
    pub fn give_up(&mut self, peer: Proc, bytes: u64, mut release: impl FnMut(Proc)) {
        self.total -= bytes;
        self.peers[peer as usize].0 -= bytes;
        if self.asking.is_empty() {
            return;
        }
        // Well below what makes them ask, so that they are not told again at once.
        let (roomy, share) = (self.total <= self.limit / 2, self.share() / 2);
        let peers = &mut self.peers;
        self.asking.retain(|&peer| {
            let (kept, asks) = &mut peers[peer as usize];
            *asks = !roomy && *kept > share;
            if !*asks {
                release(peer);
            }
            *asks
        });
    }

    /// `peer` is not told anything any more. What is kept of it stays.
    pub fn forget(&mut self, peer: Proc) {
        self.peers[peer as usize].1 = false;
        self.asking.retain(|&other| other != peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// Messages that a sender sends at most between two looks at what has come.
    const LATE: u64 = 4;
    /// The longest message.
    const LONGEST: u64 = 300;

    /// A receiver that is flooded: what is kept of each peer, and the news on their way to it.
    struct Flood {
        cap: Cap,
        kept: Vec<VecDeque<u64>>,
        news: Vec<VecDeque<bool>>,
        /// What each sender believes, and how many it has sent since it looked.
        senders: Vec<(bool, u64)>,
    }

    impl Flood {
        fn new(peers: usize, limit: u64) -> Flood {
            let mut cap = Cap::new(peers);
            cap.set(limit);
            let (kept, news) = (vec![VecDeque::new(); peers], vec![VecDeque::new(); peers]);
            Flood { cap, kept, news, senders: vec![(false, 0); peers] }
        }

        fn send(&mut self, peer: usize, bytes: u64) {
            if self.senders[peer].1 == LATE {
                self.look(peer);
            }
            let (asks, sent) = &mut self.senders[peer];
            if *asks {
                // It waits at its sender.
                return;
            }
            *sent += 1;
            self.kept[peer].push_back(bytes);
            if self.cap.keep(peer as Proc, bytes) {
                self.news[peer].push_back(true);
            }
        }

        fn receive(&mut self, peer: usize) {
            let Some(bytes) = self.kept[peer].pop_front() else { return };
            let news = &mut self.news;
            self.cap.give_up(peer as Proc, bytes, |peer| news[peer as usize].push_back(false));
        }

        fn look(&mut self, peer: usize) {
            let (asks, sent) = &mut self.senders[peer];
            *sent = 0;
            while let Some(now) = self.news[peer].pop_front() {
                assert_ne!(*asks, now, "told twice");
                *asks = now;
            }
        }

        fn check(&self) {
            let total: u64 = self.kept.iter().flatten().sum();
            assert_eq!(total, self.cap.total);
            let late = self.kept.len() as u64 * (LATE + 1) * LONGEST;
            let bound = self.cap.limit + self.cap.limit / 2 + late;
            assert!(total <= bound, "{total} bytes are kept, {bound} is the bound");
            for peer in 0..self.kept.len() {
                if self.kept[peer].is_empty() {
                    let last = self.news[peer].back().copied().unwrap_or(self.senders[peer].0);
                    assert!(!last, "{peer} has nothing here and would ask for ever");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn memory_is_bounded_and_nobody_asks_for_ever(
            peers in 1..5usize,
            limit in 0..2000u64,
            events in prop::collection::vec((0..5u32, 0..5usize, 1..=LONGEST), 1..400),
        ) {
            let mut flood = Flood::new(peers, limit);
            for (kind, peer, bytes) in events {
                let peer = peer % peers;
                match kind {
                    0..3 => flood.send(peer, bytes),
                    3 => flood.receive(peer),
                    _ => flood.look(peer),
                }
                flood.check();
            }
        }
    }

    #[test]
    fn who_is_quiet_is_not_told() {
        let mut cap = Cap::new(4);
        cap.set(800);
        assert!((0..8).all(|_| !cap.keep(0, 100)), "up to the cap nobody is told");
        assert!(cap.keep(0, 1) && !cap.keep(0, 100), "and then once");
        assert!(!cap.keep(1, 100) && cap.keep(1, 1), "another has an eighth of it for itself");
        let mut released = Vec::new();
        cap.give_up(1, 51, |peer| released.push(peer));
        assert_eq!(released, [1], "who has half of its share goes on");
        cap.give_up(0, 501, |peer| released.push(peer));
        assert_eq!(released, [1], "450 bytes are more than half of the cap");
        cap.give_up(0, 100, |peer| released.push(peer));
        assert_eq!(released, [1, 0]);
        assert!(!cap.keep(0, 300));
    }

    #[test]
    fn who_is_forgotten_is_not_told() {
        let mut cap = Cap::new(2);
        cap.set(0);
        assert!(cap.keep(1, 10));
        cap.forget(1);
        cap.give_up(1, 10, |_| panic!("it is gone"));
    }
}
