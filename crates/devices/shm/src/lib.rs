//! The shared-memory device: packets, published receives and single copies between processes of one node.
//!
//! All processes of a job on a node map one memory file. Its layout follows from the number of processes alone ([`Geometry`]), and all
//! of its structures begin as zeros. So a process may send to one that has not started, and nobody sets anything up.
//!
//! # Objects
//!
//! ```text
//! Shm ─┬─ Segment ────────── the job's file: statuses and doorbells, control lines, a block for each process
//!      │    ├── Ring         packets from one process to one other: 64 cells, and blocks for longer payloads
//!      │    └── PostedReceives  the receives that one process shows to one sender
//!      ├─ bridges ────────── further segments, with processes of other jobs
//!      ├─ vigil ──────────── with TERN_FT, whether the peers of the own job are still there
//!      ├─ losses ─────────── what becomes of peers that are lost
//!      ├─ transfers ──────── what is published, what is delivered, and what was learned of peers
//!      └─ region ─────────── mapped memory, the kernel's copies, promotion (crate tern-region)
//! ```
//!
//! [`Shm`] implements the contracts of `tern_device`: `Channel`, and `Direct` with all of its traits.
//!
//! # Rules of the shared memory
//!
//! - **The path of a packet** has no read-modify-write instruction: each word of a ring has one writer. Slots of posted receives and
//!   counts of chunks are taken by compare and swap or by addition.
//! - **A cell** belongs to its sender until the turn word is stored (release), and then to its receiver (acquire), until the count of
//!   taken cells passes it.
//! - **No wake-up is lost.** Senders pay no fence: a sleeper makes all processors pass one between its flag and its last look
//!   (`doorbell`, [`Alarm`]).
//! - **A killed process** leaves no lock behind. The launcher ends a job; processes of other jobs find out by locks of the kernel
//!   (`liveness`), and so do those of a job that goes on without its lost processes (`vigil`).
//! - **Trust.** Processes of a job trust each other (docs/security.md). Packets are checked above, by `tern_adi`.
//!
//! `ring`, `posted_receives`, `regions` and `doorbell` have models under loom, which try all interleavings (`scripts/loom.sh`). The crate builds
//! only these then. docs/parts/messages.md and docs/parts/tuple-queues.md have the reasons.

// The model checker builds the structures without the device around them.
#![cfg_attr(loom, allow(dead_code, unused_imports))]

mod doorbell;
mod posted_receives;
mod regions;
mod ring;

#[cfg(not(loom))]
mod bridges;
#[cfg(not(loom))]
mod copier;
#[cfg(not(loom))]
mod core_balance;
#[cfg(not(loom))]
mod declared;
#[cfg(not(loom))]
mod device;
#[cfg(not(loom))]
mod direct;
#[cfg(not(loom))]
mod explain;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
mod link;
#[cfg(not(loom))]
mod liveness;
#[cfg(not(loom))]
mod losses;
#[cfg(not(loom))]
mod memcheck;
#[cfg(not(loom))]
mod per_peer;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
mod share;
#[cfg(not(loom))]
mod single_copy;
#[cfg(not(loom))]
mod state;
#[cfg(not(loom))]
mod transfers;
#[cfg(not(loom))]
mod vigil;
#[cfg(not(loom))]
pub use direct::News;
pub use doorbell::Alarm;
#[cfg(not(loom))]
pub use segment::Geometry;
#[cfg(not(loom))]
pub use state::Shm;
