//! Shared memory inside a node: packets through lock-free cells, one ring per pair.

mod bell;
mod ring;
mod segment;
mod sync;

#[cfg(not(loom))]
mod device;
#[cfg(not(loom))]
pub use device::Shm;
pub use segment::Geometry;
