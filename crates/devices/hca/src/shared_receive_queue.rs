//! Receives that serve many queue pairs.

use crate::made::{Made, made_by};
use crate::{Result, Segment, rdma_core, software};

/// Receives that the queue pairs made with it take from.
#[derive(Clone)]
pub struct SharedReceiveQueue {
    pub(crate) made: Made<software::SharedReceiveQueue, rdma_core::SharedReceiveQueue>,
}

impl SharedReceiveQueue {
    /// Adds a receive. They are used in the order in which they come.
    ///
    /// # Errors
    /// [`QueueFull`](crate::Error::QueueFull); [`Invalid`](crate::Error::Invalid) for too many segments.
    #[inline]
    pub fn post_receive(&self, id: u64, segments: &[Segment]) -> Result<()> {
        made_by!(&self.made, it => it.post_receive(id, segments))
    }

    /// Asks for one [`Event::ReceiveQueueLow`](crate::Event::ReceiveQueueLow) when fewer than `low` receives are
    /// left; at once if so already. 0 asks for none.
    pub fn arm_limit(&self, low: u32) -> Result<()> {
        made_by!(&self.made, it => it.arm_limit(low))
    }

    /// The number by which XRC sends name it; `None` when it is not of an XRC domain.
    pub fn number(&self) -> Option<u32> {
        made_by!(&self.made, it => it.number())
    }

    /// What an initiator needs to name it ([`QueuePair::reach`](crate::QueuePair::reach)): a few dozen bytes, which
    /// only this crate understands. `None` when it is not of an XRC domain.
    pub fn address(&self) -> Option<Vec<u8>> {
        made_by!(&self.made, it => it.address())
    }
}
