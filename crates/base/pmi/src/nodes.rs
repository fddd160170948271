//! Which ranks of a world are on which node.

use std::fmt;
use std::str::FromStr;

/// The nodes of a world. None is without ranks. Tern's mpiexec gives each a block of consecutive ranks, if
/// nothing else is asked for; other launchers may deal ranks out in another way.
///
/// As text: the sizes of the blocks, alike ones together (`3,2x4` is a node of 3 and four of 2). Where the ranks of
/// a node are not consecutive: `@`, and the node of each rank, alike ones together (`@0,1x2,0`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// The first rank of each node, and behind them the number of all ranks.
    starts: Vec<u32>,
    /// Where some node's ranks are not consecutive: the node of each rank, and the ranks in the order of nodes.
    scattered: Option<Box<(Vec<u32>, Vec<u32>)>>,
}

impl Nodes {
    /// All ranks on one node.
    pub fn one(size: u32) -> Nodes {
        Nodes { starts: vec![0, size], scattered: None }
    }

    /// Blocks as even as possible; the first ones are the larger.
    ///
    /// # Panics
    /// If there are more nodes than ranks, or none.
    pub fn even(size: u32, nodes: u32) -> Nodes {
        assert!((1..=size).contains(&nodes), "every node has a rank");
        let (each, more) = (size / nodes, size % nodes);
        Nodes { starts: (0..=nodes).map(|node| node * each + node.min(more)).collect(), scattered: None }
    }

    /// Blocks of these sizes; `None` if one is empty, or there is none, or they are too many.
    pub fn of_sizes(sizes: impl IntoIterator<Item = u32>) -> Option<Nodes> {
        let mut starts = vec![0u32];
        for size in sizes.into_iter() {
            let end = starts[starts.len() - 1].checked_add(size).filter(|_| size > 0)?;
            starts.push(end);
        }
        (starts.len() > 1).then_some(Nodes { starts, scattered: None })
    }

    /// The node of each rank by any number; they are numbered anew, in the order of their first ranks. `None` if there
    /// are no ranks.
    pub fn of_numbers(numbers: &[u32]) -> Option<Nodes> {
        let mut known = std::collections::HashMap::new();
        let node_of: Vec<u32> = numbers
            .iter()
            .map(|number| {
                let next = known.len() as u32;
                *known.entry(*number).or_insert(next)
            })
            .collect();
        let mut sizes = vec![0u32; known.len()];
        node_of.iter().for_each(|node| sizes[*node as usize] += 1);
        let nodes = Nodes::of_sizes(sizes)?;
        if node_of.is_sorted() {
            return Some(nodes);
        }
        let mut ranks: Vec<u32> = (0..node_of.len() as u32).collect();
        ranks.sort_by_key(|rank| node_of[*rank as usize]);
        Some(Nodes { scattered: Some(Box::new((node_of, ranks))), ..nodes })
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
        if let Some(scattered) = &self.scattered {
            return scattered.0[rank as usize];
        }
        self.starts.partition_point(|start| *start <= rank) as u32 - 1
    }

    /// The ranks on a node, in rising order.
    pub fn members(&self, node: u32) -> Vec<u32> {
        let range = self.starts[node as usize]..self.starts[node as usize + 1];
        match &self.scattered {
            Some(scattered) => scattered.1[range.start as usize..range.end as usize].to_vec(),
            None => range.collect(),
        }
    }

    /// The number of ranks on each node.
    pub fn sizes(&self) -> impl Iterator<Item = u32> {
        self.starts.windows(2).map(|pair| pair[1] - pair[0])
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<u32> = match &self.scattered {
            Some(scattered) => {
                f.write_str("@")?;
                scattered.0.clone()
            }
            None => self.sizes().collect(),
        };
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
/// The same of ranks.
const MOST_RANKS: usize = 1 << 24;

impl FromStr for Nodes {
    type Err = ();

    fn from_str(text: &str) -> Result<Nodes, ()> {
        let (most, list) = match text.strip_prefix('@') {
            Some(list) => (MOST_RANKS, list),
            None => (MOST, text),
        };
        let mut sizes = Vec::new();
        for part in list.split(',') {
            let (size, count) = part.split_once('x').unwrap_or((part, "1"));
            let size: u32 = size.parse().map_err(|_| ())?;
            let count: usize = count.parse().map_err(|_| ())?;
            if count > most - sizes.len() {
                return Err(());
            }
            sizes.extend(std::iter::repeat_n(size, count));
        }
        match most {
            MOST => Nodes::of_sizes(sizes),
            _ => Nodes::of_numbers(&sizes),
        }
        .ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn blocks_are_even_and_every_rank_has_one_node() {
        for size in 1..40 {
            for count in 1..=size {
                let nodes = Nodes::even(size, count);
                assert_eq!((nodes.count(), nodes.size()), (count, size));
                let (least, most) = (nodes.sizes().min(), nodes.sizes().max());
                assert!(most.unwrap() - least.unwrap() <= 1);
                for rank in 0..size {
                    assert!(nodes.members(nodes.of(rank)).contains(&rank));
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
    fn ranks_may_be_dealt_out() {
        let nodes = Nodes::of_numbers(&[7, 3, 7, 3, 3]).expect("ranks");
        assert_eq!((nodes.count(), nodes.size()), (2, 5));
        assert_eq!((nodes.members(0), nodes.members(1)), (vec![0, 2], vec![1, 3, 4]));
        assert_eq!((0..5).map(|rank| nodes.of(rank)).collect::<Vec<_>>(), [0, 1, 0, 1, 1]);
        assert_eq!(nodes.to_string(), "@0,1,0,1x2");
        assert_eq!(nodes.to_string().parse(), Ok(nodes));
        assert_eq!(Nodes::of_numbers(&[5, 5, 2]), Nodes::of_sizes([2, 1]));
        assert_eq!(Nodes::even(7, 3).members(1), [3, 4]);
        assert_eq!(Nodes::of_numbers(&[]), None);
    }

    #[test]
    fn damaged_text_is_refused() {
        for text in ["", "0", "1,", "x", "2x", "2x0", "1x99999999", "4294967295x2", "-1", "1,0,1", "@", "@x", "@1,"] {
            assert!(text.parse::<Nodes>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn damaged_text_is_refused_or_survives(scattered: bool, changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let valid = if scattered { "@0,1x2,0" } else { "3,2x4,1" };
            let text = damage(valid.as_bytes(), &changes);
            if let Ok(nodes) = String::from_utf8_lossy(&text).parse::<Nodes>() {
                prop_assert_eq!(nodes.sizes().sum::<u32>(), nodes.size());
                prop_assert_eq!(nodes.to_string().parse(), Ok(nodes));
            }
        }
    }
}
