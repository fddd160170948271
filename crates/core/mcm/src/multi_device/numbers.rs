//! Numbers of processes, as the layers above and as shared memory have them.

/// Who numbers how; see the module above.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// The first rank of this node.
    first: u32,
    /// Ranks of this node.
    local: u32,
    /// As many, or none where they are not consecutive.
    block: u32,
    /// Ranks of the world.
    world: u32,
    /// Where they are not consecutive: their ranks.
    ranks: &'static [u32],
    /// And of each rank of the world its number among them, or [`ELSEWHERE`].
    places: &'static [u32],
}

/// On another node.
const ELSEWHERE: u32 = u32::MAX;

/// Which device reaches a process, and the number it has there. The network numbers as the layers above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Shm(u32),
    Network,
    /// A process of another job: the number that is kept for it in shared memory, whether it is reached so or not.
    Beyond(u32),
}

impl Numbers {
    /// Of a node with these ranks, which rise, in a world of `world`. There is one in a process, and what is not
    /// consecutive is kept in memory that is never freed.
    pub fn new(node: Vec<u32>, world: u32) -> Numbers {
        let (first, local) = (node[0], node.len() as u32);
        if node[node.len() - 1] - first + 1 == local {
            return Numbers { first, local, block: local, world, ranks: &[], places: &[] };
        }
        let mut places = vec![ELSEWHERE; world as usize];
        (0..).zip(&node).for_each(|(number, rank)| places[*rank as usize] = number);
        Numbers { first, local, block: 0, world, ranks: node.leak(), places: places.leak() }
    }

    /// Ranks of this node.
    pub fn local(self) -> u32 {
        self.local
    }

    /// The way to a process that the layers above call `peer`.
    #[inline(always)]
    pub fn way(self, peer: u32) -> Route {
        let local = peer.wrapping_sub(self.first);
        if local < self.block {
            Route::Shm(local)
        } else if peer < self.world {
            match self.places.get(peer as usize) {
                None | Some(&ELSEWHERE) => Route::Network,
                Some(local) => Route::Shm(*local),
            }
        } else {
            Route::Beyond(peer - self.world + self.local)
        }
    }

    /// What the layers above call the process that shared memory calls `peer`.
    #[inline(always)]
    pub fn up(self, peer: u32) -> u32 {
        if peer < self.block {
            peer + self.first
        } else if peer >= self.local {
            peer - self.local + self.world
        } else {
            self.ranks[peer as usize]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let numbers = Numbers::new(vec![3, 4], 7);
        let ways: Vec<Route> = (0..10).map(|peer| numbers.way(peer)).collect();
        use Route::{Beyond, Network, Shm};
        let network = [Network; 3];
        assert_eq!(ways[..3], network);
        assert_eq!(ways[3..], [Shm(0), Shm(1), Network, Network, Beyond(2), Beyond(3), Beyond(4)]);
        for (peer, way) in (0..).zip(ways) {
            if let Shm(number) | Beyond(number) = way {
                assert_eq!(numbers.up(number), peer);
            }
        }
    }

    #[test]
    fn ranks_that_are_not_consecutive_have_places() {
        let numbers = Numbers::new(vec![1, 3, 4], 6);
        let ways: Vec<Route> = (0..8).map(|peer| numbers.way(peer)).collect();
        use Route::{Beyond, Network, Shm};
        assert_eq!(ways, [Network, Shm(0), Network, Shm(1), Shm(2), Network, Beyond(3), Beyond(4)]);
        for (peer, way) in (0..).zip(ways) {
            if let Shm(number) | Beyond(number) = way {
                assert_eq!(numbers.up(number), peer);
            }
        }
    }
}
