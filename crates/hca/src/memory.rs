//! Protection domains and registered memory.

use crate::hca::Made;
use crate::made_by;
use crate::queue_pair::{Limits, QueuePair, QueuePairOptions};
use crate::shared_receive_queue::{ReceiveLimits, SharedReceiveQueue};
use crate::xrc::XrcDomain;
use crate::{CompletionQueue, Result, rdma_core, software};

/// Who may do what with registered memory. Local reading is always allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Receives, answers of reads and of atomics may be written there. Remote writing and atomics need it too.
    pub local_write: bool,
    pub remote_read: bool,
    pub remote_write: bool,
    pub remote_atomic: bool,
}

impl Access {
    /// Only for sends and as the source of writes.
    pub const LOCAL_READ: Access =
        Access { local_write: false, remote_read: false, remote_write: false, remote_atomic: false };
    pub const LOCAL: Access = Access { local_write: true, ..Access::LOCAL_READ };
    pub const REMOTE_READ: Access = Access { remote_read: true, ..Access::LOCAL_READ };
    pub const ALL: Access = Access { local_write: true, remote_read: true, remote_write: true, remote_atomic: true };
}

/// A piece of registered memory, as an entry of a gather or scatter list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    pub address: u64,
    pub len: u32,
    /// The region's [`MemoryRegion::local_key`].
    pub key: u32,
}

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
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.queue_pair(options)?),
            Made::RdmaCore(it) => Made::RdmaCore(it.queue_pair(options)?),
        };
        Ok(QueuePair { made })
    }

    /// The sending end of an XRC connection. It has no receive queue.
    pub fn xrc_initiator(&self, completions: &CompletionQueue, limits: &Limits) -> Result<QueuePair> {
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.xrc_initiator(completions.software()?, limits)?),
            Made::RdmaCore(it) => Made::RdmaCore(it.xrc_initiator(completions.rdma_core()?, limits)?),
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
            Made::Software(it) => {
                Made::Software(it.xrc_receive_queue(domain.software()?, completions.software()?, limits, token)?)
            }
            Made::RdmaCore(it) => {
                Made::RdmaCore(it.xrc_receive_queue(domain.rdma_core()?, completions.rdma_core()?, limits, token)?)
            }
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

    pub fn address(&self) -> u64 {
        made_by!(&self.made, it => it.address())
    }

    pub fn len(&self) -> usize {
        made_by!(&self.made, it => it.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The segment of `len` bytes from byte `offset` of the region on. Not checked here: the HCA does.
    pub fn segment(&self, offset: usize, len: u32) -> Segment {
        Segment { address: self.address() + offset as u64, len, key: self.local_key() }
    }
}
