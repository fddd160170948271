//! Pieces of registered memory, and what may be done with it.

/// Who may do what with registered memory. Local reading is always allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Receives, answers of reads and of atomics may be written there. Remote writing and atomics need it too.
    pub local_write: bool,
    /// Peers may read there.
    pub remote_read: bool,
    /// Peers may write there.
    pub remote_write: bool,
    /// Peers may change words there.
    pub remote_atomic: bool,
}

impl Access {
    /// Only for sends and as the source of writes.
    pub const LOCAL_READ: Access =
        Access { local_write: false, remote_read: false, remote_write: false, remote_atomic: false };
    /// For requests of this process alone.
    pub const LOCAL: Access = Access { local_write: true, ..Access::LOCAL_READ };
    /// Peers may read there, and nobody writes.
    pub const REMOTE_READ: Access = Access { remote_read: true, ..Access::LOCAL_READ };
    /// Everything.
    pub const ALL: Access = Access { local_write: true, remote_read: true, remote_write: true, remote_atomic: true };
}

/// A piece of registered memory, as an entry of a gather or scatter list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// Of its first byte.
    pub address: u64,
    /// Bytes of it.
    pub len: u32,
    /// The region's [`MemoryRegion::local_key`](crate::MemoryRegion::local_key).
    pub key: u32,
}
