//! The cache that processes share.

/// A cache, and the processes that use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedCache {
    /// Bytes.
    pub size: u64,
    /// One at least.
    pub processes: u64,
}

impl SharedCache {
    /// Bytes of it for each of the processes.
    pub fn share(self) -> u64 {
        self.size / self.processes.max(1)
    }

    /// Bytes of a message from which on two copies of it do not stay in the cache.
    pub fn holds_below(self) -> u64 {
        self.size / (2 * self.processes.max(1))
    }
}
