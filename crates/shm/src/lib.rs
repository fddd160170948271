//! Shared memory inside a node: packets through lock-free cells, one ring per pair.

// The model checker builds the structures without the device around them.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

mod doorbell;
mod posted_receives;
mod ring;
mod sync;

#[cfg(not(loom))]
mod bridges;
#[cfg(not(loom))]
mod core_balance;
#[cfg(not(loom))]
mod declared;
#[cfg(not(loom))]
mod device;
#[cfg(not(loom))]
mod direct;
#[cfg(not(loom))]
mod directory;
#[cfg(not(loom))]
mod explain;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
mod link;
#[cfg(not(loom))]
mod liveness;
#[cfg(not(loom))]
mod memcheck;
#[cfg(not(loom))]
mod per_peer;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
mod single_copy;
#[cfg(not(loom))]
mod state;
#[cfg(not(loom))]
mod transfers;
pub use doorbell::Alarm;
#[cfg(not(loom))]
pub use segment::Geometry;
#[cfg(not(loom))]
pub use state::Shm;
