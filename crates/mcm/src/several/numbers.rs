//! Numbers of processes, as the layers above and as shared memory have them.

use std::ops::Range;

/// Who numbers how; see the module above.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// The first rank of this node.
    first: u32,
    /// Ranks of this node.
    local: u32,
    /// Ranks of the world.
    world: u32,
}

/// Which device reaches a process, and the number it has there. The network numbers as the layers above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Shm(u32),
    Network,
}

impl Numbers {
    /// Of a node with these ranks, in a world of `world`.
    pub fn new(node: Range<u32>, world: u32) -> Numbers {
        Numbers { first: node.start, local: node.len() as u32, world }
    }

    /// Ranks of this node.
    pub fn local(self) -> u32 {
        self.local
    }

    /// The way to a process that the layers above call `peer`.
    #[inline(always)]
    pub fn way(self, peer: u32) -> Way {
        let local = peer.wrapping_sub(self.first);
        if local < self.local {
            Way::Shm(local)
        } else if peer < self.world {
            Way::Network
        } else {
            Way::Shm(peer - self.world + self.local)
        }
    }

    /// What the layers above call the process that shared memory calls `peer`.
    #[inline(always)]
    pub fn up(self, peer: u32) -> u32 {
        if peer < self.local { peer + self.first } else { peer - self.local + self.world }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let numbers = Numbers::new(3..5, 7);
        let ways: Vec<Way> = (0..10).map(|peer| numbers.way(peer)).collect();
        use Way::{Network, Shm};
        let network = [Network; 3];
        assert_eq!(ways[..3], network);
        assert_eq!(ways[3..], [Shm(0), Shm(1), Network, Network, Shm(2), Shm(3), Shm(4)]);
        for (peer, way) in (0..).zip(ways) {
            if let Shm(number) = way {
                assert_eq!(numbers.up(number), peer);
            }
        }
    }
}
