//! XRC: one connection, and many shared receive queues behind it that each send names by number.

use crate::made::Made;
use crate::{QueuePair, Result, rdma_core, software};

/// Target queue pairs, and the shared receive queues that are reached through any of them.
#[derive(Clone)]
pub struct XrcDomain {
    pub(crate) made: Made<software::XrcDomain, rdma_core::XrcDomain>,
}

impl XrcDomain {
    /// The receiving end of an XRC connection. It neither sends nor has receives of its own.
    pub fn target(&self) -> Result<QueuePair> {
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.target()?),
            Made::RdmaCore(it) => Made::RdmaCore(it.target()?),
        };
        Ok(QueuePair { made })
    }
}
