//! Credits: how many of a peer's receive buffers a channel may still use.
//!
//! Each side grants the other the same number of buffers. A packet uses one; when its receiver has taken
//! it and put a buffer in its place, it owes the sender one. Every packet carries what its sender owes. A
//! side that owes much and has nothing to send returns it by itself, in a packet that uses a buffer too.
//! The last credit is kept for that, so that two sides which have both run out still tell each other:
//! whoever has used its last credit has thereby given the peer some, and the peer's next packet brings it
//! back. A lone return is due from two buffers on, or two idle sides would answer each other for ever.

/// The credits of one channel, as one side sees them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Credits {
    /// Buffers of the peer that we may use.
    available: u32,
    /// Buffers here that the peer's packets have used, that are free again, and that it does not know of.
    owed: u32,
    /// Owed buffers from which on a lone return is due.
    due: u32,
}

/// The fewest buffers that a side can grant: one for a lone return, and as many for packets as make one due.
pub const FEWEST: u32 = 3;

impl Credits {
    /// Both sides grant `granted` buffers, at least [`FEWEST`].
    pub fn new(granted: u32) -> Credits {
        assert!(granted >= FEWEST, "{granted} receive buffers granted to a peer; {FEWEST} are needed");
        Credits { available: granted, owed: 0, due: (granted / 4).max(2) }
    }

    /// True when a packet may go.
    #[inline]
    pub fn may_send(&self) -> bool {
        self.may_send_all(1)
    }

    /// True when so many packets may go.
    #[inline]
    pub fn may_send_all(&self, packets: u32) -> bool {
        self.available > packets
    }

    /// Uses a credit for a packet; returns what it carries for the peer.
    #[inline]
    pub fn spend(&mut self) -> u8 {
        debug_assert!(self.may_send());
        self.available -= 1;
        self.give_back()
    }

    /// What a packet that uses none of the peer's buffers (one written into a ring) carries for the peer.
    #[inline]
    pub fn give_back(&mut self) -> u8 {
        let returned = self.owed.min(u8::MAX as u32);
        self.owed -= returned;
        returned as u8
    }

    /// True when so much is owed that it should be returned even without a packet to carry it.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.owed >= self.due
    }

    /// Uses a credit, if need be the last one, for a lone return; what it carries, or `None` when there is
    /// no credit left.
    pub fn return_alone(&mut self) -> Option<u8> {
        if self.available == 0 {
            return None;
        }
        self.available -= 1;
        Some(self.give_back())
    }

    /// A packet has been taken that had used a buffer here, which is free again.
    #[inline]
    pub fn taken(&mut self) {
        self.owed += 1;
    }

    /// A packet carried `returned`.
    #[inline]
    pub fn returned(&mut self, returned: u8) {
        self.available += returned as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashSet, VecDeque};

    /// A packet under way: what it returns.
    type Packets = VecDeque<u8>;

    /// Two sides and the packets between them; `wishes`: packets that each still wants to send.
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct World {
        granted: u32,
        sides: [Credits; 2],
        wishes: [u32; 2],
        to: [Packets; 2],
    }

    impl World {
        /// Every world that can follow.
        fn next(&self) -> Vec<World> {
            let mut worlds = Vec::new();
            for me in 0..2 {
                let with = |change: &dyn Fn(&mut World)| {
                    let mut world = self.clone();
                    change(&mut world);
                    assert!(world.to[1 - me].len() <= self.granted as usize, "more packets than buffers");
                    world
                };
                if self.wishes[me] > 0 && self.sides[me].may_send() {
                    worlds.push(with(&|world| {
                        world.wishes[me] -= 1;
                        let carried = world.sides[me].spend();
                        world.to[1 - me].push_back(carried);
                    }));
                }
                if self.sides[me].is_due() && self.sides[me].clone().return_alone().is_some() {
                    worlds.push(with(&|world| {
                        let carried = world.sides[me].return_alone().expect("there is one");
                        assert!(carried > 0);
                        world.to[1 - me].push_back(carried);
                    }));
                }
                if !self.to[me].is_empty() {
                    worlds.push(with(&|world| {
                        let carried = world.to[me].pop_front().expect("not empty");
                        world.sides[me].returned(carried);
                        world.sides[me].taken();
                    }));
                }
            }
            worlds
        }
    }

    /// In every order of sending and taking, all is sent in the end, no buffer is used twice, and the two
    /// sides come to rest.
    #[test]
    fn no_order_of_events_ends_with_packets_unsent() {
        for (granted, wishes) in [(3, [4, 3]), (3, [6, 0]), (4, [5, 3]), (5, [7, 2]), (9, [14, 0])] {
            let sides = [Credits::new(granted), Credits::new(granted)];
            let first = World { granted, sides, wishes, to: Default::default() };
            let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
            let mut ends = 0;
            while let Some(world) = open.pop() {
                let next = world.next();
                if next.is_empty() {
                    assert_eq!(world.wishes, [0, 0], "stuck with {granted} buffers");
                    ends += 1;
                }
                open.extend(next.into_iter().filter(|world| seen.insert(world.clone())));
            }
            assert!(ends > 0, "they never come to rest with {granted} buffers");
        }
    }

    #[test]
    fn returns_longer_than_a_byte_go_in_parts() {
        let mut credits = Credits::new(1000);
        for _ in 0..300 {
            credits.taken();
        }
        assert_eq!((credits.spend(), credits.give_back(), credits.give_back()), (255, 45, 0));
    }
}
