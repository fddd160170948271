//! Which ranks of a world are on which node.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The nodes of a world. Each has a block of consecutive ranks, and none is without ranks.
///
/// As text: the sizes of the blocks, alike ones together (`3,2x4` is a node of 3 and four of 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// The first rank of each node, and behind them the number of all ranks.
    starts: Vec<u32>,
}

impl Nodes {
    /// All ranks on one node.
    pub fn one(size: u32) -> Nodes {
        Nodes { starts: vec![0, size] }
    }

    /// Blocks as even as possible; the first ones are the larger.
    ///
    /// # Panics
    /// If there are more nodes than ranks, or none.
    pub fn even(size: u32, nodes: u32) -> Nodes {
        assert!((1..=size).contains(&nodes), "every node has a rank");
        let (each, more) = (size / nodes, size % nodes);
        Nodes { starts: (0..=nodes).map(|node| node * each + node.min(more)).collect() }
    }

    /// Blocks of these sizes; `None` if one is empty, or there is none, or they are too many.
    pub fn of_sizes(sizes: impl IntoIterator<Item = u32>) -> Option<Nodes> {
        let mut starts = vec![0u32];
        for size in sizes.into_iter() {
            let end = starts[starts.len() - 1].checked_add(size).filter(|_| size > 0)?;
            starts.push(end);
        }
        (starts.len() > 1).then_some(Nodes { starts })
    }

    /// How many nodes.
    pub fn count(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// How many ranks on all of them.
    pub fn size(&self) -> u32 {
        self.starts[self.starts.len() - 1]
    }

    /// The node of a rank.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn of(&self, rank: u32) -> u32 {
        assert!(rank < self.size(), "rank {rank} of {}", self.size());
        self.starts.partition_point(|start| *start <= rank) as u32 - 1
    }

    /// The ranks on a node.
    pub fn ranks(&self, node: u32) -> Range<u32> {
        let node = node as usize;
        self.starts[node]..self.starts[node + 1]
    }

    /// The number of ranks on each node.
    pub fn sizes(&self) -> impl Iterator<Item = u32> {
        self.starts.windows(2).map(|pair| pair[1] - pair[0])
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<u32> = self.sizes().collect();
        for (at, alike) in sizes.chunk_by(|a, b| a == b).enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match alike {
                [one] => write!(f, "{one}")?,
                _ => write!(f, "{}x{}", alike[0], alike.len())?,
            }
        }
        Ok(())
    }
}

/// Most nodes that a text may name: a bound on damage.
const MOST: usize = 1 << 16;

impl FromStr for Nodes {
    type Err = ();

    fn from_str(text: &str) -> Result<Nodes, ()> {
        let mut sizes = Vec::new();
        for part in text.split(',') {
            let (size, count) = part.split_once('x').unwrap_or((part, "1"));
            let size: u32 = size.parse().map_err(|_| ())?;
            let count: usize = count.parse().map_err(|_| ())?;
            if count > MOST - sizes.len() {
                return Err(());
            }
            sizes.extend(std::iter::repeat_n(size, count));
        }
        Nodes::of_sizes(sizes).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_even_and_every_rank_has_one_node() {
        for size in 1..40 {
            for count in 1..=size {
                let nodes = Nodes::even(size, count);
                assert_eq!((nodes.count(), nodes.size()), (count, size));
                let (least, most) = (nodes.sizes().min(), nodes.sizes().max());
                assert!(most.unwrap() - least.unwrap() <= 1);
                for rank in 0..size {
                    assert!(nodes.ranks(nodes.of(rank)).contains(&rank));
                }
                assert_eq!(nodes.to_string().parse(), Ok(nodes));
            }
        }
    }

    #[test]
    fn the_text_is_short_where_nodes_are_alike() {
        assert_eq!(Nodes::even(1024, 1024).to_string(), "1x1024");
        assert_eq!(Nodes::even(7, 3).to_string(), "3,2x2");
        assert_eq!(Nodes::one(5).to_string(), "5");
    }

    #[test]
    fn damaged_text_is_refused() {
        for text in ["", "0", "1,", "x", "2x", "2x0", "1x99999999", "4294967295x2", "-1", "1,0,1"] {
            assert!(text.parse::<Nodes>().is_err(), "{text}");
        }
    }
}
