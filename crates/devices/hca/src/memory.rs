//! Protection domains and registered memory.

use crate::made::{Made, made_by};
use crate::{Access, CompletionQueue, Limits, QueuePair, QueuePairOptions, ReceiveLimits, Result, Segment};
use crate::{SharedReceiveQueue, XrcDomain, rdma_core, software};

/// Queue pairs and memory that may be used together.
#[derive(Clone)]
pub struct ProtectionDomain {
    pub(crate) made: Made<software::ProtectionDomain, rdma_core::ProtectionDomain>,
}

impl ProtectionDomain {
    /// Registers `len` bytes from `address` on, of any memory of this process; `len` is not 0.
    ///
    /// # Errors
    /// [`Registration`](crate::Error::Registration): nothing is mapped there, or it may not be written to.
    /// [`Resources`](crate::Error::Resources): no more memory may be locked.
    ///
    /// # Safety
    /// Until the region is dropped, the HCA may read and write the memory, as `access` allows and requests
    /// here and at peers ask for. Nobody may count on its contents, by a Rust reference or otherwise, while such
    /// requests may be under way. The memory should stay mapped: where it does not, a card goes on with the
    /// pages as they were; the software HCA completes with an error.
    pub unsafe fn register(&self, address: *mut u8, len: usize, access: Access) -> Result<MemoryRegion> {
        let made = match &self.made {
            // SAFETY: handed on.
            Made::Software(it) => Made::Software(unsafe { it.register(address, len, access) }?),
            // SAFETY: handed on.
            Made::RdmaCore(it) => Made::RdmaCore(unsafe { it.register(address, len, access) }?),
        };
        Ok(MemoryRegion { made })
    }

    /// A queue pair of the reliable connected kind.
    pub fn queue_pair(&self, options: &QueuePairOptions<'_>) -> Result<QueuePair> {
        let (send, receive) = (&options.send_completions.made, &options.receive_completions.made);
        let shared = options.shared_receive_queue;
        let made = match &self.made {
            Made::Software(it) => {
                let completions = [send.software()?, receive.software()?];
                let shared = shared.map(|queue| queue.made.software()).transpose()?;
                Made::Software(it.queue_pair(completions, shared, &options.send, &options.receive)?)
            }
            Made::RdmaCore(it) => {
                let completions = [send.rdma_core()?, receive.rdma_core()?];
                let shared = shared.map(|queue| queue.made.rdma_core()).transpose()?;
                Made::RdmaCore(it.queue_pair(completions, shared, &options.send, &options.receive)?)
            }
        };
        Ok(QueuePair { made })
    }

    /// The sending end of an XRC connection. It has no receive queue.
    pub fn xrc_initiator(&self, completions: &CompletionQueue, limits: &Limits) -> Result<QueuePair> {
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.xrc_initiator(completions.made.software()?, limits)?),
            Made::RdmaCore(it) => Made::RdmaCore(it.xrc_initiator(completions.made.rdma_core()?, limits)?),
        };
        Ok(QueuePair { made })
    }

    /// A shared receive queue. `token` names it in [`Event::ReceiveQueueLow`](crate::Event::ReceiveQueueLow).
    pub fn shared_receive_queue(&self, limits: &ReceiveLimits, token: u64) -> Result<SharedReceiveQueue> {
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.shared_receive_queue(limits, token)?),
            Made::RdmaCore(it) => Made::RdmaCore(it.shared_receive_queue(limits, token)?),
        };
        Ok(SharedReceiveQueue { made })
    }

    /// A shared receive queue that sends name by its number. Its receives complete in `completions`.
    pub fn xrc_receive_queue(
        &self, domain: &XrcDomain, completions: &CompletionQueue, limits: &ReceiveLimits, token: u64,
    ) -> Result<SharedReceiveQueue> {
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.xrc_receive_queue(
                domain.made.software()?,
                completions.made.software()?,
                limits,
                token,
            )?),
            Made::RdmaCore(it) => Made::RdmaCore(it.xrc_receive_queue(
                domain.made.rdma_core()?,
                completions.made.rdma_core()?,
                limits,
                token,
            )?),
        };
        Ok(SharedReceiveQueue { made })
    }
}

/// Registered memory. When it is dropped, the HCA no longer touches the memory, and requests that
/// still name it fail.
pub struct MemoryRegion {
    made: Made<software::MemoryRegion, rdma_core::MemoryRegion>,
}

impl MemoryRegion {
    /// For segments of requests of this process.
    pub fn local_key(&self) -> u32 {
        made_by!(&self.made, it => it.local_key())
    }

    /// For [`Remote`](crate::Remote) of peers.
    pub fn remote_key(&self) -> u32 {
        made_by!(&self.made, it => it.remote_key())
    }

    /// Of its first byte.
    pub fn address(&self) -> u64 {
        made_by!(&self.made, it => it.address())
    }

    /// Bytes of it.
    pub fn len(&self) -> usize {
        made_by!(&self.made, it => it.len())
    }

    /// Always false: no region is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The segment of `len` bytes from byte `offset` of the region on. Not checked here: the HCA does.
    pub fn segment(&self, offset: usize, len: u32) -> Segment {
        Segment { address: self.address() + offset as u64, len, key: self.local_key() }
    }
}
