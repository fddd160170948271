//! What one agent has to start of a further world.

use tern_pmi::Nodes;
use tern_pmi::parcel::{Reader, Writer};

/// What one agent has to start of a further world.
#[derive(Debug, PartialEq, Eq)]
pub struct Order {
    /// The number of the world among those of the job.
    pub world: u32,
    /// The node of this agent in that world, and the ranks of all.
    pub node: u32,
    pub nodes: Nodes,
    pub orders: Vec<u8>,
}

impl Order {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.number(self.world.into()).number(self.node.into());
        out.bytes(self.nodes.to_string().as_bytes()).bytes(&self.orders);
        out.0
    }

    /// The reverse; `None` for bytes that are something else.
    pub fn decode(bytes: &[u8]) -> Option<Order> {
        let input = &mut Reader(bytes);
        let (world, node) = (u32::try_from(input.number()?).ok()?, u32::try_from(input.number()?).ok()?);
        let nodes: Nodes = std::str::from_utf8(input.bytes()?).ok()?.parse().ok()?;
        let orders = input.bytes()?.to_vec();
        (node < nodes.count()).then_some(Order { world, node, nodes, orders })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn an_order_survives_the_wire() {
        let order = Order { world: 3, node: 1, nodes: Nodes::even(7, 3), orders: vec![1, 2, 3] };
        let bytes = order.encode();
        for cut in 0..bytes.len() {
            assert_eq!(Order::decode(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(Order::decode(&bytes), Some(order));
    }

    proptest! {
        #[test]
        fn a_damaged_order_is_refused_or_survives(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let order = Order { world: 3, node: 1, nodes: Nodes::even(7, 3), orders: vec![1, 2, 3] };
            if let Some(read) = Order::decode(&damage(&order.encode(), &changes)) {
                prop_assert_eq!(Order::decode(&read.encode()), Some(read));
            }
        }
    }
}
